"""What a new voice is made of, and the files that it becomes."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.core.voice_folder import (
    TRANSCRIPT,
    TRIMMED,
    clip_name,
    codes_name,
    embedding_name,
    encode_transcript,
)
from engine import VoiceFileError
from engine.types import Codes, Samples
from engine.voices import write_codes, write_embedding
from engine.wav import WavFormat, write_wav


@dataclass(frozen=True, eq=False)
class VoiceParts:
    """What a new voice is made of; an embedding or a clip is needed."""

    clip: Path | None = None  # copied as it is
    trimmed: Samples | None = None  # the part that was encoded, mono
    trimmed_rate: int = 24_000  # Hz
    transcript: str = ""
    codes: Codes | None = None  # [T, 16]
    codec: str = ""  # whose codes they are, as descriptions of models name it
    embeddings: tuple[NDArray[np.float32], ...] = ()  # [width] each


def write_parts(folder: Path, parts: VoiceParts) -> None:
    """Write the files of a voice, all but `voice.json`, into a folder. Raises OSError."""
    if parts.clip is not None:
        shutil.copyfile(parts.clip, folder / clip_name(parts.clip))
    if parts.trimmed is not None:
        write_wav(folder / TRIMMED, [parts.trimmed], WavFormat.WAV32, parts.trimmed_rate)
    if parts.transcript.strip():
        (folder / TRANSCRIPT).write_bytes(encode_transcript(parts.transcript))
    if parts.codes is not None:
        write_codes(folder / codes_name(parts.codec), parts.codes)
    for vector in parts.embeddings:
        write_embedding(folder / embedding_name(vector.size), vector)


def check_embedding(vector: NDArray[np.float32]) -> None:
    """Raise VoiceFileError for what is no vector of numbers."""
    if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
        raise VoiceFileError(
            "The speaker embedding that was made is not usable.",
            "Try another part of the recording.",
        )
