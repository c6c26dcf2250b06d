"""Lets Ctrl+C in the terminal, and a system that shuts down, close the window in order."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Final

from PySide6.QtCore import QObject, QSocketNotifier, Slot

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interruptions(QObject):
    """Python runs no handler while Qt waits, so a signal also writes to a socket that Qt reads."""

    def __init__(self, close: Callable[[], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._close = close
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_woken)
        self._before = {number: signal.getsignal(number) for number in SIGNALS}
        self._fd_before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, self._on_signal)

    def end(self) -> None:
        """Leave the signals to those who had them before."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(self._fd_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._reader.close()
        self._writer.close()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Only wakes: what is to be done is done in `_on_woken`."""

    @Slot()
    def _on_woken(self) -> None:
        self._reader.recv(64)
        self._close()
