"""The transformer block of the talker and the code predictor."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.nn.attention import Attending
from engine.nn.heads import Heads
from engine.nn.norm import RmsNorm
from engine.nn.rope import rotate


class SelfAttention(nn.Module):
    """Grouped-query attention with normalised queries and keys (Qwen3).

    Both are normalised and turned at once: at one position, an operation costs more than numbers.
    """

    norm_scales: Tensor

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
        assert self.query_norm.eps == self.key_norm.eps, "both are normalised at once"
        scales = (
            self.query_norm.weight.expand(heads.queries, -1),
            self.key_norm.weight.expand(heads.keys, -1),
        )
        self.register_buffer("norm_scales", torch.cat(scales), persistent=False)  # [H + Hkv, d]

    def forward(
        self, x: Tensor, angles: tuple[Tensor, Tensor], cache: Attending, layer: int
    ) -> Tensor:  # [B, T, width] -> [B, T, width]
        batch, length, _ = x.shape
        heads = self.heads
        turning = heads.queries + heads.keys
        whole = self.projections(x).view(batch, length, turning + heads.keys, heads.width)
        turned, values = whole.split((turning, heads.keys), dim=2)  # [B, T, heads, d]
        normed = F.rms_norm(turned, (heads.width,), eps=self.query_norm.eps) * self.norm_scales
        turned = rotate(normed.transpose(1, 2), *angles)  # [B, H + Hkv, T, d]
        queries, keys = torch.split(turned, [heads.queries, heads.keys], dim=1)
        seen = cache.attend(layer, queries, keys, values.transpose(1, 2))
        mixed: Tensor = self.output(seen)
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
        self, x: Tensor, angles: tuple[Tensor, Tensor], cache: Attending, layer: int
    ) -> Tensor:
        x = x + self.attention(self.attention_norm(x), angles, cache, layer)
        mixed: Tensor = x + self.mlp(self.mlp_norm(x))
        return mixed
