"""The segmented switch, and the wheel that must not change what it passes over."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QSpinBox, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.ui.segments import SegmentedSwitch
from app.ui.theme import Appearance
from app.ui.wheel_guard import WheelGuard

SEGMENTS = (("a", "First"), ("b", "Second"), ("c", "Third"))


@pytest.fixture
def switch(qtbot: QtBot, theme: Appearance) -> SegmentedSwitch:
    made = SegmentedSwitch("Which one", SEGMENTS)
    qtbot.addWidget(made)
    made.show()
    return made


def buttons(switch: SegmentedSwitch) -> list[QPushButton]:
    return switch.findChildren(QPushButton)


def test_the_first_segment_is_chosen(switch: SegmentedSwitch) -> None:
    assert switch.current == "a"
    assert [button.isChecked() for button in buttons(switch)] == [True, False, False]
    assert switch.accessibleName() == "Which one"


def test_a_click_chooses_and_is_told_once(switch: SegmentedSwitch) -> None:
    told: list[str] = []
    switch.chosen.connect(told.append)
    QTest.mouseClick(buttons(switch)[2], Qt.MouseButton.LeftButton)
    assert (switch.current, told) == ("c", ["c"])


def test_choosing_by_program_is_not_told(switch: SegmentedSwitch) -> None:
    told: list[str] = []
    switch.chosen.connect(told.append)
    switch.choose("b")
    assert (switch.current, told) == ("b", [])


def test_tab_goes_to_the_chosen_one_and_arrows_go_on(switch: SegmentedSwitch) -> None:
    tab_stops = [b for b in buttons(switch) if b.focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert [button.text() for button in tab_stops] == ["First"]
    switch.setFocus()
    told: list[str] = []
    switch.chosen.connect(told.append)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Left):
        focused = QApplication.focusWidget()
        assert focused is not None
        QTest.keyClick(focused, key)
    assert told == ["b", "c", "b"]
    assert QApplication.focusWidget() is buttons(switch)[1]


def test_the_focus_stays_with_what_is_chosen(switch: SegmentedSwitch) -> None:
    buttons(switch)[0].setFocus()
    switch.choose("c")
    assert buttons(switch)[2].hasFocus()


def turn_wheel(widget: QWidget) -> None:
    middle = QPointF(widget.rect().center())
    event = QWheelEvent(
        middle,
        widget.mapToGlobal(middle),
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, event)


def test_the_wheel_changes_only_what_has_the_focus(qtbot: QtBot, theme: Appearance) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    layout = QVBoxLayout(page)
    first, second = QSpinBox(page), QSpinBox(page)
    guard = WheelGuard(page)
    for box in (first, second):
        layout.addWidget(box)
        guard.guard(box)
    page.show()
    first.setFocus()
    qtbot.waitUntil(first.hasFocus)
    for box in (first, second):
        turn_wheel(box)
    assert (first.value(), second.value()) == (1, 0)
    assert second.focusPolicy() == Qt.FocusPolicy.StrongFocus
