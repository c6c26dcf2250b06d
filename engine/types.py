"""The values that pass between the stages of the engine and out to its callers."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.errors import Cancelled

if TYPE_CHECKING:
    from torch import Tensor

Samples: TypeAlias = NDArray[np.float32]
"""Mono audio, nominally within [-1, 1], shape [n]."""

Codes: TypeAlias = NDArray[np.int64]
"""Codec codes, frames first: shape [T, 16], values 0..codebook size - 1."""

Progress: TypeAlias = Callable[[int, int], None]
"""Told (done, total), in bytes when a file is read."""

Probe: TypeAlias = Callable[[str, "Tensor"], None]
"""Told every named intermediate tensor of a synthesis (`--dump`, parity tests)."""


class Family(StrEnum):
    """The three kinds of Qwen3-TTS talkers (`qwen3-tts.model_type`)."""

    BASE = "base"
    CUSTOM_VOICE = "custom_voice"
    VOICE_DESIGN = "voice_design"


DEMO_SIZE: Final = "demo"
"""What the file of a voice for demonstrations says for its size."""

DEMO_WIDTH: Final = 256
"""How wide the talkers of that voice are, and so the x-vectors of its clones."""

DEMO_CODEC: Final = "demonstration"
"""What its talkers and its tokenizer call the codes that they speak."""

CODEC_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,40}")
"""Names of tokenizers in model files; they become parts of file names."""

SIZE_NAMES: Final[Mapping[str, str]] = MappingProxyType({"0b6": "0.6B", "1b7": "1.7B"})
"""The sizes as people write them, by what files say (`qwen3-tts.model_size`)."""


class Layout(StrEnum):
    """How text enters the prompt: all before the first frame, or one token beside each frame."""

    AUTO = "auto"
    STREAMING = "streaming"
    NON_STREAMING = "non-streaming"


class LengthRule(StrEnum):
    """What becomes of the samples of a recording that do not fill its last frame."""

    OFFICIAL = "official"  # they make a frame, with silence behind them
    WHOLE_FRAMES = "whole-frames"  # they are left out, as other writers of `.rvq` files do


class Ending(StrEnum):
    """Why a take has no further frames."""

    SPOKEN = "spoken"  # the model ended the utterance itself
    LIMIT = "limit"  # max_frames was reached


class CancelToken:
    """Set from any thread; the engine looks at it once per frame."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        self._event.set()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raise `Cancelled` if the token was set."""
        if self._event.is_set():
            raise Cancelled


@dataclass(frozen=True, eq=False)
class Voice:
    """What a clone needs: the x-vector, and for ICL also reference codes with their transcript."""

    embedding: NDArray[np.float32] | None = None  # [talker width]
    codes: Codes | None = None  # [T, 16]
    transcript: str | None = None


@dataclass(frozen=True)
class StackSampling:
    """How one of the two stacks draws codes; `greedy` takes the likeliest, whatever else is set."""

    greedy: bool = False
    temperature: float = 0.9  # 0 is greedy too
    top_k: int = 50  # 0 keeps all
    top_p: float = 1.0  # 1 keeps all


@dataclass(frozen=True)
class Sampling:
    """The knobs of one generation, with the defaults of the official checkpoints."""

    talker: StackSampling = field(default_factory=StackSampling)
    predictor: StackSampling = field(default_factory=StackSampling)
    repetition_penalty: float = 1.05  # over the first codebook; applies to greedy too
    min_frames: int = 2
    max_frames: int = 2048


def random_seed() -> int:
    """A seed that is short enough to read out and type again."""
    return secrets.randbelow(2**31)


@dataclass(frozen=True, eq=False)
class SpeechRequest:
    """One text to be spoken; every seed makes one take, and all takes run as one batch."""

    text: str
    language: str = "auto"
    voice: Voice | None = None
    speaker: str | None = None
    instruct: str | None = None
    layout: Layout = Layout.AUTO
    sampling: Sampling = field(default_factory=Sampling)
    seeds: tuple[int, ...] = field(default_factory=lambda: (random_seed(),))
    piece_frames: tuple[int, ...] = (1, 2, 4, 8)
    """Frames per emitted chunk; the last entry repeats. Small first pieces sound sooner."""


@dataclass(frozen=True, eq=False)
class AudioChunk:
    """The next piece of one take. `ending` is set on the last chunk of the take (may be empty)."""

    take: int  # index into SpeechRequest.seeds
    start: int  # position of the first sample in the take
    samples: Samples  # [n * samples per frame]
    codes: Codes  # [n, 16]
    ending: Ending | None = None


@dataclass(frozen=True)
class ModelDescription:
    """What can be said about a talker file without loading it."""

    path: Path
    architecture: str
    family: Family
    name: str
    size: str  # "0.6B", "1.7B" or what the file says
    precision: str  # most common type of the matrices: "F32", "Q8_0", ...
    file_bytes: int
    width: int  # talker hidden size = length of an x-vector
    has_speaker_encoder: bool
    languages: tuple[str, ...]
    speakers: tuple[str, ...]
    dialects: dict[str, str]  # speaker -> dialect
    codebooks: int = 16
    codebook_size: int = 2048
    codec_name: str = ""  # of the tokenizer that it needs, if that is not the official one
    ignores_instruct: bool = False  # takes instructions for speakers, but does not follow them
    x_vector_only: bool = False  # takes reference codes of clones, but does not use them
