"""The raw voice files: exact bytes, and what is said about files that are something else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import VoiceFileError
from engine.voices import (
    pack_codes,
    read_codes,
    read_embedding,
    unpack_codes,
    write_codes,
    write_embedding,
)


@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_codes_round_trip_as_one_bit_stream(frames: int, seed: int) -> None:
    codes = np.random.default_rng(seed).integers(0, 2048, (frames, 16))
    data = pack_codes(codes)
    assert len(data) == 22 * frames
    # The definition, bit by bit: code i of the order [16, T] is at bits 11 i .. 11 i + 10.
    stream = int.from_bytes(data, "little")
    flat = [stream >> 11 * index & 0x7FF for index in range(16 * frames)]
    np.testing.assert_array_equal(np.reshape(flat, (16, frames)).T, codes)
    np.testing.assert_array_equal(unpack_codes(data), codes)


@given(st.binary(min_size=22, max_size=22 * 9))
def test_any_whole_frames_are_codes(data: bytes) -> None:
    data = data[: len(data) // 22 * 22]
    codes = unpack_codes(data)
    assert codes.shape == (len(data) // 22, 16)
    assert pack_codes(codes) == data


def test_files_round_trip(tmp_path: Path) -> None:
    codes = np.arange(48).reshape(3, 16)
    vector = np.linspace(-1, 1, 1024, dtype=np.float32)
    write_codes(tmp_path / "a.rvq", codes)
    write_embedding(tmp_path / "a.spk", vector)
    np.testing.assert_array_equal(read_codes(tmp_path / "a.rvq"), codes)
    np.testing.assert_array_equal(read_embedding(tmp_path / "a.spk", 1024), vector)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["a.rvq", "a.spk"]


def voice_file(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "data", "width", "message", "hint"),
    [
        ("a.spk", b"", None, "is empty", "again"),
        ("a.spk", b"\0" * 4095, None, "not whole numbers", "damaged"),
        ("a.spk", b"\0" * 4096, 2048, "0.6B model.*needs 2048 \\(1.7B model", "of one size"),
        ("a.spk", b"\0" * 22 * 100, 1024, "holds 550 values", "could be an .rvq"),
        ("a.rvq", b"\0" * 22 * 10, 1024, "holds 55 values", "look swapped"),
        ("a.spk", b"RIFF" + b"\0" * 400, 1024, "holds 101 values", "a recording or a model"),
        ("a.spk", np.full(1024, np.nan, "<f4").tobytes(), 1024, "not numbers", "damaged"),
        ("a.spk", b"\0" * 4 * 70_000, None, "too large", ".spk or .rvq"),
    ],
)
def test_bad_embeddings_are_explained(
    tmp_path: Path, name: str, data: bytes, width: int | None, message: str, hint: str
) -> None:
    with pytest.raises(VoiceFileError, match=message) as caught:
        read_embedding(voice_file(tmp_path, name, data), width)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("name", "data", "size", "message", "hint"),
    [
        ("a.rvq", b"", 2048, "is empty", "again"),
        ("a.rvq", b"\0" * 23, 2048, "not whole frames.*23 bytes, 22 per frame", "damaged"),
        ("a.spk", b"\0" * 4096, 2048, "not whole frames", "look swapped"),
        ("a.rvq", b"\0" * 8192, 2048, "not whole frames", "could be an .spk"),
        ("a.rvq", b"\xff" * 22, 64, "code 2047; this model's codebooks end at 63", "damaged"),
    ],
)
def test_bad_codes_are_explained(
    tmp_path: Path, name: str, data: bytes, size: int, message: str, hint: str
) -> None:
    with pytest.raises(VoiceFileError, match=message) as caught:
        read_codes(voice_file(tmp_path, name, data), size)
    assert hint in caught.value.hint


def test_missing_files_and_folders_are_explained(tmp_path: Path) -> None:
    for path in (tmp_path / "none.spk", tmp_path):
        with pytest.raises(VoiceFileError, match="cannot be read"):
            read_embedding(path)


@pytest.mark.parametrize("read", [read_embedding, read_codes])
def test_pipes_are_not_waited_for(tmp_path: Path, read: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(VoiceFileError, match="pipe is not a file"):
        read(tmp_path / "pipe")
