"""A field for plain text that stays quick whatever is pasted into it."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QSize
from PySide6.QtWidgets import QPlainTextEdit, QToolTip

from app.core.text_files import LONGEST_FIELD, too_long_for_field


class PlainEdit(QPlainTextEdit):
    """Refuses what would make it longer than `LONGEST_FIELD` characters, and says so.

    One line of a million characters would keep the window busy for minutes.
    """

    def sizeHint(self) -> QSize:
        """That of its least height where it has one: it yields, and takes what is left."""
        hint = super().sizeHint()
        return QSize(hint.width(), self.minimumHeight() or hint.height())

    def insertFromMimeData(self, source: QMimeData) -> None:
        selected = len(self.textCursor().selectedText())
        length = len(self.toPlainText()) - selected + len(source.text())
        if length <= LONGEST_FIELD:
            super().insertFromMimeData(source)
            return
        place = self.viewport().mapToGlobal(self.cursorRect().bottomLeft())
        QToolTip.showText(place, too_long_for_field("The text", length).message, self)
