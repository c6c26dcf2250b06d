"""Reads recordings in any format of libsndfile, block by block, and says in words what is wrong."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import soundfile
from numpy.typing import NDArray

from engine.audio.channels import ChannelTally
from engine.audio.findings import AudioWarning, AudioWarningKind, warnings_of
from engine.audio.report import AudioReport, assess
from engine.audio.resampling import resample
from engine.audio.source import (
    ANOTHER_COPY,
    SoundBytes,
    not_readable,
    ogg_has_end,
    refuse_voice_file,
)
from engine.errors import AudioFileError
from engine.types import Samples

LONGEST_SECONDS = 600.0
SHORTEST_REFERENCE_SECONDS = 0.08  # one codec frame: 1920 samples at 24 kHz
SILENT_DBFS = -80.0  # some steps of 16 bits: a muted input rather than a quiet voice
RATES = (1000, 400_000)  # Hz; the header of anything else is damaged
BLOCK_VALUES = 1 << 17
LARGEST_VALUE = 1e6  # 120 dB over full scale: no sound, and its square still fits float32
NO_LENGTH = 1 << 62  # frames, of a stream that was never told its length
STREAMED_BYTES = 0x7FFF_0000  # data size from here on: written before the size was known
NOTICED_SECONDS = 0.01

_COMPRESSED = {"FLAC", "MP3"}  # their headers only claim a length
_WAV = frozenset({".wav", ".wave", ".bwf"})
_EXTENSIONS = {
    "WAV": _WAV,
    "WAVEX": _WAV,
    "RF64": _WAV | {".rf64"},
    "W64": frozenset({".w64"}),
    "FLAC": frozenset({".flac"}),
    "OGG": frozenset({".ogg", ".oga", ".opus"}),
    "MP3": frozenset({".mp3", ".mp2", ".mpga"}),
    "AIFF": frozenset({".aif", ".aiff", ".aifc"}),
    "CAF": frozenset({".caf"}),
    "AU": frozenset({".au", ".snd"}),
}
_FOREIGN = frozenset({".m4a", ".mp4", ".aac", ".wma", ".webm"})
_LENGTH_CORRECTED = re.compile(
    # Lines of libsndfile's log; for RF64 and Wave64 it only mentions the size of the whole.
    r"^\s*(?:data|SSND|Data Size|riff|Riff size)\s*: (\d+) \(should be (\d+)\)$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class AudioSource:
    """Where a recording came from."""

    path: Path
    container: str  # libsndfile's name: "WAV", "FLAC", "MP3", ...
    encoding: str  # "PCM_16", "FLOAT", "VORBIS", ...
    file_bytes: int


@dataclass(frozen=True, eq=False)
class Recording:
    """A recording as the engine uses it: mono at its native rate, finite, not empty."""

    samples: Samples  # [n]
    sample_rate: int
    channels: int  # of the file
    report: AudioReport  # `clipped` counts over all channels of the file
    warnings: tuple[AudioWarning, ...]
    source: AudioSource

    @property
    def seconds(self) -> float:
        return self.samples.size / self.sample_rate

    def at(self, rate: int) -> Samples:
        """The samples at another rate in Hz."""
        return resample(self.samples, self.sample_rate, rate)


def read_audio(path: Path) -> Recording:
    """Read a sound file of any format, rate and channel count that libsndfile knows.

    Integers are scaled to [-1, 1), floats kept as they are; nothing is trimmed or made louder. The
    mono signal is the mean over all channels, as the official implementation has it (the C++ port
    takes the first two of more than two). Values that are no numbers become 0. What is wrong but
    can be used is told in `Recording.warnings`.

    Raises AudioFileError if the file cannot be opened or read, is no sound file, holds no samples
    or more than 10 minutes. A long file is refused without being loaded.
    """
    with _opened(path) as (file, size):
        head = file.read(64)
        if not head:
            raise AudioFileError(
                f"{path} is empty (0 bytes).", "The recording was never written; make it again."
            )
        refuse_voice_file(path, head)
        source = SoundBytes(file, size)
        try:
            sound = soundfile.SoundFile(source)
        except soundfile.LibsndfileError as error:
            if source.error is not None:
                raise _unreadable(path, source.error) from error
            raise not_readable(path, head, error.error_string) from error
        with sound:
            return _read(path, sound, source, file, size)


def read_reference(path: Path) -> Recording:
    """Read a recording that a voice is to be made from.

    Raises AudioFileError as `read_audio` and `check_reference` do.
    """
    recording = read_audio(path)
    check_reference(recording)
    return recording


def check_reference(recording: Recording) -> None:
    """Raise AudioFileError if no voice can be made from this: shorter than 0.08 s, or silent."""
    path = recording.source.path
    if recording.seconds < SHORTEST_REFERENCE_SECONDS:
        raise AudioFileError(
            f"{path} is too short for a voice: {recording.seconds:.3f} s, at least "
            f"{SHORTEST_REFERENCE_SECONDS} s are needed.",
            "Record 6 to 15 s of speech.",
        )
    if recording.report.peak_dbfs < SILENT_DBFS:
        raise AudioFileError(
            f"{path} is silent: its loudest sample is at {recording.report.peak_dbfs:.0f} dBFS.",
            "Check that the right microphone was chosen and not muted, and record again.",
        )


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """The file and its size in bytes; never waits on a pipe or a device."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise AudioFileError(f"{path} is a folder.", "Choose a recording in it.")
        if not stat.S_ISREG(status.st_mode):
            raise AudioFileError(f"{path} is not a file.", "Choose a recording.")
        file = path.open("rb")
    except FileNotFoundError as error:
        raise AudioFileError(
            f"{path} does not exist.", "Check the path; the file may have been moved."
        ) from error
    except OSError as error:
        raise _unreadable(path, error) from error
    with file:
        try:
            yield file, status.st_size
        except OSError as error:
            raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> AudioFileError:
    return AudioFileError(
        f"{path} cannot be read: {error.strerror or error}.",
        "Check its permissions and that its drive is connected.",
    )


def _read(
    path: Path, sound: soundfile.SoundFile, source: SoundBytes, file: BinaryIO, size: int
) -> Recording:
    rate, channels = int(sound.samplerate), int(sound.channels)
    if not RATES[0] <= rate <= RATES[1]:
        raise AudioFileError(
            f"{path} is damaged: its header gives a sample rate of {rate} Hz.", ANOTHER_COPY
        )
    declared = int(sound.frames)
    longest = int(LONGEST_SECONDS * rate)
    if declared > longest and sound.format not in _COMPRESSED:
        raise _too_long(path, declared / rate)

    tally = ChannelTally(channels)
    blocks: list[Samples] = []
    frames = not_numbers = 0
    for block in _blocks(sound):
        frames += len(block)
        if frames > longest:
            raise _too_long(path, frames / rate)
        bad = ~(np.abs(block) < LARGEST_VALUE)
        if bad.any():
            not_numbers += int(bad.sum())
            block[bad] = 0
        mono = block.mean(axis=1, dtype=np.float32)  # [n]
        tally.add(block, mono)
        blocks.append(mono)
    if source.error is not None:
        raise _unreadable(path, source.error)
    if not frames:
        raise AudioFileError(
            f"{path} holds no sound: no samples follow its header.",
            "The recording was stopped before anything was written, or the file is damaged; "
            "record or export it again.",
        )

    samples = np.concatenate(blocks)
    report = replace(assess(samples, rate), clipped=tally.clipped)
    found = [*_about_file(path, sound, declared, frames), *tally.warnings()]
    if sound.format == "OGG" and not ogg_has_end(file, size):
        found.insert(0, _truncated(frames / rate, 0.0))
    if not_numbers:
        found.append(
            AudioWarning(
                AudioWarningKind.NOT_NUMBERS,
                f"{not_numbers} values of the recording are no usable numbers; they are taken as "
                "silence.",
                float(not_numbers),
            )
        )
    return Recording(
        samples=samples,
        sample_rate=rate,
        channels=channels,
        report=report,
        warnings=(*found, *warnings_of(report)),
        source=AudioSource(path, sound.format, sound.subtype, size),
    )


def _blocks(sound: soundfile.SoundFile) -> Iterator[NDArray[np.float32]]:
    """The samples in blocks [n, channels] that are valid until the next one is asked for.

    Where the decoder fails, the samples before that place are the last block.
    """
    rows = max(1024, BLOCK_VALUES // sound.channels)
    buffer = np.empty((rows, sound.channels), np.float32)
    while True:
        # The decoder does not say how far it came when it fails: what is still NaN was not written.
        buffer.fill(np.nan)
        try:
            count = len(sound.read(out=buffer))
        except soundfile.LibsndfileError:
            unwritten = np.isnan(buffer[:, 0])
            count = int(unwritten.argmax()) if unwritten.any() else rows
            yield buffer[:count]
            return
        if not count:
            return
        yield buffer[:count]


def _too_long(path: Path, seconds: float) -> AudioFileError:
    length = f"{seconds / 60:.0f} minutes" if seconds > 1.5 * LONGEST_SECONDS else "longer"
    return AudioFileError(
        f"{path} is too long: {length}, where {LONGEST_SECONDS / 60:.0f} minutes are the most.",
        "Cut out the part that is needed; 6 to 15 s of speech suit best for a voice.",
    )


def _truncated(seconds: float, missing: float) -> AudioWarning:
    lost = f"{missing:.1f} s are missing" if missing else "its end is missing"
    return AudioWarning(
        AudioWarningKind.TRUNCATED,
        f"The file is cut off or damaged: {lost}, the {seconds:.1f} s before are used.",
        missing,
    )


def _about_file(
    path: Path, sound: soundfile.SoundFile, declared: int, frames: int
) -> Iterator[AudioWarning]:
    rate = sound.samplerate
    missing = max(0, declared - frames) / rate if declared < NO_LENGTH else 0.0
    for promised, there in _LENGTH_CORRECTED.findall(sound.extra_info):
        if int(there) and (int(promised) < STREAMED_BYTES or sound.format in ("RF64", "W64")):
            missing = max(missing, frames / rate * (int(promised) / int(there) - 1))
    if missing > NOTICED_SECONDS:
        yield _truncated(frames / rate, missing)
    suffix = path.suffix.lower()
    own = _EXTENSIONS.get(sound.format, frozenset())
    if suffix not in own and suffix in _FOREIGN.union(*_EXTENSIONS.values()):
        yield AudioWarning(
            AudioWarningKind.MISLABELLED,
            f'The file is named "{suffix}" but is {sound.format}; it was read as what it is.',
        )
