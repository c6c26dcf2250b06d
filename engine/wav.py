"""Writes speech as WAV, to files as a whole and to pipes as it is made."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

import numpy as np

from engine.errors import ExplainedError
from engine.files import replacing
from engine.types import Samples

HEADER_BYTES = 44
STREAM_SIZE = 0x7FFFFFFF  # stands for "until the pipe ends" in both size fields
LARGEST_DATA = 0xFFFFFFFF - (HEADER_BYTES - 8)  # what the RIFF size field can count

_PCM, _IEEE_FLOAT = 1, 3


class WavFormat(StrEnum):
    """How samples are stored, always mono and little-endian."""

    WAV16 = "wav16"  # PCM, 16 bits
    WAV24 = "wav24"  # PCM, 24 bits
    WAV32 = "wav32"  # IEEE float, 32 bits

    @property
    def sample_bytes(self) -> int:
        return {WavFormat.WAV16: 2, WavFormat.WAV24: 3, WavFormat.WAV32: 4}[self]


def wav_header(wav_format: WavFormat, sample_rate: int, data_bytes: int) -> bytes:
    """The 44 bytes before `data_bytes` of mono samples at `sample_rate` Hz.

    RIFF with a 16-byte `fmt ` chunk and a `data` chunk, nothing else (Microsoft, "Multimedia
    Programming Interface and Data Specifications 1.0"). Raises ExplainedError when the size
    does not fit into the 32 bits that the format has for it.
    """
    if data_bytes > LARGEST_DATA:
        raise ExplainedError(
            f"{data_bytes} bytes of audio do not fit into a WAV file, which ends at 4 GiB.",
            "Speak the text in several parts.",
        )
    return _header(wav_format, sample_rate, data_bytes + HEADER_BYTES - 8, data_bytes)


def stream_header(wav_format: WavFormat, sample_rate: int) -> bytes:
    """The 44 bytes before samples whose number is not known yet."""
    return _header(wav_format, sample_rate, STREAM_SIZE, STREAM_SIZE)


def encode_samples(samples: Samples, wav_format: WavFormat) -> bytes:
    """The stored form of samples [n]; what is no finite number becomes silence.

    The PCM formats clamp to [-1, 1] and truncate toward zero after scaling with 32767 or
    8388607; floats are stored as they are.
    """
    finite = np.where(np.isfinite(samples), samples, np.float32(0)).astype(np.float32)
    if wav_format is WavFormat.WAV32:
        return finite.astype("<f4").tobytes()
    clamped = np.clip(finite, -1, 1)
    if wav_format is WavFormat.WAV16:
        return (clamped * np.float32(32767)).astype("<i2").tobytes()
    wide = (clamped * np.float32(8388607)).astype("<i4")
    return wide.view(np.uint8).reshape(-1, 4)[:, :3].tobytes()  # [n, 3], the low bytes


def write_wav(
    path: Path, pieces: Iterable[Samples], wav_format: WavFormat, sample_rate: int
) -> None:
    """Write mono pieces [n_i] one after another as the whole content of `path`.

    A file is replaced in one step, through a link too; a device or pipe is written into. Raises
    OSError as the system does, and ExplainedError when there is too much for a WAV file.
    """
    kept = list(pieces)
    count = sum(len(piece) for piece in kept)
    header = wav_header(wav_format, sample_rate, count * wav_format.sample_bytes)
    with replacing(path) as file:
        file.write(header)
        for piece in kept:
            file.write(encode_samples(piece, wav_format))


class WavStream:
    """Writes WAVs of unknown length into a pipe, each piece of sound at once.

    Every utterance begins with a header of its own, which is written with its first samples: an
    utterance that fails before leaves nothing behind.
    """

    def __init__(self, file: BinaryIO, wav_format: WavFormat, sample_rate: int) -> None:
        self._file = file
        self._format = wav_format
        self._header = stream_header(wav_format, sample_rate)
        self._begun = False

    def begin_utterance(self) -> None:
        """Let the next samples be the first ones of a new WAV."""
        self._begun = False

    def write(self, samples: Samples) -> None:
        """Write samples [n] and flush them; raises OSError (BrokenPipeError: nobody listens)."""
        if not len(samples):
            return
        if not self._begun:
            self._file.write(self._header)
            self._begun = True
        self._file.write(encode_samples(samples, self._format))
        self._file.flush()


def _header(wav_format: WavFormat, sample_rate: int, riff_size: int, data_size: int) -> bytes:
    width = wav_format.sample_bytes
    tag = _IEEE_FLOAT if wav_format is WavFormat.WAV32 else _PCM
    layout = struct.pack("<HHIIHH", tag, 1, sample_rate, sample_rate * width, width, 8 * width)
    riff = b"RIFF" + struct.pack("<I", riff_size) + b"WAVE"
    return riff + b"fmt " + struct.pack("<I", 16) + layout + b"data" + struct.pack("<I", data_size)
