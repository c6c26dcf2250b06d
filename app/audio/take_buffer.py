"""Holds a take's audio while it is made, for all who read it meanwhile: player, waveform, file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.audio.peaks import PeakPyramid, Peaks
from engine.types import Samples

CHUNK = 1 << 16  # samples, 256 KiB


@dataclass(frozen=True)
class Forecast:
    """What the maker of a take knows about the rest of it."""

    speed: float  # seconds of audio made per second, measured
    remaining: float | None = None  # seconds of audio still to be made, estimated
    piece: float = 0.0  # seconds of audio that the largest coming append brings


class TakeBuffer:
    """Mono audio that one thread appends to and any number read.

    Samples never move and never change once `length` counts them.
    """

    def __init__(self, rate: int) -> None:
        """`rate` in Hz."""
        self.rate = rate
        self._chunks: list[Samples] = []
        self._length = 0
        self._written = 0  # samples that lie in the chunks; `length` follows
        self._finished = False
        self._forecast: Forecast | None = None
        self._peaks = PeakPyramid(self._read_written)

    @classmethod
    def of(cls, samples: Samples, rate: int) -> TakeBuffer:
        """A finished take that holds a copy of samples [n] at `rate` Hz."""
        take = cls(rate)
        take.append(samples)
        take.finish()
        return take

    @property
    def length(self) -> int:
        """Samples that can be read."""
        return self._length

    @property
    def seconds(self) -> float:
        return self._length / self.rate

    @property
    def is_finished(self) -> bool:
        """True when `length` will grow no more; ask it before `length` to know the end."""
        return self._finished

    @property
    def forecast(self) -> Forecast | None:
        """The last announcement, None before the first."""
        return self._forecast

    def announce(self, forecast: Forecast) -> None:
        """Say how fast the take is being made. For the writing thread."""
        self._forecast = forecast

    def append(self, samples: Samples) -> None:
        """Copy samples [n] to the end. For the writing thread."""
        assert not self._finished, "a finished take does not grow"
        length, copied = self._length, 0
        while copied < len(samples):
            at = length % CHUNK
            if not at:
                self._chunks.append(np.empty(CHUNK, np.float32))
            count = min(CHUNK - at, len(samples) - copied)
            self._chunks[-1][at : at + count] = samples[copied : copied + count]
            length, copied = length + count, copied + count
        self._written = length
        self._peaks.append(samples)
        self._length = length  # last, so that whoever sees the samples sees their peaks too

    def finish(self) -> None:
        """Say that nothing more will come. For the writing thread."""
        self._finished = True

    def read(self, start: int, count: int) -> Samples:
        """Samples start..start + count, fewer where the take ends; not to be written to.

        No copy is made unless they lie in several chunks.
        """
        return self._stored(start, count, self._length)

    def _read_written(self, start: int, count: int) -> Samples:
        """As `read`, for the peaks, which know new samples before anybody else does."""
        return self._stored(start, count, self._written)

    def _stored(self, start: int, count: int, length: int) -> Samples:
        start = max(start, 0)
        end = min(start + count, length)
        if end <= start:
            return np.empty(0, np.float32)
        pieces = []
        for index in range(start // CHUNK, (end - 1) // CHUNK + 1):
            base = index * CHUNK
            pieces.append(self._chunks[index][max(start - base, 0) : end - base])
        samples = pieces[0].view() if len(pieces) == 1 else np.concatenate(pieces)
        samples.flags.writeable = False
        return samples

    def peaks(self, start: int, end: int, columns: int) -> Peaks:
        """The waveform of samples start..end in so many columns; see `PeakPyramid.query`."""
        return self._peaks.query(start, end, columns)
