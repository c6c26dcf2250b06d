"""Unpacks archives from strangers: nothing leaves the folder, nothing fills the disk."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.core.names import safe_name, unique_name
from app.core.storage import StorageError, refuse_endless, storage_error

BLOCK: Final = 1 << 20
ENCRYPTED: Final = 0x1


@dataclass(frozen=True)
class ArchiveLimits:
    """What is still plausible."""

    entries: int = 5_000
    total_bytes: int = 2 << 30
    depth: int = 8


class ArchiveError(StorageError):
    """An archive is damaged, or is made to do harm."""


def unpack(
    archive: Path,
    target: Path,
    wanted: Callable[[str], bool],
    limits: ArchiveLimits | None = None,
) -> tuple[Path, ...]:
    """Unpack the wanted files of a zip into the folder `target`; their paths.

    `wanted` is asked about bare file names. Folders keep their names as far as those are safe.
    Sizes are counted while unpacking: what the archive claims is not believed. Raises
    ArchiveError, with files of the target left for the caller to remove.
    """
    limits = limits or ArchiveLimits()
    with _failures(archive):
        refuse_endless(archive)
    with _failures(archive), zipfile.ZipFile(archive) as file:
        entries = file.infolist()
        if len(entries) > limits.entries:
            raise ArchiveError(
                f"{archive} holds {len(entries)} files, more than any voices have.",
                "Export the voices again, or unpack it by hand.",
            )
        room = limits.total_bytes
        made = []
        folders: dict[tuple[str, ...], Path] = {}
        for entry in entries:
            parts = _parts(archive, entry, limits)
            if entry.is_dir() or not wanted(parts[-1]) or _is_hidden(parts):
                continue
            if entry.flag_bits & ENCRYPTED:
                raise ArchiveError(f"{archive} is locked with a password.", "Unpack it by hand.")
            path = _place(target, parts, folders)
            room = _unpack_entry(archive, file, entry, path, room)
            made.append(path)
    return tuple(made)


@contextmanager
def _failures(archive: Path) -> Iterator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,  # a method of compression
        RuntimeError,  # a password that the flags did not tell of
        ValueError,
        UnicodeError,
        OverflowError,
    ) as error:
        raise ArchiveError(
            f"{archive} cannot be unpacked: it is damaged or no zip archive.",
            "Get another copy, or unpack it by hand and import the folder.",
            repr(error),
        ) from error
    except OSError as error:
        raise storage_error(archive, "be unpacked", error) from error


def _parts(archive: Path, entry: zipfile.ZipInfo, limits: ArchiveLimits) -> tuple[str, ...]:
    """The names on the way to an entry; raises ArchiveError if it would leave the folder."""
    name = entry.filename.replace("\\", "/")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    mode = entry.external_attr >> 16
    if name.startswith("/") or ".." in parts or name[1:2] == ":" or stat.S_ISLNK(mode):
        raise ArchiveError(
            f"{archive} was not unpacked: its entry {entry.filename[:80]!r} points outside of it.",
            "Do not trust this file.",
        )
    if not parts or len(parts) > limits.depth:
        raise ArchiveError(
            f"{archive} was not unpacked: its entry {entry.filename[:80]!r} makes no sense.",
            "Get another copy, or unpack it by hand and import the folder.",
        )
    return parts


def _is_hidden(parts: tuple[str, ...]) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)


def _place(target: Path, parts: tuple[str, ...], folders: dict[tuple[str, ...], Path]) -> Path:
    """Where an entry goes; each folder of the archive has one of its own, whatever its name."""
    folder = target
    for depth in range(1, len(parts)):
        way = parts[:depth]
        if way not in folders:
            taken = [path.name for path in folder.iterdir()]
            folders[way] = folder / unique_name(safe_name(way[-1]), taken)
            folders[way].mkdir()
        folder = folders[way]
    taken = [path.name for path in folder.iterdir()]
    return folder / unique_name(safe_name(parts[-1]), taken)


def _unpack_entry(
    archive: Path, file: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, room: int
) -> int:
    """Unpack one file; the bytes that are still allowed."""
    with file.open(entry) as source, path.open("xb") as target:
        while block := source.read(BLOCK):
            room -= len(block)
            if room < 0:
                raise ArchiveError(
                    f"{archive} was not unpacked: it would fill the disk.",
                    "Do not trust this file, or unpack it by hand.",
                )
            target.write(block)
    return room
