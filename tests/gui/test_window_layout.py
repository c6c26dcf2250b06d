"""What has to be seen in small windows is seen there, and nothing moves that need not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, Qt, QThreadPool
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QPushButton,
    QScrollArea,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.audio.take_buffer import TakeBuffer
from app.core.settings import Theme
from app.core.takes import Take, TakeEnding, TakeRequest
from app.studio.models import ModelStatus
from app.studio.speech_state import SpeechPhase
from app.studio.studio import Studio
from app.ui.banner import Notice, NoticeAction, Severity
from app.ui.live import LiveTimer
from app.ui.main_window import MainWindow
from app.ui.panel_folding import MARK
from app.ui.text_editor import SpeechEdit
from app.ui.theme import Appearance
from engine import Family
from tests.fakes import FakeModels, FakeOpener, Pace

LEFT = Qt.MouseButton.LeftButton
SIZES = ((925, 560), (1100, 700), (1280, 820))  # the first is a screen of 1400x900 at 150 %
NARROW, WIDE = SIZES[0], SIZES[2]
RATE = 24_000

Make = Callable[[tuple[int, int]], MainWindow]


@pytest.fixture
def make(
    qtbot: QtBot, theme: Appearance, studio: Studio, timer: LiveTimer, pool: QThreadPool
) -> Iterator[Make]:
    """Makes windows with two takes in a size, over the same studio."""
    studio.preferences.update(theme=Theme.DARK)
    for text in ("Older", "Newer"):
        take = Take(TakeRequest(text, Family.BASE), 1, "Anna", ending=TakeEnding.SPOKEN)
        studio.session.adopt(take.id, TakeBuffer.of(np.zeros(RATE, np.float32), RATE))
        studio.session.add(take)

    def made(size: tuple[int, int]) -> MainWindow:
        window = MainWindow(studio, theme, timer, pool)
        qtbot.addWidget(window)
        window.show()
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        window.resize(*size)  # now, for the screen of these tests is small
        settle()
        return window

    yield made
    studio.sound.stop()


def settle() -> None:
    """Let layouts find their places; some answer one another."""
    for _ in range(5):
        QApplication.processEvents()


def is_whole(widget: QWidget) -> bool:
    """Whether nothing of a widget is cut off or scrolled away."""
    return widget.isVisible() and widget.visibleRegion().boundingRect() == widget.rect()


def main_button(window: MainWindow) -> QAbstractButton:
    buttons = window.current_tab.box.findChildren(QPushButton)
    return next(one for one in buttons if one.accessibleName() in ("Speak", "Stop"))


def sideways(window: MainWindow) -> list[QScrollArea]:
    """What scrolls horizontally, or holds more than is seen without being able to."""
    found = []
    for area in window.findChildren(QScrollArea):
        inside = area.widget()
        if inside is not None and area.isVisible() and inside.width() > area.viewport().width():
            found.append(area)
    return found


def places(window: MainWindow) -> dict[QWidget, QRect]:
    """Where everything is in the window, but for its banner."""
    shown = [one for one in window.findChildren(QWidget) if one.isVisible()]
    own = [one for one in shown if one is window.banner or window.banner.isAncestorOf(one)]
    return {one: QRect(one.mapTo(window, QPoint()), one.size()) for one in shown if one not in own}


def has(window: MainWindow, dock: QWidget) -> bool:
    return bool(dock.isVisibleTo(window))


def button(window: MainWindow, text: str) -> QAbstractButton:
    """A button beside the tabs."""
    corner = window.tabs.cornerWidget(Qt.Corner.TopRightCorner)
    return next(one for one in corner.findChildren(QAbstractButton) if one.text() == text)


# What is seen


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("tab", [0, 1, 2])
@pytest.mark.parametrize("is_loaded", [False, True])
def test_text_button_and_two_takes_are_seen(
    make: Make,
    studio: Studio,
    model_files: FakeModels,
    qtbot: QtBot,
    size: tuple[int, int],
    tab: int,
    is_loaded: bool,
) -> None:
    window = make(size)
    if is_loaded:
        pairs = (model_files.base, model_files.custom_voice, model_files.voice_design)
        studio.models.load(pairs[tab])
        qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)
    window.tabs.setCurrentIndex(tab)
    settle()
    assert (window.width(), window.height()) == size
    assert is_whole(main_button(window))
    assert is_whole(window.current_tab.box.findChildren(SpeechEdit)[0])
    assert [is_whole(strip) for strip in window.takes.strips] == [True, True]
    assert sideways(window) == []


@pytest.mark.parametrize("size", SIZES)
def test_a_hint_and_a_missing_model_leave_the_button_in_view(
    make: Make, size: tuple[int, int]
) -> None:
    window = make(size)
    before = main_button(window).mapTo(window, QPoint())
    window.clone.box.tell("Choose a voice on the left first, or make a new one.")
    settle()
    assert is_whole(main_button(window))
    assert main_button(window).mapTo(window, QPoint()) == before


@pytest.mark.parametrize("size", SIZES)
def test_a_large_take_leaves_the_button_in_view(make: Make, size: tuple[int, int]) -> None:
    window = make(size)
    settle()
    before = window.panels.takes.height()
    window.takes.view_current()
    settle()
    assert window.viewer.isVisible()
    assert window.panels.takes.height() > before
    assert is_whole(main_button(window))
    window.viewer.close_take()
    settle()
    assert window.panels.takes.height() == before


def test_a_low_window_lends_height_from_the_takes(make: Make) -> None:
    window = make(WIDE)
    before = window.panels.takes.height()
    window.resize(*NARROW)
    settle()
    assert window.panels.takes.height() < before
    window.resize(*WIDE)
    settle()
    assert window.panels.takes.height() == before


def test_the_window_does_not_reach_beyond_the_screen(
    qtbot: QtBot, theme: Appearance, studio: Studio, timer: LiveTimer, pool: QThreadPool
) -> None:
    window = MainWindow(studio, theme, timer, pool)
    qtbot.addWidget(window)
    room = window.screen().availableGeometry()
    window.setGeometry(200, 200, room.width() + 100, room.height() + 100)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.waitUntil(lambda: room.contains(window.frameGeometry()))


# Panels at the sides


def test_a_narrow_window_shows_one_panel_at_a_time(make: Make, qtbot: QtBot) -> None:
    window = make(NARROW)
    voices, settings = window.panels.voices, window.panels.settings
    assert (has(window, voices), has(window, settings)) == (True, False)
    QTest.mouseClick(button(window, "Settings"), LEFT)
    assert (has(window, voices), has(window, settings)) == (False, True)
    QTest.mouseClick(button(window, "Settings"), LEFT)
    assert (has(window, voices), has(window, settings)) == (True, False)
    QTest.mouseClick(button(window, "Settings"), LEFT)
    window.panels.show_voices()
    assert (has(window, voices), has(window, settings)) == (True, False)
    window.resize(*WIDE)
    settle()
    assert (has(window, voices), has(window, settings)) == (True, True)
    assert not button(window, "Settings").isVisible()


def test_what_was_closed_stays_closed_in_a_wide_window(make: Make) -> None:
    window = make(WIDE)
    window.panels.settings.toggleViewAction().trigger()
    for size in (NARROW, WIDE):
        window.resize(*size)
        settle()
        assert not has(window, window.panels.settings)
    window.keys["new-panels"].trigger()
    assert has(window, window.panels.settings)


def test_what_was_away_for_want_of_room_comes_back_at_the_next_start(make: Make) -> None:
    narrow = make(NARROW)
    state = narrow.panels.state
    assert state.split(MARK)[1:] == ["settings"]
    wide = make(WIDE)
    wide.panels.restore(state)
    wide.resize(WIDE[0], WIDE[1] - 1)
    settle()
    assert has(wide, wide.panels.settings)
    assert MARK not in wide.panels.state


# Nothing moves


@pytest.mark.parametrize("size", SIZES)
def test_a_notice_moves_nothing(make: Make, size: tuple[int, int]) -> None:
    window = make(size)
    before = places(window)
    window.banner.tell(Notice(Severity.ERROR, "The disk is full.", "Make room.", "errno 28"))
    settle()
    assert is_whole(window.banner)
    assert places(window) == before
    window.banner.dismiss()
    settle()
    assert places(window) == before


def test_a_notice_hides_nothing_that_has_the_focus(make: Make) -> None:
    window = make(NARROW)
    window.banner.tell(Notice(Severity.ERROR, "The disk is full.", "Make room."))
    strip = window.takes.strips[-1]
    for focused in (window.clone.box, strip, window.clone.box, window.voices):
        focused.setFocus()
        settle()
        focus = QApplication.focusWidget()
        assert focus is not None
        there = QRect(focus.mapTo(window, QPoint()), focus.size())
        banner = QRect(window.banner.mapTo(window, QPoint()), window.banner.size())
        assert not banner.intersects(there)


def test_a_click_meant_for_something_else_does_not_hit_a_notice(make: Make, qtbot: QtBot) -> None:
    window = make(WIDE)
    done: list[str] = []
    action = NoticeAction("Undo", lambda: done.append("undone"))
    window.banner.tell(Notice(Severity.ERROR, "The take is gone.", action=action))
    settle()
    buttons = window.banner.findChildren(QPushButton)
    undo = next((one for one in buttons if one.text() == "Undo"), None)
    assert undo is not None, [label.text() for label in window.banner.findChildren(QLabel)]
    spot = undo.mapTo(window, undo.rect().center())
    assert window.childAt(spot) is window.banner
    qtbot.waitUntil(lambda: window.childAt(spot) is undo)
    undo.click()
    assert done == ["undone"]


@pytest.mark.parametrize("size", SIZES)
def test_the_settings_stay_where_they_are_when_more_is_unfolded(
    make: Make, size: tuple[int, int]
) -> None:
    window = make(size)
    window.settings.set_unfolded(False)
    window.panels.settings.toggleViewAction().trigger()
    window.panels.settings.show()
    settle()
    boxes = [one for one in window.settings.findChildren(QComboBox) if one.isVisible()]
    before = {one: QRect(one.mapTo(window, QPoint()), one.size()) for one in boxes}
    window.settings.set_unfolded(True)
    settle()
    assert {one: QRect(one.mapTo(window, QPoint()), one.size()) for one in boxes} == before
    assert sideways(window) == []


# Speak and Stop


def test_the_main_button_stops_while_something_is_spoken(
    make: Make, studio: Studio, model_files: FakeModels, opener: FakeOpener, qtbot: QtBot
) -> None:
    opener.pace = Pace(frame_seconds=0.02, frames=2000)
    window = make(WIDE)
    studio.models.load(model_files.custom_voice)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)
    draft = replace(studio.session.draft("speakers"), text="Good morning.", speaker="ryan")
    studio.session.set_draft("speakers", draft)
    window.tabs.setCurrentIndex(1)
    settle()
    speak = main_button(window)
    place = QRect(speak.pos(), speak.size())
    assert speak.text().startswith("Speak")
    QTest.mouseClick(speak, LEFT)
    QTest.mouseDClick(speak, LEFT)  # the second half of a double-click stops nothing
    assert (speak.accessibleName(), speak.text()) == ("Stop", "Stop  (Esc)")
    settle()
    assert QRect(speak.pos(), speak.size()) == place
    qtbot.waitUntil(lambda: studio.speech.state.made > 0)
    assert all(tab.box.findChildren(QPushButton) for tab in (window.clone, window.design))
    QTest.mouseClick(speak, LEFT)
    qtbot.waitUntil(lambda: studio.speech.state.phase is SpeechPhase.IDLE)
    assert studio.session.takes[0].ending is TakeEnding.STOPPED
    assert speak.text().startswith("Speak")
    assert speak.isEnabled()
