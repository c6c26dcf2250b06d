"""Counts the seconds before a recording begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

SECOND: Final = 1000  # milliseconds


class CountIn(QObject):
    """One count at a time; a microphone that is not ready is waited for."""

    counted = Signal(int)  # seconds that are left, 0 at the end, also when it is stopped
    over = Signal()  # it was counted to its end

    def __init__(self, is_ready: Callable[[], bool], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._is_ready = is_ready
        self._left = 0
        self._timer = QTimer(self)
        self._timer.setInterval(SECOND)
        self._timer.timeout.connect(self._on_second)

    @property
    def left(self) -> int:
        """Seconds until recording begins, 0 when none is counted in."""
        return self._left

    def begin(self, seconds: int) -> None:
        """Count so many seconds, one at least."""
        self._left = max(seconds, 1)
        self._timer.start()
        self.counted.emit(self._left)

    def stop(self) -> None:
        """Count no more."""
        self._timer.stop()
        if self._left:
            self._left = 0
            self.counted.emit(0)

    @Slot()
    def _on_second(self) -> None:
        if not self._is_ready():
            return
        if self._left > 1:
            self._left -= 1
            self.counted.emit(self._left)
        else:
            self.stop()
            self.over.emit()
