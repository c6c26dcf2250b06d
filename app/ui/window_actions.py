"""The window's actions and the menus that offer them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMainWindow, QMenu

from app.core.settings import Theme
from app.ui.icons import icon
from app.ui.preferences_dialog import THEMES
from app.ui.shortcuts import SHORTCUTS, Context, make_action

ICONS: Final = {
    "play": "play",
    "speak": "speak",
    "record": "record",
    "loop": "loop",
    "find": "search",
    "open": "open",
    "models": "model",
    "take-save": "save",
    "undo": "undo",
    "redo": "redo",
    "preferences": "settings",
    "help": "help",
    "cancel": "stop",
}
OWN: Final = (
    ("new-session", "New session"),
    ("open-session", "Open a session"),
    ("rename-session", "Rename this session"),
    ("save-starred", "Save starred takes"),
    ("trash", "Show the trash…"),
    ("large-take", "Show the take large, or small again"),
    ("new-panels", "Arrange the panels as at first"),
    ("log", "Show the log"),
    ("about", "About voice studio"),
)
"""Actions without a key."""


class WindowActions:
    """Every action by its name; those of `shortcuts.py` have the keys of that table."""

    def __init__(self, window: QMainWindow) -> None:
        self._window = window
        self._actions: dict[str, QAction] = {}
        for row in SHORTCUTS:
            if row.is_action and row.context is Context.EVERYWHERE:
                self._actions[row.name] = make_action(row.name, window)
        for name, text in OWN:
            self._actions[name] = QAction(text, window)
        for name, picture in ICONS.items():
            self._actions[name].setIcon(icon(picture))
        sessions = ("new-session", "open-session", "rename-session")
        saving = ("take-save", "save-starred")
        for name in ("models", "open", "preferences", *sessions, *saving):
            self._actions[name].setText(f"{self._actions[name].text()}…")
        self._actions["about"].setMenuRole(QAction.MenuRole.AboutRole)
        self._actions["preferences"].setMenuRole(QAction.MenuRole.PreferencesRole)
        self._actions["quit"].setMenuRole(QAction.MenuRole.QuitRole)
        self.voice_menu = QMenu("Chosen &voice", window)  # filled when it is about to be shown
        self.themes = QActionGroup(window)
        for theme, label in THEMES:
            choice = self.themes.addAction(label)
            choice.setCheckable(True)
            choice.setData(theme)

    def __getitem__(self, name: str) -> QAction:
        return self._actions[name]

    def connect(self, **slots: Callable[[], object]) -> None:
        """Say what actions do; an underscore in a name stands for a hyphen."""
        for name, slot in slots.items():
            self._actions[name.replace("_", "-")].triggered.connect(slot)

    def show_history(self, undo: str, redo: str) -> None:
        """Name what can be undone and done again; empty for nothing."""
        for name, word, label in (("undo", "Undo", undo), ("redo", "Redo", redo)):
            action = self._actions[name]
            action.setText(f"{word}: {label}" if label else word)
            action.setEnabled(bool(label))

    def show_savable(self, *, current: bool, starred: bool) -> None:
        """Whether there is a chosen take to be saved, and whether some are starred."""
        self._actions["take-save"].setEnabled(current)
        self._actions["save-starred"].setEnabled(starred)

    def show_theme(self, theme: Theme) -> None:
        """Tick the theme that is chosen."""
        for choice in self.themes.actions():
            choice.setChecked(choice.data() == theme)

    def fill_menu_bar(self, panels: tuple[QAction, ...]) -> None:
        """Make the menus; `panels` show and hide the docks."""
        sessions = ("new-session", "open-session", "rename-session")
        saving = ("take-save", "save-starred")
        rest = ("models", "open", None, "preferences", None, "quit")
        self._menu("&File", *sessions, None, *saving, None, *rest)
        self._menu("&Edit", "undo", "redo", None, "find", None, "trash")
        voice = self._menu("&Voice", "speak", "takes", "cancel", None, "record", None)
        voice.addMenu(self.voice_menu)
        voice.addSeparator()
        voice.addActions([self._actions["play"], self._actions["loop"]])
        view = self._menu("V&iew", "tab-1", "tab-2", "tab-3", None)
        view.addActions([self._actions["large-take"], *panels])
        view.addAction(self._actions["new-panels"])
        view.addSeparator()
        view.addMenu("&Theme").addActions(self.themes.actions())
        view.addActions([self._actions[name] for name in ("theme", "larger", "smaller")])
        self._menu("&Help", "help", "log", None, "about")

    def _menu(self, title: str, *names: str | None) -> QMenu:
        menu = self._window.menuBar().addMenu(title)
        for name in names:
            if name is None:
                menu.addSeparator()
            else:
                menu.addAction(self._actions[name])
        return menu
