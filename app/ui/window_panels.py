"""Arranges the parts of the window, and remembers how people have arranged them."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from functools import partial
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import QByteArray, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QAction, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QMainWindow,
    QSplitter,
    QTabWidget,
    QWidget,
)

from app.ui.metrics import GAP
from app.ui.panel_folding import MARK, PanelFolding
from app.ui.shortcuts import shortcut

LAYOUT_VERSION: Final = 1  # of what is remembered; panels of another version stay where they are
SIDE_WIDTHS: Final = (254, 260)
LEAST_CENTRE: Final = QSize(554, 304)  # in which each tab shows its text and the main button
TAKES_HEIGHT: Final = 170
LEAST_TAKES_HEIGHT: Final = 128  # two takes
LARGE_TAKE_HEIGHT: Final = 320
LEAST_LARGE_HEIGHT: Final = 190
EDGE: Final = 6  # pixels between panels, as in the style sheet
STEP: Final = 24  # pixels by which a key moves an edge
_INWARDS: Final = MappingProxyType(
    {
        Qt.DockWidgetArea.LeftDockWidgetArea: (1, 0),
        Qt.DockWidgetArea.RightDockWidgetArea: (-1, 0),
        Qt.DockWidgetArea.TopDockWidgetArea: (0, 1),
        Qt.DockWidgetArea.BottomDockWidgetArea: (0, -1),
    }
)
"""Where the edge of a panel goes, right and down, when it grows."""
_LYING: Final = (Qt.DockWidgetArea.TopDockWidgetArea, Qt.DockWidgetArea.BottomDockWidgetArea)
_ARROWS: Final = MappingProxyType({"Left": (-1, 0), "Right": (1, 0), "Up": (0, -1), "Down": (0, 1)})


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
        self._folding = PanelFolding(
            tabs,
            {self.voices: SIDE_WIDTHS[0] + EDGE, self.settings: SIDE_WIDTHS[1] + EDGE},
            LEAST_CENTRE.width(),
        )
        self._tabs = tabs
        self._height_before = TAKES_HEIGHT
        self._closing = QTimer(self)  # until the panel knows that it needs less
        self._closing.setSingleShot(True)
        self._closing.setInterval(0)
        self._closing.timeout.connect(self._give_back)
        self._owed = 0  # pixels that the takes gave to the tabs in a low window
        self._resize_docks()
        self._first_state = self.saveState(LAYOUT_VERSION)
        for key in shortcut("panel-edge").keys:
            step = _ARROWS[key.rpartition("+")[2]]
            QShortcut(QKeySequence(key), self, partial(self.move_edge, *step))

    @property
    def toggles(self) -> tuple[QAction, ...]:
        """Show and hide the panels."""
        return tuple(dock.toggleViewAction() for dock in (self.voices, self.settings, self.takes))

    @property
    def state(self) -> str:
        """How the panels are arranged, to be remembered."""
        return MARK.join((encoded(self.saveState(LAYOUT_VERSION)), *self._folding.folded))

    def restore(self, state: str) -> None:
        """Arrange the panels as they were; what cannot be used changes nothing."""
        arrangement, *folded = state.split(MARK)
        if self.restoreState(decoded(arrangement), LAYOUT_VERSION):
            self._folding.restore(folded)

    def show_voices(self) -> None:
        """Show the voices, in the place of the settings if there is not room for both."""
        self._folding.show(self.voices)

    def arrange_anew(self) -> None:
        """Arrange the panels as at the first start."""
        self.restoreState(self._first_state, LAYOUT_VERSION)
        for dock in (self.voices, self.settings, self.takes):
            dock.show()
        self._folding.restore(())
        self._resize_docks()
        self._fit()

    def move_edge(self, right: int, down: int) -> None:
        """Move the edge of the panel with the focus by so many steps; others have no such edge."""
        focus = QApplication.focusWidget()
        for dock in (self.voices, self.settings, self.takes):
            if focus is not None and dock.isAncestorOf(focus):
                across, along = _INWARDS[self.dockWidgetArea(dock)]
                wider, higher = STEP * across * right, STEP * along * down
                if wider:
                    self.resizeDocks([dock], [dock.width() + wider], Qt.Orientation.Horizontal)
                if higher:
                    self.resizeDocks([dock], [dock.height() + higher], Qt.Orientation.Vertical)

    @Slot()
    def make_room(self) -> None:
        """Make the takes higher, for one of them is shown large."""
        self._height_before = self.takes.height()
        spare = max(self._tabs.height() - LEAST_CENTRE.height(), 0)
        height = max(min(self._height_before + spare, LARGE_TAKE_HEIGHT), LEAST_LARGE_HEIGHT)
        if height > self._height_before:
            self.resizeDocks([self.takes], [height], Qt.Orientation.Vertical)

    @Slot()
    def give_room_back(self) -> None:
        """Make the takes as high as they were before."""
        self._closing.start()

    @Slot()
    def _give_back(self) -> None:
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

    def _fit(self) -> None:
        """Leave the tabs what they need, and give back what is not needed any more."""
        self._folding.fit(self.width() - 2 * GAP)
        if self.takes.isHidden() or self.dockWidgetArea(self.takes) not in _LYING:
            return
        spare, height = self._tabs.height() - LEAST_CENTRE.height(), self.takes.height()
        change = min(spare, self._owed)  # below 0 the tabs get it
        change = max(change, min(LEAST_TAKES_HEIGHT - height, 0))
        if change:
            self._owed -= change
            self.resizeDocks([self.takes], [height + change], Qt.Orientation.Vertical)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

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
