"""Lets what stands below one another be reached where the window is too low for all of it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from app.ui.metrics import GAP


class ScrollColumn(QScrollArea):
    """As high as what is in its `column` where there is room, else it scrolls; never sideways.

    With `keeps_bar` the room of the scroll bar stays free, so that nothing moves when it appears.
    """

    def __init__(
        self, least_height: int, *, keeps_bar: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._least_height = least_height
        self._keeps_bar = keeps_bar
        self._content = _Content(self)
        self.column = QVBoxLayout(self._content)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(GAP)
        self.setWidget(self._content)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)

    def sizeHint(self) -> QSize:
        width = self._content.sizeHint().width() + self._bar_width()
        return QSize(width, self._height(max(self.width(), self.minimumSizeHint().width())))

    def minimumSizeHint(self) -> QSize:
        width = self._content.minimumSizeHint().width() + self._bar_width()
        return QSize(width, min(self._least_height, self._height(max(self.width(), width))))

    def _height(self, width: int) -> int:
        """That of the content at a width, in pixels."""
        if self.column.hasHeightForWidth():
            return self.column.totalHeightForWidth(width - self._bar())
        return self.column.totalSizeHint().height()

    def _bar(self) -> int:
        """The width that is kept for the scroll bar also while it is not there."""
        return self._bar_width() if self._keeps_bar else 0

    def _bar_width(self) -> int:
        return self.verticalScrollBar().sizeHint().width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        if self._keeps_bar:
            self._content.setMaximumWidth(max(self.width() - self._bar(), 1))
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.updateGeometry()  # words that wrap are higher or lower now

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.column.invalidate()  # it remembers heights of widgets that had no style yet

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and watched is self.widget():
            self.updateGeometry()
        return super().eventFilter(watched, event)


class _Content(QWidget):
    """Is as high as it has to be at its width; the hint for the least width would be too much."""

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), 0)
