"""Trimming: what is chosen, heard and mended of a recording."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.core.reference import Fix
from app.studio.studio import Studio
from app.ui.clone_tab import CloneTab
from app.ui.step_panel import StepPanel
from app.ui.trim_panel import KEY, TrimPanel
from app.ui.waveform import WaveformView
from tests.clone_steps import LEFT, RATE, button, part, press, words


def test_a_file_shows_its_name_and_its_report(opened: CloneTab) -> None:
    shown = words(opened)
    assert "anna.wav, 6.0 s, 24 kHz" in shown
    assert "All of it, 6.0 s" in shown
    assert "Length" in shown
    assert opened.findChildren(StepPanel)[0].is_done


def test_a_suggestion_that_is_everything_is_in_use_already(
    opened: CloneTab, studio: Studio
) -> None:
    panel = part(opened, TrimPanel)
    assert isinstance(panel, TrimPanel)
    state = studio.cloning.state
    assert state.buffer is not None
    for end, is_other in ((state.buffer.length, False), (state.buffer.length - 1, True)):
        panel.show_state(replace(state, range=None, suggestion=(0, end)))
        assert button(opened, "Use the suggestion").isEnabled() is is_other


def test_the_suggestion_is_used_and_left_again(opened: CloneTab, studio: Studio) -> None:
    suggestion = studio.cloning.state.suggestion
    assert suggestion is not None
    press(opened, "Use the suggestion")
    assert studio.cloning.state.range == tuple(suggestion)
    wave = part(opened, WaveformView)
    assert isinstance(wave, WaveformView)
    assert wave.range is not None
    assert (wave.range.start, wave.range.end) == tuple(suggestion)
    assert not button(opened, "Use the suggestion").isEnabled()
    press(opened, "Use all of it")
    assert studio.cloning.state.range is None
    assert wave.range is None


def test_the_range_is_chosen_by_keyboard(opened: CloneTab, studio: Studio) -> None:
    wave = part(opened, WaveformView)
    wave.setFocus()
    for _ in range(5):
        QTest.keyClick(wave, Qt.Key.Key_Right)
    QTest.keyClick(wave, Qt.Key.Key_BracketLeft)
    chosen = studio.cloning.state.range
    assert chosen is not None
    assert chosen[0] == pytest.approx(0.6 * RATE, abs=RATE / 50)
    QTest.keyClick(wave, Qt.Key.Key_Backslash)
    assert studio.cloning.state.range is None


def test_what_is_heard_is_what_becomes_the_voice(
    opened: CloneTab, studio: Studio, qtbot: QtBot
) -> None:
    studio.cloning.set_range(RATE, 2 * RATE)
    tail = part(opened, QWidget, "Silence behind it, in seconds")
    tail.setProperty("value", 0.5)
    assert studio.cloning.state.tail_seconds == 0.5
    press(opened, "Play selection")
    qtbot.waitUntil(lambda: studio.sound.is_sounding)
    heard = studio.sound.state.take
    assert studio.sound.playing_key == KEY
    assert heard is not None
    assert heard.length == 1.5 * RATE
    assert heard.read(0, 1)[0] == pytest.approx(0, abs=1e-3)  # faded in
    wave = part(opened, WaveformView)
    assert isinstance(wave, WaveformView)
    qtbot.waitUntil(lambda: wave.position is not None and wave.position > RATE)
    press(opened, "Pause")
    qtbot.waitUntil(lambda: not studio.sound.is_sounding)


def test_another_range_makes_the_player_let_go(
    opened: CloneTab, studio: Studio, qtbot: QtBot
) -> None:
    press(opened, "Play selection")
    qtbot.waitUntil(lambda: studio.sound.is_sounding)
    studio.cloning.set_range(0, RATE)
    assert studio.sound.playing_key == ""
    qtbot.waitUntil(lambda: not studio.sound.is_sounding)


def test_a_click_outside_the_range_is_heard_too(opened: CloneTab, studio: Studio) -> None:
    studio.cloning.set_range(RATE, 2 * RATE)
    wave = part(opened, WaveformView)
    assert isinstance(wave, WaveformView)
    wave.seek_requested.emit(4 * RATE)
    assert studio.sound.playing_key == KEY


def test_a_click_does_not_end_a_take_that_plays(
    opened: CloneTab, studio: Studio, qtbot: QtBot
) -> None:
    buffer = studio.cloning.state.buffer
    assert buffer is not None
    studio.sound.play("take", buffer)
    qtbot.waitUntil(lambda: studio.sound.is_sounding)
    wave = part(opened, WaveformView)
    assert isinstance(wave, WaveformView)
    wave.seek_requested.emit(RATE)
    assert studio.sound.playing_key == "take"


def test_a_quiet_clip_is_mended_and_taken_back(
    opened: CloneTab, studio: Studio, qtbot: QtBot
) -> None:
    assert Fix.TRIM_SILENCE in studio.cloning.state.fixes
    press(opened, "Trim ends")
    qtbot.waitUntil(lambda: Fix.TRIM_SILENCE in studio.cloning.state.applied)
    assert studio.background.flush()
    undo = next(
        one
        for one in opened.findChildren(QPushButton)
        if one.text() == "Undo" and "Speech" in one.accessibleName()
    )
    QTest.mouseClick(undo, LEFT)
    qtbot.waitUntil(lambda: Fix.TRIM_SILENCE not in studio.cloning.state.applied)


def test_the_view_stays_when_the_level_is_set(
    opened: CloneTab, studio: Studio, qtbot: QtBot
) -> None:
    wave = part(opened, WaveformView)
    assert isinstance(wave, WaveformView)
    wave.zoom(4)
    before, view = wave.source, wave.view
    press(opened, "Set level")
    qtbot.waitUntil(lambda: wave.source is not before)
    assert wave.view == view
