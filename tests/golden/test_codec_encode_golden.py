"""Codes and latents of recordings against the official encoder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.gguf.reader import GgufFile
from engine.qwen3tts.codec.encoder import CodecEncoder, build_codec_encoder
from engine.runtime import Runtime
from tests.golden.conftest import CODEC, Golden

TOLERANCE = 1e-4  # latents that two right float32 orders of evaluation keep
NEAR_TIE = 1e-5  # difference of two distances that rounding may reverse
SHORT = (1, 480, 1919, 1920, 1921, 3000, 4617, 9600)
CASES = ("clip_a", "clip_b", "concat_b_a", *(f"len{count}" for count in SHORT))


@pytest.fixture(scope="module")
def encoder(data: Path) -> CodecEncoder:
    with GgufFile.open(data / CODEC) as file:
        return build_codec_encoder(file, Runtime(torch.device("cpu"), torch.float32))


@pytest.fixture(scope="module")
def recordings(data: Path) -> dict[str, Tensor]:
    clip_a, clip_b = (
        torch.from_numpy(soundfile.read(data / name, dtype="float32")[0])
        for name in ("clip_a.wav", "clip_b.wav")
    )
    starts = {f"len{count}": clip_a[24_000 : 24_000 + count] for count in SHORT}
    return {"clip_a": clip_a, "clip_b": clip_b, "concat_b_a": torch.cat((clip_b, clip_a)), **starts}


@pytest.fixture
def case(golden: Callable[[str], Golden]) -> Golden:
    return golden("codec_encode")


def assert_codes(case: Golden, name: str, mine: NDArray[np.int64]) -> None:
    """Equal, but that a near tie may go the other way and take its residuals along."""
    golden = case.arrays[f"{name}.codes"].T
    least = np.full_like(golden.T, case.facts["info"][name]["min_gap"], dtype=np.float32)
    gaps = case.arrays.get(f"{name}.gap", least).T
    assert mine.shape == golden.shape
    for frame in range(len(golden)):
        wrong = np.flatnonzero(mine[frame] != golden[frame])
        # The semantic code is found on its own; only acoustic ones depend on those before.
        for book in (*wrong[wrong == 0], *wrong[wrong > 0][:1]):
            gap = gaps[frame, book]
            assert gap < NEAR_TIE, (
                f"{name}: frame {frame}, codebook {book}: golden {golden[frame, book]}, "
                f"ours {mine[frame, book]} (gap {gap:.2e})"
            )


@pytest.mark.parametrize("name", CASES)
def test_codes(
    encoder: CodecEncoder, recordings: dict[str, Tensor], case: Golden, name: str
) -> None:
    assert_codes(case, name, encoder.encode(recordings[name]).numpy())


@pytest.mark.parametrize("name", CASES)
def test_stages(
    encoder: CodecEncoder, recordings: dict[str, Tensor], case: Golden, name: str
) -> None:
    """The stages as they are told, and the codes of a recording that was encoded in one piece."""
    told: dict[str, Tensor] = {}
    codes = encoder.encode(recordings[name], probe=told.__setitem__)
    assert_codes(case, name, codes.numpy())
    mine = {
        "latents": told["codec-pre-fsq"].T,
        "latents_tail": told["codec-pre-fsq"].T[:, -30:],
        "seanet_out": told["seanet-out"].T,
        "transformer_out": told["enc-transformer-out"],
        "transformer_tail": told["enc-transformer-out"][-8:],
    }
    compared = [stage for stage in mine if f"{name}.{stage}" in case.arrays]
    assert compared
    for stage in compared:
        case.assert_close(f"{name}.{stage}", mine[stage], TOLERANCE)
