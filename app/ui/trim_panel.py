"""Chooses the part of a recording that becomes the voice, by eye and by ear."""

from __future__ import annotations

from PySide6.QtCore import QThreadPool, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.audio.player_state import PlayerState
from app.audio.take_buffer import TakeBuffer
from app.studio.clone_state import CloneState
from app.studio.cloning import Cloning
from app.studio.sound import Sound
from app.ui.chips import FlowLayout
from app.ui.controls import decimal_box, number_box, show_number
from app.ui.icons import icon
from app.ui.live import LiveTimer
from app.ui.metrics import GAP
from app.ui.report_card import ReportCard
from app.ui.time_axis import Range, clock
from app.ui.wave_overlay import RangeLook
from app.ui.wave_tools import WaveTools
from app.ui.waveform import WaveformView

KEY = "clone"  # under which the player knows the recording
LEAST_HEIGHT = 160
MOST_TAIL = 2.0  # seconds
MOST_FADE = 500  # milliseconds


class TrimPanel(QWidget):
    """Waveform with handles, its tools, fades, and the report on what was chosen."""

    def __init__(
        self,
        cloning: Cloning,
        sound: Sound,
        timer: LiveTimer,
        pool: QThreadPool,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._cloning = cloning
        self._sound = sound
        self._state = cloning.state
        self._heard: TakeBuffer | None = None  # what the player has: the selection, or all
        self._offset = 0  # where it begins in the recording
        self._play = QPushButton(icon("play"), "Play selection", self)
        self._suggest = QPushButton(icon("wand"), "Use the suggestion", self)
        self._all = QPushButton("Use all of it", self)
        self._wave = WaveformView(timer, pool, parent=self)
        self._tools = WaveTools(self._wave, self)
        self._length = QLabel(self)
        self._fade = number_box("Fade at both ends, in milliseconds", 0, MOST_FADE, self)
        self._tail = decimal_box("Silence behind it, in seconds", 0.0, MOST_TAIL, 0.1, self)
        self.report = ReportCard(self)
        self.setFocusProxy(self._wave)
        self._build()
        self._connect()
        self.show_state(self._state)

    def _build(self) -> None:
        self._wave.set_range_look(RangeLook.TRIM)
        self._wave.setMinimumHeight(LEAST_HEIGHT)
        self._play.setToolTip("Hear exactly what becomes the voice")
        self._suggest.setToolTip(
            "Choose the part that suits best: 6 to 15 seconds, beginning and ending in a pause"
        )
        self._all.setToolTip("Choose the whole recording")
        tools = FlowLayout(spacing=GAP)
        for button in (self._play, self._suggest, self._all):
            tools.addWidget(button)
        view = QHBoxLayout()
        view.setSpacing(0)
        view.addWidget(self._length, 1)
        view.addWidget(self._tools)
        ends = FlowLayout(spacing=GAP)
        self._fade.setSuffix(" ms")
        self._tail.setSuffix(" s")
        for caption, box in (("Fade", self._fade), ("Silence after", self._tail)):
            ends.addWidget(_pair(caption, box, self))
        self._fade.setToolTip("How long the sound rises and falls at the ends, against clicks")
        self._tail.setToolTip("Silence added behind it, so that the voice ends its words")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addLayout(tools)
        layout.addWidget(self._wave, 1)
        layout.addLayout(view)
        layout.addLayout(ends)
        layout.addWidget(self.report)

    def _connect(self) -> None:
        self._wave.range_changed.connect(self._show_length)
        self._wave.range_committed.connect(self._on_range)
        self._wave.seek_requested.connect(self._on_seek)
        self._play.clicked.connect(self.play_selection)
        self._suggest.clicked.connect(self._cloning.use_suggestion)
        self._all.clicked.connect(self._cloning.clear_range)
        self._fade.valueChanged.connect(self._on_ends)
        self._tail.valueChanged.connect(self._on_ends)
        self.report.fix_requested.connect(self._cloning.apply)
        self.report.revert_requested.connect(self._cloning.revert)
        self._sound.moved.connect(self._on_moved)

    def show_state(self, state: CloneState) -> None:
        """Show the recording of a draft and what was chosen of it."""
        before, self._state = self._state, state
        if state.buffer is not self._wave.source:
            self._show_sound(state.buffer)
        ends = (state.range, state.fade_seconds, state.tail_seconds)
        if ends != (before.range, before.fade_seconds, before.tail_seconds):
            self._forget_heard()
        chosen = None if state.range is None else Range(*state.range)
        self._wave.set_range(chosen)
        self._all.setEnabled(state.range is not None)
        self._wave.set_suggestion(None if state.suggestion is None else Range(*state.suggestion))
        self._show_length(chosen)
        self._suggest.setEnabled(not state.busy and _is_other(state))
        show_number(self._fade, round(1000 * state.fade_seconds))
        show_number(self._tail, state.tail_seconds)
        self.report.show_state(state)

    def _show_sound(self, buffer: TakeBuffer | None) -> None:
        """Show another recording, or the same one mended: then the view stays where it is."""
        view, position = self._wave.view, self._wave.position
        source = self._wave.source
        same = source is not None and buffer is not None and source.length == buffer.length
        self._wave.set_source(buffer)
        if same:
            self._wave.show_view(view)
            self._wave.set_position(position)
        self._forget_heard()

    @Slot(object)
    def _show_length(self, chosen: Range | None) -> None:
        rate = self._state.rate
        if not rate:
            self._length.setText("")
            return
        if chosen is None:
            self._length.setText(f"All of it, {self._state.seconds:.1f} s")
            return
        start, end = (clock(at / rate, 2) for at in (chosen.start, chosen.end))
        self._length.setText(f"{start} to {end}, {chosen.length / rate:.1f} s")

    @Slot(object)
    def _on_range(self, chosen: Range | None) -> None:
        if chosen is None:
            self._cloning.clear_range()
        else:
            self._cloning.set_range(chosen.start, chosen.end)

    @Slot()
    def _on_ends(self) -> None:
        self._cloning.set_ends(self._fade.value() / 1000, self._tail.value())

    # Hearing

    def _plays(self) -> bool:
        """Whether what is heard now is from here."""
        return self._sound.playing_key == KEY and self._sound.is_sounding

    @Slot(object)
    def _on_moved(self, state: PlayerState) -> None:
        """Carry the playhead along, and say what the button does."""
        if self._heard is not None and state.take is self._heard:
            self._wave.set_position(self._offset + state.position)
        plays = self._plays()
        self._play.setText("Pause" if plays else "Play selection")
        self._play.setIcon(icon("pause" if plays else "play"))

    def _forget_heard(self) -> None:
        """Another part was chosen, so what the player has is no longer that."""
        if self._sound.playing_key == KEY:
            self._sound.load("", None)
        self._heard, self._offset = None, 0

    @Slot()
    def play_selection(self) -> None:
        """Play what was chosen from its beginning, or pause it."""
        if self._plays():
            self._sound.pause()
            return
        heard = self._selection()
        if heard is not None:
            self._sound.play(KEY, heard)

    @Slot(object)
    def _on_seek(self, sample: int) -> None:
        """Go on there: in the selection, or in all of it for a sample outside."""
        buffer = self._state.buffer
        if buffer is None:
            return
        inside = self._state.range is not None
        if self._state.range is not None:
            start, end = self._state.range
            inside = start <= sample < end
        heard = self._selection() if inside else buffer
        if heard is None:
            return
        if not inside:
            self._heard, self._offset = buffer, 0
        if self._plays():
            self._sound.play(KEY, heard, sample - self._offset)
        elif not self._sound.is_sounding:  # else a take plays, which a click must not end
            self._sound.load(KEY, heard)
            self._sound.seek(sample - self._offset)

    def _selection(self) -> TakeBuffer | None:
        """The chosen part as a take of its own, so that it ends exactly where it was cut."""
        if self._heard is None or self._heard is self._state.buffer:
            chosen = self._state.range
            self._heard = self._cloning.excerpt()
            self._offset = chosen[0] if chosen is not None else 0
        return self._heard


def _is_other(state: CloneState) -> bool:
    """Whether the suggestion is not what is chosen already."""
    everything = None if state.buffer is None else (0, state.buffer.length)
    return state.suggestion is not None and state.suggestion != (state.range or everything)


def _pair(caption: str, box: QWidget, parent: QWidget) -> QWidget:
    """A field with its name before it, which stay together when the row wraps."""
    pair = QWidget(parent)
    label = QLabel(caption, pair)
    label.setBuddy(box)
    layout = QHBoxLayout(pair)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(GAP)
    layout.addWidget(label)
    layout.addWidget(box)
    return pair
