"""Brings what the controllers tell onto the banner, with a button where something can be done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Slot

from app.audio.backend import SoundDeviceError
from app.core.take_files import SavedTakes
from app.studio.notes import Note
from app.studio.studio import Studio
from app.ui.banner import Banner, Notice, NoticeAction, Severity
from app.ui.folders import show_folder
from engine import DeviceError, ExplainedError, ModeError, ModelFileError


@dataclass(frozen=True)
class Remedies:
    """What the buttons of problems do."""

    choose_model: Callable[[], None]
    open_preferences: Callable[[], None]


class WindowMessages(QObject):
    """Listens to the studio and tells."""

    def __init__(
        self,
        studio: Studio,
        banner: Banner,
        remedies: Remedies,
        parent: QObject | None = None,
        open_folder: Callable[[Path], bool] = show_folder,
    ) -> None:
        """`open_folder` tells whether it could."""
        super().__init__(parent)
        self._studio = studio
        self._open_folder = open_folder
        self._banner = banner
        self._remedies = remedies
        self._last_note: Notice | None = None
        self._offers: list[tuple[Note, Notice]] = []  # those that still can be accepted
        studio.problem.connect(self.tell_problem)
        studio.notice.connect(self.tell_note)
        studio.withdrawn.connect(self.withdraw_note)
        studio.session.saved_as.connect(self._on_saved)
        studio.session.saved_all.connect(self._on_all_saved)
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
        elif note.folder is not None:
            action = NoticeAction("Open its folder", partial(self.show_folder, note.folder))
        notice = Notice(Severity.INFO, note.sentence, note.hint, action=action)
        last = self._last_note
        if last is not None and _is_of_kind(last, action):
            self._withdraw(last)
        self._last_note = notice
        if note.action is not None:
            self._offers.append((note, notice))
        self._banner.tell(notice)

    @Slot(object)
    def withdraw_note(self, note: Note) -> None:
        """Take a note back whose action has become impossible."""
        for told, notice in tuple(self._offers):
            if told is note:
                self._withdraw(notice)

    def _withdraw(self, notice: Notice) -> None:
        self._banner.withdraw(notice)
        self._on_closed(notice)

    def show_folder(self, folder: Path) -> None:
        """Open a folder in the system's file manager; where there is none, say where it is."""
        if not self._open_folder(folder):
            self.tell_note(Note(f"No file manager opens here. The folder is {folder}."))

    @Slot(object)
    def _on_closed(self, notice: Notice) -> None:
        """Let go of what a note could have brought back: a recording may be large."""
        self._offers = [offer for offer in self._offers if offer[1] is not notice]
        if notice is self._last_note:
            self._last_note = None

    @Slot(object)
    def _on_saved(self, path: Path) -> None:
        self.tell_note(Note(f"Saved as {path}.", folder=path.parent))

    @Slot(object)
    def _on_all_saved(self, saved: SavedTakes) -> None:
        if count := len(saved.files):
            files = "1 file" if count == 1 else f"{count} files"
            hint = "Each was read again after writing."
            self.tell_note(Note(f"{files} saved in {saved.folder}.", hint, folder=saved.folder))

    def _remedy(self, error: ExplainedError) -> NoticeAction | None:
        if isinstance(error, ModelFileError | ModeError):
            return NoticeAction("Choose a model…", self._remedies.choose_model)
        sound = self._studio.sound
        if isinstance(error, SoundDeviceError) and not (sound.outputs and sound.inputs):
            return NoticeAction("Look again", sound.look_for_devices)
        if isinstance(error, SoundDeviceError | DeviceError):
            return NoticeAction("Preferences…", self._remedies.open_preferences)
        return None


def _is_of_kind(notice: Notice, action: NoticeAction | None) -> bool:
    """Whether a notice offers the same as this action: "Undo" only undoes the last step."""
    if notice.action is None or action is None:
        return False
    return notice.action.label == action.label
