"""The player, the microphone and the devices as the window knows them: polled, not waited for."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from app.audio.backend import AudioBackend, Device, SoundDeviceError
from app.audio.levels import Levels
from app.audio.player import Player
from app.audio.player_state import Ended, OutputProblem, PlayerState, PlayerStatus, Starved
from app.audio.recorder import Recorder
from app.audio.recorder_state import RecorderState
from app.audio.survey import Survey, SurveyState
from app.audio.take_buffer import TakeBuffer
from app.jobs.background import Background
from app.studio.device_search import DeviceSearch
from app.studio.microphone import Microphone
from app.studio.preferences import SettingsKeeper

MILLISECONDS: Final = 33  # between two looks at the player and the recorder
LINGER: Final = round(12_000 / MILLISECONDS)
"""Looks after the last change: an opening device takes seconds, an idle one is let go after 10."""
_SOUNDING: Final = (PlayerStatus.WAITING, PlayerStatus.PLAYING)


@dataclass(frozen=True, eq=False)
class SoundParts:
    """Those whose threads do the work; they are the owner's to start."""

    player: Player
    recorder: Recorder
    survey: Survey


log = logging.getLogger(__name__)


class Sound(QObject):
    """Plays and records for the window; every method returns at once."""

    moved = Signal(object)  # PlayerState, while it plays or waits and whenever it changes
    ended = Signal()  # what played was heard to its end
    starved = Signal()  # the take is made more slowly than it is played
    problem = Signal(object)  # ExplainedError
    devices_changed = Signal()  # the lists, or what was chosen from them
    recorder_moved = Signal(object)  # RecorderState, while the microphone is open
    surveyed = Signal(object)  # SurveyState, while all microphones are watched
    recorded = Signal(object)  # Recording
    counted = Signal(int)  # seconds left before recording begins, 0 at its end

    def __init__(
        self,
        backend: AudioBackend,
        parts: SoundParts,
        background: Background,
        preferences: SettingsKeeper,
        parent: QObject | None = None,
    ) -> None:
        """Takes over the parts."""
        super().__init__(parent)
        player = self._player = parts.player
        self._preferences = preferences
        self._search = DeviceSearch(backend, player, parts.recorder, parts.survey, background, self)
        self._search.problem.connect(self.problem)
        self._search.ended.connect(self._on_search_ended)
        self._microphone = Microphone(parts.recorder, parts.survey, self._search, preferences, self)
        self._microphone.moved.connect(self.recorder_moved)
        self._microphone.surveyed.connect(self.surveyed)
        self._microphone.recorded.connect(self.recorded)
        self._microphone.counted.connect(self.counted)
        self._microphone.problem.connect(self.problem)
        self._microphone.asked.connect(self._watch)
        self._key = ""
        self._shown = player.state
        self._faults = (0, 0)  # underruns and dropouts when the present play began
        self._lost_output = False  # while playing, and nothing was asked for since
        self._quiet_looks = 0
        self._is_closed = False
        self._timer = QTimer(self)
        self._timer.setInterval(MILLISECONDS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.look)
        settings = preferences.settings
        player.set_gain(settings.volume)
        player.set_output(settings.output_device or None)

    # --- what can be seen ---

    @property
    def state(self) -> PlayerState:
        """The player's latest moment."""
        return self._player.state

    @property
    def recorder_state(self) -> RecorderState:
        return self._microphone.state

    @property
    def levels(self) -> Mapping[str, Levels]:
        """How loud every open microphone is, by its id: the chosen one, or all by `survey`."""
        return levels_of(self._microphone.state, self._microphone.survey_state)

    @property
    def outputs(self) -> tuple[Device, ...]:
        """As they were listed last; empty before the first look."""
        return self._search.devices.outputs

    @property
    def inputs(self) -> tuple[Device, ...]:
        return self._search.devices.inputs

    @property
    def output(self) -> str | None:
        """The id of the chosen output if it is there, None for the system's choice."""
        return self._search.output(self._preferences.settings.output_device)

    @property
    def input(self) -> str | None:
        """The id of the chosen microphone if it is there, None for the system's choice."""
        return self._microphone.chosen

    @property
    def unavailable(self) -> str:
        """Why there is no sound at all, in a sentence; empty when there is."""
        return self._search.devices.unavailable

    @property
    def backend_note(self) -> str:
        """A sentence about where the sound goes."""
        if self.unavailable:
            return self.unavailable
        state = self.state
        if state.device is None:
            return "No output is open."
        delay = round(1000 * state.latency)
        return f"Playing through {state.device.name}, {state.rate} Hz, {delay} ms behind."

    @property
    def playing_key(self) -> str:
        """What is loaded: the id of a take, "voice:<id>", "clone"; empty for nothing."""
        return self._key

    @property
    def is_sounding(self) -> bool:
        """Whether it plays, or is going to as soon as it can."""
        return self.state.status in _SOUNDING

    @property
    def is_recording(self) -> bool:
        """Whether a recording runs or is being counted in."""
        return self._microphone.is_recording

    @property
    def counting(self) -> int:
        """Seconds until recording begins, 0 when none is counted in."""
        return self._microphone.counting

    @property
    def is_looking(self) -> bool:
        """Whether devices are being looked for."""
        return self._search.is_wanted

    # --- playing ---

    def play(self, key: str, buffer: TakeBuffer, position: int = 0) -> None:
        """Load a take, growing or finished, and play it from a sample on."""
        self._key = key
        self._lost_output = False
        self._player.load(buffer, position, play=True)
        self._watch()

    def load(self, key: str, buffer: TakeBuffer | None) -> None:
        """Load a take without playing it; None unloads."""
        self._key = key if buffer is not None else ""
        self._lost_output = False
        self._player.load(buffer)
        self._watch()

    def toggle(self) -> None:
        """Play, or pause what plays or waits."""
        self._lost_output = False
        self._player.toggle()
        self._watch()

    def pause(self) -> None:
        self._lost_output = False
        self._player.pause()
        self._watch()

    def stop(self) -> None:
        """Fall silent and go back to the beginning."""
        self._lost_output = False
        self._player.stop()
        self._watch()

    def seek(self, sample: int) -> None:
        """Go on at a sample of the take."""
        self._player.seek(max(sample, 0))
        self._watch()

    def set_loop(self, loop: tuple[int, int] | None) -> None:
        """Repeat samples start..end; None plays on to the end."""
        if loop is None:
            self._player.clear_loop()
        else:
            self._player.set_loop(*loop)
        self._watch()

    def set_volume(self, gain: float) -> None:
        """Multiply amplitudes by 0..1; remembered."""
        gain = min(max(gain, 0.0), 1.0)
        self._player.set_gain(gain)
        self._preferences.update(volume=gain)
        self._watch()

    def set_output(self, device_id: str | None) -> None:
        """Play through another output, None being the system's choice; remembered.

        What stopped because its output went away plays on.
        """
        self._preferences.update(output_device=device_id or "")
        self._player.set_output(device_id)
        if self._lost_output:
            self._lost_output = False
            self._player.play()
        self.devices_changed.emit()
        self._watch()

    # --- recording ---

    def monitor(self, on: bool, device_id: str | None = None) -> None:
        """Open a microphone and show its levels, or close it, ending a recording.

        None is the one that was chosen last.
        """
        self._microphone.monitor(on, device_id)

    def survey(self, on: bool) -> None:
        """Open all microphones for their levels, but not while something is recorded; or let go."""
        self._microphone.survey(on)

    def set_input(self, device_id: str | None) -> None:
        """Record with another microphone, None being the system's choice; remembered.

        A recording that runs ends.
        """
        self._microphone.choose(device_id)
        self.devices_changed.emit()

    def start_recording(self, count_in: int = 3) -> None:
        """Keep what the microphone hears, after so many seconds; what plays is paused."""
        if not self.is_recording:
            self._player.pause()
            self._microphone.record(count_in)

    def stop_recording(self) -> None:
        """End the recording, or the counting before it; levels go on."""
        self._microphone.stop()

    def reset_clip(self) -> None:
        """Put the clip lamp out."""
        self._microphone.reset_clip()

    # --- devices ---

    def look_for_devices(self) -> None:
        """Look for devices again, as soon as nothing sounds and nothing is recorded."""
        self._search.begin()
        self._watch()

    def close(self) -> bool:
        """Fall silent, keep and tell what is being recorded; False when a device hangs."""
        self._is_closed = True
        self._timer.stop()
        player_ended = self._player.close()
        return self._microphone.close() and player_ended

    # --- looking at what moves ---

    @Slot()
    def look(self) -> None:
        """Tell what has changed since the last look; called by the timer."""
        self._look_at_player()
        if self._microphone.look():
            self._quiet_looks = 0
        self._search.go_on(in_use=self.is_sounding or self.is_recording)
        self._quiet_looks += 1
        if self._quiet_looks > LINGER and not self.is_looking:
            self._timer.stop()

    def _look_at_player(self) -> None:
        events = self._player.events()
        state = self._player.state
        before, self._shown = self._shown, state
        sounds, sounded = state.status in _SOUNDING, before.status in _SOUNDING
        if sounds and not sounded:
            self._faults = (before.underruns, before.dropouts)
        if sounded and not sounds:
            self._log_faults(state)
        if state != before or state.take is not before.take or sounds:
            self._quiet_looks = 0
            self.moved.emit(state)
        for event in events:
            self._quiet_looks = 0
            match event:
                case Ended():
                    self.ended.emit()
                case Starved():
                    self.starved.emit()
                case OutputProblem(error):
                    self._on_output_lost(error)

    def _on_output_lost(self, error: SoundDeviceError) -> None:
        self._lost_output = True
        self.problem.emit(error)
        self.look_for_devices()  # the lists name a device that is gone

    def _log_faults(self, state: PlayerState) -> None:
        underruns = state.underruns - self._faults[0]
        dropouts = state.dropouts - self._faults[1]
        if underruns > 0 or dropouts > 0:
            log.warning("This play had %d underruns and %d dropouts", underruns, dropouts)

    @Slot()
    def _on_search_ended(self) -> None:
        # A chosen device that is away is used again when it comes back.
        self._player.set_output(self.output)
        self._microphone.reopen()
        self.devices_changed.emit()
        self._watch()

    @Slot()
    def _watch(self) -> None:
        """Look regularly until nothing has moved for a while."""
        self._quiet_looks = 0
        if not self._timer.isActive() and not self._is_closed:
            self._timer.start()


def levels_of(recorder: RecorderState, survey: SurveyState) -> Mapping[str, Levels]:
    """How loud every microphone is that is open, by its id."""
    held = {} if recorder.device is None else {recorder.device.id: recorder.levels}
    return {**survey.levels, **held}
