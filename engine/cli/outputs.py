"""Where commands put sound: paths that are checked before the work, and files written after it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from engine.cli.speaking import Take
from engine.errors import ExplainedError
from engine.wav import WavFormat, write_wav


def take_paths(path: Path, takes: int) -> tuple[Path, ...]:
    """A path per take: the given one, or with `-1`, `-2`, ... before the suffix."""
    if takes == 1:
        return (path,)
    return tuple(path.with_name(f"{path.stem}-{n}{path.suffix}") for n in range(1, takes + 1))


def check_output(path: Path) -> None:
    """Raise ExplainedError if the file could not be written in the end."""
    folder = path.parent
    try:
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
            tempfile.TemporaryFile(dir=path.resolve().parent).close()
    except OSError as error:
        raise _not_written(path, error) from error


def save_takes(
    takes: Sequence[Take], paths: Sequence[Path], wav_format: WavFormat, sample_rate: int
) -> tuple[Path, ...]:
    """Write the takes that have any sound and return their paths; raises ExplainedError."""
    written = []
    for take, path in zip(takes, paths, strict=True):
        if take.frames:
            try:
                write_wav(path, take.samples, wav_format, sample_rate)
            except OSError as error:
                raise _not_written(path, error) from error
            written.append(path)
    return tuple(written)


def make_folder(folder: Path) -> None:
    """Make a folder with its parents; raises ExplainedError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExplainedError(
            f"The folder {folder} cannot be made: {error.strerror}.", "Choose another one."
        ) from error


def _not_written(path: Path, error: OSError) -> ExplainedError:
    return ExplainedError(
        f"{path} cannot be written: {error.strerror}.",
        "Choose another folder, or make room and give yourself permission to write there.",
    )
