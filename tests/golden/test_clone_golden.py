"""From a recording to cloned speech, end to end, against the official implementation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine import (
    AudioFileError,
    Engine,
    LengthRule,
    ModeError,
    ModelPair,
    Sampling,
    SpeechRequest,
    StackSampling,
    Voice,
    open_engine,
)
from engine.audio import read_reference
from tests.golden.conftest import CODEC, Golden
from tests.golden.test_codec_decode_golden import compare

FRAME = 1920
GREEDY = StackSampling(greedy=True)


@pytest.fixture(scope="module")
def engine(data: Path) -> Engine:
    pair = ModelPair(data / "qwen-talker-1.7b-base-F32.gguf", data / CODEC)
    return open_engine(pair, device="cpu", precision="f32")


def clip(data: Path, name: str) -> NDArray[np.float32]:
    return read_reference(data / name).at(24_000)


@pytest.mark.parametrize("name", ["base_icl_stream_short", "base_icl_stream_long"])
def test_in_context_clone_from_a_clip(
    name: str, golden: Callable[[str], Golden], engine: Engine, data: Path
) -> None:
    case = golden(name)
    clone = case.facts["clone"]
    voice = engine.extract_voice(clip(data, clone["audio"]))
    assert voice.embedding is not None
    assert voice.codes is not None
    np.testing.assert_array_equal(voice.codes, case.arrays["ref_code"])
    assert np.abs(voice.embedding - case.arrays["ref_spk"]).max() <= 1e-4

    request = SpeechRequest(
        case.facts["text"],
        language=case.facts["language"],
        voice=replace(voice, transcript=clone["ref_text"]),
        sampling=Sampling(GREEDY, GREEDY, repetition_penalty=1.0, max_frames=60),
        seeds=(0,),
    )
    chunks = list(engine.speak(request))
    case.assert_codes("codes", np.concatenate([chunk.codes for chunk in chunks]))

    if name == "base_icl_stream_short":  # the case whose sound the official wrapper made
        sound = np.concatenate([chunk.samples for chunk in chunks])
        arrays = golden("base_icl_audio").arrays
        assert sound.size == arrays["n"]
        head, tail = arrays["head"], arrays["tail"]
        assert compare(head, sound[: head.size]) <= 2e-4
        assert compare(tail, sound[-tail.size :]) <= 2e-4
        assert compare(arrays["stride37"], sound[::37]) <= 2e-4
        levels = np.sqrt((sound.reshape(-1, FRAME) ** 2).mean(axis=1))
        assert compare(arrays["rms"], levels) <= 1e-4


def test_extraction_is_deterministic_and_keeps_the_length_rules(engine: Engine, data: Path) -> None:
    samples = clip(data, "clip_a.wav")
    first = engine.extract_voice(samples)
    again = engine.extract_voice(samples)
    whole = engine.extract_voice(samples, LengthRule.WHOLE_FRAMES)
    assert first.embedding is not None
    assert first.codes is not None
    assert again.embedding is not None
    assert again.codes is not None
    assert whole.embedding is not None
    assert whole.codes is not None
    np.testing.assert_array_equal(first.codes, again.codes)
    np.testing.assert_array_equal(first.embedding, again.embedding)
    np.testing.assert_array_equal(first.embedding, whole.embedding)
    assert len(first.codes) == -(-samples.size // FRAME)
    assert len(whole.codes) == samples.size // FRAME


def test_an_x_vector_clone_needs_no_transcript(
    golden: Callable[[str], Golden], engine: Engine, data: Path
) -> None:
    case = golden("base_xvec_stream_en")
    voice = engine.extract_voice(clip(data, "clip_a.wav"))
    request = SpeechRequest(
        case.facts["text"],
        language=case.facts["language"],
        voice=Voice(voice.embedding),
        sampling=Sampling(GREEDY, GREEDY, repetition_penalty=1.0, max_frames=60),
        seeds=(0,),
    )
    codes = np.concatenate([chunk.codes for chunk in engine.speak(request)])
    case.assert_codes("codes", codes)


def test_what_cannot_be_learned_is_explained(engine: Engine, data: Path) -> None:
    with pytest.raises(AudioFileError, match="not numbers"):
        engine.extract_voice(np.full(24_000, np.nan, np.float32))
    with pytest.raises(AudioFileError):
        engine.extract_voice(np.zeros(1000, np.float32))
    pair = ModelPair(data / "qwen-talker-0.6b-customvoice-F32.gguf", data / CODEC)
    with pytest.raises(ModeError, match="cannot learn a voice"):
        open_engine(pair, device="cpu").extract_voice(np.zeros(24_000, np.float32))
