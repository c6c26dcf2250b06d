"""The session as the window holds it: takes, undo, drafts, and sound that comes back from disk."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from pytestqt.qtbot import QtBot

from app.audio.take_buffer import TakeBuffer
from app.core.session import Draft
from app.core.session_store import SessionStore
from app.core.take_files import SavedTakes, read_take
from app.core.takes import Take, TakeEnding, TakeRequest
from app.core.trash import Trash
from app.jobs.background import Background
from app.studio.notes import Note
from app.studio.preferences import SettingsKeeper
from app.studio.session import SessionKeeper
from engine import ExplainedError, Family
from engine.types import Samples
from engine.wav import WavFormat

RATE = 24_000
FRAME = 1920


def sound(frames: int, seed: int) -> Samples:
    return np.random.default_rng(seed).uniform(-1, 1, FRAME * frames).astype(np.float32)


class Room:
    """A keeper with all that it told."""

    def __init__(self, folder: Path, background: Background, memory: int) -> None:
        self.data = folder / "data"
        self.background = background
        self.preferences = SettingsKeeper(folder / "settings.json", background)
        self.keeper = SessionKeeper(
            self.data / "sessions", self.trash, background, self.preferences, memory
        )
        self.problems: list[ExplainedError] = []
        self.notes: list[Note] = []
        self.changes = 0
        self.drafts: list[str] = []
        self.saved: list[Path] = []
        self.keeper.problem.connect(self.problems.append)
        self.keeper.notice.connect(self.notes.append)
        self.keeper.changed.connect(self._count)
        self.keeper.draft_changed.connect(self.drafts.append)
        self.keeper.saved_as.connect(self.saved.append)
        self.keeper.begin()

    @property
    def trash(self) -> Trash:
        return Trash(self.data / "trash")

    @property
    def ids(self) -> list[str]:
        return [take.id for take in self.keeper.takes]

    def _count(self) -> None:
        self.changes += 1

    def make(self, seed: int, frames: int = 2, text: str = "Hello there.") -> Take:
        """A take as it arrives: made on disk, its sound in a buffer that was adopted."""
        request = TakeRequest(text, Family.BASE)
        take = Take(request, seed, "Anna", created=f"2026-01-01T00:00:{seed:02d}")
        buffer = TakeBuffer(RATE)
        self.keeper.adopt(take.id, buffer)
        writer = self.keeper.writer(take)
        for piece in range(frames):
            buffer.append(sound(1, seed + piece))
            writer.append(sound(1, seed + piece), np.full((1, 16), piece))
        made = writer.finish(TakeEnding.SPOKEN)
        buffer.finish()
        assert made is not None
        self.keeper.add(made)
        return made

    def files(self) -> set[str]:
        assert self.keeper._autosaver.flush()
        return {path.name for path in (self.keeper.folder / "takes").iterdir()}

    def close(self) -> None:
        assert self.keeper.close()
        self.preferences.close()
        assert self.background.flush()


MakeRoom = Callable[..., Room]


@pytest.fixture
def open_room(qtbot: QtBot, tmp_path: Path) -> Iterator[MakeRoom]:
    background = Background()
    rooms: list[Room] = []

    def build(memory: int = 64 << 20) -> Room:
        rooms.append(Room(tmp_path, background, memory))
        return rooms[-1]

    yield build
    for room in rooms:
        room.close()
    assert background.close()


@pytest.fixture
def room(open_room: MakeRoom) -> Room:
    return open_room()


def test_a_session_is_found_again(open_room: MakeRoom) -> None:
    room = open_room()
    assert room.keeper.takes == ()
    first, second = room.make(1), room.make(2)
    room.keeper.set_draft("clone", Draft(text="Almost"))
    assert room.ids == [second.id, first.id]  # newest first
    room.close()
    again = open_room()
    assert again.keeper.folder == room.keeper.folder
    assert again.keeper.takes == (second, first)
    assert again.keeper.draft("clone") == Draft(text="Almost")
    assert not again.notes
    assert not again.problems


def test_settings_that_are_lost_do_not_lose_the_session(
    open_room: MakeRoom, tmp_path: Path
) -> None:
    room = open_room()
    take = room.make(1)
    room.close()
    (tmp_path / "settings.json").unlink()
    assert open_room().keeper.takes == (take,)


def test_a_session_of_another_window_is_left_alone(open_room: MakeRoom) -> None:
    room = open_room()
    room.make(1)
    room.preferences.close()
    assert room.background.flush()
    other = open_room()
    assert other.keeper.folder != room.keeper.folder
    assert other.keeper.takes == ()
    [note] = other.notes
    assert "open in another window" in note.sentence
    assert note.hint == "This window starts a new session."
    other.close()
    room.close()
    assert open_room().keeper.folder == room.keeper.folder  # the one with the work in it


def test_deleting_is_undone_with_every_file(room: Room) -> None:
    first, second = room.make(1), room.make(2)
    before = room.files()
    assert len(before) == 6
    room.keeper.delete(first.id)
    assert room.ids == [second.id]
    assert room.files() == {name for name in before if name.startswith(second.id)}
    assert room.keeper.undo_label == "Delete take"
    room.keeper.undo()
    assert room.ids == [second.id, first.id]
    assert room.files() == before
    assert np.array_equal(soundfile.read(room.keeper.sound_path(first))[0], read(room, first))
    room.keeper.redo()
    assert room.ids == [second.id]
    assert len(room.files()) == 3
    assert not room.problems


def read(room: Room, take: Take) -> Samples:
    buffer = room.keeper.buffer(take.id)
    assert room.background.flush()
    assert buffer.is_finished
    return buffer.read(0, buffer.length)


def test_the_notice_takes_a_deletion_back(room: Room) -> None:
    takes = [room.make(seed) for seed in range(3)]
    room.keeper.delete(takes[0].id, takes[1].id)
    [note] = room.notes
    assert note.sentence == "2 takes were moved to the trash."
    assert note.action is not None
    room.keeper.star(takes[2].id, True)  # so that it is not the last step any more
    note.action()
    assert room.ids == [take.id for take in reversed(takes)]
    assert room.keeper.takes[0].star
    note.action()  # pressed twice
    assert len(room.ids) == 3
    room.keeper.delete("nobody")
    assert len(room.notes) == 1


def test_the_notice_takes_the_last_step_back(room: Room) -> None:
    take = room.make(1)
    room.keeper.delete(take.id)
    [note] = room.notes
    assert note.sentence == "'Hello there.' was moved to the trash."
    assert note.action is not None
    note.action()
    assert room.ids == [take.id]
    assert room.keeper.redo_label == "Delete take"


def test_the_notice_goes_when_there_is_nothing_to_take_back(room: Room) -> None:
    withdrawn: list[Note] = []
    room.keeper.withdrawn.connect(withdrawn.append)
    first, second = room.make(1), room.make(2)
    room.keeper.delete(first.id)
    room.keeper.star(second.id, True)
    assert withdrawn == []
    room.keeper.undo()
    room.keeper.undo()
    assert withdrawn == room.notes
    room.keeper.delete(first.id, second.id)
    room.keeper.forget("nobody")
    assert len(withdrawn) == 1
    room.keeper.forget(second.id)
    assert withdrawn == room.notes


def test_stars_and_notes_are_steps_and_new_takes_are_none(room: Room) -> None:
    take = room.make(1)
    assert room.keeper.undo_label == ""
    room.keeper.star(take.id, True)
    for text in ("g", "go", "good"):
        room.keeper.set_note(take.id, text)
    late = room.make(2)
    assert room.keeper.undo_label == "Note on take"
    room.keeper.undo()
    assert room.keeper.session.take(take.id) == replace(take, star=True)
    room.keeper.undo()
    assert room.keeper.session.take(take.id) == take
    assert room.keeper.session.take(late.id) == late
    room.keeper.redo()
    room.keeper.redo()
    assert room.files()
    kept = read_take(room.keeper.sound_path(take).with_suffix(".json"))
    assert kept == replace(take, star=True, note="good")
    changes = room.changes
    room.keeper.redo()
    room.keeper.star("nobody", True)
    room.keeper.star(take.id, True)
    assert room.changes == changes  # nothing has changed


def test_drafts_are_no_steps(room: Room) -> None:
    take = room.make(1)
    room.keeper.star(take.id, True)
    room.keeper.set_draft("design", Draft(text="One"))
    room.keeper.set_draft("design", Draft(text="One"))
    room.keeper.undo()
    assert room.keeper.draft("design").text == "One"
    assert room.drafts == ["design"]


def test_a_growing_take_has_the_buffer_that_was_adopted(room: Room) -> None:
    buffer = TakeBuffer(RATE)
    room.keeper.adopt("new", buffer)
    assert room.keeper.buffer("new") is buffer
    room.keeper.drop("new")
    other = room.keeper.buffer("new")
    assert other is not buffer
    assert other.is_finished
    assert other.length == 0


def test_sound_in_memory_is_bounded_and_read_again(open_room: MakeRoom) -> None:
    room = open_room(memory=3 * 2 * FRAME * 4)  # three takes
    takes = [room.make(seed) for seed in range(6)]
    sounds = room.keeper._sounds
    assert sounds.kept_bytes <= 3 * 2 * FRAME * 4
    buffers = [room.keeper.buffer(take.id) for take in takes]
    assert room.background.flush()
    assert all(buffer.is_finished for buffer in buffers)
    for seed, buffer in enumerate(buffers):
        expected = np.concatenate([sound(1, seed), sound(1, seed + 1)])
        assert np.array_equal(buffer.read(0, buffer.length), expected)
    assert room.keeper.buffer(takes[0].id) is buffers[0]  # somebody holds it: no second copy
    kept = [weakref.ref(buffer) for buffer in buffers]
    gc.disable()  # a buffer must not wait for it
    try:
        del buffers, buffer
        assert sum(reference() is not None for reference in kept) <= 3
    finally:
        gc.enable()
    assert sounds.kept_bytes <= 3 * 2 * FRAME * 4


def test_sound_whose_file_is_gone(open_room: MakeRoom) -> None:
    room = open_room()
    take = room.make(1)
    room.close()
    again = open_room()
    path = again.keeper.sound_path(take)
    path.rename(path.with_suffix(".away"))
    buffer = again.keeper.buffer(take.id)
    assert again.background.flush()
    assert buffer.is_finished
    assert buffer.length == 0
    [problem] = again.problems
    assert str(path) in problem.message
    path.with_suffix(".away").rename(path)
    assert len(read(again, take)) == 2 * FRAME


def test_sound_is_read_though_its_deletion_was_undone_just_now(open_room: MakeRoom) -> None:
    room = open_room()
    take = room.make(1)
    room.close()
    again = open_room()
    again.keeper.delete(take.id)
    assert not again.files()
    again.keeper.undo()
    assert len(read(again, take)) == 2 * FRAME
    assert not again.problems


def test_a_copy_is_saved(room: Room, tmp_path: Path) -> None:
    take = room.make(1)
    heard: list[Path] = []
    room.keeper.save_as(take, tmp_path / "copy.wav", WavFormat.WAV16, heard.append)
    assert room.background.flush()
    assert room.saved == heard == [tmp_path / "copy.wav"]
    assert soundfile.info(tmp_path / "copy.wav").frames == 2 * FRAME
    room.keeper.save_as(take, tmp_path / "missing" / "copy.wav")
    room.keeper.save_as(take, room.keeper.sound_path(take))
    assert room.background.flush()
    assert len(room.saved) == 1
    assert "missing" in room.problems[0].message
    assert room.problems[1].hint == "Choose another folder."


def test_copies_are_saved_together(room: Room, tmp_path: Path) -> None:
    takes = [room.make(1), room.make(2, text="And again."), room.make(3)]
    saved: list[SavedTakes] = []
    room.keeper.saved_all.connect(saved.append)
    room.keeper.save_all(takes[:2], tmp_path)
    assert room.background.flush()
    names = [path.name for path in saved[0].files]
    assert names == ["Anna - Hello there.wav", "Anna - And again.wav"]
    assert all((tmp_path / name).is_file() for name in names)
    assert not room.problems
    assert room.files()
    for take in takes[1:]:
        room.keeper.sound_path(take).unlink()
    room.keeper.save_all(takes, tmp_path)
    room.keeper.save_all(takes[1:], tmp_path)
    room.keeper.save_all(takes, room.keeper.sound_path(takes[0]).parent)
    room.keeper.save_all(takes, tmp_path / "missing")
    assert room.background.flush()
    assert [len(each.files) for each in saved] == [2, 1, 0]
    some, none, own, missing = room.problems
    assert some.message == none.message == "2 takes could not be saved."
    assert some.hint.startswith("The others were saved.")
    assert none.hint.startswith("Nothing was saved.")
    assert takes[1].file in some.detail
    assert own.hint == "Choose another folder."
    assert "missing" in missing.message


def test_a_disk_that_fails_is_not_told_with_every_change(room: Room, qtbot: QtBot) -> None:
    take = room.make(1)
    assert room.files()
    room.keeper.sound_path(take).with_suffix(".json").unlink()
    blocked = room.keeper.sound_path(take).with_suffix(".json")
    blocked.mkdir()
    for number in range(3):
        room.keeper.set_note(take.id, str(number))
        assert room.keeper._autosaver.flush()
    qtbot.waitUntil(lambda: bool(room.problems))
    qtbot.wait(1)  # whatever was queued behind it
    assert len(room.problems) == 1
    assert str(blocked) in room.problems[0].message
    blocked.rmdir()
    room.close()  # tries once more
    assert read_take(blocked).note == "2"


def test_a_fault_of_ours_is_logged_and_told_once_and_saving_goes_on(
    room: Room, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    take = room.make(1)
    assert room.files()

    def fail(*_: object) -> None:
        raise KeyError("a fault of ours")

    with monkeypatch.context() as patch:
        patch.setattr("app.core.session_store.write_sidecar", fail)
        patch.setattr("app.studio.session.REPEAT_SECONDS", 0.0)
        for number in range(3):
            room.keeper.set_note(take.id, str(number))
            assert room.keeper._autosaver.flush()
        qtbot.waitUntil(lambda: bool(room.problems))
        qtbot.wait(1)  # whatever was queued behind it
    assert ["a fault of ours" in problem.message for problem in room.problems] == [True]
    assert sum("unexpectedly" in record.message for record in caplog.records) == 3
    room.keeper.set_note(take.id, "kept")
    assert room.files()
    assert read_take(room.keeper.sound_path(take).with_suffix(".json")).note == "kept"


def test_damaged_takes_are_told_together(open_room: MakeRoom) -> None:
    room = open_room()
    takes = [room.make(seed) for seed in range(3)]
    room.close()
    for take in takes:
        room.keeper.sound_path(take).with_suffix(".json").write_bytes(b"{")
    again = open_room()
    assert again.ids == []
    assert [problem.message for problem in again.problems] == ["3 takes could not be read."]
    assert all(take.id in again.problems[0].detail for take in takes)


def test_a_session_of_a_newer_studio_is_shown_and_not_written(open_room: MakeRoom) -> None:
    room = open_room()
    take = room.make(1)
    room.close()
    document = room.keeper.folder / "session.json"
    document.write_text(document.read_text().replace('"schema": 1', '"schema": 99'))
    before = document.read_bytes()
    again = open_room()
    assert again.keeper.read_only
    assert again.keeper.takes == (take,)
    assert "newer version" in again.notes[0].sentence
    again.keeper.star(take.id, True)
    again.close()
    assert document.read_bytes() == before
    assert not again.problems


KILLED = """
import os, sys
from pathlib import Path
import numpy as np
from app.core.session_store import SessionStore
from app.core.takes import Take, TakeRequest
from app.core.trash import Trash
from engine import Family
folder = Path(sys.argv[1])
store = SessionStore(folder, Trash(folder.parent.parent / "trash"))
writer = store.writer(Take(TakeRequest("Cut off here.", Family.BASE), 5, "Anna", id="cut"))
writer.append(np.full(1920, 0.5, np.float32), np.full((1, 16), 7))
os.kill(os.getpid(), 9)
"""


def test_a_killed_studio_loses_nothing_that_was_heard(open_room: MakeRoom) -> None:
    room = open_room()
    take = room.make(1)
    room.close()
    outcome = subprocess.run(
        [sys.executable, "-c", KILLED, str(room.keeper.folder)], timeout=60, check=False
    )
    assert outcome.returncode == -9
    again = open_room()
    assert again.ids == ["cut", take.id]
    assert again.keeper.takes[0].ending is TakeEnding.STOPPED
    [note] = again.notes
    assert note.sentence == "Take recovered: 'Cut off here.'."
    assert np.array_equal(read(again, again.keeper.takes[0]), np.full(1920, 0.5, np.float32))
    assert again.keeper.codes_path(again.keeper.takes[0]).exists()


def test_the_session_is_free_once_it_is_closed(room: Room) -> None:
    room.close()
    SessionStore(room.keeper.folder, room.trash).close()
