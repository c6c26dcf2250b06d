"""Where commands put sound: paths that are checked before the work, and files written after it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from engine.cli.running import interruptible
from engine.cli.speaking import Take
from engine.errors import ExplainedError
from engine.families import files_of_model
from engine.wav import WavFormat, write_wav

_SUFFIXES: Final = frozenset(
    {
        *(".wav", ".mp3", ".flac", ".ogg", ".oga", ".opus", ".m4a", ".aac", ".aif", ".aiff"),
        *(".rvq", ".spk", ".txt", ".gguf", ".npy", ".json"),
    }
)
"""The suffixes that promise a kind of file; behind any other dot a name may just go on."""


def check_suffix(path: Path, suffix: str, more: str = "") -> None:
    """Raise ExplainedError where the name promises another kind of file than `suffix`.

    `more` is told behind the sentence that says so.
    """
    promised = path.suffix.lower()
    if promised != suffix and promised in _SUFFIXES:
        raise ExplainedError(
            f"-o names the {suffix} file{more}.", f"Use -o {path.with_suffix(suffix)}."
        )


def with_suffix(path: Path, suffix: str, more: str = "") -> Path:
    """The path, with `suffix` behind a name that lacks it; raises as `check_suffix` does."""
    check_suffix(path, suffix, more)
    special = os.path.exists(path) and not os.path.isfile(path)  # a folder, device or pipe
    if special or path.suffix.lower() == suffix:
        return path
    return path.with_name(path.name + suffix)


def take_paths(path: Path, takes: int) -> tuple[Path, ...]:
    """A path per take: the given one, or with `-1`, `-2`, ... before the suffix."""
    if takes == 1:
        return (path,)
    return tuple(path.with_name(f"{path.stem}-{n}{path.suffix}") for n in range(1, takes + 1))


def check_output(path: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Raise ExplainedError if the file could not be written in the end, or is one of `inputs`.

    A file that a model of `inputs` takes its weights from is one of them, too.
    """
    folder = path.parent
    try:
        given = [source for source in inputs if source is not None]
        read = [*given, *(other for source in given for other in files_of_model(source)[1:])]
        if any(_is_same_file(path, source) for source in read):
            raise ExplainedError(
                f"{path} is read by this command and would be lost.", "Choose another name."
            )
        if path.is_dir():
            raise ExplainedError(f"{path} is a folder.", "Name a file in it.")
        if not folder.exists():
            raise ExplainedError(
                f"The folder {folder} does not exist.", "Make it, or choose another one."
            )
        if not folder.is_dir():
            raise ExplainedError(f"{folder} is no folder.", "Choose another one.")
        if path.exists() and not os.access(path, os.W_OK):
            raise ExplainedError(f"{path} may not be overwritten.", "Choose another name.")
        if not path.exists() or path.is_file():
            # Permissions do not tell of read-only disks, quotas and reserved names: try it.
            tempfile.TemporaryFile(dir=os.path.dirname(os.path.realpath(path))).close()
    except OSError as error:
        raise _not_written(path, error) from error


def save_takes(
    takes: Sequence[Take], paths: Sequence[Path], wav_format: WavFormat, sample_rate: int
) -> tuple[Path, ...]:
    """Write the takes that have any sound and return their paths; raises ExplainedError."""
    written = []
    with interruptible():  # nothing is left to be stopped, and all of it to be lost
        for take, path in zip(takes, paths, strict=True):
            if take.frames:
                with explained(path):
                    write_wav(path, take.samples, wav_format, sample_rate)
                written.append(path)
    return tuple(written)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise ExplainedError where writing `path` raises OSError."""
    try:
        yield
    except OSError as error:
        raise _not_written(path, error) from error


def make_folder(folder: Path) -> None:
    """Make a folder with its parents; raises ExplainedError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExplainedError(
            f"The folder {folder} cannot be made: {error.strerror}.", "Choose another one."
        ) from error


def _is_same_file(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there, or is complained about where it is read
        return False


def _not_written(path: Path, error: OSError) -> ExplainedError:
    return ExplainedError(
        f"{path} cannot be written: {error.strerror}.",
        "Choose another folder, or make room and give yourself permission to write there.",
    )
