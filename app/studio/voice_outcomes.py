"""What became of voices that were changed together, and the words for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from app.core.voice_record import LibraryVoice
from app.studio.notes import Note
from engine import ExplainedError

S = TypeVar("S")
T = TypeVar("T")


def each_of(things: Iterable[S], act: Callable[[S], T]) -> tuple[list[T], list[ExplainedError]]:
    """What came of each, and what went wrong: one that fails stops none of the others."""
    results, errors = [], []
    for thing in things:
        try:
            results.append(act(thing))
        except ExplainedError as error:
            errors.append(error)
    return results, errors


def joint_problem(errors: Sequence[ExplainedError], total: int, act: str) -> ExplainedError:
    """One error for those of several things that could not be `act` ("deleted")."""
    first = errors[0]
    if len(errors) == total == 1:
        return first
    return ExplainedError(
        f"{len(errors)} of {total} could not be {act}: {first.message}",
        first.hint,
        "\n".join(str(error) for error in errors),
    )


def named(voices: Sequence[LibraryVoice]) -> str:
    """The name of one, the number of several: "3 voices"."""
    return voices[0].name if len(voices) == 1 else f"{len(voices)} voices"


def was(voices: Sequence[LibraryVoice]) -> str:
    """The verb that goes with `named`."""
    return "was" if len(voices) == 1 else "were"


def exported_note(voices: Sequence[LibraryVoice], target: Path, folder: Path) -> Note:
    """Tells where voices were written to; `folder` is what can be opened to see them."""
    return Note(f"{named(voices)} {was(voices)} exported to {target}.", folder=folder)
