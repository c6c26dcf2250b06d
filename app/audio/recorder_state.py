"""What the recorder tells: a snapshot to be polled, and how each recording ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from app.audio.backend import Device
from app.audio.levels import Levels
from engine.errors import ExplainedError


class RecorderStatus(StrEnum):
    CLOSED = "closed"
    MONITORING = "monitoring"  # levels move, nothing is kept
    RECORDING = "recording"


@dataclass(frozen=True)
class RecorderState:
    """One moment of the recorder."""

    status: RecorderStatus = RecorderStatus.CLOSED
    device: Device | None = None  # the open microphone
    rate: int = 0  # Hz
    channels: int = 0
    frames: int = 0  # recorded so far, pre-roll included
    levels: Levels = field(default_factory=Levels)
    has_clipped: bool = False  # latched until `reset_clip` or the next recording
    noise_floor: float | None = None  # RMS amplitude of the room
    is_silent: bool = False  # not one sample has differed from the next for two seconds
    problem: ExplainedError | None = None  # why the microphone is closed

    @property
    def seconds(self) -> float:
        return self.frames / self.rate if self.rate else 0.0


@dataclass(frozen=True)
class Recording:
    """How a recording ended. Without `path` there is nothing to keep, or it is still a journal."""

    path: Path | None  # mono 32-bit float WAV at the microphone's rate
    rate: int
    frames: int
    has_clipped: bool = False
    was_silent: bool = False  # digital silence from its beginning to its end
    gaps: int = 0  # how often audio was lost because the computer was too busy
    problem: ExplainedError | None = None  # what ended it, or what is wrong with it

    @property
    def seconds(self) -> float:
        return self.frames / self.rate if self.rate else 0.0
