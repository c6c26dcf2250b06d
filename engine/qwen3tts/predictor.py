"""The code predictor: from the talker's hidden state and first code to the other 15 codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from torch import Tensor, nn

from engine.gguf.weights import Weights
from engine.nn.attention import KeyValueCache
from engine.nn.runners import FrameParts
from engine.qwen3tts.config import TalkerConfig
from engine.qwen3tts.sampling import draw_acoustic, is_greedy
from engine.qwen3tts.stack import TransformerStack
from engine.runtime import Runtime
from engine.types import StackSampling

Draw: TypeAlias = Callable[[int, Tensor], Tensor]
"""(codebook 1..15, float32 logits [B, K]) -> codes [B]."""


@dataclass(frozen=True)
class PredictedFrame:
    """The codes of one frame and what they look like to the talker."""

    codes: Tensor  # [B, codebooks], the first one as given
    embedding: Tensor  # [B, talker width], sum over the codes 1..15


@dataclass(frozen=True, eq=False)
class FrameDraw:
    """A `Draw` that does what a request asked for, with the numbers of one frame."""

    uniforms: Tensor  # [B, codebooks] in (0, 1]; the first column is the talker's
    stack: StackSampling

    def __call__(self, book: int, logits: Tensor) -> Tensor:
        return draw_acoustic(logits, self.uniforms[:, book], self.stack)


class CodePredictor(nn.Module):
    """Weights `code_pred.*` of a talker file; starts afresh at every frame."""

    def __init__(self, weights: Weights, config: TalkerConfig, runtime: Runtime) -> None:
        super().__init__()
        wide, stack = config.talker.width, config.predictor
        self.codebooks = config.codebooks
        embeddings = [
            runtime.embedding(
                weights.take(f"code_pred.codec_embd.{book}.weight", (stack.vocabulary, wide))
            )
            for book in range(config.codebooks - 1)
        ]
        heads = [
            runtime.linear(
                (weights.take(f"code_pred.lm_head.{book}.weight", (stack.vocabulary, stack.width)),)
            )
            for book in range(config.codebooks - 1)
        ]
        self.embeddings = nn.ModuleList(embeddings)
        self.heads = nn.ModuleList(heads)
        self.projection = _build_projection(weights, config, runtime)
        self.stack = TransformerStack(weights, "code_pred", stack, runtime)
        self._whole_frame = runtime.frame_runner(
            FrameParts(self.stack.runner, self.projection, heads, embeddings)
        )

    def new_cache(self, batch: int) -> KeyValueCache:
        """A cache for one frame, to be used again for the next."""
        return self.stack.new_cache(batch, self.codebooks)

    def frame(
        self,
        start: tuple[Tensor, Tensor],
        first_code: Tensor,
        draw: FrameDraw,
        cache: KeyValueCache,
    ) -> PredictedFrame:
        """What calling this module gives, in one piece where the runtime has a way to do so.

        Raises ModelFileError where it notices that the model's numbers overflow.
        """
        if self._whole_frame is None:
            whole: PredictedFrame = self(start, first_code, draw, cache)
            return whole
        drawing = replace(draw.stack, greedy=is_greedy(draw.stack))
        inputs = torch.stack(start, dim=1)  # [B, 2, wide]
        codes, total = self._whole_frame(inputs, draw.uniforms[:, 1:], drawing, cache)
        return PredictedFrame(torch.cat((first_code[:, None], codes), dim=1), total)

    def forward(
        self, start: tuple[Tensor, Tensor], first_code: Tensor, draw: Draw, cache: KeyValueCache
    ) -> PredictedFrame:
        """One frame from the talker's hidden state and the embedding of its first code.

        `start` holds both, [B, wide] each; `first_code` is [B].
        """
        hidden, first = start
        cache.length = 0
        inputs = torch.stack((hidden, first), dim=1)  # [B, 2, wide], then [B, 1, wide]
        codes = [first_code]
        total = torch.zeros_like(first)
        for book, (head, embedding) in enumerate(zip(self.heads, self.embeddings, strict=True), 1):
            state = self.stack(self.projection(inputs), cache)
            code = draw(book, head(state[:, -1:])[:, 0].float())
            codes.append(code)
            embedded = embedding(code)
            total = total + embedded
            inputs = embedded[:, None]
        return PredictedFrame(torch.stack(codes, dim=1), total)

    def embed(self, codes: Tensor) -> Tensor:
        """Sum of the embeddings of the codes 1..15 of whole frames [..., codebooks]."""
        rows = [table(codes[..., book]) for book, table in enumerate(self.embeddings, 1)]
        return torch.stack(rows).sum(dim=0)


def _build_projection(weights: Weights, config: TalkerConfig, runtime: Runtime) -> nn.Module:
    """The step from the talker's width to the predictor's; small models do without."""
    name, wide, width = "code_pred.mtp_proj.weight", config.talker.width, config.predictor.width
    if name not in weights and wide == width:
        return nn.Identity()
    return runtime.linear(
        (weights.take(name, (width, wide)),), weights.take("code_pred.mtp_proj.bias", (width,))
    )
