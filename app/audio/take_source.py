"""Hands out the samples of a take in the order in which they are to sound, loops included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.audio.take_buffer import TakeBuffer
from engine.types import Samples

SHORTEST_LOOP = 0.05  # seconds; shorter ones would be a tone


@dataclass(frozen=True)
class Piece:
    """Samples that follow one another in the take, from `position` on; `jumped` to get there."""

    samples: Samples
    position: int
    jumped: bool = False


class TakeSource:
    """A reading position in a take that may still grow."""

    def __init__(self, take: TakeBuffer, fade: int) -> None:
        """`fade` is how many samples a loop fades before its end and after its start."""
        self.take = take
        self.cursor = 0  # the next sample to hand out
        self.fade = fade
        self._loop: tuple[int, int] | None = None
        self._jumped = False

    @property
    def loop(self) -> tuple[int, int] | None:
        return self._loop

    def set_loop(self, loop: tuple[int, int] | None) -> None:
        """Repeat samples loop[0]..loop[1]; ranges under 50 ms are no loop."""
        if loop is not None:
            start, end = max(loop[0], 0), loop[1]
            loop = (start, end) if end - start >= SHORTEST_LOOP * self.take.rate else None
        self._loop = loop

    def seek(self, position: int) -> None:
        self.cursor = max(position, 0)
        self._jumped = False

    @property
    def is_complete(self) -> bool:
        """True when no sample is awaited any more: all of the take, or of the loop, is there."""
        if self.take.is_finished:
            return True
        return self._loop is not None and self._loop[1] <= self.take.length

    @property
    def ahead(self) -> int:
        """Samples that can be handed out without a jump."""
        return max(self._end() - self.cursor, 0)

    @property
    def is_at_end(self) -> bool:
        """True when nothing follows, ever."""
        finished = self.take.is_finished  # before asking for the length
        return finished and self.cursor >= self.take.length and self._loop_end() is None

    def next(self, count: int, keep: int = 0) -> Piece:
        """Up to `count` samples, but none of the last `keep` that are there; may be empty."""
        loop_end = self._loop_end()
        if loop_end is not None and self._loop is not None and self.cursor >= loop_end:
            self.cursor, self._jumped = self._loop[0], True
        position, jumped = self.cursor, self._jumped and self.cursor == self._loop_start()
        available = max(self._end() - position - keep, 0)
        samples = self.take.read(position, min(count, available))
        self.cursor += len(samples)
        if loop_end is not None and len(samples):
            samples = self._faded(samples, position, loop_end)
        return Piece(samples, position, jumped and bool(len(samples)))

    def _loop_start(self) -> int:
        return -1 if self._loop is None else self._loop[0]

    def _loop_end(self) -> int | None:
        """Where to jump from, if that can be known already."""
        if self._loop is None:
            return None
        finished = self.take.is_finished  # before asking for the length
        length = self.take.length
        start, end = self._loop
        if finished and end > length:
            return length if length - start >= SHORTEST_LOOP * self.take.rate else None
        return end

    def _end(self) -> int:
        end = self._loop_end()
        length = self.take.length
        return length if end is None else min(end, length)

    def _faded(self, samples: Samples, position: int, loop_end: int) -> Samples:
        """Samples at `position`, quiet toward the loop's end and, after a jump, from its start."""
        at = np.arange(position, position + len(samples))
        gains = np.minimum((loop_end - at) / self.fade, 1)
        if self._jumped:
            gains = np.minimum(gains, (at - self._loop_start() + 1) / self.fade)
        if gains.min() >= 1:
            return samples
        faded: Samples = samples * np.clip(gains, 0, 1).astype(np.float32)
        return faded
