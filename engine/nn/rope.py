"""Rotary position embedding in the rotate-half ("NEOX") form."""

from __future__ import annotations

import torch
from torch import Tensor


class RotaryTable:
    """Cosines and sines by position, grown on demand.

    Angle of pair i at position p is p * base^(-2i/d) (Su et al. 2021), computed in float32 as the
    official implementation does, then cast to the activation type.
    """

    def __init__(self, head_dim: int, base: float, device: torch.device, dtype: torch.dtype):
        exponents = torch.arange(0, head_dim, 2, dtype=torch.float32, device=device) / head_dim
        self._inverse = 1.0 / (base**exponents)  # [head_dim / 2]
        self._dtype = dtype
        self._cos, self._sin = self._rows(256)

    def _rows(self, count: int) -> tuple[Tensor, Tensor]:
        return self.of(torch.arange(count, device=self._inverse.device))

    def of(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines [n, head_dim] of positions [n] that only the device knows.

        They are computed anew, with the same values as those of the table.
        """
        half = positions.float()[:, None] * self._inverse  # [n, head_dim / 2]
        angles = torch.cat((half, half), dim=-1)
        return angles.cos().to(self._dtype), angles.sin().to(self._dtype)

    def at(self, start: int | Tensor, length: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines [length, head_dim] of positions start .. start + length - 1."""
        if isinstance(start, Tensor):
            return self.of(start + torch.arange(length, device=start.device))
        end = start + length
        if end > self._cos.shape[0]:
            self._cos, self._sin = self._rows(max(end, 2 * self._cos.shape[0]))
        return self._cos[start:end], self._sin[start:end]


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the pairs (i, i + d/2) of x [..., T, d] by the angles of its positions [T, d]."""
    half = x.shape[-1] // 2
    swapped = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return torch.addcmul(x * cos, swapped, sin)
