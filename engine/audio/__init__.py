"""Recordings on their way in: read from any sound file, judged, and brought to the model's rate."""

from engine.audio.findings import AudioWarning, AudioWarningKind, warnings_of
from engine.audio.reading import (
    LONGEST_SECONDS,
    SHORTEST_REFERENCE_SECONDS,
    AudioSource,
    Recording,
    check_reference,
    read_audio,
    read_reference,
)
from engine.audio.report import AudioReport, assess
from engine.audio.resampling import MODEL_RATE, resample, to_24k

__all__ = [
    "LONGEST_SECONDS",
    "MODEL_RATE",
    "SHORTEST_REFERENCE_SECONDS",
    "AudioReport",
    "AudioSource",
    "AudioWarning",
    "AudioWarningKind",
    "Recording",
    "assess",
    "check_reference",
    "read_audio",
    "read_reference",
    "resample",
    "to_24k",
    "warnings_of",
]
