"""Adds up where the time of speaking goes, for benchmarks."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeAlias

import torch

Stage: TypeAlias = str | Callable[..., str]
"""The name of a stage, or what tells it from the arguments of a call."""


class StageClock:
    """Measures methods of objects from `watch` on; `seconds` are by the name of the stage.

    A call within a measured one counts with that. On a device that works beside the processor, a
    call ends when the device has done it.
    """

    def __init__(self, device: torch.device) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._device = device
        self._is_running = False

    def watch(self, stage: Stage, owner: object, method: str = "forward") -> None:
        """Count every call of a method of this object."""
        plain = getattr(owner, method)

        def timed(*arguments: Any, **options: Any) -> Any:
            if self._is_running:
                return plain(*arguments, **options)
            name = stage if isinstance(stage, str) else stage(*arguments, **options)
            begin = self._now()
            self._is_running = True
            try:
                return plain(*arguments, **options)
            finally:
                self._is_running = False
                self.seconds[name] += self._now() - begin

        setattr(owner, method, timed)

    def reset(self) -> None:
        """Begin anew."""
        self.seconds.clear()

    def _now(self) -> float:
        if self._device.type != "cpu":
            torch.accelerator.synchronize(self._device)
        return time.perf_counter()
