"""Several microphones are watched at once, and let go as soon as nobody watches them."""

from __future__ import annotations

import numpy as np

from app.audio.backend import Device, Frames, SoundDeviceError
from app.audio.null import ManualBackend, NullStream
from app.audio.survey import Survey

DESK = Device("Test/desk", "Desk microphone", "Test", 1, 48_000, is_default=True)
CLIP_ON = Device("Test/clip-on", "Clip-on microphone", "Test", 2, 44_100, is_default=False)
BUSY = Device("Test/busy", "Busy microphone", "Test", 1, 48_000, is_default=False)


def speech(start: int, count: int) -> Frames:
    return np.full((count, 1), 0.25, np.float32)


class Room(ManualBackend):
    """Two microphones that can be opened, and one that another program holds."""

    def __init__(self) -> None:
        super().__init__(inputs=(DESK, CLIP_ON, BUSY), signal=speech)
        self.tries: list[str | None] = []

    def open_input(self, device_id: str | None, rate: int | None) -> NullStream:
        self.tries.append(device_id)
        if device_id == BUSY.id:
            raise SoundDeviceError("“Busy microphone” cannot be opened: busy.")
        return super().open_input(device_id, rate)

    @property
    def held(self) -> set[str]:
        return {stream.device.id for stream in self.open_streams}


def settled(survey: Survey, room: Room) -> None:
    for _ in range(5):
        survey.step()
        room.advance(0.05)
    survey.step()


def test_every_input_shows_its_level_or_why_it_has_none() -> None:
    room = Room()
    survey = Survey(room)
    assert survey.is_free
    survey.watch(DESK, CLIP_ON, BUSY)
    assert not survey.is_free
    settled(survey, room)
    assert {key: levels.peak for key, levels in survey.state.levels.items()} == {
        DESK.id: 0.25,
        CLIP_ON.id: 0.25,
    }
    assert "busy" in survey.state.refused[BUSY.id].message
    assert room.tries == [DESK.id, CLIP_ON.id, BUSY.id], "each is tried once"
    assert survey.close()
    assert room.held == set()


def test_between_two_devices_another_wish_is_heard() -> None:
    room = Room()
    survey = Survey(room)
    survey.watch(DESK, CLIP_ON)
    assert survey.step() == 0.0
    assert room.held == {DESK.id}
    survey.watch()
    survey.step()
    assert room.held == set()
    assert survey.is_free
    assert survey.state.levels == {}


def test_what_stays_wanted_stays_open() -> None:
    room = Room()
    survey = Survey(room)
    survey.watch(DESK, CLIP_ON)
    settled(survey, room)
    survey.watch(CLIP_ON)
    settled(survey, room)
    assert room.held == {CLIP_ON.id}
    assert room.tries == [DESK.id, CLIP_ON.id]
    survey.close()


def test_one_that_is_unplugged_says_so_and_stops_no_other() -> None:
    room = Room()
    survey = Survey(room)
    survey.watch(DESK, CLIP_ON)
    settled(survey, room)
    room.unplug(DESK)
    settled(survey, room)
    assert "unplugged" in survey.state.refused[DESK.id].message
    assert list(survey.state.levels) == [CLIP_ON.id]
    survey.close()


def test_the_thread_lets_go_at_the_end() -> None:
    room = Room()
    survey = Survey(room)
    survey.start()
    survey.watch(DESK)
    assert survey.close()
    assert room.held == set()
