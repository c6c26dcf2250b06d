"""A damaged GGUF file opens, or fails with one explained error, and never costs much memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ModelFileError
from engine.gguf.reader import GgufFile

PEAK_BYTES = 256 << 10  # for files of some 2 KiB

INTERESTING = [0, 1, 2, 8, 9, 31, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1]


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small file with every kind of value, some tensors, and little padding."""
    path = tmp_path_factory.mktemp("valid") / "valid.gguf"
    writer = gguf.GGUFWriter(path, "qwen3-tts")
    writer.add_uint32("layers", 28)
    writer.add_int64("large", -5)
    writer.add_float32("base", 1e6)
    writer.add_bool("flag", True)
    writer.add_array("tokens", ["a", "Ġthe", "世", "<|im_start|>"])
    writer.add_array("ids", [24, 20, 20])
    writer.add_array("flags", [True, False, True])
    writer.add_array("reals", [0.5, 0.25])
    writer.add_custom_alignment(32)
    ramp = np.linspace(-1, 1, 128, dtype=np.float32)
    writer.add_tensor("norm.weight", ramp)
    writer.add_tensor("conv.weight", ramp.astype(np.float16).reshape(4, 8, 4))
    packed = gguf.quants.quantize(ramp.reshape(2, 64), gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("q.weight", packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged") / "damaged.gguf"


def open_and_read(path: Path) -> ModelFileError | None:
    """Read all that the file offers, or get one explained error."""
    try:
        with GgufFile.open(path) as file:
            assert len(file.metadata) + len(file.tensors) <= file.file_bytes
            for info in file.tensors.values():
                assert info.offset + info.nbytes <= file.file_bytes
                file.read(info, 0, memoryview(bytearray(info.nbytes)))
    except ModelFileError as error:
        return error
    return None


def survives(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    tracemalloc.start()
    try:
        error = open_and_read(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < PEAK_BYTES
    if error is not None:
        assert path.name in error.message
        assert "\n" not in error.message
        assert error.hint


def test_undamaged_file_is_read(valid: bytes, scratch: Path) -> None:
    survives(scratch, valid)
    assert open_and_read(scratch) is None
    with GgufFile.open(scratch) as file:
        assert file.strings("tokens") == ["a", "Ġthe", "世", "<|im_start|>"]
        assert sorted(file.tensors) == ["conv.weight", "norm.weight", "q.weight"]


@given(cut=st.floats(0, 1))
def test_truncated(valid: bytes, scratch: Path, cut: float) -> None:
    survives(scratch, valid[: int(cut * len(valid))])


@settings(max_examples=400)
@given(
    changes=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=8
    )
)
def test_changed_bytes(valid: bytes, scratch: Path, changes: list[tuple[float, int]]) -> None:
    content = bytearray(valid)
    for place, value in changes:
        content[int(place * len(content))] = value
    survives(scratch, bytes(content))


@settings(max_examples=400)
@given(
    place=st.floats(0, 1, exclude_max=True),
    value=st.sampled_from(INTERESTING),
    size=st.sampled_from([1, 2, 4, 8]),
)
def test_changed_integers(valid: bytes, scratch: Path, place: float, value: int, size: int) -> None:
    first = int(place * len(valid))
    wrapped = value % (1 << 8 * size)
    survives(scratch, valid[:first] + wrapped.to_bytes(size, "little") + valid[first + size :])


@settings(max_examples=200)
@given(
    cuts=st.tuples(*[st.floats(0, 1)] * 3),
    repeats=st.integers(0, 3),
    noise=st.binary(max_size=40),
)
def test_spliced(
    valid: bytes,
    scratch: Path,
    cuts: tuple[float, float, float],
    repeats: int,
    noise: bytes,
) -> None:
    """Parts of the file dropped, repeated and interleaved with noise."""
    first, second, third = (int(cut * len(valid)) for cut in cuts)
    low, high = sorted((first, second))
    survives(scratch, valid[:low] + valid[low:high] * repeats + noise + valid[third:])


@given(noise=st.binary(max_size=400))
def test_noise_behind_a_good_start(valid: bytes, scratch: Path, noise: bytes) -> None:
    survives(scratch, noise)
    survives(scratch, valid[:8] + noise)
    survives(scratch, valid[:24] + noise)
