"""Reads golden cases of the official implementation and loads the checkpoints behind them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.qwen3tts.engine import ModelParts
from engine.qwen3tts.loading import load_model
from engine.runtime import Runtime

CODEC = "qwen-tokenizer-12hz-F32.gguf"


@dataclass(frozen=True, eq=False)
class Golden:
    """One case: what was asked, and the arrays that the official implementation made of it."""

    name: str
    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    def assert_close(self, key: str, mine: torch.Tensor, tolerance: float) -> None:
        """Compare with golden array `key`, telling where the largest difference is."""
        golden, ours = self.arrays[key], mine.numpy()
        assert ours.shape == golden.shape, f"{self.name} {key}: {ours.shape} != {golden.shape}"
        difference = np.abs(ours.astype(np.float64) - golden)
        worst = np.unravel_index(difference.argmax(), difference.shape)
        assert difference.max() <= tolerance, (
            f"{self.name} {key}: {difference.max():.2e} > {tolerance:g} at {worst}: "
            f"golden {golden[worst]}, ours {ours[worst]}"
        )

    def assert_codes(self, key: str, mine: NDArray[np.int64]) -> None:
        """Compare codes [T, codebooks] exactly, telling the first mismatch and its margin."""
        golden = self.arrays[key]
        assert mine.shape == golden.shape, f"{self.name} {key}: {mine.shape} != {golden.shape}"
        wrong = np.argwhere(mine != golden)
        if len(wrong):
            frame, book = wrong[0]
            margin = self.arrays[key.replace("codes", "margins", 1)][frame, book]
            pytest.fail(
                f"{self.name} {key}: first mismatch at frame {frame}, codebook {book}: golden "
                f"{golden[frame, book]}, ours {mine[frame, book]} (margin {margin:.2e})"
            )


@pytest.fixture(scope="session")
def golden(data: Path) -> Callable[[str], Golden]:
    @cache
    def read(name: str) -> Golden:
        facts = json.loads((data / f"{name}.json").read_text("utf-8"))
        with np.load(data / f"{name}.npz") as arrays:
            return Golden(name, facts, dict(arrays))

    return read


@pytest.fixture(scope="session")
def model(data: Path) -> Callable[[str], ModelParts]:
    @cache
    def load(talker: str) -> ModelParts:
        runtime = Runtime(torch.device("cpu"), torch.float32)
        return load_model(data / talker, data / CODEC, runtime)

    return load
