"""Asks for the name of a session, and which one to open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QDateTime, QLocale, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.studio.sessions import KnownSession
from app.ui.controls import muted_label
from app.ui.dialogs import SaveButtons
from app.ui.metrics import GAP, ROOM
from engine.plain_text import one_line

WIDTH = 460
LIST_HEIGHT = 280
LONGEST_NAME = 100


class NameDialog(QDialog):
    """One name, of a new session or for the open one."""

    def __init__(self, title: str, name: str, yes: str, parent: QWidget | None = None) -> None:
        """`yes` is the word on the button that takes the name."""
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setMinimumWidth(WIDTH)
        self._name = QLineEdit(name, self)
        self._name.setAccessibleName("Name of the session")
        self._name.setMaxLength(LONGEST_NAME)
        self._name.selectAll()
        label = QLabel("&Name", self)
        label.setBuddy(self._name)
        self._buttons = SaveButtons(self, yes)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM, ROOM, ROOM, ROOM)
        layout.setSpacing(GAP)
        for widget in (label, self._name, self._buttons):
            layout.addWidget(widget)
        self._name.textChanged.connect(self._on_name)
        self._on_name()

    @property
    def name(self) -> str:
        return " ".join(self._name.text().split())

    @Slot()
    def _on_name(self) -> None:
        self._buttons.save.setEnabled(bool(self.name))


class SessionFinder(Protocol):
    """Who knows the sessions (`app.studio.sessions.Sessions`)."""

    def find(self, then: Callable[[tuple[KnownSession, ...]], None]) -> None: ...


class SessionsDialog(QDialog):
    """A list of the sessions, last changed first."""

    chosen = Signal(Path)  # the folder of another session than the open one

    def __init__(self, sessions: SessionFinder, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Open a session")
        self.setMinimumWidth(WIDTH)
        self._found: tuple[KnownSession, ...] = ()
        self._is_open = True
        self._list = QListWidget(self)
        self._list.setAccessibleName("Sessions")
        self._list.setMinimumHeight(LIST_HEIGHT)
        self._list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._buttons = SaveButtons(self, "Open")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM, ROOM, ROOM, ROOM)
        layout.setSpacing(GAP)
        layout.addWidget(self._list, 1)
        layout.addWidget(muted_label("What is being spoken is stopped, and kept.", self))
        layout.addWidget(self._buttons)
        self._list.itemSelectionChanged.connect(self._enable)
        self._list.itemActivated.connect(self.accept)
        self._enable()
        sessions.find(self._show)

    def accept(self) -> None:
        known = self._chosen()
        if known is not None:
            super().accept()
            self.chosen.emit(known.folder)

    def done(self, result: int) -> None:
        self._is_open = False
        super().done(result)

    def _chosen(self) -> KnownSession | None:
        """What is selected, unless it is open already."""
        rows = [index.row() for index in self._list.selectedIndexes()]
        known = self._found[rows[0]] if rows else None
        return None if known is None or known.is_here else known

    def _show(self, found: tuple[KnownSession, ...]) -> None:
        if not self._is_open:
            return
        self._found = found
        self._list.clear()
        for known in found:
            moment = QDateTime.fromSecsSinceEpoch(round(known.changed))
            changed = QLocale().toString(moment, QLocale.FormatType.ShortFormat)
            mark = "open now" if known.is_here else changed
            item = QListWidgetItem(f"{one_line(known.title)} ({mark})", self._list)
            item.setToolTip(one_line(str(known.folder)))
        others = (row for row, known in enumerate(found) if not known.is_here)
        self._list.setCurrentRow(next(others, -1))
        self._list.setFocus()

    @Slot()
    def _enable(self) -> None:
        self._buttons.save.setEnabled(self._chosen() is not None)
