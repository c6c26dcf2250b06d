"""What may be wrong with a recording that can still be used, worded for the person who made it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.audio.report import FLOOR_DBFS, AudioReport

VERY_SHORT_SECONDS = 1.0
SHORT_SECONDS = 3.0
LONG_SECONDS = 30.0
QUIET_PEAK_DBFS = -24.0
QUIET_RMS_DBFS = -42.0
LARGE_OFFSET = 0.01
LITTLE_SPEECH = 0.25
ADVICE = "6 to 15 s of speech suit best"


class AudioWarningKind(StrEnum):
    """The kinds of findings; the comment says what `AudioWarning.value` holds."""

    TRUNCATED = "truncated"  # seconds missing, 0 if the file does not tell
    MISLABELLED = "mislabelled"  # 0
    NOT_NUMBERS = "not-numbers"  # values replaced by silence
    VERY_SHORT = "very-short"  # seconds
    SHORT = "short"  # seconds
    LONG = "long"  # seconds
    QUIET = "quiet"  # RMS in dBFS
    CLIPPED = "clipped"  # clipped places
    OVER_FULL_SCALE = "over-full-scale"  # peak in dBFS
    DC_OFFSET = "dc-offset"  # mean, of full scale 1
    MOSTLY_SILENT = "mostly-silent"  # share of speech, 0..1
    SILENT_CHANNEL = "silent-channel"  # dB that the mono mix loses
    OUT_OF_PHASE = "out-of-phase"  # dB that the mono mix loses


@dataclass(frozen=True)
class AudioWarning:
    """One finding: its kind, a sentence to show, and the figure behind it."""

    kind: AudioWarningKind
    message: str
    value: float = 0.0


def warnings_of(report: AudioReport) -> tuple[AudioWarning, ...]:
    """What the figures of a recording say against it, the most important first."""
    return (*_about_length(report), *_about_level(report))


def _about_length(report: AudioReport) -> list[AudioWarning]:
    seconds = report.seconds
    length = f"The recording is {seconds:.1f} s long"
    if seconds < VERY_SHORT_SECONDS:
        return [
            AudioWarning(
                AudioWarningKind.VERY_SHORT,
                f"The recording is only {seconds:.2f} s long, too little to carry a voice; "
                f"{ADVICE}.",
                seconds,
            )
        ]
    if seconds < SHORT_SECONDS:
        return [
            AudioWarning(
                AudioWarningKind.SHORT, f"{length}, which is little for a voice; {ADVICE}.", seconds
            )
        ]
    if seconds > LONG_SECONDS:
        return [
            AudioWarning(
                AudioWarningKind.LONG,
                f"{length}, which makes every take slower and no better; {ADVICE}.",
                seconds,
            )
        ]
    return []


def _about_level(report: AudioReport) -> list[AudioWarning]:
    if report.peak_dbfs <= FLOOR_DBFS:
        return [
            AudioWarning(AudioWarningKind.MOSTLY_SILENT, "The recording is digital silence.", 0.0)
        ]
    found = []
    if report.clipped:
        places = "1 place" if report.clipped == 1 else f"{report.clipped} places"
        found.append(
            AudioWarning(
                AudioWarningKind.CLIPPED,
                f"The recording is clipped in {places}: it was made too loud, and the harshness "
                "becomes part of the voice.",
                float(report.clipped),
            )
        )
    if report.peak_dbfs > 0.01:
        found.append(
            AudioWarning(
                AudioWarningKind.OVER_FULL_SCALE,
                f"The recording goes {report.peak_dbfs:.1f} dB over full scale; lower its level.",
                report.peak_dbfs,
            )
        )
    if report.peak_dbfs < QUIET_PEAK_DBFS or report.rms_dbfs < QUIET_RMS_DBFS:
        found.append(
            AudioWarning(
                AudioWarningKind.QUIET,
                f"The recording is very quiet (peak {report.peak_dbfs:.0f} dBFS, mean level "
                f"{report.rms_dbfs:.0f} dBFS); nothing makes it louder by itself.",
                report.rms_dbfs,
            )
        )
    if abs(report.dc_offset) > LARGE_OFFSET:
        found.append(
            AudioWarning(
                AudioWarningKind.DC_OFFSET,
                f"The waveform lies {report.dc_offset:+.3f} of full scale off the middle (DC "
                "offset); remove it in an editor.",
                report.dc_offset,
            )
        )
    if report.speech_share < LITTLE_SPEECH:
        found.append(
            AudioWarning(
                AudioWarningKind.MOSTLY_SILENT,
                f"Only {report.speech_share:.0%} of the recording is as loud as speech; cut the "
                "silence away.",
                report.speech_share,
            )
        )
    return found
