"""Stands in for sound hardware: on computers without any, and in tests with an own clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from app.audio.backend import Device, Exchange, Frames, find_device

BLOCK_SECONDS = 0.02
CLOCK_SECONDS = 0.02  # between two looks at the clock
LONGEST_STEP = 0.5  # seconds; a computer that slept does not make up for it

Signal: TypeAlias = Callable[[int, int], Frames]
"""What a microphone hears: told (start, count) in frames, gives [count, channels]."""

SILENT_OUTPUT = Device("Null/silent", "No sound", "Null", 2, 48_000, is_default=True)
SIGNAL_INPUT = Device("Null/signal", "Built-in signal", "Null", 1, 48_000, is_default=True)


class NullStream:
    """A stream that moves when it is told how much time has passed."""

    def __init__(
        self,
        device: Device,
        rate: int,
        channels: int,
        move: Callable[[NullStream, Exchange, int], None],
    ) -> None:
        """`move` exchanges so many frames of the stream."""
        self.device = device
        self.rate = rate
        self.channels = channels
        self.latency = 0.0
        self.dropouts = 0
        self.position = 0  # frames exchanged
        self.is_closed = False
        self.is_unplugged = False
        self.is_stuck = False
        self._move = move
        self._exchange: Exchange | None = None
        self._owed = 0.0  # frames, less than one block

    @property
    def is_alive(self) -> bool:
        return not self.is_unplugged

    @property
    def is_started(self) -> bool:
        return self._exchange is not None

    def start(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def close(self) -> None:
        self.is_closed = True

    def advance(self, seconds: float) -> None:
        """Exchange the whole blocks that `seconds` more bring."""
        if self._exchange is None or self.is_closed or self.is_unplugged or self.is_stuck:
            return
        block = max(1, round(BLOCK_SECONDS * self.rate))
        self._owed += seconds * self.rate
        while self._owed >= block - 1e-6:
            self._move(self, self._exchange, block)
            self.position += block
            self._owed -= block


class ManualBackend:
    """A sound system without hardware whose time passes in `advance` alone."""

    def __init__(
        self,
        outputs: tuple[Device, ...] = (SILENT_OUTPUT,),
        inputs: tuple[Device, ...] = (),
        signal: Signal | None = None,
        *,
        output_rates: tuple[int, ...] = (),
    ) -> None:
        """`signal` is what every input hears, silence if None.

        Outputs take any rate, or only `output_rates` if there are any.
        """
        self.heard: list[Frames] = []  # the blocks [n, channels] that any output was given
        self.keeps_heard = True
        self.unavailable = ""
        self._outputs = outputs
        self._inputs = inputs
        self._signal = signal
        self._output_rates = output_rates
        self._streams: list[NullStream] = []
        self._lock = threading.Lock()

    @property
    def open_streams(self) -> list[NullStream]:
        return [stream for stream in self._streams if not stream.is_closed]

    def list_outputs(self) -> tuple[Device, ...]:
        return self._outputs

    def list_inputs(self) -> tuple[Device, ...]:
        return self._inputs

    def rescan(self) -> bool:
        return not self.open_streams

    def open_output(self, device_id: str | None, rate: int) -> NullStream:
        device = find_device(self._outputs, device_id, "output")
        if self._output_rates and rate not in self._output_rates:
            rate = self._output_rates[0]
        channels = min(2, device.channels)

        def move(stream: NullStream, fill: Exchange, count: int) -> None:
            block: Frames = np.full((count, stream.channels), np.nan, np.float32)
            fill(block)
            if self.keeps_heard:
                self.heard.append(block)

        return self._opened(NullStream(device, rate, channels, move))

    def open_input(self, device_id: str | None, rate: int | None) -> NullStream:
        device = find_device(self._inputs, device_id, "microphone")
        channels = min(2, device.channels)

        def move(stream: NullStream, accept: Exchange, count: int) -> None:
            if self._signal is None:
                accept(np.zeros((count, stream.channels), np.float32))
            else:
                accept(self._signal(stream.position, count))

        return self._opened(NullStream(device, rate or device.default_rate, channels, move))

    def unplug(self, device: Device) -> None:
        """Take a device away, in the midst of whatever it does."""
        with self._lock:
            self._outputs = tuple(other for other in self._outputs if other.id != device.id)
            self._inputs = tuple(other for other in self._inputs if other.id != device.id)
            for stream in self._streams:
                if stream.device.id == device.id:
                    stream.is_unplugged = True

    def advance(self, seconds: float) -> None:
        """Let time pass for all streams."""
        with self._lock:
            self._streams = self.open_streams
            for stream in self._streams:
                stream.advance(seconds)

    def _opened(self, stream: NullStream) -> NullStream:
        with self._lock:
            self._streams.append(stream)
        return stream


class NullBackend(ManualBackend):
    """A sound system without hardware on the real clock: all works as usual, but is not heard."""

    def __init__(
        self,
        reason: str = "",
        microphone: Signal | None = None,
        inputs: tuple[Device, ...] = (SIGNAL_INPUT,),
    ) -> None:
        """`reason` says why there is no real one, empty if that is wanted.

        With `microphone` there are `inputs` that hear it, otherwise none.
        """
        super().__init__(inputs=inputs if microphone else (), signal=microphone)
        self.unavailable = reason
        self.keeps_heard = False
        self._clock: threading.Thread | None = None
        self._clock_lock = threading.Lock()

    def open_output(self, device_id: str | None, rate: int) -> NullStream:
        stream = super().open_output(device_id, rate)
        self._run_clock()
        return stream

    def open_input(self, device_id: str | None, rate: int | None) -> NullStream:
        stream = super().open_input(device_id, rate)
        self._run_clock()
        return stream

    def _run_clock(self) -> None:
        with self._clock_lock:
            if self._clock is None:
                self._clock = threading.Thread(target=self._tick, name="null-audio", daemon=True)
                self._clock.start()

    def _tick(self) -> None:
        """Runs while any stream is open."""
        before = time.monotonic()
        while True:
            time.sleep(CLOCK_SECONDS)
            now = time.monotonic()
            self.advance(min(now - before, LONGEST_STEP))
            before = now
            with self._clock_lock:
                if not self.open_streams:
                    self._clock = None
                    return
