"""Tells when something in folders has changed, once it has come to rest."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

REST_MILLISECONDS: Final = 700  # a file that is being copied changes all the time


class FolderWatch(QObject):
    """Watches folders, and files that are known to be unfinished or changing."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._watcher = QFileSystemWatcher(self)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST_MILLISECONDS)
        self._rest.timeout.connect(self.changed)
        self._watcher.directoryChanged.connect(self._rest.start)
        self._watcher.fileChanged.connect(self._rest.start)

    def watch(self, paths: Iterable[Path]) -> None:
        """Watch these from now on, as far as they are there, and nothing else."""
        wanted = {str(path) for path in paths if path.exists()}
        known = {*self._watcher.files(), *self._watcher.directories()}
        if known - wanted:
            self._watcher.removePaths(sorted(known - wanted))
        if wanted - known:
            self._watcher.addPaths(sorted(wanted - known))
