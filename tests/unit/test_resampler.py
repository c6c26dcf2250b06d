"""Streamed resampling: the same signal however it is cut, and nothing added to it."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.audio.resampler import StreamResampler
from engine.types import Samples

RATES = [(24_000, 48_000), (24_000, 44_100), (48_000, 24_000), (44_100, 16_000), (24_000, 24_000)]


def whole(samples: Samples, rate_in: int, rate_out: int) -> Samples:
    resampler = StreamResampler(rate_in, rate_out)
    return np.concatenate((resampler.feed(samples), resampler.flush()))


@given(
    rates=st.sampled_from(RATES),
    cuts=st.lists(st.integers(0, 500), min_size=1, max_size=8),
)
def test_streamed_is_whole(rates: tuple[int, int], cuts: list[int]) -> None:
    samples = np.random.default_rng(1).uniform(-1, 1, sum(cuts)).astype(np.float32)
    resampler = StreamResampler(*rates)
    bounds = np.cumsum([0, *cuts])
    pieces = [resampler.feed(samples[start:end]) for start, end in pairwise(bounds)]
    streamed = np.concatenate((*pieces, resampler.flush()))
    expected = whole(samples, *rates)
    assert len(streamed) == math.ceil(len(samples) * rates[1] / rates[0])
    assert np.allclose(streamed, expected, atol=1e-6)


@pytest.mark.parametrize(("rate_in", "rate_out"), RATES)
@pytest.mark.parametrize("tone", [100.0, 1000.0, 6000.0])
def test_a_tone_stays_where_it_was(rate_in: int, rate_out: int, tone: float) -> None:
    seconds = 0.2
    samples = np.sin(2 * math.pi * tone * np.arange(round(seconds * rate_in)) / rate_in)
    out = whole(samples.astype(np.float32), rate_in, rate_out)
    expected = np.sin(2 * math.pi * tone * np.arange(len(out)) / rate_out)
    edge = round(0.02 * rate_out)
    # 90 dB of stop band leave 3e-5 of an image; the rest is float32.
    assert np.abs(out - expected)[edge:-edge].max() < 1e-4


def test_images_above_the_band_are_gone() -> None:
    samples = np.random.default_rng(2).normal(0, 0.2, 24_000).astype(np.float32)
    out = whole(samples, 24_000, 48_000)
    spectrum = np.abs(np.fft.rfft(out * np.hanning(len(out))))
    assert spectrum[12_500:].max() < 1e-4 * spectrum[:10_000].max()


def test_reset_forgets_the_signal_before() -> None:
    samples = np.random.default_rng(3).uniform(-1, 1, 700).astype(np.float32)
    resampler = StreamResampler(24_000, 44_100)
    resampler.feed(np.ones(333, np.float32))
    resampler.reset()
    again = np.concatenate((resampler.feed(samples), resampler.flush()))
    assert np.array_equal(again, whole(samples, 24_000, 44_100))
