"""What can be measured of a voice without understanding it: pitch, pace and timbre."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from tools.own_voice.spectra import LogMel

RATE = 24_000
PITCHES = (60.0, 400.0)  # Hz, of speech
WINDOW, HOP = 1920, 480  # samples
QUIET = 0.03  # of full scale
VOICED = 0.3  # of the energy must come back after a period
TIMBRE_BANDS = 40


def median_pitch(samples: NDArray[np.float32]) -> float:
    """Hz, of the voiced parts of samples [n] at 24 kHz; 0 without any."""
    shortest, longest = (round(RATE / pitch) for pitch in reversed(PITCHES))
    found = []
    for first in range(0, len(samples) - WINDOW, HOP):
        part = samples[first : first + WINDOW]
        if np.abs(part).max() < QUIET:
            continue
        part = part - part.mean()
        spectrum = np.fft.rfft(part, 2 * WINDOW)
        again = np.fft.irfft(spectrum * spectrum.conj())[:WINDOW]
        period = shortest + int(np.argmax(again[shortest:longest]))
        if again[period] > VOICED * again[0]:
            found.append(RATE / period)
    return float(np.median(found)) if found else 0.0


def timbre(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean log-mel spectrum [TIMBRE_BANDS] of the loud half of samples [n] at 24 kHz, centred."""
    mel = LogMel(TIMBRE_BANDS, 1024, 240)(torch.from_numpy(samples)[None])[0].numpy()
    loudness = mel.mean(0)
    mean: NDArray[np.float32] = mel[:, loudness >= np.median(loudness)].mean(1)
    centred: NDArray[np.float32] = mean - mean.mean()
    return centred


def likeness(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Cosine of two timbres, from -1 to 1."""
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))
