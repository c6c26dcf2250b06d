"""Labels that cope with too little room, or that say that something is going on."""

from __future__ import annotations

import html

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent, QPen
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


class LinkLabel(QLabel):
    """Words with a link among them, which keeps the colour of the theme when that changes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts = ("", "", "", "")
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)

    def set_link(self, words: str, address: str, before: str = "", after: str = "") -> None:
        """Show a link; nothing at all without words."""
        self._parts = (words, address, before, after)
        self.setAccessibleName(f"{before}{words}{after}")
        self._dress()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_parts"):
            self._dress()

    def _dress(self) -> None:
        words, address, before, after = (html.escape(part) for part in self._parts)
        # Qt keeps the colour that links had when the text was set, and the style sheet makes the
        # ground of labels transparent, so that their palette does not tell the theme.
        style = f"color: {Colours.of(QGuiApplication.palette()).link}"
        link = f'<a href="{address}" style="{style}">{words}</a>' if words else ""
        if self.text() != (text := f"{before}{link}{after}"):
            self.setText(text)


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
