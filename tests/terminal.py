"""Runs a command's main() with a keyboard and screens of its own."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

Main = Callable[[Sequence[str]], int]


@dataclass(frozen=True)
class Answer:
    """How a command ended and what it wrote."""

    status: int
    output: bytes  # stdout
    told: str  # stderr

    @property
    def text(self) -> str:
        return self.output.decode()


class Keyboard(io.TextIOWrapper):
    """A stdin that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


class Terminal:
    """Stands in for stdin, stdout and stderr while a command runs."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def run(
        self,
        main: Main,
        arguments: Sequence[object],
        stdin: bytes = b"",
        *,
        typed: bool = False,
        screen: io.BytesIO | None = None,
    ) -> Answer:
        """Run `main`; `typed` makes stdin a terminal, `screen` replaces what stdout writes to."""
        screen = screen or io.BytesIO()
        errors = io.StringIO()
        keyboard = (Keyboard if typed else io.TextIOWrapper)(io.BytesIO(stdin), "utf-8")
        output = io.TextIOWrapper(screen, "utf-8", write_through=True)
        with self._patch.context() as patch:
            patch.setattr("sys.stdin", keyboard)
            patch.setattr("sys.stdout", output)
            patch.setattr("sys.stderr", errors)
            status = main([str(argument) for argument in arguments])
        written = screen.getvalue()
        output.detach()
        return Answer(status, written, errors.getvalue())
