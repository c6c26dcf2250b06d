"""The transformer block of the talker and the code predictor."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from engine.nn.attention import KeyValueCache, causal_attention
from engine.nn.heads import Heads
from engine.nn.norm import RmsNorm
from engine.nn.rope import rotate


class SelfAttention(nn.Module):
    """Grouped-query attention with normalised queries and keys (Qwen3)."""

    def __init__(
        self,
        projections: nn.Module,
        output: nn.Module,
        norms: tuple[RmsNorm, RmsNorm],
        heads: Heads,
    ) -> None:
        super().__init__()
        self.projections = projections  # width -> (queries + 2 keys) * head width
        self.output = output
        self.query_norm, self.key_norm = norms
        self.heads = heads

    def forward(
        self, x: Tensor, angles: tuple[Tensor, Tensor], cache: KeyValueCache, layer: int
    ) -> Tensor:  # [B, T, width] -> [B, T, width]
        batch, length, _ = x.shape
        counts = (self.heads.queries, self.heads.keys, self.heads.keys)
        whole = self.projections(x).view(batch, length, sum(counts), self.heads.width)
        queries, keys, values = whole.split(counts, dim=2)  # [B, T, heads, d]
        queries = rotate(self.query_norm(queries).transpose(1, 2), *angles)
        keys = rotate(self.key_norm(keys).transpose(1, 2), *angles)
        seen = cache.write(layer, keys, values.transpose(1, 2))
        mixed: Tensor = self.output(causal_attention(queries, *seen))
        return mixed


class GatedMlp(nn.Module):
    """down(silu(gate(x)) * up(x)) (Shazeer 2020)."""

    def __init__(self, gate_up: nn.Module, down: nn.Module) -> None:
        super().__init__()
        self.gate_up = gate_up  # width -> 2 * inner, gate first
        self.down = down

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        mixed: Tensor = self.down(F.silu(gate) * up)
        return mixed


class Block(nn.Module):
    """Pre-norm residual block: attention, then the gated MLP."""

    def __init__(
        self, attention: SelfAttention, mlp: GatedMlp, norms: tuple[RmsNorm, RmsNorm]
    ) -> None:
        super().__init__()
        self.attention = attention
        self.mlp = mlp
        self.attention_norm, self.mlp_norm = norms

    def forward(
        self, x: Tensor, angles: tuple[Tensor, Tensor], cache: KeyValueCache, layer: int
    ) -> Tensor:
        x = x + self.attention(self.attention_norm(x), angles, cache, layer)
        mixed: Tensor = x + self.mlp(self.mlp_norm(x))
        return mixed
