"""Causal convolutions that can run over a whole signal or piece by piece, with equal results."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.nn.state import History


class CausalConv1d(nn.Module):
    """A stride-1 convolution that sees only the past: (k - 1) * dilation zeros on the left."""

    def __init__(
        self, weight: Tensor, bias: Tensor | None, *, dilation: int = 1, groups: int = 1
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)  # [out, in / groups, k]
        self.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)
        self.dilation = dilation
        self.groups = groups
        self.channels = weight.shape[1] * groups
        self.span = (weight.shape[2] - 1) * dilation

    def new_state(self, batch: int) -> History:
        return History(self.weight.new_zeros(batch, self.channels, self.span))

    def step(self, x: Tensor, state: History) -> Tensor:  # [B, in, T] -> [B, out, T]
        whole = state.extend(x)
        return F.conv1d(whole, self.weight, self.bias, dilation=self.dilation, groups=self.groups)

    def forward(self, x: Tensor) -> Tensor:
        return self.step(x, self.new_state(x.shape[0]))


class CausalConvTranspose1d(nn.Module):
    """An upsampling convolution: T inputs give exactly T * stride outputs.

    The raw result has k - stride more samples at the end, which only later inputs could complete;
    they are dropped there and nothing is dropped at the start.
    """

    def __init__(self, weight: Tensor, bias: Tensor, *, stride: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)  # [in, out, k]
        self.bias = nn.Parameter(bias, requires_grad=False)  # [out]
        self.stride = stride
        # An output depends on the inputs of the last ceil(k / stride) steps, the newest included.
        self.span = -(-weight.shape[2] // stride) - 1

    def new_state(self, batch: int) -> History:
        return History(self.weight.new_zeros(batch, self.weight.shape[0], self.span))

    def step(self, x: Tensor, state: History) -> Tensor:  # [B, in, T] -> [B, out, T * stride]
        first = self.span * self.stride
        count = x.shape[-1] * self.stride
        raw = F.conv_transpose1d(state.extend(x), self.weight, self.bias, stride=self.stride)
        return raw[..., first : first + count]

    def forward(self, x: Tensor) -> Tensor:
        return self.step(x, self.new_state(x.shape[0]))


class SnakeBeta(nn.Module):
    """x + sin^2(x exp(alpha)) / (exp(beta) + 1e-9), per channel (Ziyin et al. 2020, BigVGAN)."""

    def __init__(self, alpha: Tensor, beta: Tensor) -> None:
        super().__init__()
        self.alpha = nn.Parameter(alpha, requires_grad=False)  # [channels], logarithmic
        self.beta = nn.Parameter(beta, requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:  # [B, channels, T]
        frequency = torch.exp(self.alpha)[:, None]
        strength = 1.0 / (torch.exp(self.beta)[:, None] + 1e-9)
        return x + strength * torch.sin(x * frequency).square()
