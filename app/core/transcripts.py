"""Reads transcripts that other programs have written, in whatever encoding they like."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Final

from engine.errors import VoiceFileError

LONGEST_TRANSCRIPT: Final = 1 << 20  # bytes; ten minutes of speech have about ten thousand


@dataclass(frozen=True)
class Transcript:
    """The words, and a sentence if they had to be guessed at."""

    text: str
    notice: str = ""


def decode_transcript(data: bytes, source: str) -> Transcript:
    """The text of a transcript file, without mark and without blanks at its ends.

    UTF-8 and UTF-16, with or without a mark; anything else is taken for Windows-1252, with a
    notice, as long as it could be that. Raises VoiceFileError; `source` begins its sentence.
    """
    if len(data) > LONGEST_TRANSCRIPT:
        raise VoiceFileError(
            f"{source} is too long for a transcript ({len(data)} bytes).",
            "Choose the text that belongs to the recording.",
        )
    encoding, notice = _encoding(data), ""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError as error:
            raise _no_text(source) from error
        notice = f"{source} is not UTF-8 and was read as Windows-1252: check its letters."
    if any(char < " " and char not in "\t\n\r\f\v" for char in text):
        raise _no_text(source)
    return Transcript("\n".join(text.splitlines()).strip(), notice)


def _encoding(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if len(data) % 2 == 0 and 0 in data:  # every letter of Western text has a zero byte beside it
        zeros_after, zeros_before = data[1::2].count(0), data[::2].count(0)
        if max(zeros_after, zeros_before) * 4 > len(data) // 2:
            return "utf-16-le" if zeros_after > zeros_before else "utf-16-be"
    return "utf-8-sig"


def _no_text(source: str) -> VoiceFileError:
    return VoiceFileError(
        f"{source} is no text, so it cannot be a transcript.", "Save it as UTF-8 text."
    )
