"""Everything that was deleted, voices and takes alike, with the way back for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, Signal

from app.core.session_store import TRASH_KIND as TAKE
from app.core.take_files import SIDECAR, read_take
from app.core.takes import Take
from app.core.trash import Trash, TrashItem
from app.core.voices import TRASH_KIND as VOICE
from app.jobs.background import Background
from app.studio.notes import Note
from app.studio.session import SessionKeeper
from app.studio.voice_outcomes import each_of
from app.studio.voices import Voices
from engine import ExplainedError

SHOWN: Final = (VOICE, TAKE)
"""What people delete; what a crash left half made is in the trash too, and of no use to them."""


class TrashBin(QObject):
    """Lists, restores and deletes for good, in the background."""

    problem = Signal(object)  # ExplainedError
    notice = Signal(object)  # Note

    def __init__(
        self,
        trash: Trash,
        voices: Voices,
        session: SessionKeeper,
        background: Background,
        parent: QObject | None = None,
    ) -> None:
        """`trash` is the one that voices and session delete to."""
        super().__init__(parent)
        self._trash = trash
        self._voices = voices
        self._session = session
        self._background = background

    def trash_items(self, then: Callable[[tuple[TrashItem, ...]], None]) -> None:
        """Hand the voices and takes in the trash to `then`, newest first."""

        def work() -> tuple[TrashItem, ...]:
            return tuple(item for item in self._trash.items() if item.kind in SHOWN)

        self._background.run(work, then, self.problem.emit)

    def restore(self, *items: TrashItem) -> None:
        """Bring things back; takes of another session are there when it is opened again."""
        voices = [item for item in items if item.kind == VOICE]
        if voices:
            self._voices.restore(*voices)
        takes = [item for item in items if item.kind == TAKE]
        if takes:
            self._restore_takes(takes)

    def discard(self, *items: TrashItem) -> None:
        """Delete things in the trash for good."""

        def remove(item: TrashItem) -> TrashItem:
            self._trash.remove(item)
            return item

        def work() -> tuple[list[TrashItem], list[ExplainedError]]:
            return each_of(items, remove)

        def done(result: tuple[list[TrashItem], list[ExplainedError]]) -> None:
            removed, errors = result
            if removed:
                self._on_gone(removed)
            for error in errors:
                self.problem.emit(error)

        self._background.run(work, done, self.problem.emit)

    def empty_trash(self) -> None:
        """Delete everything in the trash for good, what a crash left there as well."""

        def work() -> list[TrashItem]:
            items = [item for item in self._trash.items() if item.kind in SHOWN]
            self._trash.empty()
            return items

        self._background.run(work, self._on_gone, self.problem.emit)

    def _restore_takes(self, items: list[TrashItem]) -> None:
        session = self._session.folder.name

        def work() -> tuple[list[Take], int, list[ExplainedError]]:
            here: list[Take] = []
            elsewhere, errors = 0, []
            for item in items:
                try:
                    paths = self._trash.restore(item)
                    if item.key.rpartition("/")[0] == session:
                        here += [read_take(path) for path in paths if path.suffix == SIDECAR]
                    else:
                        elsewhere += 1
                except ExplainedError as error:
                    errors.append(error)
            return here, elsewhere, errors

        self._background.run(work, self._on_takes, self.problem.emit)

    def _on_takes(self, result: tuple[list[Take], int, list[ExplainedError]]) -> None:
        here, elsewhere, errors = result
        if here:
            self._session.bring_back(here)
        if here or elsewhere:
            self.notice.emit(
                Note(
                    f"{_counted(len(here) + elsewhere, 'take')} came back from the trash.",
                    f"{_counted(elsewhere, 'take')} went to another session." if elsewhere else "",
                )
            )
        for error in errors:
            self.problem.emit(error)

    def _on_gone(self, items: list[TrashItem]) -> None:
        self._voices.forget(*items)
        self._session.forget(*(item.key.rpartition("/")[2] for item in items if item.kind == TAKE))
        verb = "was" if len(items) == 1 else "were"
        self.notice.emit(Note(f"{_counted(len(items), 'thing')} {verb} deleted for good."))


def _counted(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"
