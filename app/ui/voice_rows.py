"""Decides which rows the list of voices has."""

from __future__ import annotations

from collections.abc import Iterable

from app.core.folding import contains_all, fold
from app.core.voice_listing import DamagedVoice
from app.core.voice_record import LibraryVoice, VoiceFilter
from app.ui.voice_look import VoiceRow


def shown_rows(
    voices: Iterable[LibraryVoice],
    damaged: Iterable[DamagedVoice],
    wanted: VoiceFilter,
    only_damaged: bool,
) -> tuple[VoiceRow, ...]:
    """The voices that pass, in their order, then the damaged folders.

    A damaged folder has no kind, language or tags; it is found by its name, as long as nothing
    of that is asked for.
    """
    asks_details = bool(wanted.tags or wanted.language or wanted.kinds or wanted.favourites)
    found: list[VoiceRow] = [] if only_damaged else list(wanted.apply(voices))
    if only_damaged or not asks_details:
        found += [row for row in damaged if contains_all(wanted.query, fold(row.name))]
    return tuple(found)
