"""The frame loop: one talker step and one predictor frame after another, for all takes at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.qwen3tts.config import TalkerConfig
from engine.qwen3tts.frame_graphs import FrameGraphs
from engine.qwen3tts.lanes import EagerLanes, FrameInput, FrameModel, Lanes, LaneState
from engine.qwen3tts.philox import frame_uniforms
from engine.qwen3tts.predictor import CodePredictor
from engine.qwen3tts.prompt import Prompt
from engine.qwen3tts.talker import Talker
from engine.types import CancelToken, Probe, Sampling

UNIFORM_FRAMES = 64  # frames for which random numbers are made at once


@dataclass(frozen=True, eq=False)
class CodeFrame:
    """One frame of the takes that still speak, and the takes that ended just before it."""

    takes: tuple[int, ...]  # positions in the request's seeds
    codes: Tensor  # [len(takes), codebooks]
    ended: tuple[int, ...] = ()


class FrameLoop:
    """Generates the frames of one prompt for several seeds, from recordings where it has some."""

    def __init__(
        self,
        talker: Talker,
        predictor: CodePredictor,
        config: TalkerConfig,
        sampling: Sampling,
        graphs: FrameGraphs | None = None,
    ) -> None:
        self._model = FrameModel(talker, predictor, config)
        self._sampling = sampling
        self._graphs = graphs

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
        codebooks, device = self._model.config.codebooks, prompt.embeds.device
        lanes = self._begin(prompt, len(seeds), cancel, probe)
        takes = tuple(range(len(seeds)))
        places = torch.arange(len(seeds), device=device)
        for index in range(self._sampling.max_frames):
            cancel.check()
            if index % UNIFORM_FRAMES == 0:
                block = frame_uniforms(seeds, index, UNIFORM_FRAMES, codebooks)
                numbers = torch.from_numpy(block).to(device)  # [frames, seeds, codebooks]
            uniforms = numbers[index % UNIFORM_FRAMES, places]
            spoken = lanes.frame(FrameInput(index, uniforms, prompt.overlay(index)))
            ended = tuple(take for row, take in enumerate(takes) if row not in spoken.rows)
            if ended:
                takes = tuple(takes[row] for row in spoken.rows)
                places = torch.tensor(takes, dtype=torch.long, device=device)
            yield CodeFrame(takes, spoken.codes, ended)
            if not takes:
                return

    def _begin(self, prompt: Prompt, lanes: int, cancel: CancelToken, probe: Probe | None) -> Lanes:
        """Run the prompt once, and give every take its copy of the result."""

        def after_block(block: int, x: Tensor) -> None:
            cancel.check()
            if probe is not None:
                probe(f"talker-hidden-prefill-l{block}", x[0])

        talker = self._model.talker
        graphs = self._graphs if probe is None else None  # what is replayed cannot be told
        length = prompt.embeds.shape[1]
        room = length + self._sampling.max_frames
        cache = talker.stack.new_cache(1, room if graphs is None else length)
        hidden = talker(prompt.embeds, cache, after_block)  # [1, T, width]
        if probe is not None:
            probe("talker-hidden-prefill-final", hidden[0])
            probe("talker-logits-prefill", talker.logits(hidden[:, -1])[0])
        rows = torch.zeros(lanes, dtype=torch.long, device=hidden.device)
        state = LaneState(
            hidden=hidden[:, -1].expand(lanes, -1),
            cache=cache if lanes == 1 else cache.select(rows),
            room=room,
        )
        if graphs is None:
            return EagerLanes(self._model, self._sampling, state, probe)
        return graphs.begin(self._sampling, state)
