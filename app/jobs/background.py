"""Runs work with files in one thread beside the window, and brings the outcome back to it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.jobs.problems import explained
from engine import ExplainedError

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class _Task:
    """Some work, and who wants to hear of its end."""

    work: Callable[[], Any]
    done: Callable[[Any], None] | None
    failed: Callable[[ExplainedError], None] | None


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What came of a task."""

    task: _Task
    result: Any
    error: ExplainedError | None


class Background(QObject):
    """One thread, first in, first out. All methods belong to the thread that made it."""

    problem = Signal(object)  # ExplainedError that nobody else took
    busy_changed = Signal(bool)
    _ready = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._condition = threading.Condition()  # guards the two queues and `_closed`
        self._tasks: deque[_Task] = deque()
        self._outcomes: deque[_Outcome] = deque()
        self._closed = False
        self._pending = 0  # tasks whose callbacks have not returned
        self._telling = 0  # callbacks that are being called; one may run an event loop
        self._ready.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        self._thread = threading.Thread(target=self._run, name="background", daemon=True)
        self._thread.start()

    @property
    def is_busy(self) -> bool:
        return self._pending > 0

    def run(
        self,
        work: Callable[[], _T],
        done: Callable[[_T], None] | None = None,
        failed: Callable[[ExplainedError], None] | None = None,
    ) -> None:
        """Do `work` in the thread; then call `done` with its result, or `failed`, in this one.

        Without `failed`, an error goes to the signal `problem`.
        """
        assert not self._closed, "nothing is run after close"
        self._pending += 1
        with self._condition:
            self._tasks.append(_Task(work, done, failed))
            self._condition.notify_all()
        if self._pending == 1:
            self.busy_changed.emit(True)

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait until all work is done and told, what it led to included; False if it takes longer.

        A callback that calls it is not waited for.
        """
        deadline = time.monotonic() + timeout
        while self._pending > self._telling:
            with self._condition:
                left = max(0.0, deadline - time.monotonic())
                if not self._condition.wait_for(lambda: self._outcomes, left):
                    return False
            self._deliver()
        return True

    def close(self, timeout: float = 30.0) -> bool:
        """Flush and end the thread; False if it takes longer."""
        deadline = time.monotonic() + timeout
        flushed = self.flush(timeout)
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        self._thread.join(max(0.0, deadline - time.monotonic()))
        return flushed and not self._thread.is_alive()

    @Slot()
    def _deliver(self) -> None:
        """Tell what is ready; another time for the same outcome finds nothing to do."""
        while self._outcomes:
            outcome = self._outcomes.popleft()
            self._telling += 1
            try:
                self._tell(outcome)
            finally:
                self._telling -= 1
                self._pending -= 1
                if not self._pending:
                    self.busy_changed.emit(False)

    def _tell(self, outcome: _Outcome) -> None:
        task, error = outcome.task, outcome.error
        if error is None:
            if task.done is not None:
                task.done(outcome.result)
        elif task.failed is not None:
            task.failed(error)
        else:
            self.problem.emit(error)

    def _run(self) -> None:
        while (task := self._next()) is not None:
            outcome = _outcome(task)
            del task
            with self._condition:
                self._outcomes.append(outcome)
                self._condition.notify_all()
            del outcome
            self._ready.emit()

    def _next(self) -> _Task | None:
        """The next task; None when closed and all are done."""
        with self._condition:
            self._condition.wait_for(lambda: self._tasks or self._closed)
            return self._tasks.popleft() if self._tasks else None


def _outcome(task: _Task) -> _Outcome:
    try:
        return _Outcome(task, task.work(), None)
    except BaseException as error:  # noqa: BLE001 - the net of this thread
        return _Outcome(task, None, explained(error))
