"""Plays what was chosen last, and says where it is, how loud, and through what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.audio.player_state import PlayerState, PlayerStatus
from app.studio.studio import Studio
from app.ui.controls import DeviceBox, VolumeSlider, tool_button
from app.ui.icons import icon
from app.ui.labels import ElidedLabel
from app.ui.meter import MeterView
from app.ui.metrics import CAPTION, GAP, ICON, ROOM, TIGHT, scaled_font
from app.ui.shortcuts import with_key
from app.ui.time_axis import clock

NOTHING: Final = "Nothing to play yet"
METER_WIDTH: Final = 96
DEVICE_WIDTH: Final = 230
VOLUME_WIDTH: Final = 190

ChosenPart: TypeAlias = Callable[[], tuple[int, int] | None]
"""Gives the samples that were chosen of what is loaded, if there are any."""


class TransportBar(QWidget):
    """The player's buttons and numbers; `compared` is the place for comparing two takes."""

    def __init__(
        self, studio: Studio, chosen_part: ChosenPart | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._studio = studio
        self._chosen_part = chosen_part or _nothing_chosen
        self._sound = studio.sound
        self._play = tool_button("play", "", self)
        self._stop = tool_button("stop", "Stop and go back to the beginning", self)
        self._loop = tool_button("loop", with_key("Repeat", "loop"), self)
        self._time = QLabel(self)
        self._what = ElidedLabel(parent=self)
        self._volume = VolumeSlider(self)
        self._output = DeviceBox("output", self)
        self._meter = MeterView(compact=True, parent=self)
        self.compared = QHBoxLayout()
        self._build()
        self._connect()
        self._volume.blockSignals(True)
        self._volume.set_gain(studio.preferences.settings.volume)
        self._volume.blockSignals(False)
        self._show_devices()
        self._show(self._sound.state)

    @Slot()
    def toggle(self) -> None:
        """Play or pause; with nothing loaded, play the newest take."""
        takes = self._studio.session.takes
        if self._sound.playing_key or not takes:
            self._sound.toggle()
        else:
            self._sound.play(takes[0].id, self._studio.session.buffer(takes[0].id))

    @Slot()
    def toggle_loop(self) -> None:
        """Repeat the part that was chosen, else all of it, or play on to the end again."""
        state = self._sound.state
        if state.loop is not None:
            self._sound.set_loop(None)
        elif state.take is not None:
            self._sound.set_loop(self._chosen_part() or (0, state.take.length))
        self._loop.setChecked(state.loop is None and state.take is not None)

    def _build(self) -> None:
        self._loop.setCheckable(True)
        for button in (self._play, self._stop, self._loop):
            button.setIconSize(QSize(ICON, ICON))
        digits = self._time.fontMetrics().horizontalAdvance("00:00.0 / 00:00.0")
        self._time.setMinimumWidth(digits)
        self._time.setAccessibleName("Position and length")
        self._what.setFont(scaled_font(self, CAPTION))
        self._what.setProperty("muted", True)
        self._what.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self._time)
        words.addWidget(self._what)
        self._volume.setMaximumWidth(VOLUME_WIDTH)
        self._output.setMaximumWidth(DEVICE_WIDTH)
        self._meter.setFixedWidth(METER_WIDTH)
        self._meter.setToolTip("Level of what is heard, \N{MINUS SIGN}60 to 0 dB")
        self.compared.setSpacing(TIGHT)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(GAP, TIGHT, GAP, TIGHT)
        layout.setSpacing(TIGHT)
        for button in (self._play, self._stop, self._loop):
            layout.addWidget(button)
        layout.addSpacing(GAP)
        layout.addLayout(words, 1)
        layout.addLayout(self.compared)
        layout.addSpacing(ROOM)
        layout.addWidget(self._meter)
        layout.addSpacing(GAP)
        layout.addWidget(self._volume, 1)
        layout.addSpacing(GAP)
        layout.addWidget(self._output, 1)
        self.setProperty("panel", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName("Transport")

    def _connect(self) -> None:
        self._play.clicked.connect(self.toggle)
        self._stop.clicked.connect(self._sound.stop)
        self._loop.clicked.connect(self.toggle_loop)
        self._volume.changed.connect(self._sound.set_volume)
        self._output.chosen.connect(self._on_output)
        self._output.refresh_requested.connect(self._sound.look_for_devices)
        self._sound.moved.connect(self._show)
        self._sound.devices_changed.connect(self._show_devices)
        self._studio.session.changed.connect(self._on_takes)

    @Slot(object)
    def _on_output(self, device_id: str | None) -> None:
        self._sound.set_output(device_id)

    @Slot()
    def _show_devices(self) -> None:
        chosen = self._studio.preferences.settings.output_device or None
        self._output.set_devices(self._sound.outputs, chosen)
        self._output.setToolTip(self._sound.unavailable)
        self._output.setAccessibleDescription(self._sound.unavailable)

    @Slot()
    def _on_takes(self) -> None:
        self._show(self._sound.state)

    @Slot(object)
    def _show(self, state: PlayerState) -> None:
        sounds = state.status in (PlayerStatus.PLAYING, PlayerStatus.WAITING)
        loaded = state.take is not None
        self._dress_play(sounds, can_play=loaded or bool(self._studio.session.takes))
        for button in (self._stop, self._loop):
            button.setEnabled(loaded)
        self._loop.setChecked(state.loop is not None)
        self._time.setText(_times(state))
        self._what.setText(self._words(state))
        if state.status is PlayerStatus.PLAYING:
            self._meter.show_levels(state.levels)
        else:
            self._meter.clear()

    def _dress_play(self, sounds: bool, *, can_play: bool) -> None:
        word = "Pause" if sounds else "Play"
        if self._play.accessibleName() != word:
            self._play.setIcon(icon("pause" if sounds else "play"))
            self._play.setAccessibleName(word)
            self._play.setToolTip(with_key(word, "play"))
        self._play.setEnabled(can_play)

    def _words(self, state: PlayerState) -> str:
        """What is played, or what is waited for."""
        if state.take is None:
            return NOTHING if not self._studio.session.takes else ""
        if state.status is PlayerStatus.WAITING:
            if state.starts_in is None:
                return "Waiting for sound"
            return f"Starts in {max(1, round(state.starts_in))} s"
        return self._label(self._sound.playing_key)

    def _label(self, key: str) -> str:
        kind, _, voice_id = key.partition(":")
        if kind == "voice":
            voice = self._studio.voices.listing.find(voice_id)
            return f"Sample of {voice.name}" if voice is not None else "Sample of a voice"
        take = self._studio.session.session.take(key)
        if take is None:
            live = (each.take for each in self._studio.speech.live if each.take.id == key)
            take = next(live, None)
        if take is not None:
            return f"{take.voice_label}: {take.label}" if take.voice_label else take.label
        return "New recording" if key == "clone" else ""


def _nothing_chosen() -> None:
    """There is no place to choose a part in."""


def _times(state: PlayerState) -> str:
    if state.take is None:
        return f"{clock(0)} / {clock(0)}"
    grows = "" if state.take.is_finished else "+"
    return f"{clock(state.position / state.take.rate)} / {clock(state.take.seconds)}{grows}"
