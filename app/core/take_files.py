"""The sound of takes on disk: growing while it is made, whole afterwards, and copies of it."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import soundfile

from app.core.fields import Fields
from app.core.names import safe_name, unique_name
from app.core.storage import (
    DamagedFileError,
    StorageError,
    make_folder,
    read_document,
    storage_error,
    write_document,
)
from app.core.takes import TAKE_DOCUMENT, Take, TakeEnding, plain_take, take_from
from engine.errors import ExplainedError
from engine.types import Codes, Samples
from engine.voices import CODE_BITS, CODEBOOKS, write_codes
from engine.wav import HEADER_BYTES, WavFormat, encode_samples, write_wav

SOUND: Final = ".wav"
SIDECAR: Final = ".json"
TAKE_CODES: Final = ".rvq"
BEGUN: Final = ".begun.json"  # what was asked for, until the take is whole
SOUND_PART: Final = ".part"  # float32 samples, little-endian
CODES_PART: Final = ".codes.part"  # uint16 codes, a frame after the other
VOICE_IN_NAME: Final = 40  # characters
SAID_IN_NAME: Final = 60  # characters
RECOVERED: Final = "Recovered after the studio had ended unexpectedly."


class TakeWriter:
    """Keeps a take as it is made, so that a crash loses nothing that was heard.

    Samples are appended to a raw file; `finish` turns it into the WAV and its sidecar. One thread
    at a time. Every method raises StorageError.
    """

    def __init__(self, folder: Path, take: Take) -> None:
        """Begin a take in a folder of takes; `take` says all but how it ends."""
        self._folder = folder
        self._take = take
        self._frames = 0
        make_folder(folder)
        write_document(folder / f"{take.id}{BEGUN}", TAKE_DOCUMENT, plain_take(take))
        self._sound = _appending(folder / f"{take.id}{SOUND_PART}")
        self._codes = _appending(folder / f"{take.id}{CODES_PART}")

    def append(self, samples: Samples, codes: Codes | None = None) -> None:
        """Add samples [n] and the codes [T, 16] they were made from."""
        try:
            # Written through to the system, which keeps it when this process is killed.
            self._sound.write(np.ascontiguousarray(samples, "<f4").tobytes())
            self._sound.flush()
            if codes is not None and len(codes):
                self._codes.write(np.ascontiguousarray(codes, "<u2").tobytes())
                self._codes.flush()
        except OSError as error:
            raise storage_error(Path(self._sound.name), "be written", error) from error

    def finish(
        self, ending: TakeEnding, frames: int | None = None, remark: str = ""
    ) -> Take | None:
        """Make the take whole; None if there is no sound in it. `frames` if no codes were given."""
        self.close()
        return _make_whole(self._folder, replace(self._take, ending=ending, remark=remark), frames)

    def discard(self) -> None:
        """Forget the take."""
        self.close()
        _remove_parts(self._folder, self._take.id)

    def close(self) -> None:
        """Leave the take as it is: the next start will find it."""
        try:
            self._sound.close()
            self._codes.close()
        except OSError as error:  # what could not be flushed
            raise storage_error(Path(self._sound.name), "be written", error) from error


def recover_takes(folder: Path) -> tuple[tuple[Take, ...], tuple[StorageError, ...]]:
    """Make whole what a crash has left half made in a folder of takes; what failed is kept."""
    takes, problems = [], []
    for path in sorted(folder.glob(f"*{BEGUN}")):
        take_id = path.name.removesuffix(BEGUN)
        try:
            if (folder / f"{take_id}{SIDECAR}").exists() and (
                folder / f"{take_id}{SOUND}"
            ).exists():
                _remove_parts(folder, take_id)
                continue
            begun = read_take(path)
            take = _make_whole(folder, replace(begun, remark=RECOVERED), None)
        except StorageError as error:
            problems.append(error)
            continue
        if take is not None:
            takes.append(take)
    return tuple(takes), tuple(problems)


def take_paths(folder: Path, take: Take) -> tuple[Path, ...]:
    """All files of a whole take; not all need to be there."""
    return tuple(folder / f"{take.id}{ending}" for ending in (SIDECAR, TAKE_CODES, SOUND))


def write_sidecar(folder: Path, take: Take) -> None:
    """Say what a take is, beside its sound; raises StorageError."""
    write_document(folder / f"{take.id}{SIDECAR}", TAKE_DOCUMENT, plain_take(take))


def read_take(path: Path) -> Take:
    """The take that a sidecar describes; raises StorageError."""
    document = read_document(path, TAKE_DOCUMENT)
    if document.read_only:
        raise StorageError(document.message, "Update the studio to see this take.")
    take = take_from(Fields(document.values, str(path)))
    if not path.name.startswith(f"{take.id}."):
        raise DamagedFileError(
            f"{path} describes another take ({take.id[:64]}).", "Put back its own name."
        )
    return take


def read_samples(path: Path) -> Samples:
    """The sound of a take, mono [n]; raises StorageError."""
    try:
        samples, _ = soundfile.read(path, dtype="float32", always_2d=True)
    except OSError as error:
        raise storage_error(path, "be read", error) from error
    except soundfile.LibsndfileError as error:
        if not path.exists():
            raise StorageError(f"{path} is not there any more.", "Make the take again.") from error
        raise DamagedFileError(
            f"{path} is damaged: {error.error_string}", "Make the take again."
        ) from error
    return np.ascontiguousarray(samples[:, 0], np.float32)


def save_take_as(source: Path, target: Path, wav_format: WavFormat, sample_rate: int) -> None:
    """Write the sound of a take to where a person wants it; replaces `target` in one step.

    Reads it again afterwards. Raises StorageError, and ExplainedError for what does not fit into
    a WAV file.
    """
    samples = read_samples(source)
    _write_sound(target, [samples], wav_format, sample_rate)
    try:
        written = target.stat().st_size
        is_whole = written == HEADER_BYTES + samples.size * wav_format.sample_bytes
        if is_whole:
            is_whole = target.read_bytes()[HEADER_BYTES:] == encode_samples(samples, wav_format)
    except OSError as error:
        raise storage_error(target, "be read after writing", error) from error
    if not is_whole:
        raise StorageError(
            f"{target} was not written as a whole ({written} bytes).",
            "Check the free space, or save it in another folder.",
        )


@dataclass(frozen=True)
class SavedTakes:
    """What became of takes that were saved together."""

    folder: Path
    files: tuple[Path, ...]
    problems: tuple[ExplainedError, ...]


def save_takes(
    takes: Iterable[tuple[Path, Take]], folder: Path, wav_format: WavFormat
) -> SavedTakes:
    """Write the sound of takes, each with where it lies, into a folder under names of their own.

    Nothing there is replaced, and one that fails stops no other. Raises StorageError if the
    folder cannot be listed.
    """
    try:
        taken = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise storage_error(folder, "be listed", error) from error
    files, problems = [], []
    for source, take in takes:
        name = unique_name(saved_name(take), taken)
        try:
            save_take_as(source, folder / name, wav_format, take.sample_rate)
        except ExplainedError as error:
            problems.append(error)
            continue
        taken.add(name)
        files.append(folder / name)
    return SavedTakes(folder, tuple(files), tuple(problems))


def saved_name(take: Take) -> str:
    """What its WAV is called for people: "Mira - Good morning This is how I sound.wav"."""
    words = " ".join(filter(None, map(_bare, take.text[:1000].split())))
    short = textwrap.shorten(words, SAID_IN_NAME, placeholder="")
    said = short or words[:SAID_IN_NAME]  # a script without blanks
    parts = (take.voice_label[:VOICE_IN_NAME].strip(), said)
    return safe_name(" - ".join(filter(None, parts)), "Take") + SOUND


def _bare(word: str) -> str:
    """A word without the marks around it."""
    kept = [at for at, char in enumerate(word) if unicodedata.category(char)[0] in "LMN"]
    return word[kept[0] : kept[-1] + 1] if kept else ""


def _make_whole(folder: Path, take: Take, frames: int | None) -> Take | None:
    """Turn the parts of a take into its files, the sidecar last; the parts go when it is there."""
    sound = _read_part(folder / f"{take.id}{SOUND_PART}", "<f4", 1)
    codes = _read_part(folder / f"{take.id}{CODES_PART}", "<u2", CODEBOOKS)
    codes = codes[: int(np.argmin(np.append((codes < 1 << CODE_BITS).all(axis=1), False)))]
    if not sound.size:
        _remove_parts(folder, take.id)
        return None
    whole = replace(
        take,
        seconds=sound.size / take.sample_rate,
        frames=len(codes) if len(codes) or frames is None else frames,
    )
    _write_sound(folder / whole.file, [sound.ravel()], WavFormat.WAV32, take.sample_rate)
    if len(codes):
        path = folder / f"{take.id}{TAKE_CODES}"
        try:
            write_codes(path, codes.astype(np.int64))
        except OSError as error:
            raise storage_error(path, "be written", error) from error
    write_sidecar(folder, whole)
    _remove_parts(folder, take.id)
    return whole


def _read_part(path: Path, kind: str, columns: int) -> Samples:
    """The whole rows of a raw file, [rows, columns]; a last one that was cut off is left out."""
    try:
        values = np.fromfile(path, kind)  # reads whole values only
    except FileNotFoundError:
        values = np.empty(0, kind)
    except OSError as error:
        raise storage_error(path, "be read", error) from error
    return values[: values.size // columns * columns].reshape(-1, columns)


def _write_sound(
    path: Path, pieces: Iterable[Samples], wav_format: WavFormat, sample_rate: int
) -> None:
    try:
        write_wav(path, pieces, wav_format, sample_rate)
    except OSError as error:
        raise storage_error(path, "be written", error) from error


def _remove_parts(folder: Path, take_id: str) -> None:
    """Remove what only a half-made take has; the mark that it is one goes last."""
    for ending in (SOUND_PART, CODES_PART, BEGUN):
        path = folder / f"{take_id}{ending}"
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise storage_error(path, "be removed", error) from error


def _appending(path: Path) -> BinaryIO:
    try:
        return path.open("ab")
    except OSError as error:
        raise storage_error(path, "be written", error) from error
