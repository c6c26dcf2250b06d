"""The recorder's work: empties the input's ring, watches what comes and keeps it when asked to."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np

from app.audio.backend import AudioBackend, Frames, SoundDeviceError, Stream
from app.audio.journal import Journal, JournalNote, recording_name, save_as_wav
from app.audio.levels import CLIPPED, LevelMeter, NoiseFloor, SilenceWatch
from app.audio.recorder_state import RecorderState, RecorderStatus, Recording
from app.audio.ring import FrameRing
from engine.errors import AudioFileError, ExplainedError

RING_SECONDS = 5.0  # how long a slow disk may keep us
PRE_ROLL_SECONDS = 0.5
SILENCE_SECONDS = 2.0
STUCK_SECONDS = 5.0  # without a frame: the device is gone though nobody says so
ACTIVE_STEP = 0.03  # seconds between two steps
IDLE_STEP = 0.2

log = logging.getLogger(__name__)


class _Microphone:
    """An open input with what watches it."""

    def __init__(self, backend: AudioBackend, device_id: str | None, now: float) -> None:
        """Open and start it; raises SoundDeviceError."""
        self.stream: Stream = backend.open_input(device_id, None)
        rate, channels = self.stream.rate, self.stream.channels
        self.ring = FrameRing(round(RING_SECONDS * rate), channels)
        self.meter = LevelMeter(rate)
        self.noise = NoiseFloor(rate)
        self.silence = SilenceWatch(rate, SILENCE_SECONDS)
        self.pre_roll: deque[Frames] = deque()
        self.heard_at = now
        try:
            self.stream.start(self.ring.accept)
        except SoundDeviceError:
            self.stream.close()
            raise

    def keep_pre_roll(self, block: Frames) -> None:
        """Remember block [n, channels] and forget what is older than half a second."""
        self.pre_roll.append(block)
        limit = round(PRE_ROLL_SECONDS * self.stream.rate)
        surplus = sum(len(kept) for kept in self.pre_roll) - limit
        while surplus > 0:
            oldest = self.pre_roll.popleft()
            if len(oldest) > surplus:
                self.pre_roll.appendleft(oldest[surplus:])
            surplus -= len(oldest)

    @property
    def gaps(self) -> int:
        """How often audio was lost, before the ring or in it."""
        return self.stream.dropouts + self.ring.overruns


class Capture:
    """Everything the recorder does, in steps, on one thread."""

    def __init__(
        self,
        backend: AudioBackend,
        folder: Path,
        clock: Callable[[], float],
        deliver: Callable[[Recording], None],
    ) -> None:
        self._backend = backend
        self._folder = folder
        self._clock = clock
        self._deliver = deliver
        self._microphone: _Microphone | None = None
        self._journal: Journal | None = None
        self._watch: SilenceWatch | None = None  # of the recording, the monitor has its own
        self._gaps_before = 0
        self._state = RecorderState()

    @property
    def state(self) -> RecorderState:
        """The moment after the last step."""
        return self._state

    def open(self, device_id: str | None) -> None:
        """Show the levels of a microphone, closing another one."""
        self.close()
        try:
            self._microphone = _Microphone(self._backend, device_id, self._clock())
        except SoundDeviceError as error:
            log.warning("%s", error)
            self._state = RecorderState(problem=error)
            return
        stream = self._microphone.stream
        log.info("Opened %s at %d Hz", stream.device.id, stream.rate)
        self._state = RecorderState(
            RecorderStatus.MONITORING, stream.device, stream.rate, stream.channels
        )

    def record(self) -> None:
        """Begin a recording with what was heard in the last half second."""
        microphone = self._microphone
        if microphone is None or self._journal is not None:
            return
        self._take_in(microphone)
        if self._microphone is None:
            return
        stream = microphone.stream
        now = datetime.now().astimezone()
        note = JournalNote(
            stream.rate, stream.channels, stream.device.name, now.isoformat(timespec="seconds")
        )
        try:
            self._journal = Journal(self._folder, recording_name(now), note)
        except OSError as error:
            self._deliver(Recording(None, stream.rate, 0, problem=self._disk_error(error, 0.0)))
            return
        self._watch = SilenceWatch(stream.rate, SILENCE_SECONDS)
        self._gaps_before = microphone.gaps
        self._state = replace(
            self._state, status=RecorderStatus.RECORDING, frames=0, has_clipped=False
        )
        for block in microphone.pre_roll:
            self._keep(block)

    def stop(self) -> None:
        """End the recording with the last frame that has come in."""
        if self._microphone is not None and self._journal is not None:
            self._take_in(self._microphone)
        self._end_recording(None)

    def close(self) -> None:
        """End the recording and let go of the microphone."""
        self.stop()
        self._close_microphone(None)

    def reset_clip(self) -> None:
        self._state = replace(self._state, has_clipped=False)

    def step(self) -> float:
        """Do what is due; returns in how many seconds there is more to do."""
        microphone = self._microphone
        if microphone is None:
            return IDLE_STEP
        alive = microphone.stream.is_alive  # before the ring: what came last is still in it
        now = self._clock()
        if self._take_in(microphone):
            microphone.heard_at = now
        elif not alive or now - microphone.heard_at > STUCK_SECONDS:
            self._lose(microphone)
        return ACTIVE_STEP

    def _take_in(self, microphone: _Microphone) -> int:
        """Move what came in from the ring to meters and disk; returns its frames."""
        block = microphone.ring.take()
        if not len(block):
            return 0
        block = np.where(np.isfinite(block), block, np.float32(0))  # some drivers begin with NaN
        levels = microphone.meter.feed(block)
        microphone.noise.feed(block)
        microphone.silence.feed(block)
        microphone.keep_pre_roll(block)
        self._state = replace(
            self._state,
            levels=levels,
            has_clipped=self._state.has_clipped or levels.peak >= CLIPPED,
            noise_floor=microphone.noise.amplitude,
            is_silent=microphone.silence.is_silent,
        )
        self._keep(block)
        return len(block)

    def _keep(self, block: Frames) -> None:
        if self._journal is None or self._watch is None:
            return
        try:
            self._journal.append(block)
        except OSError as error:
            seconds = self._journal.frames / self._journal.note.rate
            self._end_recording(self._disk_error(error, seconds))
            return
        self._watch.feed(block)
        clipped = float(np.abs(block).max(initial=0)) >= CLIPPED
        self._state = replace(
            self._state,
            frames=self._journal.frames,
            has_clipped=self._state.has_clipped or clipped,
        )

    def _end_recording(self, problem: ExplainedError | None) -> None:
        """Close the journal, turn it into a WAV and tell how it ended."""
        journal, watch, microphone = self._journal, self._watch, self._microphone
        if journal is None or watch is None or microphone is None:
            return
        self._journal = self._watch = None
        rate = journal.note.rate
        silent = journal.frames > 0 and not watch.ever_alive
        path: Path | None = None
        try:
            journal.close()
            saved = save_as_wav(journal.path)
            path = saved[0] if saved else None
        except (OSError, ExplainedError) as error:
            problem = problem or _not_saved(journal.path, error)
        if problem is None and not journal.frames:
            problem = AudioFileError(
                "Nothing was recorded: it was stopped before the first sound came in.",
                "Wait until the level meter moves.",
            )
        if problem is None and silent:
            problem = silence_error(journal.note.device)
        self._state = replace(self._state, status=RecorderStatus.MONITORING, frames=0)
        self._deliver(
            Recording(
                path=path,
                rate=rate,
                frames=journal.frames,
                has_clipped=self._state.has_clipped,
                was_silent=silent,
                gaps=microphone.gaps - self._gaps_before,
                problem=problem,
            )
        )

    def _lose(self, microphone: _Microphone) -> None:
        name = microphone.stream.device.name
        problem = SoundDeviceError(
            f"The microphone “{name}” was unplugged.",
            "Connect it again or choose another one.",
        )
        if self._journal is not None:
            seconds = self._journal.frames // self._journal.note.rate
            kept = "second is" if seconds == 1 else f"{seconds} seconds are"
            if not seconds:
                kept = "moments are"
            problem = SoundDeviceError(
                f"The microphone was unplugged at {seconds // 60}:{seconds % 60:02d}. "
                f"Your first {kept} kept.",
                "Connect it again or choose another one.",
                detail=name,
            )
        log.warning("%s (%s)", problem.message, name)
        self._end_recording(problem)
        self._close_microphone(problem)

    def _close_microphone(self, problem: SoundDeviceError | None) -> None:
        if self._microphone is not None:
            self._microphone.stream.close()
            self._microphone = None
            self._state = RecorderState(problem=problem)

    def _disk_error(self, error: OSError, seconds: float) -> AudioFileError:
        kept = f" The first {seconds:.0f} seconds are kept." if seconds >= 1 else ""
        return AudioFileError(
            f"The recording cannot be written to {self._folder}: {error.strerror or error}.{kept}",
            "Free some space or choose another folder, then record again.",
        )


def _not_saved(raw: Path, error: OSError | ExplainedError) -> AudioFileError:
    """Why a recording is no WAV yet, and where it is."""
    reason = error.message if isinstance(error, ExplainedError) else error.strerror or str(error)
    return AudioFileError(
        f"The recording could not be saved as WAV: {reason.rstrip('.')}.",
        f"It is kept as {raw} and will be saved at the next start."
        if raw.exists()
        else "Its folder was removed meanwhile: record again.",
        str(error),
    )


def silence_error(device: str) -> SoundDeviceError:
    """What to say about a microphone that delivers only silence."""
    return SoundDeviceError(
        f"The microphone “{device}” delivers only silence: is it muted?",
        "Look for a mute switch on it and for the input level and the privacy settings of the "
        "system.",
    )
