"""Records a voice: which microphone, how loud it and the room are, and words to read aloud."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QColor, QHideEvent, QPalette, QShowEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.audio.recorder_state import RecorderState, RecorderStatus
from app.audio.survey import SurveyState
from app.studio.sound import Sound
from app.ui.banner import Severity
from app.ui.colours import Colours
from app.ui.controls import DeviceBox, main_button, tool_button
from app.ui.icons import icon, icon_pixmap
from app.ui.inline_note import InlineNote, wrapped_label
from app.ui.meter import MeterView
from app.ui.metrics import GAP, ICON, scaled_font
from app.ui.microphone_list import MicrophoneList
from app.ui.reading_card import ReadingCardView
from app.ui.recorder_words import elapsed, missing_microphone, noise_words
from app.ui.shortcuts import with_key

CLOCK = 1.9  # size of the elapsed time, as a share of the text
COUNT_IN = 3  # seconds


class RecorderPanel(QWidget):
    """Opens the microphone while it is shown, and lets go of it when it is hidden.

    What was recorded is told by `Sound.recorded`.
    """

    began = Signal(object)  # QWidget, the button, below which is all that is needed now

    def __init__(self, sound: Sound, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sound = sound
        self._listens = False
        self._device = DeviceBox("microphone", self)
        self._compare = tool_button("waveform", "Show the level of every microphone", self)
        self._microphones = MicrophoneList(self)
        self._meter = MeterView(parent=self)
        self._noise = wrapped_label(muted=True, parent=self)
        self._count_in = QCheckBox("Count in 3-2-1", self)
        self._record = main_button("", "record", self)
        self._clock = QLabel(self)
        self._note = InlineNote(self)
        self._missing = _MissingMicrophone(self)
        self.card = ReadingCardView(self)
        self._build()
        self._device.chosen.connect(self._on_device)
        self._device.refresh_requested.connect(sound.look_for_devices)
        self._compare.toggled.connect(self._on_compare)
        self._microphones.chosen.connect(self._on_device)
        self._missing.look_again.connect(sound.look_for_devices)
        self._meter.clip_reset.connect(sound.reset_clip)
        self._record.clicked.connect(self.toggle)
        sound.devices_changed.connect(self._show_devices)
        sound.recorder_moved.connect(self._show_state)
        sound.surveyed.connect(self._show_survey)
        sound.recorded.connect(self._on_recorded)
        sound.counted.connect(self.card.set_count)
        self._show_devices()
        self._show_state(sound.recorder_state)

    @Slot()
    def toggle(self) -> None:
        """Begin or end a recording, as the button does."""
        if self._sound.is_recording:
            self._sound.stop_recording()
        elif self._sound.inputs:
            self.began.emit(self._record)
            self._sound.start_recording(COUNT_IN if self._count_in.isChecked() else 0)

    def _build(self) -> None:
        self._count_in.setToolTip(
            "Begin three seconds after the button, so that you can breathe in"
        )
        self._clock.setFont(scaled_font(self, CLOCK, bold=True))
        self._clock.setMinimumWidth(self._clock.fontMetrics().horizontalAdvance("00:00.0"))
        self._clock.setAccessibleName("Recorded time")
        self._works = QWidget(self)
        caption = QLabel("Microphone", self._works)
        caption.setBuddy(self._device)
        device = QHBoxLayout()
        device.setSpacing(GAP)
        device.addWidget(caption)
        device.addWidget(self._device, 1)
        device.addWidget(self._compare)
        self._compare.setCheckable(True)
        self._microphones.hide()
        room = QHBoxLayout()
        room.setSpacing(GAP)
        room.addWidget(self._noise, 1)
        room.addWidget(self._count_in)
        row = QHBoxLayout()
        row.setSpacing(GAP + 4)
        row.addWidget(self._record)
        row.addWidget(self._clock)
        row.addStretch(1)
        works = QVBoxLayout(self._works)
        works.setContentsMargins(0, 0, 0, 0)
        works.setSpacing(GAP)
        works.addLayout(device)
        works.addWidget(self._microphones)
        works.addWidget(self._meter)
        works.addLayout(room)
        works.addWidget(self._note)
        works.addLayout(row)
        works.addWidget(self.card)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._missing)
        layout.addWidget(self._works)

    # What is shown

    @Slot()
    def _show_devices(self) -> None:
        inputs = self._sound.inputs
        self._device.set_devices(inputs, self._sound.input)
        self._works.setVisible(bool(inputs))
        self._missing.setVisible(not inputs)
        self._missing.explain(self._sound.unavailable)
        self._compare.setVisible(len(inputs) > 1)
        if len(inputs) < 2:
            self._compare.setChecked(False)
        self._show_microphones()
        if inputs and self.isVisible() and not self._listens:
            self._listen(True)

    def _show_microphones(self) -> None:
        """Mark the one that is heard; before that, the one that was chosen."""
        if not self._compare.isChecked():
            return
        inputs, state = self._sound.inputs, self._sound.recorder_state
        default = next((one.id for one in inputs if one.is_default), "")
        chosen = state.device.id if state.device is not None else self._sound.input or default
        self._microphones.set_devices(inputs, chosen)

    @Slot(object)
    def _show_survey(self, survey: SurveyState) -> None:
        self._microphones.show_levels(self._sound.levels, survey.refused)

    @Slot(object)
    def _show_state(self, state: RecorderState) -> None:
        self._show_microphones()
        self._meter.show_levels(state.levels)
        self._meter.set_clipped(state.has_clipped)
        self._meter.set_noise_floor(state.noise_floor)
        self._noise.setText(noise_words(state.noise_floor))
        self._show_note(state)
        counting = self._sound.counting
        recording = state.status is RecorderStatus.RECORDING
        self._clock.setText(elapsed(state.seconds if recording else 0.0))
        self._clock.setAccessibleDescription("Recording" if recording else "Not recording")
        self._dress_clock(recording)
        self._dress_button(counting > 0, recording)
        self._device.setEnabled(not recording and not counting)
        self._microphones.setEnabled(not recording and not counting)
        self._count_in.setEnabled(not recording and not counting)

    def _dress_clock(self, recording: bool) -> None:
        colours = Colours.of(self.palette())
        palette = self._clock.palette()
        colour = QColor(colours.danger if recording else colours.text)
        if palette.color(self._clock.foregroundRole()) != colour:
            palette.setColor(self._clock.foregroundRole(), colour)
            self._clock.setPalette(palette)

    def _dress_button(self, counting: bool, recording: bool) -> None:
        text = "Cancel" if counting else "Stop" if recording else "Record"
        if self._record.text() == text:
            return
        self._record.setText(text)
        picture = "stop" if counting or recording else "record"
        self._record.setIcon(icon(picture, QPalette.ColorRole.BrightText))
        self._record.setToolTip(with_key(f"{text} the recording", "record"))

    def _show_note(self, state: RecorderState) -> None:
        if state.problem is not None:
            self._note.tell(f"{state.problem}", Severity.ERROR)
        elif state.is_silent:
            self._note.tell(
                "Only digital silence arrives: look for a mute switch on the microphone, and for "
                "the input level and the privacy settings of the system.",
                Severity.WARNING,
            )
        elif state.has_clipped:
            self._note.tell(
                "Too loud: the sound was cut off at the top. Move back or lower the input level, "
                "then record again.",
                Severity.WARNING,
            )
        else:
            self._note.tell("")

    # What is done

    def _listen(self, on: bool) -> None:
        self._listens = on
        self._sound.monitor(on)

    @Slot(bool)
    def _on_compare(self, checked: bool) -> None:
        self._show_microphones()
        self._microphones.setVisible(checked)
        self._microphones.clear()
        self._sound.survey(checked and self.isVisible())

    @Slot(object)
    def _on_device(self, device_id: str | None) -> None:
        self._sound.set_input(device_id)

    @Slot()
    def _on_recorded(self) -> None:
        if not self.isVisible():  # it was kept open for the recording alone
            self._listen(False)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not event.spontaneous() and self._sound.inputs:
            self._listen(True)
            self._sound.survey(self._compare.isChecked())

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if not event.spontaneous():
            self._sound.survey(False)
        if not event.spontaneous() and not self._sound.is_recording:
            self._listen(False)


class _MissingMicrophone(QWidget):
    """Stands in the recorder's place while there is none."""

    look_again = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._picture = QLabel(self)
        self._title = QLabel("No microphone found", self)
        self._title.setFont(scaled_font(self, 1.0, bold=True))
        self._why = wrapped_label(parent=self)
        self._button = QPushButton(icon("refresh"), "Look again", self)
        self._button.setToolTip("Look for microphones again")
        self._button.clicked.connect(self.look_again)
        words = QVBoxLayout()
        words.setSpacing(GAP)
        words.addWidget(self._title)
        words.addWidget(self._why)
        words.addWidget(self._button, 0, Qt.AlignmentFlag.AlignLeft)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP + 4)
        layout.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(words, 1)
        self._dress()

    def explain(self, reason: str) -> None:
        """Say why there is none."""
        self._why.setText(missing_microphone(reason))

    def _dress(self) -> None:
        colour = Colours.of(self.palette()).muted
        self._picture.setPixmap(icon_pixmap("mic-off", 2 * ICON, colour, self.devicePixelRatioF()))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_picture"):
            self._dress()
