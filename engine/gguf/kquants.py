"""Turns float32 weights into the block types in which GGUF files store them.

The layouts are those that `engine.gguf.blocks` unpacks. Q8_0, BF16 and F16 leave no choice and
follow `gguf.quants` bit for bit. A K-quant may be any block that decodes: Q4_K and Q6_K are
searched for the least squared error, by trying several step sizes for each group of weights and
solving for scale and minimum (linear least squares) once the rounded values are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import torch
from torch import Tensor

from engine.gguf.header import TensorType

Quantize: TypeAlias = Callable[[Tensor], Tensor]
"""float32 [rows, columns] -> uint8 [rows, row_bytes]; columns are whole blocks, values finite."""

LARGEST: Final = 65504.0
"""The largest half-precision number; larger weights have no F16 form."""

# Steps that the range of 32 weights is divided into (15 just reach from the lowest to the
# highest). Fewer leave room at the edges, more cut the extremes off: both can be nearer the rest.
_STEPS_4: Final = tuple(13 + 3 * index / 7 for index in range(8))

# Multiples of the step that the largest of 16 weights becomes; quants reach from -32 to 31.
_STEPS_6: Final = (-33.0, -32.5, -32.0, -31.5, -31.0, -30.5, 30.5, 31.0, 31.5)

_PIECE: Final = 1 << 17  # weights worked on at a time, so that they stay in the processor's cache


def quantize(values: Tensor, kind: TensorType) -> Tensor:
    """The stored form of float32 [rows, columns], uint8 [rows, row_bytes].

    Rows must be whole blocks of a type in `QUANTIZE`, and all values finite; as F16, and for
    scales of the quantised types, they are at most `LARGEST`.
    """
    assert values.shape[-1] % kind.block_size == 0, f"rows of {values.shape[-1]} for {kind.name}"
    return QUANTIZE[kind](values)


def quantize_f32(values: Tensor) -> Tensor:
    return values.contiguous().view(torch.uint8)


def quantize_f16(values: Tensor) -> Tensor:
    return values.half().contiguous().view(torch.uint8)


def quantize_bf16(values: Tensor) -> Tensor:
    return values.bfloat16().contiguous().view(torch.uint8)


def quantize_q8_0(values: Tensor) -> Tensor:
    """d = max|x| / 127 as half, 32 signed bytes x / d, halves away from zero."""
    return _by_pieces(values, 32, _q8_0_blocks)


def quantize_q4_k(values: Tensor) -> Tensor:
    """Super-blocks of 8 groups of 32: d, dmin, 6-bit scales and minima, nibbles."""
    return _by_pieces(values, 256, _q4_k_blocks)


def quantize_q6_k(values: Tensor) -> Tensor:
    """Super-blocks of 16 groups of 16: nibbles, high bit pairs, signed scales, d."""
    return _by_pieces(values, 256, _q6_k_blocks)


def _by_pieces(values: Tensor, size: int, pack: Callable[[Tensor], Tensor]) -> Tensor:
    blocks = values.reshape(-1, size)
    packed = [pack(piece) for piece in torch.split(blocks, _PIECE // size)]
    return torch.cat(packed).reshape(values.shape[0], -1)


def _q8_0_blocks(blocks: Tensor) -> Tensor:
    """float32 [n, 32] -> uint8 [n, 34]."""
    # A tensor divisor: by a Python number torch multiplies with its reciprocal, which is not exact.
    scale = blocks.abs().amax(1, keepdim=True) / torch.tensor(127.0)
    inverse = _inverse(scale)
    scaled = blocks * inverse
    size = scaled.abs()
    whole = size.floor()
    rounded = torch.copysign(whole + ((size - whole) * 2).floor(), scaled)
    return torch.cat((_half_bytes(scale), rounded.to(torch.int8).view(torch.uint8)), dim=1)


# Q4_K: x = d * scale * q - dmin * minimum, with q in 0..15, scale and minimum in 0..63.


def _q4_k_blocks(blocks: Tensor) -> Tensor:
    """float32 [n, 256] -> uint8 [n, 144]."""
    groups = blocks.reshape(-1, 32)
    scale, minimum = _affine_search(groups.t().contiguous())
    scale, minimum = scale.reshape(-1, 8), minimum.reshape(-1, 8)
    fit = _Q4Fit(groups.reshape(-1, 8, 32))
    d, dmin = _halved(scale.amax(1, True) / 63), _halved(minimum.amax(1, True) / 63)
    scales, minima = _six_bits(scale, d), _six_bits(minimum, dmin)
    quants, error = fit.quants(d, dmin, scales, minima)

    # The rounded scales move the best minima, and both the best factors of the super-block.
    offset = (d * scales).unsqueeze(2) * quants - fit.groups
    moved = _six_bits(offset.mean(2).clamp_(min=0), dmin)
    moved_error = fit.quants(d, dmin, scales, moved)[1]
    minima = torch.where(moved_error < error, moved, minima)
    quants, error = fit.quants(d, dmin, scales, minima)
    new_d, new_dmin = fit.factors(quants, scales, minima)
    total = fit.quants(new_d, new_dmin, scales, minima)[1].sum(1, True)
    better = (total < error.sum(1, True)) & (new_d > 0) & (new_dmin >= 0)
    d, dmin = torch.where(better, new_d, d), torch.where(better, new_dmin, dmin)
    quants, _ = fit.quants(d, dmin, scales, minima)

    nibbles = quants.to(torch.uint8).reshape(-1, 4, 2, 32)
    low_high = nibbles[:, :, 0] | nibbles[:, :, 1] << 4
    parts = (_half_bytes(d), _half_bytes(dmin), _packed_six_bits(scales, minima))
    return torch.cat((*parts, low_high.reshape(-1, 128)), dim=1)


def _affine_search(weights: Tensor) -> tuple[Tensor, Tensor]:
    """Scale >= 0 and minimum >= 0 of each group, for x = scale * q - minimum; [32, m] -> [m] each.

    Groups are columns, because sums along the first dimension are fast.
    """
    count = weights.shape[0]
    mean = weights.mean(0)
    centred = weights - mean  # sums of squares around the mean do not cancel
    power = centred.square().sum(0)
    low = weights.amin(0).clamp_(max=0)  # the format has no minimum above zero
    span = weights.amax(0) - low
    best_error = torch.full_like(span, torch.inf)
    best_scale, best_low = torch.zeros_like(span), low
    for steps in _STEPS_4:
        inverse = _inverse(span / steps)
        quants = torch.addcmul(-low * inverse, weights, inverse).round_().clamp_(0, 15)
        total = quants.sum(0)
        squares = quants.square().sum(0)
        product = centred.mul(quants).sum(0)
        # x ~ scale * q + offset: least squares, and along scale alone where the offset is positive.
        scale = _quotient(product, squares - total * total / count)
        offset = mean - scale * total / count
        error = power - scale * product
        through_zero = product + mean * total
        scale_alone = _quotient(through_zero, squares)
        error_alone = power + count * mean * mean - scale_alone * through_zero
        alone = offset > 0
        scale = torch.where(alone, scale_alone, scale)
        error = torch.where(alone, error_alone, error)
        better = (error < best_error) & (scale > 0)
        best_error = torch.where(better, error, best_error)
        best_scale = torch.where(better, scale, best_scale)
        best_low = torch.where(better, offset.clamp_(max=0), best_low)
    return best_scale, -best_low


class _Q4Fit:
    """What a choice of scales and minima makes of some super-blocks, float32 [n, 8, 32]."""

    def __init__(self, groups: Tensor) -> None:
        self.groups = groups

    def quants(
        self, d: Tensor, dmin: Tensor, scales: Tensor, minima: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The nearest quants [n, 8, 32] and the squared error of each group [n, 8]."""
        scale, minimum = (d * scales).unsqueeze(2), (dmin * minima).unsqueeze(2)
        quants = ((self.groups + minimum) * _inverse(scale)).round_().clamp_(0, 15)
        error = (scale * quants).sub_(minimum).sub_(self.groups).square_().sum(2)
        return quants, error

    def factors(self, quants: Tensor, scales: Tensor, minima: Tensor) -> tuple[Tensor, Tensor]:
        """d and dmin [n, 1] of least squared error for these integers, rounded to half."""
        total, squares = quants.sum(2), quants.square().sum(2)  # [n, 8]
        product, power = (quants * self.groups).sum(2), self.groups.sum(2)
        aa = (scales * scales * squares).sum(1, True)
        bb = 32 * (minima * minima).sum(1, True)
        ab = -(scales * minima * total).sum(1, True)
        ax = (scales * product).sum(1, True)
        bx = -(minima * power).sum(1, True)
        determinant = aa * bb - ab * ab
        d = torch.where(bb > 0, _quotient(ax * bb - bx * ab, determinant), _quotient(ax, aa))
        return _halved(d), _halved(_quotient(bx * aa - ax * ab, determinant))


def _six_bits(values: Tensor, step: Tensor) -> Tensor:
    return (values * _inverse(step)).round_().clamp_(0, 63)


def _packed_six_bits(scales: Tensor, minima: Tensor) -> Tensor:
    """8 scales and 8 minima of 6 bits: [n, 8] each -> uint8 [n, 12], see `engine.gguf.blocks`."""
    scale, minimum = scales.to(torch.uint8), minima.to(torch.uint8)
    first = scale[:, :4] | (scale[:, 4:] >> 4) << 6
    second = minimum[:, :4] | (minimum[:, 4:] >> 4) << 6
    third = (scale[:, 4:] & 15) | (minimum[:, 4:] & 15) << 4
    return torch.cat((first, second, third), dim=1)


# Q6_K: x = d * scale * q, with q in -32..31 and scale in -128..127.


def _q6_k_blocks(blocks: Tensor) -> Tensor:
    """float32 [n, 256] -> uint8 [n, 210]."""
    groups = blocks.reshape(-1, 16)
    scale = _linear_search(groups.t().contiguous()).reshape(-1, 16)
    # The largest scale becomes -128, whatever its sign: one step finer than 127.
    largest = scale.gather(1, scale.abs().argmax(1, True))
    d = _halved(largest / -128)
    scales = (scale * _inverse(d)).round_().clamp_(-128, 127)
    weights = groups.reshape(-1, 16, 16)
    quants = _q6_quants(weights, d, scales)

    total = (scales * (quants * weights).sum(2)).sum(1, True)
    power = (scales * scales * quants.square().sum(2)).sum(1, True)
    better_d = _halved(_quotient(total, power))
    better_quants = _q6_quants(weights, better_d, scales)
    better = _q6_error(weights, better_d, scales, better_quants) < _q6_error(
        weights, d, scales, quants
    )
    d = torch.where(better, better_d, d)
    quants = torch.where(better.unsqueeze(2), better_quants, quants)

    stored = quants.add_(32).to(torch.uint8)
    halves = stored.reshape(-1, 2, 2, 64)
    low = halves[:, :, 0] & 15 | (halves[:, :, 1] & 15) << 4  # [n, 2, 64]
    quarters = stored.reshape(-1, 2, 4, 32) >> 4
    high = quarters[:, :, 0] | quarters[:, :, 1] << 2 | quarters[:, :, 2] << 4
    high = high | quarters[:, :, 3] << 6  # [n, 2, 32]
    scale_bytes = scales.to(torch.int8).view(torch.uint8)
    parts = (low.reshape(-1, 128), high.reshape(-1, 64), scale_bytes, _half_bytes(d))
    return torch.cat(parts, dim=1)


def _linear_search(weights: Tensor) -> Tensor:
    """The scale of least squared error of each group, for x = scale * q; [16, m] -> [m]."""
    largest = weights.gather(0, weights.abs().argmax(0, True))[0]
    best_gain, best_scale = torch.zeros_like(largest), torch.zeros_like(largest)
    for steps in _STEPS_6:
        inverse = _inverse(largest / steps)
        quants = (weights * inverse).round_().clamp_(-32, 31)
        squares = quants.square().sum(0)
        product = quants.mul_(weights).sum(0)
        scale = _quotient(product, squares)
        gain = scale * product  # what the squared error is below that of all zeros
        better = gain > best_gain
        best_gain = torch.where(better, gain, best_gain)
        best_scale = torch.where(better, scale, best_scale)
    return best_scale


def _q6_quants(weights: Tensor, d: Tensor, scales: Tensor) -> Tensor:
    inverse = _inverse(d * scales).unsqueeze(2)
    return (weights * inverse).round_().clamp_(-32, 31)


def _q6_error(weights: Tensor, d: Tensor, scales: Tensor, quants: Tensor) -> Tensor:
    """The squared error of each super-block, [n, 1]."""
    return ((d * scales).unsqueeze(2) * quants - weights).square().sum((1, 2)).unsqueeze(1)


def _inverse(values: Tensor) -> Tensor:
    """1 / values, and 0 where that is not finite (the values are 0, or all but 0)."""
    return values.reciprocal().nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0)


def _quotient(dividend: Tensor, divisor: Tensor) -> Tensor:
    """dividend / divisor, and 0 where that is not finite."""
    return (dividend / divisor).nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0)


def _halved(values: Tensor) -> Tensor:
    """`values` as they are read back from half precision."""
    return values.clamp(-LARGEST, LARGEST).half().float()


def _half_bytes(values: Tensor) -> Tensor:
    """float32 [n, 1] -> uint8 [n, 2]."""
    return values.half().view(torch.uint8)


QUANTIZE: Final[Mapping[TensorType, Quantize]] = MappingProxyType(
    {
        TensorType.F32: quantize_f32,
        TensorType.F16: quantize_f16,
        TensorType.BF16: quantize_bf16,
        TensorType.Q8_0: quantize_q8_0,
        TensorType.Q4_K: quantize_q4_k,
        TensorType.Q6_K: quantize_q6_k,
    }
)
