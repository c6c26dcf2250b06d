"""Everyday sentences made from patterns with slots.

`data/patterns.txt` has a pattern a line, and so has `data/greetings.txt`; a slot `{name}` is filled
with one of the words that `data/slots.txt` gives for that name, which may hold slots themselves.
"""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data"
_SLOT = re.compile(r"\{(\w+)\}")


@cache
def _slots() -> dict[str, list[str]]:
    lines = (DATA / "slots.txt").read_text().splitlines()
    named = (line.partition(": ") for line in lines)
    return {name: words.split(" | ") for name, _, words in named}


@cache
def _patterns(file: str) -> list[str]:
    return (DATA / file).read_text().splitlines()


def sentence_from_patterns(draw: random.Random, file: str = "patterns.txt") -> str:
    """One sentence, its slots filled by `draw`; grammar is right for the most part."""
    text = draw.choice(_patterns(file))
    while _SLOT.search(text):
        text = _SLOT.sub(lambda slot: draw.choice(_slots()[slot[1]]), text, count=1)
    text = re.sub(r"\ba ((?:an|a|some|the) )", r"\1", text)
    text = re.sub(r"\bsome ((?:an|a|some) )", r"\1", text)
    text = re.sub(r"\ba (?=[aeio])", "an ", text)
    return text[0].upper() + text[1:]
