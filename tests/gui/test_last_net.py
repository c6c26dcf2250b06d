"""What nobody expected is told once, and signals of the system close the window in order."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QCoreApplication, QTimer, qWarning
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.interruptions import Interruptions
from app.main import start_again, tell_no_start
from app.unexpected import UnexpectedErrors
from engine import ExplainedError


@pytest.fixture
def net(qapp: QApplication) -> Iterator[UnexpectedErrors]:
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    made = UnexpectedErrors()
    made.watch()
    yield made
    made.rest()
    sys.excepthook, threading.excepthook, sys.unraisablehook = hooks
    made.deleteLater()


def fail() -> None:
    raise KeyError("a slot went wrong")


def test_a_slot_that_fails_is_told_once(
    qtbot: QtBot, net: UnexpectedErrors, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[ExplainedError] = []
    net.problem.connect(told.append)
    for _ in range(3):
        with qtbot.waitSignal(net._happened):
            QTimer.singleShot(0, fail)
    QCoreApplication.processEvents()
    assert len(told) == 1
    assert "a slot went wrong" in told[0].message
    assert "in fail" in told[0].detail  # the traceback, to be copied
    assert sum("unexpectedly" in record.message for record in caplog.records) == 3


def test_a_thread_that_fails_is_told_on_the_windows_thread(
    qtbot: QtBot, net: UnexpectedErrors
) -> None:
    threads: list[int] = []
    net.problem.connect(lambda _: threads.append(threading.get_ident()))
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    qtbot.waitUntil(lambda: bool(threads))
    assert threads == [threading.get_ident()]


def test_qt_complains_into_the_log(net: UnexpectedErrors, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "qt"):
        qWarning("a complaint")
    assert [record.message for record in caplog.records] == ["a complaint"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_and_is_given_back_afterwards(
    qtbot: QtBot, qapp: QApplication, number: signal.Signals
) -> None:
    before = signal.getsignal(number)
    closed: list[bool] = []
    interruptions = Interruptions(lambda: closed.append(True))
    signal.raise_signal(number)
    qtbot.waitUntil(lambda: bool(closed))
    interruptions.end()
    assert closed == [True]
    assert signal.getsignal(number) is before
    interruptions.deleteLater()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_the_box_that_says_why_there_is_no_window(
    qtbot: QtBot, qapp: QApplication, number: signal.Signals
) -> None:
    before = signal.getsignal(number)
    QTimer.singleShot(0, lambda: signal.raise_signal(number))
    tell_no_start(ExplainedError("There is no room.", "Make some."))
    assert QApplication.activeModalWidget() is None
    assert signal.getsignal(number) is before


def test_the_studio_starts_again_as_it_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "app", "--home", "/a place"])
    monkeypatch.setattr("app.main.os.execve", lambda *given: begun.extend(given))
    monkeypatch.setattr("app.main.subprocess.run", lambda *_, **__: SimpleNamespace(returncode=0))
    start_again({"HOME": "/home/me"})
    assert begun == [
        sys.executable,
        [sys.executable, "-m", "app", "--home", "/a place"],
        {"HOME": "/home/me"},
    ]
