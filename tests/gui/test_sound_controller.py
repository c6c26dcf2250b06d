"""The player, the recorder and the devices as the window drives them, on the test's own clock."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from app.audio.backend import Device
from app.audio.null import ManualBackend, NullStream
from app.audio.player import Player
from app.audio.player_state import PlayerState, PlayerStatus
from app.audio.recorder import Recorder
from app.audio.recorder_state import RecorderState, RecorderStatus, Recording
from app.audio.survey import Survey
from app.audio.take_buffer import Forecast, TakeBuffer
from app.jobs.background import Background
from app.studio import count_in
from app.studio import sound as sound_module
from app.studio.preferences import SettingsKeeper
from app.studio.sound import Sound, SoundParts
from engine import ExplainedError
from engine.types import Samples

RATE = 24_000
SPEAKERS = Device("Test/speakers", "Speakers", "Test", 2, 48_000, is_default=True)
HEADSET = Device("Test/headset", "Headset", "Test", 2, 48_000, is_default=False)
DESK = Device("Test/desk", "Desk microphone", "Test", 1, 48_000, is_default=True)
CLIP_ON = Device("Test/clip-on", "Clip-on microphone", "Test", 1, 48_000, is_default=False)


def voice(seconds: float, seed: int = 0) -> Samples:
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.5, 0.5, round(seconds * RATE)).astype(np.float32)


def room(start: int, count: int) -> Samples:
    """What the microphones hear."""
    rng = np.random.default_rng(start)
    return rng.uniform(-0.1, 0.1, (count, 1)).astype(np.float32)


class Rescanned(ManualBackend):
    """Sees what was plugged in only when it looks again, as PortAudio does."""

    def __init__(self) -> None:
        super().__init__((SPEAKERS, HEADSET), (DESK, CLIP_ON), room)
        self.rescans: list[bool] = []
        self.plugged: tuple[Device, ...] = ()

    def rescan(self) -> bool:
        looked = super().rescan()
        self.rescans.append(looked)
        if looked:
            self._outputs = (*self._outputs, *self.plugged)
            self.plugged = ()
        return looked


class Desk:
    """A Sound with all that it told; time passes in `run` alone."""

    def __init__(self, folder: Path, background: Background, **settings: object) -> None:
        self.now = 100.0
        self.backend = Rescanned()
        self.background = background
        self.preferences = SettingsKeeper(folder / "settings.json", background)
        self.preferences.update(**settings)
        self.player = Player(self.backend, None, lambda: self.now)
        self.recorder = Recorder(self.backend, folder / "recordings", lambda: self.now)
        self.survey = Survey(self.backend)
        parts = SoundParts(self.player, self.recorder, self.survey)
        self.sound = Sound(self.backend, parts, background, self.preferences)
        self.problems: list[ExplainedError] = []
        self.moves: list[PlayerState] = []
        self.microphone: list[RecorderState] = []
        self.recordings: list[Recording] = []
        self.counts: list[int] = []
        self.told: list[str] = []
        self.sound.problem.connect(self.problems.append)
        self.sound.moved.connect(self.moves.append)
        self.sound.recorder_moved.connect(self.microphone.append)
        self.sound.recorded.connect(self.recordings.append)
        self.sound.counted.connect(self.counts.append)
        self.sound.ended.connect(lambda: self.told.append("ended"))
        self.sound.starved.connect(lambda: self.told.append("starved"))

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.01)):
            self.now += 0.01
            self.backend.advance(0.01)
            self.player.step()
            self.recorder.step()
            self.survey.step()
            self.sound.look()

    def look_for_devices(self) -> None:
        self.sound.look_for_devices()
        self.run(0.5)
        assert self.background.flush()
        self.run(0.1)
        assert not self.sound.is_looking

    @property
    def status(self) -> str:
        return self.sound.state.status

    @property
    def microphone_status(self) -> str:
        return self.sound.recorder_state.status

    @property
    def heard(self) -> Samples:
        blocks = [block[:, 0] for block in self.backend.heard]
        heard = np.concatenate(blocks) if blocks else np.empty(0, np.float32)
        places = np.flatnonzero(heard)
        return heard[places[0] : places[-1] + 1] if len(places) else heard[:0]

    @property
    def output(self) -> NullStream:
        [stream] = [one for one in self.backend.open_streams if one.device in (SPEAKERS, HEADSET)]
        return stream


MakeDesk = Callable[..., Desk]


@pytest.fixture
def make(qtbot: QtBot, tmp_path: Path) -> Iterator[MakeDesk]:
    background = Background()
    made: list[Desk] = []

    def build(**settings: object) -> Desk:
        made.append(Desk(tmp_path, background, **settings))
        return made[-1]

    yield build
    for desk in made:
        assert desk.sound.close()
        desk.preferences.close()
    assert background.close()


@pytest.fixture
def desk(make: MakeDesk) -> Desk:
    return make()


def test_a_take_is_played_and_its_end_told(desk: Desk) -> None:
    samples = voice(0.5)
    desk.sound.play("take", TakeBuffer.of(samples, RATE))
    assert desk.sound.playing_key == "take"
    desk.run(0.2)
    assert desk.sound.is_sounding
    assert "Speakers, 24000 Hz" in desk.sound.backend_note
    desk.run(0.8)
    assert np.array_equal(desk.heard, samples)
    assert desk.told == ["ended"]
    statuses = [state.status for state in desk.moves]
    assert statuses[-1] is PlayerStatus.STOPPED
    assert statuses.count(PlayerStatus.STOPPED) < 5  # told when it changes, not all the time
    positions = [state.position for state in desk.moves]
    assert positions == sorted(positions)
    assert not desk.problems


def test_the_timer_rests_when_nothing_moves(desk: Desk, qtbot: QtBot) -> None:
    timer = desk.sound._timer
    assert not timer.isActive()
    desk.sound.play("take", TakeBuffer.of(voice(0.1), RATE))
    assert timer.isActive()
    desk.run(20.0)
    assert not timer.isActive()
    desk.moves.clear()
    desk.sound.toggle()
    assert timer.isActive()
    desk.run(0.5)
    assert desk.moves


def test_a_slow_take_is_waited_for(desk: Desk) -> None:
    take = TakeBuffer(RATE)
    desk.sound.play("take", take)
    desk.run(0.1)
    assert desk.status == PlayerStatus.WAITING
    take.append(voice(0.5))
    take.announce(Forecast(speed=5.0, remaining=0.1))
    desk.run(1.0)
    assert desk.told == ["starved"]
    take.append(voice(0.5, 1))
    take.finish()
    desk.run(1.5)
    assert desk.told == ["starved", "ended"]


def test_the_transport(desk: Desk) -> None:
    desk.sound.load("take", TakeBuffer.of(voice(2.0), RATE))
    desk.run(0.1)
    assert desk.status == PlayerStatus.STOPPED
    desk.sound.seek(RATE)
    desk.sound.toggle()
    desk.run(0.3)
    assert desk.sound.state.position > RATE
    desk.sound.pause()
    desk.run(0.2)
    assert desk.status == PlayerStatus.PAUSED
    desk.sound.set_loop((0, RATE // 2))
    desk.run(0.1)
    assert desk.sound.state.loop == (0, RATE // 2)
    desk.sound.set_loop(None)
    desk.sound.stop()
    desk.run(0.1)
    assert desk.sound.state.loop is None
    assert desk.sound.state.position == 0
    desk.sound.load("take", None)
    desk.run(0.1)
    assert desk.status == PlayerStatus.EMPTY
    assert desk.sound.playing_key == ""


def test_volume_and_devices_are_remembered(make: MakeDesk) -> None:
    desk = make()
    desk.look_for_devices()
    desk.sound.set_volume(0.5)
    desk.sound.set_output(HEADSET.id)
    desk.sound.set_input(CLIP_ON.id)
    desk.sound.play("take", TakeBuffer.of(voice(0.2), RATE))
    desk.run(0.1)
    assert desk.output.device == HEADSET
    settings = desk.preferences.settings
    assert (settings.volume, settings.output_device) == (0.5, HEADSET.id)
    assert settings.input_device == CLIP_ON.id
    desk.sound.set_volume(7)
    desk.sound.set_output(None)
    assert desk.preferences.settings.volume == 1.0
    assert desk.preferences.settings.output_device == ""


def test_an_output_that_is_away_leaves_the_choice_to_the_system(make: MakeDesk) -> None:
    desk = make(output_device="Test/away", volume=0.25)
    desk.look_for_devices()
    assert desk.sound.outputs == (SPEAKERS, HEADSET)
    assert desk.sound.output is None
    desk.sound.play("take", TakeBuffer.of(np.full(RATE, 0.4, np.float32), RATE))
    desk.run(0.5)
    assert desk.output.device == SPEAKERS
    assert desk.heard.max() == pytest.approx(0.1)
    assert desk.preferences.settings.output_device == "Test/away"  # it may come back
    assert not desk.problems


def test_an_output_that_goes_away_is_told_once_and_another_plays_on(desk: Desk) -> None:
    samples = voice(2.0)
    desk.look_for_devices()
    desk.sound.play("take", TakeBuffer.of(samples, RATE))
    desk.run(0.6)
    desk.backend.unplug(SPEAKERS)
    desk.run(1.0)
    [problem] = desk.problems
    assert "Speakers” went away at 0:00" in problem.message
    assert desk.status == PlayerStatus.PAUSED
    stopped_at = desk.sound.state.position
    assert desk.background.flush()
    desk.run(0.1)
    assert desk.sound.outputs == (HEADSET,)
    desk.sound.set_output(HEADSET.id)
    desk.run(0.3)
    assert desk.status == PlayerStatus.PLAYING
    assert desk.output.device == HEADSET
    assert desk.sound.state.position > stopped_at
    desk.run(2.0)
    assert desk.told == ["ended"]
    assert len(desk.problems) == 1


def test_choosing_an_output_does_not_play_what_was_paused(desk: Desk) -> None:
    desk.sound.play("take", TakeBuffer.of(voice(2.0), RATE))
    desk.run(0.3)
    desk.sound.pause()
    desk.run(0.2)
    desk.sound.set_output(HEADSET.id)
    desk.run(0.3)
    assert desk.status == PlayerStatus.PAUSED


def test_faults_of_a_play_are_logged_at_its_end(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:

    def told() -> list[str]:
        records = [record for record in caplog.records if record.name == sound_module.__name__]
        return [record.getMessage() for record in records if record.levelno >= logging.WARNING]

    desk.sound.play("take", TakeBuffer.of(voice(1.0), RATE))
    desk.run(0.4)
    desk.output.dropouts += 2
    desk.run(0.1)
    assert not told()
    desk.run(1.0)
    assert told() == ["This play had 0 underruns and 2 dropouts"]
    desk.sound.toggle()
    desk.run(1.5)
    assert len(told()) == 1  # those of an earlier play are not counted again


def test_devices_are_looked_for_when_all_is_quiet(desk: Desk) -> None:
    new = Device("Test/new", "New", "Test", 2, 48_000, is_default=False)
    desk.look_for_devices()
    desk.backend.rescans.clear()
    desk.sound.monitor(True)
    desk.sound.play("take", TakeBuffer.of(voice(0.5), RATE))
    desk.run(0.2)
    desk.backend.plugged = (new,)
    desk.sound.look_for_devices()
    desk.run(0.1)
    assert desk.background.flush()
    assert desk.sound.is_looking
    assert not desk.backend.rescans  # not in the midst of a take
    desk.run(1.0)
    assert desk.background.flush()
    desk.run(0.1)
    assert desk.backend.rescans == [True]
    assert desk.sound.outputs == (SPEAKERS, HEADSET, new)
    assert desk.microphone_status == RecorderStatus.MONITORING  # as before
    assert desk.told == ["ended"]


def test_the_microphone_is_watched_and_let_go(desk: Desk) -> None:
    desk.sound.monitor(True, CLIP_ON.id)
    desk.run(0.3)
    assert desk.sound.recorder_state.device == CLIP_ON
    assert desk.microphone[-1].levels.peak > 0
    told = len(desk.microphone)
    desk.run(0.3)
    assert len(desk.microphone) == told + 30
    desk.sound.set_input(DESK.id)
    desk.run(0.1)
    assert desk.sound.recorder_state.device == DESK
    desk.sound.monitor(False)
    desk.run(0.1)
    assert desk.microphone_status == RecorderStatus.CLOSED
    assert not desk.backend.open_streams


def test_a_recording_is_counted_in_while_nothing_plays(
    make: MakeDesk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_in, "SECOND", 5)
    desk = make()
    desk.sound.play("take", TakeBuffer.of(voice(5.0), RATE))
    desk.run(0.3)
    desk.sound.start_recording(3)
    assert desk.sound.counting == 3
    assert desk.sound.is_recording
    desk.run(0.2)
    assert desk.status == PlayerStatus.PAUSED
    assert desk.microphone_status == RecorderStatus.MONITORING
    qtbot.waitUntil(lambda: not desk.sound.counting)
    assert desk.counts == [3, 2, 1, 0]
    desk.run(1.0)
    assert desk.microphone_status == RecorderStatus.RECORDING
    desk.sound.start_recording(0)  # R pressed twice begins nothing new
    desk.sound.stop_recording()
    desk.run(0.1)
    [recording] = desk.recordings
    assert recording.path is not None
    assert recording.path.exists()
    assert 1.0 <= recording.seconds <= 1.7  # with what was heard before
    assert not desk.sound.is_recording
    assert desk.microphone_status == RecorderStatus.MONITORING


def test_counting_in_can_be_stopped(desk: Desk) -> None:
    desk.sound.start_recording(3)
    desk.sound.stop_recording()
    assert desk.sound.counting == 0
    assert not desk.sound._microphone._count_in._timer.isActive()
    desk.run(0.2)
    assert desk.microphone_status == RecorderStatus.MONITORING
    assert not desk.recordings


def test_a_microphone_that_goes_away_is_told_once_and_keeps_what_it_heard(desk: Desk) -> None:
    desk.sound.start_recording(0)
    desk.run(2.0)
    desk.backend.unplug(DESK)
    desk.run(1.0)
    [recording] = desk.recordings
    assert recording.path is not None
    [problem] = desk.problems
    assert "unplugged at 0:0" in problem.message
    assert desk.microphone_status == RecorderStatus.CLOSED
    desk.sound.set_input(CLIP_ON.id)
    desk.run(0.2)
    assert desk.sound.recorder_state.device == CLIP_ON


def test_a_microphone_that_is_missing_ends_the_counting(desk: Desk) -> None:
    desk.backend.unplug(DESK)
    desk.backend.unplug(CLIP_ON)
    desk.sound.start_recording(3)
    desk.run(0.1)
    assert desk.counts == [3, 0]
    [problem] = desk.problems
    assert "no microphone" in problem.message


def test_closing_keeps_what_is_being_recorded(desk: Desk, tmp_path: Path) -> None:
    desk.sound.start_recording(0)
    desk.run(1.0)
    assert desk.sound.close()
    [path] = (tmp_path / "recordings").glob("*.wav")
    assert path.stat().st_size > 4 * 24_000


# --- all microphones at once ---


def held(desk: Desk) -> list[str]:
    return sorted(stream.device.id for stream in desk.backend.open_streams)


def test_all_microphones_are_watched_and_none_is_opened_twice(desk: Desk) -> None:
    desk.look_for_devices()
    desk.sound.monitor(True)
    desk.sound.survey(True)
    desk.run(0.3)
    assert held(desk) == [CLIP_ON.id, DESK.id]
    assert {key: levels.peak > 0.05 for key, levels in desk.sound.levels.items()} == {
        DESK.id: True,
        CLIP_ON.id: True,
    }
    assert list(desk.survey.state.levels) == [CLIP_ON.id]
    desk.sound.survey(False)
    desk.run(0.1)
    assert held(desk) == [DESK.id]


def test_another_microphone_is_handed_over_from_the_survey(desk: Desk) -> None:
    desk.look_for_devices()
    desk.sound.monitor(True)
    desk.sound.survey(True)
    desk.run(0.3)
    desk.sound.set_input(CLIP_ON.id)
    for _ in range(30):
        desk.run(0.01)
        assert len(set(held(desk))) == len(held(desk))
    assert desk.sound.recorder_state.device == CLIP_ON
    assert list(desk.survey.state.levels) == [DESK.id]


def test_a_recording_has_the_microphones_for_itself(desk: Desk, qtbot: QtBot) -> None:
    desk.look_for_devices()
    desk.sound.survey(True)
    desk.run(0.3)
    assert held(desk) == [CLIP_ON.id, DESK.id]
    desk.sound.start_recording(0)  # nothing is open for it yet
    assert desk.sound.counting == 1
    desk.run(0.1)
    with qtbot.waitSignal(desk.sound.counted):
        pass
    desk.run(0.5)
    assert desk.microphone_status == RecorderStatus.RECORDING
    assert held(desk) == [DESK.id]
    desk.sound.stop_recording()
    desk.run(0.3)
    assert desk.recordings[0].path is not None
    assert held(desk) == [CLIP_ON.id, DESK.id]


def test_the_survey_makes_way_for_a_search(desk: Desk) -> None:
    desk.look_for_devices()
    desk.sound.survey(True)
    desk.run(0.3)
    desk.look_for_devices()
    assert desk.backend.rescans[-1]
    desk.run(0.3)
    assert held(desk) == [CLIP_ON.id, DESK.id]


def test_nothing_is_looked_at_for_ever_after_a_survey(desk: Desk) -> None:
    desk.look_for_devices()
    desk.sound.survey(True)
    desk.run(15.0)
    assert desk.sound._timer.isActive()
    desk.sound.survey(False)
    desk.run(15.0)
    assert not desk.sound._timer.isActive()
