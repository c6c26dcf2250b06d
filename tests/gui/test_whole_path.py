"""The whole way through the window, with the real engine; and what is left when it is over."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import shiboken6
import soundfile
from PySide6.QtCore import QCoreApplication, QElapsedTimer, QEvent, Qt, QThreadPool, QTimer
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.audio.backend import Frames
from app.audio.null import NullBackend
from app.audio.player_state import PlayerStatus
from app.audio.take_buffer import TakeBuffer
from app.core.memory import resident_bytes
from app.core.paths import studio_paths
from app.core.takes import Take, TakeEnding
from app.core.voice_folder import load_voice
from app.core.voice_record import LibraryVoice, Likeness
from app.jobs.work import Openers
from app.studio.models import ModelStatus
from app.studio.speech_state import SpeechPhase
from app.studio.studio import Studio
from app.studio.take_sounds import MEMORY
from app.ui.design_tab import DesignTab
from app.ui.live import LiveTimer
from app.ui.lock_dialog import LockDialog
from app.ui.main_window import CLONE, DESIGN, SPEAKERS, MainWindow
from app.ui.take_strip import TakeStrip
from app.ui.takes_panel import PAGE, TakeTargets
from app.ui.theme import Appearance
from engine import ExplainedError, Family, ModelPair, Sampling, Voice, open_engine
from engine.types import Codes, Samples
from engine.voices import read_codes
from engine.wav import WavFormat
from tests.clone_steps import LEFT, NO_KEY, TICK, consent, field_text, fill, press
from tests.fakes import FakeModels, FakeOpener, Pace, fake_models

LONG = 60_000  # milliseconds, for real models on a busy machine
SHORT = Sampling(max_frames=8)
TICKS = 200  # of the event loop, at least a second
T = TypeVar("T")
log = logging.getLogger(__name__)
TEXT = "The kettle was singing when the rain began."


def speechlike(start: int, count: int) -> Frames:
    """What the microphone hears: a buzz in syllables, [count, 1]."""
    seconds = (start + np.arange(count)) / 48_000
    syllable = np.clip(np.sin(2 * np.pi * 3.1 * seconds), 0.05, 1)
    buzz = np.sin(2 * np.pi * 140 * seconds) + 0.5 * np.sin(2 * np.pi * 980 * seconds)
    return np.asarray(0.25 * buzz * syllable, np.float32)[:, None]


class Desk:
    """A window over a studio, and a person's hands."""

    def __init__(
        self,
        studio: Studio,
        theme: Appearance,
        timer: LiveTimer,
        pool: QThreadPool,
        qtbot: QtBot,
    ) -> None:
        self.studio, self.qtbot = studio, qtbot
        self.problems: list[ExplainedError] = []
        studio.problem.connect(self.problems.append)
        self.window = MainWindow(studio, theme, timer, pool)
        self.window.resize(1280, 820)
        self.window.show()
        self.window.activateWindow()
        qtbot.waitUntil(self.window.isActiveWindow)

    def key(self, keys: str) -> None:
        """Press keys at what has the focus."""
        QTest.keySequence(self.window.focusWidget() or self.window, QKeySequence(keys))

    def type(self, text: str) -> None:
        """Replace what is written where the focus is."""
        widget = QApplication.focusWidget()
        assert isinstance(widget, QPlainTextEdit | QLineEdit)
        widget.selectAll()
        QTest.keyClicks(widget, text)

    def write(self, tab: str, **values: Any) -> None:
        """Turn the knobs of a tab."""
        session = self.studio.session
        session.set_draft(tab, replace(session.draft(tab), **values))

    def wait(self, condition: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(condition, timeout=LONG)

    def load(self, button: str, talker: Path) -> None:
        """Load a model by the button of a tab."""
        press(self.window.current_tab, button)

        def is_loaded() -> bool:
            state = self.studio.models.state
            is_it = state.pair is not None and state.pair.talker == talker
            return is_it and state.status is ModelStatus.LOADED

        self.wait(is_loaded)

    def speak(self) -> tuple[Take, ...]:
        """Ctrl+Return, to the end; the takes that it made."""
        before = {take.id for take in self.studio.session.takes}
        self.key("Ctrl+Return")
        assert self.studio.speech.live
        self.finish()
        return tuple(take for take in self.studio.session.takes if take.id not in before)

    def finish(self) -> None:
        self.wait(lambda: self.studio.speech.state.phase is SpeechPhase.IDLE)

    def sound(self, take: Take) -> Samples:
        samples, rate = soundfile.read(self.studio.session.sound_path(take), dtype="float32")
        assert rate == 24_000
        return np.asarray(samples)

    def close(self) -> None:
        """As `app.main` ends."""
        self.window.close()
        assert self.studio.close()
        self.window.deleteLater()
        QCoreApplication.sendPostedEvents(self.window, QEvent.Type.DeferredDelete.value)


@pytest.fixture
def models(studio_home: Path) -> FakeModels:
    """The small models, where the studio finds them."""
    return fake_models(studio_paths(studio_home).models)


@pytest.fixture
def desk(
    studio_home: Path,
    models: FakeModels,
    theme: Appearance,
    timer: LiveTimer,
    pool: QThreadPool,
    qtbot: QtBot,
) -> Iterator[Desk]:
    """With the real engine."""
    studio = Studio(studio_paths(studio_home), NullBackend(microphone=speechlike), Openers())
    studio.preferences.update(device="cpu", precision="f32", theme=theme.choice)
    made = Desk(studio, theme, timer, pool, qtbot)
    yield made
    made.close()
    studio.deleteLater()


@pytest.fixture
def fake_desk(
    studio: Studio,
    model_files: FakeModels,
    theme: Appearance,
    timer: LiveTimer,
    pool: QThreadPool,
    qtbot: QtBot,
) -> Iterator[Desk]:
    """With the fake engine; a speaker and a text are chosen."""
    studio.preferences.update(theme=theme.choice)
    made = Desk(studio, theme, timer, pool, qtbot)
    studio.models.load(model_files.custom_voice)
    made.wait(lambda: studio.models.state.status is ModelStatus.LOADED)
    made.write("speakers", text=TEXT, speaker="ryan")
    made.key("Ctrl+2")
    yield made
    made.close()


def directly(
    pair: ModelPair, takes: tuple[Take, ...], voice: LibraryVoice | None
) -> list[tuple[Samples, Codes]]:
    """What the engine says without the studio, as one batch: samples [n] and codes [T, 16]."""
    engine = open_engine(pair, device="cpu", precision="f32")
    request = takes[0].request
    spoken: Voice | None = None
    if voice is not None:
        width = engine.description.width
        spoken = load_voice(voice, width, request.likeness, engine.codebook_size)
    chunks = list(engine.speak(request.speech(tuple(take.seed for take in takes), spoken)))
    return [
        (
            np.concatenate([chunk.samples for chunk in chunks if chunk.take == number]),
            np.concatenate([chunk.codes for chunk in chunks if chunk.take == number]),
        )
        for number in range(len(takes))
    ]


def assert_said(
    desk: Desk, pair: ModelPair, *takes: Take, voice: LibraryVoice | None = None
) -> None:
    """Takes on disk are to the sample what the engine says by itself."""
    for take, (samples, codes) in zip(takes, directly(pair, takes, voice), strict=True):
        assert take.ending is TakeEnding.LIMIT
        assert np.array_equal(desk.sound(take), samples)
        assert np.array_equal(read_codes(desk.studio.session.codes_path(take)), codes)


def test_from_the_microphone_to_a_wav(desk: Desk, models: FakeModels, tmp_path: Path) -> None:
    studio, window = desk.studio, desk.window
    studio.begin()
    desk.wait(lambda: studio.models.found is not None and bool(studio.sound.inputs))
    desk.wait(lambda: studio.models.state.status is ModelStatus.LOADED)
    desk.key("Ctrl+1")
    desk.load("Load 1.7B Base", models.base.talker)

    # Record
    window.clone.show_recorder()
    count_in = next(each for each in window.clone.findChildren(QCheckBox) if "ount" in each.text())
    count_in.setChecked(False)
    window.tabs.findChildren(QTabBar)[0].setFocus()
    desk.key("R")
    desk.wait(lambda: studio.sound.recorder_state.seconds > 1.5)
    desk.key("R")
    desk.wait(lambda: studio.cloning.state.buffer is not None and not studio.cloning.state.busy)

    # Clone and save; the test line is spoken by itself
    field_text(window.clone).setFocus()
    desk.type("A buzz in syllables.")
    fill(window.clone, "Name of the voice", "Buzz")
    QTest.mouseClick(consent(window.clone), LEFT, NO_KEY, TICK)
    fill(window.clone, "Who agreed", "A. Example")
    desk.write("clone", sampling=SHORT, seed=5)
    assert studio.background.flush()
    with desk.qtbot.waitSignal(studio.speech.take_ended, timeout=LONG):
        press(window.clone, "Save voice")
    desk.finish()
    voice = studio.voices.selected
    assert voice is not None
    assert (voice.name, voice.transcript) == ("Buzz", "A buzz in syllables.")
    assert voice.files.widths
    assert voice.has_best_likeness

    # Speak
    window.clone.focus_text()
    desk.type(TEXT)
    [take] = desk.speak()
    assert (take.text, take.seed, take.voice_label) == (TEXT, 5, "Buzz")
    assert (take.request.voice_id, take.request.likeness) == (voice.id, Likeness.BEST)
    assert_said(desk, models.base, take, voice=voice)

    # Save as WAV
    target = tmp_path / "kettle.wav"
    window.takes._targets = TakeTargets(lambda *_: (target, WavFormat.WAV32), lambda _: tmp_path)
    with desk.qtbot.waitSignal(studio.session.saved_as, timeout=LONG):
        desk.key("Ctrl+S")
    samples, _ = soundfile.read(target, dtype="float32")
    assert np.array_equal(samples, desk.sound(take))
    assert not desk.problems


def test_from_family_to_family_and_a_designed_voice_that_speaks(
    desk: Desk, models: FakeModels
) -> None:
    studio, window = desk.studio, desk.window
    studio.models.look()
    desk.wait(lambda: studio.models.found is not None)
    for tab in ("clone", "speakers", "design"):
        desk.write(tab, sampling=SHORT, language="english", seed=1)

    # A speaker of a model
    desk.key("Ctrl+2")
    assert window.tabs.currentIndex() == SPEAKERS
    desk.load("Load 0.6B CustomVoice", models.custom_voice.talker)
    tile = next(
        each
        for each in window.speakers.findChildren(QPushButton)
        if each.accessibleName().startswith("Ryan")
    )
    QTest.mouseClick(tile, LEFT)
    window.speakers.focus_text()
    desk.type(TEXT)
    [spoken] = desk.speak()
    assert (spoken.voice_label, spoken.family) == ("Ryan", Family.CUSTOM_VOICE)
    assert_said(desk, models.custom_voice, spoken)

    # Candidates of a design, in one batch
    desk.key("Ctrl+3")
    assert window.tabs.currentIndex() == DESIGN
    desk.load("Load 1.7B VoiceDesign", models.voice_design.talker)
    window.design.focus_text()
    desk.type("An elderly man with a gravelly voice.")
    window.design.box.focus_text()
    desk.type("Come in.")
    takes = desk.speak()
    candidates = [card.take for card in window.design.grid.cards]
    assert {take.id for take in takes} == {take.id for take in candidates}
    assert len({take.seed for take in candidates}) == 4
    assert_said(desk, models.voice_design, *candidates)

    # Locked; there is a Base model, so it is completed at once
    chosen = window.design.grid.cards[2]
    with desk.qtbot.waitSignal(studio.designing.completed, timeout=LONG):
        lock(window.design, window, 2, "The innkeeper")
    voice = studio.voices.listing.voices[0]
    assert (voice.name, voice.transcript) == ("The innkeeper", "Come in.")
    assert voice.details.origin.seed == chosen.take.seed
    clip, _ = soundfile.read(voice.folder / "clip.wav", dtype="float32")
    assert np.array_equal(clip, desk.sound(chosen.take))

    # And speaks
    window.activateWindow()  # as window managers do once the dialog has closed
    desk.wait(window.isActiveWindow)
    desk.key("Ctrl+1")
    assert window.tabs.currentIndex() == CLONE
    desk.load("Load 1.7B Base", models.base.talker)
    studio.voices.select(voice.id)
    window.clone.focus_text()
    desk.type(TEXT)
    [take] = desk.speak()
    assert (take.voice_label, take.request.voice_id) == ("The innkeeper", voice.id)
    assert_said(desk, models.base, take, voice=voice)
    assert not desk.problems


def lock(tab: DesignTab, window: MainWindow, number: int, name: str) -> None:
    press(tab.grid.cards[number], "Lock…")
    [dialog] = [each for each in window.findChildren(LockDialog) if each.isVisible()]
    dialog.findChildren(QCheckBox)[0].click()  # that all is heard: the small models never end
    field = dialog.findChildren(QLineEdit)[0]
    QTest.keyClicks(field, name)
    QTest.keyClick(field, Qt.Key.Key_Return)


def test_the_window_goes_on_while_the_engine_speaks(desk: Desk, models: FakeModels) -> None:
    desk.studio.models.load(models.custom_voice)
    desk.wait(lambda: desk.studio.models.state.status is ModelStatus.LOADED)
    endless = Sampling(min_frames=4000, max_frames=4000)
    desk.write("speakers", text=TEXT, speaker="ryan", sampling=endless)
    desk.key("Ctrl+2")
    probe = Probe()
    desk.key("Ctrl+Return")
    desk.wait(lambda: desk.studio.speech.state.made > 0)
    before = desk.studio.speech.state.made
    probe.start()
    desk.wait(lambda: probe.ticks >= TICKS)
    probe.stop()
    # It was speaking and playing all along, not waiting for the window or the other way round.
    assert desk.studio.speech.state.made > before
    assert desk.studio.sound.state.status is PlayerStatus.PLAYING
    log.info("The event loop stood still for up to %.0f ms", probe.worst)
    desk.key("Esc")
    desk.finish()


class Probe:
    """Counts the turns of the event loop, and how long the longest took."""

    def __init__(self) -> None:
        self.ticks = 0
        self.worst = 0.0  # milliseconds
        self._clock = QElapsedTimer()
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(5)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        self._clock.start()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    def _tick(self) -> None:
        self.ticks += 1
        self.worst = max(self.worst, self._clock.nsecsElapsed() / 1e6)
        self._clock.restart()


# Impatience


def test_ten_impatient_cancels_leave_nothing_behind(fake_desk: Desk, opener: FakeOpener) -> None:
    desk, studio = fake_desk, fake_desk.studio
    opener.engine.pace = Pace(frame_seconds=0.005, frames=5000)
    for turn in range(10):
        desk.key("Ctrl+Return")
        if turn % 2:  # every other one before it has begun to sound
            desk.wait(lambda: studio.speech.state.made > 0)
        desk.key("Esc")
    desk.finish()
    assert studio.speech.live == ()
    assert len(studio.queue) == 0
    assert opener.engine.open_requests == 0
    assert opener.engine.most_open_requests == 1
    strips = desk.window.takes.strips
    assert not any(strip.is_live for strip in strips)
    assert [strip.take for strip in strips] == list(studio.session.takes)
    assert {take.ending for take in studio.session.takes} == {TakeEnding.STOPPED}
    assert not desk.window.status.is_busy
    opener.engine.pace = Pace(frames=5)
    [take] = desk.speak()
    assert take.ending is TakeEnding.SPOKEN
    assert not desk.problems


def test_seventy_generations_stay_within_bounds(fake_desk: Desk, opener: FakeOpener) -> None:
    desk, studio = fake_desk, fake_desk.studio
    memory = []
    seconds = 60
    for turn in range(50):
        opener.engine.pace = Pace(frames=round(seconds * 12.5))
        desk.key("Ctrl+Return")
        desk.finish()
        studio.sound.stop()
        memory.append(resident_bytes() or 0)
        if turn % 5 in (1, 3):
            opener.engine.pace = Pace(frame_seconds=0.002, frames=5000)
            desk.key("Ctrl+Return")
            desk.wait(lambda: studio.speech.state.made > 0)
            desk.key("Esc")
            desk.finish()
    assert len(studio.session.takes) == 70
    desk.wait(lambda: len(desk.window.findChildren(TakeStrip)) == PAGE)
    gc.collect()
    held = sum(buffer.length * 4 for buffer in instances(TakeBuffer))
    assert held <= MEMORY + 8 * seconds * 24_000 * 4  # those that are seen, and the player's
    assert studio.speech.live == ()
    slope = np.polyfit(range(20, 50), memory[20:], 1)[0]
    log.info("Memory grows by %.0f KB with a minute that is spoken", slope / 1e3)


# What is left


def instances(kind: type[T]) -> list[T]:
    """All objects of a type, without asking them anything: some warn when they are."""
    return [each for each in gc.get_objects() if issubclass(type(each), kind)]


def running_timers() -> set[int]:
    timers = (each for each in instances(QTimer) if shiboken6.isValid(each))
    return {id(each) for each in timers if each.isActive()}


def widgets() -> set[int]:
    return {id(each) for each in instances(QWidget) if shiboken6.isValid(each)}


def use_and_close(desk: Desk, opener: FakeOpener) -> None:
    """Go about in the window, and close it in the midst of speaking and recording."""
    studio, window = desk.studio, desk.window
    studio.begin()
    desk.wait(lambda: studio.models.state.status is ModelStatus.LOADED)
    desk.wait(lambda: bool(studio.sound.inputs))
    desk.write("speakers", text=TEXT, speaker="ryan")
    desk.key("Ctrl+2")
    desk.speak()
    window.clone.toggle_recording()
    desk.wait(lambda: studio.sound.is_recording)
    for keys in ("F1", "Ctrl+M", "Ctrl+,"):
        desk.key(keys)
    opener.engine.pace = Pace(frame_seconds=0.01, frames=5000)
    window.tabs.setCurrentIndex(SPEAKERS)
    window.speak(2)
    desk.wait(lambda: studio.speech.state.made > 0)
    desk.close()
    studio.deleteLater()


def test_nothing_is_left_when_the_window_is_closed(
    qapp: QApplication,
    studio_home: Path,
    models: FakeModels,
    opener: FakeOpener,
    theme: Appearance,
    pool: QThreadPool,
    qtbot: QtBot,
) -> None:
    gc.collect()
    threads, buffers = set(threading.enumerate()), len(instances(TakeBuffer))
    before, timers, tops = widgets(), running_timers(), len(qapp.topLevelWidgets())
    timer = LiveTimer()
    studio = Studio(studio_paths(studio_home), NullBackend(microphone=speechlike), opener.openers)
    use_and_close(Desk(studio, theme, timer, pool, qtbot), opener)
    timer.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    assert set(threading.enumerate()) <= threads
    assert len(qapp.topLevelWidgets()) <= tops
    del studio
    gc.collect()
    assert widgets() <= before
    assert running_timers() <= timers
    assert len(instances(TakeBuffer)) <= buffers
