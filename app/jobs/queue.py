"""The queue in front of the engine's thread, owned by the window's thread."""

from __future__ import annotations

from collections import deque

from PySide6.QtCore import QObject, Qt, QThread, Signal, Slot

from app.jobs.messages import Ended, Progress, Stopped
from app.jobs.work import Job, Opener
from app.jobs.worker import EngineWorker
from engine import CancelToken

STOP_MILLISECONDS = 10_000


class JobQueue(QObject):
    """First in, first out, one job in flight. Every submitted job ends with one `ended` signal."""

    started = Signal(int)
    progressed = Signal(object)  # Progress
    ended = Signal(object)  # Ended
    changed = Signal()  # the number of waiting or running jobs
    _go = Signal(int, object, object)

    def __init__(self, open_engine: Opener, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[tuple[int, Job]] = deque()
        self._current: tuple[int, CancelToken] | None = None
        self._next = 1
        self._thread = QThread()
        self._thread.setObjectName("engine")
        self._worker = EngineWorker(open_engine)
        self._worker.moveToThread(self._thread)
        self._go.connect(self._worker.perform, Qt.ConnectionType.QueuedConnection)
        self._worker.progressed.connect(self._on_progress, Qt.ConnectionType.QueuedConnection)
        self._worker.ended.connect(self._on_ended, Qt.ConnectionType.QueuedConnection)
        self._thread.start()

    @property
    def running(self) -> int | None:
        """The number of the job in flight."""
        return None if self._current is None else self._current[0]

    def __len__(self) -> int:
        return len(self._waiting) + (self._current is not None)

    def submit(self, job: Job) -> int:
        """Queue a job and return its number."""
        number, self._next = self._next, self._next + 1
        self._waiting.append((number, job))
        self._start_next()
        self.changed.emit()
        return number

    def cancel(self, number: int | None = None) -> None:
        """Stop a job (without a number: all). One in flight ends within a frame."""
        dropped = [job for job, _ in self._waiting if number in (None, job)]
        self._waiting = deque(entry for entry in self._waiting if entry[0] not in dropped)
        if self._current is not None and number in (None, self._current[0]):
            self._current[1].cancel()
        for job in dropped:
            self.ended.emit(Stopped(job, None))
        if dropped:
            self.changed.emit()

    def close(self) -> bool:
        """Stop everything and end the thread; False if it did not end in time."""
        self.cancel()
        self._thread.quit()
        return self._thread.wait(STOP_MILLISECONDS)

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
