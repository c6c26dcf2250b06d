"""The settings while the studio runs: one owner, who tells of changes and saves them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.core.settings import Settings, load_settings, save_settings
from app.jobs.background import Background
from engine import ExplainedError

SAVE_AFTER_MILLISECONDS: Final = 300


class SettingsKeeper(QObject):
    """Saves in the background soon after the last change, in the order of the changes."""

    changed = Signal(object)  # Settings
    problem = Signal(object)  # ExplainedError

    def __init__(self, path: Path, background: Background, parent: QObject | None = None) -> None:
        """Read the settings at `path`; whatever cannot be used has its default and a notice."""
        super().__init__(parent)
        loaded = load_settings(path)
        self._path = path
        self._background = background
        self._settings = loaded.settings
        self._notices = loaded.notices
        self._read_only = loaded.read_only
        self._told = ""  # why saving failed the last time
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SAVE_AFTER_MILLISECONDS)
        self._timer.timeout.connect(self._save)

    @property
    def settings(self) -> Settings:
        return self._settings

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the person about what was not right with the file."""
        return self._notices

    @property
    def is_read_only(self) -> bool:
        """Whether changes last until the end only: the file is of a newer version."""
        return self._read_only

    def update(self, **changes: Any) -> None:
        """Change fields of the settings; nothing happens if they have these values already."""
        settings = replace(self._settings, **changes)
        if settings == self._settings:
            return
        self._settings = settings
        if not self._read_only and not self._timer.isActive():
            self._timer.start()
        self.changed.emit(settings)

    def close(self) -> None:
        """Hand what is not saved yet to the background, which is to be closed after this."""
        if self._timer.isActive():
            self._timer.stop()
            self._save()

    @Slot()
    def _save(self) -> None:
        path, settings = self._path, self._settings
        self._background.run(
            lambda: save_settings(path, settings), self._on_saved, self._on_save_failed
        )

    def _on_saved(self, _: None) -> None:
        self._told = ""

    def _on_save_failed(self, error: ExplainedError) -> None:
        if error.message != self._told:  # a full disk is told once, not with every change
            self._told = error.message
            self.problem.emit(error)
