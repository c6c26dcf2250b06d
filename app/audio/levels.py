"""Measures how loud audio is as it passes: what meters, the clip lamp and the noise figure show."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from app.audio.backend import Frames

HOLD_SECONDS = 1.5  # how long a peak stays marked
RMS_SECONDS = 0.3  # time constant
CLIPPED = 1 - 2.0**-15  # full scale of 16 bits, which is where most converters end
FLOOR_WINDOW = 0.05  # seconds that one noise measurement takes
FLOOR_MEMORY = 10.0  # seconds of measurements that the noise figure looks back on
FLOOR_SHARE = 0.1  # of them that are quieter than the noise figure
FLOOR_MINIMUM = 10  # measurements before there is a figure


@dataclass(frozen=True)
class Levels:
    """Amplitudes, 1 being full scale."""

    peak: float = 0.0  # of the last block
    rms: float = 0.0
    held_peak: float = 0.0  # highest of the last 1.5 s


def decibels(amplitude: float) -> float:
    """An amplitude in dB below full scale; -inf for 0."""
    return 20 * math.log10(amplitude) if amplitude > 0 else -math.inf


class LevelMeter:
    """Peak, peak hold and RMS; counts time in frames, so that it is the audio's time."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._square = 0.0
        self._held = 0.0
        self._held_for = 0  # frames since the held peak

    def feed(self, block: Frames) -> Levels:
        """The levels after block [n, channels] or [n]; the loudest channel counts."""
        frames = len(block)
        if not frames:
            return Levels(0.0, math.sqrt(self._square), self._held)
        columns = block.reshape(frames, -1)
        peak = float(np.abs(columns).max())
        square = float(np.einsum("ij,ij->j", columns, columns, dtype=np.float64).max()) / frames
        keep = math.exp(-frames / (RMS_SECONDS * self._rate))
        self._square = keep * self._square + (1 - keep) * square
        self._held_for += frames
        if peak >= self._held or self._held_for > HOLD_SECONDS * self._rate:
            self._held, self._held_for = peak, 0
        return Levels(peak, math.sqrt(self._square), self._held)


class NoiseFloor:
    """The level that a room falls back to between words.

    The 10th percentile of the RMS of 50 ms windows over the last 10 s.
    """

    def __init__(self, rate: int) -> None:
        self._window = max(1, round(FLOOR_WINDOW * rate))
        self._squares = 0.0
        self._frames = 0
        self._measured: deque[float] = deque(maxlen=round(FLOOR_MEMORY / FLOOR_WINDOW))

    def feed(self, block: Frames) -> None:
        """Take in block [n, channels]; the loudest channel counts."""
        start = 0
        while start < len(block):
            piece = block[start : start + self._window - self._frames]
            self._squares += float(np.einsum("ij,ij->j", piece, piece, dtype=np.float64).max())
            self._frames += len(piece)
            start += len(piece)
            if self._frames == self._window:
                self._measured.append(math.sqrt(self._squares / self._window))
                self._squares, self._frames = 0.0, 0

    @property
    def amplitude(self) -> float | None:
        """RMS amplitude of the noise; None until half a second was heard."""
        if len(self._measured) < FLOOR_MINIMUM:
            return None
        return sorted(self._measured)[int(FLOOR_SHARE * len(self._measured))]


class SilenceWatch:
    """Notices input that never changes, which no working microphone delivers."""

    def __init__(self, rate: int, seconds: float) -> None:
        self._limit = round(seconds * rate)
        self._last: Frames | None = None  # [channels]
        self._constant_for = 0  # frames
        self.ever_alive = False

    def feed(self, block: Frames) -> None:
        """Take in block [n, channels]."""
        if not len(block):
            return
        same = bool((block == block[0]).all())
        if same and (self._last is None or bool((block[0] == self._last).all())):
            self._constant_for += len(block)
        else:
            self._constant_for, self.ever_alive = 0, True
        self._last = block[-1].copy()

    @property
    def is_silent(self) -> bool:
        """True after so many seconds in which all samples were the same."""
        return self._constant_for >= self._limit
