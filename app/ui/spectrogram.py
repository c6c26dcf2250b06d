"""Computes what a spectrogram shows, outside the window's thread, and keeps what was computed."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QThreadPool

QUIETEST, LOUDEST = -95.0, -20.0  # dB below full scale, the ends of the colour scale
TOP_FREQUENCY = 12_000.0  # Hz; what lies above tells little about speech
WINDOW_SECONDS = 0.04
CLOSE_WINDOW_SECONDS = 0.012  # when less than two seconds are shown: sharper in time
CLOSE_SECONDS = 2.0
BATCH = 128  # columns between two looks at whether the result is still wanted
KEPT = 12  # pictures

Picture: TypeAlias = NDArray[np.uint8]
"""Loudness, 0 quiet to 255 loud, shape [rows, columns], highest frequency first."""


class SampleSource(Protocol):
    """Audio that can be read from any thread."""

    @property
    def rate(self) -> int:
        """Samples per second."""

    def read(self, start: int, count: int) -> NDArray[np.float32]:
        """The samples from `start` on, fewer than `count` where the audio ends."""


@dataclass(frozen=True)
class Section:
    """What is wanted: samples from `start` to `end`, of which `known` are there yet."""

    start: int
    end: int
    known: int
    columns: int
    rows: int


class _Job:
    """Computes one picture on a thread of the pool. The window's thread looks for `picture`."""

    def __init__(self, source: SampleSource, section: Section) -> None:
        self.source = source
        self.section = section
        self.picture: Picture | None = None
        self.is_over = False
        self.is_unwanted = False

    def run(self) -> None:
        try:
            self.picture = compute(self.source, self.section, lambda: self.is_unwanted)
        finally:
            self.is_over = True


class Spectrograms:
    """Pictures of one source. All methods belong to the window's thread."""

    def __init__(self, pool: QThreadPool) -> None:
        self._pool = pool
        self._source: SampleSource | None = None
        self._pictures: OrderedDict[Section, Picture] = OrderedDict()
        self._job: _Job | None = None
        self._failed: Section | None = None  # its error was reported once, which is enough

    @property
    def is_working(self) -> bool:
        return self._job is not None

    def set_source(self, source: SampleSource | None) -> None:
        """Forget the pictures and make those of another source."""
        self.cancel()
        self._source = source
        self._failed = None
        self._pictures.clear()

    def cancel(self) -> None:
        """Let a running computation end without a result."""
        if self._job is not None:
            self._job.is_unwanted = True
            self._job = None

    def latest(self) -> tuple[Section, Picture] | None:
        """The picture that was used or made last, to be shown until the right one is there."""
        return next(reversed(self._pictures.items()), None)

    def find(self, section: Section) -> Picture | None:
        """The picture of a section; None when it must be computed first, which then begins."""
        self.collect()
        picture = self._pictures.get(section)
        if picture is not None:
            self._pictures.move_to_end(section)
            return picture
        if self._source is None or section == self._failed:
            return None
        if self._job is not None and self._job.section == section:
            return None
        if self._job is not None and self._job.section.columns != section.columns:
            self.cancel()  # of another size: not even worth showing for a moment
        if self._job is None:
            self._job = _Job(self._source, section)
            self._pool.start(self._job.run)
        return None

    def collect(self) -> bool:
        """Take over a finished picture; True if there was one."""
        if self._job is None or not self._job.is_over:
            return False
        job, self._job = self._job, None
        if job.picture is None:
            self._failed = job.section
            return False
        self._pictures[job.section] = job.picture
        while len(self._pictures) > KEPT:
            self._pictures.popitem(last=False)
        return True


def compute(
    source: SampleSource, section: Section, is_unwanted: Callable[[], bool]
) -> Picture | None:
    """Short-time spectra around the middle of each column, on a mel scale; None if unwanted."""
    rate = source.rate
    span = section.end - section.start
    close = span < CLOSE_SECONDS * rate
    width = _window_length(rate, CLOSE_WINDOW_SECONDS if close else WINDOW_SECONDS)
    window = np.hanning(width).astype(np.float32)
    below, share = _row_bins(section.rows, rate, width)
    middles = section.start + (np.arange(section.columns) + 0.5) * span / section.columns
    starts = middles.astype(np.int64) - width // 2
    picture = np.empty((section.rows, section.columns), np.uint8)
    for first in range(0, section.columns, BATCH):
        if is_unwanted():
            return None
        batch = starts[first : first + BATCH]
        spectra = np.abs(np.fft.rfft(_frames(source, batch, width) * window, axis=1))
        level = 20 * np.log10(np.maximum(spectra / (width / 4), 1e-6)).T  # [bins, columns]
        rows = level[below] * (1 - share) + level[below + 1] * share
        scaled = (rows - QUIETEST) / (LOUDEST - QUIETEST) * 255
        picture[:, first : first + BATCH] = np.clip(scaled, 0, 255)
    return picture


def top_frequency(rate: int) -> float:
    """The frequency at the upper edge, in Hz."""
    return min(TOP_FREQUENCY, rate / 2)


def mel(frequency: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """The mel scale of O'Shaughnessy (1987)."""
    return 2595.0 * np.log10(1.0 + np.asarray(frequency) / 700.0)


def _window_length(rate: int, seconds: float) -> int:
    return 1 << max(5, round(math.log2(rate * seconds)))


def _row_bins(rows: int, rate: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For every row the bin below its frequency, and how near the next one is, [rows, 1]."""
    mels = np.linspace(float(mel(top_frequency(rate))), 0.0, rows)
    frequencies = 700.0 * (10 ** (mels / 2595.0) - 1)
    exact = frequencies * width / rate
    below = np.minimum(exact.astype(np.int64), width // 2 - 1)
    return below, (exact - below)[:, None].astype(np.float32)


def _frames(source: SampleSource, starts: NDArray[np.int64], width: int) -> NDArray[np.float32]:
    """The `width` samples from each start on, with silence before and after the audio."""
    frames = np.zeros((len(starts), width), np.float32)
    for frame, start in zip(frames, starts.tolist(), strict=True):
        skip = max(-start, 0)
        samples = source.read(start + skip, width - skip)
        frame[skip : skip + len(samples)] = samples
    return frames
