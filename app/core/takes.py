"""A take and everything that is needed to make it again, as its sidecar says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final
from uuid import uuid4

from app.core.fields import Fields
from app.core.storage import DocumentKind, timestamp
from app.core.voice_record import Likeness
from engine import Ending, Family, Layout, Sampling, SpeechRequest, StackSampling, Voice

TAKE_DOCUMENT: Final = DocumentKind("take description")
LONGEST_TEXT: Final = 1 << 24  # characters
MOST_FRAMES: Final = 1 << 31


class TakeEnding(StrEnum):
    """Why a take has no further sound."""

    SPOKEN = "spoken"  # to its end
    LIMIT = "limit"  # of frames
    STOPPED = "stopped"  # by the person, or by a crash
    FAILED = "failed"

    @classmethod
    def of(cls, ending: Ending) -> TakeEnding:
        return cls(ending.value)


@dataclass(frozen=True)
class TakeRequest:
    """What was asked for, as plain values; the voice by the id it has in the library."""

    text: str
    family: Family
    language: str = "auto"
    voice_id: str = ""
    likeness: Likeness = Likeness.STEADY
    speaker: str = ""
    instruct: str = ""
    layout: Layout = Layout.AUTO
    sampling: Sampling = field(default_factory=Sampling)

    def speech(self, seeds: tuple[int, ...], voice: Voice | None = None) -> SpeechRequest:
        """The request to the engine; every seed makes one take."""
        return SpeechRequest(
            text=self.text,
            language=self.language,
            voice=voice,
            speaker=self.speaker or None,
            instruct=self.instruct or None,
            layout=self.layout,
            sampling=self.sampling,
            seeds=seeds,
        )


@dataclass(frozen=True)
class Take:
    """One clip that was spoken, or is about to be."""

    request: TakeRequest
    seed: int
    voice_label: str  # for people: the voice, the speaker, or "Designed"
    id: str = field(default_factory=lambda: uuid4().hex)
    model: str = ""  # its name
    model_fingerprint: str = ""
    codec: str = ""  # whose codes it has, as descriptions of models name it
    device: str = ""
    precision: str = ""
    sample_rate: int = 24_000  # Hz
    seconds: float = 0.0
    frames: int = 0  # of codes; 0 if they were not kept
    ending: TakeEnding = TakeEnding.STOPPED
    created: str = field(default_factory=timestamp)
    star: bool = False
    note: str = ""
    remark: str = ""  # of the studio: what failed, or that it was recovered
    unknown: Mapping[str, Any] = field(default_factory=dict)  # keys of another version, kept

    @property
    def text(self) -> str:
        return self.request.text

    @property
    def family(self) -> Family:
        return self.request.family

    @property
    def is_whole(self) -> bool:
        """Whether all of its words were spoken."""
        return self.ending is TakeEnding.SPOKEN

    @property
    def file(self) -> str:
        """Name of the WAV file in the folder of takes."""
        return f"{self.id}.wav"

    @property
    def label(self) -> str:
        """A short name for people: the first words."""
        words = " ".join(self.request.text[:200].split())
        return words if len(words) <= 40 else f"{words[:39].rstrip()}\u2026"


def plain_take(take: Take) -> dict[str, Any]:
    """The values of a sidecar."""
    request = take.request
    return {
        **take.unknown,
        "id": take.id,
        "request": {
            "text": request.text,
            "family": request.family,
            "language": request.language,
            "voice_id": request.voice_id,
            "likeness": request.likeness,
            "speaker": request.speaker,
            "instruct": request.instruct,
            "layout": request.layout,
            "sampling": asdict(request.sampling),
        },
        "seed": take.seed,
        "voice_label": take.voice_label,
        "model": take.model,
        "model_fingerprint": take.model_fingerprint,
        "codec": take.codec,
        "device": take.device,
        "precision": take.precision,
        "sample_rate": take.sample_rate,
        "seconds": take.seconds,
        "frames": take.frames,
        "ending": take.ending,
        "created": take.created,
        "star": take.star,
        "note": take.note,
        "remark": take.remark,
        "file": take.file,
    }


def take_from(fields: Fields) -> Take:
    """The take that a sidecar describes; raises DamagedFileError."""
    request = fields.child("request") or Fields({}, "the request")
    fields.text("file", "")  # for people; it is the id that counts
    return Take(
        id=fields.text("id", longest=64),
        request=TakeRequest(
            text=request.text("text", longest=LONGEST_TEXT),
            family=request.choice("family", Family),
            language=request.text("language", "auto"),
            voice_id=request.text("voice_id", ""),
            likeness=request.choice("likeness", Likeness, Likeness.STEADY),
            speaker=request.text("speaker", ""),
            instruct=request.text("instruct", ""),
            layout=request.choice("layout", Layout, Layout.AUTO),
            sampling=sampling_from(request.child("sampling")) or Sampling(),
        ),
        seed=fields.integer("seed", high=2**64 - 1),
        voice_label=fields.text("voice_label", ""),
        model=fields.text("model", ""),
        model_fingerprint=fields.text("model_fingerprint", ""),
        codec=fields.text("codec", "", longest=64),
        device=fields.text("device", ""),
        precision=fields.text("precision", ""),
        sample_rate=fields.integer("sample_rate", 24_000, 1000, 1_000_000),
        seconds=fields.number("seconds", 0.0, 0.0, 1e7),
        frames=fields.integer("frames", 0, 0, MOST_FRAMES),
        ending=fields.choice("ending", TakeEnding, TakeEnding.STOPPED),
        created=fields.text("created", ""),
        star=fields.flag("star", default=False),
        note=fields.text("note", ""),
        remark=fields.text("remark", ""),
        unknown=fields.rest,  # the last argument: all others have taken theirs by then
    )


def sampling_from(fields: Fields | None) -> Sampling | None:
    """The knobs that `asdict(sampling)` has become; raises DamagedFileError."""
    if fields is None:
        return None
    usual = Sampling()
    return Sampling(
        talker=_stack_from(fields.child("talker")),
        predictor=_stack_from(fields.child("predictor")),
        repetition_penalty=fields.number("repetition_penalty", usual.repetition_penalty, 0, 1e6),
        min_frames=fields.integer("min_frames", usual.min_frames, 0, MOST_FRAMES),
        max_frames=fields.integer("max_frames", usual.max_frames, 0, MOST_FRAMES),
    )


def _stack_from(fields: Fields | None) -> StackSampling:
    usual = StackSampling()
    if fields is None:
        return usual
    return StackSampling(
        greedy=fields.flag("greedy", usual.greedy),
        temperature=fields.number("temperature", usual.temperature, 0, 1e6),
        top_k=fields.integer("top_k", usual.top_k, 0, MOST_FRAMES),
        top_p=fields.number("top_p", usual.top_p, 0, 1),
    )
