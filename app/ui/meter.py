"""Shows how loud a signal is, and that it was too loud until somebody says they saw it."""

from __future__ import annotations

import math
from typing import cast

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.audio.levels import Levels, decibels
from app.ui.colours import Colours, blend
from app.ui.metrics import CAPTION, scaled_font

FLOOR = -60.0  # dB at the quiet end
LOUD, TOO_LOUD = -12.0, -3.0  # dB, where the colour changes
MARKS = (-60, -48, -36, -24, -18, -12, -6, 0)
FEW_MARKS = (-60, -36, -18, -6, 0)
FALL = 24.0  # dB per second by which the bar falls back
BAR = 10  # thickness
LAMP = 42  # length of the lamp at the loud end of a horizontal meter
LAMP_HEIGHT = 18
SCALE_HEIGHT = 16
SCALE_WIDTH = 28
CORNER = 2.5


class MeterView(QWidget):
    """Bar (peak, RMS inside), held peak, noise floor, scale and a clip lamp that stays on.

    `compact` is the bar alone, for lists of devices. Call `show_levels` as often as the screen is
    refreshed; the bar falls back by the time that passed between two calls.
    """

    clip_reset = Signal()

    def __init__(
        self,
        orientation: Qt.Orientation = Qt.Orientation.Horizontal,
        *,
        compact: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._is_horizontal = orientation == Qt.Orientation.Horizontal
        self._compact = compact
        self._peak = self._rms = self._held = -math.inf  # dB
        self._noise: float | None = None  # dB
        self._has_clipped = False
        fixed, free = QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding
        self.setSizePolicy(*((free, fixed) if self._is_horizontal else (fixed, free)))
        self.setAccessibleName("Level")
        if not compact:
            self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            self.setToolTip("Peak and average level. CLIP stays lit until you click it.")
        self._describe()

    @property
    def has_clipped(self) -> bool:
        return self._has_clipped

    @property
    def peak(self) -> float:
        """What the bar shows, in dB below full scale."""
        return self._peak

    def show_levels(self, levels: Levels, seconds: float = 0.033) -> None:
        """Show amplitudes; `seconds` have passed since those before."""
        fallen = self._peak - FALL * seconds
        peak = decibels(levels.peak)
        shown = (max(peak, fallen), decibels(levels.rms), decibels(levels.held_peak))
        if shown[0] < FLOOR - 1:
            shown = (-math.inf, shown[1], shown[2])
        if shown != (self._peak, self._rms, self._held):
            self._peak, self._rms, self._held = shown
            self.update()

    def set_clipped(self, clipped: bool) -> None:
        """Light the lamp or put it out; no signal is sent."""
        if clipped != self._has_clipped:
            self._has_clipped = clipped
            self._describe()
            self.update()

    def reset_clip(self) -> None:
        """Put the lamp out as the user does."""
        if self._has_clipped:
            self.set_clipped(False)
            self.clip_reset.emit()

    def set_noise_floor(self, amplitude: float | None) -> None:
        """Mark how loud the room is."""
        noise = None if amplitude is None else decibels(amplitude)
        if noise != self._noise:
            self._noise = noise
            self.update()

    def clear(self) -> None:
        """Show silence at once; the lamp stays as it is."""
        self._peak = self._rms = self._held = -math.inf
        self._noise = None
        self.update()

    # Drawing

    def sizeHint(self) -> QSize:
        across = 8 if self._compact else BAR + 6 + SCALE_HEIGHT
        if self._is_horizontal:
            return QSize(80 if self._compact else 240, across)
        return QSize(8 if self._compact else max(LAMP, BAR + 6 + SCALE_WIDTH), 160)

    def minimumSizeHint(self) -> QSize:
        hint = self.sizeHint()
        shortest = 40 if self._compact else 120
        if self._is_horizontal:
            return QSize(shortest, hint.height())
        return QSize(hint.width(), shortest)

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = Colours.of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bar = self._bar()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(blend(colours.field, colours.line, 0.8)))
        painter.drawRoundedRect(bar, CORNER, CORNER)
        self._fill(painter, colours, bar)
        if not self._compact:
            self._draw_scale(painter, colours, bar)
            self._draw_lamp(painter, colours)
        painter.end()

    def _fill(self, painter: QPainter, colours: Colours, bar: QRectF) -> None:
        """Peak in pale, RMS in full colour; both change colour along the way."""
        zones = ((FLOOR, LOUD, colours.good), (LOUD, TOO_LOUD, colours.warning))
        for start, end, colour in (*zones, (TOO_LOUD, 0.0, colours.danger)):
            for level, share in ((self._peak, 0.5), (self._rms, 1.0)):
                if level > start:
                    painter.setBrush(QColor(blend(colours.field, colour, share)))
                    painter.drawRect(self._part(bar, start, min(level, end)))
        if self._held > FLOOR:
            x = self._share(self._held)
            painter.setBrush(QColor(colours.text))
            painter.drawRect(self._line(bar, x, 2.0))
        if self._noise is not None and self._noise > FLOOR:
            self._draw_noise(painter, colours, bar, self._share(self._noise))

    def _draw_noise(self, painter: QPainter, colours: Colours, bar: QRectF, at: float) -> None:
        """A triangle that points at the bar, from the side where the scale is."""
        painter.setBrush(QColor(colours.info))
        painter.drawRect(self._line(bar, at, 1.5))
        if self._compact:
            return
        if self._is_horizontal:
            x, y = bar.left() + at * bar.width(), bar.bottom()
            corners = [QPointF(x, y), QPointF(x - 4, y + 6), QPointF(x + 4, y + 6)]
        else:
            x, y = bar.right(), bar.bottom() - at * bar.height()
            corners = [QPointF(x, y), QPointF(x + 6, y - 4), QPointF(x + 6, y + 4)]
        painter.drawPolygon(QPolygonF(corners))

    def _draw_scale(self, painter: QPainter, colours: Colours, bar: QRectF) -> None:
        painter.setFont(scaled_font(self, CAPTION * 0.9))
        metrics = painter.fontMetrics()
        length = bar.width() if self._is_horizontal else bar.height()
        room = metrics.horizontalAdvance("-00") + 6 if self._is_horizontal else metrics.height()
        marks = MARKS if length * 6 / -FLOOR >= room else FEW_MARKS
        painter.setPen(QColor(colours.muted))
        for mark in marks:
            text = str(mark).replace("-", "\N{MINUS SIGN}")
            width = metrics.horizontalAdvance(text)
            at = self._share(mark)
            if self._is_horizontal:
                x = bar.left() + at * bar.width()
                left = min(max(x - width / 2, 0.0), bar.right() - width)
                painter.drawText(QPointF(left, bar.bottom() + 4 + metrics.ascent()), text)
            else:
                y = bar.bottom() - at * bar.height()
                top = min(max(y - metrics.height() / 2, 0.0), bar.bottom() - metrics.height())
                painter.drawText(QPointF(bar.right() + 8, top + metrics.ascent()), text)

    def _draw_lamp(self, painter: QPainter, colours: Colours) -> None:
        lamp = self._lamp()
        lit = self._has_clipped
        painter.setBrush(QColor(colours.danger) if lit else Qt.BrushStyle.NoBrush)
        focused = self.hasFocus()
        edge = colours.accent if focused else colours.danger if lit else colours.line
        painter.setPen(QPen(QColor(edge), 2 if focused else 1))
        painter.drawRoundedRect(lamp, 3, 3)
        painter.setFont(scaled_font(self, CAPTION * 0.85, bold=lit))
        painter.setPen(QColor(colours.field if lit else colours.muted))
        painter.drawText(lamp, Qt.AlignmentFlag.AlignCenter, "CLIP")

    def _lamp(self) -> QRectF:
        if self._is_horizontal:
            return QRectF(self.width() - LAMP + 1, 1, LAMP - 2, LAMP_HEIGHT)
        return QRectF(1, 1, self.width() - 2, LAMP_HEIGHT)

    def _bar(self) -> QRectF:
        if self._compact:
            return QRectF(self.rect())
        if self._is_horizontal:
            return QRectF(0, (LAMP_HEIGHT + 2 - BAR) / 2, self.width() - LAMP - 8, BAR)
        top = LAMP_HEIGHT + 8
        return QRectF(1, top, BAR, self.height() - top - 2)

    def _part(self, bar: QRectF, start: float, end: float) -> QRectF:
        """The piece of the bar between two levels."""
        first, last = self._share(start), self._share(end)
        if self._is_horizontal:
            left = bar.left() + first * bar.width()
            return QRectF(left, bar.top(), (last - first) * bar.width(), bar.height())
        top = bar.bottom() - last * bar.height()
        return QRectF(bar.left(), top, bar.width(), (last - first) * bar.height())

    def _line(self, bar: QRectF, at: float, thickness: float) -> QRectF:
        if self._is_horizontal:
            x = min(bar.left() + at * bar.width(), bar.right() - thickness)
            return QRectF(x, bar.top(), thickness, bar.height())
        y = max(bar.bottom() - at * bar.height(), bar.top())
        return QRectF(bar.left(), y, bar.width(), thickness)

    @staticmethod
    def _share(level: float) -> float:
        return min(max((level - FLOOR) / -FLOOR, 0.0), 1.0)

    # Mouse, keyboard, theme

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if not self._compact and self._lamp().contains(event.position()):
            self.reset_clip()
        else:
            event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.reset_clip()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        is_claim = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
        if is_claim and cast(QKeyEvent, event).key() == Qt.Key.Key_Space:
            event.accept()  # Space plays everywhere else
        return super().event(event)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self.update()
        super().changeEvent(event)

    def _describe(self) -> None:
        said = "The signal was too loud. Press Space to reset." if self._has_clipped else "No clip"
        self.setAccessibleDescription(said)
