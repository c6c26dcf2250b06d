"""Adds up where the time of speaking goes, for benchmarks."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

from torch import nn


class StageClock:
    """Measures methods of modules from `watch` on; on devices that run on their own it does not.

    `seconds` and `calls` are by the name of the stage.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)

    def watch(self, stage: str, module: nn.Module, method: str = "forward") -> None:
        """Count every call of a method of this module."""
        plain = getattr(module, method)

        def timed(*arguments: Any, **options: Any) -> Any:
            begin = time.perf_counter()
            try:
                return plain(*arguments, **options)
            finally:
                self.seconds[stage] += time.perf_counter() - begin
                self.calls[stage] += 1

        setattr(module, method, timed)

    def reset(self) -> None:
        """Begin anew."""
        self.seconds.clear()
        self.calls.clear()
