"""Where a text is written and spoken from, the same in all tabs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.core.estimates import estimate_speech
from app.core.text_files import read_text_file
from app.core.text_warnings import TextWarning, text_warnings
from app.core.transcripts import Transcript
from app.studio.studio import Studio
from app.ui.banner import Severity
from app.ui.controls import main_button
from app.ui.inline_note import InlineNote
from app.ui.metrics import GAP
from app.ui.shortcuts import key_text, shortcut
from app.ui.text_editor import SpeechEdit

STORE_AFTER: Final = 300  # milliseconds without typing
LEAST_LINES: Final = 3


class SpeechBox(QWidget):
    """The text of a tab, its length and warnings, and the buttons that speak it.

    The text is the draft's: it is read from the session and written back soon after typing.
    """

    speak_requested = Signal(int)  # takes
    text_changed = Signal()  # the draft has the text now

    def __init__(self, tab: str, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tab = tab
        self._studio = studio
        self._session = studio.session
        self._edit = SpeechEdit(_estimate, self._check, self)
        self._note = InlineNote(self)
        self._speak = main_button("Speak", "speak", self)
        self._several = QPushButton(self)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(STORE_AFTER)
        self._build()
        self._connect()
        self._show_draft()
        self._show_takes()

    @property
    def text(self) -> str:
        """What stands there now."""
        return self._edit.toPlainText()

    def focus_text(self) -> None:
        """Put the cursor into the text."""
        self._edit.setFocus()

    def set_placeholder(self, text: str) -> None:
        """What the empty field says."""
        self._edit.setPlaceholderText(text)

    def tell(self, sentence: str, severity: Severity = Severity.WARNING) -> None:
        """Say below the text what is missing, until it is changed; nothing with an empty one."""
        self._note.tell(sentence, severity)

    def has_text(self) -> bool:
        """Whether there is something to speak; if not, says so and puts the cursor there."""
        self.store()
        if self.text.strip():
            return True
        self.tell("There is no text yet. Type what should be said.")
        self.focus_text()
        return False

    def set_main_word(self, word: str) -> None:
        """What the main button does, where it is not plain speaking: "Make candidates"."""
        self._speak.setText(f"{word}  ({key_text(shortcut('speak').keys[0])})")

    @Slot()
    def offer_several(self, offered: bool) -> None:
        """Show or hide the second button, where the main one says how many takes it makes."""
        self._several.setVisible(offered)

    def press_speak(self) -> None:
        """Ask for the text to be spoken, as the main button does."""
        self.store()
        self.speak_requested.emit(1)

    @Slot()
    def press_several(self) -> None:
        """Ask for several takes of it."""
        self.store()
        self.speak_requested.emit(self._takes())

    @Slot()
    def store(self) -> None:
        """Write the text into the draft now."""
        self._pause.stop()
        draft = self._session.draft(self._tab)
        if draft.text != self.text:
            self._session.set_draft(self._tab, replace(draft, text=self.text))
            self.text_changed.emit()

    def _build(self) -> None:
        lines = self._edit.fontMetrics().lineSpacing() * LEAST_LINES
        self._edit.setMinimumHeight(lines + 2 * GAP + self._edit.viewportMargins().bottom())
        self.set_main_word("Speak")
        self._speak.setToolTip("Speak the text once")
        self._speak.setAccessibleName("Speak")
        for button in (self._speak, self._several):
            button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout()
        row.setSpacing(GAP)
        row.addWidget(self._note, 1)
        row.addStretch()
        row.addWidget(self._several)
        row.addWidget(self._speak)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addWidget(self._edit, 1)
        layout.addLayout(row)
        self.setFocusProxy(self._edit)

    def _connect(self) -> None:
        self._edit.textChanged.connect(self._on_typed)
        self._edit.speak_requested.connect(self.press_speak)
        self._edit.takes_requested.connect(self.press_several)
        self._edit.file_dropped.connect(self._on_file)
        self._pause.timeout.connect(self.store)
        self._speak.clicked.connect(self.press_speak)
        self._several.clicked.connect(self.press_several)
        self._session.draft_changed.connect(self._on_draft)
        self._studio.preferences.changed.connect(self._show_takes)

    def _check(self, text: str) -> tuple[TextWarning, ...]:
        return text_warnings(text, self._session.draft(self._tab).language)

    @Slot(str)
    def _on_draft(self, tab: str) -> None:
        if tab == self._tab:
            self._show_draft()

    def _show_draft(self) -> None:
        """Show the draft, unless it is our own text that comes back, older than what is typed."""
        text = self._session.draft(self._tab).text
        if not self._pause.isActive() and text != self.text:
            self._edit.replace_text(text)
            self._pause.stop()
        self._edit.check_now()  # the language may be another one

    @Slot()
    def _on_typed(self) -> None:
        self._note.tell("")
        self._pause.start()

    def _takes(self) -> int:
        return max(self._studio.preferences.settings.takes_per_press, 2)

    @Slot()
    def _show_takes(self) -> None:
        takes = self._takes()
        key = key_text(shortcut("takes").keys[0])
        self._several.setText(f"Speak {takes} takes")
        self._several.setToolTip(f"Speak the text {takes} times, each with its own seed ({key})")

    @Slot(object)
    def _on_file(self, path: Path) -> None:
        self._studio.background.run(partial(read_text_file, path), self._on_read)

    def _on_read(self, transcript: Transcript) -> None:
        self._edit.replace_text(transcript.text)
        self.tell(transcript.notice)


def _estimate(text: str) -> float:
    return estimate_speech(text).seconds
