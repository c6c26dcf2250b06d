"""What is open in the studio: takes and the texts that are being worked on; it never changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from app.core.fields import Fields
from app.core.presets import Preset
from app.core.storage import DocumentKind
from app.core.takes import LONGEST_TEXT, Take, sampling_from
from app.core.voice_record import Likeness
from engine import Layout, Sampling

SESSION_DOCUMENT: Final = DocumentKind("session")


@dataclass(frozen=True)
class Draft:
    """What is set in one tab."""

    text: str = ""
    language: str = "auto"
    seed: int | None = None  # None for a new one each time
    voice_id: str = ""
    likeness: Likeness = Likeness.BEST
    speaker: str = ""
    instruct: str = ""
    preset: Preset = Preset.NATURAL
    sampling: Sampling | None = None  # knobs that were turned by hand
    layout: Layout = Layout.AUTO


@dataclass(frozen=True)
class Session:
    """A session: every change is a new value, so undo is a list of them."""

    name: str
    takes: tuple[Take, ...] = ()  # newest first
    drafts: Mapping[str, Draft] = field(default_factory=dict)  # by tab
    unknown: Mapping[str, Any] = field(default_factory=dict)  # keys of another version, kept

    def take(self, take_id: str) -> Take | None:
        return next((take for take in self.takes if take.id == take_id), None)

    def draft(self, tab: str) -> Draft:
        """The draft of a tab, a fresh one if it was never used."""
        return self.drafts.get(tab, Draft())

    def with_take(self, take: Take) -> Session:
        """With the take on top, or in its place if it is there already."""
        if self.take(take.id) is None:
            return replace(self, takes=(take, *self.takes))
        takes = tuple(take if each.id == take.id else each for each in self.takes)
        return replace(self, takes=takes)

    def without_takes(self, *take_ids: str) -> Session:
        return replace(self, takes=tuple(take for take in self.takes if take.id not in take_ids))

    def with_draft(self, tab: str, draft: Draft) -> Session:
        return replace(self, drafts={**self.drafts, tab: draft})


@dataclass(frozen=True)
class SessionOutline:
    """What `session.json` says: the takes by their ids only, for each has its own file."""

    name: str
    take_ids: tuple[str, ...] = ()
    drafts: Mapping[str, Draft] = field(default_factory=dict)
    unknown: Mapping[str, Any] = field(default_factory=dict)


def plain_session(session: Session) -> dict[str, Any]:
    """The values of `session.json`."""
    return {
        **session.unknown,
        "name": session.name,
        "takes": [take.id for take in session.takes],
        "drafts": {tab: _plain_draft(draft) for tab, draft in session.drafts.items()},
    }


def outline_from(fields: Fields, name: str) -> SessionOutline:
    """What the fields of a `session.json` say; `name` if it has none. DamagedFileError."""
    return SessionOutline(
        name=fields.text("name", name),
        take_ids=fields.texts("takes"),
        drafts={tab: _draft_from(draft) for tab, draft in fields.named_children("drafts").items()},
        unknown=fields.rest,  # the last argument: all others have taken theirs by then
    )


def _plain_draft(draft: Draft) -> dict[str, Any]:
    return {
        "text": draft.text,
        "language": draft.language,
        "seed": draft.seed,
        "voice_id": draft.voice_id,
        "likeness": draft.likeness,
        "speaker": draft.speaker,
        "instruct": draft.instruct,
        "preset": draft.preset,
        "sampling": None if draft.sampling is None else asdict(draft.sampling),
        "layout": draft.layout,
    }


def _draft_from(fields: Fields) -> Draft:
    usual = Draft()
    return Draft(
        text=fields.text("text", "", longest=LONGEST_TEXT),
        language=fields.text("language", usual.language),
        seed=fields.optional_integer("seed"),
        voice_id=fields.text("voice_id", ""),
        likeness=fields.choice("likeness", Likeness, usual.likeness),
        speaker=fields.text("speaker", ""),
        instruct=fields.text("instruct", ""),
        preset=fields.choice("preset", Preset, usual.preset),
        sampling=sampling_from(fields.child("sampling")),
        layout=fields.choice("layout", Layout, usual.layout),
    )
