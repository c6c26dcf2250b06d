"""How whole passes are run: contracts that let a runtime put several layers into one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from torch import Tensor, nn

from engine.nn.attention import KeyValueCache
from engine.nn.block import Block
from engine.nn.norm import RmsNorm
from engine.nn.rope import RotaryTable
from engine.types import StackSampling

AfterBlock: TypeAlias = Callable[[int, Tensor], None]
"""Told (block, its output [B, T, width])."""


@dataclass(frozen=True, eq=False)
class StackParts:
    """The layers of a transformer stack."""

    blocks: Sequence[Block]
    norm: RmsNorm
    rope: RotaryTable


class StackRunner(Protocol):
    """Runs all blocks and the last norm on the positions behind those of the cache.

    [B, T, width] -> [B, T, width]; moves the cache on.
    """

    def __call__(
        self, x: Tensor, cache: KeyValueCache, after_block: AfterBlock | None = None
    ) -> Tensor: ...


@dataclass(frozen=True, eq=False)
class EagerStack:
    """One layer after the other."""

    parts: StackParts

    def __call__(
        self, x: Tensor, cache: KeyValueCache, after_block: AfterBlock | None = None
    ) -> Tensor:
        angles = self.parts.rope.at(cache.length, x.shape[1])
        for index, block in enumerate(self.parts.blocks):
            x = block(x, angles, cache, index)
            if after_block is not None:
                after_block(index, x)
        cache.length += x.shape[1]
        normalised: Tensor = self.parts.norm(x)
        return normalised


@dataclass(frozen=True, eq=False)
class FrameParts:
    """What makes the codes of one frame out of two rows, codebook by codebook."""

    stack: StackRunner
    projection: nn.Module  # [.., wide] -> [.., width]
    heads: Sequence[nn.Module]  # [.., width] -> [.., codes], one per codebook
    embeddings: Sequence[nn.Module]  # codes -> [.., wide]


class FrameRunner(Protocol):
    """Runs a whole frame in one call, drawing included.

    From inputs [B, 2, wide] and numbers in (0, 1] [B, books] to codes [B, books] and the sum of
    their embeddings [B, wide]. Starts the cache afresh. Raises ModelFileError where the numbers
    overflow.
    """

    def __call__(
        self, inputs: Tensor, uniforms: Tensor, drawing: StackSampling, cache: KeyValueCache
    ) -> tuple[Tensor, Tensor]: ...
