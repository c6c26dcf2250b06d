"""The recorder on a clock of the test's own: whatever ends a recording, its samples are there."""

from __future__ import annotations

import errno
import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from app.audio.backend import Device, Frames
from app.audio.journal import (
    NOTE_SUFFIX,
    RAW_SUFFIX,
    Journal,
    JournalNote,
    note_path,
    recover_recordings,
    save_as_wav,
)
from app.audio.null import ManualBackend, Signal
from app.audio.recorder import Recorder
from app.audio.recorder_state import RecorderStatus, Recording
from engine.types import Samples

RATE = 48_000
MICROPHONE = Device("Test/microphone", "Microphone", "Test", 1, RATE, is_default=True)
INTERFACE = Device("Test/interface", "Interface", "Test", 8, RATE, is_default=False)
NOTE = JournalNote(RATE, 2, "Interface", "2026-01-01T12:00:00+00:00")
SPEECH = np.random.default_rng(0).uniform(-0.4, 0.4, (60 * RATE, 1)).astype(np.float32)


def speech(start: int, count: int) -> Frames:
    return SPEECH[start : start + count]


def silence(start: int, count: int) -> Frames:
    return np.zeros((count, 1), np.float32)


class Studio:
    """A recorder, its microphones and a clock that only `run` moves."""

    def __init__(self, folder: Path, signal: Signal | None = speech):
        self.now = 100.0
        self.backend = ManualBackend(inputs=(MICROPHONE, INTERFACE), signal=signal)
        self.recorder = Recorder(self.backend, folder, lambda: self.now)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.02)):
            self.now += 0.02
            self.backend.advance(0.02)
            self.recorder.step()

    def record(self) -> None:
        self.recorder.record()
        self.recorder.step()

    def stop(self) -> None:
        self.recorder.stop()
        self.recorder.step()

    def ended(self) -> Recording:
        [recording] = self.recorder.recordings()
        return recording

    @property
    def status(self) -> str:
        return self.recorder.state.status


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    studio = Studio(tmp_path)
    studio.recorder.monitor(None)
    studio.recorder.step()
    yield studio
    studio.recorder.close()


def samples_of(path: Path | None) -> Samples:
    assert path is not None
    samples, rate = soundfile.read(path, dtype="float32")
    assert rate == RATE
    assert soundfile.info(path).subtype == "FLOAT"
    kept: Samples = samples
    return kept


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_monitoring_shows_levels_and_keeps_nothing(studio: Studio, tmp_path: Path) -> None:
    studio.run(1.0)
    state = studio.recorder.state
    assert state.status is RecorderStatus.MONITORING
    assert state.device == MICROPHONE
    assert (state.rate, state.channels) == (RATE, 1)
    assert 0.39 < state.levels.peak <= 0.4
    assert state.noise_floor == pytest.approx(0.4 / 3**0.5, rel=0.05)
    assert not state.is_silent
    assert left_in(tmp_path) == []


def test_a_recording_holds_the_half_second_before_and_every_sample_after(
    studio: Studio, tmp_path: Path
) -> None:
    studio.run(2.0)
    studio.record()
    studio.run(3.0)
    assert studio.status == RecorderStatus.RECORDING
    assert studio.recorder.state.seconds == pytest.approx(3.5)
    studio.stop()
    recording = studio.ended()
    assert recording.problem is None
    assert (recording.rate, recording.gaps, recording.has_clipped) == (RATE, 0, False)
    assert not recording.was_silent
    samples = samples_of(recording.path)
    assert len(samples) == recording.frames
    start = round(1.5 * RATE)
    assert np.array_equal(samples, SPEECH[start : start + len(samples), 0])
    assert recording.seconds == pytest.approx(3.5)
    assert studio.status == RecorderStatus.MONITORING
    assert [Path(name).suffix for name in left_in(tmp_path)] == [".wav"]


def test_recordings_follow_one_another(studio: Studio, tmp_path: Path) -> None:
    studio.run(1.0)
    for _ in range(3):
        studio.record()
        studio.run(0.5)
        studio.stop()
    recordings = studio.recorder.recordings()
    assert len({recording.path for recording in recordings}) == 3
    assert len(left_in(tmp_path)) == 3


def test_what_was_recorded_is_on_disk_at_once(studio: Studio, tmp_path: Path) -> None:
    studio.run(1.0)
    studio.record()
    studio.run(2.0)
    [raw] = tmp_path.glob(f"*{RAW_SUFFIX}")
    kept = np.fromfile(raw, "<f4")
    assert len(kept) == round(2.5 * RATE)
    assert np.array_equal(kept, SPEECH[round(0.5 * RATE) : round(3.0 * RATE), 0])


def test_an_unplugged_microphone_keeps_what_it_delivered(studio: Studio, tmp_path: Path) -> None:
    studio.run(1.0)
    studio.record()
    studio.run(7.0)
    studio.backend.advance(0.02)  # delivered, but not yet taken when the plug is pulled
    studio.backend.unplug(MICROPHONE)
    studio.run(0.1)
    recording = studio.ended()
    assert recording.problem is not None
    assert recording.problem.message == (
        "The microphone was unplugged at 0:07. Your first 7 seconds are kept."
    )
    samples = samples_of(recording.path)
    assert np.array_equal(samples, SPEECH[round(0.5 * RATE) : round(8.02 * RATE), 0])
    state = studio.recorder.state
    assert state.status is RecorderStatus.CLOSED
    assert state.problem is recording.problem
    studio.recorder.monitor(INTERFACE.id)
    studio.run(0.1)
    assert studio.status == RecorderStatus.MONITORING


def test_a_microphone_unplugged_at_once(studio: Studio) -> None:
    studio.run(0.02)
    studio.record()
    studio.run(0.2)
    studio.backend.unplug(MICROPHONE)
    studio.run(0.1)
    problem = studio.ended().problem
    assert problem is not None
    assert problem.message.endswith("unplugged at 0:00. Your first moments are kept.")


def test_a_microphone_unplugged_while_monitoring(studio: Studio) -> None:
    studio.run(1.0)
    studio.backend.unplug(MICROPHONE)
    studio.run(0.1)
    state = studio.recorder.state
    assert state.problem is not None
    assert state.problem.message == "The microphone “Microphone” was unplugged."
    assert not studio.recorder.recordings()


def test_a_microphone_that_hangs_is_given_up(studio: Studio) -> None:
    studio.run(1.0)
    studio.record()
    studio.run(1.0)
    [stream] = studio.backend.open_streams
    stream.is_stuck = True
    studio.run(6.0)
    recording = studio.ended()
    assert recording.problem is not None
    assert recording.seconds == pytest.approx(1.5)
    assert not studio.backend.open_streams


def test_stopping_before_the_first_sample(studio: Studio, tmp_path: Path) -> None:
    studio.record()
    studio.stop()
    recording = studio.ended()
    assert (recording.path, recording.frames) == (None, 0)
    assert recording.problem is not None
    assert "Nothing was recorded" in recording.problem.message
    assert left_in(tmp_path) == []


def test_stopping_what_never_began_tells_nothing(studio: Studio) -> None:
    studio.run(0.5)
    studio.stop()
    studio.recorder.release()
    studio.stop()
    studio.record()
    studio.run(0.5)
    assert not studio.recorder.recordings()
    assert studio.status == RecorderStatus.CLOSED


@pytest.mark.parametrize("ending", ["release", "other", "close"])
def test_closing_the_microphone_keeps_the_recording(studio: Studio, ending: str) -> None:
    studio.run(1.0)
    studio.record()
    studio.run(1.0)
    if ending == "release":
        studio.recorder.release()
    elif ending == "other":
        studio.recorder.monitor(INTERFACE.id)
    else:
        studio.recorder.close()
    if ending != "close":
        studio.recorder.step()
    recording = studio.ended()
    assert recording.problem is None
    assert len(samples_of(recording.path)) >= 1.5 * RATE
    assert len(studio.backend.open_streams) == (ending == "other")


def test_a_muted_microphone_is_noticed(tmp_path: Path) -> None:
    studio = Studio(tmp_path, silence)
    studio.recorder.monitor(None)
    studio.run(1.9)
    assert not studio.recorder.state.is_silent
    studio.record()
    studio.run(0.2)
    assert studio.recorder.state.is_silent
    studio.stop()
    recording = studio.ended()
    assert recording.was_silent
    assert recording.path is not None  # it is theirs to throw away
    assert recording.problem is not None
    assert "“Microphone” delivers only silence: is it muted?" in recording.problem.message


def test_the_clip_lamp_stays_lit(tmp_path: Path) -> None:
    def loud_once(start: int, count: int) -> Frames:
        block = speech(start, count).copy()
        if start <= RATE < start + count:
            block[RATE - start] = -1.0
        return block

    studio = Studio(tmp_path, loud_once)
    studio.recorder.monitor(None)
    studio.run(0.9)
    assert not studio.recorder.state.has_clipped
    studio.run(0.4)
    assert studio.recorder.state.has_clipped
    studio.recorder.reset_clip()
    studio.run(0.1)
    assert not studio.recorder.state.has_clipped
    studio.record()  # the pre-roll holds the clipped sample
    studio.run(0.1)
    studio.stop()
    assert studio.ended().has_clipped


def test_lost_audio_is_counted(studio: Studio) -> None:
    studio.run(1.0)
    studio.record()
    studio.run(1.0)
    studio.backend.advance(6.0)  # without a step: five seconds is what fits
    [stream] = studio.backend.open_streams
    stream.dropouts += 1
    studio.run(0.1)
    studio.stop()
    assert studio.ended().gaps > 1


def test_channels_without_a_voice_are_left_out(tmp_path: Path) -> None:
    def second_input(start: int, count: int) -> Frames:
        quiet = 1e-4 * speech(start + 7, count)
        return np.concatenate((quiet, speech(start, count)), axis=1)

    studio = Studio(tmp_path, second_input)
    studio.recorder.monitor(INTERFACE.id)
    studio.record()
    studio.run(1.0)
    assert studio.recorder.state.channels == 2
    studio.stop()
    samples = samples_of(studio.ended().path)
    assert np.array_equal(samples, SPEECH[: len(samples), 0])


def test_no_microphone_is_explained(tmp_path: Path) -> None:
    recorder = Recorder(ManualBackend(), tmp_path)
    recorder.monitor(None)
    recorder.step()
    assert recorder.state.status is RecorderStatus.CLOSED
    assert recorder.state.problem is not None
    assert "no microphone" in recorder.state.problem.message


def test_a_folder_that_cannot_be_written(studio: Studio, tmp_path: Path) -> None:
    tmp_path.rmdir()
    tmp_path.write_text("a file where the folder should be")
    studio.run(1.0)
    studio.record()
    studio.run(0.1)
    recording = studio.ended()
    assert recording.path is None
    assert recording.problem is not None
    assert f"cannot be written to {tmp_path}" in recording.problem.message
    assert studio.status == RecorderStatus.MONITORING


def test_a_disk_that_fills_up_keeps_what_fitted(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.run(1.0)
    studio.record()
    studio.run(2.0)

    def full(self: Journal, frames: Frames) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", full)
        studio.run(0.1)
    recording = studio.ended()
    assert recording.problem is not None
    assert "No space left on device. The first 2 seconds are kept." in recording.problem.message
    assert len(samples_of(recording.path)) == round(2.5 * RATE)


def test_a_folder_that_is_removed_while_it_is_recorded_into_is_told_in_a_sentence(
    studio: Studio, tmp_path: Path
) -> None:
    studio.run(1.0)
    studio.record()
    studio.run(1.0)
    shutil.rmtree(tmp_path)
    studio.stop()
    studio.run(0.1)
    problem = studio.ended().problem
    assert problem is not None
    assert problem.message.startswith("The recording could not be saved as WAV: ")
    assert problem.message.count(". ") == 0
    assert problem.message.endswith("unreadable.")
    assert problem.hint == "Its folder was removed meanwhile: record again."


def journal_in(folder: Path, frames: Frames, name: str = "left") -> Journal:
    journal = Journal(folder, name, NOTE)
    journal.append(frames)
    journal.close()
    return journal


def test_what_a_crash_leaves_becomes_a_wav(tmp_path: Path) -> None:
    frames = np.repeat(speech(0, 100_001), 2, axis=1)
    journal = journal_in(tmp_path, frames)
    with journal.path.open("ab") as file:
        file.write(b"\x00\x00\x80?\x01")  # killed in the midst of a frame
    journal_in(tmp_path, frames[:0], "empty")
    (tmp_path / f"orphan{NOTE_SUFFIX}").write_text("{}")
    saved, problems = recover_recordings(tmp_path)
    assert saved == [tmp_path / "left.wav"]
    assert not problems
    assert np.array_equal(samples_of(saved[0]), frames[:, 0])
    assert left_in(tmp_path) == ["left.wav"]
    assert recover_recordings(tmp_path) == ([], [])


def test_a_process_that_is_killed_loses_nothing_it_wrote(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
import numpy as np
from app.audio.journal import Journal, JournalNote
journal = Journal(Path(sys.argv[1]), "killed", JournalNote(48000, 1, "Microphone", "now"))
for start in range(10):
    journal.append(np.arange(start * 100, start * 100 + 100, dtype=np.float32)[:, None])
os._exit(9)
"""
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert ended.returncode == 9
    saved, _ = recover_recordings(tmp_path)
    assert np.array_equal(samples_of(saved[0]), np.arange(1000))


def test_recovery_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "left.wav").write_bytes(b"mine")
    journal_in(tmp_path, np.repeat(speech(0, 10), 2, axis=1))
    saved, _ = recover_recordings(tmp_path)
    assert saved == [tmp_path / "left (2).wav"]
    assert (tmp_path / "left.wav").read_bytes() == b"mine"


@pytest.mark.parametrize(
    "note",
    [
        None,
        b"",
        b"{",
        b"[]",
        b'{"rate": "x"}',
        b'{"rate": 0, "channels": 1, "device": "", "started": ""}',
    ],
)
def test_a_damaged_note_keeps_the_audio(tmp_path: Path, note: bytes | None) -> None:
    good = journal_in(tmp_path, np.repeat(speech(0, 10), 2, axis=1), "good")
    bad = journal_in(tmp_path, np.repeat(speech(0, 10), 2, axis=1), "bad")
    if note is None:
        note_path(bad.path).unlink()
    else:
        note_path(bad.path).write_bytes(note)
    saved, [problem] = recover_recordings(tmp_path)
    assert [path.name for path in saved] == ["good.wav"]
    assert not good.path.exists()
    assert str(bad.path) in problem.message
    assert bad.path.stat().st_size == 80


def test_values_that_are_no_numbers_become_silence(tmp_path: Path) -> None:
    frames = np.array([[np.nan, np.nan], [0.5, 0.5], [np.inf, -np.inf]], np.float32)
    result = save_as_wav(journal_in(tmp_path, frames).path)
    assert result is not None
    assert samples_of(result[0]).tolist() == [0, 0.5, 0]


def test_a_journal_says_what_it_is(tmp_path: Path) -> None:
    journal = journal_in(tmp_path, np.array([[0.25, -0.5]], np.float32))
    assert journal.path.read_bytes() == struct.pack("<ff", 0.25, -0.5)
    assert json.loads(note_path(journal.path).read_bytes()) == {
        "schema": 1,
        "rate": RATE,
        "channels": 2,
        "device": "Interface",
        "started": NOTE.started,
    }
