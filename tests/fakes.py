"""An engine that speaks sines and model files to open it with, so that tests need no torch."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from app.audio.take_buffer import Forecast
from app.jobs.work import Host, Job, Openers, Report
from engine import (
    AudioChunk,
    Cancelled,
    CancelToken,
    Ending,
    ExplainedError,
    LengthRule,
    ModelDescription,
    ModelPair,
    Sampling,
    SpeechRequest,
    Voice,
    check_can_learn,
    check_request,
    describe_model,
)
from engine.types import Codes, Probe, Progress, Samples

DATA: Final = Path(__file__).parent / "golden" / "data"
BASE: Final = "qwen-talker-1.7b-base-F32.gguf"
CUSTOM_VOICE: Final = "qwen-talker-0.6b-customvoice-F32.gguf"
VOICE_DESIGN: Final = "qwen-talker-1.7b-voicedesign-F32.gguf"
CODEC: Final = "qwen-tokenizer-12hz-F32.gguf"

RATE: Final = 24_000  # Hz
FRAME: Final = 1920  # samples
CODEBOOKS: Final = 16
LETTERS_PER_FRAME: Final = 1.1  # an unhurried reader


@dataclass(frozen=True)
class Pace:
    """How a fake engine spends its time, and what goes wrong with it."""

    frame_seconds: float = 0.0  # per frame
    pre_roll_seconds: float = 0.0  # before the first
    busy: bool = False  # computes meanwhile, as Python code that never lets go of the interpreter
    frames: int | None = None  # of every take; None: by the length of the text
    fails_at: int | None = None  # frame before which `error` is raised
    error: BaseException | None = None
    gate: threading.Event | None = None  # no frame is made before it is set


@dataclass(eq=False)
class FakeEngine:
    """Says every text as a sine whose pitch follows from the seed; looks at the token per frame."""

    description: ModelDescription
    pace: Pace = field(default_factory=Pace)
    device: str = "cpu"
    precision: str = "f32"
    default_sampling: Sampling = field(default_factory=Sampling)
    sample_rate: int = RATE
    frame_samples: int = FRAME
    requests: list[SpeechRequest] = field(default_factory=list)
    frames_made: int = 0  # of all requests, all takes of one request at once
    open_requests: int = 0  # generators that have begun and not ended
    most_open_requests: int = 0
    codebook_size: int = 2048

    def check(self, request: SpeechRequest) -> tuple[str, ...]:
        return check_request(request, self.description)

    def speak(
        self,
        request: SpeechRequest,
        cancel: CancelToken | None = None,
        probe: Probe | None = None,
    ) -> Iterator[AudioChunk]:
        self.check(request)
        self.requests.append(request)
        return self._run(request, cancel or CancelToken())

    def extract_voice(
        self,
        samples: Samples,
        rule: LengthRule = LengthRule.OFFICIAL,
        cancel: CancelToken | None = None,
        probe: Probe | None = None,
    ) -> Voice:
        check_can_learn(self.description)
        cancel = cancel or CancelToken()
        self._pass_time(self.pace.pre_roll_seconds)
        cancel.check()
        return Voice(fake_embedding(samples, self.description.width), fake_codes(samples))

    def length(self, request: SpeechRequest, take: int) -> int:
        """Frames of a take if there were no limit."""
        if self.pace.frames is not None:
            return self.pace.frames
        return max(2, round(len(request.text) / LETTERS_PER_FRAME)) + request.seeds[take] % 3

    def _run(self, request: SpeechRequest, cancel: CancelToken) -> Iterator[AudioChunk]:
        self.open_requests += 1
        self.most_open_requests = max(self.most_open_requests, self.open_requests)
        try:
            yield from self._chunks(request, cancel)
        finally:
            self.open_requests -= 1

    def _chunks(self, request: SpeechRequest, cancel: CancelToken) -> Iterator[AudioChunk]:
        limit = request.sampling.max_frames
        lengths = {take: self.length(request, take) for take in range(len(request.seeds))}
        self._pass_time(self.pace.pre_roll_seconds)
        starts = dict.fromkeys(lengths, 0)  # frames emitted
        sizes = iter(request.piece_frames)
        size = next(sizes)
        for frame in range(1, limit + 1):
            if not self._make_frame(frame, cancel):
                for take in lengths:
                    if starts[take] < frame - 1:
                        yield self._chunk(request, take, starts[take], frame - 1, None)
                raise Cancelled
            ending = [take for take, length in lengths.items() if min(length, limit) == frame]
            piece_is_full = frame - max(starts[take] for take in lengths) >= size
            for take in list(lengths):
                if take in ending or piece_is_full:
                    how = Ending.SPOKEN if lengths[take] <= limit else Ending.LIMIT
                    how_now = how if take in ending else None
                    yield self._chunk(request, take, starts[take], frame, how_now)
                    starts[take] = frame
            for take in ending:
                del lengths[take]
            if not lengths:
                return
            if piece_is_full:
                size = next(sizes, request.piece_frames[-1])

    def _make_frame(self, frame: int, cancel: CancelToken) -> bool:
        """Whether it was made, rather than cancelled."""
        while self.pace.gate is not None and not self.pace.gate.wait(0.001):
            if cancel.is_set:
                break
        if cancel.is_set:
            return False
        if self.pace.fails_at == frame and self.pace.error is not None:
            raise self.pace.error
        self.frames_made += 1
        self._pass_time(self.pace.frame_seconds)
        return True

    def _chunk(
        self, request: SpeechRequest, take: int, start: int, end: int, ending: Ending | None
    ) -> AudioChunk:
        seed = request.seeds[take]
        positions = np.arange(start * FRAME, end * FRAME)
        samples = (0.3 * np.sin(2 * np.pi * pitch(seed) / RATE * positions)).astype(np.float32)
        first = (np.arange(start, end) + seed) % self.codebook_size
        codes = np.repeat(first[:, None], CODEBOOKS, axis=1).astype(np.int64)
        return AudioChunk(take, start * FRAME, samples, codes, ending)

    def _pass_time(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        if self.pace.busy:
            while time.perf_counter() < end:
                sum(range(50))
        elif seconds:
            time.sleep(seconds)


def pitch(seed: int) -> float:
    """Hz of the sine that a seed gives."""
    return 110.0 * 2 ** (seed % 24 / 12)


def fake_embedding(samples: Samples, width: int) -> NDArray[np.float32]:
    """An x-vector [width] that depends on the recording."""
    level = float(np.abs(samples).mean()) if len(samples) else 0.0
    return np.linspace(level, level + 1, width, dtype=np.float32)


def fake_codes(samples: Samples) -> Codes:
    """Codes [T, 16] of a recording."""
    frames = -(-len(samples) // FRAME)
    return np.repeat(np.arange(frames)[:, None] % 2048, CODEBOOKS, axis=1).astype(np.int64)


@dataclass(eq=False)
class FakeSpeakerEncoder:
    """Knows voices by how loud they are."""

    width: int

    def embedding(
        self, samples: Samples, cancel: CancelToken | None = None, probe: Probe | None = None
    ) -> NDArray[np.float32]:
        (cancel or CancelToken()).check()
        return fake_embedding(samples, self.width)


@dataclass(eq=False)
class FakeCodec:
    """Turns recordings into counted frames, and those into silence."""

    sample_rate: int = RATE
    frame_samples: int = FRAME
    codebook_size: int = 2048

    def encode(
        self, samples: Samples, rule: LengthRule, cancel: CancelToken | None = None
    ) -> Codes:
        (cancel or CancelToken()).check()
        return fake_codes(samples)

    def decode(self, codes: Codes, cancel: CancelToken | None = None) -> Iterator[Samples]:
        yield np.zeros(len(codes) * FRAME, np.float32)


@dataclass(eq=False)
class FakeOpener:
    """Opens fake engines for model files that can be described, telling the bytes as it goes.

    `pace` may be changed between loads. A load waits for `gate` before its last step, and raises
    `error` there.
    """

    pace: Pace = field(default_factory=Pace)
    steps: int = 4
    error: BaseException | None = None
    gate: threading.Event | None = None
    device: str = "cpu"
    engines: list[ReferenceType[FakeEngine]] = field(default_factory=list)
    alive_before: list[int] = field(default_factory=list)  # engines in memory when a load began
    opened: list[ModelPair] = field(default_factory=list)
    opened_encoders: list[Path] = field(default_factory=list)
    opened_codecs: list[Path] = field(default_factory=list)

    def __call__(
        self,
        pair: ModelPair,
        *,
        device: str = "auto",
        precision: str = "auto",
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> FakeEngine:
        cancel = cancel or CancelToken()
        description = describe_model(pair.talker)
        self.opened.append(pair)
        self.alive_before.append(sum(engine() is not None for engine in self.engines))
        total = description.file_bytes + pair.codec.stat().st_size
        for step in range(self.steps):
            cancel.check()
            if step == self.steps - 1:
                self._wait(cancel)
            if progress is not None:
                progress(total * (step + 1) // self.steps, total)
        engine = FakeEngine(
            description,
            self.pace,
            device=self.device if device == "auto" else device,
            precision="f32" if precision == "auto" else precision,
        )
        self.engines.append(ref(engine))
        return engine

    @property
    def openers(self) -> Openers:
        """For a queue: this, and encoders as fake as it is."""
        return Openers(self, self._open_encoder, self._open_codec)

    @property
    def engine(self) -> FakeEngine:
        """The engine that was opened last and is still loaded."""
        engine = self.engines[-1]()
        assert engine is not None, "still loaded"
        return engine

    def _wait(self, cancel: CancelToken) -> None:
        if self.gate is not None:
            while not self.gate.wait(0.001):
                cancel.check()
        if self.error is not None:
            raise self.error

    def _open_encoder(self, talker: Path, *, device: str = "auto") -> FakeSpeakerEncoder:
        description = describe_model(talker)
        check_can_learn(description)
        self.opened_encoders.append(talker)
        return FakeSpeakerEncoder(description.width)

    def _open_codec(self, path: Path, *, device: str = "auto") -> FakeCodec:
        self.opened_codecs.append(path)
        return FakeCodec()


def fake_opener(pace: Pace | None = None, *, gate: threading.Event | None = None) -> FakeOpener:
    """An opener; give its `openers` to a queue."""
    return FakeOpener(pace or Pace(), gate=gate)


@dataclass(frozen=True)
class FakeModels:
    """The small reference models, copied to a folder."""

    folder: Path
    base: ModelPair
    custom_voice: ModelPair
    voice_design: ModelPair

    @property
    def codec(self) -> Path:
        return self.base.codec

    @property
    def pairs(self) -> tuple[ModelPair, ...]:
        return self.base, self.custom_voice, self.voice_design


def fake_models(folder: Path) -> FakeModels:
    """Put a model of every family and a tokenizer into a folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (BASE, CUSTOM_VOICE, VOICE_DESIGN, CODEC):
        shutil.copyfile(DATA / name, folder / name)
    codec = folder / CODEC
    base, custom_voice, voice_design = (
        ModelPair(folder / name, codec) for name in (BASE, CUSTOM_VOICE, VOICE_DESIGN)
    )
    return FakeModels(folder, base, custom_voice, voice_design)


def fake_engine(pace: Pace | None = None, talker: str = CUSTOM_VOICE) -> FakeEngine:
    """A loaded engine of the model of that name, for tests without a queue."""
    return FakeEngine(describe_model(DATA / talker), pace or Pace())


@dataclass(frozen=True)
class Waits(Job):
    """Keeps the engine's thread from what comes after it until the gate opens."""

    gate: threading.Event
    has_begun: threading.Event = field(default_factory=threading.Event)

    def run(self, job: int, host: Host, token: CancelToken, report: Report) -> None:
        self.has_begun.set()
        assert self.gate.wait(10.0)


@dataclass(eq=False)
class FakeSink:
    """Keeps what is said about a take."""

    on_append: Callable[[], None] | None = None
    finish_error: Exception | None = None  # raised by `finish`
    samples: int = 0
    frames: int = 0
    forecasts: list[Forecast] = field(default_factory=list)
    endings: list[tuple[Ending | None, ExplainedError | None]] = field(default_factory=list)

    def append(self, samples: Samples, codes: Codes, forecast: Forecast) -> None:
        assert not self.endings, "nothing comes after the end"
        self.samples += len(samples)
        self.frames += len(codes)
        self.forecasts.append(forecast)
        if self.on_append is not None:
            self.on_append()

    def finish(self, ending: Ending | None, problem: ExplainedError | None) -> None:
        self.endings.append((ending, problem))
        if self.finish_error is not None:
            raise self.finish_error
