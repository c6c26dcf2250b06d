"""A take ends for the window whatever happens to its files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.audio.take_buffer import Forecast, TakeBuffer
from app.core.takes import Take, TakeRequest
from app.studio.take_keeper import TakeKeeper
from engine import Ending, ExplainedError, Family


class BrokenWriter:
    """Takes everything in and ends as nobody expects."""

    def append(self, samples: object, codes: object) -> None:
        """All is well so far."""

    def finish(self, ending: object, remark: str) -> Take:
        raise ZeroDivisionError


def test_a_take_ends_also_when_keeping_it_fails_unexpectedly() -> None:
    take = Take(TakeRequest("A line.", Family.BASE), 1, "Anna")
    finished: list[str] = []
    problems: list[ExplainedError] = []
    writer: Any = lambda _: BrokenWriter()  # noqa: E731 - stands in for a method
    keeper = TakeKeeper(take, TakeBuffer(24_000), writer, problems.append, finished.append)
    keeper.open(take)
    keeper.append(np.ones(10, np.float32), np.zeros((1, 16), np.int64), Forecast(0.0))
    with pytest.raises(ZeroDivisionError):
        keeper.finish(Ending.SPOKEN, None)
    assert finished == [take.id]
    assert keeper.is_finished
    assert keeper.buffer.is_finished
    assert keeper.kept is None
    assert not problems  # the queue tells it
