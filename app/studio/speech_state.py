"""What the window is told about speaking: what is being made, how far it is, and in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.audio.take_buffer import TakeBuffer
from app.core.takes import Take


@dataclass(frozen=True, eq=False)
class LiveTake:
    """A take that is being made, or waits to be."""

    take: Take
    buffer: TakeBuffer
    expected: float  # seconds, estimated; 0 if unknown


class SpeechPhase(StrEnum):
    IDLE = "idle"
    WAITING = "waiting"  # for the model, or for what was asked for before
    READING = "reading"  # the voice and the text, until the first sound
    SPEAKING = "speaking"
    STOPPING = "stopping"  # what was cancelled ends within a frame


@dataclass(frozen=True)
class SpeechState:
    """One moment of speaking; seconds are those of the longest take."""

    phase: SpeechPhase = SpeechPhase.IDLE
    takes: int = 0  # being made at once
    made: float = 0.0  # seconds of sound
    expected: float = 0.0  # seconds of sound, estimated; 0 if unknown
    speed: float = 0.0  # seconds of sound per second; 0 until it is known
    waiting: int = 0  # requests behind this one
    is_loading: bool = False  # it waits for the model

    @property
    def left(self) -> float | None:
        """Seconds until it will be done; None if that cannot be told."""
        rest = self.expected - self.made
        return rest / self.speed if self.speed > 0 and rest > 0 else None

    @property
    def sentence(self) -> str:
        """For the status bar; empty when nothing is spoken."""
        words = self._words()
        if words and self.waiting:
            words += f", {self.waiting} more waiting"
        return words

    def _words(self) -> str:
        match self.phase:
            case SpeechPhase.IDLE:
                return ""
            case SpeechPhase.WAITING:
                return "Waiting for the model" if self.is_loading else "Waiting for its turn"
            case SpeechPhase.READING:
                return "Reading the voice and the text"
            case SpeechPhase.STOPPING:
                return "Stopping"
        what = "Speaking" if self.takes < 2 else f"Speaking {self.takes} takes"
        parts = [f"{what}: {self.made:.1f} s"]
        if self.expected > self.made:
            parts = [f"{what}: {self.made:.1f} of about {_seconds(self.expected)} s"]
        if self.speed > 0:
            parts.append(f"{self.speed:.1f}\N{MULTIPLICATION SIGN} real time")
        if self.left is not None:
            parts.append(f"{_seconds(self.left)} s left")
        return ", ".join(parts)


def _seconds(value: float) -> str:
    return f"{max(value, 1.0):.0f}"
