"""Arranges the parts of the window, and remembers how people have arranged them."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from typing import Final

from PySide6.QtCore import QByteArray, QSize, Qt, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDockWidget, QMainWindow, QSplitter, QTabWidget, QWidget

from app.ui.metrics import GAP

LAYOUT_VERSION: Final = 1  # of what is remembered; panels of another version stay where they are
SIDE_WIDTHS: Final = (254, 256)
TAKES_HEIGHT: Final = 170
LARGE_TAKE_HEIGHT: Final = 320


class WindowPanels(QMainWindow):
    """The tabs in the middle, with voices and settings beside and takes below them.

    It lies inside the window, so that banner and transport keep the whole width.
    """

    def __init__(
        self, tabs: QTabWidget, voices: QWidget, settings: QWidget, takes: QWidget
    ) -> None:
        super().__init__()
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setCentralWidget(tabs)
        self.setContentsMargins(GAP, 0, GAP, 0)
        self.setDockOptions(
            QMainWindow.DockOption.AnimatedDocks | QMainWindow.DockOption.AllowTabbedDocks
        )
        self.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        # Waveforms need the width more than the settings need the height, which scroll.
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.BottomDockWidgetArea)
        area = Qt.DockWidgetArea
        self.voices = self._dock("Voices", voices, area.LeftDockWidgetArea)
        self.settings = self._dock("Settings", settings, area.RightDockWidgetArea)
        self.takes = self._dock("Takes", takes, area.BottomDockWidgetArea)
        self._height_before = TAKES_HEIGHT
        self._resize_docks()
        self._first_state = self.saveState(LAYOUT_VERSION)

    @property
    def toggles(self) -> tuple[QAction, ...]:
        """Show and hide the panels."""
        return tuple(dock.toggleViewAction() for dock in (self.voices, self.settings, self.takes))

    @property
    def state(self) -> str:
        """How the panels are arranged, to be remembered."""
        return encoded(self.saveState(LAYOUT_VERSION))

    def restore(self, state: str) -> None:
        """Arrange the panels as they were; what cannot be used changes nothing."""
        self.restoreState(decoded(state), LAYOUT_VERSION)

    def arrange_anew(self) -> None:
        """Arrange the panels as at the first start."""
        self.restoreState(self._first_state, LAYOUT_VERSION)
        for dock in (self.voices, self.settings, self.takes):
            dock.show()
        self._resize_docks()

    @Slot()
    def make_room(self) -> None:
        """Make the takes higher, for one of them is shown large."""
        self._height_before = self.takes.height()
        height = max(self._height_before, LARGE_TAKE_HEIGHT)
        self.resizeDocks([self.takes], [height], Qt.Orientation.Vertical)

    @Slot()
    def give_room_back(self) -> None:
        """Make the takes as high as they were before."""
        self.resizeDocks([self.takes], [self._height_before], Qt.Orientation.Vertical)

    def _resize_docks(self) -> None:
        sides = Qt.Orientation.Horizontal
        self.resizeDocks([self.voices, self.settings], list(SIDE_WIDTHS), sides)
        self.resizeDocks([self.takes], [TAKES_HEIGHT], Qt.Orientation.Vertical)

    def _dock(self, title: str, content: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        dock = QDockWidget(title, self)
        dock.setObjectName(title.lower())  # the state remembers it by this
        dock.setWidget(content)
        # Not floating: many compositors place such windows where nobody sees them.
        dock.setFeatures(
            QDockWidget.DockWidgetFeature.DockWidgetMovable
            | QDockWidget.DockWidgetFeature.DockWidgetClosable
        )
        self.addDockWidget(area, dock)
        return dock

    def sizeHint(self) -> QSize:
        return QSize(1280, 700)


def shown_together(above: QWidget, below: QWidget) -> QSplitter:
    """Two views in one panel; `above` may be hidden, and has most of the room when it is not."""
    splitter = QSplitter(Qt.Orientation.Vertical)
    splitter.addWidget(above)
    splitter.addWidget(below)
    splitter.setChildrenCollapsible(False)
    splitter.setStretchFactor(0, 2)
    splitter.setStretchFactor(1, 1)
    return splitter


def encoded(state: QByteArray) -> str:
    """Bytes as text, for the settings."""
    return b64encode(state.data()).decode()


def decoded(text: str) -> QByteArray:
    """The bytes of a text; none if it is no such text."""
    try:
        return QByteArray(b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return QByteArray()
