"""A whole transformer stack in one native call."""

from __future__ import annotations

import ctypes
from ctypes import byref

import torch
from torch import Tensor

from engine.native.context import NativeContext
from engine.native.packed import PackedLinear
from engine.native.structures import BlockWeights, CacheBuffers, StackWeights
from engine.nn.attention import KeyValueCache
from engine.nn.block import Block
from engine.nn.runners import AfterBlock, StackParts

LANES = 16  # numbers that the native step computes at once


def unfit_stack(parts: StackParts) -> str:
    """Why a stack cannot be run natively, or nothing."""
    for index, block in enumerate(parts.blocks):
        attention, mlp = block.attention, block.mlp
        layers = (attention.projections, attention.output, mlp.gate_up, mlp.down)
        if not all(isinstance(layer, PackedLinear) for layer in layers):
            return f"not all matrices of block {index} are packed"
        if attention.heads.width % LANES:
            return f"heads are {attention.heads.width} wide, no multiple of {LANES}"
    return "" if parts.blocks else "there are no blocks"


class NativeStack:
    """Runs a stack that is not `unfit_stack`, on caches and inputs in float32."""

    def __init__(self, parts: StackParts, context: NativeContext) -> None:
        self.context = context
        self._parts = parts  # keeps alive what the structures point to
        self._blocks = (BlockWeights * len(parts.blocks))(
            *(_block_structure(block) for block in parts.blocks)
        )
        first = parts.blocks[0]
        self.width = parts.norm.weight.shape[0]
        self.structure = StackWeights(
            blocks=ctypes.addressof(self._blocks),
            norm=parts.norm.weight.data_ptr(),
            count=len(parts.blocks),
            width=self.width,
            inner=_packed(first.mlp.down).matrices[0].columns,
            heads=first.attention.heads.queries,
            key_heads=first.attention.heads.keys,
            head_width=first.attention.heads.width,
            epsilon=parts.norm.eps,
        )

    def __call__(
        self, x: Tensor, cache: KeyValueCache, after_block: AfterBlock | None = None
    ) -> Tensor:
        hidden = x.float().clone(memory_format=torch.contiguous_format)  # worked on in place
        length = hidden.shape[1]
        buffers = self.buffers(cache, length)
        count = len(self._parts.blocks)
        passes = [(0, count)] if after_block is None else [(i, i + 1) for i in range(count)]
        for first, end in passes:
            last = end == count and after_block is None
            self._run(buffers, (first, end), hidden, cache.length, normalise=last)
            if after_block is not None:
                after_block(first, hidden.clone())
        if after_block is not None:
            self._run(buffers, (count, count), hidden, cache.length, normalise=True)
        cache.length += length
        return hidden

    def buffers(self, cache: KeyValueCache, length: int) -> CacheBuffers:
        """Where keys, values and angles are, for `length` more positions."""
        end = cache.length + length
        assert end <= cache.capacity, "the caller checks the capacity before it computes"
        cosines, sines = self._parts.rope.at(0, end)
        count = len(cache.keys)
        keys = (ctypes.c_void_p * count)(*(part.data_ptr() for part in cache.keys))
        values = (ctypes.c_void_p * count)(*(part.data_ptr() for part in cache.values))
        made = CacheBuffers(
            ctypes.addressof(keys),
            ctypes.addressof(values),
            cosines.data_ptr(),
            sines.data_ptr(),
            cache.capacity,
        )
        made.kept = (keys, values, cosines, sines)
        return made

    def _run(
        self,
        buffers: CacheBuffers,
        blocks: tuple[int, int],
        hidden: Tensor,  # [B, T, width]
        start: int,
        *,
        normalise: bool,
    ) -> None:
        lanes, length, _ = hidden.shape
        self.context.calls.step_stack(
            self.context.handle,
            byref(self.structure),
            byref(buffers),
            *blocks,
            normalise,
            hidden.data_ptr(),
            lanes,
            length,
            start,
        )


def _block_structure(block: Block) -> BlockWeights:
    attention, mlp = block.attention, block.mlp
    layers = (attention.projections, attention.output, mlp.gate_up, mlp.down)
    matrices = [matrix for layer in layers for matrix in _packed(layer).structures()]
    norms = (block.attention_norm, attention.query_norm, attention.key_norm, block.mlp_norm)
    return BlockWeights(*matrices, *(norm.weight.data_ptr() for norm in norms))


def _packed(layer: object) -> PackedLinear:
    assert isinstance(layer, PackedLinear), "looked at before"
    return layer
