"""A damaged recording opens with finite samples, or fails with one explained error."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.audio import Recording, read_reference
from engine.errors import AudioFileError

PEAK_BYTES = 12 << 20  # for a file of some 4 KiB, which may pretend to have 1024 channels

KINDS = [
    ("WAV", "PCM_16", 2),
    ("WAV", "FLOAT", 1),
    ("WAVEX", "PCM_24", 2),
    ("FLAC", "PCM_16", 2),
    ("AIFF", "PCM_16", 1),
]
INTERESTING = [0, 1, 2, 3, 0x7F, 0x80, 0xFE, 0xFF]


def valid(container: str, encoding: str, channels: int) -> bytes:
    """A tenth of a second at 8 kHz."""
    tone = 0.5 * np.sin(np.arange(800) * 0.1)
    file = io.BytesIO()
    soundfile.write(file, np.stack([tone] * channels, 1), 8000, encoding, format=container)
    return file.getvalue()


@pytest.fixture(scope="module")
def files() -> list[bytes]:
    return [valid(*kind) for kind in KINDS]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged") / "damaged.wav"


def read(path: Path) -> Recording | AudioFileError:
    try:
        return read_reference(path)
    except AudioFileError as error:
        return error


def survives(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    tracemalloc.start()
    try:
        result = read(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < PEAK_BYTES
    if isinstance(result, AudioFileError):
        assert path.name in result.message
        assert "\n" not in result.message
        assert result.hint
        return
    assert np.isfinite(result.samples).all()
    assert np.isfinite(list(vars(result.report).values())).all()
    assert all(np.isfinite(warning.value) for warning in result.warnings)
    assert np.isfinite(result.at(24_000)).all()


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_the_valid_files_are_read(files: list[bytes], scratch: Path, kind: int) -> None:
    scratch.write_bytes(files[kind])
    assert len(read_reference(scratch).samples) == 800


@settings(max_examples=300)
@given(
    kind=st.integers(0, len(KINDS) - 1),
    changes=st.lists(
        st.tuples(st.integers(0, 2**16), st.sampled_from(INTERESTING) | st.integers(0, 255)),
        min_size=1,
        max_size=6,
    ),
    within=st.sampled_from([24, 48, 120, 4096]),
)
def test_changed_bytes(
    files: list[bytes], scratch: Path, kind: int, changes: list[tuple[int, int]], within: int
) -> None:
    content = bytearray(files[kind])
    for place, byte in changes:
        content[place % min(within, len(content))] = byte
    survives(scratch, bytes(content))


@settings(max_examples=150)
@given(kind=st.integers(0, len(KINDS) - 1), share=st.floats(0, 1), tail=st.binary(max_size=64))
def test_cut_off_and_continued(
    files: list[bytes], scratch: Path, kind: int, share: float, tail: bytes
) -> None:
    content = files[kind]
    survives(scratch, content[: int(share * len(content))] + tail)


@settings(max_examples=150)
@given(
    kind=st.integers(0, len(KINDS) - 1),
    place=st.integers(0, 200),
    count=st.integers(0, 64),
    inserted=st.binary(max_size=64),
)
def test_parts_removed_and_inserted(
    files: list[bytes], scratch: Path, kind: int, place: int, count: int, inserted: bytes
) -> None:
    content = files[kind]
    survives(scratch, content[:place] + inserted + content[place + count :])


@settings(max_examples=150)
@given(content=st.binary(max_size=300), magic=st.sampled_from([b"", b"RIFF", b"fLaC", b"FORM"]))
def test_anything_at_all(scratch: Path, content: bytes, magic: bytes) -> None:
    survives(scratch, magic + content)
