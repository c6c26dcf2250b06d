"""The sliding-window transformer in front of the codec's waveform decoder."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from engine.gguf.weights import Weights
from engine.nn.attention import windowed_attention
from engine.nn.pipeline import Pipeline
from engine.nn.rope import RotaryTable
from engine.nn.state import AttentionWindow, Stack
from engine.qwen3tts.codec.config import DecoderConfig
from engine.runtime import Runtime


class WindowedBlock(nn.Module):
    """Pre-norm attention and gated MLP, each scaled per channel before it is added."""

    def __init__(
        self,
        weights: Weights,
        prefix: str,
        config: DecoderConfig,
        rope: RotaryTable,
        runtime: Runtime,
    ) -> None:
        super().__init__()
        self._heads = (config.heads, config.head_width)
        self._window = config.window
        self._rope = rope
        width, inner, total = config.width, config.inner, config.heads * config.head_width
        take = weights.take
        self.attention_norm = runtime.rms_norm(
            take(f"{prefix}.attn_norm.weight", (width,)), config.eps
        )
        self.projections = runtime.linear(
            tuple(take(f"{prefix}.attn_{part}.weight", (total, width)) for part in "qkv")
        )
        self.output = runtime.linear((take(f"{prefix}.attn_output.weight", (width, total)),))
        self.attention_scale = nn.Parameter(
            runtime.tensor(take(f"{prefix}.attn_scale", (width,))), requires_grad=False
        )
        self.mlp_norm = runtime.rms_norm(take(f"{prefix}.ffn_norm.weight", (width,)), config.eps)
        self.gate_up = runtime.linear(
            tuple(take(f"{prefix}.ffn_{part}.weight", (inner, width)) for part in ("gate", "up"))
        )
        self.down = runtime.linear((take(f"{prefix}.ffn_down.weight", (width, inner)),))
        self.mlp_scale = nn.Parameter(
            runtime.tensor(take(f"{prefix}.ffn_scale", (width,))), requires_grad=False
        )

    def new_state(self, batch: int) -> AttentionWindow:
        heads, width = self._heads
        empty = self.attention_scale.new_zeros(batch, heads, self._window - 1, width)
        return AttentionWindow(empty, empty.clone())

    def step(self, x: Tensor, state: AttentionWindow) -> Tensor:  # [B, T, width] -> the same
        batch, length, _ = x.shape
        whole = self.projections(self.attention_norm(x)).view(batch, length, 3, *self._heads)
        queries, keys, values = whole.permute(2, 0, 3, 1, 4)  # [B, heads, T, d] each
        mixed = windowed_attention(queries, keys, values, self._rope, state)
        x = x + self.attention_scale * self.output(mixed)
        gate, up = self.gate_up(self.mlp_norm(x)).chunk(2, dim=-1)
        scaled: Tensor = x + self.mlp_scale * self.down(F.silu(gate) * up)
        return scaled


class WindowedTransformer(nn.Module):
    """Weights `tok_dec.pre_tfm.*`: latent in, latent out, in the layout [B, latent, T]."""

    def __init__(self, weights: Weights, prefix: str, config: DecoderConfig, runtime: Runtime):
        super().__init__()
        take = weights.take
        self.input = runtime.linear(
            (take(f"{prefix}.input_proj.weight", (config.width, config.latent)),),
            take(f"{prefix}.input_proj.bias", (config.width,)),
        )
        rope = RotaryTable(config.head_width, config.rope_base, runtime.device, runtime.dtype)
        self.blocks = Pipeline(
            [
                WindowedBlock(weights, f"{prefix}.blk.{index}", config, rope, runtime)
                for index in range(config.blocks)
            ]
        )
        self.norm = runtime.rms_norm(take(f"{prefix}.norm.weight", (config.width,)), config.eps)
        self.output = runtime.linear(
            (take(f"{prefix}.output_proj.weight", (config.latent, config.width)),),
            take(f"{prefix}.output_proj.bias", (config.latent,)),
        )

    def new_state(self, batch: int) -> Stack:
        return self.blocks.new_state(batch)

    def step(self, x: Tensor, state: Stack) -> Tensor:
        hidden = self.blocks.step(self.input(x.transpose(1, 2)), state)
        latent: Tensor = self.output(self.norm(hidden)).transpose(1, 2)
        return latent
