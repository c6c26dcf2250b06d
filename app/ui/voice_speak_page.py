"""Says something with a voice of the library, or tells where to find one."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QRectF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.core.takes import TakeRequest
from app.core.voice_record import LibraryVoice, Likeness
from app.studio.studio import Studio
from app.ui.controls import muted_label
from app.ui.family_gate import FamilyGate
from app.ui.icons import icon
from app.ui.inline_note import wrapped_label
from app.ui.labels import ElidedLabel
from app.ui.metrics import GAP, HEADING, ROOM, TIGHT, scaled_font
from app.ui.scroll_column import ScrollColumn
from app.ui.segments import SegmentedSwitch
from app.ui.speech_box import SpeechBox
from app.ui.voice_actions import SAMPLE
from app.ui.voice_look import second_line, voice_colour
from engine import Family

TAB = "clone"
DOT = 14
LEAST_HEIGHT = 24  # of what stands above the text


class VoiceSpeakPage(QWidget):
    """The chosen voice, how it is used, and the text."""

    models_requested = Signal()
    new_voice_requested = Signal()

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self._gate = FamilyGate(Family.BASE, studio.models, self)
        self._dot = _Dot(self)
        self._name = ElidedLabel(parent=self)
        self._kind = muted_label("", self)
        self._listen = QPushButton(icon("play"), "Sample", self)
        self._likeness = SegmentedSwitch(
            "How the voice is used",
            ((Likeness.BEST, "Best likeness"), (Likeness.STEADY, "Voice only")),
            self,
        )
        self._voice = QFrame(self)
        self._none = QFrame(self)  # in place of the voice
        self._invitation = wrapped_label(parent=self._none)
        self._new = QPushButton(icon("plus"), "New voice", self._none)
        self.box = SpeechBox(TAB, studio, self)
        self._build()
        self._gate.models_requested.connect(self.models_requested)
        self._new.clicked.connect(self.new_voice_requested)
        self._listen.clicked.connect(self._on_listen)
        self._likeness.chosen.connect(self._on_likeness)
        studio.voices.selected_changed.connect(self._on_selected)
        studio.voices.changed.connect(self._show_voice)
        studio.models.changed.connect(self._show_voice)
        studio.models.found_changed.connect(self._show_voice)
        studio.sound.moved.connect(self._show_listening)
        studio.session.draft_changed.connect(self._on_draft)
        self._on_selected(studio.voices.selected)

    def request(self) -> TakeRequest | None:
        """What to say with the chosen voice; None when something is missing, which is told."""
        voice = self._studio.voices.selected
        if voice is None:
            self.box.tell("Choose a voice on the left first, or make a new one.")
            return None
        if not self.box.has_text():
            return None
        if not self._gate.is_open:
            self.box.need_model(voice.files.widths)
            return None
        draft = self._studio.session.draft(TAB)
        return TakeRequest(
            text=self.box.text,
            family=Family.BASE,
            language=draft.language,
            voice_id=voice.id,
            likeness=draft.likeness if self._has_choice(voice) else Likeness.STEADY,
        )

    @property
    def can_speak(self) -> bool:
        """Whether a Base model is loaded and a voice is chosen."""
        return self._gate.is_open and self._studio.voices.selected is not None

    def voice_label(self) -> str:
        voice = self._studio.voices.selected
        return voice.name if voice is not None else ""

    def _build(self) -> None:
        self._name.setFont(scaled_font(self, HEADING, bold=True))
        self._listen.setToolTip("Listen to the recording that this voice was made from")
        self._likeness.set_tip(
            Likeness.BEST, "Copies the manner of speaking too, as in the recording"
        )
        self._likeness.set_tip(Likeness.STEADY, "The sound of the voice alone: calmer, steadier")
        names = QVBoxLayout()
        names.setSpacing(2)
        names.addWidget(self._name)
        names.addWidget(self._kind)
        head = QHBoxLayout()
        head.setSpacing(GAP)
        head.addWidget(self._dot, 0, Qt.AlignmentFlag.AlignVCenter)
        head.addLayout(names, 1)
        head.addWidget(self._listen)
        voice = QVBoxLayout(self._voice)
        voice.setContentsMargins(ROOM - 4, GAP, ROOM - 4, GAP)
        voice.setSpacing(GAP)
        voice.addLayout(head)
        voice.addWidget(self._likeness)
        self._voice.setProperty("panel", True)
        invitation = QHBoxLayout(self._none)
        invitation.setContentsMargins(GAP, TIGHT, GAP, TIGHT)
        invitation.setSpacing(GAP)
        invitation.addWidget(self._invitation, 1)
        invitation.addWidget(self._new)
        self._none.setProperty("panel", True)
        above = ScrollColumn(LEAST_HEIGHT, parent=self)
        for widget in (self._gate, self._none, self._voice):
            above.column.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addWidget(above)
        layout.addWidget(self.box, 1)

    @Slot(object)
    def _on_selected(self, voice: LibraryVoice | None) -> None:
        session = self._studio.session
        draft = session.draft(TAB)
        if voice is not None and draft.voice_id != voice.id:
            session.set_draft(TAB, replace(draft, voice_id=voice.id))
        self.box.tell("")
        self._show_voice()

    @Slot(str)
    def _on_draft(self, tab: str) -> None:
        if tab == TAB:
            self._show_voice()

    @Slot()
    def _show_voice(self) -> None:
        voice = self._studio.voices.selected
        self._voice.setVisible(voice is not None)
        self._none.setVisible(voice is None)
        if voice is None:
            some = bool(self._studio.voices.listing.voices)
            self._invitation.setText(
                "Choose a voice on the left, or make a new one."
                if some
                else "There is no voice to speak with yet."
            )
            return
        self._dot.set_colour(voice_colour(voice.details))
        self._name.setText(voice.name)
        self._kind.setText(second_line(voice))
        self._listen.setVisible(voice.recording is not None)
        self._likeness.setVisible(self._has_choice(voice))
        self._likeness.choose(self._studio.session.draft(TAB).likeness)

    def _has_choice(self, voice: LibraryVoice) -> bool:
        """Whether the voice and the model that speaks with it know more than one likeness."""
        models = self._studio.models
        model = models.fitting(Family.BASE, voice.files.widths)
        if self._gate.is_open:
            model = models.state.description
        return voice.has_best_likeness and not (model is not None and model.x_vector_only)

    @Slot(str)
    def _on_likeness(self, key: str) -> None:
        session = self._studio.session
        session.set_draft(TAB, replace(session.draft(TAB), likeness=Likeness(key)))

    @Slot()
    def _on_listen(self) -> None:
        voice, sound = self._studio.voices.selected, self._studio.sound
        if voice is None:
            return
        if self._is_heard:
            sound.pause()
            return
        sample = self._studio.voices.sample(voice)
        if sample is not None:
            sound.play(f"{SAMPLE}{voice.id}", sample)

    @property
    def _is_heard(self) -> bool:
        """Whether the sample of the chosen voice plays."""
        voice, sound = self._studio.voices.selected, self._studio.sound
        return (
            voice is not None and sound.is_sounding and sound.playing_key == f"{SAMPLE}{voice.id}"
        )

    @Slot()
    def _show_listening(self) -> None:
        text = "Pause" if self._is_heard else "Sample"
        if self._listen.text() != text:
            self._listen.setText(text)
            self._listen.setIcon(icon("pause" if self._is_heard else "play"))


class _Dot(QWidget):
    """The colour of a voice; its name stands beside it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._colour = QColor()
        self.setFixedSize(DOT, DOT)

    def set_colour(self, colour: QColor) -> None:
        self._colour = colour
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._colour)
        painter.drawEllipse(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
        painter.end()
