"""Measures a recording, so that warnings and the report card speak of the same figures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.types import Samples

FLOOR_DBFS = -120.0  # stands for digital silence, so that every level is a finite number
FULL_SCALE = 0.9999  # 32765 of 32767: a clean sine at full level passes this in 2 samples or fewer
CLIPPED_RUN = 3  # samples in a row at full scale
FRAME_SECONDS = 0.02
NOISE_PERCENTILE = 10
LOUD_PERCENTILE = 95
SPEECH_RANGE_DB = 30.0  # quiet consonants lie about this far below the loudest syllables
SPEECH_OVER_NOISE_DB = 6.0


@dataclass(frozen=True)
class AudioReport:
    """Figures of one mono recording; levels in dB relative to full scale, from -120 up."""

    seconds: float
    peak_dbfs: float
    rms_dbfs: float  # without the DC offset, which would hide that the voice is quiet
    clipped: int  # places where 3 or more samples in a row stay at full scale
    dc_offset: float  # mean, of full scale 1
    noise_floor_dbfs: float  # level of the quietest tenth of 20 ms frames
    speech_share: float  # of the frames, those as loud as speech: 0..1


def decibels(amplitude: float) -> float:
    """20 log10 of an amplitude >= 0, not below -120."""
    return max(20 * math.log10(amplitude), FLOOR_DBFS) if amplitude > 0 else FLOOR_DBFS


def assess(samples: Samples, rate: int) -> AudioReport:
    """Measure mono samples [n] at `rate` Hz; all must be finite, none are needed.

    A frame counts as speech when it is within 30 dB of the loud frames (95th percentile) and 6 dB
    above the noise floor; in a clip without pauses, where the floor is the voice itself, being
    within 10 dB of the loud frames is enough.
    """
    if not samples.size:
        return AudioReport(0.0, FLOOR_DBFS, FLOOR_DBFS, 0, 0.0, FLOOR_DBFS, 0.0)
    peak = max(float(samples.max()), -float(samples.min()))
    offset = float(samples.mean(dtype=np.float64))
    levels = frame_levels(samples, rate, offset)  # [frames] dBFS
    power = float(np.mean(10 ** (levels / 10)))
    return AudioReport(
        seconds=samples.size / rate,
        peak_dbfs=decibels(peak),
        rms_dbfs=decibels(math.sqrt(power)),
        clipped=ClipCounter().count(samples[:, None]),
        dc_offset=offset,
        noise_floor_dbfs=float(np.percentile(levels, NOISE_PERCENTILE)),
        speech_share=float(np.mean(levels > speech_threshold(levels))),
    )


def speech_threshold(levels: NDArray[np.float64]) -> float:
    """The level in dBFS above which frames of these levels [frames] count as speech.

    Infinite when nothing is audible.
    """
    noise, loud = np.percentile(levels, [NOISE_PERCENTILE, LOUD_PERCENTILE])
    if loud <= FLOOR_DBFS + SPEECH_RANGE_DB:
        return math.inf
    return float(max(loud - SPEECH_RANGE_DB, min(noise + SPEECH_OVER_NOISE_DB, loud - 10)))


def frame_levels(samples: Samples, rate: int, offset: float = 0.0) -> NDArray[np.float64]:
    """RMS level of each whole 20 ms frame of samples [n], n >= 1, in dBFS, shape [frames].

    `offset` is subtracted first. A clip shorter than a frame is one frame.
    """
    length = min(max(1, round(rate * FRAME_SECONDS)), samples.size)
    count = samples.size // length
    power = np.empty(count)
    frames = samples[: count * length].reshape(count, length)
    for start in range(0, count, 4096):  # float64 copies of a part at a time
        part = frames[start : start + 4096].astype(np.float64) - offset
        power[start : start + 4096] = np.einsum("ij,ij->i", part, part) / length
    return 10 * np.log10(np.maximum(power, 10 ** (FLOOR_DBFS / 10)))


class ClipCounter:
    """Counts the runs of full-scale samples of a recording that comes in blocks."""

    def __init__(self) -> None:
        self._tail: NDArray[np.bool_] | None = None

    def count(self, block: NDArray[np.float32]) -> int:
        """The clipped places that the block [n, channels] completes, over all channels.

        A run is counted at its third sample, which may lie in a later block than its first.
        """
        full = np.abs(block) >= FULL_SCALE
        if self._tail is None:
            self._tail = np.zeros((CLIPPED_RUN, block.shape[1]), np.bool_)
        joined = np.concatenate([self._tail, full])
        self._tail = joined[-CLIPPED_RUN:]
        runs = ~joined[:-3] & joined[1:-2] & joined[2:-1] & joined[3:]
        return int(runs.sum())
