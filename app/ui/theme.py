"""Applies light, dark or the system's choice to the whole application, at any time."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication

from app.core.settings import Theme
from app.ui.colours import DARK, LIGHT, Colours
from app.ui.style_sheet import style_sheet


class Appearance(QObject):
    """Owns the look of the application.

    Widgets need not know it: they draw with `Colours.of(self.palette())`, and Qt repaints them and
    sends them a PaletteChange when the theme changes.
    """

    changed = Signal()

    def __init__(
        self,
        application: QApplication,
        choice: Theme = Theme.SYSTEM,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._application = application
        self._hints = application.styleHints()
        self._choice = choice
        self._colours: Colours | None = None
        self._system = self._hints.colorScheme()
        application.setStyle("Fusion")
        self._hints.colorSchemeChanged.connect(self._on_system)
        self.choose(choice)

    @property
    def choice(self) -> Theme:
        return self._choice

    @property
    def colours(self) -> Colours:
        """Of the theme that is shown."""
        return self._wanted()

    def choose(self, choice: Theme) -> None:
        """Show a theme from now on."""
        self._choice = choice
        # So that title bars and file dialogs, which the system draws, match.
        if choice is Theme.SYSTEM:
            self._hints.unsetColorScheme()
            self._system = self._hints.colorScheme()
        else:
            dark = choice is Theme.DARK
            self._hints.setColorScheme(Qt.ColorScheme.Dark if dark else Qt.ColorScheme.Light)
        self._apply()

    def _wanted(self) -> Colours:
        if self._choice is Theme.SYSTEM:
            return DARK if self._system == Qt.ColorScheme.Dark else LIGHT
        return DARK if self._choice is Theme.DARK else LIGHT

    @Slot(Qt.ColorScheme)
    def _on_system(self, scheme: Qt.ColorScheme) -> None:
        if self._choice is Theme.SYSTEM:  # else it is our own choice that comes back
            self._system = scheme
            self._apply()

    def _apply(self) -> None:
        colours = self._wanted()
        shown = self._application.palette().color(QPalette.ColorRole.Window).name()
        if colours is self._colours and shown == colours.window:
            return
        self._colours = colours
        self._application.setPalette(colours.palette())
        self._application.setStyleSheet(style_sheet(colours))
        self.changed.emit()
