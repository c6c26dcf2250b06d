"""Carries audio between a device's callback and a thread of ours without either waiting."""

from __future__ import annotations

import numpy as np

from app.audio.backend import Frames


class FrameRing:
    """A buffer for one writing and one reading thread, neither of which ever locks.

    Frames are counted from the beginning of time: each index only grows and is changed by one side
    alone, after the frames that it stands for have been copied. What is between them is readable.
    """

    def __init__(self, capacity: int, channels: int = 1) -> None:
        self._frames: Frames = np.zeros((capacity, channels), np.float32)
        self._capacity = capacity
        self._read_index = 0
        self._write_index = 0
        self._overruns = 0

    @property
    def capacity(self) -> int:
        return self._capacity

    @property
    def channels(self) -> int:
        return int(self._frames.shape[1])

    @property
    def read_index(self) -> int:
        """Frames ever read; changed by the reader only."""
        return self._read_index

    @property
    def write_index(self) -> int:
        """Frames ever written; changed by the writer only."""
        return self._write_index

    @property
    def available(self) -> int:
        """Frames that can be read now; to the reader at least that many, to the writer at most."""
        return self._write_index - self._read_index

    @property
    def overruns(self) -> int:
        """How often `write` had to drop frames because nobody had read."""
        return self._overruns

    def write(self, frames: Frames) -> int:
        """Append as many of frames [n, channels] as there is room for; returns how many."""
        start = self._write_index
        room = self._capacity - (start - self._read_index)
        count = min(len(frames), room)
        at = start % self._capacity
        first = min(count, self._capacity - at)
        self._frames[at : at + first] = frames[:first]
        if count > first:
            self._frames[: count - first] = frames[first:count]
        self._overruns += count < len(frames)
        self._write_index = start + count
        return count

    def accept(self, frames: Frames) -> None:
        """`write` in the shape of an input callback."""
        self.write(frames)

    def read(self, out: Frames) -> int:
        """Move up to len(out) frames into out [n, channels]; returns how many.

        A ring of one channel fills every channel of `out`.
        """
        start = self._read_index
        count = min(len(out), self._write_index - start)
        at = start % self._capacity
        first = min(count, self._capacity - at)
        out[:first] = self._frames[at : at + first]
        if count > first:
            out[first:count] = self._frames[: count - first]
        self._read_index = start + count
        return count

    def take(self) -> Frames:
        """All that is readable, as an array of its own."""
        out: Frames = np.empty((self.available, self.channels), np.float32)
        return out[: self.read(out)]

    def discard(self) -> None:
        """Drop what is readable. For the reading side, or the other while the reader rests."""
        self._read_index = self._write_index


class OutputGate:
    """Stands between a ring and an output: pads, counts underruns, and shuts without a click.

    `read_into` is the device's callback: it neither locks, logs, raises nor builds arrays. The
    feeder shuts the gate, waits until it `is_quiet` (the next callback fades out and then leaves
    the ring alone), changes the ring as it likes, and opens it again.
    """

    def __init__(self, ring: FrameRing, fade_frames: int) -> None:
        self._ring = ring
        self._fade = fade_frames
        ramp = np.arange(1, fade_frames + 1, dtype=np.float32) / np.float32(fade_frames + 1)
        self._up: Frames = ramp[:, None]  # [fade, 1]
        self._down: Frames = ramp[::-1, None].copy()
        self._level = 0  # how far up the ramp: 0 silence, fade_frames full
        self._shut = True
        self._busy = False
        self._callbacks = 0
        self._underruns = 0
        self.promised = False
        """Set by the feeder while the ring should never run empty; only then is it an underrun."""

    @property
    def is_shut(self) -> bool:
        return self._shut

    @property
    def is_quiet(self) -> bool:
        """Shut, faded out, and no callback under way: the ring may be changed."""
        return self._shut and self._level == 0 and not self._busy

    @property
    def underruns(self) -> int:
        """How often the ring ran empty although sound was promised."""
        return self._underruns

    @property
    def callbacks(self) -> int:
        """How often the device has asked; stands still when the device hangs."""
        return self._callbacks

    def shut(self) -> None:
        """Ask for silence from the next callback on."""
        self._shut = True

    def open(self, *, fade_in: bool) -> None:
        """Let sound through; without a fade from its very first sample. Only after `is_quiet`."""
        self._level = 0 if fade_in else self._fade
        self._shut = False

    def abandon(self) -> None:
        """Be shut and quiet at once, for when no stream calls back any more."""
        self._shut = True
        self._busy = False
        self._level = 0

    def read_into(self, out: Frames) -> None:
        """Fill out [n, channels] with what may sound now and with zeros after it."""
        self._busy = True  # before looking at _shut: `is_quiet` looks in the other order
        self._callbacks += 1
        if self._shut:
            got = 0
            if self._level:
                got = self._ring.read(out[: min(self._level, len(out))])
                first = self._fade - self._level
                out[:got] *= self._down[first : first + got]
                self._level = self._level - got if self._ring.available else 0
        else:
            got = self._ring.read(out)
            if self._level < self._fade:
                count = min(got, self._fade - self._level)
                out[:count] *= self._up[self._level : self._level + count]
                self._level += count
            if got < len(out):
                self._level = 0  # whatever comes next begins from silence
                if self.promised:
                    self._underruns += 1
        out[got:] = 0
        self._busy = False
