"""Keeps the draft of a new voice on disk, soon after every change of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.core.clone_draft import CloneDraft, forget_draft, read_draft, write_draft
from app.jobs.background import Background

KEEP_AFTER_MILLISECONDS: Final = 500


class DraftKeeper(QObject):
    """One file, written in the background; there is none while there is no draft."""

    problem = Signal(object)  # ExplainedError

    def __init__(self, file: Path, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._file = file
        self._background = background
        self._draft: CloneDraft | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(KEEP_AFTER_MILLISECONDS)
        self._timer.timeout.connect(self._keep)

    def find(self, then: Callable[[CloneDraft | None], None]) -> None:
        """Hand what was left over from the last time to `then`."""
        self._background.run(lambda: read_draft(self._file), then)

    def put(self, draft: CloneDraft | None) -> None:
        """This is the draft now; None if there is none any more.

        What was left over from the last time stays until there is another draft.
        """
        if draft != self._draft:
            self._draft = draft
            if not self._timer.isActive():
                self._timer.start()

    def close(self) -> None:
        """Hand what is not kept yet to the background, which is to be closed after this."""
        if self._timer.isActive():
            self._timer.stop()
            self._keep()

    @Slot()
    def _keep(self) -> None:
        file, draft = self._file, self._draft
        if draft is None:
            self._background.run(lambda: forget_draft(file), None, self.problem.emit)
        else:
            self._background.run(lambda: write_draft(file, draft), None, self.problem.emit)
