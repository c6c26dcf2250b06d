"""Recording on a CPU under the rules of CUDA graphs, so that what is recorded can be tested."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from engine.nn.graphs import WARM_UPS, CaptureError, Replay

# What makes the processor wait for the device, or has a shape that depends on values.
WAITING = {"_local_scalar_dense", "equal", "is_nonzero", "item", "masked_select", "nonzero"}
WAITING |= {"_unique2", "bincount", "unique_consecutive", "unique_dim"}
# What reads values behind the back of the dispatcher, or brings new ones to the device.
HOST = {"__bool__", "__float__", "__index__", "__int__", "cpu", "item", "numpy", "tolist"}
HOST |= {"as_tensor", "from_numpy", "tensor"}


@dataclass(frozen=True, eq=False)
class _Call:
    """One operation, on the tensors that it met when it was recorded."""

    operation: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    results: list[Tensor]  # in memory of their own

    def repeat(self) -> None:
        made = _tensors(self.operation(*self.arguments, **self.options))
        if self.results:
            for mine, theirs in zip(self.results, made, strict=True):
                mine.copy_(theirs)

    def spoil(self) -> None:
        """Leave in its memory what the next recording might: they all share it."""
        for each in self.results:
            each.fill_(float("nan") if each.is_floating_point() else 1)


class _Rules(TorchFunctionMode):
    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = getattr(function, "__name__", "")
        if name in HOST:
            raise CaptureError(f"{name} is not allowed in a recording")
        return function(*args, **(kwargs or {}))


class Tape(TorchDispatchMode):
    """What happens to tensors, operation by operation; what Python does in between is forgotten."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[_Call] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        options = kwargs or {}
        name = func._schema.name.partition("::")[2]
        given = _tensors((args, options))
        if name in WAITING or (name.startswith("index") and _has_masks(args)):
            raise CaptureError(f"{name} is not allowed in a recording")
        made = func(*args, **options)
        memory = {tensor.untyped_storage().data_ptr() for tensor in given}
        results = [
            each for each in _tensors(made) if each.untyped_storage().data_ptr() not in memory
        ]
        if func._schema.is_mutable:
            self.calls.append(_Call(func, args, options, []))
        elif results:  # otherwise it is a view
            assert len(results) == len(_tensors(made)), name
            self.calls.append(_Call(func, args, options, results))
        return made

    def replay(self) -> None:
        for call in self.calls:
            call.repeat()
        for call in self.calls:
            call.spoil()


@dataclass(eq=False)
class TapeGraphs:
    """Records tapes. A tape repeats operations in the same memory, with the same plain numbers."""

    tapes: list[Tape] = field(default_factory=list)
    replays: int = 0
    fails_after: int | None = None  # recordings that still work

    def record(self, body: Callable[[], None]) -> Replay:
        for _ in range(WARM_UPS):
            body()
        if self.fails_after is not None and len(self.tapes) >= self.fails_after:
            raise CaptureError("CUDA error: operation not permitted when stream is capturing")
        tape = Tape()
        with tape, _Rules():
            body()
        self.tapes.append(tape)

        def replay() -> None:
            self.replays += 1
            tape.replay()

        return replay


def _tensors(values: Any) -> list[Tensor]:
    return [value for value in tree_flatten(values)[0] if isinstance(value, Tensor)]


def _has_masks(arguments: Iterable[Any]) -> bool:
    chosen = [each for each in arguments if isinstance(each, list | tuple)]
    return any(each.dtype in (torch.bool, torch.uint8) for each in _tensors(chosen))
