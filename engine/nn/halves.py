"""Products with weights in half precision: half the way from memory, and nearly nothing lost.

A weight in half precision keeps 11 bits, to the 2^-25 in numbers below 2^-14. That is all that a
BF16 or F16 file stores, and finer than any quantised file is. Sums and results are in float32.
"""

from __future__ import annotations

import functools
import platform
from dataclasses import dataclass
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.gguf.header import TensorType
from engine.gguf.weights import StoredTensor

LARGEST: Final = 65504.0
"""The largest number in half precision."""

EXACT_TYPES: Final = frozenset({TensorType.F16, TensorType.BF16})
"""Types whose numbers half precision keeps if they are not too large."""

_TINY: Final = torch.finfo(torch.float32).tiny
_MULTIPLY_HALVES: Final = frozenset({"aarch64", "arm64"})
"""Processors with products of halves; elsewhere torch emulates them. What is fast in a trial would
be another thing from run to run, and with it the sound of a seed."""


class PackedHalfLinear(nn.Module):
    """y = x W^T + b by fbgemm's kernel, with x in float32; every row of x is its own product."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        kernels = _kernels()
        self._packed = kernels.linear_prepack_fp16(weight, bias)  # float32 [out, in], [out]
        # Without the overload's name, finding it takes as long as a small product.
        self._product = kernels.linear_dynamic_fp16.default

    def forward(self, x: Tensor) -> Tensor:  # [..., in] -> [..., out]
        made: Tensor = self._product(x, self._packed)
        return made


class PlainHalfLinear(nn.Module):
    """y = x W^T + b by torch's ordinary product, which wants x in half precision too.

    Rows of x are divided by their largest number, so that none overflows, nor any sum if those of
    the weights' sizes do not: 11 bits of a number stay down to 1 / 16000 of that. Several positions
    are computed in float32: that kernel is fast for one only.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.half(), requires_grad=False)  # [out, in]
        self.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)  # [out]

    def forward(self, x: Tensor) -> Tensor:  # [B, T, in] -> [B, T, out]
        if x.shape[1] > 1:
            weight = self.weight.float()
            return torch.stack([F.linear(lane, weight, self.bias) for lane in x])
        largest = x.abs().amax(dim=-1, keepdim=True).clamp_(min=_TINY)
        scaled = (x / largest).half()
        made = torch.stack([F.linear(lane, self.weight) for lane in scaled]).float() * largest
        return made if self.bias is None else made + self.bias


@dataclass(frozen=True)
class HalfWeights:
    """Keeps matrices in half precision: all of them, or those only that lose nothing by it."""

    lossless: bool = False
    packed: bool = True

    @property
    def name(self) -> str:
        return "half-precision weights" + ("" if self.packed else ", plainly")

    def linear(
        self, parts: tuple[StoredTensor, ...], bias: Tensor | None
    ) -> tuple[nn.Module | None, str]:
        """The product with matrices stacked along their outputs, or None and the reason.

        Activations, results and `bias` are in float32. Raises what reading raises.
        """
        for part in parts:
            if self.lossless and part.type not in EXACT_TYPES:
                return None, f"{part.name} is {part.type.name}"
        cpu = torch.device("cpu")
        values = [part.to_torch(torch.float32, cpu) for part in parts]
        weight = values[0] if len(values) == 1 else torch.cat(values)
        low, high = torch.aminmax(weight)
        # What is no number is in no range, and must not get by: the kernel would make it finite.
        if not (float(low) >= -LARGEST and float(high) <= LARGEST):
            return None, f"{parts[0].name} holds numbers beyond half precision"
        if not self.packed and not float(weight.abs().sum(dim=1).amax()) <= LARGEST:
            return None, f"{parts[0].name} has sums beyond half precision"
        return (PackedHalfLinear if self.packed else PlainHalfLinear)(weight, bias), ""


@dataclass(frozen=True)
class FoundHalves:
    """The way to use, or None and the reason."""

    weights: HalfWeights | None
    reason: str  # one or two sentences, also for what was found


def find_halves() -> FoundHalves:
    """How torch computes here with the matrices of quantised files."""
    fault = packed_fault()
    if not fault:
        return _found(HalfWeights())
    wrong = f"Its packed product cannot be used: {fault}."
    plain = plain_fault()
    if not plain:
        found = _found(HalfWeights(packed=False))
        return FoundHalves(found.weights, f"{found.reason} {wrong}")
    return FoundHalves(None, f"Torch computes in float32. {wrong} Nor can the plain one: {plain}.")


def find_lossless() -> HalfWeights | None:
    """How torch computes here with the matrices of F16 and BF16 files: as in float32, or not."""
    return None if packed_fault() else HalfWeights(lossless=True)


@functools.cache
def packed_fault() -> str:
    """Why the packed product cannot be used with this torch and processor, or nothing."""
    return _fault(PackedHalfLinear, 1e-5)


@functools.cache
def plain_fault() -> str:
    """Why the ordinary product cannot be used, or is no use, or nothing."""
    if platform.machine().lower() not in _MULTIPLY_HALVES:
        return "this processor does not multiply halves"
    return _fault(PlainHalfLinear, 2e-3)


def _fault(layer: type[PackedHalfLinear | PlainHalfLinear], tolerance: float) -> str:
    """Why a known product does not come out, or nothing."""
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(48, 96, generator=generator).half().float()
    x = torch.randn(3, 1, 96, generator=generator)
    x[1, 0, 5] = 1000.0  # as wide apart as activations are
    x[2] *= 1e6  # beyond half precision
    bias = torch.arange(48.0)
    try:
        made = layer(weight, bias)(x)
    except (AttributeError, RuntimeError) as error:
        return str(error).partition("\n")[0].rstrip(".")
    right = x.double() @ weight.double().T + bias
    wrong = (made - right).abs().amax(dim=-1) > tolerance * right.abs().amax(dim=-1)
    return "a known product came out wrong" if bool(wrong.any()) else ""


def _found(weights: HalfWeights) -> FoundHalves:
    return FoundHalves(weights, f"Torch computes with {weights.name}.")


def _kernels() -> Any:
    """Where torch has them: by name, as a later release may not."""
    return torch.ops.quantized
