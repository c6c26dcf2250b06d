"""Lies over a panel while something is dragged across it, and says what dropping it will do."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.ui.colours import Colours, translucent
from app.ui.icons import paint_icon
from app.ui.metrics import GAP, HEADING, RADIUS, scaled_font

PICTURE = 40
OPACITY = 0.92


class DropHint(QWidget):
    """Hidden until there is something to say; lets the mouse through."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._text = ""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    @property
    def text(self) -> str:
        return self._text

    def tell(self, text: str) -> None:
        """Show a sentence on top of everything else."""
        self._text = text
        self.setAccessibleName(text)
        self.raise_()
        self.show()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = Colours.of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(translucent(colours.raised, OPACITY))
        painter.setPen(QPen(QColor(colours.accent), 2, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(self.rect().toRectF().adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        picture = QRectF(0, 0, PICTURE, PICTURE)
        picture.moveCenter(self.rect().toRectF().center())
        picture.translate(0, -PICTURE)
        paint_icon(painter, "open", picture, colours.accent)
        painter.setFont(scaled_font(self, HEADING, bold=True))
        painter.setPen(QColor(colours.text))
        words = self.rect().adjusted(GAP, 0, -GAP, 0)
        words.setTop(int(picture.bottom()) + GAP)
        painter.drawText(
            words,
            Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap,
            self._text,
        )
        painter.end()
