"""Gives a new voice its name, asks whose voice it is, and keeps it."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.core.reading_cards import READING_CARDS
from app.core.voice_record import ANY_LANGUAGE
from app.studio.clone_state import CloneState
from app.studio.cloning import Cloning
from app.ui.controls import main_button
from app.ui.inline_note import InlineNote, wrapped_label
from app.ui.labels import BusyLabel
from app.ui.language_box import language_label
from app.ui.metrics import GAP


class SavePanel(QWidget):
    """Name, language and consent; says beside the button what is still missing."""

    def __init__(self, cloning: Cloning, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cloning = cloning
        self._name = QLineEdit(self)
        self._language = QComboBox(self)
        self._consent = QCheckBox("I may use this voice", self)
        self._consent_text = wrapped_label(muted=True, parent=self)
        self._consent_name = QLineEdit(self)
        self._save = main_button("Save voice", "save", self)
        self._missing = InlineNote(self)
        self._busy = BusyLabel(self)
        self._cancel = QPushButton("Cancel", self)
        self._build()
        self._name.textEdited.connect(cloning.set_name)
        self._language.activated.connect(self._on_language)
        self._consent.toggled.connect(self._on_consent)
        self._consent_name.textEdited.connect(self._on_consent)
        self._save.clicked.connect(cloning.save)
        self._cancel.clicked.connect(cloning.cancel_busy)
        self.show_state(cloning.state)

    def _build(self) -> None:
        self._name.setAccessibleName("Name of the voice")
        self._name.setPlaceholderText("Name of the voice")
        self._language.setAccessibleName("Language of the voice")
        self._language.setToolTip("The language that is spoken in the recording")
        self._language.addItem("Any language", ANY_LANGUAGE)
        for language in sorted(card.language for card in READING_CARDS):
            self._language.addItem(language_label(language), language)
        self._consent_name.setAccessibleName("Who agreed")
        self._consent_name.setPlaceholderText("The speaker's name")
        self._consent_name.setToolTip(
            "Whose voice it is; the name is kept with the voice, with the date"
        )
        self._save.setToolTip("Keep the voice in the library")
        self._cancel.setToolTip("Stop what is being done; the draft stays")
        grid = QGridLayout()
        grid.setHorizontalSpacing(GAP)
        grid.setVerticalSpacing(GAP)
        grid.setColumnStretch(1, 1)
        fields: tuple[tuple[str, QWidget], ...] = (
            ("Name", self._name),
            ("Language", self._language),
            ("Consent", self._consent),
        )
        for row, (caption, field) in enumerate(fields):
            label = QLabel(caption, self)
            label.setBuddy(field)
            grid.addWidget(label, row, 0)
            grid.addWidget(field, row, 1)
        grid.addWidget(self._consent_text, len(fields), 1)
        who = QLabel("Who agreed", self)
        who.setBuddy(self._consent_name)
        grid.addWidget(who, len(fields) + 1, 0)
        grid.addWidget(self._consent_name, len(fields) + 1, 1)
        self._save.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        beside = QVBoxLayout()
        beside.addWidget(self._busy)
        beside.addWidget(self._missing)
        action = QHBoxLayout()
        action.setSpacing(GAP)
        action.addWidget(self._save)
        action.addWidget(self._cancel)
        action.addLayout(beside, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP + 4)
        layout.addLayout(grid)
        layout.addLayout(action)

    def show_state(self, state: CloneState) -> None:
        """Show what was entered and what is missing."""
        if self._name.text().strip() != state.name.strip():
            self._name.setText(state.name)
        index = self._language.findData(state.language)
        if index < 0:
            index = self._language.count()
            self._language.addItem(language_label(state.language), state.language)
        self._language.setCurrentIndex(index)
        with QSignalBlocker(self._consent):
            self._consent.setChecked(state.consent_given)
        self._consent_text.setText(state.consent_text)
        if self._consent_name.text().strip() != state.consent_name.strip():
            self._consent_name.setText(state.consent_name)
        self._busy.set_busy(state.busy)
        self._cancel.setVisible(bool(state.busy) and state.can_stop)
        self._missing.tell("" if state.busy else state.missing)
        self._save.setEnabled(state.can_save and not state.busy)
        self._save.setAccessibleDescription(state.missing)

    @Slot()
    def _on_language(self) -> None:
        self._cloning.set_language(str(self._language.currentData()))

    @Slot()
    def _on_consent(self) -> None:
        self._cloning.set_consent(self._consent.isChecked(), self._consent_name.text())
