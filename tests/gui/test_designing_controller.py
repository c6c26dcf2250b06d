"""Locking a designed take as a voice, and completing voices once there is a base model."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from pytestqt.qtbot import QtBot

from app.core.takes import Take, TakeEnding, TakeRequest
from app.core.voice_folder import load_voice
from app.core.voice_parts import VoiceParts
from app.core.voice_record import LibraryVoice, Likeness, VoiceDetails, VoiceKind
from app.jobs.work import Openers
from app.studio.voice_making import MakingState
from engine import Family, ModelPair, VoiceFileError, describe_model, open_engine
from engine.audio import read_audio
from engine.types import DEMO_WIDTH
from engine.voices import read_codes, read_embedding
from tests.fakes import BASE, CODEC, DATA, fake_models, fake_opener
from tests.workshop import Workshop, put_speech

WIDTH = describe_model(DATA / BASE).width
TEXT = "Good evening, and welcome to the old theatre."


@pytest.fixture
def shop(qtbot: QtBot, tmp_path: Path) -> Iterator[Workshop]:
    made = Workshop(tmp_path / "home")
    yield made
    made.close()


def make_take(shop: Workshop, data: Path, *, with_codes: bool = True) -> Take:
    """A take of the design tab, whole on disk and in the session."""
    request = TakeRequest(
        TEXT, Family.VOICE_DESIGN, language="english", instruct="An elderly, warm woman."
    )
    begun = Take(request, 7, "Designed", model_fingerprint="abc")
    samples = read_audio(data / "clip_a.wav").samples
    codes = np.arange(50 * 16, dtype=np.int64).reshape(50, 16) % 2048 if with_codes else None
    writer = shop.session.writer(begun)
    writer.append(samples, codes)
    take = writer.finish(TakeEnding.SPOKEN, 50)
    assert take is not None
    shop.session.add(take)
    return take


def find_models(shop: Workshop) -> None:
    fake_models(shop.paths.models)
    shop.models.look()
    shop.flush()


def locked(shop: Workshop, take: Take, qtbot: QtBot) -> LibraryVoice:
    """The voice that a take becomes, completed by a base model."""
    find_models(shop)
    with qtbot.waitSignals([shop.designing.locked, shop.designing.completed]):
        shop.designing.lock(take, "Edith")
    shop.flush()
    (voice,) = shop.voices.listing.voices
    return voice


def add_clip(shop: Workshop, name: str, data: Path, transcript: str = "") -> LibraryVoice:
    """A voice that has nothing but its clip."""
    path = shop.recordings / f"{name}.wav"
    put_speech(path, data, rate=24_000)
    made: list[LibraryVoice] = []
    parts = VoiceParts(clip=path, transcript=transcript)
    shop.voices.create(VoiceDetails(name, VoiceKind.CLONE), parts, made.append)
    shop.flush()
    return made[0]


def test_a_take_becomes_a_voice_that_speaks(shop: Workshop, data: Path, qtbot: QtBot) -> None:
    take = make_take(shop, data)
    voice = locked(shop, take, qtbot)
    details, origin = voice.details, voice.details.origin
    assert (details.name, details.kind, details.language) == (
        "Edith",
        VoiceKind.DESIGNED,
        "english",
    )
    assert (origin.prompt, origin.seed, origin.model) == ("An elderly, warm woman.", 7, "abc")
    assert voice.files.widths == (WIDTH,)
    assert voice.has_best_likeness
    assert voice.transcript == TEXT
    assert (voice.folder / "clip.wav").read_bytes() == shop.session.sound_path(take).read_bytes()
    assert np.array_equal(
        read_codes(voice.folder / "voice.rvq"), read_codes(shop.session.codes_path(take))
    )
    assert shop.voices.selected == voice
    assert shop.heard.sentences == ["Edith was locked as a voice."]
    assert shop.designing.pending == ()
    [note] = shop.heard.notes
    assert note.action_label == "Speak with it"
    assert note.action is not None
    shop.voices.select("")
    with qtbot.waitSignal(shop.designing.speak_wished) as wished:
        note.action()
    assert wished.args[0].id == voice.id
    assert shop.voices.selected == voice


def test_the_codes_of_another_tokenizer_stay_apart(
    shop: Workshop, data: Path, qtbot: QtBot
) -> None:
    take = replace(make_take(shop, data), codec="demonstration")
    voice = locked(shop, take, qtbot)
    assert set(voice.files.codecs) == {"", "demonstration"}
    of_take = read_codes(shop.session.codes_path(take))
    kept = read_codes(voice.folder / "voice-demonstration.rvq")
    assert np.array_equal(kept, of_take)
    assert not np.array_equal(read_codes(voice.folder / "voice.rvq"), of_take)
    assert load_voice(voice, WIDTH, Likeness.BEST, codec="demonstration").codes is not None
    with pytest.raises(VoiceFileError, match="no reference codes"):
        load_voice(voice, WIDTH, Likeness.BEST, codec="another")


def test_a_voice_of_the_demonstration_is_learnt_again_by_a_large_model(
    shop: Workshop, data: Path, qtbot: QtBot
) -> None:
    path = shop.recordings / "Anna.wav"
    put_speech(path, data, rate=24_000)
    parts = VoiceParts(
        clip=path,
        transcript="Words.",
        codes=np.zeros((9, 16), np.int64),
        codec="demonstration",
        embeddings=(np.ones(DEMO_WIDTH, np.float32),),
    )
    shop.voices.create(VoiceDetails("Anna", VoiceKind.CLONE), parts)
    shop.flush()
    with qtbot.waitSignal(shop.designing.completed):
        find_models(shop)
    (voice,) = shop.voices.listing.voices
    assert voice.files.widths == (WIDTH, DEMO_WIDTH)
    assert set(voice.files.codecs) == {"", "demonstration"}
    assert not shop.designing.pending


def test_a_silent_clip_becomes_no_voice(shop: Workshop, data: Path, qtbot: QtBot) -> None:
    voice = add_clip(shop, "Anna", data)
    soundfile.write(voice.folder / "clip.wav", np.zeros(48_000, np.float32), 24_000)
    find_models(shop)
    qtbot.waitUntil(lambda: bool(shop.heard.problems))
    assert "is silent" in shop.heard.problems[0].message
    (left,) = shop.voices.listing.voices
    assert left.files.widths == ()


def test_a_take_with_a_strange_tokenizer_is_locked_by_its_sound(
    shop: Workshop, data: Path, qtbot: QtBot
) -> None:
    voice = locked(shop, replace(make_take(shop, data), codec="../escaped"), qtbot)
    assert voice.files.codecs == ("",)  # made anew of its sound


def test_without_words_only_the_sound_is_kept(shop: Workshop, data: Path, qtbot: QtBot) -> None:
    find_models(shop)
    with qtbot.waitSignal(shop.designing.completed):
        shop.designing.lock(make_take(shop, data), "Edith", with_words=False)
    shop.flush()
    (voice,) = shop.voices.listing.voices
    assert voice.files.widths == (WIDTH,)
    assert voice.transcript == ""
    assert not voice.files.has_codes
    assert not voice.has_best_likeness


def test_a_take_without_codes_has_them_made(shop: Workshop, data: Path, qtbot: QtBot) -> None:
    find_models(shop)
    with qtbot.waitSignal(shop.designing.completed):
        shop.designing.lock(make_take(shop, data, with_codes=False), "Edith")
    (voice,) = shop.voices.listing.voices
    assert len(read_codes(voice.folder / "voice.rvq")) == 50


def test_without_a_base_model_a_locked_voice_waits_for_one(
    shop: Workshop, data: Path, qtbot: QtBot
) -> None:
    with qtbot.waitSignal(shop.designing.locked) as blocker:
        shop.designing.lock(make_take(shop, data), "Edith")
    voice = blocker.args[0]
    assert voice.files.widths == ()
    assert shop.designing.pending == (voice,)
    assert "cannot speak yet" in shop.heard.sentences[0]
    assert "Base model" in shop.heard.notes[0].hint
    with qtbot.waitSignal(shop.designing.completed):
        find_models(shop)
    assert not shop.designing.pending
    assert shop.voices.listing.voices[0].files.widths == (WIDTH,)


def test_a_take_whose_sound_is_gone_is_a_problem(shop: Workshop, data: Path) -> None:
    take = make_take(shop, data)
    shop.session.sound_path(take).unlink()
    shop.designing.lock(take, "Edith")
    shop.flush()
    assert take.file in shop.heard.problems[0].message
    assert shop.voices.listing.voices == ()


def test_all_that_wait_are_completed_one_after_the_other(
    shop: Workshop, data: Path, qtbot: QtBot
) -> None:
    voices = [add_clip(shop, name, data, "Words.") for name in ("Anna", "Ben", "Cleo")]
    assert len(shop.designing.pending) == 3
    find_models(shop)
    qtbot.waitUntil(lambda: not shop.designing.pending)
    for voice in voices:
        found = shop.voices.listing.find(voice.id)
        assert found is not None
        assert found.files.widths == (WIDTH,)
        assert found.has_best_likeness
    qtbot.waitUntil(lambda: len(shop.heard.notes) == 3)
    assert sorted(shop.heard.sentences) == [f"{voice.name} can speak now." for voice in voices]


def test_one_that_cannot_be_completed_is_told_once_and_stops_no_other(
    shop: Workshop, data: Path, qtbot: QtBot
) -> None:
    broken = add_clip(shop, "Anna", data)
    add_clip(shop, "Ben", data)
    (broken.folder / "clip.wav").write_bytes(b"RIFF")
    find_models(shop)
    qtbot.waitUntil(lambda: [voice.name for voice in shop.designing.pending] == ["Anna"])
    shop.models.look()
    shop.voices.refresh()
    shop.flush()
    assert len(shop.heard.problems) == 1
    assert "clip.wav" in shop.heard.problems[0].message


def test_completing_that_was_cancelled_is_taken_up_again(
    qtbot: QtBot, tmp_path: Path, data: Path
) -> None:
    gate = threading.Event()
    shop = Workshop(tmp_path / "home", openers=fake_opener(gate=gate).openers)
    models = fake_models(shop.paths.models)
    shop.models.look()
    shop.flush()
    shop.models.load(models.voice_design)  # the engine's thread waits at the gate
    add_clip(shop, "Anna", data)
    qtbot.waitUntil(lambda: len(shop.queue) == 2)
    gate.set()
    shop.models.load(models.custom_voice)  # stops everything
    with qtbot.waitSignal(shop.designing.completed):
        shop.voices.refresh()
    assert shop.voices.listing.voices[0].files.widths == (WIDTH,)
    assert not shop.heard.problems
    shop.close()


def test_learning_says_how_far_it_is_and_can_be_stopped(
    qtbot: QtBot, tmp_path: Path, data: Path
) -> None:
    gate = threading.Event()
    shop = Workshop(tmp_path / "home", openers=fake_opener(gate=gate).openers)
    told: list[MakingState] = []
    shop.maker.changed.connect(told.append)
    models = fake_models(shop.paths.models)
    shop.models.look()
    shop.flush()
    shop.models.load(models.voice_design)  # the engine's thread waits at the gate
    voices = [add_clip(shop, name, data, "Words.") for name in ("Anna", "Ben")]
    qtbot.waitUntil(lambda: bool(shop.maker.state.name))
    assert shop.maker.state.sentence == "Learning the voice Anna"
    assert shop.maker.stop()
    assert shop.maker.state.sentence == ""
    assert "first time" in shop.heard.sentences[-1]
    gate.set()
    qtbot.waitUntil(lambda: not len(shop.queue))
    shop.voices.set_favourite(voices[0], True)
    shop.flush()
    assert not shop.maker.stop(), "what somebody has stopped does not begin again by itself"
    assert len(shop.designing.pending) == 2

    made: list[object] = []
    samples = read_audio(data / "clip_a.wav").samples
    shop.maker.make(samples, "Cleo", with_codes=True, done=made.append, failed=made.append)
    qtbot.waitUntil(lambda: bool(made))
    steps = [state.sentence for state in told if state.name == "Cleo" and state.total]
    assert steps == [f"Learning the voice Cleo, step {step} of 2" for step in (1, 2)]
    shop.close()


def test_a_locked_voice_is_what_the_engine_extracts(
    qtbot: QtBot, tmp_path: Path, data: Path
) -> None:
    openers: Any = Openers(open_engine)
    shop = Workshop(tmp_path / "home", openers=openers)
    find_models(shop)
    with qtbot.waitSignal(shop.designing.completed, timeout=60_000) as blocker:
        shop.designing.lock(make_take(shop, data), "Edith")
    engine = open_engine(ModelPair(data / BASE, data / CODEC), device="cpu")
    expected = engine.extract_voice(read_audio(data / "clip_a.wav").samples).embedding
    assert expected is not None
    stored = read_embedding(blocker.args[0].folder / f"voice-{WIDTH}.spk", WIDTH)
    np.testing.assert_array_equal(stored, expected)
    shop.close()
