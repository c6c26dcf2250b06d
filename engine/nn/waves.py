"""Chains of causal convolutions with snakes between, as lists that a runtime can run whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias, cast

from torch import Tensor, nn

from engine.nn.conv import CausalConv1d, CausalConvTranspose1d, SnakeBeta
from engine.nn.state import History, Stack

WaveConvolution: TypeAlias = CausalConv1d | CausalConvTranspose1d


class Residual(IntEnum):
    """What a layer of a chain has to do with the signal that goes around others."""

    NONE = 0
    KEPT = 1  # its result is kept
    ADDED = 2  # its result is added to what an earlier layer kept, and the sum is kept


@dataclass(frozen=True, eq=False)
class WaveLayer:
    """A convolution of one group, with the snake in front of it."""

    conv: WaveConvolution
    snake: SnakeBeta | None = None
    residual: Residual = Residual.NONE


class EagerWaves(nn.Module):
    """One layer after the other: [B, channels, T] -> [B, channels of the last, T * all strides]."""

    def __init__(self, layers: Iterable[WaveLayer]) -> None:
        super().__init__()
        self._layers = tuple(layers)
        self.convs = nn.ModuleList(layer.conv for layer in self._layers)
        self.snakes = nn.ModuleList(layer.snake or nn.Identity() for layer in self._layers)

    def new_state(self, batch: int) -> Stack:
        return Stack([layer.conv.new_state(batch) for layer in self._layers])

    def step(self, x: Tensor, state: Stack) -> Tensor:
        kept = x
        for layer, snake, past in zip(self._layers, self.snakes, state.parts, strict=True):
            x = layer.conv.step(snake(x), cast("History", past))
            if layer.residual is Residual.ADDED:
                x = kept + x
            if layer.residual is not Residual.NONE:
                kept = x
        return x
