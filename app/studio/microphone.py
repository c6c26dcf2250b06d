"""The recorder as the window drives it: which microphone, levels, counting in, recording."""

from __future__ import annotations

import logging
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from app.audio.backend import Device
from app.audio.recorder import Recorder
from app.audio.recorder_state import RecorderState, RecorderStatus
from app.audio.survey import Survey, SurveyState
from app.studio.count_in import CountIn
from app.studio.device_search import DeviceSearch
from app.studio.preferences import SettingsKeeper
from engine.errors import ExplainedError

log = logging.getLogger(__name__)


class Microphone(QObject):
    """Polled by `look`. No input is held twice: the survey leaves the one that is recorded."""

    moved = Signal(object)  # RecorderState, while the microphone is open
    surveyed = Signal(object)  # SurveyState, while several are watched
    recorded = Signal(object)  # Recording
    counted = Signal(int)  # seconds left before recording begins, 0 at its end
    problem = Signal(object)  # ExplainedError
    asked = Signal()  # something was asked for: look more often

    def __init__(
        self,
        recorder: Recorder,
        survey: Survey,
        search: DeviceSearch,
        preferences: SettingsKeeper,
        parent: QObject | None = None,
    ) -> None:
        """While `search` looks for devices none is opened."""
        super().__init__(parent)
        self._recorder = recorder
        self._survey = survey
        self._search = search
        self._preferences = preferences
        self._shown = recorder.state
        self._monitors = False  # the microphone is wanted
        self._surveys = False  # all of them are
        self._watched: tuple[Device, ...] = ()
        self._waiting: Callable[[], None] | None = None  # opens it when the survey has let go
        self._told: ExplainedError | None = None
        self._count_in = CountIn(self._is_ready, self)
        self._count_in.counted.connect(self.counted)
        self._count_in.over.connect(self._on_count_over)

    @property
    def state(self) -> RecorderState:
        """The recorder's latest moment."""
        return self._recorder.state

    @property
    def survey_state(self) -> SurveyState:
        """How loud the other microphones are; that of the recorder is in `state`."""
        return self._survey.state

    @property
    def chosen(self) -> str | None:
        """The id of the chosen one if it is there, None for the system's choice."""
        return self._search.input(self._preferences.settings.input_device)

    @property
    def counting(self) -> int:
        """Seconds until recording begins, 0 when none is counted in."""
        return self._count_in.left

    @property
    def is_recording(self) -> bool:
        """Whether a recording runs or is being counted in."""
        return self.counting > 0 or self.state.status is RecorderStatus.RECORDING

    def monitor(self, on: bool, device_id: str | None = None) -> None:
        """Open one, None being the chosen one, and show its levels; or close it."""
        self._monitors = on
        if on:
            self._open(device_id or self.chosen)
        else:
            self._waiting = None
            self._count_in.stop()
            self._recorder.release()
        self.asked.emit()

    def choose(self, device_id: str | None) -> None:
        """Record with another one, None being the system's choice; remembered."""
        self._preferences.update(input_device=device_id or "")
        if self._monitors:
            self._count_in.stop()
            self._open(device_id)
        self.asked.emit()

    def survey(self, on: bool) -> None:
        """Show the levels of all that are there, but not while something is recorded."""
        self._surveys = on
        self._watch_others()
        self.asked.emit()

    def record(self, count_in: int) -> None:
        """Keep what it hears, after so many seconds."""
        if not self._monitors or self.state.status is RecorderStatus.CLOSED:
            self.monitor(True)
        if count_in or not self._is_ready():
            self._count_in.begin(count_in)
        else:
            self._recorder.record()
        self._watch_others()
        self.asked.emit()

    def stop(self) -> None:
        """End the recording, or the counting before it; levels go on."""
        self._count_in.stop()
        self._recorder.stop()
        self.asked.emit()

    def reset_clip(self) -> None:
        """Put the clip lamp out."""
        self._recorder.reset_clip()
        self.asked.emit()

    def reopen(self) -> None:
        """Devices were looked for: open again what is wanted."""
        if self._monitors:
            self._open(self.chosen)

    def close(self) -> bool:
        """Keep and tell what is being recorded, and let go; False when a device hangs."""
        self._count_in.stop()
        survey_ended = self._survey.close()
        recorder_ended = self._recorder.close()
        self._look_at_recorder()
        return survey_ended and recorder_ended

    def look(self) -> bool:
        """Tell what has changed since the last look; whether anything has, or may soon."""
        self._watch_others()
        if self._waiting is not None and self._survey.is_free:
            call, self._waiting = self._waiting, None
            call()
        if self._surveys:
            self.surveyed.emit(self.survey_state)
        return self._look_at_recorder() or self._surveys or self._waiting is not None

    def _look_at_recorder(self) -> bool:
        recordings = self._recorder.recordings()
        state = self._recorder.state
        before, self._shown = self._shown, state
        moves = state != before or state.status is not RecorderStatus.CLOSED
        if moves:
            self.moved.emit(state)
        if state.problem is not None and state.problem is not before.problem:
            self._count_in.stop()
            self._tell(state.problem)
        for recording in recordings:
            if recording.gaps:
                log.warning("This recording has %d gaps", recording.gaps)
            if recording.problem is not None:
                self._tell(recording.problem)
            self.recorded.emit(recording)
        return moves or bool(recordings)

    def _tell(self, problem: ExplainedError) -> None:
        """Tell a problem, once: the recording and the state both have it."""
        if problem is not self._told:
            self._told = problem
            self.problem.emit(problem)

    def _is_ready(self) -> bool:
        return not self._search.is_running and self._waiting is None

    def _open(self, device_id: str | None) -> None:
        """Open one as soon as it can be; while devices are looked for, that is afterwards."""
        self._waiting = None
        if self._search.is_running:
            return
        self._waiting = lambda: self._recorder.monitor(device_id)
        self._watch_others()
        if self._survey.is_free:
            self._waiting = None
            self._recorder.monitor(device_id)

    def _watch_others(self) -> None:
        """Watch all but the one that the recorder holds, unless it is about to take one."""
        is_asked = self._surveys and not self._search.is_wanted and not self.is_recording
        if not is_asked or self._waiting is not None:
            wanted: tuple[Device, ...] = ()
        elif not self._recorder.is_settled:
            return
        else:
            held = self.state.device
            inputs = self._search.devices.inputs
            wanted = tuple(one for one in inputs if held is None or one.id != held.id)
        if wanted != self._watched:
            self._watched = wanted
            self._survey.watch(*wanted)

    @Slot()
    def _on_count_over(self) -> None:
        self._recorder.record()
        self.asked.emit()
