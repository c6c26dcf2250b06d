"""The player's work: keeps the output's ring filled, and decides what happens when it cannot."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from app.audio.backend import AudioBackend, SoundDeviceError
from app.audio.levels import Levels
from app.audio.output import FADE_SECONDS, Output
from app.audio.player_state import (
    Ended,
    OutputProblem,
    PlayerEvent,
    PlayerState,
    PlayerStatus,
    Starved,
)
from app.audio.start_policy import StartPolicy
from app.audio.take_buffer import TakeBuffer
from app.audio.take_source import TakeSource
from app.audio.timeline import Timeline

PIECE_SECONDS = 0.02  # what is written to the ring at a time, and the meter's grain
DRY_SECONDS = 0.08  # of ring left when a take that does not grow is faded out
IDLE_SECONDS = 10.0  # without sound, after which the device is let go
ACTIVE_STEP = 0.015  # seconds between two steps
IDLE_STEP = 0.1

log = logging.getLogger(__name__)


class Feeder:
    """Everything the player does, in steps, on one thread.

    What is wanted (`_wanted`, `_restart`, `_reopen`) is set by the methods; `step` brings the
    output there. The ring is only changed behind a quiet gate, so nothing ever clicks.
    """

    def __init__(
        self,
        backend: AudioBackend,
        policy: StartPolicy,
        clock: Callable[[], float],
        emit: Callable[[PlayerEvent], None],
    ) -> None:
        self._backend = backend
        self._policy = policy
        self._clock = clock
        self._emit = emit
        self._source: TakeSource | None = None
        self._output: Output | None = None
        self._timeline = Timeline()
        self._fed = 0  # samples since the restart
        self._wanted = False  # to sound
        self._restart: int | None = None  # sample from which the ring is to be filled anew
        self._refill = False  # the same, from wherever it then is
        self._reopen = False  # and through another output
        self._primed = False  # the ring holds what follows the cursor's past
        self._complete = False  # all that will ever follow is in the ring, or it is fading out
        self._starving = False
        self._at_rest = True  # stopped rather than paused
        self._sounded_at = clock()
        self._device_id: str | None = None
        self._state = PlayerState()

    # --- what may be asked for, each effective with the next step ---

    def load(self, take: TakeBuffer | None, position: int, *, play: bool) -> None:
        """Go over to another take, keeping gain and device; the loop is forgotten."""
        if take is None:
            self._source, self._wanted = None, False
        else:
            self._source = TakeSource(take, max(1, round(FADE_SECONDS * take.rate)))
            self._wanted = play
            if self._output is not None and self._output.source_rate != take.rate:
                self._reopen = True
        self._restart = max(position, 0)
        self._at_rest = True
        self._state = replace(self._state, problem=None)

    def play(self) -> None:
        """Sound from where it stands; from the beginning when it stands at, or behind, the end."""
        if self._source is None or self._wanted:
            return
        self._wanted, self._at_rest = True, False
        self._state = replace(self._state, problem=None)
        take, loop = self._source.take, self._source.loop
        if loop is not None and self._position() >= loop[1]:
            self._restart = loop[0]
        elif take.is_finished and self._position() >= take.length:
            self._restart = 0

    def toggle(self) -> None:
        """Pause what sounds or is going to, else play."""
        if self._wanted:
            self.pause()
        else:
            self.play()

    def pause(self) -> None:
        """Fall silent and stay there."""
        if self._wanted:
            self._wanted, self._at_rest = False, False

    def stop(self) -> None:
        """Fall silent and go back to the beginning."""
        self._wanted, self._at_rest = False, True
        self._restart = 0

    def seek(self, position: int) -> None:
        """Go on at a sample of the take."""
        self._restart = max(position, 0)

    def set_loop(self, loop: tuple[int, int] | None) -> None:
        """Repeat a range of samples; None for none."""
        if self._source is None or self._source.loop == loop:
            return
        self._source.set_loop(loop)
        self._refill = True

    def set_gain(self, gain: float) -> None:
        """Multiply amplitudes by `gain` from the next samples on."""
        self._state = replace(self._state, gain=max(gain, 0.0))

    def set_device(self, device_id: str | None) -> None:
        """Sound through another output; None is the system's default."""
        if device_id != self._device_id:
            self._device_id = device_id
            self._change_output()

    def release_device(self) -> None:
        """Close the output now, if nothing sounds, so that devices can be looked for again."""
        if not self._wanted:
            self._change_output()

    # --- the work ---

    def step(self) -> float:
        """Do what is due; returns in how many seconds there is more to do."""
        now = self._clock()
        self._watch_output(now)
        waits: float | None = None
        if self._settle(now):
            if self._wanted and self._source is not None:
                waits = self._sound(self._source, now)
            elif self._output is not None:
                self._output.gate.shut()
                self._output.gate.promised = False
        if self._output is not None:
            self._timeline.observe(now, self._output.ring.read_index)
            self._finish_if_heard(self._output, now)
        self._publish(now, waits)
        active = self._wanted or self._restart is not None or self._refill or self._reopen
        return ACTIVE_STEP if active or now - self._sounded_at < 1 else IDLE_STEP

    @property
    def state(self) -> PlayerState:
        """The moment after the last step."""
        return self._state

    def close(self) -> None:
        """Fall silent for good and let go of the device."""
        self._wanted = False
        self._close_output()

    def _settle(self, now: float) -> bool:
        """Carry out restarts and changes of output; False while the gate is still fading."""
        output = self._output
        if self._wanted or (output is not None and not output.gate.is_quiet):
            self._sounded_at = now
        elif output is not None and now - self._sounded_at > IDLE_SECONDS:
            self._change_output()
        if self._restart is None and not self._refill and not self._reopen:
            return True
        if output is not None:
            output.gate.promised = False
            output.gate.shut()
            if not output.gate.is_quiet:
                return False
            self._timeline.observe(now, output.ring.read_index)
        if self._restart is None:
            # Closing a device drops what it has buffered; otherwise that is still heard.
            self._restart = self._position() if self._reopen else self._timeline.position(now)
        if self._reopen:
            self._close_output()
        self._begin_at(self._restart)
        self._restart = None
        self._refill = self._reopen = False
        return True

    def _begin_at(self, position: int) -> None:
        if self._source is not None:
            if self._source.take.is_finished:
                position = min(position, self._source.take.length)
            self._source.seek(position)
        index, ratio = 0, 1.0
        if self._output is not None:
            self._output.clear(self._state.gain)
            index, ratio = self._output.ring.read_index, self._output.frames_per_sample
        self._timeline.restart(position, index, ratio)
        self._fed = 0
        self._primed = self._complete = self._starving = False

    def _sound(self, source: TakeSource, now: float) -> float | None:
        """Open, prime, feed; returns in how many seconds sound will start if it cannot yet."""
        if self._output is None and not self._open_output(source.take.rate):
            return None
        output = self._output
        assert output is not None, "opened above"
        if not self._primed:
            ahead = source.ahead / source.take.rate
            finished = source.is_complete
            decision = self._policy.decide(ahead, source.take.forecast, finished=finished)
            if not decision.start:
                return decision.wait
            if not output.gate.is_quiet:
                return None
        self._feed(output, source)
        if output.gate.is_shut:
            if not output.gate.is_quiet:
                return None  # paused a moment ago and wanted again
            # The very beginning is played as it is: if the take clicks there, that is heard.
            begins = not self._primed and source.cursor == self._fed
            self._primed = True
            output.gate.open(fade_in=not begins)
            try:
                output.start(now)
            except SoundDeviceError as error:
                self._lose_output(error)
                return None
        output.gate.promised = not (self._complete or self._starving)
        return None

    def _feed(self, output: Output, source: TakeSource) -> None:
        """Fill the ring as far as there is audio."""
        piece_samples = max(1, round(PIECE_SECONDS * source.take.rate))
        while output.missing > 0 and not self._complete and not self._starving:
            complete = source.is_complete
            piece = source.next(piece_samples, keep=0 if complete else source.fade)
            if piece.jumped:
                self._timeline.jump(self._fed, piece.position)
            if len(piece.samples):
                output.write(piece.samples, self._state.gain)
                self._fed += len(piece.samples)
            elif complete and source.is_at_end:
                output.gate.promised = False
                output.flush()
                self._complete = True
            elif output.ring.available < DRY_SECONDS * output.stream.rate:
                self._fade_out(output, source)
                return
            else:
                return

    def _fade_out(self, output: Output, source: TakeSource) -> None:
        """The take does not grow: let its last samples fade instead of being cut."""
        output.gate.promised = False
        rest = source.next(source.fade).samples
        if len(rest):
            ramp = np.linspace(1, 0, len(rest), endpoint=False, dtype=np.float32)
            output.write(rest * ramp, self._state.gain)
            self._fed += len(rest)
        output.flush()
        source.seek(source.cursor - len(rest))  # these are heard again, in full, when it goes on
        self._starving = True

    def _finish_if_heard(self, output: Output, now: float) -> None:
        """Notice that the ring ran out as it had to: at the end, or because of starving."""
        if self._restart is not None or self._refill or self._reopen:
            return
        if not (self._complete or self._starving):
            return
        if output.ring.available:
            return
        if self._timeline.ring_index(now - output.stream.latency) < output.ring.read_index:
            return  # the device still sounds
        output.gate.shut()
        source = self._source
        assert source is not None, "something was fed"
        if self._starving:
            self._restart = source.cursor
            if self._wanted:
                self._state = replace(self._state, starvations=self._state.starvations + 1)
                log.info("Playing waits for the take to be made, at sample %d", source.cursor)
                self._emit(Starved(source.cursor))
        elif self._wanted:
            self._wanted, self._at_rest = False, True
            self._emit(Ended(source.take))

    # --- the output ---

    def _open_output(self, rate: int) -> bool:
        position = self._position()
        try:
            self._output = Output(self._backend, self._device_id, rate)
        except SoundDeviceError as error:
            self._lose_output(error)
            return False
        stream = self._output.stream
        log.info("Opened %s at %d Hz for %d Hz", stream.device.id, stream.rate, rate)
        self._begin_at(position)
        return True

    def _watch_output(self, now: float) -> None:
        output = self._output
        if output is None:
            return
        underruns, dropouts = output.new_faults()
        if underruns or dropouts:
            self._state = replace(
                self._state,
                underruns=self._state.underruns + underruns,
                dropouts=self._state.dropouts + dropouts,
            )
            log.warning("Sound was late: %d underruns, %d device dropouts", underruns, dropouts)
        if output.is_lost(now) and self._wanted:
            seconds = self._position() // output.source_rate
            self._lose_output(
                SoundDeviceError(
                    f"The output “{output.stream.device.name}” went away at "
                    f"{seconds // 60}:{seconds % 60:02d}.",
                    "Playing is paused there: connect it again or choose another, then play.",
                )
            )
        elif output.is_lost(now):
            self._restart = self._position()
            self._close_output()

    def _lose_output(self, error: SoundDeviceError) -> None:
        log.warning("%s", error.message)
        self._restart = self._position()
        self._close_output()
        self._wanted, self._at_rest = False, False
        self._state = replace(self._state, problem=error)
        self._emit(OutputProblem(error))

    def _change_output(self) -> None:
        """Close the output as soon as it is quiet; the next sound opens one."""
        if self._output is not None:
            self._reopen = True

    def _close_output(self) -> None:
        if self._output is not None:
            self._output.close()
            self._output = None

    # --- what is told ---

    def _position(self) -> int:
        if self._restart is not None:
            return self._restart
        when = self._clock()
        if self._output is not None:
            when -= self._output.stream.latency
        position = self._timeline.position(when)
        if self._source is not None and self._source.take.is_finished:
            position = min(position, self._source.take.length)
        return position

    def _status(self) -> PlayerStatus:
        if self._source is None:
            return PlayerStatus.EMPTY
        if self._wanted:
            sounds = self._output is not None and not self._output.gate.is_shut
            return PlayerStatus.PLAYING if sounds else PlayerStatus.WAITING
        return PlayerStatus.STOPPED if self._at_rest else PlayerStatus.PAUSED

    def _publish(self, now: float, waits: float | None) -> None:
        output, source = self._output, self._source
        status = self._status()
        levels = Levels()
        if output is not None:
            heard = self._timeline.ring_index(now - output.stream.latency)
            measured = output.levels(heard)
            levels = measured if status is PlayerStatus.PLAYING else levels
        self._state = replace(
            self._state,
            status=status,
            take=None if source is None else source.take,
            position=self._position(),
            loop=None if source is None else source.loop,
            levels=levels,
            starts_in=waits if status is PlayerStatus.WAITING else None,
            device=None if output is None else output.stream.device,
            rate=0 if output is None else output.stream.rate,
            latency=0.0 if output is None else output.stream.latency,
        )
