"""A step of a transformer stack whose position only the device knows, so that it can be recorded.

`KeyValueCache` gives attention as many keys as there are: every step has another shape. Here it
runs over a fixed number of slots, and those behind the position do not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.nn.attention import KeyValueCache
from engine.nn.runners import StackParts


@dataclass(frozen=True, eq=False)
class SlotCache:
    """Keys (after RoPE) and values of every layer, [B, kv_heads, slots, head_dim] each.

    All slots hold numbers, always: a weight of zero does not hide what is none.
    """

    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    position: Tensor  # [1], of the slot that the next step writes

    @classmethod
    def like(cls, cache: KeyValueCache, lanes: int, slots: int) -> SlotCache:
        """An empty one for a stack that `cache` was made for."""
        heads, _, width = cache.keys[0].shape[1:]
        shape = (lanes, heads, slots, width)
        return cls(
            tuple(keys.new_zeros(shape) for keys in cache.keys),
            tuple(values.new_zeros(shape) for values in cache.values),
            torch.zeros(1, dtype=torch.long, device=cache.keys[0].device),
        )

    @property
    def lanes(self) -> int:
        return self.keys[0].shape[0]

    @property
    def slots(self) -> int:
        return self.keys[0].shape[2]

    def part(self, lanes: int, slots: int) -> SlotCache:
        """The first lanes and slots, in the same memory."""
        return SlotCache(
            tuple(keys[:lanes, :, :slots] for keys in self.keys),
            tuple(values[:lanes, :, :slots] for values in self.values),
            self.position,
        )

    def load(self, cache: KeyValueCache) -> None:
        """Take over the lanes of a cache, and empty all other slots."""
        mine, theirs = (*self.keys, *self.values), (*cache.keys, *cache.values)
        lanes, used = theirs[0].shape[0], cache.length
        for memory, given in zip(mine, theirs, strict=True):
            memory.zero_()
            memory[:lanes, :, :used] = given[:, :, :used]

    def keep(self, rows: Tensor, used: int) -> None:
        """Move the given lanes, which rise, to the front; so many slots are in use."""
        for memory in (*self.keys, *self.values):
            memory[: len(rows), :, :used] = memory[rows, :, :used]

    def leave(self, lanes: int, used: int) -> KeyValueCache:
        """The first lanes as an ordinary cache in the same memory; so many slots are in use."""
        heads, slots, width = self.keys[0].shape[1:]
        keys = self.keys[0]
        cache = KeyValueCache(0, (lanes, heads, slots, width), keys.device, keys.dtype)
        cache.keys.extend(keys[:lanes] for keys in self.keys)
        cache.values.extend(values[:lanes] for values in self.values)
        cache.length = used
        return cache


def step_at_position(parts: StackParts, x: Tensor, cache: SlotCache) -> Tensor:
    """Run all blocks and the last norm on one more position: [B, 1, width] -> the same.

    The caller sets the position before.
    """
    slots = torch.arange(cache.slots, device=x.device)
    step = _Step(cache, slots > cache.position)
    angles = parts.rope.of(cache.position)
    for index, block in enumerate(parts.blocks):
        x = block(x, angles, step, index)
    normalised: Tensor = parts.norm(x)
    return normalised


@dataclass(frozen=True, eq=False)
class _Step:
    """What the blocks see of the cache in one step."""

    cache: SlotCache
    hidden: Tensor  # [slots], those behind the position

    def attend(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """As `causal_attention`, for one position: [B, H, 1, d] -> [B, 1, H * d]."""
        seen_keys, seen_values = self.cache.keys[layer], self.cache.values[layer]
        seen_keys.index_copy_(2, self.cache.position, keys)
        seen_values.index_copy_(2, self.cache.position, values)
        batch, heads, _, width = queries.shape
        groups = seen_keys.shape[1]
        grouped = queries.reshape(batch, groups, heads // groups, width)
        scores = (grouped @ seen_keys.transpose(-1, -2)).float() * width**-0.5
        scores = scores.masked_fill(self.hidden, float("-inf"))  # [B, Hkv, H/Hkv, slots]
        mixed = F.softmax(scores, dim=-1).to(seen_values.dtype) @ seen_values
        return mixed.view(batch, 1, heads * width)
