"""What a streaming layer remembers between pieces, as values that can be copied and reordered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import torch
from torch import Tensor


class State(Protocol):
    """The memory of one layer (or of a stack of them) for a batch of lanes."""

    def select(self, rows: Tensor) -> Self:
        """A copy that holds the given lanes, in the given order; lanes may repeat."""
        ...


@dataclass
class History:
    """The last inputs of a causal convolution."""

    past: Tensor  # [B, C, span]

    def select(self, rows: Tensor) -> History:
        return History(self.past.index_select(0, rows))

    def extend(self, x: Tensor) -> Tensor:
        """Return `past` followed by `x` [B, C, T]; remember the end of it for the next piece."""
        span = self.past.shape[-1]
        if span == 0:
            return x
        whole = torch.cat((self.past, x), dim=-1)
        self.past.copy_(whole[..., whole.shape[-1] - span :])
        return whole


@dataclass
class AttentionWindow:
    """The keys and values that a sliding-window attention can still see, and the position."""

    keys: Tensor  # [B, heads, window - 1, head_dim], after RoPE at absolute positions
    values: Tensor
    position: int = 0  # frames seen so far

    def select(self, rows: Tensor) -> AttentionWindow:
        return AttentionWindow(
            self.keys.index_select(0, rows), self.values.index_select(0, rows), self.position
        )


@dataclass
class Stack:
    """The states of consecutive layers."""

    parts: list[State]

    def select(self, rows: Tensor) -> Stack:
        return Stack([part.select(rows) for part in self.parts])


@dataclass
class Stateless:
    """The state of a layer that needs none."""

    def select(self, rows: Tensor) -> Stateless:
        return self
