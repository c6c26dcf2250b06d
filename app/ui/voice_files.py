"""Asks where voices are to come from and go to, with the system's dialogs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QMimeData
from PySide6.QtWidgets import QWidget

from app.core.names import safe_name
from app.core.settings import FilePurpose
from app.core.voice_export import WORDS
from app.core.voice_import import SOUNDS
from app.ui.file_choosers import ALL, FileDialogs

VOICE_FILES = "Voices (*.zip *.spk *.rvq *.txt *.wav voice.json)"
ARCHIVE = ".zip"


class ExportKind(Enum):
    """How voices leave the library: what the menu says, and what that is good for."""

    FOLDER = ("As folders…", "All files of a voice, for another studio")
    ZIP = ("As a zip archive…", "One file, for another studio")
    BARE = ("As files for qwentts.cpp…", "NAME.spk, NAME.rvq and NAME.txt")

    @property
    def label(self) -> str:
        return self.value[0]

    @property
    def tip(self) -> str:
        return self.value[1]


class VoicePlaces(Protocol):
    """Lets people choose files; None or nothing when they changed their mind."""

    def files_to_import(self, parent: QWidget) -> Sequence[Path]:
        """Archives, or the files of voices."""
        ...

    def folder_to_import(self, parent: QWidget) -> Path | None:
        """A voice folder, or one with voices in it."""
        ...

    def target(self, parent: QWidget, kind: ExportKind, name: str) -> Path | None:
        """The folder to write to, or the archive to write, named for the voice."""
        ...


class SystemVoicePlaces:
    """`VoicePlaces` with the system's file dialogs."""

    def __init__(self, files: FileDialogs) -> None:
        self._files = files

    def files_to_import(self, parent: QWidget) -> Sequence[Path]:
        kinds = f"{VOICE_FILES};;{ALL}"
        return self._files.files(parent, FilePurpose.IMPORT, "Import voices", kinds)

    def folder_to_import(self, parent: QWidget) -> Path | None:
        return self._files.folder(parent, FilePurpose.IMPORT, "Import a folder of voices")

    def target(self, parent: QWidget, kind: ExportKind, name: str) -> Path | None:
        purpose = FilePurpose.EXPORT
        if kind is not ExportKind.ZIP:
            return self._files.folder(parent, purpose, "Export into a folder")
        proposed = f"{safe_name(name)}{ARCHIVE}"
        asked = self._files.target(
            parent, purpose, "Export as a zip archive", proposed, ("Zip (*.zip)",)
        )
        if asked is None:
            return None
        path, _ = asked
        return path if path.suffix.lower() == ARCHIVE else path.with_name(f"{path.name}{ARCHIVE}")


def local_paths(data: QMimeData) -> tuple[Path, ...]:
    """The files and folders of this machine that are being dragged."""
    return tuple(Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile())


def recordings_of(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The recordings among dropped paths if they are meant for cloning, else none.

    They are not if something comes along that is part of a voice: then it is an import.
    """
    chosen = tuple(paths)
    recordings = tuple(path for path in chosen if path.suffix.lower() in SOUNDS)
    others = [path for path in chosen if path not in recordings]
    cloning = all(path.suffix.lower() == WORDS for path in others)
    return recordings if cloning else ()
