"""What a streaming layer remembers between pieces, as values that can be copied and reordered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, TypeVar, cast

import torch
from torch import Tensor


class State(Protocol):
    """The memory of one layer (or of a stack of them) for a batch of lanes."""

    def select(self, rows: Tensor) -> Self:
        """A copy that holds the given lanes, in the given order; lanes may repeat."""
        ...


T = TypeVar("T", bound=State)


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
    position: int | Tensor = 0  # frames seen so far; a tensor [] in the memory of a recording

    def select(self, rows: Tensor) -> AttentionWindow:
        here = self.position
        return AttentionWindow(
            self.keys.index_select(0, rows),
            self.values.index_select(0, rows),
            here.clone() if isinstance(here, Tensor) else here,
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


def fix_positions(state: State) -> None:
    """Turn the positions of a state into tensors, so that recorded steps move them on."""
    if isinstance(state, Stack):
        for part in state.parts:
            fix_positions(part)
    elif isinstance(state, AttentionWindow):
        state.position = torch.zeros((), dtype=torch.long, device=state.keys.device)


def first_lanes(state: T, lanes: int) -> T:
    """The first lanes of a state with fixed positions, in the same memory."""
    if isinstance(state, Stack):
        return cast("T", Stack([first_lanes(part, lanes) for part in state.parts]))
    if isinstance(state, AttentionWindow):
        keys, values = state.keys[:lanes], state.values[:lanes]
        return cast("T", AttentionWindow(keys, values, state.position))
    if isinstance(state, History):
        return cast("T", History(state.past[:lanes]))
    assert isinstance(state, Stateless), type(state).__name__
    return state


def assign(target: State, source: State) -> None:
    """Copy a state into the memory of one with fixed positions and as many lanes."""
    if isinstance(target, Stack) and isinstance(source, Stack):
        for mine, theirs in zip(target.parts, source.parts, strict=True):
            assign(mine, theirs)
    elif isinstance(target, AttentionWindow) and isinstance(source, AttentionWindow):
        assert isinstance(target.position, Tensor), "see fix_positions"
        target.keys.copy_(source.keys)
        target.values.copy_(source.values)
        target.position.fill_(source.position)
    elif isinstance(target, History) and isinstance(source, History):
        target.past.copy_(source.past)
    else:
        assert isinstance(target, Stateless), type(target).__name__
