"""Shows folders in the system's file manager."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices


def show_folder(folder: Path) -> bool:
    """Open a folder in the file manager; False where there is none, or no such folder."""
    return folder.is_dir() and QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
