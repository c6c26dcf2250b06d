"""Normalisations with loaded weights."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class RmsNorm(nn.Module):
    """x * rsqrt(mean(x^2) + eps) * weight over the last dimension (Zhang & Sennrich 2019)."""

    def __init__(self, weight: Tensor, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)  # [width]
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


class LayerNorm(nn.Module):
    """Mean and variance normalisation over the last dimension (Ba et al. 2016)."""

    def __init__(self, weight: Tensor, bias: Tensor, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)  # [width]
        self.bias = nn.Parameter(bias, requires_grad=False)  # [width]
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)
