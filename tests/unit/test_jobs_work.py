"""What the engine's thread does for each kind of job, without a thread."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.jobs.messages import LoadedModel, Loading, Progress, Speaking, Spoken
from app.jobs.work import ExtractVoice, Host, LoadModel, Speak, UnloadModel
from engine import (
    Cancelled,
    CancelToken,
    ModelFileError,
    ModelPair,
    Sampling,
    SpeechRequest,
    Voice,
    open_engine,
)
from engine.types import Samples


class Sink:
    """Keeps the sound of a take."""

    def __init__(self) -> None:
        self.samples = 0

    def append(self, samples: Samples) -> None:
        self.samples += len(samples)


@pytest.fixture
def pair(data: Path) -> ModelPair:
    return ModelPair(data / "qwen-talker-1.7b-base-F32.gguf", data / "qwen-tokenizer-12hz-F32.gguf")


def test_a_model_is_loaded_spoken_with_and_released(pair: ModelPair) -> None:
    host = Host(open_engine)
    told: list[Progress] = []
    loaded = LoadModel(pair, "cpu", "f32").run(1, host, CancelToken(), told.append)
    assert isinstance(loaded, LoadedModel)
    assert loaded.description.family == "base"
    assert isinstance(told[-1], Loading)
    assert told[-1].done == told[-1].total

    sinks = [Sink(), Sink()]
    request = SpeechRequest("Hello.", seeds=(1, 2), sampling=Sampling(max_frames=5))
    spoken = Speak(request, sinks).run(2, host, CancelToken(), told.append)
    assert isinstance(spoken, Spoken)
    assert [take.frames for take in spoken.takes] == [5, 5]
    assert [sink.samples for sink in sinks] == [5 * 1920] * 2
    assert isinstance(told[-1], Speaking)
    assert told[-1].seconds == pytest.approx(0.4)

    voice = ExtractVoice(np.full(24_000, 0.1, np.float32)).run(3, host, CancelToken(), told.append)
    assert isinstance(voice, Voice)
    assert voice.codes is not None

    UnloadModel().run(4, host, CancelToken(), told.append)
    with pytest.raises(ModelFileError, match="No model is loaded"):
        Speak(request, sinks).run(5, host, CancelToken(), told.append)


def test_a_stopped_take_keeps_what_there_is(pair: ModelPair) -> None:
    host = Host(open_engine)
    LoadModel(pair, "cpu", "f32").run(1, host, CancelToken(), lambda _: None)
    token, sink = CancelToken(), Sink()
    request = SpeechRequest(
        "Hello.", seeds=(1,), sampling=Sampling(max_frames=50), piece_frames=(1,)
    )

    def stop(progress: Progress) -> None:
        if isinstance(progress, Speaking) and progress.frames == 3:
            token.cancel()

    with pytest.raises(Cancelled):
        Speak(request, [sink]).run(2, host, token, stop)
    assert isinstance(host.partial, Spoken)
    assert host.partial.takes[0].frames == 3
    assert sink.samples == 3 * 1920
