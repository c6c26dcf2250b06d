"""Meters: what they show is what the audio holds, in the audio's own time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.audio.backend import Frames
from app.audio.levels import LevelMeter, NoiseFloor, SilenceWatch, decibels

RATE = 1000


def constant(value: float, frames: int, channels: int = 1) -> Frames:
    return np.full((frames, channels), value, np.float32)


def test_rms_settles_at_the_level_of_the_loudest_channel() -> None:
    meter = LevelMeter(RATE)
    block = np.concatenate((constant(0.1, 10), constant(-0.5, 10)), axis=1)
    for _ in range(300):
        levels = meter.feed(block)
    assert levels.peak == levels.held_peak == 0.5
    assert levels.rms == pytest.approx(0.5, abs=1e-3)


def test_a_peak_is_held_for_a_second_and_a_half() -> None:
    meter = LevelMeter(RATE)
    meter.feed(constant(0.8, 100))
    held = [meter.feed(constant(0.1, 100)).held_peak for _ in range(16)]
    assert held == [pytest.approx(0.8)] * 15 + [pytest.approx(0.1)]


def test_noise_floor_is_what_remains_between_words() -> None:
    floor = NoiseFloor(RATE)
    rng = np.random.default_rng(0)
    for _ in range(10):
        floor.feed(rng.normal(0, 0.3, (300, 1)).astype(np.float32))
        floor.feed(rng.normal(0, 0.002, (200, 1)).astype(np.float32))
    assert floor.amplitude == pytest.approx(0.002, rel=0.3)


def test_noise_floor_waits_for_half_a_second() -> None:
    floor = NoiseFloor(RATE)
    floor.feed(constant(0.1, 499))
    assert floor.amplitude is None
    floor.feed(constant(0.1, 1))
    assert floor.amplitude == pytest.approx(0.1)


@pytest.mark.parametrize("value", [0.0, 0.25])
def test_samples_that_never_change_are_silence(value: float) -> None:
    watch = SilenceWatch(RATE, seconds=2)
    watch.feed(constant(value, 1999, 2))
    assert not watch.is_silent
    watch.feed(constant(value, 1, 2))
    assert watch.is_silent
    assert not watch.ever_alive
    moved = constant(value, 3, 2)
    moved[1, 1] += 2**-20
    watch.feed(moved)
    assert not watch.is_silent
    assert watch.ever_alive


def test_decibels() -> None:
    assert decibels(1) == 0
    assert decibels(0.5) == pytest.approx(-6.0206)
    assert decibels(0) == -math.inf
