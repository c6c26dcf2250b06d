"""What can be heard to be wrong with a take, told by its samples and its text alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import regex

from engine.audio.report import FRAME_SECONDS, LOUD_PERCENTILE, decibels, frame_levels
from engine.types import Samples

SILENT_DBFS = -50.0  # the loud frames of a take that is audible at all lie far above
PAUSE_DBFS = -55.0  # a frame below is a pause, as is one so far below the loud frames:
PAUSE_BELOW_DB = 40.0
LONGEST_PAUSE = 2.0  # seconds; sentences part for less than one
CLIPPED_SAMPLE = 0.999
CLIPPED_SHARE = 0.001  # a few samples at full scale cannot be heard, one in a thousand can
LARGE_OFFSET = 0.01
START_SECONDS = 0.010
AFTER_SECONDS = 0.050  # what the start is compared with
START_JUMP = 0.1  # first sample: speech begins near zero
START_PEAK = 0.05
START_CREST = 8.0  # peak of the start over the level behind it; speech itself has 3 to 5
TAIL_SECONDS = 0.030
TAIL_BELOW_DB = 12.0  # a take that ends within this of its loud frames was cut in a sound

# Seconds per character, fast and slow. Reading aloud takes about 14 letters (Latin script) or 5
# ideographs and syllables a second; a digit is a word of its own. Twice as fast is the quickest
# that can be understood, and a third of the pace is slower than dictation.
LETTER_SECONDS = (1 / 30, 1 / 5)
SYLLABLE_SECONDS = (1 / 12, 1 / 2)
DIGIT_SECONDS = (1 / 8, 0.8)
PAUSE_SECONDS = 1.0  # that every mark of punctuation may add
SLOW_START = 2.0  # seconds that any text may take besides

_SYLLABLE = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]"
_MARK = r"[.!?,;:\u2026\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f\n]"


class FindingKind(StrEnum):
    """The kinds of findings; the comment says what `Finding.value` holds."""

    NOT_FINITE = "not-finite"  # samples that are no numbers
    SILENT = "silent"  # level of the loud frames in dBFS
    LONG_PAUSE = "long-pause"  # seconds of the longest one
    CLIPPED = "clipped"  # share of samples at full scale, 0..1
    DC_OFFSET = "dc-offset"  # mean, of full scale 1
    CLICK_AT_START = "click-at-start"  # peak of the first 10 ms
    TOO_SHORT = "too-short"  # seconds
    TOO_LONG = "too-long"  # seconds
    ABRUPT_END = "abrupt-end"  # dB of the last 30 ms against the loud frames


class Severity(StrEnum):
    """What a finding means for whoever wants to use the take."""

    NOTE = "note"  # worth a listen
    WARNING = "warning"  # can probably be heard
    ERROR = "error"  # the take cannot be used


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: its kind, a sentence to show, and the figure behind it."""

    kind: FindingKind
    message: str
    value: float
    severity: Severity


def check_speech(
    samples: Samples, text: str, sample_rate: int, *, cut: bool = False
) -> list[Finding]:
    """What is wrong with mono samples [n] that should speak `text`, the worst first.

    `cut` says that the take was ended by a limit of frames, so that neither its length nor its end
    tell anything.
    """
    broken = int(samples.size - np.isfinite(samples).sum())
    if broken:
        message = f"The take holds {broken} samples that are no numbers."
        return [Finding(FindingKind.NOT_FINITE, message, float(broken), Severity.ERROR)]
    levels = frame_levels(samples, sample_rate) if samples.size else np.full(1, decibels(0))
    loud = float(np.percentile(levels, LOUD_PERCENTILE))
    if loud < SILENT_DBFS:
        message = f"The take is silent: its loud parts have {loud:.0f} dBFS."
        return [Finding(FindingKind.SILENT, message, loud, Severity.ERROR)]
    found = [
        *_about_waveform(samples),
        *_about_pauses(levels, loud),
        *_about_start(samples, sample_rate),
    ]
    if not cut:
        found += [
            *_about_length(samples.size / sample_rate, text),
            *_about_end(samples, sample_rate, loud),
        ]
    order = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
    return sorted(found, key=lambda finding: order.index(finding.severity))


def plausible_seconds(text: str) -> tuple[float, float] | None:
    """The shortest and the longest time that speaking `text` may take; None without words."""
    syllables = len(regex.findall(_SYLLABLE, text))
    letters = len(regex.findall(r"\p{L}", text)) - syllables
    digits = len(regex.findall(r"\p{N}", text))
    if syllables + letters + digits <= 0:
        return None
    paces = (LETTER_SECONDS, SYLLABLE_SECONDS, DIGIT_SECONDS)
    counts = (letters, syllables, digits)
    fast, slow = (
        sum(count * pace[end] for count, pace in zip(counts, paces, strict=True)) for end in (0, 1)
    )
    marks = len(regex.findall(_MARK, text))
    return fast, slow + marks * PAUSE_SECONDS + SLOW_START


def _about_waveform(samples: Samples) -> list[Finding]:
    found = []
    share = float(np.mean(np.abs(samples) >= CLIPPED_SAMPLE))
    if share > CLIPPED_SHARE:
        message = f"{share:.1%} of the take is clipped, which sounds harsh."
        found.append(Finding(FindingKind.CLIPPED, message, share, Severity.WARNING))
    offset = float(samples.mean(dtype=np.float64))
    if abs(offset) > LARGE_OFFSET:
        message = f"The waveform lies {offset:+.3f} of full scale off the middle (DC offset)."
        found.append(Finding(FindingKind.DC_OFFSET, message, offset, Severity.WARNING))
    return found


def _about_pauses(
    levels: np.ndarray[tuple[int, ...], np.dtype[np.float64]], loud: float
) -> list[Finding]:
    """The longest pause between two sounds; those at both ends are no fault."""
    sounding = np.flatnonzero(levels > max(PAUSE_DBFS, loud - PAUSE_BELOW_DB))
    gaps = np.diff(sounding) - 1  # [sounding frames - 1], quiet frames between
    seconds = float(gaps.max()) * FRAME_SECONDS if gaps.size else 0.0
    if seconds < LONGEST_PAUSE:
        return []
    message = f"The take falls silent for {seconds:.1f} s in its middle."
    return [Finding(FindingKind.LONG_PAUSE, message, seconds, Severity.WARNING)]


def _about_start(samples: Samples, sample_rate: int) -> list[Finding]:
    start = round(START_SECONDS * sample_rate)
    after = samples[start : start + round(AFTER_SECONDS * sample_rate)]
    peak = float(np.abs(samples[:start]).max())
    level = float(np.sqrt(np.mean(np.square(after, dtype=np.float64)))) if after.size else peak
    jumps = abs(float(samples[0])) > START_JUMP
    if not jumps and (peak < START_PEAK or peak < START_CREST * level):
        return []
    message = f"The take begins with a click (peak {decibels(peak):.0f} dBFS in its first 10 ms)."
    return [Finding(FindingKind.CLICK_AT_START, message, peak, Severity.WARNING)]


def _about_length(seconds: float, text: str) -> list[Finding]:
    span = plausible_seconds(text)
    if span is None:
        return []
    shortest, longest = span
    if seconds < shortest:
        message = (
            f"The take has {seconds:.1f} s, but its text needs {shortest:.1f} s at least: "
            "something was left out."
        )
        return [Finding(FindingKind.TOO_SHORT, message, seconds, Severity.WARNING)]
    if seconds > longest:
        message = (
            f"The take has {seconds:.1f} s, but its text needs {longest:.1f} s at most: "
            "it may repeat itself or go on after the text."
        )
        return [Finding(FindingKind.TOO_LONG, message, seconds, Severity.WARNING)]
    return []


def _about_end(samples: Samples, sample_rate: int, loud: float) -> list[Finding]:
    tail = samples[-round(TAIL_SECONDS * sample_rate) :].astype(np.float64)
    below = decibels(float(np.sqrt(np.mean(np.square(tail))))) - loud
    if below < -TAIL_BELOW_DB:
        return []
    message = f"The take ends in a sound ({below:+.0f} dB against its loud parts)."
    return [Finding(FindingKind.ABRUPT_END, message, below, Severity.NOTE)]
