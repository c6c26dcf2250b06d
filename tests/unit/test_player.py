"""The player on a clock of the test's own: every sample that sounds, and every pause between."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.audio.backend import Device, SoundDeviceError
from app.audio.null import BLOCK_SECONDS, ManualBackend, NullBackend, NullStream
from app.audio.player import Player
from app.audio.player_state import Ended, OutputProblem, PlayerEvent, PlayerStatus, Starved
from app.audio.start_policy import StartPolicy
from app.audio.take_buffer import Forecast, TakeBuffer
from engine.types import Samples

RATE = 24_000
FADE = 120  # samples, 5 ms
SPEAKERS = Device("Test/speakers", "Speakers", "Test", 2, 48_000, is_default=True)
HEADSET = Device("Test/headset", "Headset", "Test", 1, 44_100, is_default=False)


def voice(seconds: float, seed: int = 0) -> Samples:
    """Noise: no two places of it look the same."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.5, 0.5, round(seconds * RATE)).astype(np.float32)


class Studio:
    """A player, its outputs and a clock that only `run` moves."""

    def __init__(self, backend: ManualBackend | None = None, policy: StartPolicy | None = None):
        self.now = 100.0
        self.backend = backend or ManualBackend(outputs=(SPEAKERS, HEADSET))
        self.player = Player(self.backend, policy, lambda: self.now)
        self.player.step()

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.01)):
            self.now += 0.01
            self.backend.advance(0.01)
            self.player.step()

    @property
    def heard(self) -> Samples:
        """All that sounded, mono; asserts that the channels were the same."""
        if not self.backend.heard:
            return np.empty(0, np.float32)
        for block in self.backend.heard:
            assert (block == block[:, :1]).all()
        return np.concatenate([block[:, 0] for block in self.backend.heard])

    @property
    def status(self) -> str:
        return self.player.state.status

    @property
    def stream(self) -> NullStream:
        [stream] = self.backend.open_streams
        return stream


def sounding(heard: Samples) -> Samples:
    """Without the silence before and after."""
    places = np.flatnonzero(heard)
    return heard[places[0] : places[-1] + 1] if len(places) else heard[:0]


def stretches(heard: Samples, silence: int = 200) -> list[Samples]:
    """The parts of `heard` between silences of some length."""
    places = np.flatnonzero(heard)
    cuts = np.flatnonzero(np.diff(places) > silence) + 1
    return [heard[part[0] : part[-1] + 1] for part in np.split(places, cuts)]


def where(part: Samples, samples: Samples) -> int:
    """The only place in `samples` from which `part` was taken."""
    windows = np.lib.stride_tricks.sliding_window_view(samples, 32)
    [place] = np.flatnonzero((np.abs(windows - part[:32]) < 1e-6).all(axis=1))
    return int(place)


def test_a_take_sounds_from_its_first_to_its_last_sample() -> None:
    studio, samples = Studio(), voice(1.0)
    take = TakeBuffer.of(samples, RATE)
    studio.player.load(take, play=True)
    studio.run(1.5)
    assert np.array_equal(sounding(studio.heard), samples)
    assert studio.status == PlayerStatus.STOPPED
    assert studio.player.state.position == len(samples)
    assert studio.player.events() == [Ended(take)]
    assert studio.player.state.underruns == 0
    studio.player.play()  # again, from the beginning
    studio.run(1.5)
    assert np.array_equal(stretches(studio.heard)[1], samples)


def test_the_position_is_what_is_heard() -> None:
    studio, samples = Studio(), voice(2.0)
    studio.player.load(TakeBuffer.of(samples, RATE), play=True)
    for _ in range(100):
        studio.run(0.01)
        block = round(BLOCK_SECONDS * RATE)
        assert abs(studio.player.state.position - len(sounding(studio.heard))) <= block
    studio.stream.latency = 0.1
    studio.run(0.2)
    behind = len(sounding(studio.heard)) - studio.player.state.position
    assert abs(behind - 0.1 * RATE) <= block
    studio.player.pause()
    studio.run(0.3)
    assert studio.player.state.position == len(sounding(studio.heard))


def test_the_output_refuses_the_rate_of_the_take() -> None:
    studio = Studio(ManualBackend(outputs=(SPEAKERS,), output_rates=(48_000,)))
    time = np.arange(RATE) / RATE
    samples = (0.5 * np.sin(2 * np.pi * 440 * time)).astype(np.float32)
    studio.player.load(TakeBuffer.of(samples, RATE), play=True)
    studio.run(0.5)
    assert abs(studio.player.state.position - 0.5 * RATE) <= 0.05 * RATE
    studio.run(1.0)
    heard = studio.heard
    first = np.flatnonzero(np.abs(heard) > 0)[0]
    expected = 0.5 * np.sin(2 * np.pi * 440 * np.arange(2 * RATE) / (2 * RATE))
    inner = slice(2000, -2000)
    assert np.abs(heard[first : first + 2 * RATE] - expected)[inner].max() < 1e-3
    assert not heard[first + 2 * RATE :].any()
    assert studio.player.state.rate == 48_000


def test_pause_and_play_leave_nothing_out_and_do_not_click() -> None:
    studio, samples = Studio(), np.ones(RATE, np.float32)
    studio.player.load(TakeBuffer.of(samples, RATE), play=True)
    studio.run(0.3)
    studio.player.pause()
    studio.run(0.2)
    assert studio.status == PlayerStatus.PAUSED
    position = studio.player.state.position
    studio.run(0.2)
    assert studio.player.state.position == position
    studio.player.toggle()
    studio.run(1.0)
    heard = sounding(studio.heard)
    before, after = stretches(heard)
    assert len(before) + len(after) == len(samples)
    steps = np.abs(np.diff(np.concatenate((before, [0], after))))
    assert steps.max() < 2 / FADE


def test_impatient_pausing_and_playing_does_not_click() -> None:
    studio = Studio()
    studio.player.load(TakeBuffer.of(np.ones(3 * RATE, np.float32), RATE), play=True)
    for index in range(60):
        studio.player.toggle()
        studio.run(0.01 + 0.01 * (index % 3))
    heard = studio.heard
    inner = heard[np.flatnonzero(heard)[0] + 1 :]
    assert np.abs(np.diff(inner)).max() < 2 / FADE
    assert studio.player.state.underruns == 0


def test_stop_returns_to_the_beginning() -> None:
    studio, samples = Studio(), voice(1.0)
    studio.player.load(TakeBuffer.of(samples, RATE), play=True)
    studio.run(0.4)
    studio.player.stop()
    studio.run(0.1)
    assert studio.status == PlayerStatus.STOPPED
    assert studio.player.state.position == 0
    studio.player.play()
    studio.run(0.3)
    assert where(stretches(studio.heard)[1], samples) == 0


@pytest.mark.parametrize("target", [0, 5000, 40_000])
def test_seeking_goes_on_at_the_sample(target: int) -> None:
    studio, samples = Studio(), voice(2.0)
    studio.player.load(TakeBuffer.of(samples, RATE), play=True)
    studio.run(0.5)
    studio.player.seek(target)
    studio.run(2.5)
    before, after = stretches(studio.heard)
    inside = after[FADE:] if target else after
    assert np.array_equal(inside, samples[target + (FADE if target else 0) :])
    assert np.array_equal(before[:-FADE], samples[: len(before) - FADE])


def test_seeking_beyond_the_end_ends() -> None:
    studio = Studio()
    take = TakeBuffer.of(voice(1.0), RATE)
    studio.player.load(take, position=99 * RATE, play=True)
    studio.run(0.3)
    assert studio.player.events() == [Ended(take)]
    assert studio.player.state.position == take.length


def test_a_loop_repeats_its_range() -> None:
    studio, samples = Studio(), voice(1.0)
    start, end = 6000, 12_000
    studio.player.load(TakeBuffer.of(samples, RATE))
    studio.player.seek(start)
    studio.player.set_loop(start, end)
    studio.player.play()
    studio.run(1.2)
    assert studio.player.state.loop == (start, end)
    assert start <= studio.player.state.position < end
    heard = sounding(studio.heard)
    for turn in range(3):
        first = turn * (end - start)
        inside = heard[first + FADE : first + end - start - FADE]
        assert np.array_equal(inside, samples[start + FADE : end - FADE])
    studio.player.clear_loop()
    studio.run(1.5)
    assert studio.status == PlayerStatus.STOPPED
    assert np.array_equal(sounding(studio.heard)[-1000:], samples[-1000:])


def test_a_play_from_behind_the_loop_begins_at_its_start() -> None:
    studio, samples = Studio(), voice(1.0)
    studio.player.load(TakeBuffer.of(samples, RATE), position=18_000)
    studio.player.set_loop(6000, 12_000)
    studio.player.play()
    studio.run(0.6)
    assert 6000 <= studio.player.state.position < 12_000
    assert np.array_equal(sounding(studio.heard)[FADE:5000], samples[6000 + FADE : 11_000])


def test_a_loop_that_has_no_length_is_none() -> None:
    studio, samples = Studio(), voice(0.5)
    studio.player.load(TakeBuffer.of(samples, RATE))
    studio.player.set_loop(3000, 3010)
    studio.player.play()
    studio.run(1.0)
    assert studio.player.state.loop is None
    assert np.array_equal(sounding(studio.heard), samples)


def test_a_loop_to_beyond_the_end_ends_there() -> None:
    studio, samples = Studio(), voice(0.5)
    studio.player.load(TakeBuffer.of(samples, RATE), position=6000)
    studio.player.set_loop(6000, 10 * RATE)
    studio.player.play()
    studio.run(1.2)
    assert studio.status == PlayerStatus.PLAYING
    turn = len(samples) - 6000
    heard = sounding(studio.heard)
    again = heard[turn + FADE : 2 * turn - FADE]
    assert np.array_equal(again, samples[6000 + FADE : -FADE])


def grow(studio: Studio, take: TakeBuffer, samples: Samples, speed: float, piece: int) -> None:
    """Make the rest of a take at so many seconds a second, in pieces, and say so."""
    while take.length < len(samples):
        studio.run(piece / RATE / speed)
        take.append(samples[take.length : take.length + piece])
        remaining = (len(samples) - take.length) / RATE
        take.announce(Forecast(speed, remaining, piece / RATE))
    take.finish()


@pytest.mark.parametrize("speed", [2.0, 1.0, 0.5])
def test_a_growing_take_sounds_without_a_gap(speed: float) -> None:
    studio, samples = Studio(), voice(4.0)
    take = TakeBuffer(RATE)
    studio.player.load(take, play=True)
    studio.run(0.05)
    assert studio.status == PlayerStatus.WAITING
    grow(studio, take, samples, speed, 1920 * 2)
    studio.run(5.0)
    assert np.array_equal(sounding(studio.heard), samples)
    assert studio.player.state.starvations == studio.player.state.underruns == 0
    begun = np.flatnonzero(studio.heard)[0] / RATE if speed == 2.0 else 0
    assert begun < 1.0


def test_a_slow_take_says_when_it_will_sound() -> None:
    studio, take = Studio(), TakeBuffer(RATE)
    studio.player.load(take, play=True)
    take.append(voice(1.0))
    take.announce(Forecast(speed=0.5, remaining=4.0))
    studio.run(0.05)
    assert studio.status == PlayerStatus.WAITING
    # cushion 0.3 + 4 (1 / 0.45 - 1) - 1 second made
    assert studio.player.state.starts_in == pytest.approx(0.3 + 4 / 0.45 - 4 - 1)
    take.finish()
    studio.run(0.05)
    assert studio.status == PlayerStatus.PLAYING
    assert studio.player.state.starts_in is None


def test_a_take_that_stalls_pauses_cleanly_and_goes_on() -> None:
    studio = Studio()
    samples = (0.25 + 0.5 * np.arange(3 * RATE) / (3 * RATE)).astype(np.float32)  # never jumps
    take = TakeBuffer(RATE)
    take.append(samples[:RATE])
    take.announce(Forecast(speed=5.0, remaining=2.0))  # which will not come true
    studio.player.load(take, play=True)
    studio.run(2.0)
    assert studio.status == PlayerStatus.WAITING
    [starved] = studio.player.events()
    assert starved == Starved(RATE - FADE)
    assert studio.player.state.position == RATE - FADE
    take.append(samples[RATE:])
    take.finish()
    studio.run(3.0)
    assert studio.player.state.starvations == 1
    assert studio.player.state.underruns == 0
    before, after = stretches(studio.heard)
    assert np.allclose(before[:-FADE], samples[: RATE - FADE])
    assert before[-1] < 0.02
    assert after[0] < 0.02
    assert np.allclose(after[FADE:], samples[RATE:])


def test_stopping_a_starved_take_keeps_quiet() -> None:
    studio, take = Studio(), TakeBuffer(RATE)
    take.append(voice(1.0))
    take.announce(Forecast(speed=5.0))
    studio.player.load(take, play=True)
    studio.run(2.0)
    studio.player.pause()
    studio.run(0.1)
    sounded = len(studio.heard[: np.flatnonzero(studio.heard)[-1]])
    take.append(voice(3.0))
    take.finish()
    studio.run(1.0)
    assert studio.status == PlayerStatus.PAUSED
    assert np.flatnonzero(studio.heard)[-1] == sounded


def test_an_empty_take_ends_at_once() -> None:
    studio, take = Studio(), TakeBuffer.of(voice(0), RATE)
    studio.player.load(take, play=True)
    studio.run(0.2)
    assert studio.player.events() == [Ended(take)]
    assert not studio.heard.any()


def test_another_take_at_the_same_place() -> None:
    studio, first, second = Studio(), voice(2.0, 1), voice(2.0, 2)
    studio.player.load(TakeBuffer.of(first, RATE), play=True)
    studio.run(0.5)
    position = studio.player.state.position
    studio.player.load(TakeBuffer.of(second, RATE), position, play=True)
    studio.run(2.5)
    before, after = stretches(studio.heard)
    assert np.array_equal(before[:-FADE], first[: len(before) - FADE])
    assert np.array_equal(after[FADE:], second[position + FADE :])
    assert len(studio.player.events()) == 1


def test_takes_of_another_rate_open_the_output_anew() -> None:
    studio = Studio()
    studio.player.load(TakeBuffer.of(voice(1.0), RATE), play=True)
    studio.run(0.2)
    studio.player.load(TakeBuffer.of(voice(1.0), 48_000), play=True)
    studio.run(0.2)
    assert studio.stream.rate == studio.player.state.rate == 48_000


def test_volume_is_ramped() -> None:
    studio = Studio()
    studio.player.set_gain(0.5)
    studio.player.load(TakeBuffer.of(np.ones(2 * RATE, np.float32), RATE), play=True)
    studio.run(0.5)
    studio.player.set_gain(0.0)
    studio.run(0.5)
    studio.player.set_gain(1.0)
    studio.run(2.0)
    heard = studio.heard
    heard = heard[np.flatnonzero(heard)[0] :][: 2 * RATE]
    assert heard[0] == 0.5
    assert heard.min() == 0
    assert heard[-1] == 1
    assert np.abs(np.diff(heard)).max() <= 1.01 / (0.02 * RATE)


def test_meter_shows_what_is_heard_not_what_is_queued() -> None:
    studio = Studio()
    samples = np.concatenate((np.full(RATE // 2, 0.1), np.full(RATE // 2, 0.9))).astype(np.float32)
    studio.player.load(TakeBuffer.of(samples, RATE), play=True)
    peaks = []
    for _ in range(140):
        studio.run(0.01)
        peaks.append((studio.player.state.position, studio.player.state.levels.peak))
    assert all(peak <= 0.11 for position, peak in peaks if position < 0.48 * RATE)
    assert all(peak > 0.89 for position, peak in peaks if 0.56 * RATE < position < 0.95 * RATE)
    assert peaks[-1][1] == 0


def test_an_output_that_disappears_pauses_where_it_was_heard() -> None:
    studio, samples = Studio(), voice(2.0)
    studio.player.load(TakeBuffer.of(samples, RATE), play=True)
    studio.run(1.1)
    studio.backend.unplug(SPEAKERS)
    studio.run(0.1)
    state = studio.player.state
    assert state.status is PlayerStatus.PAUSED
    assert state.problem is not None
    assert state.problem.message == "The output “Speakers” went away at 0:01."
    assert studio.player.events() == [OutputProblem(state.problem)]
    played = len(sounding(studio.heard))
    assert abs(state.position - played) <= BLOCK_SECONDS * RATE
    studio.player.set_output(HEADSET.id)
    studio.player.play()
    studio.run(1.5)
    assert studio.player.state.problem is None
    heard = np.concatenate([block[:, 0] for block in studio.backend.heard if block.shape[1] == 1])
    assert np.array_equal(sounding(heard)[FADE:], samples[state.position + FADE :])


def test_an_output_that_hangs_is_given_up() -> None:
    studio = Studio()
    studio.player.load(TakeBuffer.of(voice(20.0), RATE), play=True)
    studio.run(1.0)
    studio.stream.is_stuck = True
    studio.run(6.0)
    assert studio.status == PlayerStatus.PAUSED
    assert studio.player.state.problem is not None
    assert not studio.backend.open_streams
    studio.player.play()
    studio.run(0.5)
    assert studio.status == PlayerStatus.PLAYING


def test_without_any_output_the_reason_is_told() -> None:
    studio = Studio(ManualBackend(outputs=()))
    studio.player.load(TakeBuffer.of(voice(1.0), RATE), play=True)
    studio.run(0.1)
    assert studio.status == PlayerStatus.PAUSED
    [event] = studio.player.events()
    assert isinstance(event, OutputProblem)
    assert "no output" in event.error.message


def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(SoundDeviceError, match="“headset 2” is not connected"):
        ManualBackend().open_output("Test/headset 2", RATE)


def test_changing_the_output_in_the_midst() -> None:
    studio, samples = Studio(), voice(2.0)
    studio.player.load(TakeBuffer.of(samples, RATE), play=True)
    studio.run(0.5)
    studio.player.set_output(HEADSET.id)
    studio.run(2.0)
    assert studio.stream.device == HEADSET
    first, second = stretches(studio.heard)
    assert where(second[FADE:], samples) == len(first) + FADE  # nothing left out or repeated
    assert len(first) + len(second) == len(samples)


def test_an_idle_output_is_let_go() -> None:
    studio = Studio()
    studio.player.load(TakeBuffer.of(voice(1.0), RATE), play=True)
    studio.run(0.5)
    studio.player.pause()
    studio.run(0.5)
    position = studio.player.state.position
    assert not studio.backend.rescan()
    studio.run(11.0)
    assert studio.backend.rescan()
    assert studio.player.state.position == position
    studio.player.play()
    studio.run(0.2)
    assert studio.status == PlayerStatus.PLAYING


def test_release_lets_the_output_go_unless_it_sounds() -> None:
    studio = Studio()
    studio.player.load(TakeBuffer.of(voice(1.0), RATE), play=True)
    studio.run(0.3)
    studio.player.release_output()
    studio.run(0.1)
    assert studio.status == PlayerStatus.PLAYING
    studio.player.pause()
    studio.run(0.1)
    studio.player.release_output()
    studio.run(0.1)
    assert studio.backend.rescan()


def test_a_late_feeder_is_counted() -> None:
    studio = Studio()
    studio.player.load(TakeBuffer.of(voice(3.0), RATE), play=True)
    studio.run(0.5)
    studio.backend.advance(1.0)  # without a step: the feeder sleeps
    studio.run(0.1)
    assert studio.player.state.underruns > 0
    assert studio.player.state.starvations == 0


def test_dropouts_of_the_device_are_counted() -> None:
    studio = Studio()
    studio.player.load(TakeBuffer.of(voice(3.0), RATE), play=True)
    studio.run(0.5)
    studio.stream.dropouts += 2
    studio.run(0.1)
    assert studio.player.state.dropouts == 2


def test_unloading_falls_silent() -> None:
    studio = Studio()
    studio.player.load(TakeBuffer.of(voice(1.0), RATE), play=True)
    studio.run(0.3)
    studio.player.load(None)
    studio.run(0.2)
    assert studio.status == PlayerStatus.EMPTY
    assert not studio.heard[-1000:].any()
    studio.player.play()
    studio.run(0.2)
    assert studio.status == PlayerStatus.EMPTY


def test_states_can_be_compared() -> None:
    studio = Studio()
    assert studio.player.state == replace(studio.player.state)


def test_a_thread_plays_on_the_real_clock_without_hardware() -> None:
    backend = NullBackend("no sound here")
    player = Player(backend)
    player.start()
    take = TakeBuffer.of(voice(0.2), RATE)
    player.load(take, play=True)
    events: list[PlayerEvent] = []
    while not events:  # bounded by the test run's own limit
        events = player.events()
    assert events == [Ended(take)]
    assert player.close()
    assert backend.rescan()
    assert backend.unavailable == "no sound here"
