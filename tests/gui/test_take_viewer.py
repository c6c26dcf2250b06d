"""One take large: looked at closely, a part repeated, and back to the strips by keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt, QThreadPool
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from app.audio.player_state import PlayerStatus
from app.audio.take_buffer import TakeBuffer
from app.core.takes import Take, TakeEnding, TakeRequest
from app.studio.studio import Studio
from app.ui.live import LiveTimer
from app.ui.main_window import MainWindow
from app.ui.take_strip import TakeStrip
from app.ui.theme import Appearance
from app.ui.waveform import WaveformView
from engine import Family

RATE = 24_000
LENGTH = 20 * RATE


@pytest.fixture
def window(
    qtbot: QtBot, theme: Appearance, studio: Studio, timer: LiveTimer, pool: QThreadPool
) -> Iterator[MainWindow]:
    for text in ("Older", "Newer"):
        made = Take(TakeRequest(text, Family.BASE), 1, "Anna", ending=TakeEnding.SPOKEN)
        wave = 0.5 * np.sin(np.arange(LENGTH) * 0.1)
        studio.session.adopt(made.id, TakeBuffer.of(wave.astype(np.float32), RATE))
        studio.session.add(made)
    window = MainWindow(studio, theme, timer, pool)
    qtbot.addWidget(window)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    yield window
    studio.sound.stop()


def strip(window: MainWindow, label: str) -> TakeStrip:
    return next(each for each in window.takes.strips if each.take.label == label)


def wave(window: MainWindow) -> WaveformView:
    return window.viewer.findChildren(WaveformView)[0]


def press(window: MainWindow, *keys: Qt.Key) -> None:
    """Press keys at what has the focus."""
    for key in keys:
        QTest.keyClick(window.focusWidget(), key)


def opened(window: MainWindow, label: str = "Newer") -> TakeStrip:
    """Show a take large as the keyboard does."""
    chosen = strip(window, label)
    chosen.setFocus()
    press(window, Qt.Key.Key_Return)
    return chosen


def test_return_shows_a_take_large_and_small_again(window: MainWindow) -> None:
    assert not window.viewer.isVisible()
    chosen = opened(window)
    assert window.viewer.isVisible()
    assert window.focusWidget() is wave(window)
    assert wave(window).source is window._studio.session.buffer(chosen.take.id)
    press(window, Qt.Key.Key_Return)
    assert not window.viewer.isVisible()
    assert wave(window).source is None
    assert window.focusWidget() is chosen


def test_a_double_click_on_the_waveform_of_a_strip_shows_it_large(window: MainWindow) -> None:
    small = strip(window, "Older").findChildren(WaveformView)[0]
    QTest.mouseDClick(small, Qt.MouseButton.LeftButton, pos=QPoint(20, 10))
    assert window.viewer.take_id == strip(window, "Older").take.id


def test_it_follows_the_chosen_take_while_it_is_open(window: MainWindow, studio: Studio) -> None:
    strip(window, "Newer").setFocus()
    assert window.viewer.take_id == ""
    opened(window, "Newer")
    strip(window, "Older").setFocus()
    assert window.viewer.take_id == strip(window, "Older").take.id
    studio.session.delete(window.viewer.take_id)
    assert window.viewer.take_id == strip(window, "Newer").take.id
    studio.session.delete(window.viewer.take_id)
    assert not window.viewer.isVisible()


def test_a_chosen_part_is_repeated_and_l_turns_that_off_and_on(
    qtbot: QtBot, window: MainWindow, studio: Studio
) -> None:
    opened(window)
    view, sound = wave(window), studio.sound
    press(window, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_BracketLeft)
    press(window, Qt.Key.Key_Right, Qt.Key.Key_BracketRight)
    chosen = view.range
    assert chosen is not None
    assert 0 < chosen.start < chosen.end < LENGTH
    part = (chosen.start, chosen.end)
    press(window, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: sound.state.status is PlayerStatus.PLAYING)
    assert sound.playing_key == window.viewer.take_id
    qtbot.waitUntil(lambda: sound.state.loop == part)
    qtbot.waitUntil(lambda: part[0] <= sound.state.position < part[1])  # it stood at its end
    press(window, Qt.Key.Key_L)
    qtbot.waitUntil(lambda: sound.state.loop is None)
    assert view.range == chosen
    press(window, Qt.Key.Key_L)
    qtbot.waitUntil(lambda: sound.state.loop == part)
    press(window, Qt.Key.Key_Backslash)
    qtbot.waitUntil(lambda: sound.state.loop is None)
    assert view.range is None


def test_a_part_that_is_repeated_is_shown_when_it_is_opened_again(
    qtbot: QtBot, window: MainWindow, studio: Studio
) -> None:
    chosen = strip(window, "Newer")
    studio.sound.play(chosen.take.id, studio.session.buffer(chosen.take.id))
    studio.sound.set_loop((RATE, 2 * RATE))
    qtbot.waitUntil(lambda: studio.sound.state.loop is not None)
    opened(window)
    shown = wave(window).range
    assert shown is not None
    assert (shown.start, shown.end) == (RATE, 2 * RATE)


def test_a_growing_take_is_zoomed_and_seen_as_spectrogram(
    window: MainWindow, studio: Studio, qtbot: QtBot
) -> None:
    growing = TakeBuffer(RATE)
    growing.append(np.full(RATE, 0.1, np.float32))
    take = strip(window, "Newer").take
    studio.session.drop(take.id)
    studio.session.adopt(take.id, growing)
    opened(window)
    view = wave(window)
    assert view.source is growing
    buttons = {each.accessibleName(): each for each in window.viewer.findChildren(QToolButton)}
    whole = view.view.span
    buttons["Zoom in (+)"].click()
    assert view.view.span < whole
    buttons["Show all of it (0)"].click()
    growing.append(np.full(RATE, 0.1, np.float32))
    qtbot.waitUntil(lambda: view.view.span == 2 * RATE)
    buttons["Show the spectrogram"].click()
    assert view.shows_spectrogram
    growing.finish()


def test_a_click_moves_the_playhead_without_ending_what_else_plays(
    qtbot: QtBot, window: MainWindow, studio: Studio
) -> None:
    other = strip(window, "Older").take
    opened(window, "Newer")
    studio.sound.play(other.id, studio.session.buffer(other.id))
    qtbot.waitUntil(lambda: studio.sound.state.status is PlayerStatus.PLAYING)
    press(window, Qt.Key.Key_End)
    assert studio.sound.playing_key == other.id
    studio.sound.stop()
    qtbot.waitUntil(lambda: not studio.sound.is_sounding)
    press(window, Qt.Key.Key_Home, Qt.Key.Key_Right)
    assert studio.sound.playing_key == window.viewer.take_id
    position = wave(window).position
    qtbot.waitUntil(lambda: studio.sound.state.position == position)
