"""The pyramid shows every sample, and no more than a sliver of its neighbours, at any zoom."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.audio.peaks import BASE, FINENESS, PeakPyramid
from engine.types import Samples


def noise(count: int, seed: int = 0) -> Samples:
    return np.random.default_rng(seed).uniform(-1, 1, count).astype(np.float32)


def pyramid(samples: Samples, cuts: list[int]) -> PeakPyramid:
    peaks = PeakPyramid(lambda start, count: samples[start : start + count])
    start = 0
    while start < len(samples):
        for cut in (*cuts, len(samples)):
            peaks.append(samples[start : start + cut])
            start += len(samples[start : start + cut])
    return peaks


def columns_of(start: int, end: int, columns: int) -> list[tuple[int, int]]:
    edges = [start + (end - start) * i // columns for i in range(columns + 1)]
    return [(a, max(b, a + 1)) for a, b in pairwise(edges)]


@given(
    length=st.integers(0, 20_000),
    cuts=st.lists(st.integers(1, 700), max_size=3),
    start=st.integers(-300, 20_000),
    span=st.integers(1, 20_000),
    columns=st.integers(1, 60),
)
def test_columns_against_every_sample(
    length: int, cuts: list[int], start: int, span: int, columns: int
) -> None:
    samples = noise(length)
    found = pyramid(samples, cuts).query(start, start + span, columns)
    width = span / columns
    slack = int(width / FINENESS) if width >= BASE * FINENESS else 0
    for index, (first, last) in enumerate(columns_of(start, start + span, columns)):
        inside = samples[max(first, 0) : max(last, 0)]
        low, high = found.low[index], found.high[index]
        if not len(inside):
            assert np.isnan(low)
            assert np.isnan(high)
            continue
        around = samples[max(first - slack, 0) : last + slack]
        assert around.min() <= low <= inside.min()
        assert inside.max() <= high <= around.max()


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=12))
def test_pieces_make_no_difference(cuts: list[int]) -> None:
    samples = noise(sum(cuts))
    whole = PeakPyramid(lambda start, count: samples[start : start + count])
    whole.append(samples)
    parts = PeakPyramid(lambda start, count: samples[start : start + count])
    start = 0
    for cut in cuts:
        parts.append(samples[start : start + cut])
        start += cut
    assert parts.length == whole.length == len(samples)
    for columns in (1, 3, 17):
        a, b = whole.query(0, len(samples), columns), parts.query(0, len(samples), columns)
        assert np.array_equal(a.low, b.low, equal_nan=True)
        assert np.array_equal(a.high, b.high, equal_nan=True)


def test_one_loud_sample_is_seen_in_an_hour_however_far_away() -> None:
    samples = np.zeros(3600 * 24_000, np.float32)
    samples[77_777_777] = 0.9
    read: list[int] = []

    def counted(start: int, count: int) -> Samples:
        read.append(count)
        return samples[start : start + count]

    peaks = PeakPyramid(counted)
    peaks.append(samples)
    found = peaks.query(0, len(samples), 1000)
    assert np.flatnonzero(found.high == np.float32(0.9)).tolist() == [900]
    # The work is bounded by the columns: an hour is not read again.
    assert sum(read) < BASE
    near = peaks.query(77_777_000, 77_779_000, 1000)
    assert np.flatnonzero(near.high == np.float32(0.9)).tolist() == [388]
    assert sum(read) < BASE + 2001


@pytest.mark.parametrize(("start", "end", "columns"), [(0, 0, 5), (10, 5, 5), (0, 10, 0)])
def test_empty_ranges_show_nothing(start: int, end: int, columns: int) -> None:
    found = pyramid(noise(100), []).query(start, end, columns)
    assert found.low.shape == found.high.shape == (columns,)
    assert np.isnan(found.low).all()
