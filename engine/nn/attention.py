"""Causal attention over a fixed key/value buffer, and over a sliding window."""

from __future__ import annotations

from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.nn.rope import RotaryTable, rotate
from engine.nn.state import AttentionWindow

QUERY_ROWS = 256  # positions computed at once: bounds the memory of the scores of a long prompt


class Attending(Protocol):
    """What a block needs of a cache: `KeyValueCache.attend`."""

    def attend(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor: ...


class KeyValueCache:
    """Keys (after RoPE) and values of every layer, in buffers that are written in place.

    The buffers are as long as the longest utterance allowed. In main memory only the part that was
    written takes room; an accelerator sets all of it aside.
    """

    def __init__(
        self,
        layers: int,
        shape: tuple[int, int, int, int],  # [B, kv_heads, capacity, head_dim]
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        self.keys = [torch.empty(shape, device=device, dtype=dtype) for _ in range(layers)]
        self.values = [torch.empty(shape, device=device, dtype=dtype) for _ in range(layers)]
        self.length = 0

    @property
    def capacity(self) -> int:
        return self.keys[0].shape[2]

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store [B, kv_heads, T, d] behind what is there; return all that is visible so far."""
        end = self.length + keys.shape[2]
        assert end <= self.capacity, "the caller checks the capacity before it computes"
        self.keys[layer][:, :, self.length : end] = keys
        self.values[layer][:, :, self.length : end] = values
        return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]

    def attend(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Store keys and values, and let the queries see all that is there: [B, T, H * d]."""
        return causal_attention(queries, *self.write(layer, keys, values))

    def select(self, rows: Tensor, capacity: int | None = None) -> KeyValueCache:
        """A cache of this or another capacity that holds the given lanes; lanes may repeat."""
        heads, own, width = self.keys[0].shape[1:]
        chosen = KeyValueCache(
            len(self.keys),
            (len(rows), heads, capacity or own, width),
            self.keys[0].device,
            self.keys[0].dtype,
        )
        chosen.length = self.length
        used = slice(0, self.length)
        for layer in range(len(self.keys)):
            chosen.keys[layer][:, :, used] = self.keys[layer][rows, :, used]
            chosen.values[layer][:, :, used] = self.values[layer][rows, :, used]
        return chosen


def causal_attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Attention of the last T positions over S >= T: [B, H, T, d] over [B, Hkv, S, d].

    softmax(q k^T / sqrt(d)) v with the softmax in float32; query head h reads key head
    h // (H / Hkv). Returns [B, T, H * d].
    """
    batch, heads, length, width = queries.shape
    groups = keys.shape[1]
    seen = keys.shape[2]
    if length > QUERY_ROWS:
        parts = []
        for first in range(0, length, QUERY_ROWS):
            rows = queries[:, :, first : first + QUERY_ROWS]
            end = seen - length + first + rows.shape[2]
            parts.append(causal_attention(rows, keys[:, :, :end], values[:, :, :end]))
        return torch.cat(parts, dim=1)
    queries = queries.reshape(batch, groups, heads // groups * length, width)
    scores = (queries @ keys.transpose(-1, -2)).float() * width**-0.5  # [B, Hkv, H/Hkv*T, S]
    if length > 1:
        rows = torch.arange(seen - length, seen, device=queries.device)
        hidden = torch.arange(seen, device=queries.device) > rows[:, None]  # [T, S]
        scores = scores.view(batch, heads, length, seen).masked_fill(hidden, float("-inf"))
        scores = scores.view(batch, groups, -1, seen)
    mixed = F.softmax(scores, dim=-1).to(values.dtype) @ values
    return mixed.view(batch, heads, length, width).transpose(1, 2).reshape(batch, length, -1)


def windowed_attention(
    queries: Tensor, keys: Tensor, values: Tensor, rope: RotaryTable, state: AttentionWindow
) -> Tensor:
    """Streaming attention in which position i sees the positions i - window < j <= i.

    Takes [B, H, T, d] before RoPE, returns [B, T, H * d] and moves the window on.
    """
    batch, heads, length, width = queries.shape
    span = state.keys.shape[2]  # window - 1
    cos, sin = rope.at(state.position, length)
    queries = rotate(queries, cos, sin)
    keys = torch.cat((state.keys, rotate(keys, cos, sin)), dim=2)  # [B, H, span + T, d]
    values = torch.cat((state.values, values), dim=2)

    # Key column c stands for position `position - span + c`; query row r for `position + r`.
    row = torch.arange(length, device=queries.device)[:, None]
    column = torch.arange(span + length, device=queries.device)
    visible = (column > row - 1) & (column <= row + span) & (column >= span - state.position)
    mixed = F.scaled_dot_product_attention(queries, keys, values, attn_mask=visible)

    state.keys.copy_(keys[:, :, length:])
    state.values.copy_(values[:, :, length:])
    state.position += length
    return mixed.transpose(1, 2).reshape(batch, length, heads * width)
