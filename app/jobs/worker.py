"""The engine's thread: runs one job at a time and turns every ending into exactly one message."""

from __future__ import annotations

import logging
import time
import traceback

from PySide6.QtCore import QObject, Signal, Slot

from app.jobs.messages import Ended, Failed, Finished, Loading, Progress, Speaking, Stopped
from app.jobs.work import Host, Job, Opener
from engine import Cancelled, CancelToken, ExplainedError

SIGNALS_PER_SECOND = 30

_log = logging.getLogger(__name__)


class EngineWorker(QObject):
    """Lives in the engine's QThread. Connect `perform` to a signal, and listen to the others."""

    progressed = Signal(object)  # Progress
    ended = Signal(object)  # Ended

    def __init__(self, open_engine: Opener) -> None:
        super().__init__()
        self._host = Host(open_engine)
        self._last_signal = 0.0

    @Slot(int, object, object)
    def perform(self, number: int, job: Job, token: CancelToken) -> None:
        """Run a job to its end; never raises."""
        self.ended.emit(self.outcome(number, job, token))

    def outcome(self, number: int, job: Job, token: CancelToken) -> Ended:
        """Run a job and say how it ended."""
        host = self._host
        host.partial = None
        self._last_signal = 0.0
        try:
            token.check()
            return Finished(number, job.run(number, host, token, self._report))
        except Cancelled:
            return Stopped(number, host.partial)
        except ExplainedError as error:
            return Failed(number, error, host.partial)
        except MemoryError:
            host.engine = None
            return Failed(number, _no_memory(), host.partial)
        except Exception as unexpected:  # noqa: BLE001 - the net of this thread
            _log.exception("A job failed unexpectedly")
            return Failed(number, _unexpected(unexpected), host.partial)

    def _report(self, progress: Progress) -> None:
        """Pass progress on, at most 30 times a second; the first and the last are never lost."""
        now = time.monotonic()
        complete = isinstance(progress, Loading) and progress.done >= progress.total
        first = isinstance(progress, Speaking) and not self._last_signal
        if complete or first or now - self._last_signal >= 1 / SIGNALS_PER_SECOND:
            self._last_signal = now
            self.progressed.emit(progress)


def _no_memory() -> ExplainedError:
    return ExplainedError(
        "There is not enough memory for this.",
        "Choose a smaller model or fewer takes, and close other programs.",
    )


def _unexpected(error: Exception) -> ExplainedError:
    return ExplainedError(
        f"Something unexpected went wrong: {error}.",
        "Try again; if it stays, report it with the details.",
        traceback.format_exc(),
    )
