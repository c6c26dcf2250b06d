"""The queue in front of the engine's thread, owned by the window's thread."""

from __future__ import annotations

from collections import deque
from typing import Final

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QThread, Signal, Slot

from app.jobs.messages import Ended, Progress
from app.jobs.work import Job, Openers
from app.jobs.worker import EngineWorker, dropped_job
from engine import CancelToken

STOP_SECONDS: Final = 10.0


class JobQueue(QObject):
    """First in, first out, one job in flight. Every submitted job ends with one `ended` signal.

    All methods belong to the thread that made it.
    """

    started = Signal(int)
    progressed = Signal(object)  # Progress
    ended = Signal(object)  # Ended
    changed = Signal()  # the number of waiting or running jobs
    _go = Signal(int, object, object)
    _leave = Signal()
    _too_late = Signal(object)  # Ended

    def __init__(self, openers: Openers, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[tuple[int, Job]] = deque()
        self._current: tuple[int, CancelToken] | None = None
        self._next = 1
        self._closed = False
        self._thread = QThread()
        self._thread.setObjectName("engine")
        self._worker = EngineWorker(openers)
        self._worker.moveToThread(self._thread)
        self._go.connect(self._worker.perform, Qt.ConnectionType.QueuedConnection)
        self._leave.connect(self._worker.leave, Qt.ConnectionType.QueuedConnection)
        self._worker.progressed.connect(self._on_progress, Qt.ConnectionType.QueuedConnection)
        self._worker.ended.connect(self._on_ended, Qt.ConnectionType.QueuedConnection)
        self._too_late.connect(self.ended, Qt.ConnectionType.QueuedConnection)
        self._thread.start()

    @property
    def running(self) -> int | None:
        """The number of the job in flight."""
        return None if self._current is None else self._current[0]

    @property
    def is_closed(self) -> bool:
        """Whether the thread has ended."""
        return self._thread.isFinished()

    def __len__(self) -> int:
        return len(self._waiting) + (self._current is not None)

    def submit(self, job: Job) -> int:
        """Queue a job and return its number; after `close` it will be told as stopped."""
        number, self._next = self._next, self._next + 1
        if self._closed:
            self._too_late.emit(dropped_job(number, job))
            return number
        self._waiting.append((number, job))
        self._start_next()
        self.changed.emit()
        return number

    def cancel(self, number: int | None = None) -> bool:
        """Stop a job (without a number: all); whether there was one. In flight: within a frame."""
        dropped = [entry for entry in self._waiting if number in (None, entry[0])]
        self._waiting = deque(entry for entry in self._waiting if entry not in dropped)
        in_flight = self._current is not None and number in (None, self._current[0])
        if self._current is not None and in_flight:
            self._current[1].cancel()
        for waiting, job in dropped:
            self.ended.emit(dropped_job(waiting, job))
        if dropped:
            self.changed.emit()
        return in_flight or bool(dropped)

    def close(self, timeout: float = STOP_SECONDS) -> bool:
        """Stop everything and end the thread; False if it did not end in time (seconds).

        Every job has had its ending when this returns, unless it is False.
        """
        if self._closed:
            return self._thread.wait(round(1000 * timeout))
        self._closed = True
        self.cancel()
        # Not `quit` from here: it would overtake a job that is on its way to the thread.
        self._leave.emit()
        ended = self._thread.wait(round(1000 * timeout))
        QCoreApplication.sendPostedEvents(self, QEvent.Type.MetaCall.value)
        return ended

    def _start_next(self) -> None:
        if self._current is None and self._waiting:
            number, job = self._waiting.popleft()
            token = CancelToken()
            self._current = (number, token)
            self.started.emit(number)
            self._go.emit(number, job, token)

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        # Progress of a job that was cancelled meanwhile is old news.
        if self._current is not None and not self._current[1].is_set:
            self.progressed.emit(progress)

    @Slot(object)
    def _on_ended(self, ended: Ended) -> None:
        assert self._current is not None
        assert self._current[0] == ended.job
        self._current = None
        self.ended.emit(ended)
        self._start_next()
        self.changed.emit()
