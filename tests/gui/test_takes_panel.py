"""The strips of takes: how they grow, what they say, and what keys and buttons do with them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.audio.player_state import PlayerStatus
from app.audio.take_buffer import TakeBuffer
from app.core.take_files import SavedTakes
from app.core.takes import Take, TakeEnding, TakeRequest
from app.core.voice_record import Likeness
from app.studio.models import ModelStatus
from app.studio.notes import Note
from app.studio.speech_state import SpeechPhase
from app.studio.studio import Studio
from app.ui.live import LiveTimer
from app.ui.metrics import TARGET
from app.ui.shortcuts import make_action
from app.ui.take_list import TakeList
from app.ui.take_strip import DragGrip, TakeStrip
from app.ui.takes_panel import PAGE, TakesPanel, TakeTargets
from app.ui.theme import Appearance
from app.ui.waveform import WaveformView
from engine import Family, ModelFileError
from engine.wav import WavFormat
from tests.fakes import FakeModels, FakeOpener, Pace, fake_codes

LEFT = Qt.MouseButton.LeftButton
RATE = 24_000
SPEAKER = TakeRequest("The kettle was singing.", Family.CUSTOM_VOICE, speaker="ryan")


class Saving:
    """Answers where to save instead of a dialog."""

    def __init__(self) -> None:
        self.answer: tuple[Path, WavFormat] | None = None
        self.folder: Path | None = None
        self.names: list[str] = []
        self.targets = TakeTargets(self.choose_file, lambda _: self.folder)

    def choose_file(self, _: QWidget, name: str) -> tuple[Path, WavFormat] | None:
        self.names.append(name)
        return self.answer


@pytest.fixture
def saving() -> Saving:
    return Saving()


@pytest.fixture
def panel(
    qtbot: QtBot, theme: Appearance, studio: Studio, timer: LiveTimer, saving: Saving
) -> Iterator[TakesPanel]:
    made = TakesPanel(studio.session, studio.speech, studio.sound, timer, saving.targets)
    qtbot.addWidget(made)
    made.resize(800, 300)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    yield made
    studio.sound.stop()


@pytest.fixture
def loaded(studio: Studio, model_files: FakeModels, qtbot: QtBot) -> FakeModels:
    studio.models.load(model_files.custom_voice)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)
    return model_files


@pytest.fixture
def gate(opener: FakeOpener, loaded: FakeModels) -> threading.Event:
    """Keeps the engine from making frames until it is set."""
    made = threading.Event()
    opener.engine.pace = Pace(gate=made, frames=20)
    return made


def keep(
    studio: Studio,
    text: str,
    seed: int = 1,
    seconds: float = 1.0,
    request: TakeRequest = SPEAKER,
) -> Take:
    """A take of the session that lies on disk."""
    begun = Take(replace(request, text=text), seed, "Ryan", model="Small one")
    writer = studio.session.writer(begun)
    samples = (0.2 * np.sin(np.arange(round(seconds * RATE)) / 20)).astype(np.float32)
    writer.append(samples, fake_codes(samples))
    take = writer.finish(TakeEnding.SPOKEN, 12)
    assert take is not None
    studio.session.add(take)
    return take


def keep_three(studio: Studio) -> tuple[Take, Take, Take]:
    """Newest first, as they are shown."""
    third, second, first = (keep(studio, f"Line {number}") for number in (3, 2, 1))
    return first, second, third


def labels(panel: TakesPanel) -> list[str]:
    return [strip.take.label for strip in panel.strips]


def words(widget: QWidget) -> str:
    """All that is written on a widget."""
    shown = (each for each in widget.findChildren(QLabel) if each.isVisibleTo(widget))
    return " | ".join(each.text() for each in shown)


def button(widget: QWidget, name: str) -> QToolButton:
    return next(
        each
        for each in widget.findChildren(QToolButton)
        if each.accessibleName().startswith(name) and each.isVisibleTo(widget)
    )


def offers(widget: QWidget, name: str) -> bool:
    return any(each.accessibleName() == name for each in widget.findChildren(QToolButton))


def press(widget: QWidget, name: str) -> None:
    one = button(widget, name)
    assert one.isEnabled(), name
    QTest.mouseClick(one, LEFT)


def choose_from_menu(strip: TakeStrip, text: str) -> None:
    menu = button(strip, "More").menu()
    assert isinstance(menu, QMenu)
    action = next(each for each in menu.actions() if each.text().startswith(text))
    assert action.isVisible()
    action.trigger()


def focus_key(key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """Press a key at what has the focus."""
    widget = QApplication.focusWidget()
    assert widget is not None
    QTest.keyClick(widget, key, modifier)


def is_sounding(studio: Studio) -> bool:
    return studio.sound.state.status in (PlayerStatus.PLAYING, PlayerStatus.WAITING)


# Growing


def test_without_takes_it_teaches_how_to_make_one(panel: TakesPanel, studio: Studio) -> None:
    assert "No takes yet" in words(panel)
    assert "Ctrl+Return" in words(panel)
    keep(studio, "Line 1")
    assert "No takes yet" not in words(panel)


def test_a_take_grows_in_its_strip_and_stays_there(
    qtbot: QtBot, panel: TakesPanel, studio: Studio, opener: FakeOpener, gate: threading.Event
) -> None:
    keep(studio, "Older")
    studio.speech.speak(SPEAKER, (7,), "Ryan")
    strip = panel.strips[0]
    assert strip.is_live
    assert "Speaking" in words(strip)
    assert "Ryan · seed 7" in words(strip)
    assert not button(strip, "Star").isEnabled()
    [live] = studio.speech.live
    wave = strip.findChildren(WaveformView)[0]
    assert wave.source is live.buffer
    gate.set()
    qtbot.waitUntil(lambda: not studio.speech.live)
    assert panel.strips[0] is strip
    assert wave.source is live.buffer
    assert not strip.is_live
    assert "Speaking" not in words(strip)
    assert "0:01.6" in words(strip)
    assert labels(panel) == ["The kettle was singing.", "Older"]


def test_takes_of_one_voice_tell_their_likeness(panel: TakesPanel, studio: Studio) -> None:
    for likeness in (Likeness.BEST, Likeness.STEADY):
        request = TakeRequest("Hello.", Family.BASE, voice_id="a", likeness=likeness)
        keep(studio, "Hello.", 7, request=request)
    steady, best = (words(strip) for strip in panel.strips)
    assert "Ryan · best likeness · seed 7" in best
    assert "Ryan · seed 7" in steady


def test_the_length_counts_while_it_is_made(
    qtbot: QtBot, panel: TakesPanel, studio: Studio, opener: FakeOpener, loaded: FakeModels
) -> None:
    opener.engine.pace = Pace(frame_seconds=0.01, frames=60)
    studio.speech.speak(SPEAKER, (7,), "Ryan")
    seen: list[str] = []
    length = next(
        each for each in panel.strips[0].findChildren(QLabel) if each.accessibleName() == "Length"
    )
    studio.speech.changed.connect(lambda _: seen.append(length.text()))
    qtbot.waitUntil(lambda: not studio.speech.live, timeout=20_000)
    assert len(set(seen)) > 3
    assert seen == sorted(seen)


def test_what_is_made_now_is_in_sight_and_the_others_wait(
    qtbot: QtBot, panel: TakesPanel, studio: Studio, gate: threading.Event
) -> None:
    ids = [studio.speech.speak(SPEAKER, (seed,), f"Voice {seed}")[0] for seed in range(9)]
    assert [strip.take.id for strip in panel.strips] == ids[::-1]
    assert [("Waiting" in words(strip)) for strip in panel.strips] == [True] * 8 + [False]
    assert "Speaking" in words(panel.strips[-1])
    assert "0:00" not in words(panel.strips[0])
    assert "when its turn comes" in panel.strips[0].accessibleDescription()

    def in_sight(place: int) -> bool:
        strip = panel.strips[place]
        return not strip.visibleRegion().isEmpty()

    qtbot.waitUntil(lambda: in_sight(-1) and not in_sight(0))
    studio.speech.take_ended.connect(lambda _: gate.clear())  # before the next one begins
    gate.set()
    qtbot.waitUntil(lambda: "Speaking" in words(panel.strips[-2]))
    assert "Speaking" not in words(panel.strips[-1])
    panel.strips[0].setFocus()  # somebody looks at another one
    panel.findChildren(TakeList)[0].reveal(panel.strips[0])
    gate.set()
    qtbot.waitUntil(lambda: "Speaking" in words(panel.strips[-3]))
    QApplication.processEvents()
    assert in_sight(0)
    assert not in_sight(-1)
    gate.set()


def test_what_was_stopped_comes_into_sight_when_the_waiting_ones_are_gone(
    qtbot: QtBot, panel: TakesPanel, studio: Studio, opener: FakeOpener, loaded: FakeModels
) -> None:
    for number in range(9):
        keep(studio, f"Line {number}")
    opener.engine.pace = Pace(frame_seconds=0.005, frames=5000)
    ids = [studio.speech.speak(SPEAKER, (seed,), "Ryan")[0] for seed in range(9)]
    bar = panel.findChildren(TakeList)[0].verticalScrollBar()
    qtbot.waitUntil(lambda: bar.value() > 0 and studio.speech.state.made > 0)
    studio.speech.cancel()
    qtbot.waitUntil(lambda: not studio.speech.live)
    assert panel.strips[0].take.id == ids[0]
    qtbot.waitUntil(lambda: not panel.strips[0].visibleRegion().isEmpty())


def test_several_takes_keep_their_order_while_they_end(
    qtbot: QtBot, panel: TakesPanel, studio: Studio, gate: threading.Event
) -> None:
    first = studio.speech.speak(SPEAKER, (1, 2, 3), "Ryan")
    second = studio.speech.speak(replace(SPEAKER, text="And then."), (4,), "Ryan")
    wanted = [*reversed(second), *reversed(first)]
    orders: list[list[str]] = []

    def note() -> None:
        orders.append([strip.take.id for strip in panel.strips])

    note()
    studio.speech.take_ended.connect(note)
    studio.speech.cancel()
    gate.set()
    qtbot.waitUntil(lambda: not studio.speech.live)
    assert orders[0] == wanted
    kept = {take.id for take in studio.session.takes}
    assert orders[-1] == [each for each in wanted if each in kept]


def test_strips_of_takes_that_came_to_nothing_vanish(
    qtbot: QtBot, panel: TakesPanel, studio: Studio, gate: threading.Event
) -> None:
    studio.speech.speak(SPEAKER, (1, 2), "Ryan")
    assert len(panel.strips) == 2
    studio.speech.cancel()  # before the first frame
    qtbot.waitUntil(lambda: not studio.speech.live)
    assert not panel.strips
    assert "No takes yet" in words(panel)


def test_a_new_take_becomes_the_one_for_the_keys_unless_somebody_is_at_work_here(
    panel: TakesPanel, studio: Studio, gate: threading.Event
) -> None:
    old = keep(studio, "Older")
    assert panel.current == old
    studio.speech.speak(SPEAKER, (1,), "Ryan")
    assert panel.strips[0].property("current")
    panel.strips[1].setFocus()
    assert panel.current == old
    studio.speech.speak(SPEAKER, (2,), "Ryan")
    assert panel.current == old
    gate.set()


@pytest.mark.parametrize(
    ("pace", "stop", "badge", "sentence"),
    [
        (Pace(frames=5000, frame_seconds=0.005), True, "Stopped", "Stopped before its end."),
        (Pace(frames=50), False, "Cut off", "Cut off at the longest length."),
        (
            Pace(frames=50, fails_at=6, error=ModelFileError("The disk was pulled out.")),
            False,
            "Broke off",
            "Broke off before its end. The disk was pulled out.",
        ),
        (Pace(frames=4), False, "", ""),
    ],
)
def test_how_a_take_ended_is_said_in_words(
    qtbot: QtBot,
    panel: TakesPanel,
    studio: Studio,
    opener: FakeOpener,
    loaded: FakeModels,
    pace: Pace,
    stop: bool,
    badge: str,
    sentence: str,
) -> None:
    opener.engine.pace = pace
    limit = 5000 if stop else 10
    request = replace(SPEAKER, sampling=replace(SPEAKER.sampling, max_frames=limit))
    studio.speech.speak(request, (1,), "Ryan")
    if stop:
        qtbot.waitUntil(lambda: studio.speech.state.made > 0, timeout=20_000)
        studio.speech.cancel()
    qtbot.waitUntil(lambda: not studio.speech.live)
    [strip] = panel.strips
    shown = [each.text() for each in strip.findChildren(QLabel) if each.isVisibleTo(strip)]
    assert (badge in shown) == bool(badge)
    assert sentence in strip.accessibleDescription()
    tips = [each.toolTip() for each in strip.findChildren(QLabel) if each.text() == badge]
    assert tips == [sentence]


# What is done with a take


def test_stars_and_notes_are_kept_and_shown(panel: TakesPanel, studio: Studio) -> None:
    take = keep(studio, "Line 1")
    [strip] = panel.strips
    press(strip, "Star")
    assert studio.session.takes[0].star
    assert "Starred." in strip.accessibleDescription()
    note = strip.findChildren(QLineEdit)[0]
    note.setFocus()
    QTest.keyClicks(note, "warmer, less Sad")
    QTest.keyClick(note, Qt.Key.Key_Return)
    kept = studio.session.takes[0]
    assert (kept.id, kept.note, kept.star) == (take.id, "warmer, less Sad", True)
    studio.session.undo()
    assert (note.text(), button(strip, "Star").isChecked()) == ("", True)
    QTest.keyClicks(note, "half a")
    studio.session.undo()
    assert (note.text(), button(strip, "Star").isChecked()) == ("half a", False)
    panel.setFocus()
    assert studio.session.takes[0].note == "half a"


@pytest.mark.parametrize("same", [False, True])
def test_again_makes_it_with_a_new_or_the_same_seed(
    qtbot: QtBot, panel: TakesPanel, studio: Studio, loaded: FakeModels, same: bool
) -> None:
    take = keep(studio, "Line 1", seed=42)
    [strip] = panel.strips
    if same:
        choose_from_menu(strip, "Make it again with the same seed")
    else:
        press(strip, "Make it again with a new seed")
    qtbot.waitUntil(lambda: len(studio.session.takes) == 2 and not studio.speech.live)
    made = studio.session.takes[0]
    assert made.request == take.request
    assert (made.seed == 42) is same


def test_it_is_saved_where_somebody_says(
    qtbot: QtBot, panel: TakesPanel, studio: Studio, saving: Saving, tmp_path: Path
) -> None:
    keep(studio, "What? A/B: no.")
    [strip] = panel.strips
    press(strip, "Save as WAV")
    assert list(tmp_path.glob("*.wav")) == []  # nobody said where
    assert saving.names == ["Ryan - What A-B no.wav"]
    target = tmp_path / "out.wav"
    saving.answer = (target, WavFormat.WAV24)
    with qtbot.waitSignal(studio.session.saved_as):
        choose_from_menu(strip, "Save as WAV")
    info = soundfile.info(target)
    assert (info.samplerate, info.frames, info.subtype) == (RATE, RATE, "PCM_24")


def test_all_starred_takes_are_saved_in_a_folder(
    qtbot: QtBot, panel: TakesPanel, studio: Studio, saving: Saving, tmp_path: Path
) -> None:
    first, _, third = keep_three(studio)
    panel.save_starred()  # there is none
    for take in (first, third):
        studio.session.star(take.id, True)
    panel.save_starred()  # nobody said where
    assert list(tmp_path.glob("*.wav")) == []
    saving.folder = tmp_path
    with qtbot.waitSignal(studio.session.saved_all) as saved:
        panel.save_starred()
    names = ["Ryan - Line 1.wav", "Ryan - Line 3.wav"]
    assert saved.args == [SavedTakes(tmp_path, tuple(tmp_path / name for name in names), ())]
    assert sorted(path.name for path in tmp_path.glob("*.wav")) == names


def test_its_text_can_be_used_again(qtbot: QtBot, panel: TakesPanel, studio: Studio) -> None:
    take = keep(studio, "Line 1")
    with qtbot.waitSignal(panel.text_requested) as wished:
        choose_from_menu(panel.strips[0], "Use this text again")
    assert wished.args == [take]


def test_seed_is_copied(panel: TakesPanel, studio: Studio) -> None:
    keep(studio, "Line 1", seed=123456)
    choose_from_menu(panel.strips[0], "Copy the seed")
    assert QGuiApplication.clipboard().text() == "123456"


def test_only_designed_takes_can_be_locked(qtbot: QtBot, panel: TakesPanel, studio: Studio) -> None:
    keep(studio, "Line 1")
    design = Take(
        TakeRequest("Hello.", Family.VOICE_DESIGN, instruct="A man."),
        1,
        "Designed",
        ending=TakeEnding.SPOKEN,
    )
    studio.session.add(design)
    top, other = panel.strips
    with qtbot.waitSignal(panel.lock_requested) as asked:
        choose_from_menu(top, "Lock this voice")
    assert asked.args == [design]
    menu = button(other, "More").menu()
    assert isinstance(menu, QMenu)
    assert not any(a.isVisible() for a in menu.actions() if a.text().startswith("Lock"))


def test_what_is_trashed_comes_back_where_it_was(panel: TakesPanel, studio: Studio) -> None:
    notes: list[Note] = []
    studio.notice.connect(notes.append)
    keep_three(studio)
    choose_from_menu(panel.strips[1], "Move to the trash")
    assert labels(panel) == ["Line 1", "Line 3"]
    [note] = notes
    assert note.action_label == "Undo"
    assert note.action is not None
    note.action()
    assert labels(panel) == ["Line 1", "Line 2", "Line 3"]


def test_what_plays_falls_silent_in_the_trash(
    qtbot: QtBot, panel: TakesPanel, studio: Studio
) -> None:
    take = keep(studio, "Line 1", seconds=30)
    press(panel.strips[0], "Play this take")
    qtbot.waitUntil(lambda: is_sounding(studio))
    choose_from_menu(panel.strips[0], "Move to the trash")
    qtbot.waitUntil(lambda: not is_sounding(studio))
    assert studio.sound.playing_key != take.id


# Listening


def test_the_button_plays_pauses_and_plays_on(
    qtbot: QtBot, panel: TakesPanel, studio: Studio
) -> None:
    first, second, _ = (keep(studio, text, seconds=30) for text in ("C", "B", "A"))
    strip = panel.strips[1]
    assert strip.take == second
    press(strip, "Play this take")
    assert studio.sound.playing_key == second.id
    assert panel.current == second
    qtbot.waitUntil(lambda: studio.sound.state.position > 2000)
    qtbot.waitUntil(lambda: bool(strip.findChildren(WaveformView)[0].position))
    press(strip, "Pause")
    qtbot.waitUntil(lambda: studio.sound.state.status is PlayerStatus.PAUSED)
    qtbot.waitUntil(lambda: offers(strip, "Play this take"))
    before = studio.sound.state.position
    press(strip, "Play this take")
    qtbot.waitUntil(lambda: studio.sound.state.status is PlayerStatus.PLAYING)
    assert studio.sound.state.position >= before
    press(panel.strips[2], "Play this take")
    qtbot.waitUntil(lambda: offers(strip, "Play this take"))
    assert studio.sound.playing_key == first.id


def test_a_take_that_was_heard_to_its_end_begins_anew(
    qtbot: QtBot, panel: TakesPanel, studio: Studio
) -> None:
    keep(studio, "Short", seconds=0.3)
    [strip] = panel.strips
    with qtbot.waitSignal(studio.sound.ended):
        press(strip, "Play this take")
    qtbot.waitUntil(lambda: offers(strip, "Play this take"))
    with qtbot.waitSignal(studio.sound.ended):
        press(strip, "Play this take")
        qtbot.waitUntil(lambda: 0 < studio.sound.state.position < 0.25 * RATE)


def test_a_click_into_the_waveform_plays_from_there(
    qtbot: QtBot, panel: TakesPanel, studio: Studio
) -> None:
    keep(studio, "Line 1", seconds=30)
    [strip] = panel.strips
    wave = strip.findChildren(WaveformView)[0]
    qtbot.waitUntil(lambda: wave.source is not None and wave.source.length == 30 * RATE)

    def click() -> bool:  # in vain until the view has noticed that the sound is there
        QTest.mouseClick(wave, LEFT, pos=QPoint(wave.width() // 2, 10))
        return bool(studio.sound.playing_key)

    qtbot.waitUntil(click)
    qtbot.waitUntil(lambda: abs(studio.sound.state.position / RATE - 15) < 2)
    assert is_sounding(studio)


# Keys


def test_arrows_go_from_take_to_take(panel: TakesPanel, studio: Studio) -> None:
    first, second, third = keep_three(studio)
    panel.strips[0].setFocus()
    for key, take in (
        (Qt.Key.Key_Down, second),
        (Qt.Key.Key_Down, third),
        (Qt.Key.Key_Down, third),
        (Qt.Key.Key_Up, second),
        (Qt.Key.Key_Up, first),
        (Qt.Key.Key_Up, first),
    ):
        focus_key(key)
        assert panel.current == take
        assert panel.strips[labels(panel).index(take.label)].hasFocus()


def test_letters_star_and_delete(panel: TakesPanel, studio: Studio) -> None:
    keep_three(studio)
    panel.strips[1].setFocus()
    focus_key(Qt.Key.Key_S)
    assert [take.star for take in studio.session.takes] == [False, True, False]
    focus_key(Qt.Key.Key_S)
    assert not any(take.star for take in studio.session.takes)
    focus_key(Qt.Key.Key_Delete)
    assert labels(panel) == ["Line 1", "Line 3"]


def test_the_focus_moves_to_a_neighbour_of_what_is_deleted(
    panel: TakesPanel, studio: Studio
) -> None:
    keep_three(studio)
    panel.strips[1].setFocus()
    for left in (["Line 1", "Line 3"], ["Line 1"], []):
        focus_key(Qt.Key.Key_Delete)
        assert labels(panel) == left
        if left:
            strip = panel.strips[-1]
            assert strip.hasFocus()
            assert panel.current == strip.take
    assert panel.current is None


def test_letters_in_a_note_are_letters(panel: TakesPanel, studio: Studio) -> None:
    keep(studio, "Line 1")
    note = panel.strips[0].findChildren(QLineEdit)[0]
    note.setFocus()
    QTest.keyClicks(note, "so sad s")
    focus_key(Qt.Key.Key_Home)
    focus_key(Qt.Key.Key_Delete)
    assert note.text() == "o sad s"
    assert not studio.session.takes[0].star


def test_space_on_a_strip_plays_that_take_and_not_what_played_last(
    qtbot: QtBot, theme: Appearance, studio: Studio, timer: LiveTimer
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    pressed: list[bool] = []
    make_action("play", window).triggered.connect(pressed.append)
    panel = TakesPanel(studio.session, studio.speech, studio.sound, timer, parent=window)
    QVBoxLayout(window).addWidget(panel)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    first, second, _ = keep_three(studio)
    studio.sound.load(first.id, studio.session.buffer(first.id))
    panel.strips[1].setFocus()
    focus_key(Qt.Key.Key_Space)
    assert studio.sound.playing_key == second.id
    assert pressed == []
    studio.sound.stop()


def test_nothing_happens_to_a_take_that_is_being_made(
    panel: TakesPanel, studio: Studio, saving: Saving, gate: threading.Event
) -> None:
    studio.speech.speak(SPEAKER, (1,), "Ryan", play=False)
    panel.strips[0].setFocus()
    focus_key(Qt.Key.Key_S)
    panel.save_current()
    focus_key(Qt.Key.Key_Delete)
    assert saving.names == []
    assert panel.strips[0].is_live
    gate.set()


def test_tab_goes_from_top_to_bottom_whenever_strips_were_made(
    panel: TakesPanel, studio: Studio
) -> None:
    keep_three(studio)
    QApplication.processEvents()
    panel.strips[0].setFocus()
    seen = []
    for _ in range(3 * 7):
        widget = QApplication.focusWidget()
        assert widget is not None
        strip = next(one for one in panel.strips if one is widget or one.isAncestorOf(widget))
        seen.append(strip.take.label)
        focus_key(Qt.Key.Key_Tab)
    assert seen == ["Line 1"] * 7 + ["Line 2"] * 7 + ["Line 3"] * 7


def test_many_takes_that_come_and_go_cost_as_much_each_as_one(
    panel: TakesPanel, studio: Studio, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    chained: list[TakeStrip] = []
    show_take, focus_chain = TakeStrip.show_take, TakeStrip.focus_chain

    def show(strip: TakeStrip, take: Take) -> None:
        shown.append(take.id)
        show_take(strip, take)

    def chain(strip: TakeStrip) -> tuple[QWidget, ...]:
        chained.append(strip)
        return focus_chain(strip)

    monkeypatch.setattr(TakeStrip, "show_take", show)
    monkeypatch.setattr(TakeStrip, "focus_chain", chain)
    for seed in range(20):
        studio.speech.speak(SPEAKER, (seed,), "Ryan")
    assert len(panel.strips) == 20
    QApplication.processEvents()
    assert len(chained) == 20
    studio.speech.cancel()
    assert len(panel.strips) == 1, "the one that is stopping"
    assert len(shown) <= 3 * 20


def test_a_strip_that_leaves_does_not_take_the_focus_from_elsewhere(
    qtbot: QtBot, theme: Appearance, studio: Studio, timer: LiveTimer
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    panel = TakesPanel(studio.session, studio.speech, studio.sound, timer, parent=window)
    field = QLineEdit(window)
    layout = QVBoxLayout(window)
    layout.addWidget(panel)
    layout.addWidget(field)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    keep_three(studio)
    panel.strips[2].setFocus()
    field.setFocus()
    studio.session.delete(panel.strips[2].take.id)
    assert field.hasFocus()


# Dragging out


def test_a_drag_brings_the_file(panel: TakesPanel, studio: Studio) -> None:
    take = keep(studio, "Line 1")
    [strip] = panel.strips
    urls = strip.drag_data().urls()
    assert [Path(url.toLocalFile()) for url in urls] == [studio.session.sound_path(take)]
    assert studio.session.sound_path(take).is_file()


def test_a_grip_is_dragged_only_beyond_a_click(qtbot: QtBot, panel: TakesPanel) -> None:
    grip = DragGrip()
    qtbot.addWidget(grip)
    grip.show()
    drags: list[bool] = []
    grip.dragged.connect(lambda: drags.append(True))
    start, far = QPoint(5, 5), QPoint(5 + QApplication.startDragDistance(), 5)
    QTest.mousePress(grip, LEFT, pos=start)
    QTest.mouseMove(grip, QPoint(6, 5))
    assert drags == []
    QTest.mouseMove(grip, far)
    QTest.mouseMove(grip, far + QPoint(9, 0))
    assert drags == [True]
    QTest.mouseRelease(grip, LEFT, pos=far)
    QTest.mouseMove(grip, start)
    assert drags == [True]


def test_only_whole_takes_can_be_dragged(
    qtbot: QtBot, panel: TakesPanel, studio: Studio, gate: threading.Event
) -> None:
    studio.speech.speak(SPEAKER, (1,), "Ryan", play=False)
    [strip] = panel.strips
    assert not strip.findChildren(DragGrip)[0].isVisibleTo(strip)
    gate.set()
    qtbot.waitUntil(lambda: not studio.speech.live)
    assert strip.findChildren(DragGrip)[0].isVisibleTo(strip)


# Many


def test_two_hundred_takes_are_shown_a_page_at_a_time(
    qtbot: QtBot, panel: TakesPanel, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(200):
        take = Take(replace(SPEAKER, text=f"Line {number}"), 1, "Ryan", ending=TakeEnding.SPOKEN)
        studio.session._history = studio.session._history.everywhere(
            lambda session, take=take: session.with_take(take)  # type: ignore[misc]
        )
    asked: list[str] = []

    def buffer(take_id: str) -> TakeBuffer:
        asked.append(take_id)
        return sound

    sound = TakeBuffer.of(np.zeros(RATE, np.float32), RATE)
    monkeypatch.setattr(studio.session, "buffer", buffer)
    studio.session.changed.emit()
    assert len(panel.strips) == PAGE
    older = next(each for each in panel.findChildren(QPushButton) if each.isVisibleTo(panel))
    assert older.text() == f"Show {PAGE} older takes"
    kept = panel.strips
    for pages in range(2, 6):
        QTest.mouseClick(older, LEFT)
        assert len(panel.strips) == pages * PAGE
    assert panel.strips[:PAGE] == kept  # none was made anew
    assert not older.isVisibleTo(panel)
    made = panel.findChildren(TakeStrip)
    studio.session.star(studio.session.takes[0].id, True)
    assert panel.findChildren(TakeStrip) == made
    qtbot.waitUntil(lambda: len(with_sound(panel)) > 1)
    assert len(set(asked)) < 20


def with_sound(panel: TakesPanel) -> list[int]:
    """The places of the strips that hold sound."""
    return [
        place
        for place, strip in enumerate(panel.strips)
        if strip.findChildren(WaveformView)[0].source is not None
    ]


def test_only_strips_that_are_seen_hold_sound(
    qtbot: QtBot, panel: TakesPanel, studio: Studio
) -> None:
    for number in range(20):
        keep(studio, f"Line {number}", seconds=0.2)
    qtbot.waitUntil(lambda: 3 < len(with_sound(panel)) < 10)
    seen = len(with_sound(panel))
    assert with_sound(panel) == list(range(seen))
    bar = panel.findChildren(TakeList)[0].verticalScrollBar()
    bar.setValue(bar.maximum())
    assert with_sound(panel)[-1] == 19
    assert abs(len(with_sound(panel)) - seen) <= 1
    panel.resize(800, 800)
    qtbot.waitUntil(lambda: len(with_sound(panel)) > 12)
    panel.resize(800, 120)
    qtbot.waitUntil(lambda: len(with_sound(panel)) < seen)


def test_a_strip_shows_its_playhead_again_when_it_is_seen_again(
    qtbot: QtBot, panel: TakesPanel, studio: Studio
) -> None:
    for number in range(20):
        keep(studio, f"Line {number}", seconds=2)
    strip = panel.strips[0]
    qtbot.waitUntil(lambda: with_sound(panel)[:1] == [0])
    press(strip, "Play this take")
    qtbot.waitUntil(lambda: studio.sound.state.position > 2000)
    studio.sound.pause()
    qtbot.waitUntil(lambda: studio.sound.state.status is PlayerStatus.PAUSED)
    qtbot.waitUntil(lambda: offers(strip, "Play this take"))
    bar = panel.findChildren(TakeList)[0].verticalScrollBar()
    wave = strip.findChildren(WaveformView)[0]
    bar.setValue(bar.maximum())
    assert wave.source is None
    bar.setValue(0)
    assert wave.position == studio.sound.state.position


def test_every_control_of_a_strip_has_a_name_and_is_large_enough(
    panel: TakesPanel, studio: Studio
) -> None:
    keep(studio, "Line 1")
    [strip] = panel.strips
    assert strip.accessibleName() == "Take of Ryan: Line 1"
    for one in strip.findChildren(QToolButton):
        assert one.accessibleName()
        assert one.toolTip()
        assert min(one.width(), one.height()) >= TARGET


def test_states_are_idle_at_the_end(
    qtbot: QtBot, panel: TakesPanel, studio: Studio, loaded: FakeModels
) -> None:
    studio.speech.speak(SPEAKER, (1, 2), "Ryan")
    qtbot.waitUntil(lambda: studio.speech.state.phase is SpeechPhase.IDLE)
    assert not any(strip.is_live for strip in panel.strips)
