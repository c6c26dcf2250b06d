"""The log-mel front end of the speaker encoder."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from engine.errors import AudioFileError
from engine.types import Samples

WINDOW = 1024
HOP = 256
BANDS = 128
HIGHEST_HZ = 12_000.0
MAGNITUDE_EPS = 1e-9
SMALLEST_MEL = 1e-5
SHORTEST = 5 * HOP  # the widest dilation of the encoder reflects 4 frames

_LINEAR_HZ = 200 / 3  # Hz per mel below 1 kHz
_BEND_HZ = 1000.0
_LOG_STEP = math.log(6.4) / 27  # per mel above


class LogMel:
    """Log-mel spectra as the official `mel_spectrogram` makes them, 128 bands from 0 to 12 kHz."""

    def __init__(self, sample_rate: int, device: torch.device | str = "cpu") -> None:
        self._rate = sample_rate
        self._window = torch.hann_window(WINDOW, dtype=torch.float32, device=device)
        filters = mel_filters(sample_rate, WINDOW, BANDS, HIGHEST_HZ)
        self._filters = torch.from_numpy(filters).to(device)  # [128, 513]

    def __call__(self, samples: Samples) -> Tensor:
        """The spectra [n // 256, 128] of mono samples [n] at the rate given before.

        Raises AudioFileError for fewer than 1280 samples, of which the speaker encoder can make
        nothing.
        """
        if samples.size < SHORTEST:
            raise AudioFileError(
                f"The recording is too short for a voice: {samples.size / self._rate:.3f} s, at "
                f"least {SHORTEST / self._rate:.3f} s are needed.",
                "Record 6 to 15 s of speech.",
            )
        signal = torch.tensor(samples, dtype=torch.float32, device=self._window.device)
        edge = (WINDOW - HOP) // 2
        signal = F.pad(signal[None], (edge, edge), mode="reflect")[0]
        spectrum = torch.stft(
            signal, WINDOW, HOP, window=self._window, center=False, return_complex=True
        )  # [513, frames]
        power = spectrum.real.square() + spectrum.imag.square()
        mel = self._filters @ (power + MAGNITUDE_EPS).sqrt()  # [128, frames]
        return mel.clamp(min=SMALLEST_MEL).log().T


def mel_filters(rate: int, window: int, bands: int, highest: float) -> NDArray[np.float32]:
    """Triangular filters of equal area on the Slaney mel scale, shape [bands, window // 2 + 1].

    From 0 to `highest` Hz; computed in float64. The scale (Slaney, Auditory Toolbox, 1998) is
    linear below 1 kHz and logarithmic above; each filter has the area 1 over Hz.
    """
    bins = np.linspace(0, rate / 2, window // 2 + 1)
    edges = _hz(np.linspace(0, _mel(highest), bands + 2))  # [bands + 2]
    rising = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    filters = np.maximum(0, np.minimum(rising, falling))
    return (filters * (2 / (edges[2:] - edges[:-2]))[:, None]).astype(np.float32)


def _mel(hz: float) -> float:
    if hz < _BEND_HZ:
        return hz / _LINEAR_HZ
    return _BEND_HZ / _LINEAR_HZ + math.log(hz / _BEND_HZ) / _LOG_STEP


def _hz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    bend = _BEND_HZ / _LINEAR_HZ
    return np.where(mel < bend, mel * _LINEAR_HZ, _BEND_HZ * np.exp((mel - bend) * _LOG_STEP))
