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
        "Narrator": "A middle-aged woman with a warm, low voice. She speaks calmly and close to "
        "the listener, like the narrator of an audiobook.",
        "Tutor": "A young man with a bright, clear voice who speaks briskly and cheerfully, as in "
        "a tutorial.",
        "Old man": "An elderly man with a gravelly, very low voice. He speaks slowly and sounds "
        "stern.",
    }
)
"""Descriptions that show what works, by a short name."""


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
