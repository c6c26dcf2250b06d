"""Consecutive streaming layers as one layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, cast

from torch import Tensor, nn

from engine.nn.state import Stack, State


class StreamingLayer(Protocol):
    """The law of streaming: concatenated steps over pieces equal one step over the whole.

    A layer only ever meets states that its own `new_state` made.
    """

    def new_state(self, batch: int) -> State: ...

    def step(self, x: Tensor, state: Any) -> Tensor: ...


class Pipeline(nn.Module):
    """Runs every layer on the output of the one before, each with its own part of the state."""

    def __init__(self, layers: Sequence[StreamingLayer]) -> None:
        super().__init__()
        self._layers = nn.ModuleList(cast("Sequence[nn.Module]", layers))

    def __iter__(self) -> Iterator[StreamingLayer]:
        return iter(cast("Sequence[StreamingLayer]", self._layers))

    def new_state(self, batch: int) -> Stack:
        return Stack([layer.new_state(batch) for layer in self])

    def step(self, x: Tensor, state: Stack) -> Tensor:
        for layer, part in zip(self, state.parts, strict=True):
            x = layer.step(x, part)
        return x
