"""Every job ends exactly once, cancelling takes a frame, and nothing survives the end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from app.jobs.messages import (
    Ended,
    Failed,
    Finished,
    LoadedModel,
    Loading,
    Progress,
    Reading,
    Speaking,
    Spoken,
    Stopped,
)
from app.jobs.queue import JobQueue
from app.jobs.work import Host, Job, LoadModel, Report, Speak, UnloadModel
from app.jobs.worker import EngineWorker
from engine import CancelToken, ModelFileError, ModelPair, SpeechRequest
from tests.fakes import CODEC, CUSTOM_VOICE, DATA, FakeOpener, FakeSink, Pace, fake_opener

PAIR = ModelPair(DATA / CUSTOM_VOICE, DATA / CODEC)
REQUEST = SpeechRequest("Hello.", speaker="ryan", seeds=(1,), piece_frames=(1,))
ENDLESS = Pace(frames=2000, frame_seconds=0.001)


def speak(*sinks: FakeSink) -> Speak:
    return Speak(lambda engine, token: REQUEST, sinks)


@dataclass
class Rig:
    """A queue, and all it has said."""

    opener: FakeOpener
    queue: JobQueue
    ended: list[Ended] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)
    started: list[int] = field(default_factory=list)

    def ending(self, job: int) -> Ended | None:
        found = [ended for ended in self.ended if ended.job == job]
        assert len(found) <= 1, "one ending per job"
        return found[0] if found else None


@pytest.fixture
def rig(qtbot: QtBot) -> Iterator[Rig]:
    opener = fake_opener()
    made = Rig(opener, JobQueue(opener.openers))
    made.queue.ended.connect(made.ended.append)
    made.queue.progressed.connect(made.progress.append)
    made.queue.started.connect(made.started.append)
    yield made
    assert made.queue.close()


def test_jobs_run_in_their_order(rig: Rig, qtbot: QtBot) -> None:
    sink = FakeSink()
    jobs = [rig.queue.submit(job) for job in (LoadModel(PAIR), speak(sink), UnloadModel())]
    assert len(rig.queue) == 3
    assert rig.queue.running == jobs[0]
    qtbot.waitUntil(lambda: len(rig.ended) == 3)
    assert [ended.job for ended in rig.ended] == rig.started == jobs
    loaded, spoken, unloaded = rig.ended
    assert isinstance(loaded, Finished)
    assert isinstance(loaded.result, LoadedModel)
    assert loaded.result.device == "cpu"
    assert isinstance(spoken, Finished)
    assert isinstance(spoken.result, Spoken)
    assert spoken.result.takes[0].frames == sink.frames > 0
    assert isinstance(unloaded, Finished)
    assert rig.opener.engines[0]() is None
    assert len(rig.queue) == 0
    phases = list(dict.fromkeys(type(progress) for progress in rig.progress))
    assert phases == [Loading, Reading, Speaking]
    assert any(isinstance(told, Loading) and told.done == told.total for told in rig.progress)


def test_impatient_cancelling_and_asking_again(rig: Rig, qtbot: QtBot) -> None:
    rig.opener.pace = ENDLESS
    rig.queue.submit(LoadModel(PAIR))
    sinks: list[FakeSink] = []
    jobs: list[int] = []
    for _ in range(10):
        sinks.append(FakeSink())
        jobs.append(rig.queue.submit(speak(sinks[-1])))
        qtbot.waitUntil(lambda: sinks[-1].samples > 0)
        assert rig.queue.cancel(jobs[-1])
    extra = FakeSink()
    jobs.append(rig.queue.submit(speak(extra)))
    rig.queue.cancel()
    qtbot.waitUntil(lambda: len(rig.queue) == 0)
    endings = [rig.ending(job) for job in jobs]
    assert all(isinstance(ended, Stopped) for ended in endings)
    assert all(sink.endings == [(None, None)] for sink in (*sinks, extra))
    for ended, sink in zip(endings, sinks, strict=False):
        assert ended is not None
        assert isinstance(ended.result, Spoken)
        assert ended.result.takes[0].frames == sink.frames
    assert rig.opener.engine.most_open_requests == 1  # never two beside each other
    assert rig.opener.engine.open_requests == 0


def test_cancelling_takes_a_frame_at_most(rig: Rig, qtbot: QtBot) -> None:
    gate = threading.Event()
    rig.opener.pace = Pace(frames=100, gate=gate)
    sink = FakeSink()
    made_at_cancel: list[int] = []

    def cancel() -> None:  # on the engine's thread, so that the count is exact
        if sink.frames == 7:
            made_at_cancel.append(rig.opener.engine.frames_made)
            rig.queue.cancel()

    sink.on_append = cancel
    rig.queue.submit(LoadModel(PAIR))
    job = rig.queue.submit(speak(sink))
    gate.set()
    qtbot.waitUntil(lambda: rig.ending(job) is not None)
    assert isinstance(rig.ending(job), Stopped)
    assert rig.opener.engine.frames_made - made_at_cancel[0] <= 1
    assert sink.frames - 7 <= 1


def test_cancelling_before_the_first_frame(rig: Rig, qtbot: QtBot) -> None:
    rig.opener.pace = Pace(gate=threading.Event())  # never set
    sink = FakeSink()
    rig.queue.submit(LoadModel(PAIR))
    job = rig.queue.submit(speak(sink))
    qtbot.waitUntil(lambda: any(isinstance(told, Reading) for told in rig.progress))
    rig.queue.cancel(job)
    qtbot.waitUntil(lambda: rig.ending(job) is not None)
    assert isinstance(rig.ending(job), Stopped)
    assert sink.endings == [(None, None)]
    assert rig.opener.engine.frames_made == 0


def test_waiting_jobs_are_dropped_at_once(rig: Rig, qtbot: QtBot) -> None:
    gate = threading.Event()
    rig.opener.gate = gate
    loading = rig.queue.submit(LoadModel(PAIR))
    sinks = [FakeSink() for _ in range(3)]
    jobs = [rig.queue.submit(speak(sink)) for sink in sinks]
    assert rig.queue.cancel(jobs[1])
    assert not rig.queue.cancel(jobs[1])
    assert [(ended.job, type(ended)) for ended in rig.ended] == [(jobs[1], Stopped)]
    assert [len(sink.endings) for sink in sinks] == [0, 1, 0]
    gate.set()
    qtbot.waitUntil(lambda: len(rig.queue) == 0)
    assert [ended.job for ended in rig.ended] == [jobs[1], loading, jobs[0], jobs[2]]
    assert all(len(sink.endings) == 1 for sink in sinks)


@dataclass(frozen=True)
class Broken(Job):
    """A job that fails in its own way, even when it is dropped."""

    error: BaseException

    def run(self, *_: object) -> None:
        raise self.error

    def drop(self) -> None:
        raise ModelFileError("Not even dropped.")


@pytest.mark.parametrize(
    "error",
    [
        ModelFileError("Cut."),
        ValueError("odd"),
        MemoryError(),
        KeyboardInterrupt(),
        SystemExit(1),
        GeneratorExit(),
        RecursionError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_happens_a_job_ends_and_the_next_one_runs(
    error: BaseException, rig: Rig, qtbot: QtBot
) -> None:
    rig.queue.submit(LoadModel(PAIR))
    broken = rig.queue.submit(Broken(error))
    dropped = rig.queue.submit(Broken(error))
    rig.queue.cancel(dropped)
    sink = FakeSink()
    after = rig.queue.submit(speak(sink))
    qtbot.waitUntil(lambda: len(rig.queue) == 0)
    ended = rig.ending(broken)
    assert isinstance(ended, Failed)
    assert ended.error.message
    assert ended.error.__traceback__ is None
    assert isinstance(rig.ending(dropped), Failed)
    assert isinstance(rig.ending(after), Finished)  # with the model that was loaded before
    assert sink.frames > 0


def test_a_failing_model_file_leaves_no_model(rig: Rig, qtbot: QtBot, tmp_path: Path) -> None:
    rig.queue.submit(LoadModel(PAIR))
    failing = rig.queue.submit(LoadModel(ModelPair(tmp_path / "gone.gguf", PAIR.codec)))
    sink = FakeSink()
    speaking = rig.queue.submit(speak(sink))
    qtbot.waitUntil(lambda: len(rig.queue) == 0)
    for job, message in ((failing, "gone.gguf does not exist"), (speaking, "No model is loaded")):
        ended = rig.ending(job)
        assert isinstance(ended, Failed)
        assert message in ended.error.message
    assert len(sink.endings) == 1


def test_closing_ends_every_job_and_the_thread(qtbot: QtBot) -> None:
    opener = fake_opener(ENDLESS)
    for wait_for_sound in (False, True):
        queue = JobQueue(opener.openers)
        ended: list[Ended] = []
        queue.ended.connect(ended.append)
        sinks = [FakeSink() for _ in range(3)]
        queue.submit(LoadModel(PAIR))
        jobs = [queue.submit(speak(sink)) for sink in sinks]
        if wait_for_sound:
            qtbot.waitUntil(lambda: sinks[0].samples > 0)  # noqa: B023 - used in this round only
        assert queue.close()
        assert queue.close()  # again, to no effect
        assert {one.job for one in ended} >= set(jobs)
        assert len({one.job for one in ended}) == len(ended) == 4
        assert all(sink.endings == [(None, None)] for sink in sinks)
        assert all(engine() is None for engine in opener.engines)


def test_a_job_that_comes_too_late_ends_too(rig: Rig, qtbot: QtBot) -> None:
    assert rig.queue.close()
    sink = FakeSink()
    job = rig.queue.submit(speak(sink))
    assert sink.endings == [(None, None)]
    assert not rig.ended  # who asked knows the number first
    qtbot.waitUntil(lambda: rig.ending(job) is not None)
    assert isinstance(rig.ending(job), Stopped)
    assert len(rig.queue) == 0


@dataclass(frozen=True)
class Noted(Job):
    """Notes the thread that it runs on."""

    threads: list[threading.Thread]

    def run(self, job: int, host: Host, token: CancelToken, report: Report) -> None:
        self.threads.append(threading.current_thread())


def test_no_thread_is_left(qtbot: QtBot) -> None:
    threads: list[threading.Thread] = []
    queue = JobQueue(fake_opener().openers)
    queue.submit(Noted(threads))
    qtbot.waitUntil(lambda: bool(threads))
    assert threads[0] is not threading.current_thread()
    assert queue.close()
    assert queue.is_closed


def test_the_window_goes_on_while_the_engine_computes(rig: Rig, qtbot: QtBot) -> None:
    rig.opener.pace = Pace(frames=2000, frame_seconds=0.02, busy=True)
    ticks: list[int] = []
    timer = QTimer()
    timer.setInterval(5)

    def tick() -> None:
        ticks.append(rig.opener.engine.frames_made)
        if len(ticks) == 20:
            rig.queue.cancel()  # the job ends only if the timer has gone on

    timer.timeout.connect(tick)
    rig.queue.submit(LoadModel(PAIR))
    job = rig.queue.submit(speak(FakeSink()))
    qtbot.waitUntil(lambda: any(isinstance(told, Speaking) for told in rig.progress))
    timer.start()
    qtbot.waitUntil(lambda: rig.ending(job) is not None, timeout=30_000)
    timer.stop()
    assert isinstance(rig.ending(job), Stopped)
    assert len(ticks) >= 20


def test_progress_is_told_thirty_times_a_second(qtbot: QtBot) -> None:
    now = [100.0]
    opener = FakeOpener(Pace(frames=1000), steps=1000)
    worker = EngineWorker(opener.openers, lambda: now[0])
    told: list[Progress] = []
    worker.progressed.connect(told.append)

    def pass_a_millisecond() -> None:
        now[0] += 0.001

    sink = FakeSink(on_append=pass_a_millisecond)
    assert isinstance(worker.outcome(1, LoadModel(PAIR), CancelToken()), Finished)
    assert [(one.done < one.total) for one in told if isinstance(one, Loading)] == [True, False]
    assert len(told) == 2  # of 1000 in no time: the first and the last
    told.clear()
    assert isinstance(worker.outcome(2, speak(sink), CancelToken()), Finished)
    speaking = [one for one in told if isinstance(one, Speaking)]
    assert speaking[0].frames == 1
    assert 28 <= len(speaking) <= 32  # of 1000 in a second
