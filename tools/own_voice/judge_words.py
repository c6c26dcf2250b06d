"""Counts the words that were understood wrongly."""

from __future__ import annotations

import re


def words_of(text: str) -> list[str]:
    """Lower-case words without marks; hyphens part them."""
    plain = re.sub(r"[^a-z0-9' ]", " ", text.lower().replace("-", " "))
    return plain.replace("'", "").split()


def edits(wanted: list[str], heard: list[str]) -> int:
    """Insertions, deletions and substitutions between the two (Levenshtein)."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(wanted, 1):
        previous, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (word != other))
    return row[-1]
