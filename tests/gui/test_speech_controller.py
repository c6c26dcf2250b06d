"""Speaking from the request to the file: what grows, sounds, is kept, and what is told of it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from pytestqt.qtbot import QtBot

from app.audio.null import NullBackend
from app.audio.player_state import PlayerStatus
from app.audio.take_buffer import TakeBuffer
from app.core.storage import StorageError
from app.core.take_files import TakeWriter, read_take
from app.core.takes import Take, TakeEnding, TakeRequest
from app.core.voice_parts import VoiceParts
from app.core.voice_record import LibraryVoice, Likeness, VoiceDetails, VoiceKind
from app.studio.models import ModelStatus
from app.studio.notes import Note
from app.studio.speech_state import LiveTake, SpeechPhase, SpeechState
from app.studio.studio import Studio
from engine import ExplainedError, Family, ModelPair, Sampling, Voice
from engine.types import Samples
from engine.voices import read_codes
from tests.fakes import FRAME, FakeModels, FakeOpener, Pace, fake_embedding, pitch

RATE = 24_000
SPEAKER = TakeRequest("Hello there.", Family.CUSTOM_VOICE, speaker="vivian")
CLONED = TakeRequest("Hello there.", Family.BASE, likeness=Likeness.STEADY)


def sine(seed: int, count: int) -> Samples:
    phases = 2 * np.pi * pitch(seed) / RATE * np.arange(count)
    return np.asarray(0.3 * np.sin(phases), np.float32)


class Desk:
    """A studio with a loaded model, and all that speaking told."""

    def __init__(self, studio: Studio, opener: FakeOpener, files: FakeModels, qtbot: QtBot) -> None:
        self.studio, self.opener, self.files, self.qtbot = studio, opener, files, qtbot
        self.speech, self.session, self.sound = studio.speech, studio.session, studio.sound
        self.problems: list[ExplainedError] = []
        self.notes: list[Note] = []
        self.begun: list[tuple[LiveTake, ...]] = []
        self.states: list[SpeechState] = []
        self.ended: list[str] = []
        studio.problem.connect(self.problems.append)
        studio.notice.connect(self.notes.append)
        self.speech.began.connect(self.begun.append)
        self.speech.changed.connect(self.states.append)
        self.speech.take_ended.connect(self.ended.append)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(condition, timeout=30_000)  # on a busy machine

    def load(self, pair: ModelPair | None = None, pace: Pace | None = None) -> None:
        self.opener.pace = pace or Pace()
        models, pair = self.studio.models, pair or self.files.custom_voice
        models.load(pair)
        self.wait_until(lambda: models.state.loaded is not None and models.state.pair == pair)

    def finish(self) -> None:
        """Wait until all that was asked for has ended."""
        self.wait_until(lambda: self.speech.state.phase is SpeechPhase.IDLE)
        assert self.session._autosaver.flush()
        assert self.studio.background.flush()

    def wait_for_sound(self, seconds: float = 0.0) -> None:
        self.wait_until(lambda: self.speech.live[0].buffer.seconds > seconds)

    def wait_for_sound_of(self, take_id: str) -> None:
        buffer = self.session.buffer(take_id)
        self.wait_until(lambda: buffer.length > 0)

    @property
    def takes(self) -> tuple[Take, ...]:
        return self.session.takes

    @property
    def names(self) -> set[str]:
        """The files of takes on disk."""
        return {path.name for path in (self.session.folder / "takes").iterdir()}

    def samples(self, take: Take) -> Samples:
        samples, rate = soundfile.read(self.session.sound_path(take), dtype="float32")
        assert rate == RATE
        return np.asarray(samples)


@pytest.fixture
def desk(studio: Studio, opener: FakeOpener, model_files: FakeModels, qtbot: QtBot) -> Desk:
    return Desk(studio, opener, model_files, qtbot)


def files_of(*takes: Take) -> set[str]:
    return {f"{take.id}.{ending}" for take in takes for ending in ("wav", "json", "rvq")}


def test_a_take_grows_is_kept_and_says_how_it_was_made(desk: Desk) -> None:
    desk.load()
    [take_id] = desk.speech.speak(SPEAKER, (7,), "Vivian")
    [[live]] = desk.begun
    assert (live.take.id, live.take.seed) == (take_id, 7)
    assert live.expected == pytest.approx(1.2, abs=0.8)
    assert desk.session.buffer(take_id) is live.buffer
    assert desk.sound.playing_key == take_id
    desk.finish()
    assert desk.ended == [take_id]
    [take] = desk.takes
    assert (take.id, take.voice_label, take.seed) == (take_id, "Vivian", 7)
    assert take.request == SPEAKER
    assert take.ending is TakeEnding.SPOKEN
    assert (take.device, take.precision) == ("cpu", "f32")
    description = desk.studio.models.state.description
    assert description is not None
    assert take.model == description.name
    assert len(take.model_fingerprint.split("-")) == 2
    assert read_take(desk.session.sound_path(take).with_suffix(".json")) == take
    samples = desk.samples(take)
    assert np.array_equal(samples, sine(7, len(samples)))
    assert np.array_equal(live.buffer.read(0, live.buffer.length), samples)
    assert len(read_codes(desk.session.codes_path(take))) == take.frames == len(samples) // FRAME
    assert desk.session.buffer(take_id) is live.buffer
    assert desk.names == files_of(take)
    assert not desk.problems


def test_every_phase_is_told_in_words(desk: Desk) -> None:
    gate = threading.Event()
    desk.load(pace=Pace(frame_seconds=0.02, gate=gate))
    desk.speech.speak(SPEAKER, (1, 2), "Vivian")
    desk.speech.speak(SPEAKER, (3,), "Vivian")
    assert desk.speech.state.phase is SpeechPhase.READING
    assert desk.speech.state.sentence == "Reading the voice and the text, 1 more waiting"
    assert [live.take.seed for live in desk.speech.live] == [1, 2, 3]
    gate.set()
    desk.finish()
    phases = [state.phase for state in desk.states]
    assert phases[0] is SpeechPhase.READING
    assert SpeechPhase.SPEAKING in phases
    assert phases[-1] is SpeechPhase.IDLE
    spoken = [state for state in desk.states if state.phase is SpeechPhase.SPEAKING]
    assert spoken[0].sentence.startswith("Speaking 2 takes: 0.1 ")
    assert any(
        "\N{MULTIPLICATION SIGN} real time" in state.sentence and "left" in state.sentence
        for state in spoken
    )
    assert desk.speech.speed > 0
    assert len(desk.takes) == 3


def test_the_sentence_of_speaking() -> None:
    state = SpeechState(SpeechPhase.SPEAKING, 1, made=3.2, expected=8.0, speed=1.3)
    assert (
        state.sentence
        == "Speaking: 3.2 of about 8 s, 1.3\N{MULTIPLICATION SIGN} real time, 4 s left"
    )
    longer = replace(state, made=9.1, waiting=2)
    assert longer.left is None
    assert (
        longer.sentence == "Speaking: 9.1 s, 1.3\N{MULTIPLICATION SIGN} real time, 2 more waiting"
    )
    assert replace(state, speed=0.0).sentence == "Speaking: 3.2 of about 8 s"
    loading = SpeechState(SpeechPhase.WAITING, is_loading=True)
    assert loading.sentence == "Waiting for the model"
    assert SpeechState().sentence == ""


def test_what_is_stopped_is_kept_as_far_as_it_came(desk: Desk) -> None:
    desk.load(pace=Pace(frame_seconds=0.005, frames=2000))
    [take_id] = desk.speech.speak(SPEAKER, (1,), "Vivian")
    desk.wait_for_sound(0.5)
    assert desk.speech.cancel()
    assert desk.speech.state.sentence == "Stopping"
    desk.finish()
    [take] = desk.takes
    assert (take.id, take.ending) == (take_id, TakeEnding.STOPPED)
    assert 0.5 < take.seconds < 100
    assert np.array_equal(desk.samples(take), sine(1, round(take.seconds * RATE)))
    assert not desk.speech.cancel()
    desk.wait_until(lambda: not desk.sound.is_sounding)
    assert not desk.problems


def test_ten_impatient_cancels_leave_exactly_what_was_heard(desk: Desk) -> None:
    desk.load(pace=Pace(frame_seconds=0.002, frames=3000))
    wanted: list[str] = []
    for seed in range(10):
        ids = desk.speech.speak(SPEAKER, (seed,), "Vivian")
        if seed % 2:  # the others before there is any sound
            desk.wait_for_sound_of(ids[0])
            wanted += ids
        desk.speech.speak(SPEAKER, (100 + seed,), "Vivian")  # and one that never begins
        desk.speech.cancel()
        if seed % 3 == 0:
            desk.finish()
    desk.opener.engine.pace = Pace(frames=5)
    wanted += desk.speech.speak(SPEAKER, (77,), "Vivian")
    desk.finish()
    made = {take.id for take in desk.takes}
    assert set(wanted) <= made
    assert all(take.seed < 100 for take in desk.takes)
    assert [take.seed for take in desk.takes] == sorted(
        (take.seed for take in desk.takes), key=lambda seed: (seed != 77, -seed)
    )
    assert desk.takes[0].ending is TakeEnding.SPOKEN
    assert all(take.ending is TakeEnding.STOPPED for take in desk.takes[1:])
    assert all(take.seconds > 0 for take in desk.takes)
    assert desk.names == files_of(*desk.takes)  # nothing half made, nothing forgotten
    assert len(desk.ended) == 21
    assert desk.opener.engine.most_open_requests == 1
    assert not desk.problems


def test_waiting_takes_that_are_dropped_are_told_and_can_be_asked_for_again(desk: Desk) -> None:
    desk.load(pace=Pace(frame_seconds=0.005, frames=2000))
    desk.speech.speak(SPEAKER, (1,), "Vivian")
    desk.speech.speak(SPEAKER, (2, 3), "Vivian")
    desk.speech.speak(SPEAKER, (4,), "Ryan")
    desk.wait_for_sound()
    assert [live.take.seed for live in desk.speech.running] == [1]
    assert desk.speech.cancel()
    desk.speech.cancel()  # somebody is impatient
    desk.finish()
    assert desk.speech.running == ()
    [note] = desk.notes
    assert note.sentence == "3 waiting takes were dropped."
    assert note.action is not None
    desk.opener.engine.pace = Pace(frames=5)
    note.action()
    desk.finish()
    made = {(take.seed, take.voice_label) for take in desk.takes}
    assert made == {(1, "Vivian"), (2, "Vivian"), (3, "Vivian"), (4, "Ryan")}
    assert not desk.problems


def test_what_cannot_be_asked_for_again_is_told_once(desk: Desk) -> None:
    desk.load(pace=Pace(frame_seconds=0.005, frames=2000))
    for seed in (1, 2, 3):
        desk.speech.speak(SPEAKER, (seed,), "Vivian")
    desk.wait_for_sound()
    desk.speech.cancel()
    desk.finish()
    desk.load(desk.files.base)
    [note] = desk.notes
    assert note.sentence == "2 waiting takes were dropped."
    assert note.action is not None
    note.action()
    assert len(desk.problems) == 1


def test_the_same_seed_gives_the_same_take(desk: Desk) -> None:
    desk.load()
    desk.speech.speak(SPEAKER, (5,), "Vivian")
    desk.finish()
    [first] = desk.takes
    desk.speech.again(first, new_seed=False)
    desk.finish()
    second = desk.takes[0]
    assert second.id != first.id
    assert second.seed == 5
    assert np.array_equal(desk.samples(first), desk.samples(second))
    assert second.model_fingerprint == first.model_fingerprint
    assert not desk.notes
    desk.speech.again(first, new_seed=True)
    desk.finish()
    assert desk.takes[0].seed != 5
    assert desk.takes[0].request == first.request


def test_another_model_is_told(desk: Desk) -> None:
    desk.load()
    desk.speech.speak(SPEAKER, (5,), "Vivian")
    desk.finish()
    [take] = desk.takes
    other = replace(take, model="An older one", model_fingerprint="0-0")
    desk.speech.again(other, new_seed=False)
    desk.finish()
    [note] = desk.notes
    assert note.sentence.startswith("This take was made by An older one;")
    assert len(desk.takes) == 2
    desk.load(desk.files.voice_design)
    desk.speech.again(other, new_seed=False)
    [problem] = desk.problems
    assert problem.hint == "It was made by An older one: load that first."
    assert len(desk.takes) == 2


def test_several_takes_arrive_as_they_end(desk: Desk) -> None:
    desk.load(pace=Pace(frame_seconds=0.01))  # of the seeds 0, 1, 2 the first is the shortest
    seen: list[tuple[int, list[int]]] = []  # takes there, and seeds that are still made

    def look() -> None:
        seen.append((len(desk.takes), [live.take.seed for live in desk.speech.live]))

    desk.speech.take_ended.connect(look)
    ids = desk.speech.speak(SPEAKER, (0, 1, 2), "Vivian")
    desk.finish()
    assert seen[:2] == [(1, [1, 2]), (2, [2])]
    assert desk.ended == list(ids)
    assert [take.id for take in desk.takes] == list(reversed(ids))
    assert desk.sound.playing_key == ids[0]


def test_speaking_while_the_model_is_loading_waits_for_it(desk: Desk) -> None:
    desk.opener.gate = threading.Event()
    desk.studio.models.load(desk.files.custom_voice)
    desk.wait_until(lambda: desk.studio.models.state.status is ModelStatus.LOADING)
    desk.speech.speak(SPEAKER, (1,), "Vivian")
    assert desk.speech.state.sentence == "Waiting for the model"
    desk.opener.gate.set()
    desk.finish()
    assert len(desk.takes) == 1


def test_what_cannot_be_spoken_says_so_at_once(desk: Desk) -> None:
    assert desk.speech.speak(SPEAKER, (1,), "Vivian") == ()
    assert desk.problems.pop().message == "No model is loaded."
    desk.load()
    assert desk.speech.speak(CLONED, (1,), "Anna") == ()
    assert "Custom Voice" in desk.problems[-1].message
    assert "Base model" in desk.problems.pop().hint
    assert desk.speech.speak(replace(SPEAKER, speaker="nobody"), (1,), "Nobody") == ()
    assert "nobody" in desk.problems.pop().message
    assert not desk.begun
    assert not desk.speech.live


def test_no_more_takes_wait_than_the_window_can_show(desk: Desk) -> None:
    desk.load(pace=Pace(gate=threading.Event()))
    asked = [desk.speech.speak(SPEAKER, range(8), "Vivian") for _ in range(14)]
    assert [len(ids) for ids in asked] == [8] * 12 + [0] * 2
    assert desk.problems[-1].message == "96 takes are waiting already."
    desk.speech.cancel()
    desk.finish()


def test_a_failure_keeps_what_was_made(desk: Desk) -> None:
    error = ExplainedError("The card is gone.", "Put it back.")
    desk.load(pace=Pace(frames=50, fails_at=20, error=error))
    desk.speech.speak(SPEAKER, (1,), "Vivian")
    desk.finish()
    [take] = desk.takes
    assert take.ending is TakeEnding.FAILED
    assert take.remark == "The card is gone."
    assert take.seconds > 0.5
    assert [problem.message for problem in desk.problems] == ["The card is gone."]


def test_a_new_take_does_not_interrupt_one_that_waited_before_it(desk: Desk) -> None:
    gate = threading.Event()
    desk.load(pace=Pace(gate=gate, frames=100))
    [first] = desk.speech.speak(SPEAKER, (1,), "Vivian")
    desk.speech.speak(SPEAKER, (2,), "Vivian")
    gate.set()
    desk.finish()
    assert desk.sound.playing_key == first  # eight seconds of it are still to be heard
    assert desk.sound.is_sounding
    [third] = desk.speech.speak(SPEAKER, (3,), "Vivian")
    assert desk.sound.playing_key == third  # asked for while nothing else was being made
    desk.finish()
    [silent] = desk.speech.speak(SPEAKER, (4,), "Vivian", play=False)
    desk.finish()
    assert desk.sound.playing_key == third
    assert silent in {take.id for take in desk.takes}


def test_deleting_the_take_that_plays_ends_it(desk: Desk) -> None:
    desk.load(pace=Pace(frames=100))
    [take_id] = desk.speech.speak(SPEAKER, (1,), "Vivian")
    desk.finish()
    desk.wait_until(lambda: desk.sound.state.status is PlayerStatus.PLAYING)
    desk.session.delete(take_id)
    desk.wait_until(lambda: desk.sound.state.status is PlayerStatus.EMPTY)
    desk.session.undo()
    desk.finish()
    assert desk.names == files_of(*desk.takes)


def test_memory_is_flat_over_fifty_generations(desk: Desk) -> None:
    desk.load(pace=Pace(frames=12))
    limit = 5 * 12 * FRAME * 4
    desk.session._sounds._memory = limit
    buffers: list[weakref.ref[TakeBuffer]] = []
    gc.disable()  # memory that waits for the collector climbs meanwhile
    try:
        for seed in range(50):
            desk.speech.speak(SPEAKER, (seed,), "Vivian")
            buffers += [weakref.ref(live.buffer) for live in desk.begun.pop()]
            desk.finish()
            # Five fit, and there are those that play or have just ended.
            assert sum(buffer() is not None for buffer in buffers) <= 8
    finally:
        gc.enable()
    assert len(desk.takes) == 50
    assert desk.session._sounds.kept_bytes <= limit


class BrokenDisk:
    """Writers that fail from some append on, as when the disk is full."""

    def __init__(self, desk: Desk, fails_from: int) -> None:
        self._writer = desk.session.writer
        self.fails_from = fails_from
        self.appends = 0

    def __call__(self, take: Take) -> TakeWriter:
        if self.fails_from < 0:
            self.fails_from = 1 << 30
            raise StorageError("The disk is away.", "Connect it.")
        writer = self._writer(take)
        append = writer.append

        def failing(samples: Samples, codes: object = None) -> None:
            self.appends += 1
            if self.appends > self.fails_from:
                raise StorageError("The disk is full.", "Make room.")
            append(samples, codes)  # type: ignore[arg-type]

        writer.append = failing  # type: ignore[method-assign]
        return writer


def test_a_full_disk_is_told_once_and_does_not_stop_the_sound(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.load(pace=Pace(frames=40))
    monkeypatch.setattr(desk.session, "writer", BrokenDisk(desk, fails_from=3))
    desk.speech.speak(SPEAKER, (1,), "Vivian")
    [[live]] = desk.begun
    desk.finish()
    assert live.buffer.length == 40 * FRAME  # all of it is heard
    [problem] = desk.problems
    assert problem.message == "The disk is full."
    [take] = desk.takes
    assert round(take.seconds * RATE) == (1 + 2 + 4) * FRAME
    assert take.remark == "Only its beginning could be saved. The disk is full."


def test_a_disk_that_comes_back_gets_the_whole_take(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.load(pace=Pace(frames=40))
    monkeypatch.setattr(desk.session, "writer", BrokenDisk(desk, fails_from=-1))
    desk.speech.speak(SPEAKER, (1,), "Vivian")
    desk.finish()
    [take] = desk.takes
    assert np.array_equal(desk.samples(take), sine(1, 40 * FRAME))
    assert len(read_codes(desk.session.codes_path(take))) == 40
    assert [problem.message for problem in desk.problems] == ["The disk is away."]


def test_a_take_that_could_not_be_kept_at_all_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(take: Take) -> TakeWriter:
        raise StorageError("The disk is away.", "Connect it.")

    desk.load(pace=Pace(frames=40))
    monkeypatch.setattr(desk.session, "writer", refuse)
    [take_id] = desk.speech.speak(SPEAKER, (1,), "Vivian")
    desk.finish()
    assert not desk.takes
    assert desk.ended == [take_id]
    desk.wait_until(lambda: len(desk.problems) == 2)
    assert desk.problems[0].message == "The disk is away."
    assert desk.problems[1].message == "'Hello there.' was spoken but could not be saved."


# --- voices ---


def clip(seconds: float) -> Samples:
    return np.random.default_rng(0).uniform(-0.2, 0.2, round(seconds * RATE)).astype(np.float32)


MakeVoice = Callable[..., LibraryVoice]


@pytest.fixture
def make_voice(desk: Desk) -> MakeVoice:
    def make(*widths: int, with_clip: bool = True, transcript: str = "") -> LibraryVoice:
        parts = VoiceParts(
            trimmed=clip(2.0) if with_clip else None,
            transcript=transcript,
            embeddings=tuple(np.ones(width, np.float32) for width in widths),
        )
        return desk.studio._library.create(VoiceDetails("Anna", VoiceKind.CLONE), parts)

    return make


def width_of(desk: Desk) -> int:
    description = desk.studio.models.state.description
    assert description is not None
    return description.width


def used_voice(desk: Desk) -> Voice:
    [request] = desk.opener.engine.requests
    assert request.voice is not None
    return request.voice


def test_a_voice_of_the_library_speaks(desk: Desk, make_voice: MakeVoice) -> None:
    desk.load(desk.files.base)
    voice = make_voice(width_of(desk), with_clip=False)
    desk.speech.speak(replace(CLONED, voice_id=voice.id), (1,), "Anna")
    desk.finish()
    voice_used = used_voice(desk)
    assert voice_used.embedding is not None
    assert np.array_equal(voice_used.embedding, np.ones(width_of(desk)))
    assert len(desk.takes) == 1


@pytest.mark.parametrize("likeness", list(Likeness))
def test_a_voice_that_never_had_an_embedding_is_learnt_first(
    desk: Desk, make_voice: MakeVoice, likeness: Likeness
) -> None:
    desk.load(desk.files.base)
    voice = make_voice(transcript="What Anna said.")
    desk.speech.speak(replace(CLONED, voice_id=voice.id, likeness=likeness), (1,), "Anna")
    desk.finish()
    voice_used = used_voice(desk)
    assert voice_used.embedding is not None
    assert np.array_equal(voice_used.embedding, fake_embedding(clip(2.0), width_of(desk)))
    assert (voice_used.codes is not None) == (likeness is Likeness.BEST)
    desk.wait_until(lambda: desk.studio.voices.is_listed)
    listed = desk.studio.voices.listing.find(voice.id)
    assert listed is not None
    assert listed.files.widths == (width_of(desk),)
    assert listed.has_best_likeness
    assert not desk.problems


def test_a_voice_of_another_width_is_made_again_when_asked_to(
    desk: Desk, make_voice: MakeVoice
) -> None:
    desk.load(desk.files.base)
    voice = make_voice(width_of(desk) + 1)
    desk.speech.speak(replace(CLONED, voice_id=voice.id), (3,), "Anna")
    desk.finish()
    assert not desk.takes
    assert not desk.problems
    [note] = desk.notes
    assert "cannot read it" in note.sentence
    assert note.action_label == "Make it again from its clip"
    assert note.action is not None
    note.action()
    desk.finish()
    [take] = desk.takes
    assert take.seed == 3
    completed = desk.studio._library.list().find(voice.id)
    assert completed is not None
    assert completed.files.widths == (width_of(desk), width_of(desk) + 1)


def test_a_voice_of_another_width_without_a_clip_is_a_problem(
    desk: Desk, make_voice: MakeVoice
) -> None:
    desk.load(desk.files.base)
    voice = make_voice(width_of(desk) + 1, with_clip=False)
    desk.speech.speak(replace(CLONED, voice_id=voice.id), (3,), "Anna")
    desk.finish()
    [problem] = desk.problems
    assert "no clip to make it again from" in problem.hint
    assert desk.names == set()


def test_a_voice_that_was_deleted_is_a_problem(desk: Desk, make_voice: MakeVoice) -> None:
    desk.load(desk.files.base)
    voice = make_voice(width_of(desk))
    desk.studio._library.delete(voice)
    desk.speech.speak(replace(CLONED, voice_id=voice.id), (3,), "Anna")
    desk.finish()
    [problem] = desk.problems
    assert "not in the library" in problem.message


# --- the end ---


def test_closing_in_mid_speech_keeps_the_take(
    desk: Desk, opener: FakeOpener, studio_home: Path
) -> None:
    desk.load(pace=Pace(frame_seconds=0.005, frames=2000))
    [take_id] = desk.speech.speak(SPEAKER, (1,), "Vivian")
    desk.wait_for_sound(0.3)
    assert desk.studio.close()
    again = Studio(desk.studio.paths, NullBackend(), opener.openers)
    try:
        [take] = again.session.takes
        assert (take.id, take.ending) == (take_id, TakeEnding.STOPPED)
        assert take.remark == ""  # ended as it should, not recovered
    finally:
        assert again.close()


def test_closing_while_a_voice_is_being_completed(desk: Desk, make_voice: MakeVoice) -> None:
    desk.load(desk.files.base, Pace(pre_roll_seconds=0.02))
    voices = [make_voice(transcript="What Anna said.") for _ in range(5)]
    desk.studio.models.look()
    desk.studio.voices.refresh()
    desk.wait_until(lambda: len(desk.studio.queue) > 0)
    assert desk.studio.close()
    library = desk.studio._library.list()
    assert {voice.id for voice in library.voices} == {voice.id for voice in voices}
    assert any(not voice.files.widths for voice in library.voices)  # closed in the midst of it


KILLED = """
import os, sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication, QTimer
from app.audio.null import NullBackend
from app.core.paths import studio_paths
from app.core.takes import TakeRequest
from app.studio.models import ModelStatus
from app.studio.studio import Studio
from engine import Family
from tests.fakes import Pace, fake_models, fake_opener

paths = studio_paths(Path(sys.argv[1]))
application = QCoreApplication([])
opener = fake_opener(Pace(frame_seconds=0.005, frames=2000))
studio = Studio(paths, NullBackend(), opener.openers)
studio.models.load(fake_models(paths.models).custom_voice)

def look() -> None:
    if studio.models.state.status is ModelStatus.LOADED and not studio.speech.live:
        request = TakeRequest("Cut off here.", Family.CUSTOM_VOICE, speaker="vivian")
        studio.speech.speak(request, (9,), "Vivian")
    if studio.speech.live and studio.speech.live[0].buffer.seconds > 0.5:
        os.kill(os.getpid(), 9)

timer = QTimer()
timer.timeout.connect(look)
timer.start(5)
application.exec()
"""


def test_a_studio_killed_in_mid_speech_comes_back_with_the_take(
    tmp_path: Path, studio_home: Path, request: pytest.FixtureRequest
) -> None:
    root = Path(__file__).parents[2]
    outcome = subprocess.run(
        [sys.executable, "-c", KILLED, str(studio_home)],
        cwd=root,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        timeout=120,
        check=False,
    )
    assert outcome.returncode == -9
    studio: Studio = request.getfixturevalue("studio")
    notes: list[Note] = []
    studio.notice.connect(notes.append)
    studio.begin()
    [take] = studio.session.takes
    assert (take.seed, take.ending) == (9, TakeEnding.STOPPED)
    assert take.seconds >= 0.5
    assert take.model
    assert take.model_fingerprint
    samples, _ = soundfile.read(studio.session.sound_path(take), dtype="float32")
    assert np.array_equal(samples, sine(9, len(samples)))
    assert [note.sentence for note in notes] == ["Take recovered: 'Cut off here.'."]


def test_the_knobs_reach_the_engine(desk: Desk) -> None:
    desk.load()
    sampling = Sampling(repetition_penalty=1.2, max_frames=10)
    desk.speech.speak(replace(SPEAKER, sampling=sampling, language="english"), (1,), "Vivian")
    desk.finish()
    [request] = desk.opener.engine.requests
    assert (request.sampling, request.language, request.seeds) == (sampling, "english", (1,))
    assert desk.takes[0].ending is TakeEnding.LIMIT
