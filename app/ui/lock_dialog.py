"""Asks what a designed voice shall be called when it is locked."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit, QVBoxLayout, QWidget

from app.core.takes import Take
from app.ui.banner import Severity
from app.ui.dialogs import FittedDialog, SaveButtons
from app.ui.inline_note import InlineNote, wrapped_label
from app.ui.metrics import GAP, ROOM

WIDTH = 460
LONGEST_NAME = 200


class LockDialog(FittedDialog):
    """A name, and what locking means."""

    def __init__(self, take: Take, *, has_base_model: bool, parent: QWidget | None = None) -> None:
        super().__init__(WIDTH, parent)
        self.setWindowTitle("Lock voice")
        self._name = QLineEdit(self)
        self._name.setAccessibleName("Name of the voice")
        self._name.setMaxLength(LONGEST_NAME)
        self._name.setPlaceholderText("For example: The innkeeper")
        self._name.textChanged.connect(self._on_name)
        label = QLabel("&Name", self)
        label.setBuddy(self._name)
        words = "The voice of this take becomes a voice of the library"
        words += ", with its words as transcript. " if take.is_whole else ". "
        words += (
            "It can speak any text with a Base model."
            if has_base_model
            else "No Base model is on this computer yet: the voice is kept, and completed as soon "
            "as one is there."
        )
        self._part = InlineNote(self)
        self._all_spoken = QCheckBox("All of its &words can be heard: keep them", self)
        self._all_spoken.setChecked(take.is_whole)
        self._all_spoken.setHidden(take.is_whole)
        if not take.is_whole:
            self._part.tell(
                f"This take breaks off after {take.seconds:.1f} s. A transcript has to say exactly "
                "what is heard, so only the sound of the voice is kept.",
                Severity.WARNING,
            )
        buttons = SaveButtons(self, "Lock voice", "lock")
        self._lock = buttons.save
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM, ROOM, ROOM, ROOM)
        layout.setSpacing(GAP)
        layout.addWidget(wrapped_label(words, parent=self))
        layout.addWidget(wrapped_label(f"“{take.request.instruct}”", muted=True, parent=self))
        layout.addWidget(self._part)
        layout.addWidget(self._all_spoken)
        layout.addWidget(label)
        layout.addWidget(self._name)
        layout.addWidget(buttons)
        self._on_name()
        self._name.setFocus()

    @property
    def name(self) -> str:
        return self._name.text().strip()

    @property
    def with_words(self) -> bool:
        """Whether the words of the take are those that are heard."""
        return self._all_spoken.isChecked()

    @Slot()
    def _on_name(self) -> None:
        self._lock.setEnabled(bool(self.name))
