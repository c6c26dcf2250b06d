"""What a voice looks like and how it is put into words: kind, model, colour, where it is from."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from PySide6.QtGui import QColor

from app.core.voice_colours import shown_colour
from app.core.voice_listing import DamagedVoice
from app.core.voice_record import ANY_LANGUAGE, LibraryVoice, Origin, VoiceDetails, VoiceKind
from app.ui.colours import Rgb, contrast
from app.ui.language_box import language_label
from engine.plain_text import one_line
from engine.voices import KNOWN_WIDTHS

VoiceRow: TypeAlias = LibraryVoice | DamagedVoice
"""What a row of the list shows."""

KIND_WORDS: Final[Mapping[VoiceKind, str]] = MappingProxyType(
    {
        VoiceKind.CLONE: "Clone",
        VoiceKind.SPEAKER: "Speaker",
        VoiceKind.DESIGNED: "Designed",
        VoiceKind.BLEND: "Blend",
        VoiceKind.IMPORTED: "Imported",
    }
)
KIND_ICONS: Final[Mapping[VoiceKind, str]] = MappingProxyType(
    {
        VoiceKind.CLONE: "mic",
        VoiceKind.SPEAKER: "voice",
        VoiceKind.DESIGNED: "wand",
        VoiceKind.BLEND: "blend",
        VoiceKind.IMPORTED: "archive",
    }
)
NO_DATA: Final = "no voice data yet"
LIGHT_INK, DARK_INK = "#ffffff", "#101316"
LONGEST_LINE: Final = 300  # characters of a sentence in a tooltip


def row_key(row: VoiceRow) -> str:
    """What a row is recognised by when the list has changed."""
    return row.id if isinstance(row, LibraryVoice) else f"damaged {row.folder}"


def shown_name(row: VoiceRow) -> str:
    """The name of a voice or folder, as far as it can be seen."""
    return one_line(row.name)


def voice_colour(details: VoiceDetails) -> QColor:
    """The colour that a voice is known by."""
    return QColor(shown_colour(details))


def ink_on(colour: Rgb) -> Rgb:
    """What can be seen best on a colour."""
    return max((LIGHT_INK, DARK_INK), key=lambda ink: contrast(colour, ink))


def models_of(voice: LibraryVoice) -> str:
    """The models that a voice speaks with: "0.6B", "0.6B and 1.7B", "no voice data yet".

    Empty for models of other sizes, which have no name that says anything.
    """
    if not voice.files.widths:
        return NO_DATA
    return " and ".join(
        KNOWN_WIDTHS[width] for width in voice.files.widths if width in KNOWN_WIDTHS
    )


def second_line(row: VoiceRow, *, with_tags: bool = False) -> str:
    """What stands below the name; the line may be cut, so what matters least comes last."""
    if isinstance(row, DamagedVoice):
        # The path of the folder would fill the line, and its name stands above.
        return one_line(f"Damaged: {row.error.message.replace(f'{row.folder}{os.sep}', '')}")
    language, models = row.details.language, models_of(row)
    parts = [
        KIND_WORDS[row.details.kind],
        "" if row.files.widths else models,
        "" if language == ANY_LANGUAGE else language_label(language),
        one_line(", ".join(row.details.tags)) if with_tags else "",
        f"for {models} models" if models and row.files.widths else "",
    ]
    return " · ".join(filter(None, parts))


def spoken_description(row: VoiceRow, *, is_playing: bool = False) -> str:
    """The row for a screen reader."""
    parts = [shown_name(row), second_line(row).replace(" · ", ", ")]
    if isinstance(row, LibraryVoice):
        parts += ["favourite"] if row.details.favourite else []
        parts += [f"tags: {', '.join(row.details.tags)}"] if row.details.tags else []
    parts += ["playing"] if is_playing else []
    return ", ".join(parts)


def tooltip(row: VoiceRow) -> str:
    """All there is to say about a row at a glance, a line each."""
    if isinstance(row, DamagedVoice):
        lines = [one_line(words) for words in (row.name, row.error.message, row.error.hint)]
        return "\n".join(filter(None, lines))
    details = row.details
    lines = [shown_name(row), second_line(row)]
    lines += [f"Tags: {', '.join(details.tags)}"] if details.tags else []
    lines += [_cut(details.note)] if details.note else []
    lines += [f"“{_cut(row.transcript)}”"] if row.transcript else []
    lines += ["It has no recording to listen to."] if row.recording is None else []
    lines += ["Written by a newer version of the studio: not changed."] if row.read_only else []
    return "\n".join(lines)


def origin_lines(details: VoiceDetails) -> tuple[str, ...]:
    """How a voice was made, as far as that is known, a sentence each."""
    origin = details.origin
    lines = [f"Made on {details.created[:10]}."] if details.created else []
    if origin.source and details.kind is not VoiceKind.DESIGNED:  # its source is a take's id
        lines.append(f"From the file {origin.source}.")
    lines += [f"Speaker {origin.speaker} of a custom voice model."] if origin.speaker else []
    lines += [f"Designed as: “{origin.prompt}”"] if origin.prompt else []
    lines += [f"Seed {origin.seed}."] if origin.seed is not None else []
    lines += _parents(details.kind, origin)
    lines += [f"Made by {origin.model_name}."] if origin.model_name else []
    return tuple(lines)


def _parents(kind: VoiceKind, origin: Origin) -> list[str]:
    names = origin.parent_names
    if not names:
        return []
    if kind is VoiceKind.BLEND and len(names) == 2:
        share = round(100 * origin.amount)
        return [f"Blended from {100 - share} % {names[0]} and {share} % {names[1]}."]
    return [f"A copy of {', '.join(names)}."]


def runs_leftwards(text: str) -> bool:
    """Whether a text is written from right to left, told by its first letter with a direction."""
    kinds = (unicodedata.bidirectional(character) for character in text)
    return next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
