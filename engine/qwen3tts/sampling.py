"""How a code is drawn from logits: the chain of the official implementation, with given uniforms.

Talker: repetition penalty, minimum length, suppressed ids, temperature, top-k, top-p, then the
first id (in id order) whose running probability reaches u. Code predictor: temperature, top-k,
top-p, then the first code in order of falling probability whose running probability exceeds u.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.qwen3tts.config import RESERVED_CODES, TalkerConfig
from engine.types import Sampling, StackSampling

# Below, only the likeliest code has a chance that float32 can express, and dividing may overflow.
LOWEST_TEMPERATURE = 1e-5

_NEVER = float("-inf")


def is_greedy(stack: StackSampling) -> bool:
    return stack.greedy or stack.temperature < LOWEST_TEMPERATURE


class TalkerSampler:
    """Draws the first code of every frame and remembers which codes each lane has used."""

    def __init__(
        self,
        sampling: Sampling,
        lanes: int,
        config: TalkerConfig,
        device: torch.device,
        used: Tensor | None = None,  # [lanes, V], where to remember; new and empty if not given
    ) -> None:
        vocabulary, eos = config.talker.vocabulary, config.codec.eos
        self._sampling = sampling
        self._eos = eos
        self._suppressed = torch.zeros(vocabulary, dtype=torch.bool, device=device)
        self._suppressed[vocabulary - RESERVED_CODES :] = True
        self._suppressed[eos] = False
        self._endless = self._suppressed.clone()  # where the take may not end either
        self._endless[eos] = True
        if used is None:
            used = torch.zeros(lanes, vocabulary, dtype=torch.bool, device=device)
        self._used = used

    def draw(self, logits: Tensor, uniform: Tensor, frame: int) -> Tensor:
        """Codes [B] from float32 logits [B, V] and numbers in (0, 1] [B]."""
        return self.draw_among(logits, uniform, self.forbidden(frame))

    def forbidden(self, frame: int) -> Tensor:
        """The ids [V] that cannot be drawn in this frame."""
        return self._endless if frame < self._sampling.min_frames else self._suppressed

    def draw_among(self, logits: Tensor, uniform: Tensor, forbidden: Tensor) -> Tensor:
        """As `draw`, where the caller knows what is `forbidden` [V]."""
        penalty = self._sampling.repetition_penalty
        if penalty != 1.0:
            punished = torch.where(logits < 0, logits * penalty, logits / penalty)
            logits = torch.where(self._used, punished, logits)
        logits = logits.masked_fill(forbidden, _NEVER)
        if is_greedy(self._sampling.talker):
            codes = logits.argmax(dim=-1)
        else:
            codes = _draw_in_id_order(_truncate(logits, self._sampling.talker), uniform)
        spoken = codes[:, None]
        self._used.scatter_(1, spoken, spoken != self._eos)
        return codes

    def select(self, rows: Tensor) -> None:
        """Keep the given lanes only."""
        self._used = self._used.index_select(0, rows)


def draw_acoustic(logits: Tensor, uniform: Tensor, stack: StackSampling) -> Tensor:
    """Codes [B] of one acoustic codebook from logits [B, V] and numbers in (0, 1] [B]."""
    if is_greedy(stack):
        return logits.argmax(dim=-1)
    order = torch.sort(logits, dim=-1, descending=True, stable=True)
    kept = _truncate(order.values, stack)
    running = kept.softmax(dim=-1).cumsum(dim=-1)
    # Rounding may leave the last sum below u: then the last kept code is drawn.
    last = ((kept > _NEVER).sum(dim=-1) - 1).clamp(min=0)  # without numbers, none is kept
    index = torch.minimum((running <= uniform[:, None]).sum(dim=-1), last)
    return order.indices.gather(1, index[:, None])[:, 0]


def _truncate(logits: Tensor, stack: StackSampling) -> Tensor:
    """Temperature, then top-k (ties at the threshold stay), then top-p, as masks of -inf."""
    if stack.temperature != 1.0:
        logits = logits / stack.temperature
    if 0 < stack.top_k < logits.shape[-1]:
        threshold = logits.topk(stack.top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < threshold, _NEVER)
    if stack.top_p < 1.0:
        ascending = torch.sort(logits, dim=-1, stable=True)
        unlikely = ascending.values.softmax(dim=-1).cumsum(dim=-1) <= 1 - stack.top_p
        unlikely[:, -1] = False  # the likeliest always stays
        logits = logits.masked_fill(unlikely.scatter(1, ascending.indices, unlikely), _NEVER)
    return logits


def _draw_in_id_order(logits: Tensor, uniform: Tensor) -> Tensor:
    weights = torch.exp(logits - logits.amax(dim=-1, keepdim=True))
    running = weights.cumsum(dim=-1)
    reached = torch.searchsorted(running, uniform[:, None] * running[:, -1:])
    return reached[:, 0].clamp(max=logits.shape[-1] - 1)
