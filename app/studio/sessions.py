"""The sessions that there are, and the wish to go on in another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.core.session_store import SessionStore, list_sessions, session_title, unlocked
from app.core.trash import Trash
from app.jobs.background import Background
from app.studio.preferences import SettingsKeeper


@dataclass(frozen=True)
class KnownSession:
    """A session in the studio's folder."""

    folder: Path
    title: str
    changed: float  # seconds since 1970
    is_here: bool  # the one that this window shows


class Sessions(QObject):
    """Everything that a window shows belongs to one session, so another one needs another window.

    `wanted` asks for the window to be closed; whoever made it makes the next one.
    """

    wanted = Signal()
    problem = Signal(object)  # ExplainedError

    def __init__(
        self,
        here: Path,
        trash: Trash,
        background: Background,
        preferences: SettingsKeeper,
        parent: QObject | None = None,
    ) -> None:
        """`here` is the folder of the session that is open."""
        super().__init__(parent)
        self._here = here
        self._trash = trash
        self._background = background
        self._preferences = preferences
        self._is_another_wanted = False

    @property
    def is_another_wanted(self) -> bool:
        """Whether the window closes only to make room for another session."""
        return self._is_another_wanted

    def find(self, then: Callable[[tuple[KnownSession, ...]], None]) -> None:
        """Hand all sessions to `then`, last changed first."""
        here = self._here

        def work() -> tuple[KnownSession, ...]:
            return tuple(
                KnownSession(
                    entry.folder,
                    session_title(entry),
                    entry.changed,
                    entry.folder.name == here.name,
                )
                for entry in list_sessions(here.parent)
            )

        self._background.run(work, then, self.problem.emit)

    def open(self, folder: Path) -> None:
        """Go on in another session, unless another window has it."""
        if folder.name != self._here.name:
            self._background.run(lambda: unlocked(folder), self._go_to, self.problem.emit)

    def create(self, name: str) -> None:
        """Go on in a new session of this name."""

        def work() -> Path:
            store = SessionStore.create(self._here.parent, name, self._trash)
            problems = store.save(store.session)  # so that it has its name
            store.close()
            for problem in problems:
                raise problem
            return store.folder

        self._background.run(work, self._go_to, self.problem.emit)

    def _go_to(self, folder: Path) -> None:
        self._preferences.update(last_session=folder.name)
        self._is_another_wanted = True
        self.wanted.emit()
