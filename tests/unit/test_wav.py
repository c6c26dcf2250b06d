"""WAV bytes: exact headers and samples, readable by others, whole files or none."""

from __future__ import annotations

import io
import math
import os
import struct
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ExplainedError
from engine.wav import (
    LARGEST_DATA,
    WavFormat,
    WavStream,
    encode_samples,
    stream_header,
    wav_header,
    write_wav,
)

RATE = 24_000
SAMPLES = np.array([0, 0.5, -0.5, 1, -1, 0.123456, -0.987654], np.float32)
SUBTYPES = {"wav16": "PCM_16", "wav24": "PCM_24", "wav32": "FLOAT"}


def values(name: str, *numbers: float) -> list[float]:
    data = encode_samples(np.array(numbers, np.float32), WavFormat(name))
    if name == "wav16":
        return list(struct.unpack(f"<{len(numbers)}h", data))
    if name == "wav32":
        return list(struct.unpack(f"<{len(numbers)}f", data))
    return [
        int.from_bytes(data[start : start + 3], "little", signed=True)
        for start in range(0, len(data), 3)
    ]


def test_header_bytes_of_16_bit_pcm() -> None:
    assert wav_header(WavFormat.WAV16, RATE, 8) == (
        b"RIFF\x2c\x00\x00\x00WAVEfmt \x10\x00\x00\x00"
        b"\x01\x00\x01\x00\xc0\x5d\x00\x00\x80\xbb\x00\x00\x02\x00\x10\x00"
        b"data\x08\x00\x00\x00"
    )


@pytest.mark.parametrize(
    ("name", "tag", "width"), [("wav16", 1, 2), ("wav24", 1, 3), ("wav32", 3, 4)]
)
def test_header_fields(name: str, tag: int, width: int) -> None:
    header = wav_header(WavFormat(name), RATE, 7 * width)
    assert len(header) == 44
    fields = struct.unpack("<4sI4s4sIHHIIHH4sI", header)
    assert fields == (
        *(b"RIFF", 36 + 7 * width, b"WAVE"),
        *(b"fmt ", 16, tag, 1, RATE, RATE * width, width, 8 * width),
        *(b"data", 7 * width),
    )
    streamed = struct.unpack("<4sI4s4sIHHIIHH4sI", stream_header(WavFormat(name), RATE))
    assert streamed[1] == streamed[-1] == 0x7FFFFFFF
    assert streamed[2:-1] == fields[2:-1]


def test_sizes_that_riff_cannot_count() -> None:
    largest = wav_header(WavFormat.WAV16, RATE, LARGEST_DATA)
    assert largest[4:8] == b"\xff\xff\xff\xff"
    with pytest.raises(ExplainedError, match="4 GiB"):
        wav_header(WavFormat.WAV16, RATE, LARGEST_DATA + 1)


def test_pcm_truncates_toward_zero_and_clamps() -> None:
    assert values("wav16", 0.5, -0.5, 1, -1, 1.5, -7) == [
        *(16383, -16383, 32767, -32767, 32767, -32767)
    ]
    assert values("wav16", 0.9 / 32767, -0.9 / 32767) == [0, 0]
    assert values("wav24", 0.5, -0.5, 1, -1, 1.5, -7) == [
        *(4194303, -4194303, 8388607, -8388607, 8388607, -8388607)
    ]


def test_floats_are_not_clamped() -> None:
    assert values("wav32", 1.5, -7, 0.25) == [1.5, -7, 0.25]


@pytest.mark.parametrize("name", list(WavFormat))
def test_what_is_no_finite_number_becomes_silence(name: str) -> None:
    assert values(name, math.nan, math.inf, -math.inf, 1)[:3] == [0, 0, 0]


@given(st.lists(st.floats(width=32), max_size=20))
def test_16_bit_follows_the_formula(numbers: list[float]) -> None:
    expected = []
    for value in numbers:
        clamped = np.float32(max(-1.0, min(1.0, value)) if math.isfinite(value) else 0)
        expected.append(int(clamped * np.float32(32767)))
    assert values("wav16", *numbers) == expected


@pytest.mark.parametrize("name", list(WavFormat))
def test_other_readers_read_the_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / "speech.wav"
    write_wav(path, (SAMPLES[:3], SAMPLES[3:]), WavFormat(name), RATE)
    info = soundfile.info(path)
    assert (info.samplerate, info.channels, info.subtype) == (RATE, 1, SUBTYPES[name])
    read, _ = soundfile.read(path, dtype="float32")
    assert np.abs(read - SAMPLES).max() <= {"wav16": 1e-4, "wav24": 1e-6, "wav32": 0}[name]
    assert path.stat().st_size == 44 + len(SAMPLES) * WavFormat(name).sample_bytes


@pytest.mark.parametrize("name", ["wav16", "wav24"])
def test_the_standard_library_reads_the_same_bytes(tmp_path: Path, name: str) -> None:
    path = tmp_path / "speech.wav"
    write_wav(path, (SAMPLES,), WavFormat(name), RATE)
    with wave.open(str(path), "rb") as file:
        assert (file.getnframes(), file.getframerate()) == (len(SAMPLES), RATE)
        assert file.readframes(100) == encode_samples(SAMPLES, WavFormat(name))


def test_no_samples_make_an_empty_wav(tmp_path: Path) -> None:
    write_wav(tmp_path / "empty.wav", (), WavFormat.WAV24, RATE)
    assert (tmp_path / "empty.wav").read_bytes() == wav_header(WavFormat.WAV24, RATE, 0)


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "speech.wav"
    path.write_bytes(b"old")
    wrong = np.array(["no", "numbers"])
    with pytest.raises(TypeError):
        write_wav(path, (SAMPLES, wrong), WavFormat.WAV16, RATE)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["speech.wav"]


if sys.platform != "win32":

    def test_links_and_devices_stay_what_they_are(tmp_path: Path) -> None:
        link = tmp_path / "link.wav"
        link.symlink_to(tmp_path / "target.wav")
        write_wav(link, (SAMPLES,), WavFormat.WAV16, RATE)
        assert link.is_symlink()
        assert (tmp_path / "target.wav").stat().st_size == 44 + 2 * len(SAMPLES)
        write_wav(Path(os.devnull), (SAMPLES,), WavFormat.WAV16, RATE)
        assert Path(os.devnull).is_char_device()


class Pipe(io.BytesIO):
    """Remembers how much had been written at every flush."""

    def __init__(self) -> None:
        super().__init__()
        self.flushed: list[int] = []

    def flush(self) -> None:
        self.flushed.append(self.tell())


def test_a_stream_begins_with_its_first_samples_and_flushes_each_piece() -> None:
    pipe = Pipe()
    stream = WavStream(pipe, WavFormat.WAV16, RATE)
    stream.begin_utterance()
    stream.write(SAMPLES[:0])
    assert pipe.getvalue() == b""
    stream.write(SAMPLES[:2])
    stream.write(SAMPLES[2:5])
    stream.begin_utterance()
    assert pipe.flushed == [48, 54]
    stream.write(SAMPLES[5:])
    header = stream_header(WavFormat.WAV16, RATE)
    first, second = encode_samples(SAMPLES[:5], WavFormat.WAV16), SAMPLES[5:]
    assert pipe.getvalue() == (header + first + header + encode_samples(second, WavFormat.WAV16))
