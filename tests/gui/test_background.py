"""Work in the background comes back in order, on the thread that asked, whatever happens to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from app.jobs.background import Background
from engine import ExplainedError, ModelFileError


@pytest.fixture
def background(qtbot: QtBot) -> Iterator[Background]:
    made = Background()
    yield made
    assert made.close()


def test_results_come_in_order_on_the_thread_that_asked(
    background: Background, qtbot: QtBot
) -> None:
    told: list[tuple[int, str, str]] = []

    def tell(number: int) -> Callable[[str], None]:
        return lambda worker: told.append((number, worker, threading.current_thread().name))

    for number in range(20):
        background.run(lambda: threading.current_thread().name, tell(number))
    qtbot.waitUntil(lambda: len(told) == 20)
    here = threading.current_thread().name
    assert told == [(number, "background", here) for number in range(20)]


def test_failures_are_told_once(background: Background, qtbot: QtBot) -> None:
    expected = ModelFileError("It is cut.")
    taken: list[ExplainedError] = []
    left: list[ExplainedError] = []
    done: list[object] = []
    background.problem.connect(left.append)

    def fail(error: BaseException) -> None:
        raise error

    background.run(lambda: fail(expected), done.append, taken.append)
    background.run(lambda: fail(ValueError("odd\nand long")), done.append, taken.append)
    background.run(lambda: fail(SystemExit(3)), done.append)
    background.run(lambda: 5, done.append)
    assert background.flush()
    assert taken[0] is expected
    assert taken[1].message == "Something unexpected went wrong: odd."
    assert "and long" in taken[1].detail
    assert [error.message for error in left] == ["Something unexpected went wrong: 3."]
    assert done == [5]


def test_busy_until_all_is_told(background: Background, qtbot: QtBot) -> None:
    changes: list[bool] = []
    background.busy_changed.connect(changes.append)
    results: list[int] = []

    def more(result: int) -> None:
        results.append(result)
        if result < 3:
            background.run(lambda: result + 1, more)

    background.run(lambda: 1, more)
    assert background.is_busy
    assert background.flush()
    assert results == [1, 2, 3]
    assert not background.is_busy
    assert changes == [True, False]
    background.run(lambda: 9, results.append)
    qtbot.waitUntil(lambda: results[-1] == 9)
    assert changes == [True, False, True, False]


def test_flush_gives_up_on_what_takes_too_long(background: Background) -> None:
    gate = threading.Event()
    results: list[bool] = []
    background.run(lambda: gate.wait(30), results.append)
    assert not background.flush(0.01)
    assert not background.close(0.01)
    gate.set()
    assert background.close()  # all the same
    assert results == [True]


def test_a_callback_may_flush_and_close(background: Background) -> None:
    results: list[object] = []

    def close(_: int) -> None:
        results.append(background.close())

    background.run(lambda: 1, close)
    background.run(lambda: 2, results.append)
    assert background.flush()
    assert results == [2, True]


def test_a_callback_that_fails_leaves_the_rest_in_order(background: Background) -> None:
    results: list[int] = []

    def fail(_: int) -> None:
        raise RuntimeError("a mistake of ours")

    background.run(lambda: 1, fail)
    background.run(lambda: 2, results.append)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        background.flush()
    assert background.flush()
    assert results == [2]
    assert not background.is_busy


def test_the_window_goes_on_meanwhile(background: Background, qtbot: QtBot) -> None:
    gate, ticks = threading.Event(), [0]
    results: list[bool] = []
    timer = QTimer()
    timer.setInterval(1)

    def tick() -> None:
        ticks[0] += 1
        if ticks[0] == 5:
            gate.set()  # the work ends only if the timer has gone on

    timer.timeout.connect(tick)
    timer.start()
    background.run(lambda: gate.wait(30), results.append)
    qtbot.waitUntil(lambda: bool(results))
    timer.stop()
    assert results == [True]
