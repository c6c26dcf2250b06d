"""What travels between the window and the engine's thread: small, frozen, never audio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from engine import ExplainedError, ModelDescription, Voice


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


Progress: TypeAlias = Loading | Reading | Speaking


@dataclass(frozen=True)
class LoadedModel:
    """What a load job gives."""

    description: ModelDescription
    device: str
    precision: str
    seconds: float
    sample_rate: int
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
    seconds: float  # that it took
    first_sound: float  # seconds to the first chunk
    notices: tuple[str, ...] = ()


Result: TypeAlias = LoadedModel | Spoken | Voice | None


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
