"""The engine's thread: runs one job at a time and turns every ending into exactly one message."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, Signal, Slot

from app.jobs.messages import Ended, Failed, Finished, Learning, Loading, Progress, Stopped
from app.jobs.problems import explained
from app.jobs.work import Host, Job, Openers
from engine import Cancelled, CancelToken

SIGNALS_PER_SECOND: Final = 30


class EngineWorker(QObject):
    """Lives in the engine's QThread. Connect `perform` to a signal, and listen to the others."""

    progressed = Signal(object)  # Progress
    ended = Signal(object)  # Ended

    def __init__(self, openers: Openers, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._host = Host(openers)
        self._clock = clock
        self._last: Progress | None = None
        self._last_time = 0.0

    @Slot(int, object, object)
    def perform(self, number: int, job: Job, token: CancelToken) -> None:
        """Run a job to its end; never raises."""
        self.ended.emit(self.outcome(number, job, token))

    @Slot()
    def leave(self) -> None:
        """Release the engine where it was made, and end the thread."""
        self._host.release()
        self.thread().quit()

    def outcome(self, number: int, job: Job, token: CancelToken) -> Ended:
        """Run a job and say how it ended."""
        host = self._host
        host.partial = None
        self._last = None
        try:
            if token.is_set:
                return dropped_job(number, job)
            return Finished(number, job.run(number, host, token, self._report))
        except Cancelled:
            return Stopped(number, host.partial)
        except BaseException as error:  # noqa: BLE001 - the net of this thread
            return Failed(number, explained(error), host.partial)
        finally:
            host.partial = None

    def _report(self, progress: Progress) -> None:
        """Pass progress on, at most 30 times a second; a new phase and a full load are not lost.

        Nor is a step of learning, of which there are few, and long ones.
        """
        now = self._clock()
        if self._is_new_phase(progress) or now - self._last_time >= 1 / SIGNALS_PER_SECOND:
            self._last, self._last_time = progress, now
            self.progressed.emit(progress)

    def _is_new_phase(self, progress: Progress) -> bool:
        return (
            type(progress) is not type(self._last)
            or isinstance(progress, Learning)
            or (_is_complete(progress) and not _is_complete(self._last))
        )


def dropped_job(number: int, job: Job) -> Ended:
    """End a job that was cancelled before it began."""
    try:
        job.drop()
    except Exception as error:  # noqa: BLE001 - the net of jobs that never ran
        return Failed(number, explained(error), None)
    return Stopped(number, None)


def _is_complete(progress: Progress | None) -> bool:
    return isinstance(progress, Loading) and progress.done >= progress.total
