"""Deleting moves things here, with a note of where they were, so that they can come back."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final
from uuid import uuid4

from app.core.fields import Fields
from app.core.storage import (
    DamagedFileError,
    DocumentKind,
    StorageError,
    make_folder,
    read_document,
    storage_error,
    timestamp,
    write_document,
)

KIND: Final = DocumentKind("trash note")
NOTE: Final = "trash.json"
CONTENT: Final = "content"


@dataclass(frozen=True)
class TrashItem:
    """One thing that was deleted: a voice, or the files of a take."""

    id: str
    kind: str  # "voice", "take", ...
    label: str  # what people knew it as
    key: str  # how its owner finds it again, for example the id of a take
    deleted: str  # ISO 8601
    origins: tuple[Path, ...]  # where each file or folder was


class Trash:
    """A folder of deleted things, which all lay under `root` (its parent folder by default)."""

    def __init__(self, folder: Path, root: Path | None = None) -> None:
        self.folder = folder.absolute()
        self._root = (root or folder.parent).absolute()

    def move(self, paths: Sequence[Path], kind: str, label: str, key: str = "") -> TrashItem:
        """Move files or folders here; those that are not there are left out.

        The note is written first: broken off at any moment, nothing is without its origin.
        Raises StorageError; what was moved until then can be restored.
        """
        origins = tuple(path.absolute() for path in paths if path.exists())
        assert all(path.is_relative_to(self._root) for path in origins), "only from under root"
        item = TrashItem(uuid4().hex, kind, label, key, timestamp(), origins)
        make_folder(self._content(item))
        write_document(
            self.folder / item.id / NOTE,
            KIND,
            {
                "kind": kind,
                "label": label,
                "key": key,
                "deleted": item.deleted,
                "origins": [path.relative_to(self._root).as_posix() for path in origins],
            },
        )
        for index, origin in enumerate(origins):
            try:
                _move(origin, self._content(item) / _place(index, origin))
            except StorageError:
                if not index:
                    self.remove(item)
                raise
        return item

    def items(self) -> tuple[TrashItem, ...]:
        """What can be restored, newest first; notes that are damaged are passed over."""
        try:
            folders = [path for path in self.folder.iterdir() if (path / NOTE).is_file()]
        except OSError:
            return ()
        found = []
        for folder in folders:
            try:
                found.append(self._read(folder))
            except StorageError:
                continue  # its files stay in the folder, for a person to look at
        return tuple(sorted(found, key=lambda item: (item.deleted, item.id), reverse=True))

    def find(self, kind: str, key: str) -> TrashItem | None:
        """The latest thing deleted of this kind and key."""
        matches = (item for item in self.items() if (item.kind, item.key) == (kind, key))
        return next(matches, None)

    def restore(self, item: TrashItem) -> tuple[Path, ...]:
        """Move everything back to where it was; the paths.

        Raises StorageError if something else is in one of the places, then nothing moves.
        """
        places = [
            (self._content(item) / _place(index, origin), origin)
            for index, origin in enumerate(item.origins)
        ]
        present = [(source, origin) for source, origin in places if source.exists()]
        if not present:
            raise StorageError(
                f"{item.label!r} is no longer in the trash.", "It was restored or emptied before."
            )
        for _, origin in present:
            if origin.exists():
                raise StorageError(
                    f"{item.label!r} cannot be restored: {origin} is there again.",
                    "Move or rename that one first.",
                )
        for source, origin in present:
            make_folder(origin.parent)
            _move(source, origin)
        self.remove(item)
        return tuple(origin for _, origin in present)

    def remove(self, item: TrashItem) -> None:
        """Delete one thing for good; raises StorageError."""
        _delete(self.folder / item.id)

    def empty(self) -> int:
        """Delete everything for good, damaged notes too; the number of things. StorageError."""
        if not self.folder.is_dir():
            return 0
        folders = [path for path in self.folder.iterdir() if path.is_dir()]
        for folder in folders:
            _delete(folder)
        return len(folders)

    def _content(self, item: TrashItem) -> Path:
        return self.folder / item.id / CONTENT

    def _read(self, folder: Path) -> TrashItem:
        fields = Fields(read_document(folder / NOTE, KIND).values, str(folder / NOTE))
        return TrashItem(
            id=folder.name,
            kind=fields.text("kind"),
            label=fields.text("label"),
            key=fields.text("key", ""),
            deleted=fields.text("deleted"),
            origins=tuple(self._origin(folder, text) for text in fields.texts("origins")),
        )

    def _origin(self, folder: Path, text: str) -> Path:
        path = PurePosixPath(text)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise DamagedFileError(
                f"{folder / NOTE} names a place outside the studio.", "Move its files by hand."
            )
        return self._root / path


def _place(index: int, origin: Path) -> str:
    return f"{index}-{origin.name}"


def _move(source: Path, target: Path) -> None:
    try:
        shutil.move(source, target)
    except OSError as error:
        raise storage_error(source, "be moved", error) from error


def _delete(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error(folder, "be deleted", error) from error
