"""Tells what files that are dropped on the window are meant for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import QMimeData

from app.ui.voice_files import local_paths, recordings_of

MODELS: Final = (".gguf",)
TEXTS: Final = (".txt",)


@dataclass(frozen=True)
class Drop:
    """Dropped files by what is done with them, told by their names; they are not opened."""

    models: tuple[Path, ...] = ()
    voices: tuple[Path, ...] = ()  # folders too
    recordings: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.models or self.voices or self.recordings)


def dropped(data: QMimeData) -> Drop:
    """What is dragged; texts are for the field that they are dropped on."""
    return sorted_out(local_paths(data))


def sorted_out(paths: Iterable[Path]) -> Drop:
    """These files by what is done with them."""
    every = tuple(paths)
    models = tuple(path for path in every if path.suffix.lower() in MODELS)
    others = tuple(path for path in every if path not in models)
    recordings = recordings_of(others)
    if recordings or all(path.suffix.lower() in TEXTS for path in others):
        return Drop(models, recordings=recordings)
    return Drop(models, voices=others)
