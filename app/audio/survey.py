"""Listens to several microphones at once, so that people see which one hears them."""

from __future__ import annotations

import logging
import queue
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from app.audio.backend import AudioBackend, Device, SoundDeviceError, Stream
from app.audio.levels import LevelMeter, Levels
from app.audio.ring import FrameRing
from app.audio.ticker import Ticker, drained

RING_SECONDS = 2.0  # nothing is kept: what comes while another device opens may be lost
ACTIVE_STEP = 0.03  # seconds between two steps
IDLE_STEP = 1.0  # a wish wakes the thread

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SurveyState:
    """One moment of the survey, both by the ids of devices."""

    levels: Mapping[str, Levels] = field(default_factory=lambda: MappingProxyType({}))
    """Of the inputs that are open."""
    refused: Mapping[str, SoundDeviceError] = field(default_factory=lambda: MappingProxyType({}))
    """Why others are not."""


class _Ear:
    """An open input and how loud it is."""

    def __init__(self, backend: AudioBackend, device: Device) -> None:
        """Open and start it; raises SoundDeviceError."""
        self.device = device
        self.stream: Stream = backend.open_input(device.id, None)
        self._ring = FrameRing(round(RING_SECONDS * self.stream.rate), self.stream.channels)
        self._meter = LevelMeter(self.stream.rate)
        self.levels = Levels()
        try:
            self.stream.start(self._ring.accept)
        except SoundDeviceError:
            self.stream.close()
            raise

    def listen(self) -> None:
        """Measure what has come in."""
        block = self._ring.take()
        if len(block):
            # Some drivers begin with NaN.
            self.levels = self._meter.feed(np.nan_to_num(block, posinf=0.0, neginf=0.0))


class Survey:
    """Holds the inputs open that are to be watched; every method returns at once.

    Nothing is called back: poll `state`.
    """

    def __init__(self, backend: AudioBackend) -> None:
        """Without a thread until `start`; tests call `step` instead."""
        self._backend = backend
        self._wishes: queue.SimpleQueue[tuple[Device, ...]] = queue.SimpleQueue()
        self._asked = self._done = 0  # wishes: by those who ask, and by the thread
        self._wanted: tuple[Device, ...] = ()
        self._ears: dict[str, _Ear] = {}
        self._refused: dict[str, SoundDeviceError] = {}
        self._state = SurveyState()
        self._ticker = Ticker("survey", self.step)

    @property
    def state(self) -> SurveyState:
        """The latest moment; a new value each time, safe to keep."""
        return self._state

    @property
    def is_free(self) -> bool:
        """Whether it holds no device, and will open none unless it is asked again."""
        return self._done == self._asked and not self._wanted

    def start(self) -> None:
        """Start the thread."""
        self._ticker.start()

    def close(self) -> bool:
        """Let go of all devices and end the thread; False when one hangs."""
        ended = self._ticker.close()
        if ended:
            self._turn_to(())
            self._publish()
        return ended

    def watch(self, *devices: Device) -> None:
        """Watch these inputs from now on, and let go of others."""
        self._asked += 1
        self._wishes.put(devices)
        self._ticker.wake()

    def step(self) -> float:
        """The thread's work, once; returns how many seconds it may rest.

        Opens one device at most, as that may take a while in which another wish arrives.
        """
        wishes = drained(self._wishes)
        if wishes:
            self._turn_to(wishes[-1])
        known = self._ears.keys() | self._refused.keys()
        missing = [device for device in self._wanted if device.id not in known]
        if missing:
            self._open(missing[0])
        for ear in list(self._ears.values()):
            alive = ear.stream.is_alive
            ear.listen()
            if not alive:
                self._lose(ear)
        self._publish()
        self._done += len(wishes)  # last: whoever sees it sees the state too
        if len(missing) > 1:
            return 0.0
        return ACTIVE_STEP if self._ears else IDLE_STEP

    def _turn_to(self, devices: tuple[Device, ...]) -> None:
        wanted = {device.id for device in devices}
        for device_id in self._ears.keys() - wanted:
            self._ears.pop(device_id).stream.close()
        # What was refused may be free by now, if it is asked for again later.
        self._refused = {key: error for key, error in self._refused.items() if key in wanted}
        self._wanted = devices

    def _open(self, device: Device) -> None:
        try:
            self._ears[device.id] = _Ear(self._backend, device)
        except SoundDeviceError as error:
            log.info("%s", error.message)
            self._refused[device.id] = error

    def _lose(self, ear: _Ear) -> None:
        ear.stream.close()
        del self._ears[ear.device.id]
        self._refused[ear.device.id] = SoundDeviceError(
            f"The microphone “{ear.device.name}” was unplugged.", "Connect it again."
        )

    def _publish(self) -> None:
        self._state = SurveyState(
            MappingProxyType({key: ear.levels for key, ear in self._ears.items()}),
            MappingProxyType(dict(self._refused)),
        )
