"""A row of colours of which one is chosen, each with its name; the chosen one has a tick."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QHBoxLayout, QWidget

from app.core.voice_colours import VOICE_COLOURS
from app.ui.colours import Colours, Rgb
from app.ui.icons import paint_icon
from app.ui.metrics import TARGET, TIGHT
from app.ui.voice_look import ink_on

SIDE: Final = TARGET + 4


class ColourRow(QWidget):
    """Colours for a voice."""

    chosen = Signal(str)  # "#rrggbb"

    def __init__(self, colour: Rgb, parent: QWidget | None = None) -> None:
        """`colour` is chosen, also if it is none of ours."""
        super().__init__(parent)
        offered = [*VOICE_COLOURS]
        if colour not in [rgb for rgb, _ in offered]:
            offered.append((colour, "Its own colour"))
        self._colours = [rgb for rgb, _ in offered]
        self._group = QButtonGroup(self)
        self._group.idClicked.connect(self._on_clicked)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TIGHT)
        for at, (rgb, name) in enumerate(offered):
            button = _Swatch(rgb, name, self)
            button.setChecked(rgb == colour)
            self._group.addButton(button, at)
            layout.addWidget(button)
        layout.addStretch(1)
        self.setAccessibleName("Colour")

    @property
    def colour(self) -> str:
        """The chosen colour."""
        return self._colours[self._group.checkedId()]

    @Slot(int)
    def _on_clicked(self, at: int) -> None:
        self.chosen.emit(self._colours[at])


class _Swatch(QAbstractButton):
    def __init__(self, rgb: Rgb, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._rgb = rgb
        self.setCheckable(True)
        self.setToolTip(name)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def sizeHint(self) -> QSize:
        return QSize(SIDE, SIDE)

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = Colours.of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(0, 0, SIDE, SIDE)
        if self.hasFocus() or self.isChecked():
            width = 2 if self.hasFocus() else 1
            painter.setPen(QPen(QColor(colours.accent if self.hasFocus() else colours.text), width))
            painter.drawEllipse(area.adjusted(1, 1, -1, -1))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._rgb))
        painter.setOpacity(1.0 if self.isEnabled() else 0.5)
        painter.drawEllipse(area.adjusted(4, 4, -4, -4))
        if self.isChecked():
            paint_icon(painter, "check", area.adjusted(7, 7, -7, -7), ink_on(self._rgb))
        painter.end()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.update()
