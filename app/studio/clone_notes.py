"""What is told to people while they make a voice from a recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from app.core.voice_record import LibraryVoice
from app.studio.notes import Note

GAPS_NOTE: Final = Note(
    "The computer was too busy to record everything: a little sound is missing.",
    "Listen to it, and record again if it clicks.",
)


def saved_note(voice: LibraryVoice) -> Note:
    """A voice is in the library."""
    if voice.files.widths:
        return Note(f"{voice.name} was saved.")
    return Note(
        f"{voice.name} was saved, but cannot speak yet.",
        "It is completed by itself as soon as there is a Base model.",
    )


def interrupted_note(again: Callable[[], None]) -> Note:
    """What learns voices has gone before it was done."""
    return Note(
        "The voice was not saved: it was still being learnt when the model was changed or "
        "unloaded; the draft is still here.",
        "",
        "Save again",
        again,
    )


def heard_note(differs: str, keep: Callable[[], None]) -> Note:
    """Words that were typed have given way to others; `differs` says how far they are apart."""
    return Note("The words were replaced by what was heard.", differs, "Keep mine", keep)


def left_note(source: str, verb: str, bring_back: Callable[[], None]) -> Note:
    """A draft was discarded or replaced."""
    return Note(f"The draft of {source} was {verb}.", "", "Undo", bring_back)


def left_over_note(source: str, go_on: Callable[[], None]) -> Note:
    """There is a draft of the last time."""
    return Note(f"The voice from {source} was not saved the last time.", "", "Go on with it", go_on)


def recovered_note(source: str, open_it: Callable[[], None]) -> Note:
    """A recording has survived a crash."""
    return Note(f"{source} was recovered.", "", "Open", open_it)
