"""Where tags, note, language and colour of a voice are changed, and its history is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.core.voice_record import LibraryVoice, VoiceDetails, VoiceKind
from app.ui.banner import Severity
from app.ui.colour_row import ColourRow
from app.ui.controls import muted_label
from app.ui.dialogs import SaveButtons
from app.ui.inline_note import InlineNote, wrapped_label
from app.ui.language_box import LanguageBox
from app.ui.metrics import CAPTION, GAP, ROOM, TIGHT, scaled_font
from app.ui.plain_edit import PlainEdit
from app.ui.voice_look import origin_lines, second_line, voice_colour
from app.ui.voice_tags_dialog import TagField

SIZE = (520, 600)
NOTE_LINES = 4


class VoiceDetailsDialog(QDialog):
    """Shows a voice; `details` is what it is to be when the dialog was accepted."""

    def __init__(
        self, voice: LibraryVoice, tags_in_use: Iterable[str], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._voice = voice
        details = voice.details
        self.setWindowTitle(f"About {voice.name}")
        self._tags = TagField(details.tags, tags_in_use)
        self._language = LanguageBox()
        self._language.choose(details.language)
        self._note = PlainEdit(details.note)
        self._note.setAccessibleName("Note")
        self._note.setPlaceholderText("What the voice is good for, where it has been used")
        self._note.setTabChangesFocus(True)
        self._note.setFixedHeight(NOTE_LINES * self._note.fontMetrics().lineSpacing() + 2 * GAP)
        self._shown_colour = voice_colour(details).name()
        self._colour = ColourRow(self._shown_colour)
        self._read_only = InlineNote()
        self._buttons = SaveButtons(self)
        self._build()
        if voice.read_only:
            self._refuse()
        self.resize(*SIZE)
        self._tags.setFocus()

    @property
    def details(self) -> VoiceDetails:
        """What the voice is to be."""
        before, colour = self._voice.details, self._colour.colour
        return replace(
            before,
            tags=self._tags.tags,
            language=self._language.language,
            note=self._note.toPlainText().strip(),
            colour=before.colour if colour == self._shown_colour else colour,
        )

    def _build(self) -> None:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, GAP, 0)
        column.setSpacing(TIGHT)
        column.addWidget(self._read_only)
        for label, field in (
            ("&Tags", self._tags),
            ("&Language", self._language),
            ("&Note", self._note),
            ("Colour", self._colour),
        ):
            caption = _caption(label)
            caption.setBuddy(field)
            column.addWidget(caption)
            column.addWidget(field)
            column.addSpacing(GAP)
        # Their height is that for their width alone: the hint would leave room at the end.
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        for label, words in (
            ("Voice", second_line(self._voice)),
            ("Origin", "\n".join(origin_lines(self._voice.details)) or "Not known."),
            ("Consent", consent_words(self._voice.details)),
            ("Transcript", self._voice.transcript or "None."),
            ("Folder", str(self._voice.folder)),
        ):
            shown = wrapped_label(words)
            shown.setSizePolicy(policy)
            shown.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse
                | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            shown.setAccessibleName(f"{label}: {words}")
            column.addWidget(_caption(label))
            column.addWidget(shown)
            column.addSpacing(GAP)
        column.addStretch(1)
        area = QScrollArea(self)
        area.setWidget(content)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM, ROOM, ROOM, ROOM)
        layout.setSpacing(ROOM)
        layout.addWidget(area, 1)
        layout.addWidget(self._buttons)

    def _refuse(self) -> None:
        self._read_only.tell(
            "This voice was written by a newer version of the studio. Update the studio to change "
            "it, or duplicate it.",
            Severity.WARNING,
        )
        for field in (self._tags, self._language, self._colour):
            field.setEnabled(False)
        self._note.setReadOnly(True)
        self._buttons.save.setEnabled(False)


def _caption(text: str) -> QLabel:
    caption = muted_label(text)
    caption.setFont(scaled_font(caption, CAPTION, bold=True))
    return caption


def consent_words(details: VoiceDetails) -> str:
    """Who allowed the use of a voice, and when."""
    consent = details.consent
    if consent is None:
        designed = details.kind is VoiceKind.DESIGNED
        return "Not needed: it is nobody's voice." if designed else "None is stored."
    lines = [f"“{consent.text}”"] if consent.text else []
    given = ", ".join(filter(None, (consent.name, consent.date[:10])))
    return "\n".join([*lines, *([given] if given else [])]) or "None is stored."
