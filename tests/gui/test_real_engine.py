"""From the window's side to the file with the real engine: nothing on the way changes a sample."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.audio.null import NullBackend
from app.core.paths import studio_paths
from app.core.takes import TakeEnding, TakeRequest
from app.core.voice_folder import load_voice
from app.core.voice_parts import VoiceParts
from app.core.voice_record import LibraryVoice, Likeness, VoiceDetails, VoiceKind
from app.core.voices import VoiceLibrary
from app.jobs.work import Openers
from app.studio.models import ModelStatus
from app.studio.speech import SpeechPhase
from app.studio.studio import Studio
from engine import Engine, ExplainedError, Family, ModelPair, Sampling, open_engine
from engine.audio import read_audio
from engine.types import Codes, Samples
from engine.voices import read_codes

WORDS = "The words of the clip."
SHORT = Sampling(max_frames=6)


@pytest.fixture
def studio(qapp: QApplication, studio_home: Path) -> Iterator[Studio]:
    made = Studio(studio_paths(studio_home), NullBackend(), Openers())
    made.preferences.update(device="cpu", precision="f32")
    yield made
    assert made.close()
    made.deleteLater()


@pytest.fixture
def pair(data: Path) -> ModelPair:
    return ModelPair(data / "qwen-talker-1.7b-base-F32.gguf", data / "qwen-tokenizer-12hz-F32.gguf")


@pytest.fixture
def voice(studio: Studio, data: Path) -> LibraryVoice:
    """A voice with nothing but a clip and its words."""
    library = VoiceLibrary(studio.voices.folder, studio.voices._library.trash)
    return library.create(
        VoiceDetails("Anna", VoiceKind.CLONE),
        VoiceParts(clip=data / "clip_a.wav", transcript=WORDS),
    )


def directly(
    engine: Engine, request: TakeRequest, seeds: tuple[int, ...], voice: LibraryVoice
) -> dict[int, tuple[Samples, Codes]]:
    """What the engine says without the studio: samples [n] and codes [T, 16] by seed."""
    spoken = load_voice(voice, engine.description.width, request.likeness, engine.codebook_size)
    chunks = list(engine.speak(request.speech(seeds, spoken)))
    return {
        seed: (
            np.concatenate([chunk.samples for chunk in chunks if chunk.take == take]),
            np.concatenate([chunk.codes for chunk in chunks if chunk.take == take]),
        )
        for take, seed in enumerate(seeds)
    }


def test_a_take_is_to_the_sample_what_the_engine_said(
    studio: Studio, pair: ModelPair, voice: LibraryVoice, qtbot: QtBot
) -> None:
    problems: list[ExplainedError] = []
    studio.problem.connect(problems.append)
    studio.models.load(pair)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED, timeout=60_000)
    request = TakeRequest(
        "Hello there.",
        Family.BASE,
        language="english",
        voice_id=voice.id,
        likeness=Likeness.BEST,
        sampling=SHORT,
    )
    seeds = (11, 12)
    studio.speech.speak(request, seeds, "Anna")
    qtbot.waitUntil(lambda: studio.speech.state.phase is SpeechPhase.IDLE, timeout=60_000)
    assert not problems
    assert {take.seed for take in studio.session.takes} == set(seeds)

    engine = open_engine(pair, device="cpu", precision="f32")
    learnt = studio.voices._library.list().find(voice.id)
    assert learnt is not None
    recording = read_audio(pair.talker.parent / "clip_a.wav").at(engine.sample_rate)
    assert learnt.files.has_codes
    embedding = load_voice(learnt, engine.description.width).embedding
    assert embedding is not None
    expected = engine.extract_voice(recording).embedding
    assert expected is not None
    assert np.array_equal(embedding, expected)
    said = directly(engine, request, seeds, learnt)
    for take in studio.session.takes:
        assert (take.ending, take.frames) == (TakeEnding.LIMIT, 6)
        assert (take.device, take.precision) == ("cpu", "f32")
        samples, codes = said[take.seed]
        kept, rate = soundfile.read(studio.session.sound_path(take), dtype="float32")
        assert rate == engine.sample_rate
        assert np.array_equal(kept, samples)
        assert np.array_equal(read_codes(studio.session.codes_path(take)), codes)
