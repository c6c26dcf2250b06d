"""What is known about the speakers that the published models bring, which files do not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from engine import ModelDescription


@dataclass(frozen=True)
class SpeakerCard:
    """A speaker of a checkpoint, as it is shown."""

    name: str  # as the checkpoint calls it
    language: str = ""  # mother tongue, empty if unknown
    dialect: str = ""  # as the checkpoint says it, in words
    about: str = ""

    @property
    def title(self) -> str:
        """The name for people: "uncle_fu" is "Uncle Fu"."""
        return " ".join(part.capitalize() for part in self.name.replace("_", " ").split())


_KNOWN: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "vivian": ("Chinese", "young woman, bright with an edge"),
        "serena": ("Chinese", "young woman, warm and soft"),
        "uncle_fu": ("Chinese", "older man, low and mellow"),
        "dylan": ("Chinese", "young man, clear and natural"),
        "eric": ("Chinese", "lively man, slightly husky"),
        "ryan": ("English", "man, energetic with strong rhythm"),
        "aiden": ("English", "young American, sunny and clear"),
        "ono_anna": ("Japanese", "young woman, light and playful"),
        "sohee": ("Korean", "woman, warm and full of feeling"),
        # of the demonstration voice
        "clara": ("English", "woman, clear and even"),
        "nora": ("English", "woman, low and calm"),
        "ruben": ("English", "man, low and dry"),
        "felix": ("English", "young man, light"),
        "angus": ("English", "man, plain"),
    }
)


def speaker_cards(description: ModelDescription) -> tuple[SpeakerCard, ...]:
    """The speakers of a checkpoint in its own order, with what is known of them."""
    cards = []
    for name in description.speakers:
        language, about = _KNOWN.get(name.lower(), ("", ""))
        dialect = description.dialects.get(name, "").replace("_", " ")
        dialect = dialect[:1].upper() + dialect[1:]
        cards.append(SpeakerCard(name, language, dialect, about))
    return tuple(cards)
