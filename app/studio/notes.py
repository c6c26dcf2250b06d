"""What a controller tells people that is no problem, with a button where something can be done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """One sentence, and perhaps one action: "Anna was moved to the trash." [Undo]."""

    sentence: str
    hint: str = ""
    action_label: str = ""
    action: Callable[[], None] | None = None
