"""A take that grows: every reader sees a true beginning of it, at any time."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.audio import take_buffer
from app.audio.take_buffer import Forecast, TakeBuffer
from engine.types import Samples

RATE = 24_000


def numbers(start: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.arange(start, start + count, dtype=np.float32)


@given(
    st.lists(st.integers(0, 40), max_size=20),
    st.lists(st.tuples(st.integers(-5, 400), st.integers(-5, 400)), min_size=1, max_size=10),
)
@example([1], [(-1, 1)])
def test_reads_as_one_array(appends: list[int], reads: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(take_buffer, "CHUNK", 16)  # many chunk borders in few samples
        take = TakeBuffer(RATE)
        for count in appends:
            take.append(numbers(take.length, count))
        whole = numbers(0, sum(appends))
        assert take.length == len(whole)
        for start, count in reads:
            begin = max(start, 0)
            expected = whole[begin : max(start + count, begin)]
            if start < 0:
                expected = whole[0 : max(count, 0)]
            assert np.array_equal(take.read(start, count), expected)


def test_reading_within_a_chunk_copies_nothing_and_cannot_damage_the_take() -> None:
    take = TakeBuffer.of(numbers(0, 1000), RATE)
    first, second = take.read(100, 50), take.read(120, 50)
    assert np.shares_memory(first, second)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 5


def test_appended_arrays_may_be_used_again() -> None:
    take = TakeBuffer(RATE)
    samples = numbers(0, 100)
    take.append(samples)
    samples[:] = -1
    assert np.array_equal(take.read(0, 100), numbers(0, 100))


def test_finished_and_forecast_are_what_the_writer_said() -> None:
    take = TakeBuffer(RATE)
    assert not take.is_finished
    assert take.forecast is None
    take.announce(Forecast(1.5, 3.0))
    take.append(numbers(0, 12_000))
    take.finish()
    assert take.forecast == Forecast(1.5, 3.0)
    assert take.is_finished
    assert take.seconds == 0.5
    with pytest.raises(AssertionError, match="finished"):
        take.append(numbers(0, 1))


def test_samples_are_counted_once_their_peaks_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    take = TakeBuffer(RATE)
    counted: list[int] = []
    append = take._peaks.append

    def watched(samples: Samples) -> None:
        append(samples)
        counted.append(take.length)

    monkeypatch.setattr(take._peaks, "append", watched)
    take.append(numbers(0, 100))
    take.append(numbers(100, 100))
    assert counted == [0, 100]
    assert take.length == 200


def test_readers_beside_the_writer_see_only_what_was_written() -> None:
    take = TakeBuffer(RATE)
    total = 300_000
    wrong: list[int] = []

    def read() -> None:
        while not take.is_finished:
            length = take.length
            start = max(length - 70_000, 0)
            if not np.array_equal(take.read(start, length - start), numbers(start, length - start)):
                wrong.append(length)
            high = take.peaks(0, max(length, 1), 10).high
            if length and np.nanmax(high) > total:
                wrong.append(-length)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    while take.length < total:
        take.append(numbers(take.length, min(1920, total - take.length)))
    take.finish()
    for reader in readers:
        reader.join()
    assert not wrong
    assert np.array_equal(take.read(0, total), numbers(0, total))


def test_memory_is_free_as_soon_as_nobody_holds_the_take() -> None:
    take = TakeBuffer.of(numbers(0, 10_000), RATE)
    take.peaks(0, 10_000, 10)
    held = weakref.ref(take)
    gc.disable()
    try:
        del take
        assert held() is None
    finally:
        gc.enable()
