"""Lets files be chosen, in one place so that tests can choose without a dialog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from PySide6.QtCore import QStandardPaths
from PySide6.QtWidgets import QFileDialog, QWidget

from app.core.settings import FilePurpose
from app.core.voice_import import SOUNDS
from app.studio.preferences import SettingsKeeper

ALL: Final = "All files (*)"
TEXTS: Final = f"Texts (*.txt);;{ALL}"
MODELS: Final = f"Models (*.gguf);;{ALL}"

ChooseFile: TypeAlias = Callable[[QWidget], Path | None]
"""Lets the user choose a file or folder; None when they changed their mind."""

_Place = QStandardPaths.StandardLocation
_USUAL: Final = MappingProxyType(
    {
        FilePurpose.RECORDING: (_Place.MusicLocation, _Place.DownloadLocation),
        FilePurpose.TEXT: (_Place.DocumentsLocation,),
        FilePurpose.MODEL: (_Place.DownloadLocation,),
        FilePurpose.IMPORT: (_Place.DownloadLocation,),
        FilePurpose.EXPORT: (_Place.DocumentsLocation,),
        FilePurpose.TAKE: (_Place.MusicLocation, _Place.DocumentsLocation),
    }
)
"""Where people keep such files, until they have shown where they do."""


class FileDialogs:
    """The system's file dialogs; each purpose goes on in the folder where it was last."""

    def __init__(self, keeper: SettingsKeeper | None = None, models: Path | None = None) -> None:
        """Without a keeper nothing is remembered. `models` is the studio's own folder for them."""
        self._keeper = keeper
        self._models = models

    def file(self, parent: QWidget, purpose: FilePurpose, title: str, kinds: str) -> Path | None:
        """A file to read."""
        name, _ = QFileDialog.getOpenFileName(parent, title, str(self.start(purpose)), kinds)
        return self._remembered(purpose, Path(name)) if name else None

    def files(
        self, parent: QWidget, purpose: FilePurpose, title: str, kinds: str
    ) -> tuple[Path, ...]:
        """Some files to read, of one folder."""
        names, _ = QFileDialog.getOpenFileNames(parent, title, str(self.start(purpose)), kinds)
        return tuple(self._remembered(purpose, Path(name)) for name in names)

    def folder(self, parent: QWidget, purpose: FilePurpose, title: str) -> Path | None:
        """A folder."""
        name = QFileDialog.getExistingDirectory(parent, title, str(self.start(purpose)))
        return self._remembered(purpose, Path(name)) if name else None

    def target(
        self, parent: QWidget, purpose: FilePurpose, title: str, name: str, kinds: Sequence[str]
    ) -> tuple[Path, str] | None:
        """Where to write a file, which is to be called `name`, and which of the kinds it is."""
        proposed = str(self.start(purpose) / name)
        chosen, kind = QFileDialog.getSaveFileName(
            parent, title, proposed, ";;".join(kinds), kinds[0]
        )
        return (self._remembered(purpose, Path(chosen)), kind) if chosen else None

    def start(self, purpose: FilePurpose) -> Path:
        """The folder that the next dialog of this purpose shows first."""
        last = None
        if self._keeper is not None:
            last = self._keeper.settings.last_folders.get(purpose)
        own = self._models if purpose is FilePurpose.MODEL else None
        usual = (Path(QStandardPaths.writableLocation(place)) for place in _USUAL[purpose])
        places = (last, own, *usual)
        return next(
            (place for place in places if place is not None and place.is_dir()), Path.home()
        )

    def _remembered(self, purpose: FilePurpose, chosen: Path) -> Path:
        if self._keeper is not None:
            folder = chosen if chosen.is_dir() else chosen.parent
            known = self._keeper.settings.last_folders
            self._keeper.update(last_folders={**known, purpose: folder})
        return chosen


@dataclass(frozen=True)
class FileChoosers:
    """How the files of a new voice are chosen."""

    recording: ChooseFile
    text: ChooseFile


def file_choosers(files: FileDialogs) -> FileChoosers:
    """Choosers that show these dialogs."""
    endings = " ".join(f"*{suffix}" for suffix in sorted(SOUNDS))
    kinds = f"Recordings ({endings});;{ALL}"
    return FileChoosers(
        lambda parent: files.file(parent, FilePurpose.RECORDING, "Open a recording", kinds),
        lambda parent: files.file(parent, FilePurpose.TEXT, "Read a transcript", TEXTS),
    )


def model_folder_chooser(files: FileDialogs) -> ChooseFile:
    """Lets a folder with models be chosen."""
    return lambda parent: files.folder(parent, FilePurpose.MODEL, "Choose a folder with models")


def model_file_chooser(files: FileDialogs) -> ChooseFile:
    """Lets a model file be chosen."""
    return lambda parent: files.file(parent, FilePurpose.MODEL, "Open a model", MODELS)
