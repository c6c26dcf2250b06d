"""Keeps the wheel for scrolling: a page must not change what happens to lie below the pointer."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QWidget


class WheelGuard(QObject):
    """Lets the wheel turn values and zoom only in the widget that has the focus."""

    def guard(self, widget: QWidget) -> None:
        """Watch a widget from now on."""
        if widget.focusPolicy() == Qt.FocusPolicy.WheelFocus:
            widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.Wheel or not isinstance(watched, QWidget):
            return False
        if watched.hasFocus():
            return False
        event.ignore()  # so that what lies around it scrolls
        return True
