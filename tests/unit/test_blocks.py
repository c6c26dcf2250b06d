"""Dequantisation gives the bits of the reference arithmetic, for every type."""

from __future__ import annotations

import gguf
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.gguf.blocks import BLOCKS
from engine.gguf.reader import TensorType

HALF_POSITIONS = {
    TensorType.F16: (0,),
    TensorType.Q4_0: (0,),
    TensorType.Q4_1: (0, 2),
    TensorType.Q5_0: (0,),
    TensorType.Q5_1: (0, 2),
    TensorType.Q8_0: (0,),
    TensorType.Q2_K: (80, 82),
    TensorType.Q3_K: (108,),
    TensorType.Q4_K: (0, 2),
    TensorType.Q5_K: (0, 2),
    TensorType.Q6_K: (208,),
}
"""Where the half-precision numbers lie within a block."""

EXTREME_HALVES = np.array(
    [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x3C00, 0xBC00],
    dtype=np.uint16,
)
"""Both zeros, the smallest and largest subnormals, the smallest normal, the largest, one."""

every_type = pytest.mark.parametrize("kind", list(TensorType), ids=lambda kind: kind.name)


def random_rows(kind: TensorType, rows: int, blocks: int, seed: int) -> NDArray[np.uint8]:
    """uint8 [rows, blocks * block_bytes]: any bits, except that halves are finite."""
    generator = np.random.default_rng(seed)
    if kind is TensorType.F32:
        finite = generator.standard_normal((rows, blocks), dtype=np.float32)
        return (finite * np.float32(1e30)).view(np.uint8)
    size = (rows, blocks, kind.block_bytes)
    raw = generator.integers(0, 256, size, dtype=np.uint8)
    if kind is TensorType.BF16:
        raw[..., 1] &= 0xBF  # an exponent below the infinities
    for position in HALF_POSITIONS.get(kind, ()):
        halves = generator.integers(0, 0x7C00, (rows, blocks), dtype=np.uint16)
        halves |= generator.integers(0, 2, (rows, blocks), dtype=np.uint16) << 15
        extreme = generator.random((rows, blocks)) < 0.5
        halves[extreme] = generator.choice(EXTREME_HALVES, int(extreme.sum()))
        raw[..., position : position + 2] = halves[..., None].view(np.uint8)
    return raw.reshape(rows, -1)


def assert_same_bits(kind: TensorType, raw: NDArray[np.uint8]) -> None:
    expected = gguf.quants.dequantize(raw, gguf.GGMLQuantizationType(int(kind)))
    values = BLOCKS[kind].dequantize(torch.from_numpy(raw))
    assert values.dtype == torch.float32
    assert tuple(values.shape) == expected.shape
    np.testing.assert_array_equal(values.numpy().view(np.uint32), expected.view(np.uint32))


def test_table_covers_every_type() -> None:
    assert set(BLOCKS) == set(TensorType)
    for kind, block in BLOCKS.items():
        assert (block.block_size, block.block_bytes) == (kind.block_size, kind.block_bytes)


@every_type
@pytest.mark.parametrize(("rows", "blocks"), [(1, 1), (1, 2), (3, 1), (7, 5), (33, 3), (64, 4)])
def test_random_blocks(kind: TensorType, rows: int, blocks: int) -> None:
    for seed in range(3):
        assert_same_bits(kind, random_rows(kind, rows, blocks, seed))


@every_type
def test_every_byte_value_at_every_place(kind: TensorType) -> None:
    """256 rows of one block; each place of a block takes each byte once, halves excepted."""
    rotated = np.arange(256)[:, None] + 37 * np.arange(kind.block_bytes)[None, :]
    raw = (rotated % 256).astype(np.uint8)
    for position in HALF_POSITIONS.get(kind, ()):
        raw[:, position + 1] &= 0xBB  # a finite half
    if kind in (TensorType.F32, TensorType.BF16):
        raw[:, -1] &= 0xBF
    assert_same_bits(kind, raw)


@every_type
def test_quantised_by_the_reference(kind: TensorType) -> None:
    reference = gguf.GGMLQuantizationType(int(kind))
    if kind.name.endswith("_K"):
        # The reference cannot pack these; blocks of small scales stand in.
        raw = random_rows(kind, 5, 2, seed=9)
        for position in HALF_POSITIONS[kind]:
            raw.reshape(5, 2, -1)[..., position : position + 2] = (0x34, 0x12)
    else:
        normal = np.random.default_rng(9).standard_normal((5, 64), dtype=np.float32)
        raw = np.ascontiguousarray(gguf.quants.quantize(normal, reference).view(np.uint8))
        values = BLOCKS[kind].dequantize(torch.from_numpy(raw)).numpy()
        assert np.abs(values - normal).max() < 0.3
    assert_same_bits(kind, raw)


@every_type
def test_rows_at_an_odd_address(kind: TensorType) -> None:
    raw = random_rows(kind, 3, 2, seed=4)
    shifted = torch.empty(raw.size + 1, dtype=torch.uint8)[1:].view(raw.shape)
    shifted.copy_(torch.from_numpy(raw))
    if kind in (TensorType.F32, TensorType.F16, TensorType.BF16):
        shifted = shifted.clone()  # plain numbers are read in place
    values = BLOCKS[kind].dequantize(shifted)
    assert torch.equal(values, BLOCKS[kind].dequantize(torch.from_numpy(raw)))


@every_type
def test_argument_is_left_as_it_was(kind: TensorType) -> None:
    raw = torch.from_numpy(random_rows(kind, 2, 2, seed=5))
    before = raw.clone()
    BLOCKS[kind].dequantize(raw)
    assert torch.equal(raw, before)


@pytest.mark.gpu
@every_type
def test_gpu_gives_the_same_bits(kind: TensorType) -> None:
    raw = torch.from_numpy(random_rows(kind, 33, 3, seed=6))
    on_gpu = BLOCKS[kind].dequantize(raw.cuda()).cpu()
    on_cpu = BLOCKS[kind].dequantize(raw)
    assert torch.equal(on_gpu.view(torch.int32), on_cpu.view(torch.int32))
