"""What a controller tells people that is no problem, with a button where something can be done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Note:
    """One sentence, and perhaps one action: "Anna was moved to the trash." [Undo]."""

    sentence: str
    hint: str = ""
    action_label: str = ""
    action: Callable[[], None] | None = None
    folder: Path | None = None
    """What was written lies here; it is offered to be opened where there is no other action."""


def undoable(sentence: str, undo: Callable[[], None]) -> Note:
    """A note about a step that can be taken back."""
    return Note(sentence, action_label="Undo", action=undo)


class WayBack:
    """The note that offers to take the last step back, for as long as that is possible."""

    def __init__(self, withdraw: Callable[[Note], None]) -> None:
        """`withdraw` tells that a note offers what nobody can have any more."""
        self._withdraw = withdraw
        self._note: Note | None = None
        self._is_open: Callable[[], bool] = lambda: False

    def offer(self, note: Note, is_open: Callable[[], bool]) -> Note:
        """Remember a note that is about to be told; `is_open` says whether its action still can."""
        self._note, self._is_open = note, is_open
        return note

    def check(self) -> None:
        """Something has changed: withdraw the note if its action has nothing left to do."""
        if self._note is not None and not self._is_open():
            note, self._note = self._note, None
            self._withdraw(note)
