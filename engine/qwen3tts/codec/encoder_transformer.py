"""The transformer of the codec encoder: every position sees the whole recording before it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.gguf.weights import Weights
from engine.nn.attention import KeyValueCache
from engine.nn.rope import RotaryTable, rotate
from engine.qwen3tts.codec.encoder_config import EncoderConfig
from engine.runtime import Runtime

QUERY_ROWS = 128  # positions computed at once: bounds the memory of the attention scores


@dataclass(frozen=True, eq=False)
class Place:
    """Where in the recording some positions are: the same for all blocks."""

    angles: tuple[Tensor, Tensor]
    visible: Tensor  # [T, S], what each of them sees of the S positions up to the last of them


class EncoderBlock(nn.Module):
    """Pre-norm attention and plain MLP, each scaled per channel before it is added."""

    def __init__(
        self, weights: Weights, prefix: str, config: EncoderConfig, runtime: Runtime
    ) -> None:
        super().__init__()
        self._heads = (config.heads, config.head_width)
        width, inner, total = config.width, config.inner, config.heads * config.head_width
        take = weights.take
        self.attention_norm = runtime.layer_norm(weights, f"{prefix}.attn_norm", width, config.eps)
        self.projections = runtime.linear(
            tuple(take(f"{prefix}.attn_{part}.weight", (total, width)) for part in "qkv")
        )
        self.output = runtime.linear((take(f"{prefix}.attn_output.weight", (width, total)),))
        self.attention_scale = nn.Parameter(
            runtime.tensor(take(f"{prefix}.attn_scale", (width,))), requires_grad=False
        )
        self.mlp_norm = runtime.layer_norm(weights, f"{prefix}.ffn_norm", width, config.eps)
        self.up = runtime.linear((take(f"{prefix}.ffn_up.weight", (inner, width)),))
        self.down = runtime.linear((take(f"{prefix}.ffn_down.weight", (width, inner)),))
        self.mlp_scale = nn.Parameter(
            runtime.tensor(take(f"{prefix}.ffn_scale", (width,))), requires_grad=False
        )

    def forward(self, x: Tensor, place: Place, cache: KeyValueCache, layer: int) -> Tensor:
        """Positions x [B, T, width] -> the same; they are added to the cache."""
        batch, length, _ = x.shape
        whole = self.projections(self.attention_norm(x)).view(batch, length, 3, *self._heads)
        queries, keys, values = whole.permute(2, 0, 3, 1, 4)  # [B, heads, T, d] each
        queries, keys = rotate(queries, *place.angles), rotate(keys, *place.angles)
        seen = cache.write(layer, keys, values)
        mixed = F.scaled_dot_product_attention(queries, *seen, attn_mask=place.visible)
        mixed = mixed.transpose(1, 2).reshape(batch, length, -1)
        x = x + self.attention_scale * self.output(mixed)
        inner = F.gelu(self.up(self.mlp_norm(x)))
        scaled: Tensor = x + self.mlp_scale * self.down(inner)
        return scaled


class EncoderTransformer(nn.Module):
    """Weights `tok_enc.blk.*`: [B, width, T] -> the same; no norm follows the last block.

    The official configuration names a window of 250 positions, but the official code as it is
    loaded attends to everything before a position.
    """

    def __init__(
        self, weights: Weights, prefix: str, config: EncoderConfig, runtime: Runtime
    ) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            EncoderBlock(weights, f"{prefix}.blk.{index}", config, runtime)
            for index in range(config.blocks)
        )
        self._rope = RotaryTable(config.head_width, config.rope_base, runtime.device, runtime.dtype)
        self._heads = (config.heads, config.head_width)
        self._runtime = runtime

    def new_state(self, batch: int, positions: int) -> KeyValueCache:
        """Room for that many positions in all."""
        heads, width = self._heads
        shape = (batch, heads, positions, width)
        return KeyValueCache(len(self.blocks), shape, self._runtime.device, self._runtime.dtype)

    def step(self, x: Tensor, state: KeyValueCache) -> Tensor:
        rows = torch.split(x.transpose(1, 2), QUERY_ROWS, dim=1)
        return torch.cat([self._append(part, state) for part in rows], dim=1).transpose(1, 2)

    def _append(self, x: Tensor, cache: KeyValueCache) -> Tensor:  # [B, T, width] -> the same
        start, end = cache.length, cache.length + x.shape[1]
        positions = torch.arange(end, device=x.device)
        place = Place(
            angles=self._rope.at(start, end - start),
            visible=positions <= positions[start:, None],
        )
        for layer, block in enumerate(self.blocks):
            x = block(x, place, cache, layer)
        cache.length = end
        return x
