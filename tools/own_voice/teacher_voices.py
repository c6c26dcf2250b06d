"""Which teacher voices there are, what they are called in our files, and their ids there."""

from __future__ import annotations

import random

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

FLITE_VOICES = ("slt", "rms", "awb")
"""Voices of flite, by far the most speech."""

SHIPPED_NAMES = {"slt": "clara", "rms": "ruben", "awb": "angus", "af_heart": "hazel"}

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
