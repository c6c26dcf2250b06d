"""Mel spectra for losses and for the encoder that learns first."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

RATE = 24_000
FLOOR = 3e-3


def mel_filters(bands: int, size: int) -> Tensor:
    """Triangular filters [bands, size / 2 + 1] from 0 to half the rate, each of sum one."""
    top = 2595 * torch.log10(torch.tensor(1 + RATE / 2 / 700))
    edges = 700 * (10 ** (torch.linspace(0, float(top), bands + 2) / 2595) - 1)
    bins = torch.linspace(0, RATE / 2, size // 2 + 1)
    low, centre, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    filters = torch.minimum((bins - low) / (centre - low), (high - bins) / (high - centre))
    filters = filters.clamp(min=0)
    return filters / (filters.sum(1, keepdim=True) + 1e-8)


def magnitudes(samples: Tensor, size: int, hop: int, *, causal: bool = False) -> Tensor:
    """[B, n] -> [B, size / 2 + 1, n / hop]; windows are centred on their hop, or end with it."""
    left = size - hop if causal else size // 2 - hop // 2
    padded = F.pad(samples, (left, size - hop - left))
    window = torch.hann_window(size)
    spectrum = torch.stft(padded, size, hop, window=window, center=False, return_complex=True)
    return torch.sqrt(spectrum.real.square() + spectrum.imag.square() + 1e-7)


class LogMel(nn.Module):
    """Samples [B, n] -> log-mel [B, bands, n / hop], floored at log 0.003."""

    filters: Tensor

    def __init__(self, bands: int, size: int, hop: int, *, causal: bool = False) -> None:
        super().__init__()
        self.register_buffer("filters", mel_filters(bands, size), persistent=False)
        self._shape, self._causal = (size, hop), causal

    def forward(self, samples: Tensor) -> Tensor:
        mel = self.filters @ magnitudes(samples, *self._shape, causal=self._causal)
        return torch.log(mel.clamp(min=FLOOR))
