"""The tab of cloned voices: speak with one, or make a new one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QThreadPool, Signal, Slot
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.core.reading_cards import reading_card
from app.core.takes import TakeRequest
from app.core.voice_record import ANY_LANGUAGE, LibraryVoice
from app.studio.studio import Studio
from app.ui.file_choosers import FileChoosers, FileDialogs, file_choosers
from app.ui.live import LiveTimer
from app.ui.metrics import GAP, ROOM
from app.ui.new_voice_page import NewVoicePage
from app.ui.segments import SegmentedSwitch
from app.ui.speech_box import SpeechBox
from app.ui.tab_names import TAB_TITLES
from app.ui.voice_speak_page import TAB, VoiceSpeakPage

SPEAK, NEW = "speak", "new"


class CloneTab(QWidget):
    """Two faces with a switch between them."""

    tab = TAB
    title = TAB_TITLES[TAB]

    models_requested = Signal()
    test_requested = Signal()  # a new voice can be heard now: speak what `request` says, once

    def __init__(
        self,
        studio: Studio,
        timer: LiveTimer,
        pool: QThreadPool,
        choosers: FileChoosers | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._studio = studio
        self._switch = SegmentedSwitch("What to do", ((SPEAK, "Speak"), (NEW, "New voice")), self)
        self._speak = VoiceSpeakPage(studio, self)
        self._new = NewVoicePage(
            studio, timer, pool, choosers or file_choosers(FileDialogs(studio.preferences)), self
        )
        self._pages = QStackedWidget(self)
        self._pages.addWidget(self._speak)
        self._pages.addWidget(self._new)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM - 4, GAP, ROOM - 4, GAP)
        layout.setSpacing(GAP)
        layout.addWidget(self._switch)
        layout.addWidget(self._pages, 1)
        self._switch.set_tip(SPEAK, "Say something with the chosen voice")
        self._switch.set_tip(NEW, "Make a voice from a recording")
        self._switch.chosen.connect(self.show_face)
        self._speak.models_requested.connect(self.models_requested)
        self._speak.new_voice_requested.connect(self._on_new_voice)
        studio.cloning.saved.connect(self._on_saved)

    @property
    def box(self) -> SpeechBox:
        return self._speak.box

    @property
    def face(self) -> str:
        """Which one is shown: "speak" or "new"."""
        return self._switch.current

    def request(self) -> TakeRequest | None:
        """What to say with the chosen voice; None when something is missing, which is told."""
        self.show_face(SPEAK)
        return self._speak.request()

    def voice_label(self) -> str:
        return self._speak.voice_label()

    def focus_text(self) -> None:
        """Put the cursor into the text, or stay with the new voice that is being made."""
        if self.face == SPEAK:
            self.box.focus_text()
        else:
            self._new.setFocus()

    @Slot(str)
    def show_face(self, face: str) -> None:
        """Show "speak" or "new"."""
        self._switch.choose(face)
        self._pages.setCurrentWidget(self._new if face == NEW else self._speak)

    @Slot()
    def toggle_recording(self) -> None:
        """Begin or end a recording; what the key R does."""
        self.show_face(NEW)
        self._new.toggle_recording()

    @Slot()
    def show_recorder(self) -> None:
        """Open the microphone, without recording yet."""
        self.show_face(NEW)
        self._new.show_recorder()

    @Slot()
    def choose_recording(self) -> None:
        """Let a recording be chosen and make a voice of it; what Ctrl+O does."""
        self.show_face(NEW)
        self._new.choose_recording()

    def open_recording(self, path: Path) -> None:
        """Make a voice of a sound file."""
        self.show_face(NEW)
        self._new.open(path)

    @Slot()
    def _on_new_voice(self) -> None:
        self.show_face(NEW)
        self._new.setFocus()

    @Slot(object)
    def _on_saved(self, voice: LibraryVoice) -> None:
        """Show the new voice with something to say, and let it be heard if it can be."""
        session = self._studio.session
        self._studio.voices.select(voice.id)
        draft = session.draft(TAB)
        fresh = replace(draft, voice_id=voice.id)
        if voice.details.language != ANY_LANGUAGE:
            fresh = replace(fresh, language=voice.details.language)
        is_test = not draft.text.strip()
        if is_test:
            fresh = replace(fresh, text=reading_card(voice.details.language).test_line)
        session.set_draft(TAB, fresh)
        self.show_face(SPEAK)
        self.focus_text()
        if is_test and self._speak.can_speak:
            self.test_requested.emit()
