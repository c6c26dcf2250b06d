"""What a voice looks like and how it is put into words: kind, model, colour, where it is from."""

from __future__ import annotations

import os
import re
import unicodedata
import zlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from PySide6.QtGui import QColor

from app.core.voice_record import ANY_LANGUAGE, LibraryVoice, Origin, VoiceDetails, VoiceKind
from app.core.voices import DamagedVoice
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
COLOURS: Final[tuple[tuple[Rgb, str], ...]] = (
    ("#c9506a", "Red"),
    ("#c8702f", "Orange"),
    ("#a5851f", "Ochre"),
    ("#5d9440", "Green"),
    ("#2b9487", "Teal"),
    ("#3f86c6", "Blue"),
    ("#7a70cf", "Violet"),
    ("#b45fb0", "Pink"),
)
"""Colours for voices, with their names; all of them 3:1 or more on both themes."""

LIGHT_INK, DARK_INK = "#ffffff", "#101316"
LONGEST_LINE: Final = 300  # characters of a sentence in a tooltip
_RGB: Final = re.compile(r"#[0-9a-fA-F]{6}")


def row_key(row: VoiceRow) -> str:
    """What a row is recognised by when the list has changed."""
    return row.id if isinstance(row, LibraryVoice) else f"damaged {row.folder}"


def shown_name(row: VoiceRow) -> str:
    """The name of a voice or folder, as far as it can be seen."""
    return one_line(row.name)


def voice_colour(details: VoiceDetails) -> QColor:
    """The colour that was chosen for a voice, else always the same one of the palette."""
    if _RGB.fullmatch(details.colour):
        return QColor(details.colour)
    return QColor(COLOURS[zlib.crc32(details.id.encode()) % len(COLOURS)][0])


def ink_on(colour: Rgb) -> Rgb:
    """What can be seen best on a colour."""
    return max((LIGHT_INK, DARK_INK), key=lambda ink: contrast(colour, ink))


def models_of(voice: LibraryVoice) -> str:
    """The models that a voice speaks with: "0.6B", "0.6B and 1.7B", "no voice data yet"."""
    names = [KNOWN_WIDTHS.get(width, f"width {width}") for width in voice.files.widths]
    return " and ".join(names) if names else NO_DATA


def second_line(row: VoiceRow) -> str:
    """What stands below the name."""
    if isinstance(row, DamagedVoice):
        # The path of the folder would fill the line, and its name stands above.
        return one_line(f"Damaged: {row.error.message.replace(f'{row.folder}{os.sep}', '')}")
    parts = [KIND_WORDS[row.details.kind], models_of(row)]
    if row.details.language != ANY_LANGUAGE:
        parts.append(language_label(row.details.language))
    return " · ".join(parts)


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
    lines += [f"From the file {origin.source}."] if origin.source else []
    lines += [f"Speaker {origin.speaker} of a custom voice model."] if origin.speaker else []
    lines += [f"Designed as: “{origin.prompt}”"] if origin.prompt else []
    lines += [f"Seed {origin.seed}."] if origin.seed is not None else []
    lines += _parents(details.kind, origin)
    lines += [f"Model {origin.model}."] if origin.model else []
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
