"""An opened output with what belongs to it: ring, gate, resampler, gain and meter."""

from __future__ import annotations

from collections import deque

import numpy as np

from app.audio.backend import AudioBackend
from app.audio.levels import LevelMeter, Levels
from app.audio.resampler import StreamResampler
from app.audio.ring import FrameRing, OutputGate
from engine.types import Samples

QUEUE_SECONDS = 0.25  # of audio that the ring holds ready at least
RESERVE_SECONDS = 0.1  # beyond what the device may fetch at a stroke
FADE_SECONDS = 0.005
STUCK_SECONDS = 5.0  # without a callback: the device hangs


class Output:
    """Brings mono samples of one rate to a device. For the feeder thread."""

    def __init__(self, backend: AudioBackend, device_id: str | None, rate: int) -> None:
        """Open the device for samples at `rate` Hz; raises SoundDeviceError."""
        self.source_rate = rate
        self.stream = backend.open_output(device_id, rate)
        rate_out, latency = self.stream.rate, self.stream.latency
        self._target = round(max(QUEUE_SECONDS, latency + RESERVE_SECONDS) * rate_out)
        # At its start a device fills its buffer, of which it reports only what is usual.
        self._first_target = round(max(QUEUE_SECONDS, 2 * latency + RESERVE_SECONDS) * rate_out)
        self.ring = FrameRing(2 * self._first_target)
        self.gate = OutputGate(self.ring, max(1, round(FADE_SECONDS * rate_out)))
        self._resampler = StreamResampler(rate, rate_out)
        self._meter = LevelMeter(rate_out)
        self._levels: deque[tuple[int, Levels]] = deque()  # (ring index of their end, levels)
        self._shown = Levels()
        self._gain = 1.0
        self._started = False
        self._callbacks = 0
        self._called_at = 0.0
        self._known_faults = (0, 0)

    @property
    def frames_per_sample(self) -> float:
        return self.stream.rate / self.source_rate

    @property
    def missing(self) -> int:
        """Frames that the ring wants."""
        return (self._target if self._started else self._first_target) - self.ring.available

    def start(self, now: float) -> None:
        """Let the device call back, unless it does; raises SoundDeviceError."""
        if not self._started:
            self.stream.start(self.gate.read_into)
            self._started = True
            self._called_at = now

    def is_lost(self, now: float) -> bool:
        """Whether the device has ended or has not called back for five seconds."""
        if self.gate.callbacks != self._callbacks:
            self._callbacks, self._called_at = self.gate.callbacks, now
        stuck = self._started and now - self._called_at > STUCK_SECONDS
        return stuck or not self.stream.is_alive

    def new_faults(self) -> tuple[int, int]:
        """(underruns, dropouts) since the last call."""
        faults = (self.gate.underruns, self.stream.dropouts)
        known, self._known_faults = self._known_faults, faults
        return faults[0] - known[0], faults[1] - known[1]

    def write(self, samples: Samples, gain: float) -> None:
        """Queue the next samples [n] at the source's rate; a new gain is reached at their end."""
        self._queue(self._resampler.feed(samples), gain)

    def flush(self) -> None:
        """Queue what the resampler kept back, for when nothing follows."""
        self._queue(self._resampler.flush(), self._gain)
        self._resampler.reset()

    def clear(self, gain: float) -> None:
        """Forget what is queued and begin anew; while the gate is quiet."""
        self.ring.discard()
        self._resampler.reset()
        self._levels.clear()
        self._gain = gain

    def levels(self, heard: float) -> Levels:
        """The levels at a ring index."""
        while self._levels and self._levels[0][0] <= heard:
            self._shown = self._levels.popleft()[1]
        return self._shown

    def close(self) -> None:
        """Let go of the device."""
        self.stream.close()
        self.gate.abandon()

    def _queue(self, frames: Samples, gain: float) -> None:
        if not len(frames):
            return
        if gain != self._gain:
            frames = frames * np.linspace(self._gain, gain, len(frames), dtype=np.float32)
            self._gain = gain
        elif gain != 1.0:
            frames = frames * np.float32(gain)
        levels = self._meter.feed(frames)
        self.ring.write(frames[:, None])
        self._levels.append((self.ring.write_index, levels))
