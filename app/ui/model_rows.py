"""The models that were found, each described before anything of it is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from app.core.models import FoundModels, is_demo
from app.ui.icons import icon
from app.ui.language_box import language_label
from app.ui.model_words import short_name
from engine import ModelDescription
from engine.cli.console import readable_bytes
from engine.plain_text import one_line

COLUMNS: Final = ("Model", "Size", "Precision", "On disk", "For")
PATH: Final = Qt.ItemDataRole.UserRole


class ModelRows(QTreeWidget):
    """A table of talkers; the chosen one is told, a double click asks to load it."""

    chosen = Signal()
    load_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._talkers: dict[Path, ModelDescription] = {}
        self.setHeaderLabels(list(COLUMNS))
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setAccessibleName("Models that were found")
        self.header().setSectionsMovable(False)
        self.header().setStretchLastSection(True)
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.itemSelectionChanged.connect(self.chosen)
        # Return is left to the dialog, whose main button loads.
        self.itemDoubleClicked.connect(self._on_double_click)

    @property
    def talker(self) -> ModelDescription | None:
        """The chosen one."""
        items = self.selectedItems()
        return self._talkers.get(items[0].data(0, PATH)) if items else None

    def show_found(self, found: FoundModels) -> None:
        """List the talkers; the choice stays where it was."""
        before = self.talker
        self.blockSignals(True)
        self.clear()
        self._talkers = {talker.path: talker for talker in found.talkers}
        for talker in found.talkers:
            item = QTreeWidgetItem(list(_cells(talker)))
            item.setData(0, PATH, talker.path)
            for column in range(len(COLUMNS)):
                item.setToolTip(column, one_line(str(talker.path)))
            self.addTopLevelItem(item)
        self.blockSignals(False)
        if before is not None:
            self.choose(before.path)

    def mark_loaded(self, path: Path | None) -> None:
        """Show which one is loaded, if any is."""
        for item in self._items():
            is_loaded = item.data(0, PATH) == path
            name = _name(self._talkers[item.data(0, PATH)])
            item.setText(0, f"{name} (loaded)" if is_loaded else name)
            item.setIcon(0, icon("check") if is_loaded else QIcon())

    def choose(self, path: Path | None) -> None:
        """Select a talker, the first one if it is not there."""
        items = self._items()
        wanted = [item for item in items if item.data(0, PATH) == path]
        for item in (wanted or items)[:1]:
            self.setCurrentItem(item)

    def _items(self) -> list[QTreeWidgetItem]:
        rows = (self.topLevelItem(row) for row in range(self.topLevelItemCount()))
        return [item for item in rows if item is not None]

    @Slot()
    def _on_double_click(self) -> None:
        self.load_requested.emit()


def describe(talker: ModelDescription) -> str:
    """What a model can do, in sentences."""
    lines = [f"Languages: {_listed([language_label(name) for name in talker.languages])}."]
    if talker.speakers:
        lines.append(f"Speakers: {_listed([_speaker(talker, name) for name in talker.speakers])}.")
    if talker.ignores_instruct:
        lines.append("It does not follow instructions.")
    lines.append(one_line(str(talker.path)))
    return "\n".join(lines)


def _cells(talker: ModelDescription) -> tuple[str, ...]:
    purpose = {
        "base": "cloned and locked voices",
        "custom_voice": f"its {len(talker.speakers)} speakers",
        "voice_design": "voices from a description",
    }[talker.family]
    return (
        _name(talker),
        "small" if is_demo(talker) else short_name(talker),
        talker.precision,
        readable_bytes(talker.file_bytes),
        purpose,
    )


def _name(talker: ModelDescription) -> str:
    return one_line(talker.name or talker.path.stem)


def _speaker(talker: ModelDescription, name: str) -> str:
    dialect = talker.dialects.get(name, "")
    shown = name.replace("_", " ").title()
    return f"{shown} ({language_label(dialect)})" if dialect else shown


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
