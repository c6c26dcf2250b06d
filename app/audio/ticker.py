"""Runs the player's and the recorder's work, a step at a time, on threads of their own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

CLOSE_SECONDS = 5.0  # a device that hangs must not keep the studio from ending
_Item = TypeVar("_Item")


class Ticker:
    """A thread that calls `step` again after as many seconds as it returned, or when woken."""

    def __init__(self, name: str, step: Callable[[], float]) -> None:
        self._step = step
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Let the next step come at once."""
        self._wake.set()

    def close(self) -> bool:
        """End after the step under way; False if that does not happen within five seconds."""
        self._ending.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._ending.is_set():
            pause = self._step()
            self._wake.wait(pause)
            self._wake.clear()


def drained(waiting: queue.SimpleQueue[_Item]) -> list[_Item]:
    """All that waits in a queue, in order, without waiting for more."""
    items = []
    while True:
        try:
            items.append(waiting.get_nowait())
        except queue.Empty:
            return items
