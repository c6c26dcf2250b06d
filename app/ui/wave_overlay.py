"""Draws what lies over a waveform and moves often: playhead, range, suggestion, pointer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from app.ui.colours import Colours, translucent
from app.ui.time_axis import Range, Viewport

TINT = 0.22
DIMMED = 0.62
GRIP = (9, 26)  # width, height
MARGIN = 40.0  # pixels outside the view where things are still drawn


class RangeLook(Enum):
    """What the range means to the user."""

    LOOP = "loop"  # tinted
    TRIM = "trim"  # what lies outside is dimmed


@dataclass(frozen=True)
class Canvas:
    """Where and how to draw; `area` is the part below the ruler."""

    painter: QPainter
    view: Viewport
    area: QRectF
    colours: Colours
    ratio: float
    compact: bool

    def x(self, sample: float) -> float:
        """Where a sample is drawn; what is far outside is moved to just outside.

        Close zooms of long audio would else give numbers that are too large to draw with.
        """
        return min(max(self.view.x(sample), -MARGIN), self.view.width + MARGIN)

    def aligned(self, x: float) -> float:
        """The border between two pixels of the screen that is nearest to `x`."""
        return round(x * self.ratio) / self.ratio


def draw_placeholder(canvas: Canvas, text: str) -> None:
    """Words in the place of audio."""
    canvas.painter.setPen(QColor(canvas.colours.muted))
    flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
    canvas.painter.drawText(canvas.area.adjusted(16, 4, -16, -4), flags, text)


def draw_suggestion(canvas: Canvas, marked: Range) -> None:
    """A dashed frame with its name."""
    painter, area, colour = canvas.painter, canvas.area, canvas.colours.suggestion
    left, right = canvas.x(marked.start), canvas.x(marked.end)
    box = QRectF(left, area.top() + 1, right - left, area.height() - 2)
    painter.fillRect(box, translucent(colour, 0.10))
    painter.setPen(QPen(QColor(colour), 1.5, Qt.PenStyle.DashLine))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(box)
    text = "Suggested"
    metrics = painter.fontMetrics()
    if not canvas.compact and box.width() > metrics.horizontalAdvance(text) + 16:
        base = box.bottom() - metrics.descent() - 4
        painter.drawText(QPointF(max(left, 0) + 12, base), text)


def draw_range(canvas: Canvas, chosen: Range, look: RangeLook) -> None:
    """The chosen range with its handles."""
    width = canvas.view.width
    painter, area, colours = canvas.painter, canvas.area, canvas.colours
    left, right = canvas.x(chosen.start), canvas.x(chosen.end)
    if look is RangeLook.TRIM:
        veil = translucent(colours.window, DIMMED)
        painter.fillRect(QRectF(0, area.top(), max(left, 0), area.height()), veil)
        painter.fillRect(QRectF(right, area.top(), max(width - right, 0), area.height()), veil)
    else:
        tint = translucent(colours.accent, TINT)
        painter.fillRect(QRectF(left, area.top(), right - left, area.height()), tint)
    if canvas.compact:
        return
    painter.fillRect(QRectF(left, area.top() - 4, right - left, 3), QColor(colours.accent))
    # The grips lie outside the range, unless there is no room.
    _draw_handle(canvas, left, grip_left=not 0 <= left < GRIP[0])
    _draw_handle(canvas, right, grip_left=width - GRIP[0] < right <= width)


def _draw_handle(canvas: Canvas, x: float, *, grip_left: bool) -> None:
    """A line with a grip at one side."""
    painter, area, colours = canvas.painter, canvas.area, canvas.colours
    x = canvas.aligned(x)
    accent = QColor(colours.accent)
    painter.fillRect(QRectF(x - 1, area.top() - 4, 2, area.height() + 4), accent)
    width, height = GRIP
    middle = area.center().y()
    grip = QRectF(x + 1 - width if grip_left else x - 1, middle - height / 2, width, height)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(accent)
    painter.drawRoundedRect(grip, 3, 3)
    for offset in (-2, 1):
        line = QRectF(grip.center().x() + offset, middle - 6, 1, 12)
        painter.fillRect(line, QColor(colours.on_accent))


def draw_pointer(canvas: Canvas, x: float, text: str) -> None:
    """A thin line under the mouse pointer, and the time it stands at in the ruler."""
    painter, area, colours = canvas.painter, canvas.area, canvas.colours
    line = QRectF(canvas.aligned(x), area.top(), 1, area.height())
    painter.fillRect(line, translucent(colours.text, 0.35))
    room = painter.fontMetrics().horizontalAdvance(text) + 12
    left = min(max(x - room / 2, 1), canvas.view.width - room - 1)
    box = QRectF(left, 2, room, area.top() - 5)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colours.raised))
    painter.drawRoundedRect(box, 3, 3)
    painter.setPen(QColor(colours.text))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def draw_playhead(canvas: Canvas, sample: int) -> None:
    """The line at the position, with a head in the ruler."""
    painter, area = canvas.painter, canvas.area
    x = canvas.aligned(canvas.x(sample))
    colour = QColor(canvas.colours.text)
    painter.fillRect(QRectF(x - 0.75, area.top(), 1.5, area.height()), colour)
    if canvas.compact:
        return
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    top = area.top()
    corners = ((-6, -9), (6, -9), (6, -6), (0, 1), (-6, -6))
    painter.drawPolygon(QPolygonF([QPointF(x + dx, top + dy) for dx, dy in corners]))


def draw_frame(canvas: Canvas, rect: QRectF, *, has_focus: bool) -> None:
    """The border, thick when the keyboard is here."""
    painter, colours = canvas.painter, canvas.colours
    width = 2.0 if has_focus else 1.0
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(colours.accent if has_focus else colours.line), width))
    painter.drawRect(rect.adjusted(width / 2, width / 2, -width / 2, -width / 2))
