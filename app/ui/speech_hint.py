"""Says below a text what is missing before it can be spoken, with a button where that helps."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QWidget

from app.ui.banner import Severity
from app.ui.inline_note import InlineNote
from app.ui.metrics import GAP


class SpeechHint(QWidget):
    """Takes no room while there is nothing to say."""

    pressed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._note = InlineNote(self)
        self._button = QPushButton(self)
        self._button.clicked.connect(self.pressed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addWidget(self._note, 1)
        layout.addWidget(self._button, 0, Qt.AlignmentFlag.AlignVCenter)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.hide()

    @property
    def text(self) -> str:
        return self._note.text

    def tell(
        self, sentence: str, severity: Severity = Severity.WARNING, button: str = "", tip: str = ""
    ) -> None:
        """Say a sentence, or nothing with an empty one; the button is there if it has a word."""
        self._note.tell(sentence, severity)
        self._button.setText(button)
        self._button.setToolTip(tip)
        self._button.setVisible(bool(button))
        self.setVisible(bool(sentence))
