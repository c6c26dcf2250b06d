"""What the window shows of a voice that is being made from a recording."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.audio.take_buffer import TakeBuffer
from app.core.reference import FADE_SECONDS, Fix, Reference
from app.core.transcription import Transcription, length_warning, likeness_warning
from app.core.voice_record import ANY_LANGUAGE, Likeness
from engine.audio import SHORTEST_REFERENCE_SECONDS, AudioReport, AudioWarning
from engine.audio.reading import SILENT_DBFS

CONSENT_TEXT: Final = (
    "The person whose voice this is has agreed that it is cloned and used, or it is my own."
)
LONGEST_PART: Final = 120.0  # seconds; every take would wait for a longer one


@dataclass(frozen=True)
class CloneState:
    """A draft; without a buffer there is none."""

    source: str = ""  # what people see: the name of the file, or when it was recorded
    path: Path | None = None
    buffer: TakeBuffer | None = None  # all of the recording, level and offset mended
    rate: int = 0  # Hz
    seconds: float = 0.0  # all of it
    range: tuple[int, int] | None = None  # samples of the buffer; None for all of it
    suggestion: tuple[int, int] | None = None
    report: AudioReport | None = None  # of the chosen part
    warnings: tuple[AudioWarning, ...] = ()
    fixes: frozenset[Fix] = frozenset()  # that would change something, or are applied
    applied: frozenset[Fix] = frozenset()
    transcript: str = ""
    transcript_warning: str = ""
    likeness: Likeness = Likeness.BEST
    name: str = ""
    language: str = ANY_LANGUAGE
    consent_text: str = CONSENT_TEXT
    consent_given: bool = False
    consent_name: str = ""
    busy: str = ""  # what is being done: "Reading anna.wav"
    can_stop: bool = True  # False while a voice is being written into the library
    can_save: bool = False
    missing: str = ""  # why not yet
    can_transcribe: bool = False
    transcribe_hint: str = ""
    fade_seconds: float = FADE_SECONDS
    tail_seconds: float = 0.0


def followed(
    state: CloneState, reference: Reference | None, transcription: Transcription, heard: str
) -> CloneState:
    """The state with all that follows: from the reference, from the words, for saving.

    `heard` is what a recogniser has made of the chosen part.
    """
    state = replace(
        state,
        range=None if reference is None else reference.selection,
        applied=frozenset() if reference is None else reference.applied,
        transcript_warning=_warning(state, heard),
        can_transcribe=transcription.is_available and reference is not None,
        transcribe_hint=transcription.hint,
    )
    missing = _missing(state)
    return replace(state, missing=missing, can_save=not missing and not state.busy)


def _warning(state: CloneState, heard: str) -> str:
    """What is odd about the words, for the clip as it is."""
    if state.report is None:
        return ""
    words = state.transcript
    return length_warning(words, state.report.seconds) or likeness_warning(words, heard)


def _missing(state: CloneState) -> str:
    """The first thing that saving waits for."""
    if state.buffer is None:
        return "Record or open a clip first."
    report = state.report
    if report is None:
        return "The clip is still being looked at."
    if report.seconds < SHORTEST_REFERENCE_SECONDS:
        return "The chosen part is too short for a voice: choose 6 to 15 s of speech."
    if report.seconds > LONGEST_PART:
        return (
            f"The chosen part has {report.seconds / 60:.1f} minutes: choose 6 to 15 s of speech, "
            f"{LONGEST_PART / 60:.0f} minutes at most."
        )
    if report.peak_dbfs < SILENT_DBFS:
        return "The chosen part is silent: choose one in which somebody speaks."
    if state.likeness is Likeness.BEST and not state.transcript.strip():
        return "Write what is said in the clip, or choose Voice only, which needs no words."
    if not state.name.strip():
        return "Give the voice a name."
    if not state.consent_given:
        return "Say that the voice may be used."
    if not state.consent_name.strip():
        return "Write who agreed: the name of the speaker."
    return ""
