"""Puts the attributes of a designed voice into words that a person may go on editing."""

from __future__ import annotations

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

EXAMPLES: Final = (
    "A middle-aged woman with a warm, low voice. She speaks calmly and close to the listener, "
    "like the narrator of an audiobook.",
    "A young man with a bright, clear voice who speaks briskly and cheerfully, as in a tutorial.",
    "An elderly man with a gravelly, very low voice. He speaks slowly and sounds stern.",
)
"""Descriptions that show what works."""


def attribute_sentence(chosen: Mapping[str, str]) -> str:
    """The chosen attributes (name: one of `ATTRIBUTES[name]`) as a sentence, "" for none."""
    who = f"{chosen.get('Age', '')} {chosen.get('Gender', 'speaker')}".strip()
    details = []
    sound = [chosen["Texture"]] if "Texture" in chosen else []
    sound += [f"{chosen['Pitch']}-pitched"] if "Pitch" in chosen else []
    if sound:
        details.append(f"with {_article(sound[0])} {', '.join(sound)} voice")
    if "Pace" in chosen:
        details.append(f"speaking at {_article(chosen['Pace'])} {chosen['Pace']} pace")
    if "Mood" in chosen:
        details.append(f"sounding {chosen['Mood']}")
    if not chosen:
        return ""
    first = f"{_article(who)} {who}"
    return " ".join([first[0].upper() + first[1:], ", ".join(details)]).strip() + "."


def with_attributes(prompt: str, before: str, after: str) -> str:
    """The prompt with the sentence `before` replaced by `after`, or `after` put in front."""
    if before and before in prompt:
        return prompt.replace(before, after, 1).strip()
    return f"{after} {prompt.strip()}".strip()


def _article(words: str) -> str:
    return "an" if words[:1].lower() in "aeiou" else "a"
