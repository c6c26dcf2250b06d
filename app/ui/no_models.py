"""Teaches what to do when no model was found: which files, how large, and where to put them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.core.models import ADDRESS, TALKER_NAME, download_line
from app.ui.controls import muted_label, tool_button
from app.ui.folders import show_folder
from app.ui.icons import icon
from app.ui.inline_note import InlineNote, wrapped_label
from app.ui.labels import LinkLabel
from app.ui.metrics import GAP, ROOM, TIGHT, TITLE, scaled_font
from engine import Family

NEEDED: Final = (
    ("Clone voices", "qwen-talker-0.6b-base-Q8_0.gguf", "1.0 GB"),
    ("Speakers and directions", "qwen-talker-1.7b-customvoice-Q8_0.gguf", "2.1 GB"),
    ("Design voices", "qwen-talker-1.7b-voicedesign-Q8_0.gguf", "2.1 GB"),
    ("Always, once", "qwen-tokenizer-12hz-Q8_0.gguf", "0.3 GB"),
)
"""What it is for, a name it may have, and about how large it is."""


TALKERS: Final = MappingProxyType(
    {
        Family.BASE: NEEDED[0][1],
        Family.CUSTOM_VOICE: TALKER_NAME,
        Family.VOICE_DESIGN: NEEDED[2][1],
    }
)
"""What to fetch for what somebody is about to do."""


class NoModels(QWidget):
    """Two files are enough: one talker and the tokenizer."""

    folder_requested = Signal()

    def __init__(
        self, show: Callable[[Path], bool] = show_folder, parent: QWidget | None = None
    ) -> None:
        """`show` opens a folder in the file manager, or tells that it cannot."""
        super().__init__(parent)
        self._show = show
        self._folders: tuple[Path, ...] = ()
        self._talker = TALKER_NAME
        self._title = QLabel(self)
        self._title.setFont(scaled_font(self, TITLE, bold=True))
        self._folder = _selectable(self)
        self._line = _selectable(self)
        self._others = wrapped_label(muted=True, parent=self)
        self._unshown = InlineNote(self)
        choose = QPushButton(icon("folder"), "Choose a folder I already have…", self)
        choose.clicked.connect(self.folder_requested)
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
        layout.addWidget(_table(self))
        layout.addSpacing(TIGHT)
        layout.addWidget(_address(self))
        layout.addLayout(self._with_buttons(self._line, ("copy", "Copy the line", self._copy_line)))
        layout.addSpacing(TIGHT)
        layout.addWidget(wrapped_label("Put them into this folder:", parent=self))
        layout.addLayout(
            self._with_buttons(
                self._folder,
                ("copy", "Copy the folder's name", self._copy_folder),
                ("folder", "Open the folder", self._open_folder),
            )
        )
        layout.addWidget(self._unshown)
        layout.addWidget(self._others)
        layout.addWidget(choose, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addStretch(1)
        layout.addWidget(
            wrapped_label(
                "What is put there is seen at once. The recorder and the library of voices work "
                "without it.",
                muted=True,
                parent=self,
            )
        )
        self.show_folders((), looking=False)

    def show_folders(self, folders: Sequence[Path], *, looking: bool, demo: bool = False) -> None:
        """Name where models are looked for, the studio's own folder first.

        `demo` tells that the demonstration voice is there, and nothing else.
        """
        self._folders = tuple(folders)
        none = "There is no large model yet" if demo else "There is no model yet"
        self._title.setText("Looking for models" if looking else none)
        self._folder.setText(str(folders[0]) if folders else "")
        others = ", ".join(str(folder) for folder in folders[1:])
        self._others.setText(f"Also looked into: {others}" if others else "")
        self._others.setVisible(bool(others))
        self._line.setText(download_line(folders[0], self._talker) if folders else "")

    def ask_for(self, family: Family) -> None:
        """Name the talker that somebody needs now."""
        self._talker = TALKERS[family]
        if self._folders:
            self._line.setText(download_line(self._folders[0], self._talker))

    def _with_buttons(
        self, label: QLabel, *buttons: tuple[str, str, Callable[[], None]]
    ) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(GAP)
        row.addWidget(label, 1)
        for picture, text, slot in buttons:
            button = tool_button(picture, text, self)
            button.clicked.connect(slot)
            row.addWidget(button)
        return row

    @Slot()
    def _copy_line(self) -> None:
        QGuiApplication.clipboard().setText(self._line.text())

    @Slot()
    def _copy_folder(self) -> None:
        QGuiApplication.clipboard().setText(self._folder.text())

    @Slot()
    def _open_folder(self) -> None:
        if self._folders and not self._show(self._folders[0]):
            self._unshown.tell("No file manager opens it here: go to the folder by its name.")


def _selectable(parent: QWidget) -> QLabel:
    label = wrapped_label(parent=parent)
    label.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse
        | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return label


def _address(parent: QWidget) -> QLabel:
    label = LinkLabel(parent)
    label.setWordWrap(True)
    label.set_link(
        ADDRESS.partition("//")[2],
        ADDRESS,
        "Get them with a browser from ",
        ", or with this line (hf comes with the package huggingface_hub):",
    )
    label.setOpenExternalLinks(True)
    label.setToolTip(ADDRESS)
    return label


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
