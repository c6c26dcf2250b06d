"""Makes texts comparable for search: without case, accents and other differences of spelling."""

from __future__ import annotations

import re
import unicodedata
from types import MappingProxyType
from typing import Final

# Accents of Latin, Greek and Cyrillic. Not the voicing marks of kana or the vowels of Devanagari:
# without those, words become other words.
_ACCENTS: Final = re.compile("[\u0300-\u036f]")
_LETTERS: Final = MappingProxyType(
    str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "\u0131": "i", "æ": "ae", "œ": "oe"})
)


def fold(text: str) -> str:
    """`text` without case, accents, width and ligatures, blanks made one: "Łódź" is "lodz"."""
    # Compatibility caseless matching (Unicode Standard, D146): each step may undo the other.
    spelled = unicodedata.normalize("NFD", text)
    for _ in range(2):
        spelled = unicodedata.normalize("NFKD", spelled.casefold())
    plain = _ACCENTS.sub("", spelled).translate(_LETTERS)
    return " ".join(unicodedata.normalize("NFC", plain).split())


def contains_all(words: str, folded: str) -> bool:
    """Whether every word of a query is somewhere in a folded text; so for no words."""
    return all(word in folded for word in fold(words).split())
