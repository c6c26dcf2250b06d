"""Voices on a shelf for the tests of the library's widgets, made through the real library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PySide6.QtWidgets import QWidget

from app.core.trash import Trash
from app.core.voice_parts import VoiceParts
from app.core.voice_record import LibraryVoice, VoiceDetails, VoiceKind
from app.core.voices import VoiceLibrary
from app.studio.studio import TRASH, Studio
from app.ui.voice_files import ExportKind

RATE = 24_000


class Shelf:
    """Puts voices into the library of a studio and has them listed."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.library = VoiceLibrary(studio.paths.voices, Trash(studio.paths.data / TRASH))

    def put(
        self,
        name: str,
        *,
        kind: VoiceKind = VoiceKind.CLONE,
        widths: Sequence[int] = (1024,),
        recorded: bool = True,
        language: str = "auto",
        tags: Sequence[str] = (),
        favourite: bool = False,
    ) -> LibraryVoice:
        rng = np.random.default_rng(len(name))
        details = VoiceDetails(name, kind, language=language, tags=tuple(tags), favourite=favourite)
        return self.library.create(
            details,
            VoiceParts(
                trimmed=rng.uniform(-0.1, 0.1, RATE).astype(np.float32) if recorded else None,
                embeddings=tuple(rng.normal(size=width).astype(np.float32) for width in widths),
            ),
        )

    def damage(self, name: str) -> Path:
        """A folder with a description that is none."""
        folder = self.library.folder / name
        folder.mkdir(parents=True)
        (folder / "voice.json").write_text("{no description", encoding="utf-8")
        np.ones(1024, np.float32).tofile(folder / "voice-1024.spk")
        return folder

    def show(self) -> None:
        """Have the studio look at the library again, and wait for all that was asked of it."""
        self.studio.voices.refresh()
        self.wait()

    def wait(self) -> None:
        assert self.studio.background.flush(10.0)


class Chosen:
    """Chooses files as a person would, without a dialog."""

    def __init__(self) -> None:
        self.files: tuple[Path, ...] = ()
        self.folder: Path | None = None
        self.into: Path | None = None
        self.asked: list[tuple[ExportKind, str]] = []

    def files_to_import(self, parent: QWidget) -> Sequence[Path]:
        return self.files

    def folder_to_import(self, parent: QWidget) -> Path | None:
        return self.folder

    def target(self, parent: QWidget, kind: ExportKind, name: str) -> Path | None:
        self.asked.append((kind, name))
        return self.into
