"""The ring keeps order whoever is faster; the gate pads, counts and never clicks."""

from __future__ import annotations

import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.audio.backend import Frames
from app.audio.ring import FrameRing, OutputGate

FADE = 8


def ramp(start: int, count: int, channels: int = 1) -> Frames:
    values = np.arange(start, start + count, dtype=np.float32)
    return np.repeat(values[:, None], channels, axis=1)


def ones_behind(frames: int, fade: int = FADE) -> tuple[FrameRing, OutputGate]:
    ring = FrameRing(1000)
    ring.write(np.ones((frames, 1), np.float32))
    return ring, OutputGate(ring, fade)


def asked(gate: OutputGate, frames: int, channels: int = 1) -> Frames:
    out: Frames = np.full((frames, channels), np.nan, np.float32)
    gate.read_into(out)
    return out


@given(st.integers(1, 20), st.lists(st.tuples(st.booleans(), st.integers(0, 25)), max_size=40))
def test_ring_is_a_queue_of_limited_length(capacity: int, acts: list[tuple[bool, int]]) -> None:
    ring = FrameRing(capacity, channels=2)
    model: list[float] = []
    written = overruns = 0
    for is_write, count in acts:
        if is_write:
            room = capacity - len(model)
            assert ring.write(ramp(written, count, 2)) == min(count, room)
            model += [float(written + i) for i in range(min(count, room))]
            written += count
            overruns += count > room
        else:
            out: Frames = np.full((count, 2), np.nan, np.float32)
            got = ring.read(out)
            assert out[:got].tolist() == [[value, value] for value in model[:got]]
            assert got == min(count, len(model))
            assert np.isnan(out[got:]).all()
            del model[:got]
        assert ring.available == len(model)
    assert ring.overruns == overruns
    assert ring.take()[:, 0].tolist() == model


def test_one_channel_fills_all_of_the_output() -> None:
    ring = FrameRing(4)
    ring.write(ramp(1, 3))
    out: Frames = np.zeros((3, 2), np.float32)
    assert ring.read(out) == 3
    assert out.tolist() == [[1, 1], [2, 2], [3, 3]]


def test_two_threads_lose_and_mix_nothing() -> None:
    ring = FrameRing(2571)
    total = 200_000
    seen: list[Frames] = []

    def write() -> None:
        done = 0
        while done < total:
            done += ring.write(ramp(done, min(997, total - done)))

    writer = threading.Thread(target=write)
    writer.start()
    received = 0
    while received < total:
        block = ring.take()
        received += len(block)
        seen.append(block)
    writer.join()
    assert np.array_equal(np.concatenate(seen)[:, 0], np.arange(total, dtype=np.float32))


def test_gate_is_silent_until_opened_and_leaves_the_ring_alone() -> None:
    ring, gate = ones_behind(100)
    assert gate.is_quiet
    assert not asked(gate, 50).any()
    assert ring.available == 100
    assert gate.underruns == 0


def test_opening_without_a_fade_plays_the_first_sample_as_it_is() -> None:
    _, gate = ones_behind(100)
    gate.open(fade_in=False)
    assert asked(gate, 20, channels=2).min() == 1


def test_opening_with_a_fade_rises_over_several_callbacks() -> None:
    _, gate = ones_behind(100)
    gate.open(fade_in=True)
    heard = np.concatenate([asked(gate, 3) for _ in range(4)])[:, 0]
    assert np.allclose(heard[:FADE], np.arange(1, FADE + 1) / (FADE + 1))
    assert heard[FADE:].min() == 1


def test_shutting_falls_over_several_callbacks_and_then_rests() -> None:
    ring, gate = ones_behind(100)
    gate.open(fade_in=False)
    asked(gate, 10)
    gate.shut()
    assert not gate.is_quiet
    heard = np.concatenate([asked(gate, 5) for _ in range(3)])[:, 0]
    assert np.allclose(heard[:FADE], np.arange(FADE, 0, -1) / (FADE + 1))
    assert not heard[FADE:].any()
    assert gate.is_quiet
    assert ring.read_index == 10 + FADE


def test_reopening_in_the_midst_of_nothing_has_no_step() -> None:
    _, gate = ones_behind(500)
    heard = []
    gate.open(fade_in=True)
    for shut in (False, True, False, True):
        if shut:
            gate.shut()
        elif gate.is_quiet:
            gate.open(fade_in=True)
        heard += [asked(gate, 20)]
    steps = np.abs(np.diff(np.concatenate(heard)[:, 0], prepend=0))
    assert steps.max() <= 1 / (FADE + 1) + 1e-6


def test_running_empty_counts_only_where_sound_was_promised() -> None:
    ring, gate = ones_behind(10)
    gate.open(fade_in=False)
    heard = asked(gate, 15)[:, 0]
    assert heard.tolist() == [1] * 10 + [0] * 5
    assert gate.underruns == 0
    gate.promised = True
    asked(gate, 15)
    assert gate.underruns == 1
    ring.write(np.ones((20, 1), np.float32))
    assert asked(gate, 20)[0, 0] < 0.2  # what follows a gap fades in


def test_shutting_an_empty_ring_is_quiet_after_one_callback() -> None:
    _, gate = ones_behind(4)
    gate.open(fade_in=False)
    gate.shut()
    asked(gate, 20)
    assert gate.is_quiet


def test_gate_of_a_dead_device_can_be_abandoned() -> None:
    _, gate = ones_behind(50)
    gate.open(fade_in=False)
    asked(gate, 10)
    gate.abandon()
    assert gate.is_quiet
