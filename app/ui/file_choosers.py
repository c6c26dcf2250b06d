"""Lets files be chosen, in one place so that tests can choose without a dialog."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from PySide6.QtWidgets import QFileDialog, QWidget

from app.core.voice_import import SOUNDS

TEXTS = "Texts (*.txt);;All files (*)"

ChooseFile: TypeAlias = Callable[[QWidget], Path | None]
"""Lets the user choose a file; None when they changed their mind."""


def choose_recording(parent: QWidget) -> Path | None:
    """A sound file."""
    endings = " ".join(f"*{suffix}" for suffix in sorted(SOUNDS))
    return _chosen(parent, "Open a recording", f"Recordings ({endings});;All files (*)")


def choose_text(parent: QWidget) -> Path | None:
    """A text file."""
    return _chosen(parent, "Read a transcript", TEXTS)


@dataclass(frozen=True)
class FileChoosers:
    """How files are chosen."""

    recording: ChooseFile = choose_recording
    text: ChooseFile = choose_text


def _chosen(parent: QWidget, title: str, kinds: str) -> Path | None:
    name, _ = QFileDialog.getOpenFileName(parent, title, "", kinds)
    return Path(name) if name else None
