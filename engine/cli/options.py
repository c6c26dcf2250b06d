"""What can be chosen for a synthesis on a command line, and the request that comes of it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from typing import TypeVar

from engine.cli.parser import LARGEST_SEED
from engine.errors import DeviceError, RequestError
from engine.families import Engine
from engine.types import Layout, Sampling, SpeechRequest, StackSampling, Voice, random_seed

T = TypeVar("T")

BUFFERED_PIECE_FRAMES = 25  # 2 s: enough to decode quickly, little enough to hold
MOST_PIECE_FRAMES = 1 << 20  # a day: all of any take


@dataclass(frozen=True)
class StackChanges:
    """What the user sets for one stack; None leaves what the model's file recommends."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None

    def applied(self, usual: StackSampling, *, greedy: bool) -> StackSampling:
        return StackSampling(
            greedy=greedy or usual.greedy,
            temperature=_chosen(self.temperature, usual.temperature),
            top_k=_chosen(self.top_k, usual.top_k),
            top_p=_chosen(self.top_p, usual.top_p),
        )


@dataclass(frozen=True)
class SamplingChanges:
    """What the user sets of the sampling; None leaves what the model's file recommends."""

    greedy: bool = False  # both stacks
    talker: StackChanges = field(default_factory=StackChanges)
    predictor: StackChanges = field(default_factory=StackChanges)
    repetition_penalty: float | None = None
    max_frames: int | None = None

    def applied(self, usual: Sampling) -> Sampling:
        return replace(
            usual,
            talker=self.talker.applied(usual.talker, greedy=self.greedy),
            predictor=self.predictor.applied(usual.predictor, greedy=self.greedy),
            repetition_penalty=_chosen(self.repetition_penalty, usual.repetition_penalty),
            max_frames=_chosen(self.max_frames, usual.max_frames),
        )


@dataclass(frozen=True)
class SpeechOptions:
    """A request without its text and without what only the loaded model can tell."""

    seeds: tuple[int, ...]
    language: str = "auto"
    voice: Voice | None = None
    speaker: str | None = None
    instruct: str | None = None
    layout: Layout = Layout.AUTO
    sampling: SamplingChanges = field(default_factory=SamplingChanges)
    streamed: bool = False  # small pieces, to be heard at once
    piece_seconds: float | None = None  # largest piece decoded at once; when not streamed

    def preview(self) -> SpeechRequest:
        """A request with all that is known before the text is, and before a model is loaded."""
        return SpeechRequest(
            text="-",
            language=self.language,
            voice=self.voice,
            speaker=self.speaker,
            instruct=self.instruct,
            layout=self.layout,
            sampling=self.sampling.applied(Sampling()),
            seeds=self.seeds,
        )

    def request(self, text: str, engine: Engine) -> SpeechRequest:
        usual = SpeechRequest(
            text=text,
            language=self.language,
            voice=self.voice,
            speaker=self.speaker,
            instruct=self.instruct,
            layout=self.layout,
            sampling=self.sampling.applied(engine.default_sampling),
            seeds=self.seeds,
        )
        if self.streamed:
            return usual
        frames = BUFFERED_PIECE_FRAMES
        if self.piece_seconds is not None:
            frame_rate = engine.sample_rate / engine.frame_samples
            frames = max(1, int(min(self.piece_seconds * frame_rate, MOST_PIECE_FRAMES) + 0.5))
        return replace(usual, piece_frames=(frames,))


def choose_seeds(first: int, takes: int) -> tuple[int, ...]:
    """Seeds for so many takes from `first` on; a negative one stands for any.

    Raises RequestError when they would leave the range of seeds.
    """
    start = random_seed() if first < 0 else first
    if start + takes - 1 > LARGEST_SEED:
        raise RequestError(
            f"The seeds of {takes} takes from {start} on leave the range.",
            "Choose a smaller seed.",
        )
    return tuple(range(start, start + takes))


def choose_device(device: str | None) -> str:
    """The device asked for, or what GGML_BACKEND names (CPU, CUDA0, ...), or auto.

    Raises DeviceError if that variable names a backend that only other engines have.
    """
    backend = os.environ.get("GGML_BACKEND", "")
    if device is not None or not backend:
        return device or "auto"
    if backend.upper() == "CPU":
        return "cpu"
    cuda = re.fullmatch(r"CUDA([0-9]+)", backend.upper())
    if cuda is None:
        raise DeviceError(
            f"GGML_BACKEND names {backend!r}, which this engine does not have.",
            "Set it to CPU or CUDA0, or choose with --device.",
        )
    return f"cuda:{int(cuda[1])}"


def _chosen(value: T | None, usual: T) -> T:
    return usual if value is None else value
