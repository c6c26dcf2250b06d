"""Distances, sizes and text sizes in device independent units, so that all views agree."""

from __future__ import annotations

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QWidget

TIGHT = 4  # between parts of one control
GAP = 8  # between controls
ROOM = 16  # between groups, and around the content of a panel
RADIUS = 6
CONTROL = 32  # height of buttons and fields
ICON = 18
TARGET = 24  # smallest thing that is clicked

TITLE = 1.35  # text sizes, as shares of the base size
HEADING = 1.12
CAPTION = 0.9


def scaled_font(widget: QWidget, share: float, *, bold: bool = False) -> QFont:
    """The font of a widget, larger or smaller."""
    font = QFont(widget.font())
    font.setPointSizeF(max(font.pointSizeF() * share, 1.0))
    if bold:
        font.setWeight(QFont.Weight.DemiBold)
    return font
