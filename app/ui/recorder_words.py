"""Puts what the recorder measures into words."""

from __future__ import annotations

import math
import sys

from app.audio.levels import decibels

QUIET_ROOM, SOME_NOISE, NOISY_ROOM = -60.0, -50.0, -40.0  # dBFS from which on a room is called so
MINUS = "\N{MINUS SIGN}"

_PLACES = {
    "darwin": "System Settings, Privacy & Security, Microphone",
    "win32": "Settings, Privacy & security, Microphone",
}


def noise_words(amplitude: float | None) -> str:
    """How loud the room is, in words and as a figure; `amplitude` is an RMS, None if unknown."""
    if amplitude is None:
        return "Room: listening…"
    level = decibels(amplitude)
    if level == -math.inf:
        return "Room: no sound at all"
    if level < QUIET_ROOM:
        words = "very quiet"
    elif level < SOME_NOISE:
        words = "quiet"
    elif level < NOISY_ROOM:
        words = "some noise"
    else:
        words = "noisy; it becomes part of the voice"
    return f"Room: {words} ({level:.0f} dB)".replace("-", MINUS)


def elapsed(seconds: float) -> str:
    """A running time: "0:07.3"."""
    tenths = int(seconds * 10 + 1e-6)
    return f"{tenths // 600}:{tenths // 10 % 60:02d}.{tenths % 10}"


def missing_microphone(reason: str, platform: str = sys.platform) -> str:
    """Why no microphone is offered and where that is changed; `reason` may be empty."""
    if reason:
        return f"{reason} Recording comes back once that is mended; you can open a recording now."
    place = _PLACES.get(platform, "the sound settings of the system")
    return (
        f"The system lists none. Connect one, or check in {place} that it is switched on and that "
        "the studio may use it. You can open a recording instead."
    )
