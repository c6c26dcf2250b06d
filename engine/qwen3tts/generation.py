"""The frame loop: one talker step and one predictor frame after another, for all takes at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.errors import no_numbers
from engine.nn.attention import KeyValueCache
from engine.qwen3tts.config import TalkerConfig
from engine.qwen3tts.philox import frame_uniforms
from engine.qwen3tts.predictor import CodePredictor, Draw, FrameDraw
from engine.qwen3tts.prompt import Prompt
from engine.qwen3tts.sampling import TalkerSampler
from engine.qwen3tts.talker import Talker
from engine.types import CancelToken, Probe, Sampling

UNIFORM_FRAMES = 64  # frames for which random numbers are made at once


@dataclass(frozen=True, eq=False)
class CodeFrame:
    """One frame of the takes that still speak, and the takes that ended just before it."""

    takes: tuple[int, ...]  # positions in the request's seeds
    codes: Tensor  # [len(takes), codebooks]
    ended: tuple[int, ...] = ()


@dataclass
class _Lanes:
    """The takes that still speak, row by row."""

    takes: tuple[int, ...]
    places: Tensor  # [B], the same on the device
    hidden: Tensor  # [B, width], of the newest position
    cache: KeyValueCache
    frame_cache: KeyValueCache
    sampler: TalkerSampler


class FrameLoop:
    """Generates the frames of one prompt for several seeds."""

    def __init__(
        self, talker: Talker, predictor: CodePredictor, config: TalkerConfig, sampling: Sampling
    ) -> None:
        self._talker = talker
        self._predictor = predictor
        self._config = config
        self._sampling = sampling

    @torch.inference_mode()
    def frames(
        self,
        prompt: Prompt,
        seeds: tuple[int, ...],
        cancel: CancelToken,
        probe: Probe | None = None,
    ) -> Iterator[CodeFrame]:
        """Yield frames until every take has ended or `max_frames` is reached.

        When the last take ends by itself, a frame without takes tells so. Raises Cancelled within
        one frame, or one block of the prefill, after the token is set, and ModelFileError where
        the model's numbers overflow.
        """
        codebooks, eos = self._config.codebooks, self._config.codec.eos
        device = prompt.embeds.device
        lanes = self._prefill(prompt, len(seeds), cancel, probe)
        for index in range(self._sampling.max_frames):
            cancel.check()
            if index % UNIFORM_FRAMES == 0:
                block = frame_uniforms(seeds, index, UNIFORM_FRAMES, codebooks)
                numbers = torch.from_numpy(block).to(device)  # [frames, seeds, codebooks]
            uniforms = numbers[index % UNIFORM_FRAMES]

            logits = self._talker.logits(lanes.hidden)
            first = lanes.sampler.draw(logits, uniforms[lanes.places, 0], index)
            # The only look at values of the device in a frame: each one waits for it.
            over, finite = torch.stack((first == eos, logits.isfinite().all(dim=-1))).tolist()
            if not all(finite):
                raise no_numbers()
            ended = tuple(take for take, end in zip(lanes.takes, over, strict=True) if end)
            if ended:
                rows = [row for row, end in enumerate(over) if not end]
                if not rows:
                    yield CodeFrame((), first.new_empty(0, codebooks), ended)
                    return
                kept = torch.tensor(rows, device=device)
                lanes, first = self._keep(lanes, rows, kept), first[kept]

            early = probe if index == 0 else None
            codes, row = self._frame(lanes, first, uniforms[lanes.places], early)
            yield CodeFrame(lanes.takes, codes, ended)

            if index + 1 < self._sampling.max_frames:
                row = row + prompt.overlay(index)
                lanes.hidden = self._talker(row[:, None], lanes.cache)[:, -1]
                if early is not None:
                    early("codes-step0", codes[0])
                    early("next-emb-step0", row[0])
                    early("talker-hidden-step1", lanes.hidden[0])
                    early("talker-logits-step1", self._talker.logits(lanes.hidden)[0])

    def _prefill(
        self, prompt: Prompt, lanes: int, cancel: CancelToken, probe: Probe | None
    ) -> _Lanes:
        """Run the prompt once, and give every take its copy of the result."""

        def after_block(block: int, x: Tensor) -> None:
            cancel.check()
            if probe is not None:
                probe(f"talker-hidden-prefill-l{block}", x[0])

        length = prompt.embeds.shape[1]
        cache = self._talker.stack.new_cache(1, length + self._sampling.max_frames)
        hidden = self._talker(prompt.embeds, cache, after_block)  # [1, T, width]
        if probe is not None:
            probe("talker-hidden-prefill-final", hidden[0])
            probe("talker-logits-prefill", self._talker.logits(hidden[:, -1])[0])
        rows = torch.zeros(lanes, dtype=torch.long, device=hidden.device)
        sampler = TalkerSampler(self._sampling, lanes, self._config, hidden.device)
        return _Lanes(
            takes=tuple(range(lanes)),
            places=torch.arange(lanes, device=hidden.device),
            hidden=hidden[:, -1].expand(lanes, -1),
            cache=cache if lanes == 1 else cache.select(rows),
            frame_cache=self._predictor.new_cache(lanes),
            sampler=sampler,
        )

    def _keep(self, lanes: _Lanes, rows: list[int], kept: Tensor) -> _Lanes:
        """Drop the takes that have ended; `kept` are the rows that stay, on the device."""
        lanes.sampler.select(kept)
        return _Lanes(
            takes=tuple(lanes.takes[row] for row in rows),
            places=lanes.places[kept],
            hidden=lanes.hidden[kept],
            cache=lanes.cache.select(kept),
            frame_cache=self._predictor.new_cache(len(rows)),
            sampler=lanes.sampler,
        )

    def _frame(
        self, lanes: _Lanes, first: Tensor, uniforms: Tensor, probe: Probe | None
    ) -> tuple[Tensor, Tensor]:
        """The codes [B, codebooks] of one frame, and what they add to the next input [B, width]."""

        embedding = self._talker.codec(first)
        start = (lanes.hidden, embedding)
        draw = FrameDraw(uniforms, self._sampling.predictor)
        if probe is None:
            frame = self._predictor.frame(start, first, draw, lanes.frame_cache)
        else:
            told = _told(draw, probe)
            frame = self._predictor(start, first, told, lanes.frame_cache)
        return frame.codes, embedding + frame.embedding


def _told(draw: Draw, probe: Probe) -> Draw:
    """The same draw, with its logits told."""

    def drawn(book: int, logits: Tensor) -> Tensor:
        probe(f"predictor-logits-step0-c{book}", logits[0])
        return draw(book, logits)

    return drawn
