"""The one seam for device and precision: what a stored weight becomes when the model runs.

Model code asks a `Runtime` for layers and never looks at devices or storage types itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor, nn

from engine.errors import DeviceError
from engine.gguf.blocks import BLOCKS
from engine.gguf.weights import StoredTensor, Weights
from engine.nn.linear import DenseEmbedding, DenseLinear, StoredEmbedding
from engine.nn.norm import LayerNorm, RmsNorm

PRECISIONS: Mapping[str, torch.dtype] = MappingProxyType(
    {"f32": torch.float32, "bf16": torch.bfloat16}
)


_AMPERE = 8  # the compute capability from which on CUDA devices have bfloat16
_NO_MEMORY = ("DefaultCPUAllocator", "MPS backend out of memory")


@dataclass(frozen=True)
class Runtime:
    """Where the model runs and in which type its activations are."""

    device: torch.device
    dtype: torch.dtype

    @property
    def precision(self) -> str:
        """The type of the activations as users name it: f32 or bf16."""
        return next(name for name, dtype in PRECISIONS.items() if dtype == self.dtype)

    def linear(
        self, parts: tuple[StoredTensor, ...], bias: StoredTensor | None = None
    ) -> nn.Module:
        """A product with one or several matrices [out_i, in] stacked along their outputs."""
        weight = parts[0].to_torch(self.dtype, self.device)
        if len(parts) > 1:
            others = [part.to_torch(self.dtype, self.device) for part in parts[1:]]
            weight = torch.cat((weight, *others))
        return DenseLinear(weight, None if bias is None else self.tensor(bias))

    def embedding(self, stored: StoredTensor) -> nn.Module:
        """A table that is read at every frame: kept in the run-time type."""
        return DenseEmbedding(stored.to_torch(self.dtype, self.device))

    def prompt_embedding(self, stored: StoredTensor) -> nn.Module:
        """A large table of which a few rows are read per request: kept as stored."""
        raw = stored.raw().to(self.device)
        return StoredEmbedding(raw, BLOCKS[stored.type].dequantize, self.dtype)

    def tensor(self, stored: StoredTensor) -> Tensor:
        return stored.to_torch(self.dtype, self.device)

    def rms_norm(self, stored: StoredTensor, eps: float) -> RmsNorm:
        return RmsNorm(self.tensor(stored), eps)

    def layer_norm(self, weights: Weights, name: str, width: int, eps: float) -> LayerNorm:
        weight = weights.take(f"{name}.weight", (width,))
        bias = weights.take(f"{name}.bias", (width,))
        return LayerNorm(self.tensor(weight), self.tensor(bias), eps)

    def full_precision(self) -> Runtime:
        """The same device in float32: for the codec, whose waveform suffers from less."""
        return Runtime(self.device, torch.float32)


def choose_runtime(device: str = "auto", precision: str = "auto") -> Runtime:
    """The runtime for names as the user gives them: auto, cpu, cuda[:n], mps; auto, f32, bf16.

    Raises DeviceError if torch cannot use that device or precision here.
    """
    chosen = torch.device(_best_device()) if device == "auto" else _named_device(device)
    if precision == "auto":
        precision = "bf16" if _computes_bf16(chosen) else "f32"
    if precision not in PRECISIONS:
        raise DeviceError(
            f"There is no precision {precision!r}.", f"Choose auto, {' or '.join(PRECISIONS)}."
        )
    if chosen.type == "cuda":
        # Convolutions would round to 10 bits otherwise, and the codes of a recording with them.
        torch.backends.cudnn.allow_tf32 = False
    return Runtime(chosen, PRECISIONS[precision])


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise MemoryError, as Python itself does, where torch finds no memory on any device."""
    try:
        yield
    except RuntimeError as error:
        # Only CUDA has a type of its own for it.
        text = str(error)
        if isinstance(error, torch.OutOfMemoryError) or any(sign in text for sign in _NO_MEMORY):
            raise MemoryError(text) from error
        raise


def _computes_bf16(device: torch.device) -> bool:
    """Whether bfloat16 is the fast type: older GPUs only imitate it."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device)[0] >= _AMPERE


def _best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _named_device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except RuntimeError:
        raise DeviceError(
            f"There is no device {name!r}.", "Choose auto, cpu, cuda, cuda:0 or mps."
        ) from None
    usable = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available() and not device.index,
    }
    if not usable.get(device.type, False):
        raise DeviceError(
            f"The device {name!r} cannot be used on this computer.",
            "Choose cpu, or install the driver and the build of torch that the device needs.",
        )
    return device
