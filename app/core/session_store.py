"""Keeps a session on disk equal to the one on screen, and finds everything again after a crash."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from app.core.fields import Fields
from app.core.file_lock import FileLock
from app.core.names import safe_name, unique_name
from app.core.session import (
    SESSION_DOCUMENT,
    Session,
    SessionOutline,
    outline_from,
    plain_session,
)
from app.core.storage import (
    DamagedFileError,
    StorageError,
    make_folder,
    read_document,
    set_aside,
    storage_error,
    write_document,
)
from app.core.take_files import (
    BEGUN,
    SIDECAR,
    TakeWriter,
    read_take,
    recover_takes,
    take_paths,
    write_sidecar,
)
from app.core.takes import Take
from app.core.trash import Trash

ENDING: Final = ".studio"
SESSION_FILE: Final = "session.json"
LOCK: Final = "session.lock"
TAKES: Final = "takes"
TRASH_KIND: Final = "take"


@dataclass(frozen=True)
class SessionEntry:
    """A session that can be opened."""

    folder: Path
    changed: float  # seconds since 1970

    @property
    def name(self) -> str:
        return self.folder.name.removesuffix(ENDING)


def list_sessions(folder: Path) -> tuple[SessionEntry, ...]:
    """The sessions in a folder, last changed first; a missing folder has none."""
    try:
        found = [path for path in folder.iterdir() if path.name.endswith(ENDING) and path.is_dir()]
        entries = [SessionEntry(path, _changed(path)) for path in found]
    except OSError:
        return ()
    return tuple(sorted(entries, key=lambda entry: (-entry.changed, entry.name)))


def session_title(entry: SessionEntry) -> str:
    """What a session is called by people; by its folder where that cannot be read."""
    path = entry.folder / SESSION_FILE
    try:
        document = read_document(path, SESSION_DOCUMENT)
        return Fields(document.values, str(path)).text("name", entry.name)
    except StorageError:
        return entry.name


def unlocked(folder: Path) -> Path:
    """The folder, if no studio has its session open; raises StorageError."""
    if not folder.is_dir():
        raise StorageError(f"{folder} is gone.", "Choose another session.")
    _locked(folder).close()
    return folder


class SessionStore:
    """One open session. `save` belongs to one thread; writers to the one that makes the take."""

    def __init__(self, folder: Path, trash: Trash) -> None:
        """Open the session in a folder, making what is missing.

        Raises StorageError if another studio has it open, or its folder cannot be used.
        `session` is what was found, `notices` what a person should know about it, and `unread`
        why takes that lie there are not part of it.
        """
        self.folder = folder.absolute()
        self.notices: tuple[str, ...] = ()
        self.unread: tuple[StorageError, ...] = ()
        self.read_only = False
        self._trash = trash
        self._saved: dict[str, Take] = {}
        self._values: dict[str, Any] | None = None
        make_folder(self.takes_folder)
        self._lock = _locked(self.folder)
        try:
            self.session = self._load()
        except BaseException:
            self._lock.close()
            raise

    @classmethod
    def create(cls, sessions: Path, name: str, trash: Trash) -> SessionStore:
        """A new session of this name, or one like it if there is one; raises StorageError."""
        make_folder(sessions)
        try:
            taken = [path.name for path in sessions.iterdir()]
        except OSError as error:
            raise storage_error(sessions, "be read", error) from error
        return cls(sessions / unique_name(f"{safe_name(name)}{ENDING}", taken), trash)

    @property
    def takes_folder(self) -> Path:
        return self.folder / TAKES

    def sound_path(self, take: Take) -> Path:
        """The WAV of a take: float32, mono."""
        return self.takes_folder / take.file

    def writer(self, take: Take) -> TakeWriter:
        """Begin to keep a take that is being made; raises StorageError."""
        if self.read_only:
            raise self._no_changes()
        return TakeWriter(self.takes_folder, take)

    def save(self, session: Session) -> tuple[StorageError, ...]:
        """Make the disk say what `session` says; what could not be done is told and tried again.

        Takes that are gone move to the trash, takes that are back (undo) come out of it.
        """
        if self.read_only:
            return (self._no_changes(),)
        problems = []
        kept = {take.id for take in session.takes}
        for take in [take for take in self._saved.values() if take.id not in kept]:
            try:
                paths = take_paths(self.takes_folder, take)
                self._trash.move(paths, TRASH_KIND, take.label, self._trash_key(take.id))
                del self._saved[take.id]
            except StorageError as error:
                problems.append(error)
        for take in session.takes:
            try:
                self._save_take(take)
            except StorageError as error:
                problems.append(error)
        values = plain_session(session)
        if values != self._values:
            try:
                write_document(self.folder / SESSION_FILE, SESSION_DOCUMENT, values)
                self._values = values
            except StorageError as error:
                problems.append(error)
        return tuple(problems)

    def close(self) -> None:
        """Let others open the session."""
        self._lock.close()

    def _save_take(self, take: Take) -> None:
        if self._saved.get(take.id) == take:
            return
        if not self.sound_path(take).exists():
            item = self._trash.find(TRASH_KIND, self._trash_key(take.id))
            if item is None:
                raise StorageError(
                    f"The sound of the take {take.label!r} is gone.",
                    "The trash was emptied or the file removed: make the take again.",
                )
            self._trash.restore(item)
        write_sidecar(self.takes_folder, take)
        self._saved[take.id] = take

    def _load(self) -> Session:
        notices: list[str] = []
        outline = self._outline(notices)
        takes: dict[str, Take] = {}
        unread: list[StorageError] = []
        if not self.read_only:
            recovered, problems = recover_takes(self.takes_folder)
            notices += _recovered_notice(recovered)
            unread += problems
        for path in sorted(self.takes_folder.glob(f"*{SIDECAR}")):
            if path.name.endswith(BEGUN):
                continue
            try:
                take = read_take(path)
            except StorageError as error:
                unread.append(error)
                continue
            if self.sound_path(take).exists():
                takes[take.id] = take
            else:
                unread.append(
                    StorageError(
                        f"The sound of the take {take.label!r} is missing: {take.file}.",
                        "Put it back, or make the take again.",
                    )
                )
        self._saved = dict(takes)
        listed = [takes.pop(take_id) for take_id in outline.take_ids if take_id in takes]
        # A take that was whole before the session could say so.
        newer = sorted(takes.values(), key=lambda take: (take.created, take.id), reverse=True)
        self.notices, self.unread = tuple(notices), tuple(unread)
        return Session(outline.name, (*newer, *listed), outline.drafts, outline.unknown)

    def _outline(self, notices: list[str]) -> SessionOutline:
        path = self.folder / SESSION_FILE
        name = self.folder.name.removesuffix(ENDING)
        if not path.exists():
            return SessionOutline(name)
        try:
            document = read_document(path, SESSION_DOCUMENT)
            outline = outline_from(Fields(document.values, str(path)), name)
        except DamagedFileError as error:
            kept = set_aside(path)
            notices.append(
                f"{error.message} It is kept as {kept.name}; the takes are all here, "
                "the texts of the tabs start empty."
            )
            return SessionOutline(name)
        if document.read_only:
            self.read_only = True
            notices.append(document.message)
        return outline

    def _trash_key(self, take_id: str) -> str:
        return f"{self.folder.name}/{take_id}"

    def _no_changes(self) -> StorageError:
        return StorageError(
            f"The session {self.folder.stem} was written by a newer version of the studio.",
            "Changes are not saved: update the studio, or start another session.",
        )


def _recovered_notice(takes: tuple[Take, ...]) -> list[str]:
    """One sentence for all that a crash has left half made."""
    labels = ", ".join(repr(take.label) for take in takes)
    if len(takes) > 1:
        return [f"{len(takes)} takes were recovered: {labels}."]
    return [f"Take recovered: {labels}."] if takes else []


def _locked(folder: Path) -> FileLock:
    try:
        return FileLock(folder / LOCK)
    except BlockingIOError as error:
        raise StorageError(
            f"The session {folder.stem} is open in another window of the studio.",
            "Close it there, or open another session.",
        ) from error
    except OSError as error:
        raise storage_error(folder, "be written to", error) from error


def _changed(folder: Path) -> float:
    path = folder / SESSION_FILE
    return (path if path.exists() else folder).stat().st_mtime
