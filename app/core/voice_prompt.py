"""Puts the attributes of a designed voice into words that a person may go on editing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# Attribute by attribute, in the order in which they are offered.
ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "Age": ("teenage", "young", "middle-aged", "elderly"),
        "Gender": ("woman", "man", "girl", "boy"),
        "Pitch": ("very low", "low", "medium", "high", "very high"),
        "Pace": ("very slow", "slow", "even", "brisk", "very fast"),
        "Texture": ("smooth", "warm", "breathy", "husky", "gravelly", "nasal", "bright", "clear"),
        "Mood": ("calm", "cheerful", "serious", "tender", "excited", "sad", "stern", "playful"),
    }
)

EXAMPLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Narrator": "A middle-aged woman with a warm, low-pitched voice, speaking at a slow pace, "
        "sounding calm. Close to the listener, like the narrator of an audiobook.",
        "Tutor": "A young man with a bright voice, speaking at a brisk pace, sounding cheerful. "
        "Friendly and clear, as in a tutorial.",
        "Old man": "An elderly man with a gravelly, very low-pitched voice, speaking at a slow "
        "pace, sounding stern. Every word seems to cost an effort.",
    }
)
"""Descriptions that show what works, by a short name.

The first sentence of each is one of ours, so that the attributes show it and change it.
"""

# Values of an attribute that go together, and words that say the same of a speaker.
_ALIKE: Final[Mapping[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]]] = MappingProxyType(
    {
        "Age": (
            (("teenage", "young"), ("teenage", "teenager", "young", "youthful")),
            (("middle-aged",), ("middle-aged",)),
            (("elderly",), ("elderly", "old man", "old woman")),
        ),
        "Gender": (
            (("woman", "girl"), ("woman", "girl", "female", "she")),
            (("man", "boy"), ("man", "boy", "male", "he")),
        ),
        "Pitch": (
            (("very low", "low"), ("low voice", "low-pitched", "deep", "deep-voiced")),
            (("very high", "high"), ("high voice", "high-pitched", "shrill")),
        ),
        "Pace": (
            (("very slow", "slow"), ("slow", "slowly")),
            (("brisk", "very fast"), ("brisk", "briskly", "fast", "quickly")),
        ),
    }
)


def attribute_sentence(chosen: Mapping[str, str]) -> str:
    """The chosen attributes (name: one of `ATTRIBUTES[name]`) as a sentence, "" for none."""
    if not chosen:
        return ""
    who = f"{chosen.get('Age', '')} {chosen.get('Gender', 'speaker')}".strip()
    sound = [chosen["Texture"]] if "Texture" in chosen else []
    sound += [f"{chosen['Pitch']}-pitched"] if "Pitch" in chosen else []
    first = f"{_article(who).capitalize()} {who}"
    if sound:
        first += f" with {_article(sound[0])} {', '.join(sound)} voice"
    parts = [first]
    if "Pace" in chosen:
        parts.append(f"speaking at {_article(chosen['Pace'])} {chosen['Pace']} pace")
    if "Mood" in chosen:
        parts.append(f"sounding {chosen['Mood']}")
    return f"{', '.join(parts)}."


def attributes_in(prompt: str) -> dict[str, str]:
    """The attributes of the first sentence in the prompt that reads as if we had written it.

    So a description that was kept, undone or typed is known again; what a person has changed in
    the sentence makes it theirs.
    """
    for found in _SENTENCE.finditer(prompt):
        chosen = {name: value for name, value in found.groupdict().items() if value}
        if attribute_sentence(chosen) == found.group():
            return chosen
    return {}


def with_attributes(prompt: str, before: str, after: str) -> str:
    """The prompt with the sentence `before` replaced by `after`, or `after` put in front.

    The words around it stay as they are; the space of a sentence that is taken out goes with it.
    """
    start, found, end = prompt.partition(before) if before else (prompt, "", "")
    if found:
        if after:
            return f"{start}{after}{end}"
        return f"{start}{end.lstrip(' ')}" if end else start.rstrip(" ")
    if not after:
        return prompt
    return f"{after} {prompt}" if prompt.strip() else after


def contradiction(prompt: str) -> tuple[str, str] | None:
    """A word of our sentence in the prompt, and one of the other words that excludes it."""
    chosen = attributes_in(prompt)
    others = prompt.replace(attribute_sentence(chosen), " ", 1).casefold()
    for name, value in chosen.items():
        rivals = (words for values, words in _ALIKE.get(name, ()) if value not in values)
        for word in (word for words in rivals for word in words):
            if re.search(rf"(?<![\w-]){word}(?![\w-])", others):
                return value, word
    return None


def _article(words: str) -> str:
    return "an" if words[:1].lower() in "aeiou" else "a"


def _any_of(name: str) -> str:
    """A group of the values of an attribute, the longer ones first: they begin like others."""
    values = sorted(ATTRIBUTES[name], key=len, reverse=True)
    return f"(?P<{name}>{'|'.join(map(re.escape, values))})"


_SENTENCE: Final = re.compile(
    rf"An? (?:{_any_of('Age')} )?(?:{_any_of('Gender')}|speaker)"
    rf"(?: with an? (?:{_any_of('Texture')}(?:, )?)?(?:{_any_of('Pitch')}-pitched)? voice)?"
    rf"(?:, speaking at an? {_any_of('Pace')} pace)?(?:, sounding {_any_of('Mood')})?\."
)
