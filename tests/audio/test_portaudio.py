"""Real PortAudio streams: what is played is recorded again and compared with what was meant."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import soundfile

from app.audio.backend import Stream
from app.audio.player import Player
from app.audio.player_state import Ended, OutputProblem, PlayerEvent, PlayerState, PlayerStatus
from app.audio.portaudio import PortAudioBackend, PortAudioStream
from app.audio.recorder import Recorder
from app.audio.recorder_state import RecorderStatus, Recording
from app.audio.resampler import StreamResampler
from app.audio.ring import FrameRing
from app.audio.survey import Survey
from app.audio.take_buffer import Forecast, TakeBuffer
from engine.types import Samples
from tests.audio.conftest import OUTPUT_LATENCY, PATIENCE, PulseServer

TAKE_RATE = 24_000
RATE = 48_000
DEVICE = "ALSA/pulse"
TRIES = 4
INTERPOLATION_ERROR = 1e-4  # 74 dB below the sound, for speex at quality 10 against ours


def until(condition: Callable[[], bool]) -> None:
    """Wait for what must happen."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def voice(seconds: float, rate: int, seed: int = 0) -> Samples:
    """Noise below 8 kHz, loud from its first to its last sample, after a quarter second of zeros.

    The zeros, because a null sink's monitor does not tell what the sink took back: when a client
    begins, it mixes again what it has already shown to the monitor.
    """
    count = round(seconds * rate)
    spectrum = np.fft.rfft(np.random.default_rng(seed).normal(0, 1, count))
    spectrum[round(8000 * seconds) :] = 0
    noise = np.fft.irfft(spectrum, count)
    noise *= 0.5 / np.abs(noise).max()
    noise[0] = noise[-1] = 0.25
    return np.concatenate((np.zeros(rate // 4), noise)).astype(np.float32)


@dataclass(frozen=True)
class Session:
    """What came out of the sink while a player played to it."""

    heard: Samples
    state: PlayerState
    lost: int  # by the recording

    @property
    def was_disturbed(self) -> bool:
        """Whether the computer was so busy that somebody says he came too late."""
        state = self.state
        return bool(self.lost or state.underruns or state.dropouts or state.starvations)


class Monitor:
    """Records the sink."""

    def __init__(self, backend: PortAudioBackend) -> None:
        self.stream: Stream = backend.open_input(DEVICE, RATE)
        self.ring = FrameRing(120 * RATE, self.stream.channels)
        self.stream.start(self.ring.accept)
        until(lambda: self.ring.available > 0)

    def heard(self, count: int) -> Samples:
        """What was recorded, at least `count` samples; ends the recording."""
        until(lambda: self.ring.available >= count)
        self.stream.close()
        frames = self.ring.take()
        assert (frames == frames[:, :1]).all()
        return frames[:, 0]


def played(
    backend: PortAudioBackend,
    ears: PortAudioBackend,
    take: TakeBuffer,
    make: Callable[[], None] = lambda: None,
) -> Session:
    """Play a take to its end, calling `make` all the while, and hear it."""
    monitor = Monitor(ears)
    player = Player(backend)
    player.start()
    player.set_output(DEVICE)
    player.load(take, play=True)
    events: list[PlayerEvent] = []

    def ended() -> bool:
        make()
        events.extend(player.events())
        return Ended(take) in events

    until(ended)
    heard = monitor.heard(monitor.ring.available + RATE)  # what the device still buffered, too
    state = player.state
    assert player.close()
    return Session(heard, state, monitor.ring.overruns + monitor.stream.dropouts)


def undisturbed(scenario: Callable[[], Session]) -> Session:
    """The session of a scenario that found the time it needs.

    A busy computer tears the sound, which is no fault as long as the counters tell. A gap that no
    counter tells of fails the test at its first occurrence.
    """
    for _ in range(TRIES):
        session = scenario()
        if not session.was_disturbed:
            break
    assert not session.was_disturbed, session.state
    return session


def sounding(heard: Samples) -> Samples:
    places = np.flatnonzero(heard)
    assert len(places), "nothing was heard"
    return heard[places[0] : places[-1] + 1]


def shifted(samples: Samples, delay: float) -> Samples:
    """Samples, periodic, a fraction of a sample later."""
    omega = 2 * np.pi * np.fft.rfftfreq(len(samples))
    moved = np.fft.irfft(np.fft.rfft(samples) * np.exp(-1j * omega * delay), len(samples))
    return moved.astype(np.float32)


def delay_of(heard: Samples, expected: Samples) -> float:
    """How many samples `heard` is behind `expected`, by the slope of their phase difference."""
    cross = np.fft.rfft(heard) * np.conj(np.fft.rfft(expected))
    peak = int(np.argmax(np.fft.irfft(cross, len(heard))))
    omega = 2 * np.pi * np.fft.rfftfreq(len(heard))
    turned = np.angle(cross * np.exp(1j * omega * peak))
    weight = np.abs(cross) * omega
    return peak - float((weight * turned).sum() / (weight * omega).sum())


def test_devices_are_listed_with_the_default_first(backend: PortAudioBackend) -> None:
    for devices in (backend.list_outputs(), backend.list_inputs()):
        assert {device.id for device in devices} == {"ALSA/pulse", "ALSA/default"}
        assert [device.is_default for device in devices] == [True, False]
        assert all(device.channels >= 2 for device in devices)


def test_a_take_of_the_rate_of_the_device_arrives_bit_for_bit(
    backend: PortAudioBackend, ears: PortAudioBackend
) -> None:
    samples = voice(3.0, RATE)
    session = undisturbed(lambda: played(backend, ears, TakeBuffer.of(samples, RATE)))
    assert np.array_equal(sounding(session.heard), sounding(samples))
    assert session.state.rate == RATE


def test_a_growing_take_arrives_bit_for_bit(
    backend: PortAudioBackend, ears: PortAudioBackend
) -> None:
    samples = voice(4.0, RATE)
    piece = round(0.16 * RATE)
    speed = 1.6

    def scenario() -> Session:
        take = TakeBuffer(RATE)
        began = time.monotonic()

        def make() -> None:
            made = (time.monotonic() - began) * speed * RATE
            while take.length < min(made - piece, len(samples)):
                take.append(samples[take.length : take.length + piece])
                rest = (len(samples) - take.length) / RATE
                take.announce(Forecast(speed, rest, piece / RATE))
            if take.length == len(samples) and not take.is_finished:
                take.finish()

        return played(backend, ears, take, make)

    assert np.array_equal(sounding(undisturbed(scenario).heard), sounding(samples))


def test_a_take_of_24_khz_is_converted_by_the_system(
    backend: PortAudioBackend, ears: PortAudioBackend
) -> None:
    samples = voice(3.0, TAKE_RATE)
    session = undisturbed(lambda: played(backend, ears, TakeBuffer.of(samples, TAKE_RATE)))
    assert session.state.rate == TAKE_RATE
    resampler = StreamResampler(TAKE_RATE, RATE)
    expected = np.concatenate((resampler.feed(samples), resampler.flush()))
    padded = np.zeros(len(session.heard), np.float32)
    padded[: len(expected)] = expected
    delay = delay_of(session.heard, padded)
    error = np.abs(session.heard - shifted(padded, delay))
    begin, end = round(delay) + RATE // 4, round(delay) + len(expected)
    # Between the two edges, which reach beyond 8 kHz, the two filters differ by rounding.
    assert error[begin + 400 : end - 400].max() < INTERPOLATION_ERROR
    assert error.max() < 0.1  # at the edges
    assert np.abs(session.heard[: begin - 400]).max() < INTERPOLATION_ERROR
    assert np.abs(session.heard[end + 400 :]).max() < INTERPOLATION_ERROR


class PickyBackend(PortAudioBackend):
    """Outputs that do 48 kHz whatever they are asked for, as many sound cards do."""

    def open_output(self, device_id: str | None, rate: int) -> PortAudioStream:
        return super().open_output(device_id, RATE)


def test_a_take_of_24_khz_is_converted_here(
    backend: PortAudioBackend, ears: PortAudioBackend
) -> None:
    samples = voice(3.0, TAKE_RATE)
    picky = PickyBackend(OUTPUT_LATENCY)
    session = undisturbed(lambda: played(picky, ears, TakeBuffer.of(samples, TAKE_RATE)))
    assert session.state.rate == RATE
    resampler = StreamResampler(TAKE_RATE, RATE)
    expected = np.concatenate((resampler.feed(samples), resampler.flush()))
    heard, expected = sounding(session.heard), sounding(expected)
    assert len(heard) == len(expected)
    assert np.allclose(heard, expected, atol=1e-6)


def test_pausing_and_going_on_leaves_nothing_out(
    backend: PortAudioBackend, ears: PortAudioBackend
) -> None:
    samples = sounding(voice(2.0, RATE))
    take = TakeBuffer.of(voice(2.0, RATE), RATE)

    def scenario() -> Session:
        monitor = Monitor(ears)
        player = Player(backend)
        player.start()
        player.load(take, play=True)
        until(lambda: player.state.position > 0.5 * RATE)
        player.pause()
        until(lambda: player.state.status is PlayerStatus.PAUSED)
        paused = monitor.ring.write_index
        until(lambda: monitor.ring.write_index > paused + RATE)
        player.play()
        until(lambda: player.state.status is PlayerStatus.STOPPED)
        heard = monitor.heard(monitor.ring.available + RATE)
        state = player.state
        assert player.close()
        return Session(heard, state, monitor.ring.overruns + monitor.stream.dropouts)

    heard = sounding(undisturbed(scenario).heard)
    quiet = len(heard) - len(samples)
    assert quiet > 0.2 * RATE
    # The two halves, wherever they were parted, join to the take but for the two fades.
    [*_, parted] = np.flatnonzero(heard[:-quiet] == samples)
    fade = round(0.005 * RATE)
    before, after = heard[: parted + fade + 1], heard[len(heard) - len(samples) + parted + 1 :]
    assert np.array_equal(before[: parted + 1], samples[: parted + 1])
    assert np.array_equal(after[2 * fade :], samples[parted + 1 + 2 * fade :])
    between = heard[parted + fade + 1 : parted + 1 + quiet]
    assert np.abs(between).max() < 0.1


def test_an_output_that_disappears_can_be_followed_by_another(
    backend: PortAudioBackend, server: PulseServer
) -> None:
    player = Player(backend)
    player.start()
    take = TakeBuffer.of(voice(30.0, RATE), RATE)
    player.load(take, play=True)
    until(lambda: player.state.position > RATE)
    server.kill()
    until(lambda: player.state.status == "paused")
    [event] = player.events()
    assert isinstance(event, OutputProblem)
    assert "went away at 0:0" in event.error.message
    position = player.state.position
    assert RATE < position < 20 * RATE
    player.play()  # there is no server now
    until(lambda: bool(player.events()))
    assert player.state.status == "paused"
    server.start()
    assert backend.rescan()
    player.play()
    until(lambda: player.state.position > position + RATE // 2)
    assert player.state.status == "playing"
    assert player.state.problem is None
    assert not backend.rescan()
    assert player.close()
    assert backend.rescan()


def test_all_inputs_are_heard_at_once_and_let_go(
    backend: PortAudioBackend, ears: PortAudioBackend
) -> None:
    player, survey = Player(backend), Survey(ears)
    player.start()
    survey.start()
    inputs = ears.list_inputs()
    survey.watch(*inputs)
    player.load(TakeBuffer.of(voice(20.0, RATE), RATE), play=True)
    until(lambda: {device.id for device in inputs} == set(survey.state.levels))
    until(lambda: all(levels.peak > 0.1 for levels in survey.state.levels.values()))
    assert not ears.rescan()
    survey.watch()
    until(lambda: survey.is_free)
    assert ears.rescan()
    assert survey.close()
    assert player.close()


class RecordingStudio:
    """A recorder of the sink, with something to hear."""

    def __init__(self, backend: PortAudioBackend, ears: PortAudioBackend, folder: Path) -> None:
        self.samples = voice(20.0, RATE, seed=7)
        self.recorder = Recorder(ears, folder)
        self.player = Player(backend)
        self.recorder.start()
        self.player.start()
        self.recorder.monitor(DEVICE)
        until(lambda: self.recorder.state.noise_floor is not None)
        self.player.load(TakeBuffer.of(self.samples, RATE), play=True)
        until(lambda: self.recorder.state.levels.peak > 0.1)
        self.recorder.record()

    def record_until(self, seconds: float) -> None:
        until(lambda: self.recorder.state.seconds >= seconds)

    def ended(self) -> Recording:
        recordings: list[Recording] = []

        def is_told() -> bool:
            recordings.extend(self.recorder.recordings())
            return bool(recordings)

        until(is_told)
        [recording] = recordings
        return recording

    def close(self) -> None:
        assert self.recorder.close()
        assert self.player.close()

    def has_heard(self, recording: Recording) -> bool:
        """Whether all of a recording is what was played, without a gap."""
        state = self.player.state
        if recording.gaps or state.underruns or state.dropouts:
            return False
        assert recording.path is not None
        kept, rate = soundfile.read(recording.path, dtype="float32")
        assert rate == RATE
        assert len(kept) == recording.frames
        sound = sounding(kept)
        [first, *_] = np.flatnonzero(self.samples == sound[0])
        assert np.array_equal(sound, self.samples[first : first + len(sound)])
        assert len(sound) > 0.5 * len(kept)
        return True


def recorded(backend: PortAudioBackend, ears: PortAudioBackend, folder: Path) -> bool:
    """Record three seconds and compare them; False when the computer was too busy for it."""
    studio = RecordingStudio(backend, ears, folder)
    studio.record_until(3.0)
    studio.recorder.stop()
    recording = studio.ended()
    until(lambda: studio.recorder.state.status is RecorderStatus.MONITORING)
    studio.close()
    assert recording.problem is None
    assert recording.frames >= 3.0 * RATE
    return studio.has_heard(recording)


def test_a_recording_is_what_was_played(
    backend: PortAudioBackend, ears: PortAudioBackend, tmp_path: Path
) -> None:
    assert any(recorded(backend, ears, tmp_path) for _ in range(TRIES))


@pytest.mark.parametrize("way", ["unload_sink", "kill"])
def test_a_microphone_that_vanishes_loses_nothing(
    backend: PortAudioBackend, ears: PortAudioBackend, server: PulseServer, tmp_path: Path, way: str
) -> None:
    studio = RecordingStudio(backend, ears, tmp_path)
    studio.record_until(2.0)
    getattr(server, way)()
    recording = studio.ended()
    until(lambda: studio.recorder.state.status is RecorderStatus.CLOSED)
    studio.close()
    assert recording.problem is not None
    seconds = recording.frames // RATE
    assert seconds >= 2
    assert recording.problem.message == (
        f"The microphone was unplugged at 0:{seconds:02d}. Your first {seconds} seconds are kept."
    )
    assert recording.path is not None
    kept, _ = soundfile.read(recording.path, dtype="float32")
    assert len(kept) == recording.frames
    assert np.abs(kept).max() > 0.1
    assert [path.suffix for path in tmp_path.glob("recording*")] == [".wav"]
