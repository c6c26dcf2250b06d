"""Frames one numbered step of a longer work, so that people see where they are in it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.ui.colours import Colours
from app.ui.icons import paint_icon
from app.ui.inline_note import wrapped_label
from app.ui.metrics import GAP, HEADING, ROOM, scaled_font

BADGE = 26


class StepPanel(QFrame):
    """A card with a number that becomes a tick, a title, `head` beside it and `body` below."""

    def __init__(self, number: int, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("panel", True)
        self._title = title
        self._number = number
        self._badge = _Badge(number, self)
        self._heading = QLabel(title, self)
        self._heading.setFont(scaled_font(self, HEADING, bold=True))
        self._hint = wrapped_label(muted=True, parent=self)
        self._hint.hide()
        self._content = QWidget(self)
        self.head = QHBoxLayout()  # for what stands beside the title
        self.head.setSpacing(GAP)
        self.head.addWidget(self._badge)
        self.head.addWidget(self._heading)
        self.head.addStretch(1)
        self.body = QVBoxLayout(self._content)
        self.body.setContentsMargins(0, 0, 0, 0)
        self.body.setSpacing(GAP)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM - 4, ROOM - 4, ROOM - 4, ROOM - 4)
        layout.setSpacing(GAP + 2)
        layout.addLayout(self.head)
        layout.addWidget(self._hint)
        layout.addWidget(self._content)
        self._describe()

    @property
    def is_done(self) -> bool:
        return self._badge.is_done

    def set_open(self, is_open: bool, hint: str = "") -> None:
        """Show `body`, or `hint` in its place while the step has to wait."""
        self._content.setVisible(is_open)
        self._hint.setText(hint)
        self._hint.setVisible(not is_open and bool(hint))

    def set_done(self, done: bool) -> None:
        """Tick the step off, or not."""
        if done != self._badge.is_done:
            self._badge.is_done = done
            self._badge.update()
            self._describe()

    def _describe(self) -> None:
        done = ", done" if self._badge.is_done else ""
        self.setAccessibleName(f"Step {self._number}: {self._title}{done}")

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_heading"):
            self._heading.setFont(scaled_font(self, HEADING, bold=True))


class _Badge(QWidget):
    def __init__(self, number: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._number = number
        self.is_done = False
        self.setFixedSize(self.sizeHint())

    def sizeHint(self) -> QSize:
        return QSize(BADGE, BADGE)

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = Colours.of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        circle = self.rect().toRectF().adjusted(1.0, 1.0, -1.0, -1.0)
        painter.setPen(QPen(QColor(colours.accent), 1.5))
        if self.is_done:
            painter.setBrush(QColor(colours.accent))
            painter.drawEllipse(circle)
            margin = BADGE * 0.2
            inside = QRectF(self.rect()).adjusted(margin, margin, -margin, -margin)
            paint_icon(painter, "check", inside, colours.on_accent)
        else:
            painter.drawEllipse(circle)
            painter.setFont(scaled_font(self, 1.0, bold=True))
            painter.setPen(QColor(colours.text))
            painter.drawText(circle, Qt.AlignmentFlag.AlignCenter, str(self._number))
        painter.end()
