"""Matrix products and table look-ups over weights in their run-time form."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class DenseLinear(nn.Module):
    """y = x W^T + b with plain float weights.

    Every lane of a batch is its own product, so that a take does not depend on what else is in the
    batch: one large product would round rows differently for every batch width.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)  # [out, in]
        self.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)  # [out]

    def forward(self, x: Tensor) -> Tensor:  # [B, T, in] -> [B, T, out]
        if x.shape[0] == 1:
            return F.linear(x, self.weight, self.bias)
        lanes = [F.linear(lane, self.weight, self.bias) for lane in x]
        return torch.stack(lanes)


class DenseEmbedding(nn.Module):
    """Rows of a table that is kept in the run-time type."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = nn.Parameter(table, requires_grad=False)  # [rows, width]

    def forward(self, ids: Tensor) -> Tensor:  # [...] -> [..., width]
        return F.embedding(ids, self.table)


class StoredEmbedding(nn.Module):
    """Rows of a table that stays as the file stores it; only the rows asked for are expanded."""

    stored: Tensor

    def __init__(
        self, stored: Tensor, dequantize: Callable[[Tensor], Tensor], dtype: torch.dtype
    ) -> None:
        super().__init__()
        self.register_buffer("stored", stored)  # uint8 [rows, row bytes]
        self._dequantize = dequantize
        self._dtype = dtype

    def forward(self, ids: Tensor) -> Tensor:  # [...] -> [..., width]
        rows = self._dequantize(self.stored.index_select(0, ids.reshape(-1)))
        return rows.to(self._dtype).view(*ids.shape, -1)
