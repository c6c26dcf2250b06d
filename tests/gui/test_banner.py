"""Notices are told one after the other, and can be acted upon, unfolded, copied and closed."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QPlainTextEdit
from pytestqt.qtbot import QtBot

from app.core.settings import Theme
from app.ui.banner import Banner, Notice, NoticeAction, Severity
from app.ui.colours import DARK, LIGHT
from app.ui.theme import Appearance
from engine.errors import DeviceError

FULL = Notice(Severity.ERROR, "The disk is full.", "Make room.", "errno 28")
INFO = Notice(Severity.INFO, "The voice was saved.")
WARNING = Notice(Severity.WARNING, "The text is long.", "Cut it.")


@pytest.fixture
def banner(qtbot: QtBot, theme: Appearance) -> Banner:
    made = Banner()
    qtbot.addWidget(made)
    made.resize(800, 100)
    return made


def words(banner: Banner) -> list[str]:
    return [label.text() for label in banner.findChildren(QLabel) if label.isVisible()]


def button(banner: Banner, text: str) -> QAbstractButton:
    buttons = banner.findChildren(QAbstractButton)
    return next(one for one in buttons if text in (one.text(), one.accessibleName()))


def test_nothing_takes_no_room(banner: Banner) -> None:
    assert banner.isHidden()
    assert not banner.dismiss()


def test_a_notice_says_all_it_has(banner: Banner) -> None:
    banner.tell(FULL)
    assert banner.isVisible()
    assert {"The disk is full.", "Make room."} <= set(words(banner))
    assert banner.accessibleName() == "Problem: The disk is full. Make room."
    assert not button(banner, "Copy details").isVisible()


def test_names_cannot_disguise_what_a_notice_says(banner: Banner) -> None:
    detail = "first\nsec\u202eond"
    banner.tell(Notice(Severity.ERROR, "gnp\u202e.exe\nis damaged.", "Look\tat it.", detail))
    assert {"gnp\\u202e.exe\\nis damaged.", "Look\\tat it."} <= set(words(banner))
    assert "\u202e" not in banner.accessibleName()
    shown = banner.findChild(QPlainTextEdit)
    assert shown is not None
    assert shown.toPlainText() == "first\nsec\\u202eond"


def test_an_error_becomes_a_notice() -> None:
    notice = Notice.of(DeviceError("No GPU.", "Use the CPU.", "cuda"))
    assert notice == Notice(Severity.ERROR, "No GPU.", "Use the CPU.", "cuda")


def test_details_unfold_and_are_copied(banner: Banner) -> None:
    banner.tell(FULL)
    detail = banner.findChild(QPlainTextEdit)
    assert detail is not None
    assert not detail.isVisible()
    button(banner, "Details").click()
    assert detail.isVisible()
    assert detail.toPlainText() == "errno 28"
    button(banner, "Copy details").click()
    assert QGuiApplication.clipboard().text() == "The disk is full.\nMake room.\nerrno 28"
    banner.tell(WARNING)
    banner.dismiss()
    assert not detail.isVisible()
    assert not button(banner, "Details").isVisible()


def test_notices_wait_for_their_turn(banner: Banner, qtbot: QtBot) -> None:
    for notice in (FULL, INFO, WARNING, INFO, FULL):  # twice the same is told once
        banner.tell(notice)
    assert banner.notice == FULL
    assert banner.waiting == 2
    assert "2 more" in words(banner)
    for closed, shown in ((FULL, INFO), (INFO, WARNING), (WARNING, None)):
        with qtbot.waitSignal(banner.closed) as signal:
            assert banner.dismiss()
        assert signal.args == [closed]
        assert banner.notice == shown
    assert banner.isHidden()


def test_problems_come_first(banner: Banner) -> None:
    banner.tell(INFO)
    banner.tell(FULL)
    assert banner.notice == FULL
    banner.dismiss()
    assert banner.notice == INFO


def test_a_notice_can_be_withdrawn(banner: Banner) -> None:
    for notice in (FULL, INFO, WARNING):
        banner.tell(notice)
    banner.withdraw(INFO)
    assert banner.waiting == 1
    banner.withdraw(FULL)
    assert banner.notice == WARNING
    banner.withdraw(INFO)
    assert banner.notice == WARNING


def test_the_button_acts_and_closes(banner: Banner) -> None:
    done: list[bool] = []
    action = NoticeAction("Retry", lambda: done.append(banner.isHidden()))
    banner.tell(Notice(Severity.WARNING, "It failed.", action=action))
    button(banner, "Retry").click()
    assert done == [True]


def test_an_action_may_tell_the_next_notice(banner: Banner) -> None:
    action = NoticeAction("Retry", lambda: banner.tell(INFO))
    banner.tell(Notice(Severity.WARNING, "It failed.", action=action))
    button(banner, "Retry").click()
    assert banner.notice == INFO
    assert banner.isVisible()


def test_escape_and_the_cross_close(banner: Banner) -> None:
    banner.tell(INFO)
    banner.tell(WARNING)
    QTest.keyClick(button(banner, "Close this message"), Qt.Key.Key_Escape)
    assert banner.notice == WARNING
    button(banner, "Close this message").click()
    assert banner.isHidden()


@pytest.mark.parametrize(
    ("severity", "colour"), [(Severity.INFO, "info"), (Severity.ERROR, "danger")]
)
def test_severities_have_pictures_that_follow_the_theme(
    banner: Banner, theme: Appearance, qtbot: QtBot, severity: Severity, colour: str
) -> None:
    banner.tell(Notice(severity, "x"))
    picture = next(label for label in banner.findChildren(QLabel) if not label.pixmap().isNull())
    assert picture.accessibleName() == severity.word

    def inks() -> set[str]:
        image = picture.pixmap().toImage()
        pixels = [image.pixelColor(x, y) for x in range(20) for y in range(20)]
        return {pixel.name() for pixel in pixels if pixel.alpha() == 255}

    assert getattr(DARK, colour) in inks()
    theme.choose(Theme.LIGHT)
    qtbot.waitUntil(lambda: getattr(LIGHT, colour) in inks())


def test_long_sentences_wrap(banner: Banner, qtbot: QtBot) -> None:
    banner.tell(Notice(Severity.ERROR, "word " * 100))
    one = banner.sizeHint().height()
    banner.resize(300, 50)
    qtbot.waitUntil(lambda: banner.heightForWidth(300) > one)
    assert banner.minimumSizeHint().width() == 0


def test_only_what_informs_goes_by_itself(banner: Banner, monkeypatch: pytest.MonkeyPatch) -> None:
    timer = banner.findChild(QTimer)
    assert timer is not None
    banner.show()
    banner.tell(WARNING)
    assert not timer.isActive()
    banner.dismiss()
    banner.tell(INFO)
    assert timer.isActive()
    monkeypatch.setattr(banner, "underMouse", lambda: True)
    timer.timeout.emit()
    assert banner.notice == INFO
    monkeypatch.setattr(banner, "underMouse", lambda: False)
    timer.timeout.emit()
    assert banner.notice is None
