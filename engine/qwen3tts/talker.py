"""The talker: text and codec embeddings, the large stack, and logits of the first codebook."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from engine.gguf.weights import Weights
from engine.nn.attention import KeyValueCache
from engine.nn.runners import AfterBlock
from engine.qwen3tts.config import TalkerConfig
from engine.qwen3tts.stack import TransformerStack
from engine.runtime import Runtime


class Talker(nn.Module):
    """Weights `talker.*` of a talker file."""

    def __init__(self, weights: Weights, config: TalkerConfig, runtime: Runtime) -> None:
        super().__init__()
        width, text_width = config.talker.width, config.text_width
        inner = weights.shape("talker.text_proj.fc1.weight")[0]
        take = weights.take
        self.text_embedding = runtime.prompt_embedding(
            take("talker.text_embd.weight", (config.text_vocabulary, text_width))
        )
        self.text_inner = runtime.linear(
            (take("talker.text_proj.fc1.weight", (inner, text_width)),),
            take("talker.text_proj.fc1.bias", (inner,)),
        )
        self.text_outer = runtime.linear(
            (take("talker.text_proj.fc2.weight", (width, inner)),),
            take("talker.text_proj.fc2.bias", (width,)),
        )
        self.codec_embedding = runtime.embedding(
            take("talker.codec_embd.weight", (config.talker.vocabulary, width))
        )
        self.stack = TransformerStack(weights, "talker", config.talker, runtime)
        self.head = runtime.linear(
            (take("talker.codec_head.weight", (config.talker.vocabulary, width)),)
        )

    def text(self, ids: Tensor) -> Tensor:
        """Embed text ids [1, n] -> [1, n, width]: the table, then a two-layer projection."""
        inner = F.silu(self.text_inner(self.text_embedding(ids)))
        embedded: Tensor = self.text_outer(inner)
        return embedded

    def codec(self, ids: Tensor) -> Tensor:
        """Embed codec ids [...] -> [..., width]."""
        embedded: Tensor = self.codec_embedding(ids)
        return embedded

    def forward(
        self,
        x: Tensor,
        cache: KeyValueCache,
        after_block: AfterBlock | None = None,
    ) -> Tensor:
        """Append positions x [B, T, width] to the cache; hidden states after the last norm."""
        hidden: Tensor = self.stack(x, cache, after_block)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """First-codebook logits [B, V] in float32 of hidden states [B, width]."""
        scores: Tensor = self.head(hidden[:, None])
        return scores[:, 0].float()
