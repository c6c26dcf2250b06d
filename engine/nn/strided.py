"""Causal convolutions that lower the rate of a signal, whole or piece by piece."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from engine.nn.state import History


class StridedCausalConv1d(nn.Module):
    """T inputs give ceil(T / stride) outputs, each of which sees the past and its own stride.

    There are k - stride zeros on the left, and as many on the right as complete the last stride
    (Mimi's rule: Defossez et al. 2024). Streaming, therefore, every piece but the last is a
    multiple of the stride long.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, *, stride: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)  # [out, in, k], k >= stride
        self.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)
        self.stride = stride
        self.span = weight.shape[2] - stride

    def new_state(self, batch: int) -> History:
        return History(self.weight.new_zeros(batch, self.weight.shape[1], self.span))

    def step(self, x: Tensor, state: History) -> Tensor:  # [B, in, T] -> [B, out, ceil(T/stride)]
        whole = state.extend(F.pad(x, (0, missing(x, self.stride))))
        return F.conv1d(whole, self.weight, self.bias, stride=self.stride)

    def forward(self, x: Tensor) -> Tensor:
        return self.step(x, self.new_state(x.shape[0]))


@dataclass
class EdgeHistory:
    """The last inputs of a convolution whose signal is preceded by copies of its first value."""

    inputs: History
    started: bool = False

    def select(self, rows: Tensor) -> EdgeHistory:
        return EdgeHistory(self.inputs.select(rows), self.started)


class RepeatedEdges(nn.Module):
    """A strided convolution with copies of the outermost values where it would have zeros."""

    def __init__(self, conv: StridedCausalConv1d) -> None:
        super().__init__()
        self.conv = conv

    def new_state(self, batch: int) -> EdgeHistory:
        return EdgeHistory(self.conv.new_state(batch))

    def step(self, x: Tensor, state: EdgeHistory) -> Tensor:  # as the convolution's, T > 0
        if not state.started:
            state.inputs.past.copy_(x[..., :1])
            state.started = True
        x = F.pad(x, (0, missing(x, self.conv.stride)), mode="replicate")
        return self.conv.step(x, state.inputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.step(x, self.new_state(x.shape[0]))


def missing(x: Tensor, stride: int) -> int:
    """How many values complete the last stride of x [..., T]."""
    return -x.shape[-1] % stride
