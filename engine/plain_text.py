"""Shows text that nobody has chosen for showing, such as names of files: it may hold anything."""

from __future__ import annotations

import unicodedata
from typing import Final

_UNSEEN: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories: control characters, halves of pairs, and what ends lines and paragraphs."""
_MARKS: Final = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
"""What changes the direction of writing: `exe.gnp` would read `png.exe` behind one of these."""


def one_line(text: str) -> str:
    """The text with line breaks, control characters and direction marks spelled out."""
    return "".join(char if _is_plain(char) else _spelled(char) for char in text)


def some_lines(text: str) -> str:
    """The same for text of several lines, which stay."""
    return "\n".join(one_line(line) for line in text.split("\n"))


def _is_plain(char: str) -> bool:
    return char not in _MARKS and unicodedata.category(char) not in _UNSEEN


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode()
