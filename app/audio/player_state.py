"""What the player tells: a snapshot to be polled, and events to be fetched."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from app.audio.backend import Device, SoundDeviceError
from app.audio.levels import Levels
from app.audio.take_buffer import TakeBuffer


class PlayerStatus(StrEnum):
    EMPTY = "empty"  # no take
    STOPPED = "stopped"
    WAITING = "waiting"  # for audio that is still being made
    PLAYING = "playing"
    PAUSED = "paused"


@dataclass(frozen=True)
class PlayerState:
    """One moment of the player."""

    status: PlayerStatus = PlayerStatus.EMPTY
    take: TakeBuffer | None = field(default=None, compare=False)
    position: int = 0  # the sample of the take that is heard
    loop: tuple[int, int] | None = None
    gain: float = 1.0
    levels: Levels = field(default_factory=Levels)
    starts_in: float | None = None  # seconds; known at times while WAITING
    device: Device | None = None  # the open output
    rate: int = 0  # Hz, of the open output
    latency: float = 0.0  # seconds, of the open output
    underruns: int = 0  # the feeder came too late: gaps that should not be
    dropouts: int = 0  # the device says that it was served too late
    starvations: int = 0  # clean pauses because the take was made too slowly
    problem: SoundDeviceError | None = None  # why the last play came to nothing


@dataclass(frozen=True)
class Ended:
    """The take was heard to its end."""

    take: TakeBuffer = field(compare=False)


@dataclass(frozen=True)
class Starved:
    """The take is made more slowly than it is played: paused at this sample until more is there."""

    position: int


@dataclass(frozen=True)
class OutputProblem:
    """The output cannot be opened, or went away: paused; `play` tries again."""

    error: SoundDeviceError


PlayerEvent: TypeAlias = Ended | Starved | OutputProblem
