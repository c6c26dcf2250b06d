"""Keeps a recording on disk from its first sample on, so that nothing that happens can lose it."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import numpy as np

from app.audio.backend import Frames
from engine.errors import AudioFileError, ExplainedError
from engine.files import replace_file, replacing
from engine.types import Samples
from engine.wav import WavFormat, encode_samples, wav_header

SCHEMA = 1
RAW_SUFFIX = ".f32.part"  # interleaved little-endian float32
NOTE_SUFFIX = ".f32.json"
PIECE_FRAMES = 1 << 16
DEAD_SHARE = 0.01  # of the livelier channel's power, below which a channel holds no voice

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JournalNote:
    """What the raw file does not say about itself."""

    rate: int  # Hz
    channels: int
    device: str
    started: str  # ISO 8601, local time


class Journal:
    """A recording that is being written: `<name>.f32.part` with `<name>.f32.json` beside it.

    What `append` returned from survives the end of the program.
    """

    def __init__(self, folder: Path, name: str, note: JournalNote) -> None:
        """Create both files; raises OSError as the system does, FileExistsError included."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{name}{RAW_SUFFIX}"
        self.note = note
        self.frames = 0
        self._file: BinaryIO = self.path.open("xb", buffering=0)
        try:
            fields = {"schema": SCHEMA, **note.__dict__}
            replace_file(note_path(self.path), json.dumps(fields).encode())
        except OSError:
            self._file.close()
            self.path.unlink(missing_ok=True)
            raise

    def append(self, frames: Frames) -> None:
        """Write frames [n, channels]; raises OSError (disk full, disk gone)."""
        data = memoryview(np.asarray(frames, "<f4").tobytes())
        while len(data):
            data = data[self._file.write(data) or 0 :]
        self.frames += len(frames)

    def close(self) -> None:
        """Bring everything to the disk itself; raises OSError."""
        try:
            os.fsync(self._file.fileno())
        finally:
            self._file.close()


def note_path(raw: Path) -> Path:
    """Where the note of a raw file lies."""
    return raw.with_name(raw.name.removesuffix(RAW_SUFFIX) + NOTE_SUFFIX)


def wav_path(raw: Path) -> Path:
    """Where the WAV of a raw file will lie."""
    return raw.with_name(raw.name.removesuffix(RAW_SUFFIX) + ".wav")


def read_note(raw: Path) -> JournalNote:
    """The note beside a raw file; raises AudioFileError when it is missing or damaged."""
    path = note_path(raw)
    try:
        fields = json.loads(path.read_bytes())
        note = JournalNote(
            int(fields["rate"]), int(fields["channels"]), fields["device"], fields["started"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AudioFileError(
            f"The unfinished recording {raw} cannot be saved: its note {path.name} is unreadable.",
            "Import it as raw 32-bit float audio; nothing was deleted.",
            detail=repr(error),
        ) from error
    if note.rate <= 0 or note.channels <= 0:
        raise AudioFileError(
            f"The unfinished recording {raw} cannot be saved: {path.name} says {note.rate} Hz, "
            f"{note.channels} channels.",
            "Import it as raw 32-bit float audio; nothing was deleted.",
        )
    return note


def save_as_wav(raw: Path) -> tuple[Path, int] | None:
    """Turn a closed journal into a mono 32-bit float WAV beside it, and remove it.

    Returns the WAV and its number of samples; None when nothing had been recorded. Channels that
    hold no voice are left out, the others averaged. A WAV of that name is never replaced. Raises
    AudioFileError, OSError; the journal stays then.
    """
    note = read_note(raw)
    count = raw.stat().st_size // (4 * note.channels)  # a torn last frame is dropped
    if not count:
        _remove(raw)
        return None
    powers = np.zeros(note.channels)
    for block in _blocks(raw, note.channels, count):
        powers += np.einsum("ij,ij->j", block, block, dtype=np.float64)
    live = np.flatnonzero(powers >= DEAD_SHARE * powers.max())
    path = _free(wav_path(raw))
    with replacing(path) as file:
        file.write(wav_header(WavFormat.WAV32, note.rate, 4 * count))
        for block in _blocks(raw, note.channels, count):
            mono: Samples = block[:, live].mean(axis=1, dtype=np.float32)
            file.write(encode_samples(mono, WavFormat.WAV32))
    _remove(raw)
    return path, count


def recover_recordings(folder: Path) -> tuple[list[Path], list[ExplainedError]]:
    """Turn what a crash left in `folder` into WAVs: (saved WAVs, what could not be saved).

    To be called while nothing records into it.
    """
    saved: list[Path] = []
    problems: list[ExplainedError] = []
    for raw in sorted(folder.glob(f"*{RAW_SUFFIX}")):
        try:
            result = save_as_wav(raw)
        except ExplainedError as error:
            problems.append(error)
        except OSError as error:
            problems.append(
                AudioFileError(
                    f"The unfinished recording {raw} cannot be saved: {error.strerror or error}.",
                    "It is kept and tried again at the next start.",
                )
            )
        else:
            if result is not None:
                saved.append(result[0])
                log.info("Recovered %s", result[0])
    for note in folder.glob(f"*{NOTE_SUFFIX}"):
        if not (folder / (note.name.removesuffix(NOTE_SUFFIX) + RAW_SUFFIX)).exists():
            note.unlink(missing_ok=True)
    return saved, problems


def recording_name(now: datetime) -> str:
    """A file name that sorts by time and is not given twice."""
    return f"recording {now:%Y-%m-%d %H-%M-%S} {now.microsecond // 1000:03d}"


def _blocks(raw: Path, channels: int, count: int) -> Iterator[Frames]:
    """The first `count` frames [n, channels], some at a time; what is no finite number is zero."""
    left = count
    with raw.open("rb") as file:
        while left:
            frames = min(left, PIECE_FRAMES)
            values = np.frombuffer(file.read(4 * channels * frames), "<f4")
            block = values[: len(values) // channels * channels].reshape(-1, channels)
            if not len(block):
                raise OSError("the file became shorter while it was read")
            yield np.where(np.isfinite(block), block, np.float32(0)).astype(np.float32)
            left -= len(block)


def _free(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.stem} ({number}).wav")
    return free


def _remove(raw: Path) -> None:
    raw.unlink(missing_ok=True)
    note_path(raw).unlink(missing_ok=True)
