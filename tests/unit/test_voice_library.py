"""The voice library: whole voices or none, everything comes back, damage stops nothing else."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import stat
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.core.archives import ArchiveError, ArchiveLimits
from app.core.blending import blend_embeddings
from app.core.folding import fold
from app.core.storage import DamagedFileError, StorageError
from app.core.transcripts import decode_transcript
from app.core.trash import Trash
from app.core.voice_export import export_bare, export_folder, export_zip
from app.core.voice_folder import DETAILS, VoiceWidthError, load_voice
from app.core.voice_import import import_voices
from app.core.voice_listing import VoiceListing
from app.core.voice_parts import VoiceParts
from app.core.voice_record import (
    Consent,
    LibraryVoice,
    Likeness,
    Origin,
    VoiceDetails,
    VoiceFilter,
    VoiceKind,
    VoiceOrder,
    clean_tags,
    sorted_voices,
)
from app.core.voices import UNFINISHED, VoiceLibrary
from engine import RequestError, VoiceFileError
from engine.types import DEMO_CODEC, DEMO_WIDTH
from engine.voices import pack_codes, read_codes, read_embedding, write_codes, write_embedding

CODES = np.arange(48).reshape(3, 16)
DETAILS_FULL = VoiceDetails(
    "Ash & Élan",
    VoiceKind.CLONE,
    language="german",
    tags=("Trailer", "warm"),
    favourite=True,
    note="quiet at the end",
    colour="#336699",
    consent=Consent("I agree.", "Ash Example", "2026-11-30"),
    origin=Origin("a deep voice", 7, "abcd", "vivian", ("p1", "p2"), ("A", "B"), 0.25, "ash.wav"),
    unknown={"later": [1]},
)


def vector(width: int = 1024, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=width).astype(np.float32)


@pytest.fixture
def library(tmp_path: Path) -> VoiceLibrary:
    return VoiceLibrary(tmp_path / "data" / "voices", Trash(tmp_path / "data" / "trash"))


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    path = tmp_path / "Recording 1.MP3"
    path.write_bytes(b"ID3 sound")
    return path


@pytest.fixture
def full(library: VoiceLibrary, clip: Path) -> LibraryVoice:
    parts = VoiceParts(
        clip=clip,
        trimmed=np.zeros(2400, np.float32),
        transcript=" Die Straße nach Łódź.\n",
        codes=CODES,
        embeddings=(vector(1024), vector(2048)),
    )
    return library.create(DETAILS_FULL, parts)


def make(library: VoiceLibrary, name: str, width: int = 1024, seed: int = 0) -> LibraryVoice:
    details = VoiceDetails(name, VoiceKind.CLONE)
    return library.create(details, VoiceParts(embeddings=(vector(width, seed),)))


# --- folders ---


def test_a_voice_is_a_folder_of_plain_files(library: VoiceLibrary, full: LibraryVoice) -> None:
    assert full.folder.name == f"ash-élan-{full.id[:8]}"
    assert sorted(path.name for path in full.folder.iterdir()) == [
        "clip.mp3",
        "transcript.txt",
        "trimmed.wav",
        "voice-1024.spk",
        "voice-2048.spk",
        "voice.json",
        "voice.rvq",
    ]
    assert (full.folder / "clip.mp3").read_bytes() == b"ID3 sound"
    assert (full.folder / "transcript.txt").read_text("utf-8") == "Die Straße nach Łódź."
    assert library.list() == VoiceListing((full,))
    assert full.details == replace(DETAILS_FULL, id=full.id)
    assert full.files.widths == (1024, 2048)
    assert full.recording == full.folder / "trimmed.wav"
    assert full.has_best_likeness


def test_an_empty_library_has_no_voices(library: VoiceLibrary) -> None:
    assert library.list() == VoiceListing()


@pytest.mark.parametrize("name", ["con", "a/b", "x:", "..", "声" * 200, "q" * 400, "NUL.", "🎤"])
def test_any_name_can_be_stored(library: VoiceLibrary, name: str) -> None:
    voice = make(library, name)
    assert voice.name == name[:200]
    assert voice.folder.parent == library.folder
    twin = make(library, name.upper())
    assert twin.folder != voice.folder
    assert library.list().find(voice.id) == voice


def test_a_voice_needs_a_name_and_a_source(library: VoiceLibrary, clip: Path) -> None:
    with pytest.raises(RequestError, match="no name"):
        library.create(VoiceDetails(" \n", VoiceKind.CLONE), VoiceParts(clip=clip))
    with pytest.raises(RequestError, match="nothing to make the voice 'x' from"):
        library.create(VoiceDetails("x", VoiceKind.CLONE), VoiceParts(transcript="words"))
    bad = VoiceParts(embeddings=(np.array([np.nan], np.float32),))
    with pytest.raises(VoiceFileError, match="not usable"):
        library.create(VoiceDetails("x", VoiceKind.CLONE), bad)
    assert library.list() == VoiceListing()


def test_a_voice_appears_whole_or_not_at_all(library: VoiceLibrary, tmp_path: Path) -> None:
    parts = VoiceParts(clip=tmp_path / "gone.wav", embeddings=(vector(),))
    with pytest.raises(StorageError, match=r"gone\.wav cannot be stored: No such file"):
        library.create(VoiceDetails("x", VoiceKind.CLONE), parts)
    assert list(library.folder.iterdir()) == []

    def interrupted(folder: Path) -> None:
        (folder / "clip.wav").write_bytes(b"x")
        assert library.list() == VoiceListing()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        library.add(VoiceDetails("x", VoiceKind.CLONE), interrupted)
    assert list(library.folder.iterdir()) == []


def test_what_a_crash_left_half_made_goes_to_the_trash(library: VoiceLibrary) -> None:
    assert library.sweep() == 0
    make(library, "whole")
    half = library.folder / f"{UNFINISHED}1"
    half.mkdir()
    (half / "clip.wav").write_bytes(b"recorded")
    assert library.sweep() == 0  # another studio may be writing it right now
    assert library.sweep(older_than=-5) == 1
    assert [item.kind for item in library.trash.items()] == ["unfinished voice"]
    assert len(library.list().voices) == 1


# --- damage ---


def json_as_folder(folder: Path) -> None:
    (folder / DETAILS).unlink()
    (folder / DETAILS).mkdir()


def test_a_damaged_voice_stops_no_other(library: VoiceLibrary, full: LibraryVoice) -> None:
    good = make(library, "good")
    damage: dict[str, Callable[[Path], object]] = {
        "no-json": lambda folder: (folder / DETAILS).unlink(),
        "bad-json": lambda folder: (folder / DETAILS).write_bytes(b"{"),
        "no-name": lambda folder: (folder / DETAILS).write_text('{"schema": 1, "id": "x"}'),
        "bad-words": lambda folder: (folder / "transcript.txt").write_bytes(b"\x81\x00\x01"),
        "folder-json": json_as_folder,
    }
    for name, act in damage.items():
        shutil.copytree(full.folder, library.folder / name)
        act(library.folder / name)
    (library.folder / "notes.txt").write_text("no voice")
    listing = library.list()
    assert {voice.id for voice in listing.voices} == {good.id, full.id}
    assert {voice.name for voice in listing.damaged} == set(damage)
    assert all(str(voice.folder) in voice.error.message for voice in listing.damaged)
    assert all(voice.error.hint for voice in listing.damaged)


def test_a_link_in_circles_hides_no_voice(library: VoiceLibrary, full: LibraryVoice) -> None:
    (library.folder / "circle").symlink_to(library.folder / "circle")
    assert library.list() == VoiceListing((full,))


def test_pipes_in_a_library_or_an_import_are_not_waited_for(
    library: VoiceLibrary, full: LibraryVoice, tmp_path: Path
) -> None:
    (full.folder / DETAILS).unlink()
    for pipe in (full.folder / DETAILS, tmp_path / "a.zip", tmp_path / "b.txt", tmp_path / "c.spk"):
        os.mkfifo(pipe)
    write_embedding(tmp_path / "b.spk", vector())
    (damaged,) = library.list().damaged
    assert "not a file" in damaged.error.message
    report = import_voices(library, [tmp_path / name for name in ("a.zip", "b.spk", "b.txt")])
    assert not report.voices
    assert all("not a file" in problem.message for problem in report.problems)
    assert len(report.problems) == 2


def test_a_voice_that_is_gone_is_neither_changed_nor_deleted(
    library: VoiceLibrary, full: LibraryVoice
) -> None:
    library.delete(full)  # in another window
    acts: tuple[Callable[[], object], ...] = (
        lambda: library.rename(full, "B"),
        lambda: library.save(full, full.details),
        lambda: library.delete(full),
    )
    for act in acts:
        with pytest.raises(StorageError, match=r"not in .* any more"):
            act()
    assert len(library.trash.items()) == 1


def test_a_full_disk_is_told_of_the_library_and_not_of_the_clip(
    library: VoiceLibrary, clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(source))

    monkeypatch.setattr("app.core.voices.shutil.copyfile", full_disk)
    with pytest.raises(StorageError, match=r"voices cannot be stored: No space left"):
        library.create(VoiceDetails("x", VoiceKind.CLONE), VoiceParts(clip=clip))


def test_a_file_whose_name_is_blank_becomes_a_voice_too(
    library: VoiceLibrary, tmp_path: Path
) -> None:
    write_embedding(tmp_path / "  .spk", vector())
    (voice,) = import_voices(library, [tmp_path / "  .spk"]).voices
    assert voice.name == "untitled"


def test_a_damaged_description_can_be_made_anew(library: VoiceLibrary, full: LibraryVoice) -> None:
    (full.folder / DETAILS).write_bytes(b"\0\0")
    (damaged,) = library.list().damaged
    voice = library.repair(damaged, "Ash again")
    assert voice.name == "Ash again"
    assert load_voice(voice, 1024, Likeness.BEST).transcript == "Die Straße nach Łódź."
    assert (full.folder / f"{DETAILS}.damaged-1").read_bytes() == b"\0\0"


def test_damaged_voices_can_be_deleted(library: VoiceLibrary, full: LibraryVoice) -> None:
    (full.folder / DETAILS).unlink()
    library.delete(library.list().damaged[0])
    assert library.list() == VoiceListing()
    assert len(library.trash.items()) == 1


def test_a_newer_voice_speaks_but_is_not_changed(library: VoiceLibrary) -> None:
    voice = make(library, "future")
    path = voice.folder / DETAILS
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 2}))
    (voice,) = library.list().voices
    assert voice.read_only
    assert load_voice(voice, 1024).embedding is not None
    with pytest.raises(StorageError, match="newer version"):
        library.rename(voice, "x")
    with pytest.raises(StorageError, match="newer version"):
        library.complete(voice, transcript="x")


def test_a_folder_copied_by_hand_is_a_voice_of_its_own(
    library: VoiceLibrary, full: LibraryVoice
) -> None:
    shutil.copytree(full.folder, library.folder / "copy")
    listing = library.list()
    assert len({voice.id for voice in listing.voices}) == 2
    assert listing == library.list()  # and always the same one


# --- changes ---


def test_details_are_changed_and_kept(library: VoiceLibrary, full: LibraryVoice) -> None:
    details = replace(
        full.details, tags=(" Warm ", "wärm", "", "new  tag"), favourite=False, note="n", colour=""
    )
    changed = library.save(full, details)
    assert changed.details.tags == ("Warm", "new tag")
    assert library.list().voices == (changed,)
    assert changed.details.unknown == {"later": [1]}


def test_renaming_moves_the_folder_too(library: VoiceLibrary, full: LibraryVoice) -> None:
    renamed = library.rename(full, "Bo")
    assert renamed.folder.name == f"bo-{full.id[:8]}"
    assert not full.folder.exists()
    assert library.list().voices == (renamed,)
    assert library.rename(renamed, "bo!").folder == renamed.folder


def test_a_folder_in_use_keeps_its_name(
    library: VoiceLibrary, full: LibraryVoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "in use")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        renamed = library.rename(full, "Bo")
    assert renamed.folder == full.folder
    assert library.list().voices[0].name == "Bo"


def test_a_duplicate_stands_alone(library: VoiceLibrary, full: LibraryVoice) -> None:
    twin = library.duplicate(full, "Ash 2")
    assert twin.id != full.id
    assert twin.details.origin.parents == (full.id,)
    assert twin.details.consent == full.details.consent
    assert twin.files.widths == full.files.widths
    library.delete(full)
    assert load_voice(twin, 2048, Likeness.BEST).codes is not None


def test_deleted_voices_come_back(library: VoiceLibrary, full: LibraryVoice) -> None:
    item = library.delete(full)
    assert library.list() == VoiceListing()
    assert library.trash.items() == (item,)
    assert item.label == "Ash & Élan"
    assert library.restore(item) == full
    assert library.list().voices == (full,)


def test_parts_are_added_later(library: VoiceLibrary, clip: Path) -> None:
    designed = VoiceDetails("Designed", VoiceKind.DESIGNED)
    voice = library.create(designed, VoiceParts(clip=clip))
    with pytest.raises(VoiceWidthError, match="is not finished: it has no speaker embedding"):
        load_voice(voice, 1024)
    voice = library.complete(voice, vector(1024), CODES, "the words")
    voice = library.complete(voice, vector(2048))
    assert voice.files.widths == (1024, 2048)
    assert load_voice(voice, 2048, Likeness.BEST).transcript == "the words"


# --- speaking ---


def test_a_voice_is_loaded_for_a_model(full: LibraryVoice) -> None:
    steady = load_voice(full, 1024)
    np.testing.assert_array_equal(steady.embedding, vector(1024))
    assert (steady.codes, steady.transcript) == (None, None)
    best = load_voice(full, 2048, Likeness.BEST)
    np.testing.assert_array_equal(best.codes, CODES)
    assert best.transcript == "Die Straße nach Łódź."


def test_the_wrong_size_is_said_in_so_many_words(library: VoiceLibrary, clip: Path) -> None:
    parts = VoiceParts(clip=clip, embeddings=(vector(2048),))
    voice = library.create(VoiceDetails("x", VoiceKind.CLONE), parts)
    with pytest.raises(VoiceWidthError) as caught:
        load_voice(voice, 1024)
    assert str(caught.value) == (
        "This voice was made for the 1.7B model; the 0.6B model cannot read it. "
        "Make it again from its saved clip?"
    )
    assert caught.value.can_be_remade
    with pytest.raises(VoiceWidthError, match=r"load a 0\.6B model") as caught:
        load_voice(make(library, "y", 1024), 2048)
    assert not caught.value.can_be_remade


def test_missing_and_damaged_parts_are_explained(library: VoiceLibrary, full: LibraryVoice) -> None:
    with pytest.raises(VoiceFileError, match="has no reference codes"):
        load_voice(make(library, "x"), 1024, Likeness.BEST)
    wordless = library.complete(full, transcript=" ")
    with pytest.raises(VoiceFileError, match=r"has no transcript.*add the words"):
        load_voice(wordless, 1024, Likeness.BEST)
    with pytest.raises(VoiceFileError, match="codebooks end at 15"):
        load_voice(full, 1024, Likeness.BEST, codebook_size=16)
    (full.folder / "voice-1024.spk").write_bytes(b"\0" * 4095)
    with pytest.raises(VoiceFileError, match="not whole numbers"):
        load_voice(full, 1024)
    (full.folder / "voice-1024.spk").write_bytes(b"\0" * 8192)
    with pytest.raises(VoiceFileError, match="holds 2048 values"):
        load_voice(full, 1024)


# --- blending ---


@given(st.integers(0, 2**32 - 1), st.floats(0, 1), st.floats(0.1, 30), st.floats(0.1, 30))
def test_a_blend_lies_between(seed: int, amount: float, length_a: float, length_b: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 64))
    a *= length_a / np.linalg.norm(a)
    b *= length_b / np.linalg.norm(b)
    mixed = blend_embeddings(a.astype(np.float32), b.astype(np.float32), amount).astype(np.float64)
    length = np.linalg.norm(mixed)
    assert length == pytest.approx((1 - amount) * length_a + amount * length_b, rel=1e-5)

    def angle(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
        cosine = x @ y / np.linalg.norm(x) / np.linalg.norm(y)
        return float(np.arccos(np.clip(cosine, -1, 1)))

    assert angle(a, mixed) == pytest.approx(amount * angle(a, b), abs=2e-3)
    assert angle(mixed, b) == pytest.approx((1 - amount) * angle(a, b), abs=2e-3)


def test_blends_at_the_ends_and_of_odd_pairs() -> None:
    a, b = vector(8, 1), vector(8, 2)
    np.testing.assert_array_equal(blend_embeddings(a, b, 0), a)
    np.testing.assert_array_equal(blend_embeddings(a, b, 1), b)
    np.testing.assert_allclose(blend_embeddings(a, 3 * a, 0.5), 2 * a, rtol=1e-6)
    for other, message in ((-a, "opposites"), (0 * a, "no length"), (vector(9), "8 and 9 values")):
        with pytest.raises(VoiceFileError, match=message):
            blend_embeddings(a, other, 0.5)


def test_a_blend_says_where_it_comes_from(library: VoiceLibrary, full: LibraryVoice) -> None:
    other = make(library, "Bo", 1024, seed=5)
    consent = Consent("Yes.", "Bo", "2026-12-01")
    other = library.save(other, replace(other.details, language="german", consent=consent))
    voice = library.blend(full, other, 0.25, "Between")
    assert voice.details.kind is VoiceKind.BLEND
    assert voice.details.language == "german"
    assert voice.details.origin.parents == (full.id, other.id)
    assert voice.details.origin.parent_names == ("Ash & Élan", "Bo")
    assert voice.details.origin.amount == 0.25
    assert voice.details.consent == Consent(
        "Ash Example: I agree.\nBo: Yes.", "Ash Example, Bo", "2026-12-01"
    )
    assert voice.files.widths == (1024,)  # what both have
    np.testing.assert_array_equal(
        load_voice(voice, 1024).embedding, blend_embeddings(vector(1024), vector(1024, 5), 0.25)
    )
    with pytest.raises(VoiceWidthError, match="different sizes"):
        library.blend(other, make(library, "Cy", 2048), 0.5, "x")


# --- finding ---


def test_hundreds_of_voices_are_listed_with_one_damaged(library: VoiceLibrary) -> None:
    first = make(library, "Voice 0")
    (first.folder / "transcript.txt").write_text("some words")
    values = json.loads((first.folder / DETAILS).read_text())
    for number in range(1, 500):
        folder = library.folder / f"voice-{number}-x"
        folder.mkdir()
        for name in ("voice-1024.spk", "transcript.txt"):
            (folder / name).hardlink_to(first.folder / name)
        own = values | {"id": f"{number:032x}", "name": f"Voice {number}"}
        (folder / DETAILS).write_text(json.dumps(own))
    (library.folder / "voice-250-x" / DETAILS).write_text("{")
    listing = library.list()
    assert len(listing.voices) == 499
    assert len(listing.damaged) == 1
    found = {voice.name for voice in VoiceFilter("words voice 49").apply(listing.voices)}
    assert found == {f"Voice {number}" for number in range(500) if "49" in str(number)}


def test_search_ignores_case_and_accents(library: VoiceLibrary, full: LibraryVoice) -> None:
    other = make(library, "ガイド")
    voices = (full, other)
    for query in ("", " ", "ash", "ELAN", "élan ash", "strasse", "lodz", "trailer", "GERMAN",
                  "quiet", unicodedata.normalize("NFD", "Élan")):  # fmt: skip
        assert full in VoiceFilter(query).apply(voices)
    for query in ("ash bo", "kalt", "336699"):
        assert full not in VoiceFilter(query).apply(voices)
    assert VoiceFilter("ガイド").apply(voices) == (other,)
    assert VoiceFilter("カイト").apply(voices) == ()
    assert VoiceFilter(tags=frozenset({"WARM"})).apply(voices) == (full,)
    assert VoiceFilter(tags=frozenset({"warm", "cold"})).apply(voices) == ()
    assert VoiceFilter(favourites=True).apply(voices) == (full,)
    assert VoiceFilter(language="auto").apply(voices) == (other,)
    assert VoiceFilter(kinds=frozenset({VoiceKind.BLEND})).apply(voices) == ()
    assert VoiceListing(voices).tags == ("Trailer", "warm")


@given(st.text())
@example("\u2120")  # the service mark: SM once it is taken apart
def test_folding_is_stable(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert len(clean_tags([text, text, text.upper().lower()])) <= 2


def test_voices_are_sorted(library: VoiceLibrary) -> None:
    names = ["b", "Ä", "a", "C"]
    voices = []
    for number, name in enumerate(names):
        voice = make(library, name)
        details = replace(voice.details, created=f"2026-01-0{number + 1}", language=name.lower())
        voices.append(library.save(voice, details))

    def ordered(order: VoiceOrder) -> str:
        return "".join(voice.name for voice in sorted_voices(voices, order))

    assert ordered(VoiceOrder.NAME) == "ÄabC"
    assert ordered(VoiceOrder.NEWEST) == "CaÄb"
    assert ordered(VoiceOrder.LANGUAGE) == "abCÄ"


def test_names_are_sorted_as_people_count(library: VoiceLibrary) -> None:
    names = ["Voice 10", "Voice 9", "voice 1", "Voice", "3 sisters"]
    voices = [make(library, name) for name in names]
    order = [voice.name for voice in sorted_voices(voices)]
    assert order == ["3 sisters", "Voice", "voice 1", "Voice 9", "Voice 10"]


# --- out and in again ---


def same_files(first: LibraryVoice, second: LibraryVoice) -> bool:
    def content(voice: LibraryVoice) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in voice.folder.iterdir()}

    return content(first) == content(second)


@pytest.fixture
def elsewhere(tmp_path: Path) -> VoiceLibrary:
    return VoiceLibrary(tmp_path / "other" / "voices", Trash(tmp_path / "other" / "trash"))


def test_a_folder_travels(full: LibraryVoice, elsewhere: VoiceLibrary, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    folder = export_folder(full, out)
    assert folder.name == "Ash & Élan"
    assert export_folder(full, out).name == "Ash & Élan 2"
    report = import_voices(elsewhere, [folder])
    assert report.problems == ()
    assert same_files(report.voices[0], full)
    assert report.voices[0].details == full.details  # with its id, so that takes find it
    (again,) = import_voices(elsewhere, [folder / DETAILS]).voices
    assert again.id != full.id
    assert len(import_voices(elsewhere, [out]).voices) == 2


def test_a_zip_travels(
    library: VoiceLibrary, full: LibraryVoice, elsewhere: VoiceLibrary, tmp_path: Path
) -> None:
    other = library.duplicate(full, "ash & élan")
    path = tmp_path / "voices.zip"
    export_zip([full, other], path)
    report = import_voices(elsewhere, [path])
    assert report.problems == ()
    assert {voice.id for voice in report.voices} == {full.id, other.id}
    assert all(same_files(voice, full) for voice in report.voices if voice.id == full.id)
    with pytest.raises(StorageError, match="cannot be written"):
        export_zip([full], tmp_path / "missing" / "voices.zip")


def test_bare_files_travel(
    library: VoiceLibrary, full: LibraryVoice, elsewhere: VoiceLibrary, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    made = export_bare(full, out)
    stem = "Ash & Élan"
    assert [path.name for path in made] == [
        f"{stem}-1024.spk",
        f"{stem}-2048.spk",
        f"{stem}.rvq",
        f"{stem}.txt",
    ]
    report = import_voices(elsewhere, made)
    (voice,) = report.voices
    assert (voice.name, voice.details.kind) == (stem, VoiceKind.IMPORTED)
    assert voice.files.widths == (1024, 2048)
    assert voice.transcript == full.transcript
    single = export_bare(full, out, 1024)
    assert [path.name for path in single] == [f"{stem} 2{end}" for end in (".spk", ".rvq", ".txt")]
    with pytest.raises(VoiceFileError, match="width 80"):
        export_bare(full, out, 80)


def test_codes_of_the_demonstration_travel_with_its_embedding(
    library: VoiceLibrary, elsewhere: VoiceLibrary, tmp_path: Path
) -> None:
    parts = VoiceParts(
        transcript="Words.",
        codes=CODES,
        codec=DEMO_CODEC,
        embeddings=(vector(DEMO_WIDTH),),
    )
    small = library.create(VoiceDetails("Small", VoiceKind.CLONE), parts)
    assert small.files.codecs == (DEMO_CODEC,)
    made = export_bare(small, tmp_path)
    assert [path.name for path in made] == ["Small.spk", "Small.rvq", "Small.txt"]
    (again,) = import_voices(elsewhere, made).voices
    assert (again.files.widths, again.files.codecs) == ((DEMO_WIDTH,), (DEMO_CODEC,))
    assert load_voice(again, DEMO_WIDTH, Likeness.BEST, codec=DEMO_CODEC).codes is not None
    (as_folder,) = import_voices(elsewhere, [export_folder(small, tmp_path)]).voices
    assert as_folder.files == replace(small.files, clip=None)

    both = library.complete(small, vector(1024), CODES[:1])
    assert both.files.codecs == ("", DEMO_CODEC)
    for width, frames in ((None, 1), (1024, 1), (DEMO_WIDTH, len(CODES))):
        (path,) = (path for path in export_bare(both, tmp_path, width) if path.suffix == ".rvq")
        assert len(read_codes(path)) == frames


def test_a_folder_with_codes_alone_is_no_voice(
    library: VoiceLibrary, elsewhere: VoiceLibrary, tmp_path: Path
) -> None:
    parts = VoiceParts(codes=CODES, codec=DEMO_CODEC, embeddings=(vector(DEMO_WIDTH),))
    folder = export_folder(library.create(VoiceDetails("Small", VoiceKind.CLONE), parts), tmp_path)
    (folder / f"voice-{DEMO_WIDTH}.spk").unlink()
    report = import_voices(elsewhere, [folder])
    assert report.voices == ()
    assert "neither embedding nor clip" in report.problems[0].message


def test_the_files_of_another_program_are_taken(library: VoiceLibrary, tmp_path: Path) -> None:
    folder = tmp_path / "examples"
    folder.mkdir()
    write_embedding(folder / "freeman.SPK", vector(2048))
    write_codes(folder / "freeman.rvq", CODES)
    (folder / "freeman.txt").write_bytes("\ufeffWell…\r\n".encode("utf-16"))
    (folder / "freeman.wav").write_bytes(b"RIFF sound")
    write_embedding(folder / "take-2048.spk", vector(1024))  # no width of its own: a name
    (folder / "README.txt").write_text("not a voice")
    (folder / "song.wav").write_bytes(b"RIFF song")
    (folder / ".hidden.spk").write_bytes(b"x")
    report = import_voices(library, [folder])
    assert report.problems == ()
    freeman, take = sorted_voices(report.voices)
    assert (freeman.name, take.name) == ("freeman", "take-2048")
    assert freeman.transcript == "\ufeffWell…".strip("\ufeff")
    assert freeman.files.clip == freeman.folder / "clip.wav"
    assert freeman.details.origin.source == "freeman.SPK"
    assert freeman.has_best_likeness
    assert take.files.widths == (1024,)


def test_one_bad_file_stops_no_other(library: VoiceLibrary, tmp_path: Path) -> None:
    write_embedding(tmp_path / "good.spk", vector())
    (tmp_path / "odd.spk").write_bytes(b"123")
    (tmp_path / "lone.rvq").write_bytes(pack_codes(CODES))
    (tmp_path / "lone song.wav").write_bytes(b"RIFF")
    (tmp_path / "letter.doc").write_bytes(b"x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    (tmp_path / "old.txt").write_bytes("Grüße".encode("cp1252"))
    write_embedding(tmp_path / "old.spk", vector())
    names = ["odd.spk", "lone.rvq", "lone song.wav", "letter.doc", "empty", "broken.zip",
             "gone.spk", "old.txt", "old.spk", "good.spk"]  # fmt: skip
    report = import_voices(library, [tmp_path / name for name in names])
    assert [voice.name for voice in sorted_voices(report.voices)] == ["good", "old"]
    told = "\n".join(problem.message for problem in report.problems)
    assert all(name in told for name in names[:7])
    assert len(report.problems) == 7
    assert sorted_voices(report.voices)[1].transcript == "Grüße"
    assert "read as Windows-1252" in report.notices[0]
    assert library.list().damaged == ()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b" plain \r\n two\r", "plain \n two"),
        ("\ufeffmark".encode(), "mark"),
        ("你好".encode("utf-16"), "你好"),
        ("hello".encode("utf-16-le"), "hello"),
        ("hello".encode("utf-16-be"), "hello"),
        (b"", ""),
    ],
)
def test_transcripts_of_any_encoding(data: bytes, text: str) -> None:
    transcript = decode_transcript(data, "t.txt")
    assert (transcript.text, transcript.notice) == (text, "")


@given(st.binary(max_size=64))
def test_any_bytes_are_a_transcript_or_are_refused(data: bytes) -> None:
    try:
        text = decode_transcript(data, "t.txt").text
    except VoiceFileError as error:
        text = error.message
    assert "\0" not in text


# --- archives from strangers ---


def archive(path: Path, entries: dict[str, bytes], mode: int = 0) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, data)
    return path


SPK = vector().tobytes()


@pytest.mark.parametrize(
    "name",
    ["../evil.spk", "a/../../evil.spk", "/tmp/evil.spk", "..\\evil.spk", "C:\\evil.spk", "c:evil"],
)
def test_nothing_is_unpacked_outside(library: VoiceLibrary, tmp_path: Path, name: str) -> None:
    path = archive(tmp_path / "evil.zip", {"good.spk": SPK, name: SPK})
    before = {entry for entry in tmp_path.rglob("*") if entry.suffix == ".spk"}
    report = import_voices(library, [path])
    assert report.voices == ()
    assert "points outside" in report.problems[0].message
    assert {entry for entry in tmp_path.rglob("*") if entry.suffix == ".spk"} == before
    assert not Path("/tmp/evil.spk").exists()


def test_links_and_bombs_are_refused(library: VoiceLibrary, tmp_path: Path) -> None:
    link = archive(tmp_path / "link.zip", {"x.spk": b"/etc/passwd"}, stat.S_IFLNK | 0o777)
    bomb = archive(tmp_path / "bomb.zip", {f"{n}.spk": b"\0" * 200_000 for n in range(8)})
    many = archive(tmp_path / "many.zip", {f"{n}.txt": b"" for n in range(30)})
    deep = archive(tmp_path / "deep.zip", {"a/" * 20 + "x.spk": SPK})
    limits = ArchiveLimits(entries=20, total_bytes=1_000_000)
    report = import_voices(library, [link, bomb, many, deep], limits)
    assert report.voices == ()
    told = [problem.message for problem in report.problems]
    for message, word in zip(told, ["outside", "fill the disk", "30 files", "sense"], strict=True):
        assert word in message
    assert all(isinstance(problem, ArchiveError) for problem in report.problems)


def test_a_size_that_is_a_lie_is_noticed(library: VoiceLibrary, tmp_path: Path) -> None:
    data = archive(tmp_path / "lie.zip", {"x.spk": b"\0" * 500_000}).read_bytes()
    true, false = (500_000).to_bytes(4, "little"), (4096).to_bytes(4, "little")
    assert data.count(true) == 2
    (tmp_path / "lie.zip").write_bytes(data.replace(true, false))
    report = import_voices(library, [tmp_path / "lie.zip"])
    assert report.voices == ()
    assert "damaged" in report.problems[0].message


def test_harmless_oddities_are_taken(library: VoiceLibrary, tmp_path: Path) -> None:
    entries = {
        "My Voices/": b"",
        "My Voices/con.spk": SPK,
        "My Voices/CON.rvq": pack_codes(CODES),
        "__MACOSX/._con.spk": b"x",
        "My Voices/virus.exe": b"MZ",
    }
    report = import_voices(library, [archive(tmp_path / "odd.zip", entries)])
    assert [voice.name for voice in report.voices] == ["_con"]
    assert report.voices[0].files.widths == (1024,)
    assert {path.suffix for path in library.folder.rglob("*.*")} <= {".spk", ".json", ".rvq"}


def test_an_archive_without_voices_says_so(library: VoiceLibrary, tmp_path: Path) -> None:
    path = archive(tmp_path / "photos.zip", {"a.jpg": b"x", "song.wav": b"RIFF"})
    (problem,) = import_voices(library, [path]).problems
    assert problem.message == f"There are no voices in {path}."
    bad = archive(tmp_path / "bad.zip", {"ash/voice.json": b"{", "bo.spk": b"123"})
    problems = import_voices(library, [bad]).problems
    assert sorted(problem.message.split(" is ")[0] for problem in problems) == [
        f"{bad}/ash/voice.json",
        f"{bad}/bo.spk",
    ]


def exported_zip() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        library = VoiceLibrary(Path(name) / "voices", Trash(Path(name) / "trash"))
        parts = VoiceParts(transcript="words", codes=CODES, embeddings=(vector(16),))
        voice = library.create(replace(DETAILS_FULL, id="0" * 32), parts)
        export_zip([voice], Path(name) / "v.zip")
        return (Path(name) / "v.zip").read_bytes()


ZIP = exported_zip()


@hypothesis_settings(max_examples=150)
@given(
    st.lists(st.tuples(st.integers(0, len(ZIP) - 1), st.integers(0, 255)), max_size=6),
    st.integers(0, len(ZIP)),
    st.booleans(),
)
def test_mutated_archives_are_taken_whole_or_explained(
    changes: list[tuple[int, int]], length: int, cut: bool
) -> None:
    data = bytearray(ZIP)
    for place, value in changes:
        data[place] = value
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "v.zip"
        path.write_bytes(data[:length] if cut else data)
        library = VoiceLibrary(folder / "data" / "voices", Trash(folder / "data" / "trash"))
        report = import_voices(library, [path])
        listing = library.list()
        assert {voice.id for voice in listing.voices} == {voice.id for voice in report.voices}
        assert listing.damaged == ()
        assert report.voices or report.problems
        for voice in report.voices:
            for width in voice.files.widths:
                read_embedding(voice.folder / f"voice-{width}.spk", width)
        assert sorted(entry.name for entry in folder.iterdir()) in (["data", "v.zip"], ["v.zip"])


@hypothesis_settings(max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(["id", "name", "kind", "tags", "consent", "origin", "created", "schema"]),
        st.none() | st.integers() | st.text(st.characters(), max_size=20) | st.lists(st.text()),
        max_size=3,
    )
)
def test_any_description_is_taken_or_explained(values: dict[str, object]) -> None:
    usual = {"schema": 1, "id": "0" * 32, "name": "x", "kind": "clone"}
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("x/voice.json", json.dumps(usual | values))
        file.writestr("x/voice-1024.spk", SPK)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "v.zip"
        path.write_bytes(data.getvalue())
        library = VoiceLibrary(Path(name) / "voices", Trash(Path(name) / "trash"))
        report = import_voices(library, [path])
        assert len(report.voices) + len(report.problems) == 1
        assert len(library.list().voices) == len(report.voices)
        if report.problems:
            assert report.problems[0].message
            assert not isinstance(report.problems[0], DamagedFileError)  # located in the archive
