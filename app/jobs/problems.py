"""Explains what nobody expected, and lets go of the memory that an exception holds on to."""

from __future__ import annotations

import logging
import traceback

from engine import ExplainedError

_log = logging.getLogger(__name__)


def explained(error: BaseException) -> ExplainedError:
    """The error for the window, free of the frames it came through; unexpected ones are logged.

    A traceback keeps the local variables of its frames alive: of a load that failed half way,
    that is the half of a model, for as long as the window shows what went wrong.
    """
    if isinstance(error, ExplainedError):
        kept = error
    elif isinstance(error, MemoryError):
        kept = ExplainedError(
            "There is not enough memory for this.",
            "Choose a smaller model or fewer takes, and close other programs.",
        )
    else:
        _log.error("Something failed unexpectedly", exc_info=error)
        kept = ExplainedError(
            f"Something unexpected went wrong: {_first_line(error)}.",
            "Try again; if it stays, report it with the details.",
            "".join(traceback.format_exception(error)),
        )
    _drop_frames(error)
    return kept


def _first_line(error: BaseException) -> str:
    """What it says, briefly: torch explains itself over many lines."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(" .") if lines else type(error).__name__


def _drop_frames(error: BaseException) -> None:
    chain: list[BaseException | None] = [error]
    seen: set[int] = set()
    while chain:
        link = chain.pop()
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            link.__traceback__ = None
            chain += (link.__cause__, link.__context__)
