"""Gives voices their colours: few, easily told apart, and spread over the library."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from app.core.voice_record import LibraryVoice, VoiceDetails
from app.core.voices import VoiceLibrary

VOICE_COLOURS: Final[tuple[tuple[str, str], ...]] = (
    ("#c9506a", "Red"),
    ("#c8702f", "Orange"),
    ("#a5851f", "Ochre"),
    ("#5d9440", "Green"),
    ("#2b9487", "Teal"),
    ("#3f86c6", "Blue"),
    ("#7a70cf", "Violet"),
    ("#b45fb0", "Pink"),
)
"""As "#rrggbb", with their names; all of them 3:1 or more on both themes."""

_STRIDE: Final = 5
"""New voices go round the colours in steps of this size: neighbours look much alike."""
_RGB: Final = re.compile(r"#[0-9a-fA-F]{6}")


def shown_colour(details: VoiceDetails) -> str:
    """The colour that was given to a voice, else always the same one for its id."""
    if _RGB.fullmatch(details.colour):
        return details.colour.lower()
    return VOICE_COLOURS[zlib.crc32(details.id.encode()) % len(VOICE_COLOURS)][0]


def fresh_colour(taken: Iterable[str]) -> str:
    """The colour for one more voice: one of those that the others have least."""
    used = Counter(taken)
    count = len(VOICE_COLOURS)
    order = (VOICE_COLOURS[at * _STRIDE % count][0] for at in range(count))
    return min(order, key=lambda colour: used[colour])


def give_colours(
    library: VoiceLibrary, others: Iterable[LibraryVoice], made: Iterable[LibraryVoice]
) -> tuple[LibraryVoice, ...]:
    """Voices that were made just now, with colours if they came without; raises StorageError."""
    taken = [shown_colour(voice.details) for voice in others]
    coloured = []
    for voice in made:
        now = voice
        if not now.details.colour and not now.read_only:
            now = library.save(now, replace(now.details, colour=fresh_colour(taken)))
        taken.append(shown_colour(now.details))
        coloured.append(now)
    return tuple(coloured)
