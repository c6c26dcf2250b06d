"""Teaches what to do when no model was found: which files, how large, and where to put them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.core.models import WHERE_TO_GET
from app.ui.controls import muted_label, tool_button
from app.ui.icons import icon
from app.ui.inline_note import wrapped_label
from app.ui.metrics import GAP, ROOM, TIGHT, TITLE, scaled_font

NEEDED: Final = (
    ("Clone voices", "qwen-talker-0.6b-base-Q8_0.gguf", "1.0 GB"),
    ("Speakers and directions", "qwen-talker-1.7b-customvoice-Q8_0.gguf", "2.1 GB"),
    ("Design voices", "qwen-talker-1.7b-voicedesign-Q8_0.gguf", "2.1 GB"),
    ("Always, once", "qwen-tokenizer-12hz-Q8_0.gguf", "0.3 GB"),
)
"""What it is for, a name it may have, and about how large it is."""


class NoModels(QWidget):
    """Two files are enough: one talker and the tokenizer."""

    folder_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._folders: tuple[Path, ...] = ()
        self._title = QLabel(self)
        self._title.setFont(scaled_font(self, TITLE, bold=True))
        self._folder = wrapped_label(parent=self)
        self._folder.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._others = wrapped_label(muted=True, parent=self)
        copy = tool_button("copy", "Copy the folder's name", self)
        copy.clicked.connect(self._on_copy)
        choose = QPushButton(icon("folder"), "Choose a folder I already have…", self)
        choose.clicked.connect(self.folder_requested)
        place = QHBoxLayout()
        place.setSpacing(GAP)
        place.addWidget(self._folder, 1)
        place.addWidget(copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addWidget(self._title)
        layout.addWidget(
            wrapped_label(
                "Speaking needs two files: a talker for what you want to do, and the tokenizer.",
                parent=self,
            )
        )
        layout.addSpacing(TIGHT)
        layout.addWidget(_table(self))
        layout.addSpacing(TIGHT)
        layout.addWidget(wrapped_label("Put them into this folder:", parent=self))
        layout.addLayout(place)
        layout.addWidget(self._others)
        layout.addWidget(choose, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addStretch(1)
        layout.addWidget(
            wrapped_label(
                f"{WHERE_TO_GET} Until they are there, the recorder and the library of voices "
                "work without a model.",
                muted=True,
                parent=self,
            )
        )
        self.show_folders((), looking=False)

    def show_folders(self, folders: Sequence[Path], *, looking: bool) -> None:
        """Name where models are looked for, the studio's own folder first."""
        self._folders = tuple(folders)
        self._title.setText("Looking for models" if looking else "There is no model yet")
        self._folder.setText(str(folders[0]) if folders else "")
        others = ", ".join(str(folder) for folder in folders[1:])
        self._others.setText(f"Also looked into: {others}" if others else "")
        self._others.setVisible(bool(others))

    @Slot()
    def _on_copy(self) -> None:
        if self._folders:
            QGuiApplication.clipboard().setText(str(self._folders[0]))


def _table(parent: QWidget) -> QWidget:
    table = QWidget(parent)
    grid = QGridLayout(table)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(ROOM)
    grid.setVerticalSpacing(TIGHT)
    grid.setColumnStretch(2, 1)
    for row, (purpose, name, size) in enumerate(NEEDED):
        grid.addWidget(QLabel(purpose, table), row, 0)
        file = QLabel(name, table)
        file.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        grid.addWidget(file, row, 1)
        grid.addWidget(muted_label(f"about {size}", table), row, 2)
    return table
