"""A whole frame of the code predictor in one native call, drawing included."""

from __future__ import annotations

import ctypes
from ctypes import byref

import torch
from torch import Tensor, nn

from engine.errors import no_numbers
from engine.gguf.blocks import BLOCKS
from engine.gguf.header import TensorType
from engine.native.packed import PackedLinear
from engine.native.stack import NativeStack
from engine.native.structures import Drawing, Matrix, PredictorWeights, Table
from engine.nn.attention import KeyValueCache
from engine.nn.linear import StoredEmbedding
from engine.nn.runners import FrameParts
from engine.types import StackSampling


class StoredTable(StoredEmbedding):
    """An embedding that stays as its file stores it, in a type that the native step reads."""

    def __init__(self, stored: Tensor, kind: TensorType, columns: int) -> None:
        super().__init__(stored, BLOCKS[kind].dequantize, torch.float32)
        self.kind = kind
        self.columns = columns

    def structure(self) -> Table:
        """What the native step reads; it does not keep the tensor alive."""
        return Table(self.stored.data_ptr(), self.kind, self.stored.shape[0], self.columns, 0)


def unfit_frames(parts: FrameParts) -> str:
    """Why frames cannot be run natively, or nothing."""
    if not isinstance(parts.stack, NativeStack):
        return "its stack is not"
    if not isinstance(parts.projection, PackedLinear | nn.Identity):
        return "its projection is not packed"
    if not all(isinstance(head, PackedLinear) for head in parts.heads):
        return "not all of its heads are packed"
    tables = (isinstance(table, StoredTable) for table in parts.embeddings)
    return "" if all(tables) else "not all of its embeddings are stored in a type that it reads"


class NativeFrames:
    """Runs frames that are not `unfit_frames`."""

    def __init__(self, parts: FrameParts) -> None:
        assert isinstance(parts.stack, NativeStack), "looked at before"
        heads = [head.structures()[0] for head in parts.heads if isinstance(head, PackedLinear)]
        tables = [table for table in parts.embeddings if isinstance(table, StoredTable)]
        projection = parts.projection
        self._parts = parts  # keeps alive what the structures point to
        self._stack = parts.stack
        self._heads = (Matrix * len(heads))(*heads)
        self._tables = (Table * len(tables))(*(table.structure() for table in tables))
        self._projection = (
            (Matrix * 1)(*projection.structures()) if isinstance(projection, PackedLinear) else None
        )
        self._books = len(heads)
        self._wide = tables[0].columns
        address = None if self._projection is None else ctypes.addressof(self._projection)
        self._weights = PredictorWeights(
            parts.stack.structure,
            ctypes.addressof(self._heads),
            ctypes.addressof(self._tables),
            address,
            self._books,
            self._wide,
        )

    def __call__(
        self, inputs: Tensor, uniforms: Tensor, drawing: StackSampling, cache: KeyValueCache
    ) -> tuple[Tensor, Tensor]:
        lanes = inputs.shape[0]
        inputs, uniforms = inputs.float().contiguous(), uniforms.float().contiguous()
        assert inputs.shape == (lanes, 2, self._wide), inputs.shape
        assert uniforms.shape == (lanes, self._books), uniforms.shape
        codes = torch.empty(lanes, self._books, dtype=torch.int64)
        sums = torch.empty(lanes, self._wide)
        how = Drawing(drawing.greedy, drawing.top_k, drawing.temperature, drawing.top_p)
        cache.length = 0
        buffers = self._stack.buffers(cache, self._books + 1)
        context = self._stack.context
        failed = context.calls.step_predict(
            context.handle,
            byref(self._weights),
            byref(buffers),
            inputs.data_ptr(),
            uniforms.data_ptr(),
            byref(how),
            lanes,
            codes.data_ptr(),
            sums.data_ptr(),
        )
        if failed:
            raise no_numbers()
        cache.length = self._books + 1
        return codes, sums
