"""Plays takes, also while they are made, on a thread of its own that nobody has to wait for."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable

from app.audio.backend import AudioBackend
from app.audio.feeder import Feeder
from app.audio.player_state import PlayerEvent, PlayerState
from app.audio.start_policy import StartPolicy
from app.audio.take_buffer import TakeBuffer
from app.audio.ticker import Ticker, drained


class Player:
    """The transport: every method returns at once and takes effect within about 50 ms.

    Nothing is called back: poll `state`, and fetch `events` now and then.
    """

    def __init__(
        self,
        backend: AudioBackend,
        policy: StartPolicy | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Silent and without a thread until `start`; tests call `step` instead."""
        self._commands: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[PlayerEvent] = queue.SimpleQueue()
        self._feeder = Feeder(backend, policy or StartPolicy(), clock, self._events.put)
        self._ticker = Ticker("player", self.step)
        self._state = self._feeder.state

    @property
    def state(self) -> PlayerState:
        """The latest moment; a new value each time, safe to keep."""
        return self._state

    def events(self) -> list[PlayerEvent]:
        """What happened since the last call, in order."""
        return drained(self._events)

    def start(self) -> None:
        """Start the thread."""
        self._ticker.start()

    def close(self) -> bool:
        """End the thread and let go of the device; False when the device hangs."""
        ended = self._ticker.close()
        if ended:
            self._feeder.close()
        return ended

    def load(self, take: TakeBuffer | None, position: int = 0, *, play: bool = False) -> None:
        """Go over to a take, growing or finished, at a sample; None unloads."""
        self._ask(lambda: self._feeder.load(take, position, play=play))

    def play(self) -> None:
        """Sound from here, from the beginning when the take was heard to its end."""
        self._ask(self._feeder.play)

    def pause(self) -> None:
        """Fall silent and stay there."""
        self._ask(self._feeder.pause)

    def toggle(self) -> None:
        """Play, or pause what plays or waits."""
        self._ask(self._feeder.toggle)

    def stop(self) -> None:
        """Fall silent and go back to the beginning."""
        self._ask(self._feeder.stop)

    def seek(self, position: int) -> None:
        """Go on at a sample of the take."""
        self._ask(lambda: self._feeder.seek(position))

    def set_loop(self, start: int, end: int) -> None:
        """Repeat samples start..end; under 50 ms there is no loop."""
        self._ask(lambda: self._feeder.set_loop((start, end)))

    def clear_loop(self) -> None:
        """Play on to the end again."""
        self._ask(lambda: self._feeder.set_loop(None))

    def set_gain(self, gain: float) -> None:
        """Multiply amplitudes by `gain`, without a click."""
        self._ask(lambda: self._feeder.set_gain(gain))

    def set_output(self, device_id: str | None) -> None:
        """Go on through another output; None is the system's default."""
        self._ask(lambda: self._feeder.set_device(device_id))

    def release_output(self) -> None:
        """Close the output unless it sounds, so that the backend can look for devices again."""
        self._ask(self._feeder.release_device)

    def step(self) -> float:
        """The thread's work, once; returns how many seconds it may rest."""
        for command in drained(self._commands):
            command()
        pause = self._feeder.step()
        self._state = self._feeder.state
        return pause

    def _ask(self, command: Callable[[], None]) -> None:
        self._commands.put(command)
        self._ticker.wake()
