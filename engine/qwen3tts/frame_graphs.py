"""Whole frames from recordings: two launches and one look at the device per frame.

One recording goes from the talker's hidden state over the first code and the 15 others to the
row that the talker reads next. It is made per number of lanes and per sampling. The other is the
talker's step on that row, made per number of lanes and per number of slots, as attention over few
slots is cheaper. They are apart because neither depends on what the other is made per, and because
the last frame of a take needs no further step.

All of them work on one memory, with room for the most lanes so far and for the longest prompt and
limit of frames. The caches of such a request are as large without recordings.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.nn.graphs import CaptureError, Graphs, Recordings, reason_of
from engine.nn.runners import EagerStack
from engine.nn.slots import SlotCache, step_at_position
from engine.qwen3tts.lanes import (
    EagerLanes,
    FrameInput,
    FrameModel,
    Lanes,
    LaneState,
    Spoken,
    lanes_left,
)
from engine.qwen3tts.predictor import FrameDraw
from engine.qwen3tts.sampling import TalkerSampler
from engine.types import Sampling

FEWEST_SLOTS = 256  # attended to in a step; beyond, as many as the next power of two
MOST_RECORDINGS = 32  # kept at once
ROOM_STEP = 512  # the memory grows by so many slots: every growth throws all recordings away

_WITHOUT = "Frames are computed one operation after the other"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class LaneMemory:
    """What recordings read and write. Only the first lanes of it are in use."""

    cache: SlotCache
    hidden: Tensor  # [B, width]
    row: Tensor  # [B, width]
    used: Tensor  # [B, V]
    forbidden: Tensor  # [V]
    uniforms: Tensor  # [B, codebooks]
    overlay: Tensor  # [width]
    codes: Tensor  # [B, codebooks]
    verdict: Tensor  # [B, 2]: has ended, is finite

    @classmethod
    def of(cls, model: FrameModel, state: LaneState, lanes: int, slots: int) -> LaneMemory:
        """Room for lanes and slots, of the kind that `state` has."""
        hidden, vocabulary = state.hidden, model.config.talker.vocabulary
        rows = hidden.new_zeros(lanes, hidden.shape[1])
        return cls(
            cache=SlotCache.like(state.cache, lanes, slots),
            hidden=rows,
            row=rows.clone(),
            used=hidden.new_zeros(lanes, vocabulary, dtype=torch.bool),
            forbidden=hidden.new_zeros(vocabulary, dtype=torch.bool),
            uniforms=hidden.new_ones(lanes, model.config.codebooks, dtype=torch.float32),
            overlay=hidden.new_zeros(hidden.shape[1]),
            codes=hidden.new_zeros(lanes, model.config.codebooks, dtype=torch.long),
            verdict=hidden.new_zeros(lanes, 2, dtype=torch.bool),
        )

    def load(self, state: LaneState) -> None:
        """Take over lanes that have not spoken yet."""
        self.cache.load(state.cache)
        self.hidden[: len(state.hidden)] = state.hidden
        self.used.zero_()

    def keep(self, rows: Tensor, used: int) -> None:
        """Move the given lanes, which rise, to the front; so many slots are in use."""
        self.cache.keep(rows, used)
        for memory in (self.hidden, self.row, self.used):
            memory[: len(rows)] = memory[rows]


class FrameGraphs:
    """The recordings of one model, and the memory they work on: for one request at a time.

    When one cannot be made, the log says why, and from then on frames are computed without.
    """

    def __init__(self, model: FrameModel, graphs: Graphs) -> None:
        runner = model.talker.stack.runner
        assert isinstance(runner, EagerStack), "what can be recorded runs layer by layer"
        self.model = model
        self._parts = runner.parts
        self._recordings = Recordings(graphs, MOST_RECORDINGS)
        self._memory: LaneMemory | None = None
        self._has_failed = False
        self.served: RecordedLanes | None = None  # those whose values the memory holds

    def begin(self, sampling: Sampling, state: LaneState) -> Lanes:
        """Lanes that have read their prompt and not spoken yet."""
        self.served = None  # it keeps its memory alive, which may have to be made larger
        if not self._has_failed:
            try:
                memory = self._room_for(state)
                memory.load(state)
                self.served = RecordedLanes(self, memory, sampling, state)
                return self.served
            except torch.OutOfMemoryError as error:
                self._memory = None
                _log.warning("%s: %s.", _WITHOUT, reason_of(error))
        return EagerLanes(self.model, sampling, state)

    def give_up(self, error: Exception) -> None:
        """Say why, and record no more."""
        _log.warning("%s: %s.", _WITHOUT, reason_of(error))
        self._has_failed = True
        self._recordings.clear()
        self._memory = self.served = None

    def step(self, memory: LaneMemory, lanes: int, slots: int) -> None:
        """Run the talker on the rows of these lanes, over so many slots; raises CaptureError."""
        key = ("step", lanes, slots)
        if key not in self._recordings:
            cache = memory.cache.part(lanes, slots)

            def body() -> None:
                hidden = step_at_position(self._parts, memory.row[:lanes, None], cache)
                memory.hidden[:lanes] = hidden[:, 0]

            self._recordings.add(key, body)
        self._recordings.replay(key)

    def draw(self, memory: LaneMemory, lanes: int, sampling: Sampling) -> None:
        """Make the codes of a frame out of the hidden states; raises CaptureError."""
        key = ("draw", lanes, sampling.talker, sampling.predictor, sampling.repetition_penalty)
        if key not in self._recordings:
            used = memory.used.clone()
            try:
                self._recordings.add(key, self._drawing(memory, lanes, sampling))
            finally:
                memory.used.copy_(used)  # recording has marked codes that nobody spoke
        self._recordings.replay(key)

    def _drawing(self, memory: LaneMemory, lanes: int, sampling: Sampling) -> Callable[[], None]:
        model, used = self.model, memory.used[:lanes]
        sampler = TalkerSampler(sampling, lanes, model.config, used.device, used)
        frame_cache = model.predictor.new_cache(lanes)

        def body() -> None:
            hidden, uniforms = memory.hidden[:lanes], memory.uniforms[:lanes]
            logits = model.talker.logits(hidden)
            first = sampler.draw_among(logits, uniforms[:, 0], memory.forbidden)
            memory.verdict[:lanes, 0] = first == model.config.codec.eos
            memory.verdict[:lanes, 1] = logits.isfinite().all(dim=-1)
            embedding = model.talker.codec(first)
            draw = FrameDraw(uniforms, sampling.predictor)
            frame = model.predictor.frame((hidden, embedding), first, draw, frame_cache)
            memory.codes[:lanes] = frame.codes
            memory.row[:lanes] = embedding + frame.embedding + memory.overlay

        return body

    def _room_for(self, state: LaneState) -> LaneMemory:
        """The memory, made larger if these lanes do not fit; raises OutOfMemoryError."""
        lanes, slots = len(state.hidden), -(-state.room // ROOM_STEP) * ROOM_STEP
        most_lanes, most_slots = lanes, slots
        if self._memory is not None:
            held = self._memory.cache
            if lanes <= held.lanes and slots <= held.slots:
                return self._memory
            most_lanes, most_slots = max(lanes, held.lanes), max(slots, held.slots)
            del held
        self._memory = None  # both at once may not fit
        self._recordings.clear()
        try:
            self._memory = LaneMemory.of(self.model, state, most_lanes, most_slots)
        except torch.OutOfMemoryError:  # perhaps no request needs so many of both
            self._memory = LaneMemory.of(self.model, state, lanes, slots)
        return self._memory


class RecordedLanes:
    """Lanes that replay what `FrameGraphs` records; without, once that has failed."""

    def __init__(
        self, graphs: FrameGraphs, memory: LaneMemory, sampling: Sampling, state: LaneState
    ) -> None:
        self._graphs = graphs
        self._memory = memory
        self._sampling = sampling
        self._lanes = len(state.hidden)
        self._length = state.cache.length
        self._room = state.room
        self._has_row = False  # one that the talker has not read yet
        # It tells what may not be drawn; those that draw belong to recordings.
        self._rules = TalkerSampler(
            sampling, self._lanes, graphs.model.config, memory.used.device, memory.used
        )
        self._eager: EagerLanes | None = None

    def frame(self, given: FrameInput) -> Spoken:
        if self._eager is None:
            assert self._graphs.served is self, "a request was not closed before the next"
            try:
                self._replay(given)
            except (CaptureError, torch.OutOfMemoryError) as error:
                self._eager = self._leave()
                self._graphs.give_up(error)
            else:
                return self._spoken()
        return self._eager.frame(given)

    def _replay(self, given: FrameInput) -> None:
        memory, lanes = self._memory, self._lanes
        if self._has_row:
            memory.cache.position.fill_(self._length)
            slots = slots_for(self._length + 1, memory.cache.slots)
            self._graphs.step(memory, lanes, slots)
            self._length += 1
            self._has_row = False
        memory.forbidden.copy_(self._rules.forbidden(given.index))
        memory.uniforms[:lanes] = given.uniforms
        memory.overlay.copy_(given.overlay)
        self._graphs.draw(memory, lanes, self._sampling)

    def _spoken(self) -> Spoken:
        """What was replayed. From here on the frame cannot be made again without recordings."""
        memory, lanes = self._memory, self._lanes
        # The only look at values of the device in a frame: it waits for both recordings.
        rows = lanes_left(memory.verdict[:lanes].tolist())
        self._has_row = True
        codes = memory.codes[:lanes].clone()
        if len(rows) < lanes:
            kept = torch.tensor(rows, dtype=torch.long, device=codes.device)
            codes = codes[kept]
            memory.keep(kept, self._length)
            self._lanes = len(rows)
        return Spoken(rows, codes)

    def _leave(self) -> EagerLanes:
        """These lanes as they are, in this memory, which no recording will use again."""
        memory, lanes = self._memory, self._lanes
        state = LaneState(
            hidden=memory.hidden[:lanes],
            cache=memory.cache.leave(lanes, self._length),
            room=self._room,
            row=memory.row[:lanes] if self._has_row else None,
            used=memory.used[:lanes],
        )
        return EagerLanes(self._graphs.model, self._sampling, state)


def slots_for(positions: int, most: int) -> int:
    """Over how many slots a step runs when so many positions are in use."""
    slots = FEWEST_SLOTS
    while slots < positions:
        slots *= 2
    return min(slots, most)
