"""What the library knows about a voice, and how `voice.json` says it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from app.core.fields import Fields
from app.core.folding import contains_all, fold
from app.core.storage import DocumentKind, timestamp

VOICE_DOCUMENT: Final = DocumentKind("voice description")
ANY_LANGUAGE: Final = "auto"
_DIGITS: Final = re.compile(r"(\d+)")


class VoiceKind(StrEnum):
    """Where a voice comes from."""

    CLONE = "clone"
    DESIGNED = "designed"
    SPEAKER = "speaker"
    BLEND = "blend"
    IMPORTED = "imported"


class Likeness(StrEnum):
    """How a voice is used: with its reference codes, or by its x-vector alone."""

    BEST = "best"  # ICL; needs codes and transcript
    STEADY = "steady"  # x-vector only


@dataclass(frozen=True)
class Consent:
    """Who allowed the voice to be used, in their words."""

    text: str
    name: str
    date: str  # ISO 8601


@dataclass(frozen=True)
class Origin:
    """How a voice was made, as far as it applies."""

    prompt: str = ""  # of a designed voice
    seed: int | None = None
    model: str = ""  # fingerprint
    speaker: str = ""  # of a custom_voice model
    parents: tuple[str, ...] = ()  # ids of voices it was blended or copied from
    parent_names: tuple[str, ...] = ()  # as they were called then
    amount: float = 0.0  # of the second parent
    source: str = ""  # name of the file that was imported or cloned, or the id of a take
    model_name: str = ""  # as people know it


@dataclass(frozen=True)
class VoiceDetails:
    """What `voice.json` says."""

    name: str
    kind: VoiceKind
    id: str = field(default_factory=lambda: uuid4().hex)
    language: str = ANY_LANGUAGE
    tags: tuple[str, ...] = ()
    favourite: bool = False
    note: str = ""
    colour: str = ""  # "#rrggbb"; empty for one derived from the id
    consent: Consent | None = None
    created: str = field(default_factory=timestamp)
    origin: Origin = field(default_factory=Origin)
    unknown: Mapping[str, Any] = field(default_factory=dict)  # keys of another version, kept


@dataclass(frozen=True)
class VoiceFiles:
    """What lies in the folder of a voice."""

    clip: Path | None = None  # as it was given
    trimmed: Path | None = None  # the part that was encoded
    codecs: tuple[str, ...] = ()  # that there are reference codes of; "" is the official one
    widths: tuple[int, ...] = ()  # of the talkers it can speak with, ascending

    @property
    def has_codes(self) -> bool:
        """Whether there are reference codes, of whichever tokenizer."""
        return bool(self.codecs)


@dataclass(frozen=True)
class LibraryVoice:
    """A voice of the library: its details, and what is there of it."""

    folder: Path
    details: VoiceDetails
    files: VoiceFiles
    transcript: str = ""
    read_only: bool = False
    """Written by a newer version: it speaks, but is not changed."""

    @property
    def id(self) -> str:
        return self.details.id

    @property
    def name(self) -> str:
        return self.details.name

    @property
    def has_best_likeness(self) -> bool:
        """Whether reference codes and their words are there."""
        return self.files.has_codes and bool(self.transcript)

    @property
    def recording(self) -> Path | None:
        """What it can be made again from, and what is played as its sample."""
        return self.files.trimmed or self.files.clip

    @cached_property
    def search_text(self) -> str:
        """All that a search looks at, folded."""
        details = self.details
        parts = (details.name, *details.tags, details.language, details.note, self.transcript)
        return fold("\n".join(parts))


class VoiceOrder(StrEnum):
    """How a list of voices may be sorted."""

    NAME = "name"
    NEWEST = "newest"
    LANGUAGE = "language"


@dataclass(frozen=True)
class VoiceFilter:
    """Which voices to show; the default shows all."""

    query: str = ""  # all of its words in name, tags, language, note or transcript
    tags: frozenset[str] = frozenset()  # all of them
    language: str = ""
    kinds: frozenset[VoiceKind] = frozenset()  # any of them
    favourites: bool = False

    def apply(self, voices: Iterable[LibraryVoice]) -> tuple[LibraryVoice, ...]:
        """The voices that pass, in their order."""
        tags = {fold(tag) for tag in self.tags}
        return tuple(voice for voice in voices if self._passes(voice, tags))

    def _passes(self, voice: LibraryVoice, tags: set[str]) -> bool:
        details = voice.details
        return (
            (details.favourite or not self.favourites)
            and (not self.language or details.language == self.language)
            and (not self.kinds or details.kind in self.kinds)
            and (not tags or tags <= {fold(tag) for tag in details.tags})
            and contains_all(self.query, voice.search_text)
        )


def sorted_voices(
    voices: Iterable[LibraryVoice], order: VoiceOrder = VoiceOrder.NAME
) -> tuple[LibraryVoice, ...]:
    """Voices by name, by age or by language and name."""
    by_name = sorted(
        voices, key=lambda voice: (_natural(voice.name), voice.details.created, voice.id)
    )
    if order is VoiceOrder.NEWEST:
        return tuple(sorted(by_name, key=lambda voice: voice.details.created, reverse=True))
    if order is VoiceOrder.LANGUAGE:
        return tuple(sorted(by_name, key=lambda voice: voice.details.language))
    return tuple(by_name)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sorts as people count: "Voice 9" before "Voice 10"."""
    parts = _DIGITS.split(fold(name))
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part]


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags without blanks around, empty ones and those that differ in case or accents only."""
    kept: dict[str, str] = {}
    for tag in tags:
        trimmed = " ".join(tag.split())
        if trimmed:
            kept.setdefault(fold(trimmed) or trimmed, trimmed)
    return tuple(kept.values())


def details_from(fields: Fields) -> VoiceDetails:
    """What the fields of a `voice.json` say; raises DamagedFileError."""
    consent, origin = fields.child("consent"), fields.child("origin")
    return VoiceDetails(
        id=fields.text("id", longest=64),
        name=fields.text("name", longest=4096),
        kind=fields.choice("kind", VoiceKind),
        language=fields.text("language", ANY_LANGUAGE),
        tags=fields.texts("tags"),
        favourite=fields.flag("favourite", default=False),
        note=fields.text("note", ""),
        colour=fields.text("colour", ""),
        consent=None if consent is None else _consent_from(consent),
        created=fields.text("created", ""),
        origin=Origin() if origin is None else _origin_from(origin),
        unknown=fields.rest,  # the last argument: all others have taken theirs by then
    )


def plain_details(details: VoiceDetails) -> dict[str, Any]:
    """The values of `voice.json`."""
    consent, origin = details.consent, details.origin
    return {
        **details.unknown,
        "id": details.id,
        "name": details.name,
        "kind": details.kind,
        "language": details.language,
        "tags": list(details.tags),
        "favourite": details.favourite,
        "note": details.note,
        "colour": details.colour,
        "consent": None
        if consent is None
        else {"text": consent.text, "name": consent.name, "date": consent.date},
        "created": details.created,
        "origin": {
            "prompt": origin.prompt,
            "seed": origin.seed,
            "model": origin.model,
            "speaker": origin.speaker,
            "parents": list(origin.parents),
            "parent_names": list(origin.parent_names),
            "amount": origin.amount,
            "source": origin.source,
            "model_name": origin.model_name,
        },
    }


def _consent_from(fields: Fields) -> Consent:
    return Consent(fields.text("text", ""), fields.text("name", ""), fields.text("date", ""))


def _origin_from(fields: Fields) -> Origin:
    return Origin(
        prompt=fields.text("prompt", ""),
        seed=fields.optional_integer("seed"),
        model=fields.text("model", ""),
        speaker=fields.text("speaker", ""),
        parents=fields.texts("parents"),
        parent_names=fields.texts("parent_names"),
        amount=fields.number("amount", 0.0, 0.0, 1.0),
        source=fields.text("source", ""),
        model_name=fields.text("model_name", ""),
    )
