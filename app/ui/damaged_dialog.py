"""Says why a folder of the library is no voice, and offers to give it a new description."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.core.voice_listing import DamagedVoice
from app.ui.banner import Severity
from app.ui.controls import main_button
from app.ui.dialogs import FittedDialog
from app.ui.inline_note import InlineNote, wrapped_label
from app.ui.metrics import GAP, ROOM
from engine.plain_text import one_line, some_lines

WIDTH = 480
DETAIL_LINES = 6
REPAIR = (
    "Repairing writes a new description and keeps the old one beside it. Name, tags and note start "
    "empty; recording and voice data stay."
)


class DamagedDialog(FittedDialog):
    """Accepted when the folder is to be repaired."""

    def __init__(self, damaged: DamagedVoice, parent: QWidget | None, *, can_repair: bool) -> None:
        super().__init__(WIDTH, parent)
        self.setWindowTitle("A damaged voice")
        error = damaged.error
        self._text = "\n".join(filter(None, (error.message, error.hint, error.detail)))
        reason = InlineNote(self)
        reason.tell(error.message, Severity.ERROR)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM, ROOM, ROOM, ROOM)
        layout.setSpacing(GAP)
        layout.addWidget(reason)
        for words in (error.hint, f"Folder: {damaged.folder}"):
            if words:
                layout.addWidget(wrapped_label(one_line(words), parent=self))
        if error.detail:
            detail = QPlainTextEdit(some_lines(error.detail), self)
            detail.setReadOnly(True)
            detail.setTabChangesFocus(True)
            detail.setAccessibleName("Details")
            detail.setFixedHeight(DETAIL_LINES * detail.fontMetrics().lineSpacing() + GAP)
            layout.addWidget(detail)
        if can_repair:
            layout.addWidget(wrapped_label(REPAIR, muted=True, parent=self))
        layout.addStretch(1)
        copy = QPushButton("Copy", self)
        copy.setToolTip("Copy the reason")
        copy.setAutoDefault(False)
        copy.clicked.connect(self._copy)
        close = QPushButton("Close", self)
        close.setToolTip("Close (Esc)")
        close.clicked.connect(self.reject)
        buttons = QHBoxLayout()
        buttons.setSpacing(GAP)
        buttons.addWidget(copy)
        buttons.addStretch(1)
        buttons.addWidget(close)
        if can_repair:
            repair = main_button("Repair", "check", self)
            repair.setToolTip("Write a new description")
            repair.setAutoDefault(False)
            repair.clicked.connect(self.accept)
            buttons.addWidget(repair)
        layout.addLayout(buttons)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._text)
