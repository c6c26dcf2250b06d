"""A recording that a voice is made from, as it was opened: judged, and with a suggestion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from app.audio.take_buffer import TakeBuffer
from app.core.clone_draft import CloneDraft
from app.core.reference import Fix, Reference, ReferenceReport, assess_reference
from app.core.speech_detection import Segment, segments_by_level, segments_by_model
from app.core.speech_model import SpeechModelError, load_speech_model
from app.core.suggestion import suggest_range
from app.core.text_files import read_text_file
from engine import CancelToken, ExplainedError
from engine.audio import Recording, read_audio

WORDS = ".txt"


@dataclass(frozen=True, eq=False)
class Clip:
    """A recording, what was chosen and mended in it, and where speech is."""

    path: Path
    recording: Recording
    reference: Reference
    segments: tuple[Segment, ...]

    def with_reference(self, reference: Reference) -> Clip:
        return replace(self, reference=reference)

    def with_fix(self, fix: Fix) -> Clip:
        return self.with_reference(self.reference.with_fix(fix, self.segments))

    def without_fix(self, fix: Fix) -> Clip:
        return self.with_reference(self.reference.without_fix(fix))

    def judge(self) -> ReferenceReport:
        """What is to be said about the chosen part."""
        return assess_reference(self.reference, self.recording, self.segments)

    def suggestion(self) -> Segment | None:
        """The part that a voice is best made from."""
        return suggest_range(self.reference.source, self.reference.rate, self.segments)

    def buffer(self) -> TakeBuffer:
        """All of it, with level and offset mended."""
        return TakeBuffer.of(self.reference.sound(), self.reference.rate)

    def sounds_like(self, other: Clip) -> bool:
        """Whether both have the same buffer."""
        mine, theirs = self.reference, other.reference
        return (mine.offset, mine.gain) == (theirs.offset, theirs.gain)

    def draft(self) -> CloneDraft:
        """What can be kept of it."""
        reference = self.reference
        return CloneDraft(
            path=self.path,
            selection=reference.selection,
            offset=reference.offset,
            gain=reference.gain,
            fade_seconds=reference.fade_seconds,
            tail_seconds=reference.tail_seconds,
        )


@dataclass(frozen=True, eq=False)
class OpenedClip:
    """All that the window shows of a clip that was just opened."""

    clip: Clip
    buffer: TakeBuffer
    judgement: ReferenceReport
    suggestion: Segment | None
    words: str  # of a text file beside it


@dataclass(frozen=True)
class DetectedSpeech:
    """Where a voice speaks in a recording, and the part that is therefore suggested."""

    segments: tuple[Segment, ...]
    suggestion: Segment | None


def open_clip(path: Path, draft: CloneDraft | None = None) -> OpenedClip:
    """Read a sound file, and do to it what a draft says. Raises AudioFileError.

    Speech is found by its level, which takes no time; `detect_speech` does it better.
    """
    recording = read_audio(path)
    samples, rate = recording.samples, recording.sample_rate
    reference = Reference(samples, rate)
    if draft is not None:
        reference = replace(
            reference.with_selection(draft.selection),
            offset=draft.offset,
            gain=draft.gain,
            fade_seconds=draft.fade_seconds,
            tail_seconds=draft.tail_seconds,
        )
    clip = Clip(path, recording, reference, segments_by_level(samples, rate))
    words = _words_beside(path)
    return OpenedClip(clip, clip.buffer(), clip.judge(), clip.suggestion(), words)


def detect_speech(clip: Clip, cancel: CancelToken) -> DetectedSpeech | None:
    """Where a voice speaks; None if that cannot be told. Raises Cancelled."""
    try:
        model = load_speech_model()
    except SpeechModelError:
        return None  # what was found by level is good enough to go on with
    source, rate = clip.reference.source, clip.reference.rate
    segments = segments_by_model(model, source, rate, cancel)
    return DetectedSpeech(segments, suggest_range(source, rate, segments)) if segments else None


def _words_beside(path: Path) -> str:
    """The text of `anna.txt` for `anna.wav`; "" if there is none that can be read."""
    beside = path.with_suffix(WORDS)
    if not beside.is_file():
        return ""
    try:
        return read_text_file(beside).text
    except ExplainedError:
        return ""
