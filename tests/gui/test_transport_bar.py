"""The transport: what plays, where it is, and how it is changed."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QSlider, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from app.audio.player_state import PlayerState, PlayerStatus
from app.audio.take_buffer import TakeBuffer
from app.core.takes import Take, TakeEnding, TakeRequest
from app.studio.studio import Studio
from app.ui.meter import MeterView
from app.ui.metrics import TARGET
from app.ui.theme import Appearance
from app.ui.transport_bar import NOTHING, TransportBar
from engine import Family

RATE = 24_000
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def bar(qtbot: QtBot, theme: Appearance, studio: Studio) -> TransportBar:
    made = TransportBar(studio)
    qtbot.addWidget(made)
    made.resize(1100, 48)
    made.show()
    return made


def button(bar: TransportBar, name: str) -> QToolButton:
    return next(
        each
        for each in bar.findChildren(QToolButton)
        if each.accessibleName() == name and each.isVisibleTo(bar)
    )


def has_button(bar: TransportBar, name: str) -> bool:
    return any(each.accessibleName() == name for each in bar.findChildren(QToolButton))


def words(bar: TransportBar) -> set[str]:
    return {label.text() for label in bar.findChildren(QLabel) if label.isVisibleTo(bar)}


def sound(seconds: float) -> TakeBuffer:
    wave = 0.5 * np.sin(np.arange(round(seconds * RATE)) * 0.1)
    return TakeBuffer.of(wave.astype(np.float32), RATE)


def take(text: str) -> Take:
    request = TakeRequest(text, Family.BASE)
    return Take(request, 1, "Anna", ending=TakeEnding.SPOKEN, seconds=1.0)


def test_with_nothing_to_play_it_says_so(bar: TransportBar) -> None:
    assert NOTHING in words(bar)
    for name in ("Play", "Stop and go back to the beginning", "Repeat (L)"):
        assert not button(bar, name).isEnabled()


def test_playing_moves_the_numbers_and_the_meter(
    qtbot: QtBot, bar: TransportBar, studio: Studio
) -> None:
    studio.sound.play("clone", sound(30.0))
    meter = bar.findChildren(MeterView)[0]
    qtbot.waitUntil(lambda: meter.peak > -20)
    qtbot.waitUntil(lambda: not any(text.startswith("0:00.0 /") for text in words(bar)))
    assert any(text.endswith("/ 0:30.0") for text in words(bar))
    assert "New recording" in words(bar)
    QTest.mouseClick(button(bar, "Pause"), LEFT)
    qtbot.waitUntil(lambda: studio.sound.state.status is PlayerStatus.PAUSED)
    qtbot.waitUntil(lambda: has_button(bar, "Play"))
    assert meter.peak == -np.inf
    QTest.mouseClick(button(bar, "Stop and go back to the beginning"), LEFT)
    qtbot.waitUntil(lambda: "0:00.0 / 0:30.0" in words(bar))


def test_play_without_a_choice_plays_the_newest_take(
    qtbot: QtBot, bar: TransportBar, studio: Studio
) -> None:
    for text in ("Older", "Newer"):
        made = take(text)
        studio.session.adopt(made.id, sound(20.0))
        studio.session.add(made)
    QTest.mouseClick(button(bar, "Play"), LEFT)
    assert studio.sound.playing_key == studio.session.takes[0].id
    qtbot.waitUntil(lambda: "Anna: Newer" in words(bar))


def test_loop_repeats_all_of_it(qtbot: QtBot, bar: TransportBar, studio: Studio) -> None:
    studio.sound.load("clone", sound(2.0))
    qtbot.waitUntil(lambda: button(bar, "Repeat (L)").isEnabled())
    QTest.mouseClick(button(bar, "Repeat (L)"), LEFT)
    qtbot.waitUntil(lambda: studio.sound.state.loop == (0, 2 * RATE))
    qtbot.waitUntil(lambda: button(bar, "Repeat (L)").isChecked())
    bar.toggle_loop()
    qtbot.waitUntil(lambda: studio.sound.state.loop is None)
    qtbot.waitUntil(lambda: not button(bar, "Repeat (L)").isChecked())


@pytest.mark.parametrize(
    ("starts_in", "sentence"), [(3.2, "Starts in 3 s"), (0.2, "Starts in 1 s"), (None, "Waiting")]
)
def test_it_says_when_a_slow_take_will_start(
    bar: TransportBar, studio: Studio, starts_in: float | None, sentence: str
) -> None:
    growing = TakeBuffer(RATE)
    growing.append(np.zeros(RATE, np.float32))
    studio.sound.moved.emit(PlayerState(PlayerStatus.WAITING, growing, starts_in=starts_in))
    assert any(text.startswith(sentence) for text in words(bar))
    assert "0:00.0 / 0:01.0+" in words(bar)  # more is to come
    assert button(bar, "Pause").isEnabled()


def test_volume_is_applied_and_remembered(
    qtbot: QtBot, theme: Appearance, bar: TransportBar, studio: Studio
) -> None:
    bar.findChildren(QSlider)[0].setValue(-6)
    expected = pytest.approx(10 ** (-6 / 20))
    assert studio.preferences.settings.volume == expected
    qtbot.waitUntil(lambda: studio.sound.state.gain == expected)
    again = TransportBar(studio)
    qtbot.addWidget(again)
    assert again.findChildren(QSlider)[0].value() == -6


def test_outputs_are_listed_and_chosen(qtbot: QtBot, bar: TransportBar, studio: Studio) -> None:
    studio.sound.look_for_devices()
    combo = next(each for each in bar.findChildren(QComboBox))
    qtbot.waitUntil(lambda: combo.count() > 1)
    device = studio.sound.outputs[0]
    combo.setCurrentIndex(1)
    combo.activated.emit(1)
    assert studio.preferences.settings.output_device == device.id
    combo.setCurrentIndex(0)
    combo.activated.emit(0)
    assert studio.preferences.settings.output_device == ""


def test_all_of_it_fits_a_small_window_and_is_named(bar: TransportBar) -> None:
    assert bar.minimumSizeHint().width() <= 800
    controls: list[QWidget] = [*bar.findChildren(QAbstractButton), *bar.findChildren(QSlider)]
    for control in controls:
        assert control.accessibleName()
        assert control.height() >= TARGET - 2
