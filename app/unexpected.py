"""The last net: what nobody caught is logged with its traceback and told to the window."""

from __future__ import annotations

import logging
import sys
import threading
from types import TracebackType

from PySide6.QtCore import (
    QMessageLogContext,
    QObject,
    Qt,
    QtMsgType,
    Signal,
    Slot,
    qInstallMessageHandler,
)

from app.jobs.problems import explained
from engine import ExplainedError

_log = logging.getLogger(__name__)
_qt_log = logging.getLogger("qt")
_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


class UnexpectedErrors(QObject):
    """Stands in for the interpreter's and Qt's own ways to complain, from `watch` to `rest`."""

    problem = Signal(object)  # ExplainedError, on the thread of this object
    _happened = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._told: set[str] = set()
        self._happened.connect(self._on_happened, Qt.ConnectionType.QueuedConnection)

    def watch(self) -> None:
        """Take over: exceptions of slots, of threads and of destructors, and Qt's messages."""
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception
        sys.unraisablehook = self._on_unraisable
        qInstallMessageHandler(_log_qt)

    def rest(self) -> None:
        """Leave it to the interpreter again."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__
        sys.unraisablehook = sys.__unraisablehook__
        qInstallMessageHandler(None)

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            return
        self._happened.emit(explained(error.with_traceback(trace)))

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self._on_exception(args.exc_type, args.exc_value, args.exc_traceback)

    def _on_unraisable(self, args: sys.UnraisableHookArgs) -> None:
        _log.error("Ignored in %r", args.object, exc_info=args.exc_value)

    @Slot(object)
    def _on_happened(self, error: ExplainedError) -> None:
        """Tell it once: an error in a timer would come back for ever."""
        if error.message not in self._told:
            self._told.add(error.message)
            self.problem.emit(error)


def _log_qt(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    _qt_log.log(_LEVELS.get(kind, logging.WARNING), "%s", message)
