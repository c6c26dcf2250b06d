"""The meter shows levels where the scale says, falls back, and remembers clipping."""

from __future__ import annotations

import math

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QColor, QImage, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMainWindow
from pytestqt.qtbot import QtBot

from app.audio.levels import Levels
from app.ui.colours import DARK
from app.ui.meter import FALL, MeterView
from app.ui.theme import Appearance

LEFT = Qt.MouseButton.LeftButton
NO_MODIFIER = Qt.KeyboardModifier.NoModifier
WIDTH, BAR_WIDTH = 350, 300
BAR_Y = 10


def amplitude(decibels: float) -> float:
    return float(10 ** (decibels / 20))


@pytest.fixture
def meter(qtbot: QtBot, theme: Appearance) -> MeterView:
    made = MeterView()
    qtbot.addWidget(made)
    made.resize(WIDTH, made.sizeHint().height())
    made.show()
    return made


def filled(image: QImage, colour: str) -> list[int]:
    """Where along the bar that colour is."""
    return [x for x in range(BAR_WIDTH) if image.pixelColor(x, BAR_Y).name() == colour]


def test_rms_and_held_peak_stand_at_their_level(meter: MeterView) -> None:
    meter.show_levels(Levels(amplitude(-20), amplitude(-30), amplitude(-15)))
    image = meter.grab().toImage()
    assert max(filled(image, DARK.good)) == pytest.approx(BAR_WIDTH / 2, abs=1)
    held = filled(image, DARK.text)
    assert held[0] == pytest.approx(BAR_WIDTH * 45 / 60, abs=2)
    assert filled(image, DARK.danger) == []


def test_loud_parts_change_their_colour(meter: MeterView) -> None:
    meter.show_levels(Levels(1.0, amplitude(-1), 0.0))
    image = meter.grab().toImage()
    for colour, start, end in ((DARK.good, 0, 48), (DARK.warning, 48, 57), (DARK.danger, 57, 59)):
        places = filled(image, colour)
        assert min(places) == pytest.approx(start / 60 * BAR_WIDTH, abs=4)
        assert max(places) == pytest.approx(end / 60 * BAR_WIDTH, abs=2)


def test_the_bar_rises_at_once_and_falls_slowly(meter: MeterView) -> None:
    meter.show_levels(Levels(amplitude(-6), 0.0, 0.0))
    assert meter.peak == pytest.approx(-6)
    meter.show_levels(Levels(0.0, 0.0, 0.0), seconds=0.5)
    assert meter.peak == pytest.approx(-6 - FALL / 2)
    meter.show_levels(Levels(amplitude(-9), 0.0, 0.0), seconds=0.5)
    assert meter.peak == pytest.approx(-9)
    for _ in range(10):
        meter.show_levels(Levels(0.0, 0.0, 0.0), seconds=0.5)
    assert meter.peak == -math.inf


def test_the_noise_floor_is_marked(meter: MeterView) -> None:
    assert filled(meter.grab().toImage(), DARK.info) == []
    meter.set_noise_floor(amplitude(-48))
    places = filled(meter.grab().toImage(), DARK.info)
    assert places[0] == pytest.approx(BAR_WIDTH * 12 / 60, abs=2)
    meter.set_noise_floor(None)
    assert filled(meter.grab().toImage(), DARK.info) == []


def test_the_lamp_stays_lit_until_it_is_clicked(meter: MeterView, qtbot: QtBot) -> None:
    lamp = QPoint(WIDTH - 36, 4)

    def colour() -> QColor:
        return meter.grab().toImage().pixelColor(lamp)

    assert colour().name() != DARK.danger
    with qtbot.assertNotEmitted(meter.clip_reset):
        meter.set_clipped(True)
    meter.show_levels(Levels(0.0, 0.0, 0.0), seconds=60)
    meter.clear()
    assert colour().name() == DARK.danger
    assert "too loud" in meter.accessibleDescription()
    with qtbot.assertNotEmitted(meter.clip_reset):
        QTest.mouseClick(meter, LEFT, NO_MODIFIER, QPoint(20, 8))
    with qtbot.waitSignal(meter.clip_reset):
        QTest.mouseClick(meter, LEFT, NO_MODIFIER, lamp)
    assert not meter.has_clipped
    assert colour().name() != DARK.danger
    with qtbot.assertNotEmitted(meter.clip_reset):
        QTest.mouseClick(meter, LEFT, NO_MODIFIER, lamp)


def test_space_resets_the_lamp_even_where_it_plays(theme: Appearance, qtbot: QtBot) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    meter = MeterView(parent=window)
    window.setCentralWidget(meter)
    play = QAction(window)
    play.setShortcut(QKeySequence("Space"))
    window.addAction(play)
    window.show()
    qtbot.waitUntil(window.isActiveWindow)
    meter.setFocus()
    meter.set_clipped(True)
    with qtbot.assertNotEmitted(play.triggered), qtbot.waitSignal(meter.clip_reset):
        QTest.keyClick(meter, Qt.Key.Key_Space)


def test_upright_meters_fill_from_below(theme: Appearance, qtbot: QtBot) -> None:
    meter = MeterView(Qt.Orientation.Vertical)
    qtbot.addWidget(meter)
    meter.resize(meter.sizeHint().width(), 328)
    meter.show_levels(Levels(amplitude(-30), amplitude(-30), 0.0))
    image = meter.grab().toImage()
    rows = [y for y in range(328) if image.pixelColor(6, y).name() == DARK.good]
    assert max(rows) == pytest.approx(325, abs=3)
    assert min(rows) == pytest.approx(176, abs=2)  # half of the bar between 26 and 326
    QTest.mouseClick(meter, LEFT, NO_MODIFIER, QPoint(10, 8))


def test_a_bar_for_lists_takes_no_focus(theme: Appearance, qtbot: QtBot) -> None:
    meter = MeterView(compact=True)
    qtbot.addWidget(meter)
    meter.resize(100, 8)
    meter.show_levels(Levels(amplitude(-30), amplitude(-30), 0.0))
    image = meter.grab().toImage()
    assert image.pixelColor(25, 4).name() == DARK.good
    assert image.pixelColor(75, 4).name() != DARK.good
    assert meter.focusPolicy() == Qt.FocusPolicy.NoFocus
