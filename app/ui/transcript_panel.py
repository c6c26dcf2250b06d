"""Takes down what is said in a recording, which the best likeness needs word for word."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData, QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.core.voice_record import Likeness
from app.studio.clone_state import CloneState
from app.studio.cloning import Cloning
from app.ui.banner import Severity
from app.ui.chips import FlowLayout
from app.ui.file_choosers import ChooseFile
from app.ui.icons import icon
from app.ui.inline_note import InlineNote, wrapped_label
from app.ui.metrics import GAP
from app.ui.plain_edit import PlainEdit
from app.ui.segments import SegmentedSwitch
from app.ui.voice_files import local_paths
from app.ui.window_drops import TEXTS

LINES = 4

_MEANINGS = {
    Likeness.BEST: "Best likeness copies the manner of speaking too, and needs every word of the "
    "recording.",
    Likeness.STEADY: "Voice only takes the sound and nothing else: calmer, and needs no words.",
}


class TranscriptPanel(QWidget):
    """The words, where they may come from, and what they are for."""

    card_used = Signal()  # the words of the card are what was said

    def __init__(
        self, cloning: Cloning, choose_file: ChooseFile, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._cloning = cloning
        self._choose_file = choose_file
        self._card = ""
        self._likeness = SegmentedSwitch(
            "How the voice is used",
            ((Likeness.BEST, "Best likeness"), (Likeness.STEADY, "Voice only")),
            self,
        )
        self._meaning = wrapped_label(muted=True, parent=self)
        self._text = PlainEdit(self)
        self._use_card = QPushButton(icon("copy"), "I read the card", self)
        self._transcribe = QPushButton(icon("wand"), "Transcribe", self)
        self._read = QPushButton(icon("open"), "Read from file…", self)
        self._hint = wrapped_label(muted=True, parent=self)
        self._hint.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._note = InlineNote(self)
        self._build()
        self._likeness.chosen.connect(self._on_likeness)
        self._text.textChanged.connect(self._on_text)
        self._transcribe.clicked.connect(cloning.transcribe)
        self._read.clicked.connect(self._on_read)
        self._use_card.clicked.connect(self._on_use_card)
        self.show_state(cloning.state)

    def offer_card(self, text: str) -> None:
        """Offer the words of the card that was there to read; none with an empty text."""
        self._card = text
        self._show_card()

    def show_state(self, state: CloneState) -> None:
        """Show the words of a draft and what is said about them."""
        self._likeness.choose(state.likeness)
        self._meaning.setText(_MEANINGS[state.likeness])
        if self._text.toPlainText().strip() != state.transcript.strip():
            with QSignalBlocker(self._text):
                self._text.setPlainText(state.transcript)
        self._transcribe.setEnabled(state.can_transcribe and not state.busy)
        able = "Write down what is said in the chosen part"
        unable = "" if state.can_transcribe else state.transcribe_hint
        self._transcribe.setToolTip(unable or able)
        self._hint.setText(unable)
        self._hint.setVisible(bool(self._hint.text()))
        self._note.tell(state.transcript_warning, Severity.WARNING)
        self._show_card()

    def _build(self) -> None:
        self._likeness.set_tip(Likeness.BEST, _MEANINGS[Likeness.BEST])
        self._likeness.set_tip(Likeness.STEADY, _MEANINGS[Likeness.STEADY])
        self._text.setAccessibleName("Transcript")
        self._text.setPlaceholderText("Exactly what is said in the chosen part, word for word")
        self._text.setToolTip("The words of the chosen part; repeated and broken words too")
        self._text.setTabChangesFocus(True)
        self._text.setAcceptDrops(False)  # it would insert the address of a file
        self.setAcceptDrops(True)
        self._text.document().setDocumentMargin(GAP)
        self._text.setFixedHeight(self._text.fontMetrics().lineSpacing() * LINES + 3 * GAP)
        self._read.setToolTip("Read the words from a text file")
        self._use_card.setToolTip("Take the words of the card that was shown while recording")
        caption = QLabel("Use as", self)
        caption.setBuddy(self._likeness)
        head = QHBoxLayout()
        head.setSpacing(GAP)
        head.addWidget(caption)
        head.addWidget(self._likeness)
        head.addStretch(1)
        row = FlowLayout(spacing=GAP)
        for widget in (self._use_card, self._transcribe, self._read):
            row.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addLayout(head)
        layout.addWidget(self._meaning)
        layout.addWidget(self._text)
        layout.addWidget(self._note)
        layout.addLayout(row)
        layout.addWidget(self._hint)

    def _show_card(self) -> None:
        self._use_card.setVisible(bool(self._card))
        self._use_card.setEnabled(self._card != self._text.toPlainText().strip())

    @Slot(str)
    def _on_likeness(self, key: str) -> None:
        self._cloning.set_likeness(Likeness(key))

    @Slot()
    def _on_text(self) -> None:
        self._cloning.set_transcript(self._text.toPlainText())
        self._show_card()

    @Slot()
    def _on_use_card(self) -> None:
        self._text.selectAll()
        self._text.insertPlainText(self._card)  # so that it can be undone
        self.card_used.emit()

    @Slot()
    def _on_read(self) -> None:
        path = self._choose_file(self)
        if path is not None:
            self._cloning.read_transcript(path)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _text_file(event.mimeData()) is not None:
            event.acceptProposedAction()
        else:
            event.ignore()  # a recording is for the window

    def dropEvent(self, event: QDropEvent) -> None:
        path = _text_file(event.mimeData())
        if path is not None:
            event.acceptProposedAction()
            self._cloning.read_transcript(path)


def _text_file(data: QMimeData) -> Path | None:
    paths = local_paths(data)
    return paths[0] if len(paths) == 1 and paths[0].suffix.lower() in TEXTS else None
