"""Turns the code frames of all takes into chunks of audio as soon as enough of them are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from engine.errors import Cancelled, no_numbers
from engine.qwen3tts.codec.pieces import Pieces
from engine.qwen3tts.generation import CodeFrame
from engine.types import AudioChunk, Ending


class TakeStream:
    """Decodes the takes of one request in step with each other, on one carried state."""

    def __init__(self, pieces: Pieces, takes: int, piece_frames: tuple[int, ...]) -> None:
        self._sound = pieces
        self._takes = tuple(range(takes))
        self._piece_frames = piece_frames
        self._pieces = 0  # emitted so far
        self._pending: list[Tensor] = []  # [takes, codebooks] each
        self._start = 0  # samples emitted per take

    def chunks(self, frames: Iterable[CodeFrame]) -> Iterator[AudioChunk]:
        """Decode `frames`; the last chunk of every take tells how it ended and may be empty.

        When `frames` raises Cancelled, so does this, behind chunks of the frames made until then.
        Raises ModelFileError where the sound is no numbers.
        """
        try:
            yield from self._decoded(frames)
        except Cancelled:
            yield from self._emit({})
            raise

    def _decoded(self, frames: Iterable[CodeFrame]) -> Iterator[AudioChunk]:
        for frame in frames:
            if frame.ended:
                yield from self._emit(dict.fromkeys(frame.ended, Ending.SPOKEN))
                self._drop(frame.ended)
            if not self._takes:
                return
            self._pending.append(frame.codes)
            size = self._piece_frames[min(self._pieces, len(self._piece_frames) - 1)]
            if len(self._pending) >= size:
                yield from self._emit({})
        yield from self._emit(dict.fromkeys(self._takes, Ending.LIMIT))

    def _emit(self, endings: dict[int, Ending]) -> Iterator[AudioChunk]:
        """Decode what is pending: a chunk per take; without any, only for those that end."""
        lanes = len(self._takes)
        if self._pending:
            codes = torch.stack(self._pending, dim=1)  # [B, T, codebooks]
            sound = self._sound.step(codes)
            self._pieces += 1
        else:
            codes = torch.empty(lanes, 0, self._sound.codebooks, dtype=torch.long)
            sound = torch.empty(lanes, 0)
        self._pending = []
        start, self._start = self._start, self._start + sound.shape[1]
        samples = sound.float().cpu().numpy()
        if not np.isfinite(samples).all():  # NaN would be silence, in a file and in the ear
            raise no_numbers()
        numbers = codes.cpu().numpy().astype(np.int64)
        for lane, take in enumerate(self._takes):
            if sound.shape[1] or take in endings:
                yield AudioChunk(take, start, samples[lane], numbers[lane], endings.get(take))

    def _drop(self, ended: tuple[int, ...]) -> None:
        rows = [lane for lane, take in enumerate(self._takes) if take not in ended]
        self._takes = tuple(self._takes[row] for row in rows)
        self._sound.keep(rows)
