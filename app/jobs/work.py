"""What the engine's thread does for each kind of job; callable without a thread, for tests."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.audio.take_buffer import Forecast
from app.jobs.messages import (
    Learning,
    LoadedModel,
    Loading,
    MadeVoice,
    Progress,
    Reading,
    Result,
    Speaking,
    Spoken,
    SpokenTake,
)
from app.jobs.problems import explained
from engine import (
    AudioChunk,
    Cancelled,
    CancelToken,
    Codec,
    Ending,
    Engine,
    ExplainedError,
    LengthRule,
    ModelFileError,
    ModelPair,
    SpeakerEncoder,
    SpeechRequest,
    open_codec,
    open_engine,
    open_speaker_encoder,
)
from engine.types import Codes, Samples

OVERRUN: Final = 0.1
"""Share of a take that is still to come, when it is longer than was estimated."""

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


class EncoderOpener(Protocol):
    """How a base talker becomes a speaker encoder (`engine.open_speaker_encoder`)."""

    def __call__(self, talker: Path, *, device: str = "auto") -> SpeakerEncoder: ...


class CodecOpener(Protocol):
    """How a tokenizer file is opened (`engine.open_codec`)."""

    def __call__(self, path: Path, *, device: str = "auto") -> Codec: ...


@dataclass(frozen=True)
class Openers:
    """How the files of models are opened, on the engine's thread."""

    engine: Opener = open_engine
    speaker_encoder: EncoderOpener = open_speaker_encoder
    codec: CodecOpener = open_codec


class TakeSink(Protocol):
    """Where one take goes, on the engine's thread.

    `finish` comes exactly once and last: with how the take ended, or with None if it was stopped
    or could not be made, then with the problem. If the job never began, it comes on the queue's
    thread.
    """

    def append(self, samples: Samples, codes: Codes, forecast: Forecast) -> None: ...

    def finish(self, ending: Ending | None, problem: ExplainedError | None) -> None: ...


@dataclass
class Host:
    """The engine of the thread, if one is loaded."""

    openers: Openers
    engine: Engine | None = None
    partial: Result = None  # what a job has made when it is stopped or fails

    def require(self) -> Engine:
        if self.engine is None:
            raise ModelFileError("No model is loaded.", "Choose a model first.")
        return self.engine

    def release(self) -> None:
        """Free the memory of the engine now, so that the next one finds it."""
        self.engine = None
        gc.collect()


class Job(Protocol):
    """Something for the engine's thread to do."""

    def run(self, job: int, host: Host, token: CancelToken, report: Report) -> Result:
        """Do it; raises Cancelled, ExplainedError, and whatever else goes wrong."""
        ...

    def drop(self) -> None:
        """Called instead of `run` if the job was cancelled before it began."""
        return  # most have nothing to put in order


@dataclass(frozen=True)
class LoadModel(Job):
    """Load a model pair; the one before is released first, so that both never share memory."""

    pair: ModelPair
    device: str = "auto"
    precision: str = "auto"

    def run(self, job: int, host: Host, token: CancelToken, report: Report) -> LoadedModel:
        host.release()
        start = time.perf_counter()
        engine = host.openers.engine(
            self.pair,
            device=self.device,
            precision=self.precision,
            progress=lambda done, total: report(Loading(job, done, total)),
            cancel=token,
        )
        token.check()
        host.engine = engine
        return LoadedModel(
            description=engine.description,
            default_sampling=engine.default_sampling,
            device=engine.device,
            precision=engine.precision,
            seconds=time.perf_counter() - start,
            sample_rate=engine.sample_rate,
            frame_samples=engine.frame_samples,
        )


@dataclass(frozen=True)
class UnloadModel(Job):
    """Release the engine and its memory."""

    def run(self, job: int, host: Host, token: CancelToken, report: Report) -> None:
        host.release()


@dataclass(frozen=True, eq=False)
class Speak(Job):
    """Speak a request; every take goes to its own sink as it is made.

    `prepare` makes the request for the engine that is loaded by then: it may read the files of a
    voice, or learn one from its recording.
    """

    prepare: Callable[[Engine, CancelToken], SpeechRequest]
    sinks: Sequence[TakeSink]  # one per seed
    expected: float = 0.0  # seconds of each take, estimated; 0 if unknown

    def run(self, job: int, host: Host, token: CancelToken, report: Report) -> Spoken:
        with _OpenSinks(self.sinks) as sinks:
            return self._speak(job, host, token, report, sinks)

    def drop(self) -> None:
        with _OpenSinks(self.sinks):
            pass

    def _speak(
        self, job: int, host: Host, token: CancelToken, report: Report, sinks: _OpenSinks
    ) -> Spoken:
        engine = host.require()
        report(Reading(job))
        request = self.prepare(engine, token)
        assert len(self.sinks) == len(request.seeds), "one sink per seed"
        frame_seconds = engine.frame_samples / engine.sample_rate
        meter = _Meter(len(self.sinks), engine.check(request))
        host.partial = meter.result()
        chunks = engine.speak(request, token)
        try:
            for chunk in chunks:
                meter.count(chunk)
                host.partial = meter.result()
                forecast = self._forecast(request, meter, chunk.take, frame_seconds)
                sinks.put(chunk, forecast)
                seconds = meter.longest * frame_seconds
                report(Speaking(job, meter.longest, seconds, meter.speed()))
        finally:
            if isinstance(chunks, Generator):
                chunks.close()  # before the next request, whoever still holds the exception
        return meter.result()

    def _forecast(
        self, request: SpeechRequest, meter: _Meter, take: int, frame_seconds: float
    ) -> Forecast:
        made = meter.frames[take] * frame_seconds
        remaining = None
        if self.expected > 0:
            room = request.sampling.max_frames * frame_seconds - made
            remaining = min(max(self.expected - made, OVERRUN * made), max(room, 0.0))
        piece = max(request.piece_frames) * frame_seconds
        return Forecast(meter.speed() * frame_seconds, remaining, piece)


@dataclass(frozen=True, eq=False)
class MakeVoice(Job):
    """Turn a recording (mono, 24 kHz) into what a voice is made of; gives a `MadeVoice`.

    An x-vector is made by every file of `talkers`, base models of one width each, and by the
    loaded model if it is one. Codes are those of `codec`, which descriptions of models call
    `codec_name`; a loaded base model that speaks them makes them too.
    """

    samples: Samples
    talkers: tuple[Path, ...]
    codec: Path | None = None
    codec_name: str = ""
    with_codes: bool = True
    device: str = "auto"

    def run(self, job: int, host: Host, token: CancelToken, report: Report) -> MadeVoice:
        engine = host.engine
        if engine is not None and not engine.description.has_speaker_encoder:
            engine = None
        if engine is None and not self.talkers and self.codec is None:
            raise ModelFileError(
                "There is no base model, and only a base model can learn a voice.",
                "Add one, for example qwen-talker-0.6b-base-Q8_0.gguf.",
            )
        talkers = self.talkers
        if engine is not None:
            talkers = tuple(path for path in talkers if path != engine.description.path)
        named = self.codec_name
        if engine is not None and self.codec is None:
            named = engine.description.codec_name
        speaks_them = engine is not None and engine.description.codec_name == named
        encodes = self.with_codes and not speaks_them and self.codec is not None
        total = (engine is not None) + len(talkers) + encodes
        embeddings: dict[int, NDArray[np.float32]] = {}  # by width
        codes: Codes | None = None
        if engine is not None:
            report(Learning(job, 0, total))
            voice = engine.extract_voice(self.samples, cancel=token)
            if voice.embedding is not None:
                embeddings[voice.embedding.size] = voice.embedding
            if speaks_them:
                codes = voice.codes
        for step, talker in enumerate(talkers, int(engine is not None)):
            token.check()
            report(Learning(job, step, total))
            encoder = host.openers.speaker_encoder(talker, device=self.device)
            embedding = encoder.embedding(self.samples, token)
            embeddings.setdefault(embedding.size, embedding)
        token.check()
        if self.with_codes and codes is None and self.codec is not None:
            report(Learning(job, total - 1, total))
            codec = host.openers.codec(self.codec, device=self.device)
            codes = codec.encode(self.samples, LengthRule.OFFICIAL, token)
        return MadeVoice(tuple(embeddings.values()), codes if self.with_codes else None, named)


class _OpenSinks:
    """The sinks of a job that were not finished yet; leaving finishes them, however it is left."""

    def __init__(self, sinks: Sequence[TakeSink]) -> None:
        self._open = dict(enumerate(sinks))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: object, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        problem: ExplainedError | None = None
        if error is not None and not isinstance(error, Cancelled):
            problem = explained(error)
        with ExitStack() as stack:  # calls all, even if one raises
            for take in sorted(self._open, reverse=True):
                stack.callback(self._open.pop(take).finish, None, problem)
        if problem is not None and problem is not error:
            raise problem from None

    def put(self, chunk: AudioChunk, forecast: Forecast) -> None:
        """Pass a chunk on, and the end of its take."""
        if len(chunk.samples):
            self._open[chunk.take].append(chunk.samples, chunk.codes, forecast)
        if chunk.ending is not None:
            self._open.pop(chunk.take).finish(chunk.ending, None)


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
