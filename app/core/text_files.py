"""Reads texts that are to be spoken from files of other programs."""

from __future__ import annotations

from pathlib import Path

from app.core.storage import read_bytes
from app.core.transcripts import LONGEST_TRANSCRIPT, Transcript, decode_transcript


def read_text_file(path: Path) -> Transcript:
    """The words of a text file in whatever encoding; raises StorageError, VoiceFileError."""
    return decode_transcript(read_bytes(path, LONGEST_TRANSCRIPT), path.name)
