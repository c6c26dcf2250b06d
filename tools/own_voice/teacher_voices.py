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
    pitch: float = 0.0  # semitones, beyond what the warp does; rms takes none
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


SENTENCES_EACH = 12  # that a speaker without a name reads one after the other
BLENDED_EACH = 8  # the same for a blend of Kokoro's voices
MEN = 0.7  # share of the blends: women have the main voice


@dataclass(frozen=True)
class Blend:
    """A voice between two of Kokoro's."""

    first: str
    second: str
    share: float  # of the second

    def __str__(self) -> str:
        return f"{self.first}+{self.second}:{self.share:.2f}"

    @classmethod
    def parse(cls, words: str) -> Blend:
        voices, _, share = words.partition(":")
        first, _, second = voices.partition("+")
        return cls(first, second, float(share))


def blend_for(sentence: int) -> Blend:
    """A speaker between two women or two men that are trained on, for a sentence of a list."""
    draw = random.Random(f"blend {sentence // BLENDED_EACH}")
    sex = "m" if draw.random() < MEN else "f"
    voices = [name for name in (MAIN_VOICE, *NAMED_VOICES, *OTHER_VOICES) if name[1] == sex]
    first, second = draw.sample(voices, 2)
    return Blend(first, second, draw.uniform(0.2, 0.6))


def varied_manner(sentence: int, texts: str) -> Manner:
    """A speaker that has no name, of any size, pitch and pace, for a sentence of a list."""
    draw = random.Random(f"{texts} {sentence // SENTENCES_EACH}")
    voice = draw.choice(("slt", "slt", "rms", "awb"))
    warp = draw.uniform(0.85, 1.1) if voice == "slt" else draw.uniform(0.9, 1.2)
    pitch = 0.0 if voice == "rms" else draw.uniform(-4, 4)
    return Manner(voice, warp, pitch, draw.uniform(0.8, 1.3))


PITCHES = {"slt": 171.0, "rms": 101.7, "awb": 131.0}
"""Mean pitch of flite's voices, Hz."""

MIDDLE_PITCH = {"woman": 165.0, "man": 118.0}
WOMEN = ("slt",)
_WORDS = {
    "woman": ("woman", "female voice", "woman's voice"),
    "man": ("man", "male voice", "man's voice"),
    "low": ("low", "deep"),
    "high": ("high", "bright"),
    "slow": ("slow", "speaking slowly", "calm and slow"),
    "fast": ("fast", "speaking fast", "quick"),
}


def attributes_of(manner: Manner) -> list[str]:
    """What a listener would say of a manner, out of woman, man, low, high, slow, fast."""
    who = "woman" if manner.voice in WOMEN else "man"
    pitch = PITCHES[manner.voice] * 2 ** (manner.pitch / 12) * manner.warp / MIDDLE_PITCH[who]
    found = [who]
    found += ["low"] * (pitch < 0.93) + ["high"] * (pitch > 1.07)
    return found + ["fast"] * (manner.pace < 0.95) + ["slow"] * (manner.pace > 1.1)


def describe(manner: Manner, draw: random.Random) -> str:
    """One of many ways to ask for a voice like that."""
    words = [draw.choice(_WORDS[name]) for name in attributes_of(manner) if draw.random() < 0.85]
    draw.shuffle(words)
    text = ", ".join(words) or "any voice"
    text = draw.choice(("", "a ", "A ")) + text if draw.random() < 0.7 else text.capitalize()
    return text + draw.choice(("", "."))
