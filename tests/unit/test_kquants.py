"""Quantisers: exact where the format leaves no choice, near the weights where it does."""

from __future__ import annotations

import gguf
import numpy as np
import pytest
import torch
from torch import Tensor

from engine.gguf.blocks import BLOCKS
from engine.gguf.header import TensorType
from engine.gguf.kquants import QUANTIZE, quantize

BLOCK_TYPES = (TensorType.Q8_0, TensorType.Q4_K, TensorType.Q6_K)
K_QUANTS = (TensorType.Q4_K, TensorType.Q6_K)

every_type = pytest.mark.parametrize("kind", list(QUANTIZE), ids=lambda kind: kind.name)
every_block_type = pytest.mark.parametrize("kind", BLOCK_TYPES, ids=lambda kind: kind.name)
every_k_quant = pytest.mark.parametrize("kind", K_QUANTS, ids=lambda kind: kind.name)


def normal(rows: int = 256, columns: int = 1024, seed: int = 0) -> Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


def heavy_tailed() -> Tensor:
    """Student's t with 5 degrees of freedom, as weights with outliers are spread."""
    generator = np.random.default_rng(0)
    return torch.from_numpy(generator.standard_t(5, (256, 1024)).astype(np.float32))


def decoded(values: Tensor, kind: TensorType) -> Tensor:
    """`values` after a round trip, with the decoder checked against the reference."""
    stored = quantize(values, kind)
    assert stored.shape == (len(values), values.shape[1] // kind.block_size * kind.block_bytes)
    back = BLOCKS[kind].dequantize(stored)
    reference = gguf.quants.dequantize(stored.numpy(), gguf.GGMLQuantizationType(int(kind)))
    assert np.array_equal(back.numpy(), reference)
    return back


def relative_error(values: Tensor, kind: TensorType) -> float:
    """Root mean square of the error over the standard deviation."""
    return float((decoded(values, kind) - values).square().mean().sqrt() / values.std())


def nearest_of_a_plain_grid(values: Tensor, kind: TensorType) -> float:
    """The relative error of rounding to a grid from extreme to extreme, scales unrounded."""
    groups = values.reshape(-1, 32 if kind is TensorType.Q4_K else 16)
    if kind is TensorType.Q4_K:
        low = groups.amin(1, True).clamp(max=0)
        step = (groups.amax(1, True) - low) / 15
    else:
        low = torch.zeros(1)
        step = groups.abs().amax(1, True) / 31
    rounded = ((groups - low) / step).round() * step + low
    return float((rounded - groups).square().mean().sqrt() / values.std())


@pytest.mark.parametrize("kind", [TensorType.F16, TensorType.BF16, TensorType.Q8_0])
@pytest.mark.parametrize("scale", [1e-4, 0.02, 1.0, 300.0])
def test_types_without_a_choice_are_those_of_the_reference(kind: TensorType, scale: float) -> None:
    values = normal(64, 512, seed=3) * scale
    values[0, :64] = 0
    values[1, :32] = torch.arange(-16, 16) * 8.0  # steps that end in halves
    reference = gguf.quants.quantize(values.numpy(), gguf.GGMLQuantizationType(int(kind)))
    assert np.array_equal(quantize(values, kind).numpy().ravel(), reference.view(np.uint8).ravel())


def test_f32_is_kept() -> None:
    values = normal(3, 5)
    assert torch.equal(quantize(values, TensorType.F32).view(torch.float32), values)


# Measured: 0.536 %, 7.11 %, 1.71 % of normal weights, 0.68 %, 8.24 %, 2.07 % of heavy-tailed ones.
@pytest.mark.parametrize(
    ("kind", "of_normal", "of_heavy_tailed"),
    [
        (TensorType.Q8_0, 0.0055, 0.0070),
        (TensorType.Q4_K, 0.0718, 0.0835),
        (TensorType.Q6_K, 0.0174, 0.0212),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_error_is_a_known_part_of_the_spread(
    kind: TensorType, of_normal: float, of_heavy_tailed: float
) -> None:
    assert relative_error(normal(), kind) < of_normal
    assert relative_error(heavy_tailed(), kind) < of_heavy_tailed


@every_k_quant
def test_search_beats_rounding_to_a_grid_between_the_extremes(kind: TensorType) -> None:
    for values in (normal(), heavy_tailed(), normal() + 1, normal().abs(), -normal().square()):
        assert relative_error(values, kind) < nearest_of_a_plain_grid(values, kind)


@every_block_type
def test_error_scales_with_the_weights(kind: TensorType) -> None:
    values = normal(16, 1024)
    assert relative_error(values * 0.02, kind) == pytest.approx(
        relative_error(values, kind), rel=0.02
    )


@every_type
def test_zeros_stay_zeros(kind: TensorType) -> None:
    assert decoded(torch.zeros(2, 512), kind).count_nonzero() == 0


@every_block_type
@pytest.mark.parametrize("value", [0.03, -0.03, 1.0, -5.0, 60000.0])
def test_constants_survive(kind: TensorType, value: float) -> None:
    back = decoded(torch.full((1, 256), value), kind)
    # Half precision of the scale, and its six bits.
    assert back.sub(value).abs().max() < abs(value) * 2e-3
    assert back.amax() == back.amin()


@every_block_type
@pytest.mark.parametrize("sign", [1, -1])
def test_one_sign_only(kind: TensorType, sign: int) -> None:
    values = sign * (normal(8, 512).abs() + 0.01)
    back = decoded(values, kind)
    assert (back * sign).min() >= -0.12  # half a step of Q4_K
    assert relative_error(values, kind) < 0.12


@every_block_type
@pytest.mark.parametrize("size", [1e-45, 1e-40, 1e-37, 1e-20])
def test_numbers_too_small_for_half_precision_scales_become_zero(
    kind: TensorType, size: float
) -> None:
    values = normal(2, 512) * size
    back = decoded(values, kind)
    assert torch.isfinite(back).all()
    assert back.abs().max() <= 1e-6


@every_block_type
@pytest.mark.parametrize("outlier", [1e3, -6e4])
def test_an_outlier_is_kept_and_costs_no_other_super_block(
    kind: TensorType, outlier: float
) -> None:
    values = normal(4, 1024)
    values[1, 300] = outlier
    back = decoded(values, kind)
    assert back[1, 300] == pytest.approx(outlier, rel=0.04)
    calm = torch.cat((values[0], values[1, 512:], values[2], values[3])).reshape(1, -1)
    calm_back = torch.cat((back[0], back[1, 512:], back[2], back[3])).reshape(1, -1)
    assert torch.equal(decoded(calm, kind), calm_back)


@every_k_quant
def test_a_group_of_zeros_among_others(kind: TensorType) -> None:
    values = normal(1, 256)
    values[0, 64:128] = 0
    assert decoded(values, kind)[0, 64:128].count_nonzero() == 0


@pytest.mark.parametrize(
    ("kind", "group"),
    [
        (TensorType.Q8_0, torch.arange(-127, 129, 8)),
        (TensorType.Q4_K, torch.arange(32).remainder(16) * 63),
        (TensorType.Q6_K, torch.arange(-32, 32, 4)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_values_that_the_format_can_express_are_exact(kind: TensorType, group: Tensor) -> None:
    values = group.float().repeat(256 // len(group)).unsqueeze(0)
    assert torch.equal(decoded(values, kind), values)


@every_type
def test_pieces_do_not_show(kind: TensorType) -> None:
    """Rows are quantised alike whether they come alone or among a million others."""
    values = normal(700, 512, seed=5)
    rows = torch.cat([quantize(row.unsqueeze(0), kind) for row in values[::50]])
    assert torch.equal(quantize(values, kind)[::50], rows)
