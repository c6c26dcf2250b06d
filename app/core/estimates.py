"""Guesses how long a text will take to say, before any model is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import regex

from app.core.scripts import Script, count_letters

# Seconds per letter of read-aloud speech, without pauses, which are a tenth of it. Latin and
# Cyrillic: 150 English words of 4.7 letters a minute. Han: 230 characters a minute; kana: 7 morae
# a second; Hangul: 5.5 syllables a second.
_SECONDS: Final = MappingProxyType(
    {
        Script.LATIN: 0.075,
        Script.CYRILLIC: 0.072,
        Script.HAN: 0.24,
        Script.KANA: 0.145,
        Script.HANGUL: 0.18,
        Script.RIGHT_TO_LEFT: 0.095,
        Script.OTHER: 0.09,
    }
)
_DIGIT: Final = 0.32
_SHORT_PAUSE: Final = 0.22
_LONG_PAUSE: Final = 0.5
_ONSET: Final = 0.35  # breath before and decay after

_DIGITS: Final = regex.compile(r"\p{Nd}")
_FULL_WIDTH: Final = "\u3002\uff01\uff1f"  # Chinese . ! ? which no blank follows
_ENDS: Final = f".!?\u2026\u061f{_FULL_WIDTH}"
_SHORT: Final = regex.compile(r"[,;:\u060C\u061B\u3001\uFF0C\uFF1B\uFF1A\u2013\u2014]+")
_LONG: Final = regex.compile(rf"[{_ENDS}\n]++")

SLOWEST, FASTEST = 1.9, 0.6
"""Share of the estimate that a sad or a hurried reading may take."""


@dataclass(frozen=True)
class SpeechEstimate:
    """Seconds that a text will probably take, and the range that is still plausible."""

    seconds: float
    low: float
    high: float


def estimate_speech(text: str) -> SpeechEstimate:
    """The length of `text` read aloud at a usual pace; zero if nothing in it can be said."""
    letters = count_letters(text)
    digits = len(_DIGITS.findall(text))
    spoken = sum(_SECONDS[script] * count for script, count in letters.items()) + digits * _DIGIT
    if not spoken:
        return SpeechEstimate(0.0, 0.0, 0.0)
    inner = text.strip().rstrip(_ENDS)  # a pause at the end is not heard
    pauses = _SHORT_PAUSE * len(_SHORT.findall(inner)) + _LONG_PAUSE * _long_pauses(inner)
    seconds = spoken + pauses + _ONSET
    return SpeechEstimate(seconds, seconds * FASTEST, seconds * SLOWEST + 1.0)


def _long_pauses(text: str) -> int:
    """How many sentences end within `text`; the point of "3.5" ends none."""
    return sum(
        not text[match.end() : match.end() + 1].isalnum()
        or any(mark in _FULL_WIDTH for mark in match.group())
        for match in _LONG.finditer(text)
    )
