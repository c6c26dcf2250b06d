"""The one seam for device and precision: what a stored weight becomes when the model runs.

Model code asks a `Runtime` for layers and never looks at devices or storage types itself.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor, nn

from engine.errors import DeviceError
from engine.gguf.blocks import BLOCKS
from engine.gguf.header import TensorType
from engine.gguf.weights import StoredTensor, Weights
from engine.native.context import NativeContext
from engine.native.frames import NativeFrames, StoredTable, unfit_frames
from engine.native.library import find_library
from engine.native.packed import KEPT_TYPES, READ_TYPES, PackedLinear, pack, unfit
from engine.native.stack import NativeStack, unfit_stack
from engine.native.waves import NativeWaves, unfit_waves
from engine.nn.graphs import CudaGraphs, Graphs, survives_failed_recordings
from engine.nn.halves import HalfWeights, find_halves, find_lossless
from engine.nn.linear import DenseEmbedding, DenseLinear, StoredEmbedding
from engine.nn.norm import LayerNorm, RmsNorm
from engine.nn.pipeline import StreamingLayer
from engine.nn.runners import EagerStack, FrameParts, FrameRunner, StackParts, StackRunner
from engine.nn.waves import EagerWaves, WaveLayer

PRECISIONS: Mapping[str, torch.dtype] = MappingProxyType(
    {"f32": torch.float32, "bf16": torch.bfloat16, "int8": torch.float32}
)
"""The type of the activations between layers, by the name that users give."""

HALF_TYPES = frozenset({TensorType.F16, TensorType.BF16})
FLOAT_TYPES = HALF_TYPES | {TensorType.F32}

MOST_THREADS = 8  # of a pass: more wait for memory and for one another

_log = logging.getLogger(__name__)

_AMPERE = 8  # the compute capability from which on CUDA devices have bfloat16
_NO_MEMORY = ("DefaultCPUAllocator", "MPS backend out of memory")


@dataclass(frozen=True)
class Runtime:
    """Where the model runs, and in which type its activations are between layers.

    With a native context, matrices are packed in 8 or 4 bits, and what fits runs natively. With
    halves, torch computes with matrices in half precision.
    """

    device: torch.device
    dtype: torch.dtype
    native: NativeContext | None = None
    rounds: bool = True  # packs matrices of other types than Q8_0 and Q4_K too, which rounds them
    graphs: Graphs | None = None  # what frames are recorded with, where that is worth it
    halves: HalfWeights | None = None

    @property
    def precision(self) -> str:
        """As users name it: f32, bf16 or int8."""
        if self.native is not None or (self.halves is not None and not self.halves.lossless):
            return "int8"
        return next(name for name, dtype in PRECISIONS.items() if dtype == self.dtype)

    def linear(
        self, parts: tuple[StoredTensor, ...], bias: StoredTensor | None = None
    ) -> nn.Module:
        """A product with one or several matrices [out_i, in] stacked along their outputs."""
        if self.native is not None:
            reasons = [reason for part in parts if (reason := self._left(part))]
            if not reasons:
                packed = tuple(pack(part, self.native) for part in parts)
                added = None if bias is None else self.tensor(bias)
                return PackedLinear(packed, added, self.native)
            _log.info("Not packed: %s.", reasons[0])
        if self.halves is not None:
            layer, reason = self.halves.linear(parts, None if bias is None else self.tensor(bias))
            if layer is not None:
                return layer
            _log.info("Not in half precision: %s.", reason)
        weight = parts[0].to_torch(self.dtype, self.device)
        if len(parts) > 1:
            others = [part.to_torch(self.dtype, self.device) for part in parts[1:]]
            weight = torch.cat((weight, *others))
        return DenseLinear(weight, None if bias is None else self.tensor(bias))

    def _left(self, stored: StoredTensor) -> str:
        """Why a matrix is not packed, or nothing."""
        if not self.rounds and stored.type not in KEPT_TYPES:
            return f"{stored.name} would be rounded"
        return unfit(stored)

    def embedding(self, stored: StoredTensor) -> nn.Module:
        """A table that is read at every frame: kept in the run-time type, or as stored."""
        if self.native is not None and stored.type in READ_TYPES:
            return StoredTable(stored.raw(), stored.type, stored.shape[1])
        if self.halves is not None:
            return self.prompt_embedding(stored)
        return DenseEmbedding(stored.to_torch(self.dtype, self.device))

    def prompt_embedding(self, stored: StoredTensor) -> nn.Module:
        """A large table of which a few rows are read per request: kept as stored."""
        raw = stored.raw().to(self.device)
        return StoredEmbedding(raw, BLOCKS[stored.type].dequantize, self.dtype)

    def stack_runner(self, name: str, parts: StackParts) -> StackRunner:
        """What runs a stack of blocks; `name` is for the log."""
        if self.native is None:
            return EagerStack(parts)
        reason = unfit_stack(parts)
        if reason:
            _log.warning("The stack %s runs one layer after the other: %s.", name, reason)
            return EagerStack(parts)
        return NativeStack(parts, self.native)

    def frame_runner(self, parts: FrameParts) -> FrameRunner | None:
        """What runs a whole frame of a code predictor; None: one codebook after the other."""
        if self.native is None:
            return None
        reason = unfit_frames(parts)
        if reason:
            _log.warning("The code predictor runs one codebook after the other: %s.", reason)
            return None
        return NativeFrames(parts)

    def wave_runner(self, layers: Iterable[WaveLayer]) -> StreamingLayer:
        """What runs a chain of convolutions; each is asked for when it is needed, and only once."""
        if self.native is None or unfit_waves(self.native.library):
            return EagerWaves(layers)
        return NativeWaves(layers, self.native)

    def tensor(self, stored: StoredTensor) -> Tensor:
        return stored.to_torch(self.dtype, self.device)

    def rms_norm(self, stored: StoredTensor, eps: float) -> RmsNorm:
        return RmsNorm(self.tensor(stored), eps)

    def layer_norm(self, weights: Weights, name: str, width: int, eps: float) -> LayerNorm:
        weight = weights.take(f"{name}.weight", (width,))
        bias = weights.take(f"{name}.bias", (width,))
        return LayerNorm(self.tensor(weight), self.tensor(bias), eps)

    def full_precision(self) -> Runtime:
        """The same device in float32: for encoders, whose codes would change with less."""
        return Runtime(self.device, torch.float32)

    def without_rounding(self) -> Runtime:
        """The same device in float32, where only what loses nothing is packed: for the decoder.

        Its convolutions may run in 16-bit integers, which nobody hears.
        """
        return Runtime(self.device, torch.float32, self.native, rounds=False)


def choose_runtime(
    device: str = "auto", precision: str = "auto", stored: Collection[TensorType] = ()
) -> Runtime:
    """The runtime for names as the user gives them.

    Devices are auto, cpu, cuda[:n] and mps; precisions auto, f32, bf16 and int8. `stored` are the
    types of a file's tensors: a quantised one runs in int8 on a CPU unless told otherwise, natively
    or by torch. Where int8 cannot be had, the log says why and it is f32. Raises DeviceError if
    torch cannot use that device or precision here.
    """
    chosen = torch.device(_best_device()) if device == "auto" else _named_device(device)
    if precision not in ("auto", *PRECISIONS):
        names = ["auto", *PRECISIONS]
        choices = f"{', '.join(names[:-1])} or {names[-1]}"
        raise DeviceError(f"There is no precision {precision!r}.", f"Choose {choices}.")
    if precision == "int8" and chosen.type != "cpu":
        raise DeviceError(
            f"The precision int8 runs on a CPU only, not on {chosen}.",
            "Choose the device cpu, or the precision bf16.",
        )
    if chosen.type == "cpu":
        threads = usable_threads()
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        if precision == "int8" or (precision == "auto" and set(stored) - FLOAT_TYPES):
            found = find_library()
            if found.library is not None:
                _log.info("%s", found.reason)
                return Runtime(chosen, torch.float32, NativeContext(found.library, threads))
            by_torch = find_halves()
            _log.warning("%s %s", found.reason, by_torch.reason)
            if by_torch.weights is not None:
                return Runtime(chosen, torch.float32, halves=by_torch.weights)
            precision = "f32"
        if precision in ("auto", "f32") and set(stored) & HALF_TYPES:
            return Runtime(chosen, torch.float32, halves=find_lossless())
    if precision == "auto":
        precision = "bf16" if _computes_bf16(chosen) else "f32"
    if chosen.type == "cuda":
        # Convolutions would round to 10 bits otherwise, and the codes of a recording with them.
        torch.backends.cudnn.allow_tf32 = False
        graphs = CudaGraphs(chosen) if survives_failed_recordings() else None
        return Runtime(chosen, PRECISIONS[precision], graphs=graphs)
    return Runtime(chosen, PRECISIONS[precision])


def usable_threads() -> int:
    """How many threads to compute with: the cores this process may use, at most MOST_THREADS.

    OMP_NUM_THREADS takes precedence, as it does for torch.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(_cores())
    return max(1, min(len(cores), MOST_THREADS))


def _cores() -> int:
    return os.cpu_count() or 1


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
