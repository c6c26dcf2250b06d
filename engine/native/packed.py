"""Matrices repacked for the native step as they are read, and products with them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from engine.gguf.blocks import BLOCKS
from engine.gguf.header import TensorType
from engine.gguf.weights import StoredTensor
from engine.native.context import NativeContext
from engine.native.structures import Q4, Q8, Matrix

GROUP_ROWS = 32  # rows that lie side by side

KEPT_TYPES = frozenset({TensorType.Q8_0, TensorType.Q4_K})
"""Types whose values a packed matrix keeps."""

READ_TYPES = frozenset(
    {
        TensorType.F32,
        TensorType.F16,
        TensorType.BF16,
        TensorType.Q8_0,
        TensorType.Q4_K,
        TensorType.Q6_K,
    }
)
"""Types whose stored bytes the native step reads itself."""


@dataclass(frozen=True, eq=False)
class PackedMatrix:
    """A matrix [rows, columns] in 8 or 4 bits, in the layout of `source/stored.h`."""

    data: Tensor  # uint8
    rows: int
    columns: int
    kind: int  # Q8 or Q4

    def structure(self, bias: Tensor | None = None) -> Matrix:
        """What the native step reads; it does not keep the tensors alive."""
        address = None if bias is None else bias.data_ptr()
        return Matrix(self.data.data_ptr(), address, self.rows, self.columns, self.kind, 0)


def unfit(stored: StoredTensor) -> str:
    """Why a matrix cannot be packed, or nothing."""
    if len(stored.shape) != 2:
        return f"{stored.name} is no matrix"
    if stored.shape[1] % 32:
        return f"{stored.name} has {stored.shape[1]} columns, no multiple of 32"
    return ""


def pack(stored: StoredTensor, context: NativeContext) -> PackedMatrix:
    """Repack a matrix that is not `unfit`, piece by piece out of its file.

    Q4_K and Q8_0 keep their values, other types are rounded to Q8. Raises what reading raises.
    """
    rows, columns = stored.shape
    kind = Q4 if stored.type == TensorType.Q4_K else Q8
    calls = context.calls
    data = torch.empty(calls.step_packed_bytes(kind, rows, columns), dtype=torch.uint8)
    group_bytes = calls.step_packed_bytes(kind, GROUP_ROWS, columns)
    block = BLOCKS[stored.type]
    row_bytes = columns // block.block_size * block.block_bytes
    first = 0
    for piece in stored.pieces(GROUP_ROWS * row_bytes):
        count = piece.numel() // row_bytes
        kind_of_piece = stored.type
        if kind_of_piece not in READ_TYPES:
            piece = block.dequantize(piece.view(count, -1)).contiguous()
            kind_of_piece = TensorType.F32
        target = data.data_ptr() + first // GROUP_ROWS * group_bytes
        status = calls.step_pack(
            context.handle, kind, kind_of_piece, piece.data_ptr(), count, columns, target
        )
        assert status == 0, f"{stored.name} fits, as was looked at before"
        first += count
    return PackedMatrix(data, rows, columns, kind)


class PackedLinear(nn.Module):
    """y = x W^T + b over packed weights; every position is a product of its own.

    Several matrices are stacked along their outputs.
    """

    def __init__(
        self, matrices: tuple[PackedMatrix, ...], bias: Tensor | None, context: NativeContext
    ) -> None:
        super().__init__()
        assert bias is None or len(matrices) == 1, "a stack of matrices has no bias"
        self.matrices = matrices
        self.bias = bias  # float32 [out]
        self.context = context
        self.rows = sum(matrix.rows for matrix in matrices)
        self._structures = (Matrix * len(matrices))(
            *(matrix.structure(bias) for matrix in matrices)
        )

    def structures(self) -> list[Matrix]:
        """The matrices as the native step reads them, in order."""
        return list(self._structures)

    def forward(self, x: Tensor) -> Tensor:  # [..., in] -> [..., out]
        x = x.float().contiguous()
        columns = x.numel() // x.shape[-1]
        made = torch.empty(*x.shape[:-1], self.rows)
        self.context.calls.step_linear(
            self.context.handle,
            self._structures,
            len(self.matrices),
            x.data_ptr(),
            columns,
            made.data_ptr(),
        )
        return made
