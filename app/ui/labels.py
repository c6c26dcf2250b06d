"""Labels that cope with too little room, or that say that something is going on."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.ui.colours import Colours
from app.ui.metrics import GAP
from engine.plain_text import one_line

LEAST_CHARACTERS = 4
SPINNER = 14
SPINNER_STEP = 30  # degrees
SPINNER_MILLISECONDS = 80


class ElidedLabel(QLabel):
    """One line that ends in an ellipsis when it does not fit.

    All of it is in the tooltip then, unless somebody has given it another one.
    """

    def __init__(
        self,
        text: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(text, parent)
        self._mode = mode
        self._own_tip = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)

    @property
    def shown_text(self) -> str:
        """What fits."""
        width = self.contentsRect().width()
        line = " ".join(self.text().split("\n"))
        return self.fontMetrics().elidedText(line, self._mode, width)

    def minimumSizeHint(self) -> QSize:
        width = self.fontMetrics().averageCharWidth() * LEAST_CHARACTERS
        return QSize(min(width, super().sizeHint().width()), super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        flags = self.alignment() | Qt.TextFlag.TextSingleLine
        painter.drawText(self.contentsRect(), flags, self.shown_text)
        painter.end()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and self.toolTip() == self._own_tip:
            cut = self.shown_text != self.text()
            self._own_tip = self.text() if cut else ""
            self.setToolTip(self._own_tip)
        return super().event(event)


class BusyLabel(QWidget):
    """A turning ring and what is being done; takes no room while nothing is."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._ring = _Ring(self)
        self._label = ElidedLabel(parent=self)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addWidget(self._ring)
        layout.addWidget(self._label, 1)
        self.hide()

    @property
    def text(self) -> str:
        return self._label.text()

    def set_busy(self, text: str) -> None:
        """Say what is being done; nothing with an empty text."""
        text = one_line(text)
        self._label.setText(text)
        self.setAccessibleName(text)
        self._ring.turn(bool(text))
        self.setVisible(bool(text))


class _Ring(QWidget):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._angle = 0
        self._timer = QTimer(self)
        self._timer.setInterval(SPINNER_MILLISECONDS)
        self._timer.timeout.connect(self._advance)
        self.setFixedSize(SPINNER, SPINNER)

    def turn(self, turning: bool) -> None:
        if turning != self._timer.isActive():
            (self._timer.start if turning else self._timer.stop)()

    @Slot()
    def _advance(self) -> None:
        self._angle = (self._angle - SPINNER_STEP) % 360
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = Colours.of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ring = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
        for colour, start, span in ((colours.line, 0, 360), (colours.accent, self._angle, 100)):
            painter.setPen(QPen(QColor(colour), 2, c=Qt.PenCapStyle.RoundCap))
            painter.drawArc(ring, start * 16, span * 16)
        painter.end()
