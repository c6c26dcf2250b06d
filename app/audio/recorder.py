"""Records a microphone for cloning: raw, watched, and on disk from the first sample on."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from pathlib import Path

from app.audio.backend import AudioBackend
from app.audio.capture import Capture
from app.audio.recorder_state import RecorderState, Recording
from app.audio.ticker import Ticker, drained


class Recorder:
    """The record button's other end: every method returns at once.

    Nothing is called back: poll `state`, and fetch finished `recordings` now and then.
    """

    def __init__(
        self, backend: AudioBackend, folder: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Records into `folder`. Without a thread until `start`; tests call `step` instead."""
        self._commands: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._recordings: queue.SimpleQueue[Recording] = queue.SimpleQueue()
        self._capture = Capture(backend, folder, clock, self._recordings.put)
        self._ticker = Ticker("recorder", self.step)
        self._state = self._capture.state
        self._asked = self._done = 0  # commands: by those who ask, and by the thread

    @property
    def state(self) -> RecorderState:
        """The latest moment; a new value each time, safe to keep."""
        return self._state

    @property
    def is_settled(self) -> bool:
        """Whether `state` shows what everything has led to that was asked for."""
        return self._done == self._asked

    def recordings(self) -> list[Recording]:
        """The recordings that ended since the last call: exactly one for each that began."""
        return drained(self._recordings)

    def start(self) -> None:
        """Start the thread."""
        self._ticker.start()

    def close(self) -> bool:
        """End the thread, keeping what is being recorded; False when the device hangs."""
        ended = self._ticker.close()
        if ended:
            self._capture.close()
            self._state = self._capture.state
        return ended

    def monitor(self, device_id: str | None) -> None:
        """Open a microphone, None being the default one, and show its levels."""
        self._ask(lambda: self._capture.open(device_id))

    def record(self) -> None:
        """Keep what comes from now on, and the half second before."""
        self._ask(self._capture.record)

    def stop(self) -> None:
        """End the recording; levels go on."""
        self._ask(self._capture.stop)

    def release(self) -> None:
        """Close the microphone, ending a recording."""
        self._ask(self._capture.close)

    def reset_clip(self) -> None:
        """Put the clip lamp out."""
        self._ask(self._capture.reset_clip)

    def step(self) -> float:
        """The thread's work, once; returns how many seconds it may rest."""
        commands = drained(self._commands)
        for command in commands:
            command()
        pause = self._capture.step()
        self._state = self._capture.state
        self._done += len(commands)  # last: whoever sees it sees the state too
        return pause

    def _ask(self, command: Callable[[], None]) -> None:
        self._asked += 1
        self._commands.put(command)
        self._ticker.wake()
