"""How far two arrays or two sounds are apart, in the figures that a report shows."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from engine.types import Samples

STFT_WINDOW: Final = 2048
STFT_HOP: Final = 512
SEGMENT_SECONDS: Final = 0.020
SEGMENT_RANGE_DB: Final = (-10.0, 35.0)  # as usual: beyond, more or less cannot be heard
SEGMENT_QUIET: Final = 1e-6  # mean power of a segment that has no sound to be compared with


class Measure(StrEnum):
    """The figures of a stage, as they are called in reports and by `--threshold`."""

    COSINE = "cosine"
    MAX_ABS = "max-abs"
    MEAN_ABS = "mean-abs"
    EXACT = "exact"  # share of equal integers, 0..1
    SNR = "snr"  # segmental, dB

    @property
    def is_distance(self) -> bool:
        """Whether less is better."""
        return self in (Measure.MAX_ABS, Measure.MEAN_ABS)


Measures: TypeAlias = Mapping[Measure, float]


def closeness(reference: NDArray[Any], mine: NDArray[Any]) -> Measures:
    """Cosine over the flattened values in float64, largest and mean absolute difference.

    Both have the same shape. Two arrays of zeros have the cosine 1.
    """
    a = reference.astype(np.float64).ravel()
    b = mine.astype(np.float64).ravel()
    difference = np.abs(a - b)
    return {
        Measure.COSINE: cosine(a, b),
        Measure.MAX_ABS: float(difference.max(initial=0.0)),
        Measure.MEAN_ABS: float(difference.mean()) if difference.size else 0.0,
    }


def cosine(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Cosine of the angle between a [n] and b [n]."""
    lengths = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    if lengths == 0.0:
        return 1.0 if not a.any() and not b.any() else 0.0
    return float(a @ b) / lengths


def exact_share(reference: NDArray[Any], mine: NDArray[Any]) -> float:
    """Share of equal integers over the longer one; what one of them lacks is different."""
    rows = min(len(reference), len(mine))
    total = max(reference.size, mine.size)
    return float((reference[:rows] == mine[:rows]).sum()) / total if total else 1.0


def first_mismatch(reference: NDArray[Any], mine: NDArray[Any]) -> int | None:
    """The first row that differs or that only one of them has; None if they are equal."""
    rows = min(len(reference), len(mine))
    different = (reference[:rows] != mine[:rows]).reshape(rows, -1).any(axis=1)
    if different.any():
        return int(different.argmax())
    return None if len(reference) == len(mine) else rows


def segmental_snr(reference: Samples, mine: Samples, sample_rate: int) -> float:
    """Mean over 20 ms segments of the level of the reference over that of the difference, in dB.

    Each segment counts with -10 to 35 dB, and not at all where the reference is silent (Hansen and
    Pellom 1998). Both are [n]; a silent reference gives the best value if `mine` is silent too.
    """
    length = max(1, round(SEGMENT_SECONDS * sample_rate))
    count = len(reference) // length
    lowest, highest = SEGMENT_RANGE_DB
    a = reference[: count * length].astype(np.float64).reshape(count, length)
    b = mine[: count * length].astype(np.float64).reshape(count, length)
    power = np.square(a).mean(axis=1)
    noise = np.square(a - b).mean(axis=1)
    heard = power > SEGMENT_QUIET
    if not heard.any():
        return highest if np.array_equal(reference, mine) else lowest
    ratio = 10 * np.log10(power[heard] / np.maximum(noise[heard], 1e-20))
    return float(np.clip(ratio, lowest, highest).mean())


def stft_cosine(reference: Samples, mine: Samples) -> float:
    """Cosine of the magnitude spectrograms (Hann 2048, hop 512) over the common length."""
    length = min(len(reference), len(mine))
    a, b = magnitudes(reference[:length]), magnitudes(mine[:length])
    return cosine(a.ravel(), b.ravel())


def magnitudes(samples: Samples) -> NDArray[np.float64]:
    """The magnitude spectrogram [frames, 1025]; a short sound is filled up with silence."""
    signal = samples.astype(np.float64)
    if len(signal) < STFT_WINDOW:
        signal = np.pad(signal, (0, STFT_WINDOW - len(signal)))
    windows = sliding_window_view(signal, STFT_WINDOW)[::STFT_HOP]  # [frames, 2048]
    hann = np.sin(np.pi * np.arange(STFT_WINDOW) / STFT_WINDOW) ** 2
    spectrum: NDArray[np.float64] = np.abs(np.fft.rfft(windows * hann))
    return spectrum
