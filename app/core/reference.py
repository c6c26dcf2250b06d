"""A recording on its way to become a voice: which part of it, and what was mended, as a value.

Nothing is changed that nobody asked for: without a choice and a fix, the result is the recording
to the bit. The source is never touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np

from app.core.speech_detection import Segment
from engine.audio import AudioReport, AudioWarning, AudioWarningKind, Recording, assess, warnings_of
from engine.audio.report import LOUD_PERCENTILE, ClipCounter, decibels, frame_levels
from engine.types import Samples

PEAK_DBFS: Final = -3.0  # after levelling
LOUDEST_DBFS: Final = -9.0  # of the loud frames then: a dense recording is lowered further
LEVEL_STEP_DB: Final = 3.0  # a smaller change is not worth a button
NEAR_FULL_SCALE_DBFS: Final = -0.5
OFFSET: Final = 0.002  # of full scale; the report warns from five times as much on
FADE_SECONDS: Final = 0.010
TRIM_MARGIN: Final = 0.15  # seconds of silence that stay around speech
TRIM_WORTH: Final = 0.3  # seconds that are gained
FILE_KINDS: Final = frozenset(
    {
        AudioWarningKind.TRUNCATED,
        AudioWarningKind.MISLABELLED,
        AudioWarningKind.NOT_NUMBERS,
        AudioWarningKind.SILENT_CHANNEL,
        AudioWarningKind.OUT_OF_PHASE,
    }
)
"""What is told of a file as a whole; the rest is measured on the part that was chosen."""


class Fix(StrEnum):
    """What can be mended; the comment says which finding calls for it."""

    OFFSET = "offset"  # DC_OFFSET
    LEVEL = "level"  # QUIET, OVER_FULL_SCALE
    TRIM_SILENCE = "trim-silence"  # MOSTLY_SILENT


@dataclass(frozen=True, eq=False)
class Reference:
    """A source with what was chosen and mended; every change is a new value."""

    source: Samples  # [n] mono
    rate: int  # Hz
    selection: Segment | None = None  # None for all
    offset: float = 0.0  # subtracted from every sample
    gain: float = 1.0  # that it is multiplied by then
    before_trim: tuple[Segment | None] | None = None  # the selection, if silence was trimmed
    fade_seconds: float = FADE_SECONDS  # where the source goes on beyond the selection
    tail_seconds: float = 0.0  # of silence behind

    @property
    def chosen(self) -> Segment:
        """The part that counts, in samples of the source."""
        return self.selection or Segment(0, self.source.size)

    @property
    def seconds(self) -> float:
        """Length of the chosen part."""
        return self.chosen.length / self.rate

    @property
    def applied(self) -> frozenset[Fix]:
        """The fixes that are in effect."""
        states = {
            Fix.OFFSET: self.offset != 0,
            Fix.LEVEL: self.gain != 1,
            Fix.TRIM_SILENCE: self.before_trim is not None,
        }
        return frozenset(fix for fix, on in states.items() if on)

    @property
    def is_as_given(self) -> bool:
        """Whether the result is the source."""
        return not self.applied and self.selection is None and not self.tail_seconds

    def with_selection(self, selection: tuple[int, int] | None) -> Reference:
        """With another part, kept within the source; None or an empty one is all of it."""
        if selection is None:
            return replace(self, selection=None, before_trim=None)
        start, end = (min(max(0, edge), self.source.size) for edge in selection)
        kept = None if end <= start or end - start == self.source.size else Segment(start, end)
        return replace(self, selection=kept, before_trim=None)

    def with_fix(self, fix: Fix, segments: Sequence[Segment]) -> Reference:
        """With a fix that suits the chosen part; `segments` say where speech is."""
        if fix is Fix.TRIM_SILENCE:
            trimmed = speech_part(self, segments)
            if trimmed is None:
                return self
            return replace(self, selection=trimmed, before_trim=(self.selection,))
        if fix is Fix.OFFSET:
            part = self.source[slice(*self.chosen)]
            changed = replace(self, offset=float(part.mean(dtype=np.float64)) if part.size else 0.0)
            return changed.with_fix(Fix.LEVEL, segments) if self.gain != 1 else changed
        return replace(self, gain=_level_gain(replace(self, gain=1.0)))

    def without_fix(self, fix: Fix) -> Reference:
        """As if the fix had never been applied."""
        if fix is Fix.TRIM_SILENCE:
            if self.before_trim is None:
                return self
            return replace(self, selection=self.before_trim[0], before_trim=None)
        return replace(self, offset=0.0) if fix is Fix.OFFSET else replace(self, gain=1.0)

    def sound(self) -> Samples:
        """The whole source with offset and level mended, [n]: what the waveform shows."""
        return self._mended(self.source)

    def part(self) -> Samples:
        """The chosen part, mended and faded where it was cut out, without the tail."""
        start, end = self.chosen
        samples = self._mended(self.source[start:end])
        starts_within = start > 0
        ends_within = end < self.source.size or self.tail_seconds > 0
        if not (starts_within or ends_within):
            return samples
        faded = samples.copy()
        length = min(round(self.fade_seconds * self.rate), faded.size // 2)
        ramp = _rise(length)
        if starts_within:
            faded[:length] *= ramp
        if ends_within and length:
            faded[-length:] *= ramp[::-1]
        return faded

    def result(self) -> Samples:
        """What a voice is made from: the part and its tail, [m] at the rate of the source."""
        tail = round(self.tail_seconds * self.rate)
        part = self.part()
        return np.concatenate([part, np.zeros(tail, np.float32)]) if tail else part

    def _mended(self, samples: Samples) -> Samples:
        if self.offset == 0 and self.gain == 1:
            return samples
        mended: Samples = (samples - np.float32(self.offset)) * np.float32(self.gain)
        return mended


@dataclass(frozen=True)
class ReferenceReport:
    """What can be said about the chosen part: figures, warnings, and the fixes that would help."""

    report: AudioReport
    warnings: tuple[AudioWarning, ...]
    possible: frozenset[Fix]


def assess_reference(
    reference: Reference, recording: Recording, segments: Sequence[Segment]
) -> ReferenceReport:
    """Judge the chosen part of a recording; clipping counts as it is in the source."""
    start, end = reference.chosen
    clipped = ClipCounter().count(reference.source[start:end, None])
    if reference.selection is None:
        clipped = max(clipped, recording.report.clipped)  # it also counted every channel
    report = replace(assess(reference.part(), reference.rate), clipped=clipped)
    of_file = tuple(each for each in recording.warnings if each.kind in FILE_KINDS)
    return ReferenceReport(
        report, (*of_file, *warnings_of(report)), _possible(reference, report, segments)
    )


def speech_part(reference: Reference, segments: Sequence[Segment]) -> Segment | None:
    """The chosen part without the silence at its ends; None where that gains little."""
    chosen = reference.chosen
    spoken = [each for each in segments if each.end > chosen.start and each.start < chosen.end]
    if not spoken:
        return None
    margin = round(TRIM_MARGIN * reference.rate)
    start = max(chosen.start, spoken[0].start - margin)
    end = min(chosen.end, spoken[-1].end + margin)
    gained = chosen.length - (end - start)
    return Segment(start, end) if gained >= TRIM_WORTH * reference.rate else None


def _possible(
    reference: Reference, report: AudioReport, segments: Sequence[Segment]
) -> frozenset[Fix]:
    found = set(reference.applied)
    if abs(report.dc_offset) > OFFSET:
        found.add(Fix.OFFSET)
    wanted = _level_gain(reference)
    change = abs(decibels(wanted) - decibels(reference.gain))
    if change >= LEVEL_STEP_DB or report.peak_dbfs > NEAR_FULL_SCALE_DBFS:
        found.add(Fix.LEVEL)
    if speech_part(reference, segments) is not None:
        found.add(Fix.TRIM_SILENCE)
    return frozenset(found)


def _level_gain(reference: Reference) -> float:
    """The gain that brings the chosen part to its level: -3 dBFS, or lower for a dense one."""
    part = reference.source[slice(*reference.chosen)] - np.float32(reference.offset)
    peak = float(np.abs(part).max(initial=0))
    if not peak:
        return 1.0
    loud = float(np.percentile(frame_levels(part, reference.rate), LOUD_PERCENTILE))
    rise = min(PEAK_DBFS - decibels(peak), LOUDEST_DBFS - loud)
    return float(10 ** (rise / 20))


def _rise(length: int) -> Samples:
    """Half a raised cosine from 0 to 1, [length]."""
    return (0.5 - 0.5 * np.cos(np.pi * (np.arange(length) + 0.5) / max(length, 1))).astype(
        np.float32
    )
