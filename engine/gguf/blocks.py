"""Turns stored tensor bytes into float32, bit for bit as the GGUF reference arithmetic does.

A row of a quantised tensor is a sequence of blocks; a block packs 32 or 256 elements with their
scales. Layouts and the order of every operation: `ggml-common.h` and `ggml-quants.c` of ggml
(`block_q8_0`, `dequantize_row_q8_0`, ...), as also written down in `gguf.quants`. The order
matters: another one rounds differently.

Everything is a plain tensor operation without further state, so it runs on any device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

import torch
from torch import Tensor

from engine.gguf.header import TensorType

Dequantize: TypeAlias = Callable[[Tensor], Tensor]
"""uint8 [rows, row_bytes] -> float32 [rows, columns]; may share memory with its argument."""


@dataclass(frozen=True)
class BlockFormat:
    """How one tensor type is packed and unpacked."""

    dequantize: Dequantize
    block_size: int  # elements
    block_bytes: int


def dequantize_f32(raw: Tensor) -> Tensor:
    return raw.contiguous().view(torch.float32)


def dequantize_f16(raw: Tensor) -> Tensor:
    return raw.contiguous().view(torch.float16).float()


def dequantize_bf16(raw: Tensor) -> Tensor:
    return raw.contiguous().view(torch.bfloat16).float()


def dequantize_q4_0(raw: Tensor) -> Tensor:
    """d (half), 32 nibbles: d * (q - 8)."""
    blocks = _blocks(raw, TensorType.Q4_0)
    quants = _fields(blocks[:, None, 2:], bits=4).reshape(-1, 32)
    return _rows(raw, _half(blocks[:, :2]) * _signed(quants, 8))


def dequantize_q4_1(raw: Tensor) -> Tensor:
    """d, m (halves), 32 nibbles: d * q + m."""
    blocks = _blocks(raw, TensorType.Q4_1)
    quants = _fields(blocks[:, None, 4:], bits=4).reshape(-1, 32)
    return _rows(raw, (_half(blocks[:, :2]) * quants).add_(_half(blocks[:, 2:4])))


def dequantize_q5_0(raw: Tensor) -> Tensor:
    """d (half), 32 fifth bits, 32 nibbles: d * (q - 16)."""
    blocks = _blocks(raw, TensorType.Q5_0)
    quants = _five_bits(blocks[:, 2:6], blocks[:, 6:])
    return _rows(raw, _half(blocks[:, :2]) * _signed(quants, 16))


def dequantize_q5_1(raw: Tensor) -> Tensor:
    """d, m (halves), 32 fifth bits, 32 nibbles: d * q + m."""
    blocks = _blocks(raw, TensorType.Q5_1)
    quants = _five_bits(blocks[:, 4:8], blocks[:, 8:])
    return _rows(raw, (_half(blocks[:, :2]) * quants).add_(_half(blocks[:, 2:4])))


def dequantize_q8_0(raw: Tensor) -> Tensor:
    """d (half), 32 signed bytes: d * q."""
    blocks = _blocks(raw, TensorType.Q8_0)
    return _rows(raw, _half(blocks[:, :2]) * blocks[:, 2:].view(torch.int8))


def dequantize_q2_k(raw: Tensor) -> Tensor:
    """16 scales of 4 + 4 bits (scale, minimum), 256 2-bit quants, d, dmin: d*s * q - dmin*m."""
    blocks = _blocks(raw, TensorType.Q2_K)
    scales, minima = _fields(blocks[:, None, :16], bits=4).unbind(2)  # each [n, 1, 16]
    scale = (_half(blocks[:, 80:82]) * scales[:, 0]).unsqueeze(2)  # [n, 16, 1]
    minimum = (_half(blocks[:, 82:84]) * minima[:, 0]).unsqueeze(2)
    quants = _fields(blocks[:, 16:80].reshape(-1, 2, 32), bits=2).reshape(-1, 16, 16)
    return _rows(raw, (scale * quants).sub_(minimum))


def dequantize_q3_k(raw: Tensor) -> Tensor:
    """256 third bits, 256 2-bit quants, 16 6-bit scales, d: d*(s - 32) * (q - 4).

    The low 4 bits of the scales fill 8 bytes, the high 2 bits 4 bytes.
    """
    blocks = _blocks(raw, TensorType.Q3_K)
    scale_low = _fields(blocks[:, None, 96:104], bits=4).reshape(-1, 16)
    scale_high = _fields(blocks[:, None, 104:108], bits=2).reshape(-1, 16)
    scales = _signed(scale_high.bitwise_left_shift_(4).bitwise_or_(scale_low), 32)
    scale = (_half(blocks[:, 108:110]) * scales).unsqueeze(2)  # [n, 16, 1]
    low = _fields(blocks[:, 32:96].reshape(-1, 2, 32), bits=2).reshape(-1, 16, 16)
    high = _fields(blocks[:, None, :32], bits=1).reshape(-1, 16, 16)
    quants = _signed(high.bitwise_left_shift_(2).bitwise_or_(low), 4)
    return _rows(raw, scale * quants)


def dequantize_q4_k(raw: Tensor) -> Tensor:
    """d, dmin, 8 scales and minima of 6 bits, 256 nibbles: d*s * q - dmin*m."""
    blocks = _blocks(raw, TensorType.Q4_K)
    scale, minimum = _scales_and_minima(blocks)
    quants = _fields(blocks[:, 16:].reshape(-1, 4, 32), bits=4).reshape(-1, 8, 32)
    return _rows(raw, (scale * quants).sub_(minimum))


def dequantize_q5_k(raw: Tensor) -> Tensor:
    """As Q4_K, with 256 fifth bits before the nibbles."""
    blocks = _blocks(raw, TensorType.Q5_K)
    scale, minimum = _scales_and_minima(blocks)
    low = _fields(blocks[:, 48:].reshape(-1, 4, 32), bits=4).reshape(-1, 8, 32)
    high = _fields(blocks[:, None, 16:48], bits=1).reshape(-1, 8, 32)
    quants = high.bitwise_left_shift_(4).bitwise_or_(low)
    return _rows(raw, (scale * quants).sub_(minimum))


def dequantize_q6_k(raw: Tensor) -> Tensor:
    """256 nibbles, 256 2-bit high parts, 16 signed 8-bit scales, d: d*s * (q - 32)."""
    blocks = _blocks(raw, TensorType.Q6_K)
    low = _fields(blocks[:, :128].reshape(-1, 2, 64), bits=4).reshape(-1, 16, 16)
    high = _fields(blocks[:, 128:192].reshape(-1, 2, 32), bits=2).reshape(-1, 16, 16)
    quants = _signed(high.bitwise_left_shift_(4).bitwise_or_(low), 32)
    scales = blocks[:, 192:208].view(torch.int8)
    scale = (_half(blocks[:, 208:210]) * scales).unsqueeze(2)  # [n, 16, 1]
    return _rows(raw, scale * quants)


def _blocks(raw: Tensor, kind: TensorType) -> Tensor:
    """uint8 [rows, row_bytes] -> [n, block_bytes]."""
    return raw.reshape(-1, kind.block_bytes)


def _rows(raw: Tensor, values: Tensor) -> Tensor:
    """The values of all blocks, float32 [n, ...] -> [rows, columns]."""
    return values.reshape(raw.shape[0], -1)


def _half(pair: Tensor) -> Tensor:
    """Half-precision numbers as float32, uint8 [n, 2] -> [n, 1]."""
    # The copy also aligns them: a view as float16 needs an even address.
    return pair.clone(memory_format=torch.contiguous_format).view(torch.float16).float()


def _fields(packed: Tensor, bits: int) -> Tensor:
    """Split bytes into bit fields, lowest first: uint8 [n, groups, w] -> [n, groups, 8/bits, w]."""
    mask = (1 << bits) - 1
    parts = [packed.bitwise_right_shift(shift) for shift in range(0, 8, bits)]
    return torch.stack(parts, dim=2).bitwise_and_(mask)


def _signed(quants: Tensor, zero: int) -> Tensor:
    """int8 quants that count from `zero`, from uint8 ones below 128."""
    return quants.view(torch.int8).sub_(zero)


def _five_bits(high: Tensor, nibbles: Tensor) -> Tensor:
    """Quants of Q5_0 and Q5_1: uint8 [n, 4] and [n, 16] -> [n, 32]."""
    fifth = _fields(high.unsqueeze(2), bits=1).reshape(-1, 32)
    low = _fields(nibbles.unsqueeze(1), bits=4).reshape(-1, 32)
    return fifth.bitwise_left_shift_(4).bitwise_or_(low)


def _scales_and_minima(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """d*s and dmin*m of Q4_K and Q5_K blocks, each float32 [n, 8, 1].

    Bytes 4..15 hold 8 scales and 8 minima of 6 bits. The first four of each are the low 6 bits of
    bytes 4..7 and 8..11; of the last four, the low 4 bits are the nibbles of bytes 12..15 (scale
    low, minimum high), the high 2 bits are the top of bytes 4..7 and 8..11.
    """
    first, second, third = blocks[:, 4:16].reshape(-1, 3, 4).unbind(1)  # each [n, 4]
    low = _fields(third.unsqueeze(1), bits=4)[:, 0]  # [n, 2, 4]: of scales, of minima
    last_scales = (first >> 2).bitwise_and_(0x30).bitwise_or_(low[:, 0])
    last_minima = (second >> 2).bitwise_and_(0x30).bitwise_or_(low[:, 1])
    scales = torch.cat((first & 0x3F, last_scales), dim=1)
    minima = torch.cat((second & 0x3F, last_minima), dim=1)
    scale = _half(blocks[:, :2]) * scales
    minimum = _half(blocks[:, 2:4]) * minima
    return scale.unsqueeze(2), minimum.unsqueeze(2)


_DEQUANTIZE: Final[Mapping[TensorType, Dequantize]] = MappingProxyType(
    {
        TensorType.F32: dequantize_f32,
        TensorType.F16: dequantize_f16,
        TensorType.BF16: dequantize_bf16,
        TensorType.Q4_0: dequantize_q4_0,
        TensorType.Q4_1: dequantize_q4_1,
        TensorType.Q5_0: dequantize_q5_0,
        TensorType.Q5_1: dequantize_q5_1,
        TensorType.Q8_0: dequantize_q8_0,
        TensorType.Q2_K: dequantize_q2_k,
        TensorType.Q3_K: dequantize_q3_k,
        TensorType.Q4_K: dequantize_q4_k,
        TensorType.Q5_K: dequantize_q5_k,
        TensorType.Q6_K: dequantize_q6_k,
    }
)

BLOCKS: Final[Mapping[TensorType, BlockFormat]] = MappingProxyType(
    {
        kind: BlockFormat(function, kind.block_size, kind.block_bytes)
        for kind, function in _DEQUANTIZE.items()
    }
)
