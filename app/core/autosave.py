"""Saves the session soon after every change, on a thread of its own: disks may take their time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from app.core.session import Session
from app.core.session_store import SessionStore

DELAY: Final = 0.3
"""Seconds from the first change to saving it, with all that came after it."""


class Autosaver:
    """The only one to save a session while it is open."""

    def __init__(
        self,
        store: SessionStore,
        on_problem: Callable[[Exception], None],
        delay: float = DELAY,
    ) -> None:
        """`on_problem` is called on the saving thread, with what the store tells or raises."""
        self._store = store
        self._on_problem = on_problem
        self._delay = delay
        self._condition = threading.Condition()
        self._pending: deque[Session] = deque()
        self._busy = False
        self._hurried = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="autosave", daemon=True)
        self._thread.start()

    def change(self, session: Session) -> None:
        """Have this saved; may be called often, returns at once.

        A session stands in for the one before it, unless it lacks a take of it: the store must see
        a take to move it to the trash.
        """
        with self._condition:
            assert not self._closed, "nothing is saved after close"
            kept = {take.id for take in session.takes}
            if self._pending and all(take.id in kept for take in self._pending[-1].takes):
                self._pending.pop()
            self._pending.append(session)
            self._condition.notify_all()

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait until the last change is on disk; False if the disk takes longer."""
        with self._condition:
            self._hurried = bool(self._pending)
            self._condition.notify_all()
            return self._condition.wait_for(self._is_idle, timeout)

    def close(self, timeout: float = 30.0) -> bool:
        """Save what is left and end the thread; False if the disk takes longer."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _is_idle(self) -> bool:
        return (not self._pending and not self._busy) or not self._thread.is_alive()

    def _run(self) -> None:
        while (session := self._next()) is not None:
            try:
                self._save(session)
            finally:
                with self._condition:
                    self._busy = False
                    self._condition.notify_all()

    def _save(self, session: Session) -> None:
        try:
            problems: Sequence[Exception] = self._store.save(session)
        except Exception as error:  # noqa: BLE001 - the net of this thread: it goes on saving
            problems = (error,)
        for problem in problems:
            self._on_problem(problem)

    def _next(self) -> Session | None:
        """The session to save now; None when closed and all is saved."""
        with self._condition:
            self._condition.wait_for(lambda: bool(self._pending) or self._closed)
            self._condition.wait_for(lambda: self._hurried or self._closed, self._delay)
            session = self._pending.popleft() if self._pending else None
            self._hurried = self._hurried and bool(self._pending)
            self._busy = session is not None
            return session
