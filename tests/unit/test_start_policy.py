"""The start rule against a simulated take: it never runs dry, and never waits for nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.audio.start_policy import StartPolicy
from app.audio.take_buffer import Forecast

EXACT = StartPolicy(cushion=0.3, distrust=0.0)


@given(
    speed=st.floats(0.2, 3.0),
    total=st.floats(0.5, 60.0),
    piece=st.sampled_from([0.08, 0.16, 0.64]),
)
def test_playing_never_runs_dry(speed: float, total: float, piece: float) -> None:
    made = arriving = 0.0
    now, started = 0.0, None
    while made < total:
        arriving = min(piece, total - made)
        now += arriving / speed  # it arrives
        made += arriving
        played = 0.0 if started is None else now - started
        if started is not None:
            # Just before this piece came there was still something to play.
            assert made - arriving - played > -1e-6
        else:
            forecast = Forecast(speed, total - made, piece)
            if EXACT.decide(made, forecast, finished=made >= total).start:
                started = now
    assert started is not None


@given(speed=st.floats(0.2, 3.0), remaining=st.floats(0.5, 60.0), ahead=st.floats(0.01, 5.0))
def test_the_wait_told_is_the_wait_needed(speed: float, remaining: float, ahead: float) -> None:
    decision = EXACT.decide(ahead, Forecast(speed, remaining), finished=False)
    if decision.start:
        return
    assert decision.wait is not None
    assert 0 <= decision.wait <= remaining / speed + 1e-9
    if decision.wait >= remaining / speed - 1e-3:
        return  # it will be finished by then
    made = speed * (decision.wait + 1e-4)
    later = EXACT.decide(ahead + made, Forecast(speed, remaining - made), finished=False)
    assert later.start
    made = speed * decision.wait * 0.9
    sooner = EXACT.decide(ahead + made, Forecast(speed, remaining - made), finished=False)
    assert not sooner.start


def test_what_is_finished_starts_at_once() -> None:
    assert StartPolicy().decide(0.0, None, finished=True).start


def test_nothing_is_promised_before_a_speed_is_known() -> None:
    for forecast in (None, Forecast(0.0)):
        decision = StartPolicy().decide(1.0, forecast, finished=False)
        assert not decision.start
        assert decision.wait is None


def test_slow_and_of_unknown_length_waits_for_more() -> None:
    policy = StartPolicy(distrust=0.0, unknown_remaining=10.0)
    assert policy.decide(0.5, Forecast(0.5), finished=False).wait == pytest.approx(9.8)
