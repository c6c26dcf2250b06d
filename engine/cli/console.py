"""Tells on stderr what a command is doing; stdout stays free for what was asked for."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from engine.errors import ExplainedError
from engine.plain_text import one_line


def readable_bytes(count: int) -> str:
    """A size as people read it, in powers of ten."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def detach(stream: TextIO) -> None:
    """Let a stream that cannot be written lead nowhere; Python would complain when closing it."""
    try:
        descriptor = stream.fileno()
    except OSError:  # a stand-in without one has nothing to close
        return
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, descriptor)
    os.close(devnull)


class Console:
    """Prints lines, and on a terminal one more line that is overwritten as work goes on.

    That a line cannot be printed stops no work: the stream is then left alone.
    """

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr or io.StringIO()  # None: started without one
        self._quiet = quiet
        self._live = not quiet and self._stream.isatty()
        self._shown = 0  # characters of the line that will be overwritten

    def say(self, line: str) -> None:
        """A line that stays."""
        if not self._quiet:
            self._print(line)

    def progress(self, line: str) -> None:
        """The state of the work, shown on terminals only, until the next line."""
        if self._live:
            self._write(f"\r{line:{self._shown}}")
            self._shown = len(line)

    def error(self, error: ExplainedError) -> None:
        """The one line of a failure; quiet commands print it too."""
        self._print(f"error: {error}")

    def report(self, line: str) -> None:
        """A line that was asked for; quiet commands print it too."""
        self._print(line)

    @contextmanager
    def notices(self) -> Iterator[None]:
        """Print the warnings that the engine logs meanwhile as notes."""
        handler = _NoticeHandler(self)
        logger = logging.getLogger("engine")
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)

    def _print(self, line: str) -> None:
        cleared = f"\r{'':{self._shown}}\r" if self._shown else ""
        self._shown = 0
        self._write(f"{cleared}{one_line(line)}\n")

    def _write(self, text: str) -> None:
        try:
            print(text, end="", file=self._stream, flush=True)
        except OSError:
            detach(self._stream)
            self._stream = io.StringIO()
            self._live = False


class _NoticeHandler(logging.Handler):
    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.say(f"note: {record.getMessage()}")
