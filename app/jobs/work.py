"""What the engine's thread does for each kind of job; callable without a thread, for tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.jobs.messages import (
    LoadedModel,
    Loading,
    Progress,
    Reading,
    Result,
    Speaking,
    Spoken,
    SpokenTake,
)
from engine import (
    AudioChunk,
    CancelToken,
    Ending,
    Engine,
    ModelFileError,
    ModelPair,
    SpeechRequest,
    Voice,
)
from engine.types import Samples

Report: TypeAlias = Callable[[Progress], None]


class Opener(Protocol):
    """How a model pair becomes an engine (`engine.open_engine`)."""

    def __call__(
        self,
        pair: ModelPair,
        *,
        device: str = "auto",
        precision: str = "auto",
        progress: Callable[[int, int], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> Engine: ...


class TakeSink(Protocol):
    """Where the sound of one take goes, on the engine's thread."""

    def append(self, samples: Samples) -> None: ...


@dataclass
class Host:
    """The engine of the thread, if one is loaded."""

    open_engine: Opener
    engine: Engine | None = None
    partial: Result = None  # what a job has made when it is stopped or fails

    def require(self) -> Engine:
        if self.engine is None:
            raise ModelFileError("No model is loaded.", "Choose a model first.")
        return self.engine


class Job(Protocol):
    """Something for the engine's thread to do."""

    def run(self, job: int, host: Host, token: CancelToken, report: Report) -> Result: ...


@dataclass(frozen=True)
class LoadModel:
    """Load a model pair; the one before is released first, so that both never share memory."""

    pair: ModelPair
    device: str = "auto"
    precision: str = "auto"

    def run(self, job: int, host: Host, token: CancelToken, report: Report) -> LoadedModel:
        host.engine = None
        start = time.perf_counter()
        engine = host.open_engine(
            self.pair,
            device=self.device,
            precision=self.precision,
            progress=lambda done, total: report(Loading(job, done, total)),
            cancel=token,
        )
        host.engine = engine
        return LoadedModel(
            description=engine.description,
            device=self.device,
            precision=self.precision,
            seconds=time.perf_counter() - start,
            sample_rate=engine.sample_rate,
            frame_samples=engine.frame_samples,
        )


@dataclass(frozen=True)
class UnloadModel:
    """Release the engine and its memory."""

    def run(self, job: int, host: Host, token: CancelToken, report: Report) -> None:
        host.engine = None


@dataclass(frozen=True, eq=False)
class Speak:
    """Speak a request; every take's sound goes to its own sink as it is made."""

    request: SpeechRequest
    sinks: Sequence[TakeSink]
    on_codes: Callable[[int, NDArray[np.int64]], None] | None = None

    def run(self, job: int, host: Host, token: CancelToken, report: Report) -> Spoken:
        assert len(self.sinks) == len(self.request.seeds), "one sink per seed"
        engine = host.require()
        notices = engine.check(self.request)
        meter = _Meter(len(self.sinks), notices)
        host.partial = meter.result()
        for chunk in engine.speak(self.request, token):
            if len(chunk.samples):
                self.sinks[chunk.take].append(chunk.samples)
            if self.on_codes is not None and len(chunk.codes):
                self.on_codes(chunk.take, chunk.codes)
            meter.count(chunk)
            host.partial = meter.result()
            seconds = meter.longest * engine.frame_samples / engine.sample_rate
            report(Speaking(job, meter.longest, seconds, meter.speed()))
        return meter.result()


@dataclass(frozen=True, eq=False)
class ExtractVoice:
    """Turn a recording (mono, 24 kHz) into a voice without a transcript."""

    samples: Samples

    def run(self, job: int, host: Host, token: CancelToken, report: Report) -> Voice:
        report(Reading(job))
        return host.require().extract_voice(self.samples, cancel=token)


@dataclass
class _Meter:
    """Counts the frames of every take and the time they took."""

    takes: int
    notices: tuple[str, ...]
    start: float = field(default_factory=time.perf_counter)
    first_sound: float = 0.0
    last_sound: float = 0.0
    first_frames: int = 0  # frames in the first chunk, which include the prefill
    frames: dict[int, int] = field(default_factory=dict)
    spoken: set[int] = field(default_factory=set)

    @property
    def longest(self) -> int:
        return max(self.frames.values(), default=0)

    def count(self, chunk: AudioChunk) -> None:
        self.last_sound = time.perf_counter() - self.start
        self.frames[chunk.take] = self.frames.get(chunk.take, 0) + len(chunk.codes)
        if not self.first_sound:
            self.first_sound, self.first_frames = self.last_sound, len(chunk.codes)
        if chunk.ending is Ending.SPOKEN:
            self.spoken.add(chunk.take)

    def speed(self) -> float:
        """Frames per second after the first sound; 0 until it can be told."""
        passed = self.last_sound - self.first_sound
        made = self.longest - self.first_frames
        return made / passed if passed > 0 and made > 0 else 0.0

    def result(self) -> Spoken:
        takes = tuple(
            SpokenTake(take, self.frames.get(take, 0), take in self.spoken)
            for take in range(self.takes)
        )
        return Spoken(takes, time.perf_counter() - self.start, self.first_sound, self.notices)
