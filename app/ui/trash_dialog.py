"""Shows what was deleted, brings it back, and deletes it for good once that was confirmed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from PySide6.QtCore import (
    QDateTime,
    QItemSelection,
    QItemSelectionModel,
    QLocale,
    Qt,
    Slot,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QMessageBox,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.core.trash import TrashItem
from app.ui.icons import icon
from app.ui.inline_note import wrapped_label
from app.ui.metrics import GAP, ROOM
from engine.plain_text import one_line

SIZE = (560, 420)
KINDS: Final = (
    ("voice", "Voice", "voice"),
    ("take", "Take", "waveform"),
    ("unfinished voice", "Unfinished voice", "voice"),
)


class Deleted(Protocol):
    """What was deleted, and what can be done with it."""

    def trash_items(self, then: Callable[[tuple[TrashItem, ...]], None]) -> None:
        """Hand what is in the trash to `then`, newest first."""
        ...

    def restore(self, *items: TrashItem) -> None: ...

    def discard(self, *items: TrashItem) -> None:
        """Delete for good."""
        ...

    def empty_trash(self) -> None:
        """Delete everything that `trash_items` lists for good."""
        ...


Confirm: TypeAlias = Callable[[QWidget, str, str], bool]
"""Asks a question, with the word for yes on the button."""


class TrashDialog(QDialog):
    """A table of deleted voices and takes."""

    def __init__(
        self,
        deleted: Deleted,
        confirm: Confirm | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Trash")
        self._deleted = deleted
        self._confirm = confirm or ask
        self._items: tuple[TrashItem, ...] = ()
        self._is_open = True
        self._table = _table()
        self._empty = QLabel("The trash is empty.", self)
        self._restore = QPushButton(icon("undo"), "Restore", self)
        self._remove = QPushButton("Delete for good…", self)
        self._clear = QPushButton("Empty the trash…", self)
        self._close = QPushButton("Close", self)
        self._build()
        self._empty.hide()
        self._update_buttons()
        self.resize(*SIZE)
        deleted.trash_items(self._show)

    @property
    def items(self) -> tuple[TrashItem, ...]:
        """What is listed, from top to bottom."""
        return self._items

    @property
    def chosen(self) -> tuple[TrashItem, ...]:
        """The selected ones."""
        rows = sorted({index.row() for index in self._table.selectedIndexes()})
        return tuple(self._items[row] for row in rows)

    def choose(self, *rows: int) -> None:
        """Select these rows."""
        selection = QItemSelection()
        for row in rows:
            index = self._table.model().index(row, 0)
            selection.select(index, index)
        flag = QItemSelectionModel.SelectionFlag
        self._table.selectionModel().select(selection, flag.ClearAndSelect | flag.Rows)

    def done(self, result: int) -> None:
        self._is_open = False
        super().done(result)

    def _build(self) -> None:
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setProperty("muted", True)
        for button, tip, act in (
            (self._restore, "Bring back what is selected (Enter)", self._on_restore),
            (self._remove, "Delete what is selected for good", self._on_remove),
            (self._clear, "Delete everything listed for good", self._on_clear),
            (self._close, "Close (Esc)", self.reject),
        ):
            button.setToolTip(tip)
            button.setAutoDefault(False)
            button.clicked.connect(act)
        for button in (self._remove, self._clear):
            button.setProperty("kind", "danger")
        self._table.itemSelectionChanged.connect(self._update_buttons)
        self._table.itemActivated.connect(self._on_restore)
        buttons = QHBoxLayout()
        buttons.setSpacing(GAP)
        for button in (self._restore, self._remove, self._clear):
            buttons.addWidget(button)
        buttons.addStretch(1)
        buttons.addWidget(self._close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM, ROOM, ROOM, ROOM)
        layout.setSpacing(GAP)
        layout.addWidget(
            wrapped_label("What you delete stays here until you empty the trash.", muted=True)
        )
        layout.addWidget(self._table, 1)
        layout.addWidget(self._empty, 1)
        layout.addLayout(buttons)

    def _show(self, items: tuple[TrashItem, ...]) -> None:
        if not self._is_open:
            return
        self._items = items
        self._table.setRowCount(len(items))
        for row, item in enumerate(items):
            word, picture = _kind(item)
            label = one_line(item.label)
            name = QTableWidgetItem(icon(picture), label)
            for column, cell in enumerate(
                (name, QTableWidgetItem(word), QTableWidgetItem(_when(item)))
            ):
                cell.setToolTip(f"{label}\n{word}, deleted {_when(item)}")
                self._table.setItem(row, column, cell)
        self._table.setVisible(bool(items))
        self._empty.setVisible(not items)
        self._clear.setEnabled(bool(items))
        if items:
            self._table.clearSelection()
            self._table.selectRow(0)
        self._update_buttons()

    @Slot()
    def _update_buttons(self) -> None:
        for button in (self._restore, self._remove):
            button.setEnabled(bool(self.chosen))
        self._clear.setEnabled(bool(self._items))

    @Slot()
    def _on_restore(self) -> None:
        if self.chosen:
            self._deleted.restore(*self.chosen)
            self._deleted.trash_items(self._show)

    @Slot()
    def _on_remove(self) -> None:
        chosen = self.chosen
        if chosen and self._confirm(
            self, f"Delete {_named(chosen)} for good? This cannot be undone.", "Delete for good"
        ):
            self._deleted.discard(*chosen)
            self._deleted.trash_items(self._show)

    @Slot()
    def _on_clear(self) -> None:
        if self._items and self._confirm(
            self,
            f"Delete {_named(self._items)} for good? This cannot be undone.",
            "Empty the trash",
        ):
            self._deleted.empty_trash()
            self._deleted.trash_items(self._show)


def ask(parent: QWidget, question: str, yes: str) -> bool:
    """Ask with a message box; what is destroyed is not the button that Enter presses."""
    box = QMessageBox(QMessageBox.Icon.Warning, "Trash", question, parent=parent)
    confirmed = box.addButton(yes, QMessageBox.ButtonRole.DestructiveRole)
    cancel = box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    box.exec()
    return box.clickedButton() is confirmed


def _table() -> QTableWidget:
    table = QTableWidget(0, 3)
    table.setHorizontalHeaderLabels(["Name", "What", "Deleted"])
    table.setAccessibleName("Deleted voices and takes")
    table.verticalHeader().hide()
    table.setShowGrid(False)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setTabKeyNavigation(False)
    table.setWordWrap(False)
    header = table.horizontalHeader()
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    header.setHighlightSections(False)
    header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
    header.setSectionResizeMode(2, QHeaderView.ResizeMode.ResizeToContents)
    return table


def _kind(item: TrashItem) -> tuple[str, str]:
    """The word and the picture for what an item is."""
    known = {kind: (word, picture) for kind, word, picture in KINDS}
    return known.get(item.kind, (item.kind.capitalize(), "archive"))


def _when(item: TrashItem) -> str:
    """When it was deleted, as this place writes times; as stored if that is no time."""
    moment = QDateTime.fromString(item.deleted, Qt.DateFormat.ISODate)
    if not moment.isValid():
        return item.deleted
    return QLocale().toString(moment.toLocalTime(), QLocale.FormatType.ShortFormat)


def _named(items: tuple[TrashItem, ...]) -> str:
    return f"“{one_line(items[0].label)}”" if len(items) == 1 else f"{len(items)} things"
