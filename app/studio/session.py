"""The open session as the window sees it: its takes, its drafts, undo, and the sound on disk."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.audio.take_buffer import TakeBuffer
from app.core.autosave import Autosaver
from app.core.history import History
from app.core.session import Draft, Session
from app.core.session_store import SessionStore, list_sessions
from app.core.storage import StorageError, timestamp
from app.core.take_files import (
    TAKE_CODES,
    SavedTakes,
    TakeWriter,
    read_samples,
    save_take_as,
    save_takes,
)
from app.core.takes import Take
from app.core.trash import Trash
from app.jobs.background import Background
from app.jobs.problems import explained
from app.studio.notes import Note, WayBack, undoable
from app.studio.preferences import SettingsKeeper
from app.studio.take_sounds import MEMORY, TakeSounds
from engine import ExplainedError, RequestError
from engine.types import Samples
from engine.wav import WavFormat

REPEAT_SECONDS: Final = 30.0
"""A disk that is full fails with every save; the same sentence is not told again so soon.
What nobody expected is told once."""


class SessionKeeper(QObject):
    """Keeps the session, its history and what is on disk in step.

    Takes that arrive and drafts are no steps of undo; deleting, stars and notes are.
    """

    changed = Signal()  # the takes: order, stars, notes, new ones, deleted ones
    draft_changed = Signal(str)  # the tab
    problem = Signal(object)  # ExplainedError
    notice = Signal(object)  # Note
    withdrawn = Signal(object)  # Note whose action has become impossible
    saved_as = Signal(object)  # Path of a copy that was written
    saved_all = Signal(object)  # SavedTakes
    _save_failed = Signal(object)

    def __init__(
        self,
        sessions: Path,
        trash: Trash,
        background: Background,
        preferences: SettingsKeeper,
        memory: int = MEMORY,
        parent: QObject | None = None,
    ) -> None:
        """Open the session that was open last, else the newest one, else a new one.

        One that is open in another window is left alone for a new one. `memory` bounds the bytes
        of sound kept. What is to be told waits for `begin`. Raises StorageError if no session can
        be made in `sessions`.
        """
        super().__init__(parent)
        self._background = background
        self._notes: list[Note] = []
        self._way_back = WayBack(self.withdrawn.emit)
        self._discarded: set[str] = set()  # ids of takes that are gone for good
        self._store = self._opened(sessions, trash, preferences)
        self._notes += [Note(sentence) for sentence in self._store.notices]
        self._history: History[Session] = History(self._store.session)
        self._save_failed.connect(self._on_save_failed, Qt.ConnectionType.QueuedConnection)
        self._failures: dict[str, float] = {}  # sentence -> when it was told last
        self._autosaver = Autosaver(self._store, self._explain)
        self._is_closed = False
        self._sounds = TakeSounds(background, self._read, self.problem.emit, memory)

    def begin(self) -> None:
        """Tell what was found while opening, to those who have connected by now."""
        notes, self._notes = self._notes, []
        for note in notes:
            self.notice.emit(note)
        if self._store.unread:
            self.problem.emit(_joint(self._store.unread, "read", "They stay where they are."))

    # --- what can be seen ---

    @property
    def session(self) -> Session:
        return self._history.present

    @property
    def takes(self) -> tuple[Take, ...]:
        """Newest first."""
        return self.session.takes

    @property
    def folder(self) -> Path:
        """The folder of the session."""
        return self._store.folder

    @property
    def read_only(self) -> bool:
        """Whether a newer version of the studio has written it: nothing is saved then."""
        return self._store.read_only

    @property
    def undo_label(self) -> str:
        """What `undo` would take back, empty if nothing."""
        return self._history.undo_label

    @property
    def redo_label(self) -> str:
        return self._history.redo_label

    def draft(self, tab: str) -> Draft:
        """What is set in a tab."""
        return self.session.draft(tab)

    def sound_path(self, take: Take) -> Path:
        """The WAV of a whole take."""
        return self._store.sound_path(take)

    def codes_path(self, take: Take) -> Path:
        """The `.rvq` of a whole take; there if `take.frames` is not 0."""
        return self.sound_path(take).with_suffix(TAKE_CODES)

    def buffer(self, take_id: str) -> TakeBuffer:
        """The sound of a take: growing while it is made, else filled from disk before long.

        Of a take that is not there, an empty one that is finished.
        """
        return self._sounds.get(take_id, self.session.take(take_id))

    # --- what changes it ---

    def add(self, take: Take) -> None:
        """A take is whole; undoing earlier steps does not make it vanish."""
        self._sounds.settle(take.id)
        self._set(self._history.everywhere(lambda session: session.with_take(take)))

    def rename(self, name: str) -> None:
        """Call the session otherwise; its folder stays. No step of undo."""
        self._set(self._history.everywhere(lambda session: replace(session, name=name)))

    def star(self, take_id: str, on: bool) -> None:
        label = "Star take" if on else "Remove star"
        self._change_take(take_id, label, lambda take: replace(take, star=on))

    def set_note(self, take_id: str, text: str) -> None:
        """Typing a note is one step of undo."""
        self._change_take(
            take_id, "Note on take", lambda take: replace(take, note=text), f"note {take_id}"
        )

    def delete(self, *take_ids: str) -> None:
        """Move takes to the trash; the notice takes them back."""
        takes = [take for take in self.takes if take.id in take_ids]
        if not takes:
            return
        several = f"{len(takes)} takes"
        self._set(
            self._history.push(
                self.session.without_takes(*take_ids),
                "Delete take" if len(takes) == 1 else f"Delete {several}",
            )
        )
        moved = f"{takes[0].label!r} was" if len(takes) == 1 else f"{several} were"
        note = undoable(f"{moved} moved to the trash.", lambda: self.bring_back(takes))

        def possible() -> bool:
            missing = self._missing(takes)
            return bool(missing) and self._discarded.isdisjoint(take.id for take in missing)

        self.notice.emit(self._way_back.offer(note, possible))

    def forget(self, *take_ids: str) -> None:
        """These takes have left the trash for good: nothing brings them back."""
        self._discarded |= set(take_ids)
        self._way_back.check()

    def undo(self) -> None:
        """Take the last step back."""
        self._set(self._history.undo())

    def redo(self) -> None:
        self._set(self._history.redo())

    def set_draft(self, tab: str, draft: Draft) -> None:
        """What is set in a tab now; kept, but no step of undo."""
        if draft == self.session.draft(tab):
            return
        self._history = self._history.everywhere(lambda session: session.with_draft(tab, draft))
        self._save()
        self.draft_changed.emit(tab)

    # --- sound ---

    def adopt(self, take_id: str, buffer: TakeBuffer) -> None:
        """The growing sound of a take that is being made, until `add` or `drop`."""
        self._sounds.adopt(take_id, buffer)

    def drop(self, take_id: str) -> None:
        """Nothing became of a take that was being made."""
        self._sounds.drop(take_id)

    def writer(self, take: Take) -> TakeWriter:
        """Begin to keep a take on disk; for any thread. Raises StorageError."""
        return self._store.writer(take)

    def save_as(
        self,
        take: Take,
        path: Path,
        wav_format: WavFormat = WavFormat.WAV24,
        then: Callable[[Path], None] | None = None,
    ) -> None:
        """Write a copy of a take's sound in the background; `saved_as` tells when it is there."""
        source = self.sound_path(take)

        def work() -> Path:
            _check_folder(path.resolve().parent, source)
            self._wait_for_file(source)
            save_take_as(source, path, wav_format, take.sample_rate)
            return path

        def done(saved: Path) -> None:
            self.saved_as.emit(saved)
            if then is not None:
                then(saved)

        self._background.run(work, done, self.problem.emit)

    def save_all(
        self, takes: Sequence[Take], folder: Path, wav_format: WavFormat = WavFormat.WAV24
    ) -> None:
        """Write copies of takes into a folder in the background; `saved_all` tells which are there.

        Each is read again after writing; what failed is a problem.
        """
        sources = [(self.sound_path(take), take) for take in takes]

        def work() -> SavedTakes:
            for source, _ in sources:
                _check_folder(folder.resolve(), source)
                self._wait_for_file(source)
            return save_takes(sources, folder, wav_format)

        def done(saved: SavedTakes) -> None:
            if saved.problems:
                rest = "The others were saved." if saved.files else "Nothing was saved."
                self.problem.emit(_joint(saved.problems, "saved", rest))
            self.saved_all.emit(saved)

        self._background.run(work, done, self.problem.emit)

    def close(self, timeout: float = 30.0) -> bool:
        """Save what is left and let others open the session; False if the disk takes longer."""
        if not self._is_closed and not self.read_only:
            self._autosaver.change(self.session)  # what failed before is tried once more
        self._is_closed = True
        saved = self._autosaver.close(timeout)
        if saved:
            self._store.close()
        return saved

    def _opened(self, sessions: Path, trash: Trash, preferences: SettingsKeeper) -> SessionStore:
        folder = _last_session(sessions, preferences.settings.last_session)
        refused = False
        if folder is not None:
            try:
                store = SessionStore(folder, trash)
            except StorageError as error:
                refused = True
                self._notes.append(Note(error.message, "This window starts a new session."))
            else:
                preferences.update(last_session=store.folder.name)
                return store
        store = SessionStore.create(sessions, f"Session {timestamp()[:10]}", trash)
        if not refused:  # else the next start goes back to the one that was refused
            preferences.update(last_session=store.folder.name)
        return store

    def bring_back(self, takes: list[Take]) -> None:
        """Undo a deletion: as the last step if it still is, else as a step of its own."""
        session = self.session
        missing = self._missing(takes)
        before = self._history.past[-1].value if self._history.past else session
        if not missing:
            return
        if all(before.take(take.id) is not None for take in missing):
            self.undo()
            return
        newest_first = sorted(
            (*session.takes, *missing), key=lambda take: take.created, reverse=True
        )
        restored = replace(session, takes=tuple(newest_first))
        self._set(self._history.push(restored, "Restore takes"))

    def _missing(self, takes: list[Take]) -> list[Take]:
        return [take for take in takes if self.session.take(take.id) is None]

    def _change_take(
        self, take_id: str, label: str, change: Callable[[Take], Take], merge: str = ""
    ) -> None:
        take = self.session.take(take_id)
        if take is not None:
            self._set(self._history.push(self.session.with_take(change(take)), label, merge))

    def _set(self, history: History[Session]) -> None:
        if history is self._history:
            return
        self._history = history
        self._save()
        self.changed.emit()
        self._way_back.check()

    def _save(self) -> None:
        if not self.read_only and not self._is_closed:
            self._autosaver.change(self.session)

    def _explain(self, error: Exception) -> None:
        """Log what nobody expected, and hand it over; on the saving thread."""
        self._save_failed.emit(explained(error))

    @Slot(object)
    def _on_save_failed(self, error: ExplainedError) -> None:
        now = time.monotonic()
        pause = REPEAT_SECONDS if isinstance(error, StorageError) else math.inf
        if now - self._failures.get(error.message, -math.inf) >= pause:
            self._failures[error.message] = now
            self.problem.emit(error)

    def _read(self, take: Take) -> Samples:
        """The sound of a whole take; on the background's thread. Raises StorageError."""
        path = self.sound_path(take)
        self._wait_for_file(path)
        return read_samples(path)

    def _wait_for_file(self, path: Path) -> None:
        """A deletion that was undone just now: the file comes back with the next save."""
        if not path.exists():
            self._autosaver.flush()


def _check_folder(folder: Path, source: Path) -> None:
    """Refuse the folder that a take lies in already; raises RequestError."""
    if folder == source.parent.resolve():
        raise RequestError(
            f"{folder} is where the session keeps its own takes.", "Choose another folder."
        )


def _joint(problems: Sequence[ExplainedError], act: str, rest: str) -> ExplainedError:
    """One error for all takes that something could not be done with."""
    if len(problems) == 1:
        return problems[0]
    return StorageError(
        f"{len(problems)} takes could not be {act}.",
        f"{rest} The details say what is wrong with each.",
        "\n".join(str(error) for error in problems),
    )


def _last_session(sessions: Path, name: str) -> Path | None:
    """The folder of the session called `name`, else the one that changed last."""
    folders = [entry.folder for entry in list_sessions(sessions)]
    named = (folder for folder in folders if folder.name == name)
    return next(named, folders[0] if folders else None)
