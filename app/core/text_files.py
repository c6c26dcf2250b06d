"""Reads texts that are to be spoken from files of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from app.core.storage import DamagedFileError, read_bytes
from app.core.transcripts import LONGEST_TRANSCRIPT, Transcript, decode_transcript
from engine import RequestError

LONGEST_FIELD: Final = 100_000  # characters that a field takes: two hours of speech


def read_text_file(path: Path) -> Transcript:
    """The words of a text file in whatever encoding, for a field of the window.

    Raises StorageError, VoiceFileError if it is no text, RequestError if it is too long.
    """
    try:
        data = read_bytes(path, LONGEST_TRANSCRIPT)
    except DamagedFileError as error:
        raise RequestError(f"{path} is too large for a text.", "Choose a text file.") from error
    transcript = decode_transcript(data, path.name)
    if len(transcript.text) > LONGEST_FIELD:
        raise too_long_for_field(path.name, len(transcript.text))
    return transcript


def too_long_for_field(what: str, length: int) -> RequestError:
    """What to tell of a text of so many characters."""
    return RequestError(
        f"{what} has {length:,} characters, more than the {LONGEST_FIELD:,} that fit in here.",
        "Take a part of it.",
    )
