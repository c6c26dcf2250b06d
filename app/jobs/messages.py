"""What travels between the window and the engine's thread: small, frozen, never audio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine import ExplainedError, ModelDescription, Sampling
from engine.types import Codes


@dataclass(frozen=True)
class Loading:
    """Bytes of the model files read so far."""

    job: int
    done: int
    total: int


@dataclass(frozen=True)
class Reading:
    """A reference recording is being encoded."""

    job: int


@dataclass(frozen=True)
class Speaking:
    """How far the takes of a job are."""

    job: int
    frames: int  # of the longest take
    seconds: float  # of sound in it
    frames_per_second: float  # measured since the first frame


@dataclass(frozen=True)
class Learning:
    """Steps of learning a voice: an embedding for each width, and the codes."""

    job: int
    done: int
    total: int


Progress: TypeAlias = Loading | Reading | Speaking | Learning


@dataclass(frozen=True)
class LoadedModel:
    """What a load job gives."""

    description: ModelDescription
    default_sampling: Sampling
    device: str  # that was chosen: "cpu", "cuda:0"
    precision: str  # "f32", "bf16", "int8"
    seconds: float  # that it took
    sample_rate: int  # Hz
    frame_samples: int


@dataclass(frozen=True)
class SpokenTake:
    """What a speak job gives for each of its takes."""

    take: int
    frames: int
    spoken: bool  # ended by itself, not by the limit


@dataclass(frozen=True)
class Spoken:
    """What a speak job gives; a stopped one has the takes as far as they came."""

    takes: tuple[SpokenTake, ...]
    seconds: float  # that it took, without reading the voice
    first_sound: float  # seconds to the first chunk
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class MadeVoice:
    """What a recording gives: an x-vector for every width that was asked for, and its codes."""

    embeddings: tuple[NDArray[np.float32], ...]  # [width] each
    codes: Codes | None = None  # [T, 16]
    codec: str = ""  # whose codes they are, as descriptions of models name it


Result: TypeAlias = object
"""`LoadedModel`, `Spoken`, `MadeVoice`, or None."""


@dataclass(frozen=True, eq=False)
class Finished:
    """The job did what it was asked."""

    job: int
    result: Result


@dataclass(frozen=True, eq=False)
class Stopped:
    """The job was cancelled; `result` holds what there is (None if it had not begun)."""

    job: int
    result: Result


@dataclass(frozen=True, eq=False)
class Failed:
    """The job could not be done; `result` holds what there is."""

    job: int
    error: ExplainedError
    result: Result


Ended: TypeAlias = Finished | Stopped | Failed
"""Every job that was accepted ends with exactly one of these."""
