"""Brings what the controllers tell onto the banner, with a button where something can be done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices

from app.audio.backend import SoundDeviceError
from app.studio.notes import Note
from app.studio.studio import Studio
from app.ui.banner import Banner, Notice, NoticeAction, Severity
from engine import DeviceError, ExplainedError, ModeError, ModelFileError


@dataclass(frozen=True)
class Remedies:
    """What the buttons of problems do."""

    choose_model: Callable[[], None]
    open_preferences: Callable[[], None]


class WindowMessages(QObject):
    """Listens to the studio and tells."""

    def __init__(
        self, studio: Studio, banner: Banner, remedies: Remedies, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._banner = banner
        self._remedies = remedies
        self._last_note: Notice | None = None
        studio.problem.connect(self.tell_problem)
        studio.notice.connect(self.tell_note)
        studio.session.saved_as.connect(self._on_saved)
        banner.closed.connect(self._on_closed)

    @Slot(object)
    def tell_problem(self, error: ExplainedError) -> None:
        """Show what went wrong, with the button that leads to its cause."""
        self._banner.tell(Notice.of(error, self._remedy(error)))

    @Slot(object)
    def tell_note(self, note: Note) -> None:
        """Show what was done; a note of the same kind that still stands there gives way."""
        action = None
        if note.action is not None:
            action = NoticeAction(note.action_label, note.action)
        notice = Notice(Severity.INFO, note.sentence, note.hint, action=action)
        last = self._last_note
        if last is not None and _is_of_kind(last, action):
            self._banner.withdraw(last)
        self._last_note = notice
        self._banner.tell(notice)

    @Slot(object)
    def _on_closed(self, notice: Notice) -> None:
        """Let go of what a note could have brought back: a recording may be large."""
        if notice is self._last_note:
            self._last_note = None

    @Slot(object)
    def _on_saved(self, path: Path) -> None:
        show = partial(show_folder, path.parent)
        self.tell_note(Note(f"Saved as {path}.", action_label="Open its folder", action=show))

    def _remedy(self, error: ExplainedError) -> NoticeAction | None:
        if isinstance(error, ModelFileError | ModeError):
            return NoticeAction("Choose a model…", self._remedies.choose_model)
        if isinstance(error, SoundDeviceError | DeviceError):
            return NoticeAction("Preferences…", self._remedies.open_preferences)
        return None


def _is_of_kind(notice: Notice, action: NoticeAction | None) -> bool:
    """Whether a notice offers the same as this action: "Undo" only undoes the last step."""
    if notice.action is None or action is None:
        return False
    return notice.action.label == action.label


def show_folder(folder: Path) -> None:
    """Open a folder in the system's file manager."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
