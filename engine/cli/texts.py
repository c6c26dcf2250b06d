"""Reads the texts that commands are given: from stdin, from files, line by line."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from engine.cli.console import Console
from engine.errors import RequestError

LARGEST_TEXT = 1 << 20  # bytes; no model has room for as much


def read_stdin_text(console: Console) -> str:
    """The whole text on stdin; raises RequestError if there is none or it is not text."""
    _tell_that_text_is_awaited(console, "Type the text")
    text = decode_text(_from_stdin(whole=True), "The text on standard input")
    if not text.strip():
        raise RequestError(
            "There is no text to speak on standard input.",
            'Pipe it in, for example: echo "Good morning." | qwen-tts ...',
        )
    return text


def stdin_lines(console: Console) -> Iterator[str]:
    """The lines on stdin that hold any words, each as soon as it is there."""
    _tell_that_text_is_awaited(console, "Type lines")
    for number, data in enumerate(iter(lambda: _from_stdin(whole=False), b""), 1):
        line = decode_text(data, f"Line {number} of standard input")
        if line.strip():
            yield line


def read_text_file(path: Path) -> str:
    """The text of a file; raises RequestError if it cannot be read, is empty or is not text."""
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            data = file.read(LARGEST_TEXT + 1)
    except OSError as error:
        raise RequestError(
            f"{path} cannot be read: {error.strerror}.", "Check the path and its permissions."
        ) from error
    text = decode_text(data, str(path))
    if not text.strip():
        raise RequestError(f"{path} is empty.", "Write the words of the recording into it.")
    return text


def decode_text(data: bytes, source: str) -> str:
    """UTF-8, or UTF-16 with its mark, without mark and line ends behind the text.

    Raises RequestError; `source` begins its sentence.
    """
    if len(data) > LARGEST_TEXT:
        raise RequestError(f"{source} is too long.", "Speak it in several parts.")
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(
            f"{source} is not valid UTF-8 (byte {error.start + 1}).", "Save it as UTF-8."
        ) from None
    return text.rstrip("\r\n")


def _from_stdin(*, whole: bool) -> bytes:
    """All of stdin or its next line, up to a byte too many; nothing if there is no stdin."""
    if sys.stdin is None:
        return b""
    try:
        source: BinaryIO = sys.stdin.buffer
        return source.read(LARGEST_TEXT + 1) if whole else source.readline(LARGEST_TEXT + 1)
    except OSError as error:
        raise RequestError(
            f"Standard input cannot be read: {error.strerror}.", "Pipe the text in."
        ) from error


def _open_at_once(path: str, flags: int) -> int:
    """Open a file, or a pipe without waiting for somebody who may never write into it."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # not on Windows
    os.set_blocking(descriptor, True)
    return descriptor


def _tell_that_text_is_awaited(console: Console, what: str) -> None:
    if sys.stdin is not None and sys.stdin.isatty():
        end = "Ctrl+Z and Enter" if sys.platform == "win32" else "Ctrl+D"
        console.say(f"{what}, then press {end} on an empty line.")
