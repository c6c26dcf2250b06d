"""The loop that all stages share: processor time, learning rates, and going on from a file."""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

NICENESS = 5
THREADS = 2
LAST_RATE = 0.04  # share of the learning rate that is left in the end
CLIPPED_AT = 1.0  # norm of the gradient


def read_arguments(description: str, seed: int) -> argparse.ArgumentParser:
    """A parser for the work folder and the time; also settles threads, priority and seed."""
    os.nice(NICENESS)
    torch.set_num_threads(THREADS)
    torch.manual_seed(seed)
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--minutes", type=float, default=60, help="of processor time, in all")
    return parser


def cosine(progress: float) -> float:
    """From 1 down to LAST_RATE along a cosine."""
    return LAST_RATE + (1 - LAST_RATE) / 2 * (1 + math.cos(math.pi * progress))


def linear(progress: float) -> float:
    """From 1 down to LAST_RATE along a line."""
    return 1 - (1 - LAST_RATE) * progress


class Run:
    """A stage that trains for so many minutes of processor time, over any number of starts.

    The optimizer's groups have the highest rates; `fall` tells what is left of them from 0 to 1.
    `kept` is what was saved by an earlier start, if there was one.
    """

    def __init__(
        self,
        saved: Path,
        minutes: float,
        optimizer: torch.optim.Optimizer,
        *,
        warm_up: int = 50,
        fall: Callable[[float], float] = cosine,
    ) -> None:
        self.step, self.seconds = 0, 0.0
        self.kept: dict[str, Any] | None = None
        self._saved, self._limit, self._optimizer = saved, minutes * 60, optimizer
        self._warm_up, self._fall = warm_up, fall
        self._tops = [group["lr"] for group in optimizer.param_groups]
        if saved.exists():
            self.kept = torch.load(saved)
            optimizer.load_state_dict(self.kept["optimizer"])
            self.step, self.seconds = self.kept["step"], self.kept["seconds"]
        self._started = time.process_time() - self.seconds

    def __iter__(self) -> Iterator[int]:
        """The steps to take; each begins with its learning rates set."""
        while (seconds := time.process_time() - self._started) < self._limit:
            self.seconds = seconds
            share = min(1, (self.step + 1) / self._warm_up) * self._fall(seconds / self._limit)
            for group, top in zip(self._optimizer.param_groups, self._tops, strict=True):
                group["lr"] = top * share
            yield self.step

    def learn(self, loss: Tensor) -> None:
        """Take one step down the gradient."""
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        groups = self._optimizer.param_groups
        nn.utils.clip_grad_norm_([w for group in groups for w in group["params"]], CLIPPED_AT)
        self._optimizer.step()
        self.step += 1

    def save(self, **state: Any) -> None:
        """Keep `state` and all that is needed to go on; the file appears whole."""
        partial = self._saved.with_suffix(".partial")
        own = {"optimizer": self._optimizer.state_dict(), "step": self.step}
        torch.save(state | own | {"seconds": self.seconds}, partial)
        os.replace(partial, self._saved)
