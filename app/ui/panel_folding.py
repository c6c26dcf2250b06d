"""Puts panels at the sides away while the window is too narrow for them, and brings them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QDockWidget, QHBoxLayout, QTabWidget, QToolButton, QWidget

from app.ui.metrics import TIGHT

MARK = "|"
"""Stands before the names of panels in what is remembered; no character of Base64."""


class PanelFolding(QObject):
    """Knows which panels are away for want of room, which is not the same as closed by somebody.

    While there is not room for all, buttons beside the tabs show them, one in the place of another.
    """

    def __init__(self, tabs: QTabWidget, widths: Mapping[QDockWidget, int], least: int) -> None:
        """`widths` are what the panels need, the dearest first; `least` is what `tabs` needs."""
        super().__init__(tabs)
        self._widths = MappingProxyType(dict(widths))
        self._least = least
        self._room = sum(widths.values()) + least
        self._folded: set[QDockWidget] = set()
        self._wanted: QDockWidget | None = None  # what somebody has asked for goes before others
        self._buttons: dict[QDockWidget, QToolButton] = {}
        corner = QWidget(tabs)
        row = QHBoxLayout(corner)
        row.setContentsMargins(0, 0, 0, TIGHT)
        row.setSpacing(TIGHT)
        for dock in widths:
            action = dock.toggleViewAction()
            action.triggered.connect(lambda shown, dock=dock: self._on_triggered(dock, shown))
            button = self._buttons[dock] = QToolButton(corner)
            button.setDefaultAction(action)
            button.setProperty("kind", "quiet")
            button.hide()
            row.addWidget(button)
        tabs.setCornerWidget(corner, Qt.Corner.TopRightCorner)

    @property
    def folded(self) -> tuple[str, ...]:
        """The names of the panels that are away for want of room."""
        return tuple(dock.objectName() for dock in self._widths if dock in self._folded)

    def restore(self, names: Sequence[str]) -> None:
        """Take over which panels were away for want of room when they were put away."""
        self._folded = {dock for dock in self._widths if dock.objectName() in names}
        self._wanted = None

    def fit(self, room: int) -> None:
        """Fold and unfold panels for so many pixels; what somebody has closed stays closed."""
        self._room = room
        left = room - self._least
        order = sorted(self._widths, key=lambda dock: dock is not self._wanted)
        tight = left < sum(self._widths[dock] for dock in order)
        if not tight:
            self._wanted = None
        for dock in order:
            self._buttons[dock].setVisible(tight)
            if _is_closed(dock) and dock not in self._folded:
                continue
            if self._widths[dock] <= left or dock is self._wanted:
                left -= self._widths[dock]
                if dock in self._folded:
                    self._folded.remove(dock)
                    dock.show()
            elif dock not in self._folded:
                self._folded.add(dock)
                dock.hide()

    def show(self, dock: QDockWidget) -> None:
        """Show a panel, in the place of others if there is not room for all."""
        self._folded.discard(dock)
        dock.show()
        self._wanted = dock
        self.fit(self._room)

    def _on_triggered(self, dock: QDockWidget, shown: bool) -> None:
        if shown:
            self.show(dock)
            return
        if dock is self._wanted:
            self._folded.add(dock)  # it only makes room again for what it took the place of
        else:
            self._folded.discard(dock)
        self._wanted = None
        self.fit(self._room)


def _is_closed(dock: QDockWidget) -> bool:
    """Whether it was hidden, and not only is not shown yet."""
    return dock.isHidden() and dock.testAttribute(Qt.WidgetAttribute.WA_WState_ExplicitShowHide)
