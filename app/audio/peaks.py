"""Answers what a waveform looks like at any zoom without reading every sample again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.types import Samples

BASE = 64  # samples of a bucket in the finest level
FACTOR = 4  # buckets that the next level joins
FINENESS = 4  # a column is drawn from at least so many buckets, so that edges hardly show

ReadSamples: TypeAlias = Callable[[int, int], Samples]
"""Told (start, count); gives up to `count` samples from `start` on."""


@dataclass(frozen=True, eq=False)
class Peaks:
    """The lowest and highest sample of each column, shape [columns]; NaN where nothing is."""

    low: NDArray[np.float32]
    high: NDArray[np.float32]


class _Level:
    """The extremes of all complete buckets of one size; grows, and never changes what it holds."""

    def __init__(self) -> None:
        self.count = 0
        self.extremes: NDArray[np.float32] = np.empty((2, 1024), np.float32)  # low, high

    def extend(self, low: NDArray[np.float32], high: NDArray[np.float32]) -> None:
        end = self.count + len(low)
        if end > self.extremes.shape[1]:
            grown = np.empty((2, max(end, 2 * self.extremes.shape[1])), np.float32)
            grown[:, : self.count] = self.extremes[:, : self.count]
            self.extremes = grown  # readers of the old one still see a true beginning
        self.extremes[0, self.count : end] = low
        self.extremes[1, self.count : end] = high
        self.count = end


class PeakPyramid:
    """Lowest and highest samples over buckets of 64, 256, 1024, ... samples.

    One thread appends while others query: a query sees some moment's beginning of the audio.
    """

    def __init__(self, read: ReadSamples) -> None:
        """`read` gives the samples back that were appended, for the closest zooms."""
        self._read = read
        self._levels = [_Level()]
        self._length = 0
        self._rest: Samples = np.empty(0, np.float32)  # samples after the last complete bucket

    @property
    def length(self) -> int:
        """Samples appended."""
        return self._length

    def append(self, samples: Samples) -> None:
        """Take in the next samples [n]; `read` must know them already."""
        joined = np.concatenate((self._rest, samples)) if len(self._rest) else samples
        whole = len(joined) // BASE * BASE
        if whole:
            buckets = joined[:whole].reshape(-1, BASE)
            self._levels[0].extend(buckets.min(axis=1), buckets.max(axis=1))
            self._raise_levels()
        self._rest = joined[whole:].copy()
        self._length += len(samples)

    def query(self, start: int, end: int, columns: int) -> Peaks:
        """The extremes of the samples from `start` to `end` in `columns` equal parts.

        Every column covers all of its samples. From 256 samples a column on it may also cover
        others, fewer than a quarter of a column, to either side. Parts shorter than a sample
        repeat it. Takes time in proportion to the columns, not to the samples.
        """
        length = self._length
        low = np.full(columns, np.nan, np.float32)
        high = np.full(columns, np.nan, np.float32)
        if columns <= 0 or end <= start:
            return Peaks(low, high)
        edges = start + (end - start) * np.arange(columns + 1, dtype=np.int64) // columns
        last = np.minimum(np.maximum(edges[1:], edges[:-1] + 1), length)
        first = np.maximum(edges[:-1], 0)
        seen = first < last
        if seen.any():
            width = (end - start) / columns
            low[seen], high[seen] = self._extremes(first[seen], last[seen], width)
        return Peaks(low, high)

    def _raise_levels(self) -> None:
        index = 0
        while True:
            below = self._levels[index]
            if index + 1 == len(self._levels):
                if below.count < FACTOR:
                    return
                self._levels.append(_Level())
            above = self._levels[index + 1]
            groups = below.extremes[:, above.count * FACTOR : below.count // FACTOR * FACTOR]
            groups = groups.reshape(2, -1, FACTOR)
            above.extend(groups[0].min(axis=1), groups[1].max(axis=1))
            index += 1

    def _extremes(
        self, first: NDArray[np.int64], last: NDArray[np.int64], width: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Of the spans first[i]..last[i] (samples, all within the audio), `width` long each."""
        index = -1
        size = BASE
        while size * FINENESS <= width and index + 1 < len(self._levels):
            index, size = index + 1, size * FACTOR
        if index < 0:
            begin = int(first[0])
            samples = self._read(begin, int(last[-1]) - begin)
            return _reduce(samples, samples, first - begin, last - begin)
        size //= FACTOR
        level = self._levels[index]
        count = level.count  # before the array, which may be replaced by a longer one
        extremes = level.extremes
        # The audio's end need not fill a bucket: the samples after the last one make one more.
        tail_start = count * size
        begin = int(first[0]) // size
        finish = -(-int(last[-1]) // size)
        low, high = extremes[0, begin : min(finish, count)], extremes[1, begin : min(finish, count)]
        if finish > count:
            tail_low, tail_high = self._tail(index, tail_start, int(last[-1]))
            low, high = np.append(low, tail_low), np.append(high, tail_high)
        return _reduce(low, high, first // size - begin, -(-last // size) - begin)

    def _tail(self, index: int, start: int, end: int) -> tuple[np.float32, np.float32]:
        """The extremes from `start` to `end`, less than a bucket of the level `index`."""
        lows, highs = [], []
        size = BASE * FACTOR**index
        for finer in range(index - 1, -1, -1):
            size //= FACTOR
            level = self._levels[finer]
            bucket, stop = start // size, min(level.count, -(-end // size))
            if stop > bucket:
                lows.append(level.extremes[0, bucket:stop].min())
                highs.append(level.extremes[1, bucket:stop].max())
                start = stop * size
        if start < end:
            samples = self._read(start, end - start)
            lows.append(samples.min())
            highs.append(samples.max())
        return min(lows), max(highs)


def _reduce(
    low: NDArray[np.float32],
    high: NDArray[np.float32],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Minimum of low and maximum of high over each of the spans first[i]..last[i]."""
    bounds = np.empty(2 * len(first), np.int64)
    bounds[0::2], bounds[1::2] = first, last
    # A span may end where the values end, which reduceat takes for no valid bound: one value more.
    low, high = np.append(low, low[-1:]), np.append(high, high[-1:])
    return np.minimum.reduceat(low, bounds)[::2], np.maximum.reduceat(high, bounds)[::2]
