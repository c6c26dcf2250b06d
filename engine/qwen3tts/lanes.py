"""The takes that still speak, one lane each: how they get from one frame to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from engine.errors import no_numbers
from engine.nn.attention import KeyValueCache
from engine.qwen3tts.config import TalkerConfig
from engine.qwen3tts.predictor import CodePredictor, Draw, FrameDraw
from engine.qwen3tts.sampling import TalkerSampler
from engine.qwen3tts.talker import Talker
from engine.types import Probe, Sampling


@dataclass(frozen=True, eq=False)
class FrameModel:
    """What makes frames."""

    talker: Talker
    predictor: CodePredictor
    config: TalkerConfig


@dataclass(eq=False)
class LaneState:
    """Where all lanes are between two frames."""

    hidden: Tensor  # [B, width], of the newest position
    cache: KeyValueCache  # of B lanes; with less than `room` it cannot be stepped yet
    room: int  # positions that there can be at most
    row: Tensor | None = None  # [B, width], what the talker reads next; it has read the prompt
    used: Tensor | None = None  # [B, V], the first codes spoken; None: none yet


@dataclass(frozen=True, eq=False)
class FrameInput:
    """What comes from outside into a frame."""

    index: int
    uniforms: Tensor  # [B, codebooks] in (0, 1]
    overlay: Tensor  # [width], added to what the talker reads next


@dataclass(frozen=True, eq=False)
class Spoken:
    """One frame, of the lanes that go on."""

    rows: list[int]  # where they were among the lanes before, rising; all others have ended
    codes: Tensor  # [len(rows), codebooks]


class Lanes(Protocol):
    """All lanes of one request."""

    def frame(self, given: FrameInput) -> Spoken:
        """Make the next frame; lanes that end are dropped.

        Raises ModelFileError where the model's numbers overflow.
        """
        ...


def lanes_left(verdict: list[list[bool]]) -> list[int]:
    """The rows that go on, of (has ended, is finite) per lane.

    Raises ModelFileError unless all are finite.
    """
    if not all(finite for _, finite in verdict):
        raise no_numbers()
    return [row for row, (over, _) in enumerate(verdict) if not over]


class EagerLanes:
    """One operation after the other; a probe is told what happens in the first frame."""

    def __init__(
        self, model: FrameModel, sampling: Sampling, state: LaneState, probe: Probe | None = None
    ) -> None:
        lanes, device = len(state.hidden), state.hidden.device
        self._model = model
        self._sampling = sampling
        self._probe = probe
        self._hidden = state.hidden
        self._cache = state.cache
        if state.cache.capacity < state.room:
            self._cache = state.cache.select(torch.arange(lanes, device=device), state.room)
        self._row = state.row
        self._sampler = TalkerSampler(sampling, lanes, model.config, device, state.used)
        self._frame_cache = model.predictor.new_cache(lanes)

    def frame(self, given: FrameInput) -> Spoken:
        if self._row is not None:
            self._step(self._row, self._probe if given.index == 1 else None)
        talker, uniforms = self._model.talker, given.uniforms
        logits = talker.logits(self._hidden)
        first = self._sampler.draw(logits, uniforms[:, 0], given.index)
        over = first == self._model.config.codec.eos
        # The only look at values of the device in a frame: each one waits for it.
        verdict = torch.stack((over, logits.isfinite().all(dim=-1)), dim=1).tolist()
        rows = lanes_left(verdict)
        if not rows:
            return Spoken(rows, first.new_empty(0, self._model.config.codebooks))
        if len(rows) < len(first):
            kept = torch.tensor(rows, device=first.device)
            self._keep(kept)
            first, uniforms = first[kept], uniforms[kept]
        embedding = talker.codec(first)
        probe = self._probe if given.index == 0 else None
        codes, row = self._predict(first, embedding, uniforms, probe)
        self._row = embedding + row + given.overlay
        if probe is not None:
            probe("codes-step0", codes[0])
            probe("next-emb-step0", self._row[0])
        return Spoken(rows, codes)

    def _step(self, row: Tensor, probe: Probe | None) -> None:
        self._hidden = self._model.talker(row[:, None], self._cache)[:, -1]
        if probe is not None:
            probe("talker-hidden-step1", self._hidden[0])
            probe("talker-logits-step1", self._model.talker.logits(self._hidden)[0])

    def _keep(self, kept: Tensor) -> None:
        self._sampler.select(kept)
        self._hidden = self._hidden[kept]
        self._cache = self._cache.select(kept)
        self._frame_cache = self._model.predictor.new_cache(len(kept))

    def _predict(
        self, first: Tensor, embedding: Tensor, uniforms: Tensor, probe: Probe | None
    ) -> tuple[Tensor, Tensor]:
        """The codes [B, codebooks] of one frame, and what all but the first embed to [B, width]."""
        start = (self._hidden, embedding)
        draw = FrameDraw(uniforms, self._sampling.predictor)
        if probe is None:
            frame = self._model.predictor.frame(start, first, draw, self._frame_cache)
        else:
            told = _told(draw, probe)
            frame = self._model.predictor(start, first, told, self._frame_cache)
        return frame.codes, frame.embedding


def _told(draw: Draw, probe: Probe) -> Draw:
    """The same draw, with its logits told."""

    def drawn(book: int, logits: Tensor) -> Tensor:
        probe(f"predictor-logits-step0-c{book}", logits[0])
        return draw(book, logits)

    return drawn
