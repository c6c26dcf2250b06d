"""Leads from a recording to a voice of the library, in four steps below one another."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, QSize, Qt, QThreadPool, QTimer, Slot
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QFrame,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.audio.recorder_state import Recording
from app.studio.clone_state import CloneState
from app.studio.studio import Studio
from app.ui.chips import FlowLayout
from app.ui.file_choosers import FileChoosers
from app.ui.icons import icon
from app.ui.inline_note import wrapped_label
from app.ui.labels import BusyLabel
from app.ui.live import LiveTimer
from app.ui.metrics import GAP
from app.ui.recorder_panel import RecorderPanel
from app.ui.save_panel import SavePanel
from app.ui.shortcuts import with_key
from app.ui.step_panel import StepPanel
from app.ui.transcript_panel import TranscriptPanel
from app.ui.trim_panel import TrimPanel
from app.ui.waveform import WaveformView
from app.ui.wheel_guard import WheelGuard
from engine.plain_text import one_line

STEPS = (
    ("Source", ""),
    ("Trim", "Choose the best part. The studio suggests one and says what is wrong with it."),
    ("Transcript", "Write down what is said, for the best likeness. A voice works without too."),
    ("Name and consent", "Give the voice a name, and say that it may be used."),
)
"""The steps, and what each is for while it waits for a recording."""

INVITATION = (
    "Six to fifteen seconds of one person speaking, without music, are enough. Record them, open "
    "a file (WAV, FLAC, OGG, MP3, AIFF), or drop one anywhere here."
)


class NewVoicePage(QScrollArea):
    """Source, trim, transcript, and name with consent."""

    def __init__(
        self,
        studio: Studio,
        timer: LiveTimer,
        pool: QThreadPool,
        choosers: FileChoosers,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._cloning = studio.cloning
        self._sound = studio.sound
        self._choosers = choosers
        self._has_recording = False
        self._arriving = QTimer(self)  # until the layout knows where the next step is
        self._arriving.setSingleShot(True)
        self._arriving.setInterval(0)
        self._arriving.timeout.connect(self._show_trim)
        self._record = QPushButton(icon("mic"), "Record", self)
        self._open = QPushButton(icon("open"), "Open a file…", self)
        self._discard = QPushButton(icon("trash"), "Discard", self)
        self._about = wrapped_label(INVITATION, parent=self)
        self._busy = BusyLabel(self)
        self._recorder = RecorderPanel(studio.sound, self)
        self._trim = TrimPanel(studio.cloning, studio.sound, timer, pool, self)
        self._transcript = TranscriptPanel(studio.cloning, choosers.text, self)
        self._save = SavePanel(studio.cloning, self)
        self._steps = tuple(
            StepPanel(number, title, self) for number, (title, _) in enumerate(STEPS, 1)
        )
        self._column = _Column(self)
        self._build()
        guard = WheelGuard(self)
        for kind in (QComboBox, QAbstractSpinBox, WaveformView):
            for widget in self.findChildren(kind):
                guard.guard(widget)
        self._record.clicked.connect(self.toggle_recorder)
        self._open.clicked.connect(self.choose_recording)
        self._discard.clicked.connect(studio.cloning.discard)
        self._recorder.began.connect(self._scroll_to)
        self._transcript.card_used.connect(self._on_card_used)
        studio.sound.recorded.connect(self._on_recorded)
        studio.cloning.changed.connect(self._show_state)
        self._recorder.card.set_language(studio.preferences.settings.language)
        self._show_state(studio.cloning.state)

    @Slot()
    def toggle_recording(self) -> None:
        """Begin or end a recording; what the key R does."""
        self.show_recorder()
        self._recorder.toggle()

    @Slot()
    def show_recorder(self) -> None:
        """Unfold the recorder, which opens the microphone."""
        self._recorder.show()
        self._dress_record()
        self.verticalScrollBar().setValue(0)

    @Slot()
    def toggle_recorder(self) -> None:
        """Unfold the recorder, or close the microphone again."""
        if self._recorder.isHidden():
            self.show_recorder()
        else:
            self._sound.stop_recording()
            self._recorder.hide()
            self._dress_record()

    @Slot()
    def choose_recording(self) -> None:
        """Let a file be chosen, and open it."""
        path = self._choosers.recording(self)
        if path is not None:
            self.open(path)

    def open(self, path: Path) -> None:
        """Begin with a recording from a file."""
        self._recorder.hide()
        self._dress_record()
        self._transcript.offer_card("")
        self._cloning.open(path)

    def _build(self) -> None:
        self._record.setToolTip(with_key("Record with a microphone", "record"))
        self._record.setCheckable(True)
        self._open.setToolTip(with_key("Open a recording from a file", "open"))
        self._discard.setToolTip("Put this draft away and begin again")
        buttons = FlowLayout(spacing=GAP)
        for button in (self._record, self._open, self._discard):
            buttons.addWidget(button)
        source, trim, transcript, save = self._steps
        source.body.addWidget(self._about)
        source.body.addLayout(buttons)
        source.body.addWidget(self._busy)
        source.body.addWidget(self._recorder)
        self._recorder.hide()
        trim.body.addWidget(self._trim)
        transcript.body.addWidget(self._transcript)
        save.body.addWidget(self._save)
        layout = QVBoxLayout(self._column)
        layout.setContentsMargins(0, 0, GAP, 0)
        layout.setSpacing(GAP)
        for step in self._steps:
            layout.addWidget(step)
        layout.addStretch(1)
        self.setWidget(self._column)
        self._column.setAutoFillBackground(False)  # the tab's surface shines through
        self.viewport().setAutoFillBackground(False)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("New voice")
        self.setFocusProxy(self._record)

    @Slot(object)
    def _show_state(self, state: CloneState) -> None:
        has_recording = state.buffer is not None
        arrived = has_recording and not self._has_recording
        self._has_recording = has_recording
        if has_recording:
            source = one_line(state.source)
            self._about.setText(f"{source}, {state.seconds:.1f} s, {state.rate / 1000:g} kHz")
        else:
            self._about.setText(INVITATION)
        self._discard.setVisible(has_recording)
        self._busy.set_busy(state.busy)
        self._trim.show_state(state)
        self._transcript.show_state(state)
        self._save.show_state(state)
        for step, (_, purpose) in list(zip(self._steps, STEPS, strict=True))[1:]:
            step.set_open(has_recording, purpose)
        done = (has_recording, has_recording, bool(state.transcript.strip()), state.can_save)
        for step, is_done in zip(self._steps, done, strict=True):
            step.set_done(is_done)
        self._dress_record()
        if arrived:
            self._arriving.start()

    @Slot()
    def _show_trim(self) -> None:
        """Bring what comes next into view, and go on there with the keys."""
        self._scroll_to(self._steps[1])
        focused = QApplication.focusWidget()
        if focused is not None and self.isAncestorOf(focused):
            self._trim.setFocus()

    @Slot(object)
    def _scroll_to(self, widget: QWidget) -> None:
        """Put a widget at the top of the view."""
        self.verticalScrollBar().setValue(widget.mapTo(self._column, QPoint(0, 0)).y())

    def _dress_record(self) -> None:
        again = "Record again" if self._has_recording else "Record"
        self._record.setText(again)
        self._record.setChecked(not self._recorder.isHidden())

    @Slot(object)
    def _on_recorded(self, recording: Recording) -> None:
        """Go on with what was recorded; without a file there is nothing to go on with."""
        if recording.path is None or recording.was_silent:
            return
        self._recorder.hide()
        self._transcript.offer_card(self._recorder.card.card.text)
        self._cloning.adopt(recording)

    @Slot()
    def _on_card_used(self) -> None:
        """Whoever read a card speaks its language."""
        self._cloning.set_language(self._recorder.card.card.language)


class _Column(QWidget):
    """Is as high as its steps are at its width; the hint for the least width would be too much."""

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), 0)
