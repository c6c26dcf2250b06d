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


class _Store:
    """The samples of a take.

    They lie apart from it because its peaks read them too: if those held the take, its memory
    would not be free as soon as the last reader lets go of it.
    """

    def __init__(self) -> None:
        self._chunks: list[Samples] = []
        self.written = 0  # samples

    def append(self, samples: Samples) -> None:
        """Copy samples [n] to the end."""
        written, copied = self.written, 0
        while copied < len(samples):
            at = written % CHUNK
            if not at:
                self._chunks.append(np.empty(CHUNK, np.float32))
            count = min(CHUNK - at, len(samples) - copied)
            self._chunks[-1][at : at + count] = samples[copied : copied + count]
            written, copied = written + count, copied + count
        self.written = written

    def read(self, start: int, count: int) -> Samples:
        """Up to `count` samples from `start` on, of all that were written."""
        start = max(start, 0)
        end = min(start + count, self.written)
        if end <= start:
            return np.empty(0, np.float32)
        pieces = []
        for index in range(start // CHUNK, (end - 1) // CHUNK + 1):
            base = index * CHUNK
            pieces.append(self._chunks[index][max(start - base, 0) : end - base])
        samples = pieces[0].view() if len(pieces) == 1 else np.concatenate(pieces)
        samples.flags.writeable = False
        return samples


class TakeBuffer:
    """Mono audio that one thread appends to and any number read.

    Samples never move and never change once `length` counts them.
    """

    def __init__(self, rate: int) -> None:
        """`rate` in Hz."""
        self.rate = rate
        self._store = _Store()
        self._length = 0  # of the store's samples, those whose peaks are there
        self._finished = False
        self._forecast: Forecast | None = None
        self._peaks = PeakPyramid(self._store.read)

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
        self._store.append(samples)
        self._peaks.append(samples)
        self._length = self._store.written  # last: whoever sees samples sees their peaks too

    def finish(self) -> None:
        """Say that nothing more will come. For the writing thread."""
        self._finished = True

    def read(self, start: int, count: int) -> Samples:
        """Samples start..start + count, fewer where the take ends; not to be written to.

        No copy is made unless they lie in several chunks.
        """
        start = max(start, 0)
        return self._store.read(start, min(count, self._length - start))

    def peaks(self, start: int, end: int, columns: int) -> Peaks:
        """The waveform of samples start..end in so many columns; see `PeakPyramid.query`."""
        return self._peaks.query(start, end, columns)
