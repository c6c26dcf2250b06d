"""Keeps what was done to a recording until its voice is saved: a crash loses none of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.core.fields import Fields
from app.core.reference import FADE_SECONDS
from app.core.storage import (
    DocumentKind,
    StorageError,
    read_document,
    storage_error,
    write_document,
)
from app.core.voice_record import ANY_LANGUAGE, Likeness

KIND: Final = DocumentKind("draft of a voice")
FILE_NAME: Final = "clone-draft.json"


@dataclass(frozen=True)
class CloneDraft:
    """A new voice that is not saved yet; consent is not kept, it is given anew."""

    path: Path
    source: str = ""  # what people see
    selection: tuple[int, int] | None = None  # samples
    offset: float = 0.0
    gain: float = 1.0
    fade_seconds: float = FADE_SECONDS
    tail_seconds: float = 0.0
    transcript: str = ""
    name: str = ""
    language: str = ANY_LANGUAGE
    likeness: Likeness = Likeness.BEST


def write_draft(file: Path, draft: CloneDraft) -> None:
    """Keep a draft; raises StorageError."""
    start, end = draft.selection or (None, None)
    write_document(
        file,
        KIND,
        {
            "path": str(draft.path),
            "source": draft.source,
            "start": start,
            "end": end,
            "offset": draft.offset,
            "gain": draft.gain,
            "fade_seconds": draft.fade_seconds,
            "tail_seconds": draft.tail_seconds,
            "transcript": draft.transcript,
            "name": draft.name,
            "language": draft.language,
            "likeness": draft.likeness,
        },
    )


def read_draft(file: Path) -> CloneDraft | None:
    """The draft that was kept; None if there is none, or its recording is gone, or it is damaged.

    A draft is a convenience: it is not worth a message that it cannot be had.
    """
    if not file.exists():
        return None
    try:
        fields = Fields(read_document(file, KIND).values, str(file))
        path = fields.optional_path("path")
        start, end = fields.optional_integer("start"), fields.optional_integer("end")
        if path is None or not path.is_file():
            return None
        return CloneDraft(
            path=path,
            source=fields.text("source", ""),
            selection=None if start is None or end is None else (start, end),
            offset=fields.number("offset", 0.0, -1e6, 1e6),
            gain=fields.number("gain", 1.0, 0.0, 1e6),
            fade_seconds=fields.number("fade_seconds", FADE_SECONDS, 0.0, 60.0),
            tail_seconds=fields.number("tail_seconds", 0.0, 0.0, 60.0),
            transcript=fields.text("transcript", ""),
            name=fields.text("name", ""),
            language=fields.text("language", ANY_LANGUAGE),
            likeness=fields.choice("likeness", Likeness, Likeness.BEST),
        )
    except StorageError:
        return None


def forget_draft(file: Path) -> None:
    """Remove the draft; raises StorageError."""
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise storage_error(file, "be removed", error) from error
