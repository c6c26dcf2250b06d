"""Decoding the takes of one request piece by piece: eagerly, or frame by frame from recordings.

A recording decodes one frame, as the first piece of a take has one; a longer piece replays it as
often as it has frames. It is apart from the recordings of talker and predictor because pieces
gather several frames, and because the codec's state is its own.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from engine.nn.graphs import CaptureError, Graphs, Recordings, reason_of
from engine.nn.state import Stack, assign, first_lanes, fix_positions
from engine.qwen3tts.codec.decoder import CodecDecoder

MOST_RECORDINGS = 16  # kept at once, one per number of lanes

_log = logging.getLogger(__name__)


class Pieces(Protocol):
    """The takes of a request, and where their sound is."""

    codebooks: int

    def step(self, codes: Tensor) -> Tensor:
        """Decode the next frames [B, T, codebooks] -> [B, T * frame_samples]."""
        ...

    def keep(self, rows: list[int]) -> None:
        """Go on with these lanes only."""
        ...


class EagerPieces:
    """A decoder and its state."""

    def __init__(self, decoder: CodecDecoder, state: Stack) -> None:
        self.codebooks = decoder.config.codebooks
        self._decoder = decoder
        self._state = state

    def step(self, codes: Tensor) -> Tensor:
        return self._decoder.step(codes, self._state)

    def keep(self, rows: list[int]) -> None:
        kept = torch.tensor(rows, dtype=torch.long, device=self._decoder.device)
        self._state = self._state.select(kept)


@dataclass(frozen=True, eq=False)
class FrameMemory:
    """What recordings read and write. Only the first lanes of it are in use."""

    codes: Tensor  # [B, 1, codebooks]
    sound: Tensor  # [B, frame_samples]
    state: Stack

    @classmethod
    def of(cls, decoder: CodecDecoder, lanes: int) -> FrameMemory:
        config, device = decoder.config, decoder.device
        state = decoder.new_state(lanes)
        fix_positions(state)
        return cls(
            torch.zeros(lanes, 1, config.codebooks, dtype=torch.long, device=device),
            torch.zeros(lanes, config.frame_samples, device=device),
            state,
        )


class CodecGraphs:
    """The recordings of one decoder, and the memory they work on: for one request at a time.

    When one cannot be made, the log says why, and from then on sound is decoded without.
    """

    def __init__(self, decoder: CodecDecoder, graphs: Graphs) -> None:
        self.decoder = decoder
        self._recordings = Recordings(graphs, MOST_RECORDINGS)
        self._memory: FrameMemory | None = None
        self._has_failed = False
        self.served: RecordedPieces | None = None  # those whose values the memory holds

    @torch.inference_mode()
    def begin(self, state: Stack, lanes: int) -> Pieces:
        """Lanes in a state of as many."""
        self.served = None  # it keeps its memory alive, which may have to be made larger
        if not self._has_failed:
            try:
                memory = self._room_for(lanes)
                assign(first_lanes(memory.state, lanes), state)
                self.served = RecordedPieces(self, memory, lanes)
                return self.served
            except torch.OutOfMemoryError as error:
                self.give_up(error)
        return EagerPieces(self.decoder, state)

    def give_up(self, error: Exception) -> None:
        """Say why, and record no more."""
        _log.warning("Sound is decoded one operation after the other: %s.", reason_of(error))
        self._has_failed = True
        self._recordings.clear()
        self._memory = self.served = None

    def decode(self, memory: FrameMemory, lanes: int) -> None:
        """Decode the frame of these lanes, and move their state on; raises CaptureError."""
        if lanes not in self._recordings:
            codes, sound = memory.codes[:lanes], memory.sound[:lanes]
            state = first_lanes(memory.state, lanes)
            before = state.select(torch.arange(lanes, device=codes.device))

            def body() -> None:
                sound.copy_(self.decoder.step(codes, state))

            try:
                self._recordings.add(lanes, body)
            finally:
                assign(state, before)  # recording has moved it on
        self._recordings.replay(lanes)

    def _room_for(self, lanes: int) -> FrameMemory:
        """The memory, made larger if these lanes do not fit."""
        memory = self._memory
        if memory is None or lanes > len(memory.codes):
            memory = self._memory = None  # both at once may not fit
            self._recordings.clear()
            memory = self._memory = FrameMemory.of(self.decoder, lanes)
        return memory


class RecordedPieces:
    """Lanes that replay what `CodecGraphs` records; without, once that has failed."""

    def __init__(self, graphs: CodecGraphs, memory: FrameMemory, lanes: int) -> None:
        self.codebooks = graphs.decoder.config.codebooks
        self._graphs = graphs
        self._memory = memory
        self._lanes = lanes
        self._eager: EagerPieces | None = None

    @torch.inference_mode()
    def step(self, codes: Tensor) -> Tensor:
        frames = torch.split(codes, 1, dim=1)  # [B, 1, codebooks] each
        return torch.cat([self._frame(frame) for frame in frames], dim=1)

    @torch.inference_mode()
    def keep(self, rows: list[int]) -> None:
        if self._eager is not None:
            self._eager.keep(rows)
            return
        state, kept = self._memory.state, torch.tensor(rows, dtype=torch.long)
        assign(first_lanes(state, len(rows)), state.select(kept.to(self._graphs.decoder.device)))
        self._lanes = len(rows)

    def _frame(self, codes: Tensor) -> Tensor:
        memory, lanes = self._memory, self._lanes
        if self._eager is None:
            assert self._graphs.served is self, "a request was not closed before the next"
            try:
                memory.codes[:lanes] = codes
                self._graphs.decode(memory, lanes)
            except (CaptureError, torch.OutOfMemoryError) as error:
                state = first_lanes(memory.state, lanes)
                self._eager = EagerPieces(self._graphs.decoder, state)
                self._graphs.give_up(error)
            else:
                return memory.sound[:lanes].clone()  # the state has moved on
        return self._eager.step(codes)
