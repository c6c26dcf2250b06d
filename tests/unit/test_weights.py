"""Weights are taken once, by name and shape, and arrive with the values that were stored."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.errors import Cancelled, ModelFileError
from engine.gguf.reader import GgufFile, TensorType
from engine.gguf.weights import PIECE_BYTES, Weights
from engine.types import CancelToken

CPU = torch.device("cpu")
STORED = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q5_1")


@pytest.fixture(scope="module")
def matrix() -> NDArray[np.float32]:
    """More than one piece in every type, and no whole number of pieces."""
    generator = np.random.default_rng(0)
    return generator.standard_normal((2750, 2048), dtype=np.float32)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, matrix: NDArray[np.float32]) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.gguf"
    writer = gguf.GGUFWriter(path, "qwen3-tts")
    for kind in STORED:
        reference = gguf.GGMLQuantizationType[kind]
        packed = gguf.quants.quantize(matrix, reference)
        writer.add_tensor(f"large.{kind}", packed, raw_dtype=reference)
    writer.add_tensor("small.conv", np.arange(96 * 7, dtype=np.float32).reshape(96, 7))
    writer.add_tensor("small.bias", np.arange(5, dtype=np.float32))
    writer.add_tensor("small.one", np.full(1, 3, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def file(model: Path) -> Iterator[GgufFile]:
    with GgufFile.open(model) as opened:
        yield opened


def dequantised(kind: str, matrix: NDArray[np.float32]) -> torch.Tensor:
    reference = gguf.GGMLQuantizationType[kind]
    packed = gguf.quants.quantize(matrix, reference)
    return torch.from_numpy(gguf.quants.dequantize(packed, reference))


@pytest.mark.parametrize("kind", STORED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_values_in_any_precision(
    file: GgufFile, matrix: NDArray[np.float32], kind: str, dtype: torch.dtype
) -> None:
    stored = Weights(file).take(f"large.{kind}", (2750, 2048))
    assert stored.type is TensorType[kind]
    values = stored.to_torch(dtype, CPU)
    assert values.dtype == dtype
    assert torch.equal(values, dequantised(kind, matrix).to(dtype))


@pytest.mark.parametrize("kind", STORED)
def test_raw_bytes_by_rows(file: GgufFile, matrix: NDArray[np.float32], kind: str) -> None:
    raw = Weights(file).take(f"large.{kind}", (None, 2048)).raw()
    expected = gguf.quants.quantize(matrix, gguf.GGMLQuantizationType[kind]).view(np.uint8)
    assert raw.dtype == torch.uint8
    np.testing.assert_array_equal(raw.numpy(), expected)


@pytest.mark.parametrize(
    ("name", "wanted", "shape"),
    [
        ("small.conv", (96, 7), (96, 7)),
        ("small.conv", (1, 96, 7), (1, 96, 7)),
        ("small.conv", (96, 1, 7, 1), (96, 1, 7, 1)),
        ("small.conv", (None, 7), (96, 7)),
        ("small.conv", (None, 96, 7), (1, 96, 7)),
        ("small.conv", (None, None, 7), (1, 96, 7)),
        ("small.conv", (96, None, 7), (96, 1, 7)),
        ("small.bias", (None,), (5,)),
        ("small.bias", (5, 1), (5, 1)),
        ("small.one", (1, 1, 1), (1, 1, 1)),
        ("small.one", (None, None), (1, 1)),
        ("small.one", (), ()),
    ],
)
def test_dimensions_of_size_one_are_restored(
    file: GgufFile, name: str, wanted: tuple[int | None, ...], shape: tuple[int, ...]
) -> None:
    stored = Weights(file).take(name, wanted)
    assert stored.shape == shape
    values = stored.to_torch(torch.float32, CPU)
    assert values.shape == shape
    assert values[(0,) * len(shape)] == (3 if name == "small.one" else 0)
    assert values.sum() == {"small.conv": 225_456, "small.bias": 10, "small.one": 3}[name]


@pytest.mark.parametrize(
    ("name", "wanted", "shown"),
    [
        ("small.conv", (7, 96), r"\[96, 7\], not \[7, 96\]"),
        ("small.conv", (672,), r"\[96, 7\], not \[672\]"),
        ("small.conv", (None, 8), r"\[96, 7\], not \[any, 8\]"),
        ("small.conv", (None,), r"\[96, 7\], not \[any\]"),
        ("small.conv", (2, 48, 7), r"\[96, 7\], not \[2, 48, 7\]"),
        ("small.bias", (), r"\[5\], not \[\]"),
        ("small.one", (2,), r"\[1\], not \[2\]"),
    ],
)
def test_other_shapes_are_refused(
    file: GgufFile, name: str, wanted: tuple[int | None, ...], shown: str
) -> None:
    weights = Weights(file)
    with pytest.raises(ModelFileError, match=f"model.gguf: tensor '{name}' has shape {shown}"):
        weights.take(name, wanted)


def test_presence_and_shape(file: GgufFile) -> None:
    weights = Weights(file)
    assert "small.conv" in weights
    assert "small.absent" not in weights
    assert weights.shape("small.conv") == (96, 7)
    with pytest.raises(ModelFileError, match=r"model\.gguf has no tensor 'small\.absent'"):
        weights.shape("small.absent")
    with pytest.raises(ModelFileError, match=r"model\.gguf has no tensor 'small\.absent'"):
        weights.take("small.absent", (1,))


def test_each_weight_is_taken_once(file: GgufFile) -> None:
    weights = Weights(file)
    weights.take("small.bias", (5,))
    with pytest.raises(AssertionError, match=r"small\.bias"):
        weights.take("small.bias", (5,))
    weights.skip("small.")
    with pytest.raises(AssertionError, match=r"small\.conv"):
        weights.take("small.conv", (96, 7))
    assert "small.conv" in weights


def test_leftovers_are_listed(file: GgufFile) -> None:
    weights = Weights(file)
    weights.skip("large.")
    weights.take("small.bias", (5,))
    with pytest.raises(ModelFileError, match=r"model\.gguf holds .*: 'small.conv', 'small.one'\."):
        weights.finish()
    weights.skip("small.")
    weights.finish()


def test_long_lists_of_leftovers_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "many.gguf"
    writer = gguf.GGUFWriter(path, "qwen3-tts")
    for index in range(14):
        writer.add_tensor(f"tensor.{index}", np.zeros(1, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with GgufFile.open(path) as file:
        with pytest.raises(ModelFileError, match=r"'tensor\.9' and 4 more") as caught:
            Weights(file).finish()
        assert "tensor.10" not in caught.value.message
        assert "tensor.13" in caught.value.detail


def test_progress_counts_what_is_to_be_read(file: GgufFile) -> None:
    told: list[tuple[int, int]] = []
    weights = Weights(file, progress=lambda done, total: told.append((done, total)))
    weights.skip("large.Q")
    names = [name for name in file.tensors if not name.startswith("large.Q")]
    total = sum(file.tensors[name].nbytes for name in names)
    for name in names:
        stored = weights.take(name, weights.shape(name))
        if name == "large.F16":
            stored.raw()
        else:
            stored.to_torch(torch.bfloat16, CPU)
    weights.finish()
    assert {each_total for _, each_total in told} == {total}
    done = [0, *(each_done for each_done, _ in told)]
    steps = np.diff(done)
    assert done[-1] == total
    assert (steps > 0).all()
    assert steps.max() <= PIECE_BYTES


@pytest.mark.parametrize("kind", ["F32", "Q8_0"])
def test_cancelling_stops_within_a_tensor(file: GgufFile, kind: str) -> None:
    cancel = CancelToken()
    told: list[int] = []

    def progress(done: int, total: int) -> None:
        told.append(done)
        cancel.cancel()

    stored = Weights(file, progress, cancel).take(f"large.{kind}", (2750, 2048))
    with pytest.raises(Cancelled):
        stored.to_torch(torch.float32, CPU)
    assert len(told) == 1


def test_file_that_shrinks_while_it_is_loaded(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "shrinking.gguf"
    path.write_bytes(model.read_bytes())
    with GgufFile.open(path) as file:
        info = file.tensors["large.Q8_0"]
        stored = Weights(file).take("large.Q8_0", (2750, 2048))
        os.truncate(path, info.offset + info.nbytes - 1)
        with pytest.raises(ModelFileError, match=r"'large\.Q8_0'"):
            stored.to_torch(torch.float32, CPU)
        with pytest.raises(ModelFileError, match=r"'large\.Q8_0'"):
            stored.raw()


@pytest.mark.gpu
@pytest.mark.parametrize("kind", STORED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_values_on_a_gpu(
    file: GgufFile, matrix: NDArray[np.float32], kind: str, dtype: torch.dtype
) -> None:
    stored = Weights(file).take(f"large.{kind}", (2750, 2048))
    values = stored.to_torch(dtype, torch.device("cuda"))
    assert values.device.type == "cuda"
    assert torch.equal(values.cpu(), dequantised(kind, matrix).to(dtype))
