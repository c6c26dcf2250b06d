"""The library behind the window: listing, changing with a way back, importing and exporting."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from app.core import voice_cache
from app.core.storage import StorageError
from app.core.voice_colours import VOICE_COLOURS
from app.core.voice_folder import read_voice_folder
from app.core.voice_listing import DamagedVoice
from app.core.voice_parts import VoiceParts
from app.core.voice_record import LibraryVoice, VoiceDetails, VoiceKind
from app.jobs.messages import MadeVoice
from app.studio.notes import Note
from app.studio.voice_samples import MOST_SAMPLES
from tests.workshop import Workshop, put_speech


@pytest.fixture
def shop(qtbot: QtBot, tmp_path: Path) -> Iterator[Workshop]:
    made = Workshop(tmp_path / "home")
    yield made
    made.close()


def embedding(
    value: float = 1.0, width: int = 2048
) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.linspace(value, value + 1, width, dtype=np.float32)


def add(shop: Workshop, name: str, value: float = 1.0) -> LibraryVoice:
    details = VoiceDetails(name, VoiceKind.IMPORTED)
    made: list[LibraryVoice] = []
    shop.voices.create(details, VoiceParts(embeddings=(embedding(value),)), made.append)
    shop.flush()
    return made[0]


def names(shop: Workshop) -> list[str]:
    return sorted(voice.name for voice in shop.voices.listing.voices)


def test_a_new_voice_is_listed_and_chosen(shop: Workshop, qtbot: QtBot) -> None:
    assert not shop.voices.is_listed
    with qtbot.waitSignals([shop.voices.changed, shop.voices.selected_changed]):
        anna = add(shop, "Anna")
    assert shop.voices.selected == anna
    assert names(shop) == ["Anna"]
    assert shop.voices.is_listed


def test_the_choice_follows_the_id_through_changes(shop: Workshop) -> None:
    anna, _ = add(shop, "Anna"), add(shop, "Ben")
    shop.voices.select(anna.id)
    seen: list[LibraryVoice | None] = []
    shop.voices.selected_changed.connect(seen.append)
    shop.voices.rename(anna, "Annabel")
    shop.flush()
    selected = shop.voices.selected
    assert selected is not None
    assert (selected.name, selected.id) == ("Annabel", anna.id)
    assert selected.folder.name.startswith("annabel-")
    shop.voices.set_tags(selected, ["calm", " calm ", "news"])
    shop.flush()
    selected = shop.voices.selected
    assert selected is not None
    shop.voices.set_favourite(selected, True)
    shop.flush()
    tags = [voice and voice.details.tags for voice in seen]
    assert tags == [(), ("calm", "news"), ("calm", "news")]
    assert shop.voices.selected is not None
    assert shop.voices.selected.details.favourite
    shop.voices.select("")
    assert shop.voices.selected is None
    assert not shop.heard.problems


def test_changes_in_haste_build_on_one_another(shop: Workshop, tmp_path: Path) -> None:
    anna = add(shop, "Anna")
    shop.voices.rename(anna, "Annabel")
    shop.voices.set_favourite(anna, True)  # as it was seen, before the library has done anything
    shop.voices.set_tags(anna, ["calm"])
    shop.voices.complete(anna, MadeVoice((embedding(2.0, 1024),)))
    shop.voices.duplicate(anna)
    shop.voices.export_bare([anna], tmp_path)
    shop.flush()
    changed = shop.voices.listing.find(anna.id)
    assert changed is not None
    details = changed.details
    assert (details.name, details.favourite, details.tags) == ("Annabel", True, ("calm",))
    assert changed.files.widths == (1024, 2048)
    assert names(shop) == ["Anna copy", "Annabel"]
    assert sorted(path.stem for path in tmp_path.glob("*.spk"))
    shop.voices.rename(changed, "Anna")
    shop.voices.delete(changed)
    shop.flush()
    assert names(shop) == ["Anna copy"]
    assert not shop.heard.problems


def test_a_deleted_voice_comes_back_with_undo(shop: Workshop) -> None:
    anna, ben = add(shop, "Anna"), add(shop, "Ben")
    shop.voices.select(anna.id)
    shop.voices.delete(anna)
    shop.flush()
    assert names(shop) == ["Ben"]
    assert shop.voices.selected is None
    assert shop.heard.sentences == ["Anna was moved to the trash."]
    shop.heard.press("Undo")
    shop.flush()
    assert names(shop) == ["Anna", "Ben"]
    assert shop.voices.selected == read_voice_folder(anna.folder)
    shop.voices.delete(anna, ben)
    shop.flush()
    assert shop.heard.sentences[-1] == "2 voices were moved to the trash."
    assert names(shop) == []
    shop.heard.press("Undo")
    shop.flush()
    assert names(shop) == ["Anna", "Ben"]


def test_a_voice_that_is_deleted_twice_in_haste_is_deleted_once(shop: Workshop) -> None:
    anna, ben = add(shop, "Anna"), add(shop, "Ben")
    shop.voices.delete(anna)
    shop.voices.delete(anna, ben)
    shop.voices.delete(ben)
    shop.flush()
    assert names(shop) == []
    assert not shop.heard.problems
    shop.heard.press("Undo")
    shop.flush()
    assert names(shop) == ["Ben"]
    shop.voices.delete(*shop.voices.listing.voices)
    shop.flush()
    assert names(shop) == []


def test_one_voice_that_cannot_be_deleted_stops_no_other(shop: Workshop) -> None:
    anna, ben = add(shop, "Anna"), add(shop, "Ben")
    with patch.object(shop.library, "delete", side_effect=[_no(), shop.library.delete(ben)]):
        shop.voices.delete(anna, ben)
        shop.flush()
    assert names(shop) == ["Anna"]
    (problem,) = shop.heard.problems
    assert problem.message.startswith("1 of 2 could not be deleted: ")


def test_copies_and_blends_have_names_of_their_own(shop: Workshop) -> None:
    anna, ben = add(shop, "Anna"), add(shop, "Ben", 3.0)
    shop.voices.duplicate(anna)
    shop.flush()
    shop.voices.duplicate(anna)
    shop.voices.blend(anna, ben, 0.5, "Between")
    shop.flush()
    assert names(shop) == ["Anna", "Anna copy", "Anna copy 2", "Ben", "Between"]
    assert shop.voices.selected is not None
    assert shop.voices.selected.details.kind is VoiceKind.BLEND


def test_a_blend_that_is_impossible_is_a_problem(shop: Workshop) -> None:
    anna = add(shop, "Anna")
    small: list[LibraryVoice] = []
    parts = VoiceParts(embeddings=(embedding(1.0, 1024),))
    shop.voices.create(VoiceDetails("Ben", VoiceKind.IMPORTED), parts, small.append)
    shop.flush()
    shop.voices.blend(anna, small[0], 0.5, "Between")
    shop.flush()
    assert "different sizes" in shop.heard.problems[0].message
    assert names(shop) == ["Anna", "Ben"]


def test_voices_go_out_and_come_back_in(shop: Workshop, tmp_path: Path) -> None:
    anna, ben = add(shop, "Anna"), add(shop, "Ben")
    out = tmp_path / "out"
    out.mkdir()
    shop.voices.export_folder([anna], out)
    shop.voices.export_bare([anna, ben], out)
    shop.voices.export_zip([anna, ben], out / "both.zip")
    shop.flush()
    assert shop.heard.sentences == [
        f"Anna was exported to {out}.",
        f"2 voices were exported to {out}.",
        f"2 voices were exported to {out / 'both.zip'}.",
    ]
    shop.voices.delete(anna, ben)
    shop.voices.import_paths([out / "both.zip", out / "nothing.xyz", out / "Anna.spk"])
    shop.flush()
    assert names(shop) == ["Anna", "Anna", "Ben"]
    assert shop.heard.sentences[-1] == "3 voices were imported."
    assert shop.heard.problems[0].message.startswith("1 of 4 could not be imported: ")
    assert shop.voices.selected is not None


def test_an_export_that_fails_is_told_and_does_not_say_it_worked(
    shop: Workshop, tmp_path: Path
) -> None:
    anna = add(shop, "Anna")
    shop.voices.export_folder([anna], tmp_path / "missing")
    shop.flush()
    assert shop.heard.notes == []
    assert str(tmp_path / "missing") in shop.heard.problems[0].message


def test_a_new_name_and_a_blend_are_taken_back(shop: Workshop) -> None:
    anna, ben = add(shop, "Anna"), add(shop, "Ben", 5.0)
    shop.voices.rename(anna, "Annabel")
    shop.flush()
    assert shop.heard.sentences == ["Anna is called Annabel now."]
    shop.heard.press("Undo")
    shop.flush()
    assert names(shop) == ["Anna", "Ben"]
    assert len(shop.heard.notes) == 1  # what was undone is not told as another step
    shop.voices.blend(anna, ben, 0.5, "Both")
    shop.flush()
    assert shop.heard.sentences[-1] == "Both was blended from Anna and Ben."
    shop.heard.press("Undo")
    shop.flush()
    assert names(shop) == ["Anna", "Ben"]
    assert shop.heard.sentences[-1] == "Both was moved to the trash."
    shop.voices.rename(anna, " Anna ")
    shop.flush()
    assert shop.heard.sentences[-1] == "Both was moved to the trash."  # it has that name already


def test_a_note_is_withdrawn_once_its_undo_is_impossible(shop: Workshop) -> None:
    withdrawn: list[Note] = []
    shop.voices.withdrawn.connect(withdrawn.append)
    anna, ben = add(shop, "Anna"), add(shop, "Ben")

    def last_is_withdrawn() -> bool:
        shop.flush()
        return withdrawn[-1:] == shop.heard.notes[-1:]

    shop.voices.delete(anna)
    assert not last_is_withdrawn()
    deletion = shop.heard.notes[-1]
    (item,) = shop.library.trash.items()
    shop.voices.restore(item)
    shop.flush()
    assert withdrawn == [deletion]
    shop.voices.rename(anna, "Annabel")
    assert not last_is_withdrawn()
    naming = shop.heard.notes[-1]
    shop.voices.rename(anna, "Annelie")
    shop.flush()
    assert withdrawn == [deletion, naming]
    shop.voices.delete(ben)
    assert not last_is_withdrawn()
    shop.voices.forget(*shop.library.trash.items())
    assert last_is_withdrawn()


def test_new_voices_have_colours_of_their_own(shop: Workshop, tmp_path: Path) -> None:
    made = [add(shop, f"Voice {number}") for number in range(len(VOICE_COLOURS) - 2)]
    shop.voices.duplicate(made[0])
    (tmp_path / "Guest.spk").write_bytes(embedding(3.0).tobytes())
    shop.voices.import_paths([tmp_path / "Guest.spk"])
    shop.flush()
    colours = [voice.details.colour for voice in shop.voices.listing.voices]
    assert sorted(colours) == sorted(rgb for rgb, _ in VOICE_COLOURS)
    details = replace(VoiceDetails("Own", VoiceKind.IMPORTED), colour="#123456")
    shop.voices.create(details, VoiceParts(embeddings=(embedding(),)))
    shop.flush()
    assert shop.voices.selected is not None
    assert shop.voices.selected.details.colour == "#123456"


def test_a_damaged_voice_blocks_nothing_and_can_be_repaired(shop: Workshop) -> None:
    anna, ben = add(shop, "Anna"), add(shop, "Ben")
    (anna.folder / "voice.json").write_text("{ not json")
    shop.voices.refresh()
    shop.flush()
    assert names(shop) == ["Ben"]
    (damaged,) = shop.voices.listing.damaged
    assert "not valid JSON" in damaged.error.message
    shop.voices.rename(ben, "Benjamin")
    shop.voices.repair(damaged)
    shop.flush()
    assert names(shop) == ["Benjamin", "anna"]
    assert shop.voices.listing.damaged == ()
    assert shop.heard.sentences == ["Ben is called Benjamin now.", "anna was repaired."]
    assert list(anna.folder.glob("voice.json.damaged-*"))


def test_a_damaged_folder_can_be_deleted(shop: Workshop) -> None:
    anna = add(shop, "Anna")
    (anna.folder / "voice.json").unlink()
    shop.voices.refresh()
    shop.flush()
    damaged = shop.voices.listing.damaged[0]
    assert isinstance(damaged, DamagedVoice)
    shop.voices.delete(damaged)
    shop.flush()
    assert shop.voices.listing.damaged == ()


def test_a_voice_is_completed_with_what_was_made(shop: Workshop) -> None:
    anna = add(shop, "Anna")
    codes = np.zeros((7, 16), np.int64)
    shop.voices.complete(anna, MadeVoice((embedding(2.0, 1024),), codes))
    shop.flush()
    (voice,) = shop.voices.listing.voices
    assert voice.files.widths == (1024, 2048)
    assert voice.files.has_codes


def test_a_failed_creation_is_told_to_its_caller(shop: Workshop) -> None:
    failures: list[object] = []
    details = VoiceDetails("Anna", VoiceKind.CLONE)
    shop.voices.create(details, VoiceParts(), lambda _: None, failures.append)
    shop.flush()
    assert failures == shop.heard.problems
    assert "nothing to make the voice" in shop.heard.problems[0].message


def test_the_sample_is_the_recording_and_is_kept(
    shop: Workshop, tmp_path: Path, data: Path
) -> None:
    samples = put_speech(tmp_path / "anna.wav", data)
    made: list[LibraryVoice] = []
    parts = VoiceParts(clip=tmp_path / "anna.wav")
    shop.voices.create(VoiceDetails("Anna", VoiceKind.CLONE), parts, made.append)
    shop.flush()
    buffer = shop.voices.sample(made[0])
    assert buffer is not None
    shop.flush()
    assert buffer.is_finished
    assert buffer.rate == 24_000
    assert buffer.length == samples.size // 2
    assert shop.voices.sample(made[0]) is buffer
    shop.voices.rename(made[0], "Annabel")
    shop.flush()
    renamed = shop.voices.listing.voices[0]
    assert shop.voices.sample(renamed) is not buffer
    shop.flush()
    assert not shop.heard.problems


def test_voices_without_a_recording_or_with_a_broken_one_have_no_sample(
    shop: Workshop, tmp_path: Path
) -> None:
    assert shop.voices.sample(add(shop, "Anna")) is None
    (tmp_path / "broken.wav").write_bytes(b"RIFF....")
    made: list[LibraryVoice] = []
    parts = VoiceParts(clip=tmp_path / "broken.wav")
    shop.voices.create(VoiceDetails("Ben", VoiceKind.CLONE), parts, made.append)
    shop.flush()
    buffer = shop.voices.sample(made[0])
    assert buffer is not None
    shop.flush()
    assert buffer.is_finished
    assert buffer.length == 0
    assert "clip.wav" in shop.heard.problems[0].message


def test_only_some_samples_stay_in_memory(shop: Workshop, tmp_path: Path, data: Path) -> None:
    put_speech(tmp_path / "anna.wav", data)
    voices: list[LibraryVoice] = []
    for number in range(MOST_SAMPLES + 1):
        parts = VoiceParts(clip=tmp_path / "anna.wav")
        details = VoiceDetails(f"Anna {number}", VoiceKind.CLONE)
        shop.voices.create(details, parts, voices.append)
    shop.flush()
    buffers = [shop.voices.sample(voice) for voice in voices]
    shop.flush()
    assert shop.voices.sample(voices[-1]) is buffers[-1]
    assert shop.voices.sample(voices[0]) is not buffers[0]


def test_five_hundred_voices_are_listed_and_only_changed_ones_read_again(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = add(shop, "Voice")
    folder = shop.voices.folder
    description = (template.folder / "voice.json").read_text("utf-8")
    past = time.time() - 60
    for number in range(500):
        made = folder / f"voice-{number:08x}"
        made.mkdir()
        (made / "voice.json").write_text(description.replace(template.id, f"{number:032x}"))
        (made / "voice-2048.spk").write_bytes(b"\0" * 8192)
        for path in (made / "voice.json", made):
            os.utime(path, (past, past))
    read: list[Path] = []

    def reading(path: Path) -> LibraryVoice:
        read.append(path)
        return read_voice_folder(path)

    monkeypatch.setattr(shop.voices, "_read", voice_cache.VoiceCache(reading))
    shop.voices.refresh()
    shop.flush()
    assert len(shop.voices.listing.voices) == 501
    assert len(read) == 501
    read.clear()
    changed = shop.voices.listing.find(f"{7:032x}")
    assert changed is not None
    shop.voices.save(changed, replace(changed.details, note="new"))
    shop.flush()
    assert {path.name for path in read} <= {changed.folder.name, template.folder.name}
    found = shop.voices.listing.find(changed.id)
    assert found is not None
    assert found.details.note == "new"


def _no() -> StorageError:
    return StorageError("The folder is in use.", "Close what uses it.")
