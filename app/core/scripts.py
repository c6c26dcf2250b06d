"""Tells which writing systems a text uses, and which ones a spoken language is written in."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import Final

import regex


class Script(StrEnum):
    """The writing systems of the languages that the models speak, and of those they do not."""

    LATIN = "Latin"
    CYRILLIC = "Cyrillic"
    HAN = "Han"
    KANA = "Kana"
    HANGUL = "Hangul"
    RIGHT_TO_LEFT = "right-to-left"  # Arabic, Hebrew and the like
    OTHER = "other"


LETTERS: Final = MappingProxyType(
    {
        Script.LATIN: regex.compile(r"\p{Script=Latin}"),
        Script.CYRILLIC: regex.compile(r"\p{Script=Cyrillic}"),
        Script.HAN: regex.compile(r"\p{Script=Han}"),
        Script.KANA: regex.compile(r"[\p{Script=Hiragana}\p{Script=Katakana}ー]"),
        Script.HANGUL: regex.compile(r"\p{Script=Hangul}"),
        Script.RIGHT_TO_LEFT: regex.compile(
            r"[\p{Bidi_Class=Right_To_Left}\p{Bidi_Class=Arabic_Letter}]"
        ),
    }
)
LETTER: Final = regex.compile(r"\p{L}")

_WRITTEN_IN: Final = MappingProxyType(
    {
        "chinese": frozenset({Script.HAN}),
        "beijing_dialect": frozenset({Script.HAN}),
        "sichuan_dialect": frozenset({Script.HAN}),
        "japanese": frozenset({Script.KANA, Script.HAN}),
        "korean": frozenset({Script.HANGUL}),
        "russian": frozenset({Script.CYRILLIC}),
    }
)
_LATIN_LANGUAGES: Final = frozenset(
    {"english", "german", "french", "spanish", "portuguese", "italian"}
)


def scripts_of(language: str) -> frozenset[Script] | None:
    """The writing systems of a language of the models; None for "auto" and unknown ones."""
    name = language.strip().lower()
    if name in _LATIN_LANGUAGES:
        return frozenset({Script.LATIN})
    return _WRITTEN_IN.get(name)


def count_letters(text: str) -> dict[Script, int]:
    """How many letters of each writing system there are; those with none are left out."""
    counts = {script: len(pattern.findall(text)) for script, pattern in LETTERS.items()}
    others = len(LETTER.findall(text)) - sum(counts.values())
    counts[Script.OTHER] = max(0, others)
    return {script: count for script, count in counts.items() if count}
