"""Turns peaks and spectra into pictures fast enough for sixty of them a second."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage, qRgba

from app.ui.colours import Rgb, blend
from app.ui.spectrogram import Picture

AMPLITUDE_SHARE = 0.94  # of the half height that full scale takes
CLIPPED = 1 - 2.0**-15  # full scale of 16 bits


def envelope_image(
    low: NDArray[np.float32],
    high: NDArray[np.float32],
    height: int,
    thickness: float,
    colour: Rgb,
) -> QImage:
    """A waveform with smooth edges, one pixel per column; NaN columns stay empty.

    `thickness` is the least that is drawn of a column, in pixels.
    """
    columns = len(low)
    coverage = np.zeros((height, columns), np.uint8)
    known = np.flatnonzero(~np.isnan(low))
    if len(known):
        top, bottom = _edges(*_joined(low[known], high[known]), height, thickness)
        coverage[:, known] = _coverage(top, bottom, height)
    return _indexed(coverage, _shades(colour))


def heat_image(picture: Picture, heat: tuple[Rgb, ...]) -> QImage:
    """A spectrogram in the colours of a theme, from quiet to loud."""
    shades = np.linspace(0, len(heat) - 1, 256)
    table = []
    for shade in shades:
        index = min(int(shade), len(heat) - 2)
        table.append(QColor(blend(heat[index], heat[index + 1], float(shade) - index)).rgba())
    return _indexed(picture, table)


def amplitude_to_y(amplitude: float, height: float) -> float:
    """Where an amplitude is drawn in an area of that height."""
    return height / 2 * (1 - AMPLITUDE_SHARE * min(max(amplitude, -1.0), 1.0))


def clipped_columns(low: NDArray[np.float32], high: NDArray[np.float32]) -> NDArray[np.int64]:
    """The columns that reach full scale."""
    return np.flatnonzero((high >= CLIPPED) | (low <= -CLIPPED))  # NaN compares as false


def _joined(
    low: NDArray[np.float32], high: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Columns that reach as far as their neighbour begins, so that the line has no gaps."""
    joined_low, joined_high = low.copy(), high.copy()
    np.minimum(low[1:], high[:-1], out=joined_low[1:])
    np.maximum(high[1:], low[:-1], out=joined_high[1:])
    return joined_low, joined_high


def _edges(
    low: NDArray[np.float32], high: NDArray[np.float32], height: int, thickness: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The upper and lower edge of each column, in pixels from the top."""
    half = height / 2
    top = half * (1 - AMPLITUDE_SHARE * np.clip(high, -1, 1))
    bottom = half * (1 - AMPLITUDE_SHARE * np.clip(low, -1, 1))
    missing = np.maximum(thickness - (bottom - top), 0) / 2
    return np.maximum(top - missing, 0), np.minimum(bottom + missing, height - 1e-3)


def _coverage(
    top: NDArray[np.float32], bottom: NDArray[np.float32], height: int
) -> NDArray[np.uint8]:
    """How much of each pixel lies between the edges, 0 to 255, shape [height, columns]."""
    first, last = np.ceil(top), np.floor(bottom)
    rows = np.arange(height, dtype=np.int16)[:, None]
    inside = (rows >= first.astype(np.int16)) & (rows < last.astype(np.int16))
    coverage = inside.astype(np.uint8)
    coverage *= 255
    columns = np.arange(len(top))
    within = last < first  # both edges in the same row of pixels
    upper = np.where(within, bottom - top, first - top)
    lower = np.where(within, 0, bottom - last)
    # Not added up: where an edge lies on a pixel border its share is 0, and the row may be full.
    for row, share in ((np.floor(top), upper), (last, lower)):
        at = row.astype(np.int64)
        coverage[at, columns] = np.maximum(coverage[at, columns], (share * 255).astype(np.uint8))
    return coverage


def _shades(colour: Rgb) -> list[int]:
    """A colour from transparent to opaque."""
    made = QColor(colour)
    return [qRgba(made.red(), made.green(), made.blue(), alpha) for alpha in range(256)]


def _indexed(values: NDArray[np.uint8], table: list[int]) -> QImage:
    height, width = values.shape
    values = np.ascontiguousarray(values)
    image = QImage(values.data, width, height, width, QImage.Format.Format_Indexed8)
    image.setColorTable(table)
    return image.copy()  # the array goes away
