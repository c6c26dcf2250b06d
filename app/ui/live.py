"""One timer for everything that moves on the screen, resting when nothing does."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import SIGNAL, QObject, Qt, QTimer, Signal, Slot

MILLISECONDS = 33


class LiveTimer(QObject):
    """Calls its watchers 30 times a second. The window owns one and hands it to its views."""

    _tick = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._timer = QTimer(self)
        self._timer.setInterval(MILLISECONDS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_timeout)

    @property
    def is_running(self) -> bool:
        return self._timer.isActive()

    def watch(self, slot: Callable[[], None]) -> None:
        """Call a bound method of a QObject from now on, until it is deleted at the latest."""
        self._tick.connect(slot)
        if not self._timer.isActive():
            self._timer.start()

    def unwatch(self, slot: Callable[[], None]) -> None:
        """Call a method no more that was being called."""
        self._tick.disconnect(slot)

    @Slot()
    def _on_timeout(self) -> None:
        # Watchers that were deleted are gone from the signal by themselves.
        if self.receivers(SIGNAL("_tick()")):
            self._tick.emit()
        else:
            self._timer.stop()
