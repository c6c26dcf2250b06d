"""Tells on stderr what a command is doing; stdout stays free for what was asked for."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from engine.errors import ExplainedError


def readable_bytes(count: int) -> str:
    """A size as people read it, in powers of ten."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


class Console:
    """Prints lines, and on a terminal one more line that is overwritten as work goes on."""

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
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
            print(f"\r{line:{self._shown}}", end="", file=self._stream, flush=True)
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
        if self._shown:
            print(f"\r{'':{self._shown}}\r", end="", file=self._stream)
            self._shown = 0
        print(line, file=self._stream, flush=True)


class _NoticeHandler(logging.Handler):
    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.say(f"note: {record.getMessage()}")
