"""Logits for given codes: what a model thinks of every frame of a speech that is already there.

Free-running speech cannot be compared code by code: one near tie that falls the other way changes
everything behind it. With the codes given, every frame is judged on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from engine.qwen3tts.config import TalkerConfig
from engine.qwen3tts.predictor import CodePredictor
from engine.qwen3tts.prompt import Prompt
from engine.qwen3tts.sampling import TalkerSampler
from engine.qwen3tts.talker import Talker
from engine.types import CancelToken, Sampling, StackSampling

GREEDY: Final = Sampling(StackSampling(greedy=True), StackSampling(greedy=True), 1.0)
"""Always the likeliest code, without a penalty: then a frame depends on its logits alone."""


@dataclass(frozen=True, eq=False)
class ForcedLogits:
    """What the two stacks think of F given frames, in float32."""

    talker: Tensor  # [F, V], of the first code of each frame
    predictor: Tensor  # [F, codebooks - 1, K], of the others


@torch.inference_mode()
def teacher_forced(
    talker: Talker,
    predictor: CodePredictor,
    prompt: Prompt,
    codes: Tensor,
    cancel: CancelToken | None = None,
) -> ForcedLogits:
    """Judge the frames `codes` [F, codebooks], F >= 1, behind a prompt.

    One pass of the talker over prompt and frames, and one of the predictor over a batch of F
    frames of as many positions as there are codebooks. Raises Cancelled between two blocks.
    """

    def after_block(_: int, __: Tensor) -> None:
        if cancel is not None:
            cancel.check()

    frames, positions = len(codes), prompt.embeds.shape[1]
    first = talker.codec(codes[:, 0])  # [F, width]
    overlays = torch.stack([prompt.overlay(frame) for frame in range(frames)])
    rows = first + predictor.embed(codes) + overlays  # [F, width]; the last one leads beyond
    inputs = torch.cat((prompt.embeds, rows[None, :-1]), dim=1)
    cache = talker.stack.new_cache(1, inputs.shape[1])
    hidden = talker(inputs, cache, after_block)[0, positions - 1 :]  # [F, width]

    # Position 0 is the talker's hidden state, position 1 the first code, position g + 1 code g;
    # position g is where code g is judged. The last code is never an input.
    known = [table(codes[:, book]) for book, table in enumerate(predictor.embeddings, 1)]
    inputs = torch.stack((hidden, first, *known[:-1]), dim=1)  # [F, codebooks, width]
    state = predictor.stack(predictor.projection(inputs), predictor.new_cache(frames), after_block)
    books = [
        head(state[:, book : book + 1])[:, 0].float()
        for book, head in enumerate(predictor.heads, 1)
    ]
    return ForcedLogits(talker.logits(hidden), torch.stack(books, dim=1))


class _Teacher:
    """Answers the predictor with the given codes, and keeps what it thought of them."""

    def __init__(self, frame: Tensor) -> None:
        self._frame = frame  # [1, codebooks]
        self.judged: list[Tensor] = []  # [1, K] each

    def __call__(self, book: int, logits: Tensor) -> Tensor:
        self.judged.append(logits)
        return self._frame[:, book]


@torch.inference_mode()
def step_by_step(
    talker: Talker,
    predictor: CodePredictor,
    prompt: Prompt,
    codes: Tensor,
    cancel: CancelToken | None = None,
) -> ForcedLogits:
    """The same logits as the frame loop meets them, one step after the other.

    Raises Cancelled between two frames.
    """
    frames, positions = len(codes), prompt.embeds.shape[1]
    cache = talker.stack.new_cache(1, positions + frames)
    frame_cache = predictor.new_cache(1)
    hidden = talker(prompt.embeds, cache)[:, -1]  # [1, width]
    firsts: list[Tensor] = []
    others: list[Tensor] = []
    for index, frame in enumerate(codes[:, None]):  # [1, codebooks] each
        if cancel is not None:
            cancel.check()
        teacher = _Teacher(frame)
        firsts.append(talker.logits(hidden))
        embedding = talker.codec(frame[:, 0])
        spoken = predictor((hidden, embedding), frame[:, 0], teacher, frame_cache)
        others.append(torch.stack(teacher.judged, dim=1))
        if index + 1 < frames:
            row = embedding + spoken.embedding + prompt.overlay(index)
            hidden = talker(row[:, None], cache)[:, -1]
    return ForcedLogits(torch.cat(firsts), torch.cat(others))


def likeliest(logits: ForcedLogits, config: TalkerConfig) -> Tensor:
    """The greedy codes [F, codebooks] of forced logits, under the rules of `GREEDY`."""
    frames, device = len(logits.talker), logits.talker.device
    start = min(GREEDY.min_frames, frames)
    firsts = []
    for begin, end in ((0, start), (start, frames)):
        # Every frame is a lane of its own: without a penalty none depends on the others.
        sampler = TalkerSampler(GREEDY, end - begin, config, device)
        chance = torch.ones(end - begin, device=device)  # not used
        firsts.append(sampler.draw(logits.talker[begin:end], chance, begin))
    return torch.cat((torch.cat(firsts)[:, None], logits.predictor.argmax(dim=-1)), dim=1)
