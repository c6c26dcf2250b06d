"""Lets a tab be reached wholly on a small or much enlarged screen, and else leaves it alone."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

LEAST_HEIGHT = 196


class TabPage(QScrollArea):
    """Scrolls only where the tab's least size does not fit."""

    def __init__(self, tab: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidget(_Holder(tab))
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMinimumHeight(LEAST_HEIGHT)


class _Holder(QWidget):
    """Keeps from the scroll area that a tab would like to be higher, which it would grant."""

    def __init__(self, tab: QWidget) -> None:
        super().__init__()
        self._tab = tab
        tab.setParent(self)

    def minimumSizeHint(self) -> QSize:
        least = self._tab.minimumSizeHint()
        layout, page = self._tab.layout(), self.parentWidget()
        if layout is not None and page is not None and layout.hasHeightForWidth():
            width = max(page.width(), least.width())  # words that wrap make it higher
            least.setHeight(max(least.height(), layout.minimumHeightForWidth(width)))
        return least

    def sizeHint(self) -> QSize:
        return self._tab.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._tab.setGeometry(self.rect())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().event(event)
