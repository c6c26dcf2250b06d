"""Says in six lines whether a recording will make a good voice, from the figures measured of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from app.core.reference import Fix
from engine.audio import AudioReport, AudioWarning, AudioWarningKind

LEAST_SECONDS, GOOD_FROM, GOOD_TO, LONG_FROM = 3.0, 6.0, 15.0, 30.0
FEW_CLIPS = 3  # places that a listener may miss
CLEAN_DB, NOISY_DB = 32.0, 20.0  # of the voice over the room
NO_PAUSE = 0.93  # share of speech from which on there is no pause to hear the room in
MUCH_SPEECH = 0.6
MINUS = "\N{MINUS SIGN}"


class Verdict(Enum):
    """How good one aspect is: a word and a picture."""

    GOOD = ("Good", "check")
    FAIR = ("Fair", "info")
    LOOK = ("Look", "warning")
    BAD = ("Bad", "error")

    @property
    def word(self) -> str:
        return self.value[0]

    @property
    def icon(self) -> str:
        return self.value[1]


class Aspect(Enum):
    """What is looked at."""

    LENGTH = "Length"
    LEVEL = "Level"
    CLIPPING = "Clipping"
    NOISE = "Noise"
    SPEECH = "Speech"
    CHANNELS = "Channels"

    @property
    def label(self) -> str:
        return self.value

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """What mends it, the first one first."""
        if self is Aspect.LEVEL:
            return (Fix.OFFSET, Fix.LEVEL)
        return (Fix.TRIM_SILENCE,) if self is Aspect.SPEECH else ()


@dataclass(frozen=True)
class ReportRow:
    """One line of the card."""

    aspect: Aspect
    verdict: Verdict
    sentence: str


def report_rows(
    report: AudioReport, warnings: Iterable[AudioWarning], rate: int
) -> tuple[ReportRow, ...]:
    """The lines about a range, in the order of `Aspect`; `rate` in Hz is the recording's own."""
    found = {warning.kind: warning for warning in warnings}
    return (
        _length(report),
        _level(report, found),
        _clipping(report),
        _noise(report),
        _speech(report),
        _channels(found, rate),
    )


Found = dict[AudioWarningKind, AudioWarning]


def _length(report: AudioReport) -> ReportRow:
    seconds = report.seconds
    best = f"{GOOD_FROM:.0f} to {GOOD_TO:.0f} s suit best"
    if seconds < LEAST_SECONDS:
        verdict = Verdict.BAD if seconds < 1.0 else Verdict.LOOK
        return ReportRow(Aspect.LENGTH, verdict, f"{seconds:.1f} s is little for a voice; {best}.")
    if seconds > LONG_FROM:
        sentence = f"{seconds:.1f} s makes every take slower and no better; {best}."
        return ReportRow(Aspect.LENGTH, Verdict.LOOK, sentence)
    if GOOD_FROM <= seconds <= GOOD_TO:
        return ReportRow(Aspect.LENGTH, Verdict.GOOD, f"{seconds:.1f} s.")
    return ReportRow(Aspect.LENGTH, Verdict.FAIR, f"{seconds:.1f} s works; {best}.")


def _level(report: AudioReport, found: Found) -> ReportRow:
    levels = f"Peak {_db(report.peak_dbfs)}, mean {_db(report.rms_dbfs)}"
    if AudioWarningKind.OVER_FULL_SCALE in found:
        return ReportRow(Aspect.LEVEL, Verdict.LOOK, f"{levels}: over full scale.")
    if AudioWarningKind.QUIET in found:
        return ReportRow(Aspect.LEVEL, Verdict.LOOK, f"{levels}: very quiet.")
    if AudioWarningKind.DC_OFFSET in found:
        offset = f"{report.dc_offset:+.1%}".replace("-", MINUS)
        sentence = f"The wave lies {offset} off the middle (DC offset)."
        return ReportRow(Aspect.LEVEL, Verdict.LOOK, sentence)
    return ReportRow(Aspect.LEVEL, Verdict.GOOD, f"{levels}.")


def _clipping(report: AudioReport) -> ReportRow:
    if not report.clipped:
        return ReportRow(Aspect.CLIPPING, Verdict.GOOD, "No peak is cut off.")
    few = report.clipped <= FEW_CLIPS
    places = "1 place" if report.clipped == 1 else f"{report.clipped} places"
    sentence = f"Cut off in {places}; the harshness becomes part of the voice. "
    sentence += "Choose another part, or record again with a lower level."
    return ReportRow(Aspect.CLIPPING, Verdict.LOOK if few else Verdict.BAD, sentence)


def _noise(report: AudioReport) -> ReportRow:
    over = report.rms_dbfs - report.noise_floor_dbfs
    floor = f"Room at {_db(report.noise_floor_dbfs)}"
    if report.speech_share > NO_PAUSE:
        sentence = "There is no pause to hear the room in."
        return ReportRow(Aspect.NOISE, Verdict.GOOD, sentence)
    if over >= CLEAN_DB:
        return ReportRow(Aspect.NOISE, Verdict.GOOD, f"{floor}, {over:.0f} dB below the voice.")
    verdict = Verdict.LOOK if over >= NOISY_DB else Verdict.BAD
    sentence = f"{floor}, only {max(over, 0.0):.0f} dB below the voice; it will be heard in takes."
    return ReportRow(Aspect.NOISE, verdict, sentence)


def _speech(report: AudioReport) -> ReportRow:
    share = f"{report.speech_share:.0%} of it is as loud as speech"
    if report.speech_share >= MUCH_SPEECH:
        return ReportRow(Aspect.SPEECH, Verdict.GOOD, f"{share}.")
    bad = report.speech_share < MUCH_SPEECH / 3
    return ReportRow(
        Aspect.SPEECH,
        Verdict.BAD if bad else Verdict.LOOK,
        f"Only {share}; long pauses teach the voice to pause.",
    )


def _channels(found: Found, rate: int) -> ReportRow:
    for kind, verdict in (
        (AudioWarningKind.OUT_OF_PHASE, Verdict.BAD),
        (AudioWarningKind.SILENT_CHANNEL, Verdict.LOOK),
    ):
        if kind in found:
            return ReportRow(Aspect.CHANNELS, verdict, found[kind].message)
    return ReportRow(Aspect.CHANNELS, Verdict.GOOD, f"Used as one channel, at {rate / 1000:g} kHz.")


def _db(level: float) -> str:
    return f"{level:.0f} dB".replace("-", MINUS)
