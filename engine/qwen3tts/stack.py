"""A stack of transformer blocks built from stored weights: shared by talker and predictor."""

from __future__ import annotations

from torch import Tensor, nn

from engine.gguf.weights import Weights
from engine.nn.attention import KeyValueCache
from engine.nn.block import Block, GatedMlp, SelfAttention
from engine.nn.norm import RmsNorm
from engine.nn.rope import RotaryTable
from engine.nn.runners import AfterBlock, StackParts
from engine.qwen3tts.config import StackConfig
from engine.runtime import Runtime


class TransformerStack(nn.Module):
    """Blocks and the final norm; the positions are those behind what the cache holds."""

    def __init__(self, weights: Weights, prefix: str, config: StackConfig, runtime: Runtime):
        super().__init__()
        self.config = config
        blocks = [
            _build_block(weights, f"{prefix}.blk.{index}", config, runtime)
            for index in range(config.blocks)
        ]
        self.blocks = nn.ModuleList(blocks)
        self.norm = runtime.rms_norm(
            weights.take(f"{prefix}.output_norm.weight", (config.width,)), config.eps
        )
        self._runtime = runtime
        rope = RotaryTable(config.heads.width, config.rope_base, runtime.device, runtime.dtype)
        self.runner = runtime.stack_runner(prefix, StackParts(blocks, self.norm, rope))

    def new_cache(self, batch: int, capacity: int) -> KeyValueCache:
        heads = self.config.heads
        shape = (batch, heads.keys, capacity, heads.width)
        return KeyValueCache(self.config.blocks, shape, self._runtime.device, self._runtime.dtype)

    def forward(
        self,
        x: Tensor,
        cache: KeyValueCache,
        after_block: AfterBlock | None = None,
    ) -> Tensor:  # [B, T, width] -> [B, T, width], normalised
        return self.runner(x, cache, after_block)


def _build_block(weights: Weights, prefix: str, config: StackConfig, runtime: Runtime) -> Block:
    width, inner, heads = config.width, config.inner, config.heads
    query_width, key_width = heads.queries * heads.width, heads.keys * heads.width

    def norm(name: str, size: int) -> RmsNorm:
        return runtime.rms_norm(weights.take(f"{prefix}.{name}.weight", (size,)), config.eps)

    attention = SelfAttention(
        projections=runtime.linear(
            (
                weights.take(f"{prefix}.attn_q.weight", (query_width, width)),
                weights.take(f"{prefix}.attn_k.weight", (key_width, width)),
                weights.take(f"{prefix}.attn_v.weight", (key_width, width)),
            )
        ),
        output=runtime.linear(
            (weights.take(f"{prefix}.attn_output.weight", (width, query_width)),)
        ),
        norms=(norm("attn_q_norm", heads.width), norm("attn_k_norm", heads.width)),
        heads=heads,
    )
    mlp = GatedMlp(
        gate_up=runtime.linear(
            (
                weights.take(f"{prefix}.ffn_gate.weight", (inner, width)),
                weights.take(f"{prefix}.ffn_up.weight", (inner, width)),
            )
        ),
        down=runtime.linear((weights.take(f"{prefix}.ffn_down.weight", (width, inner)),)),
    )
    return Block(attention, mlp, (norm("attn_norm", width), norm("ffn_norm", width)))
