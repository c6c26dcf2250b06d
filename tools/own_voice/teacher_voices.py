"""Which teacher voices there are, what they are called in our files, and their ids there."""

from __future__ import annotations

import random
from dataclasses import dataclass

MAIN_VOICE = "af_heart"
NAMED_VOICES = ("am_michael", "bf_emma", "am_onyx")
OTHER_VOICES = tuple(
    f"{kind}_{name}"
    for kind, names in (
        ("af", "alloy aoede jessica kore nova river sarah sky"),
        ("am", "adam echo eric fenrir liam puck"),
        ("bf", "alice isabella lily"),
        ("bm", "daniel fable lewis"),
    )
    for name in names.split()
)
"""Voices that the codec and the speaker encoder also hear."""

UNHEARD_VOICES = ("af_bella", "bm_george")
"""Left for the evaluation."""


@dataclass(frozen=True)
class Manner:
    """How one of flite's voices is made to speak."""

    voice: str
    warp: float = 1.0  # of all frequencies: the size of the speaker
    pitch: float = 0.0  # semitones; rms has only one
    pace: float = 1.0  # of all durations

    def __str__(self) -> str:
        return f"{self.voice}:{self.warp:.3f}:{self.pitch:+.2f}:{self.pace:.3f}"

    @classmethod
    def parse(cls, words: str) -> Manner:
        voice, warp, pitch, pace = words.split(":")
        return cls(voice, float(warp), float(pitch), float(pace))


FLITE_VOICES = {
    "slt": Manner("slt"),
    "rms": Manner("rms"),
    "awb": Manner("awb"),
    "slt-deep": Manner("slt", warp=0.87),
    "rms-bright": Manner("rms", warp=1.12),
}
"""Voices of flite, by far the most speech."""

SHIPPED_NAMES = {
    "slt": "clara",
    "slt-deep": "nora",
    "rms": "ruben",
    "rms-bright": "felix",
    "awb": "angus",
}

SHARES = {MAIN_VOICE: 0.6, **dict.fromkeys(NAMED_VOICES, 0.08)}

FIRST_SPEAKER_ID = 2800
SPEAKER_IDS = {
    voice: FIRST_SPEAKER_ID + place
    for place, voice in enumerate((MAIN_VOICE, *NAMED_VOICES, *OTHER_VOICES, *FLITE_VOICES))
}
"""Rows of the codec embedding, among those that are never spoken."""


def voice_for(index: int) -> str:
    """The voice that reads sentence `index`, by the shares above."""
    draw = random.Random(index)
    names = [*SHARES, *OTHER_VOICES]
    rest = (1 - sum(SHARES.values())) / len(OTHER_VOICES)
    return draw.choices(names, [SHARES.get(name, rest) for name in names])[0]


def varied_manner(index: int) -> Manner:
    """A speaker of sentence `index` that has no name: any size, pitch and pace."""
    draw = random.Random(f"manner {index}")
    voice = draw.choice(("slt", "slt", "rms", "awb"))
    warp = draw.uniform(0.85, 1.1) if voice == "slt" else draw.uniform(0.9, 1.2)
    pitch = 0.0 if voice == "rms" else draw.uniform(-4, 4)
    return Manner(voice, warp, pitch, draw.uniform(0.8, 1.3))
