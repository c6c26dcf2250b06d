"""The resampler against torchaudio itself, and near soxr, which the official code uses."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from engine.audio import read_audio, resample
from engine.types import Samples

# Both sum some 30 float32 products below 1, in different orders.
TOLERANCE = 1e-6


@pytest.fixture(scope="module")
def clip(data: Path) -> Samples:
    return read_audio(data / "clip_a.wav").samples


@pytest.mark.parametrize(
    ("rate_in", "rate_out", "count"),
    [
        (22_050, 24_000, 3001),
        (44_100, 24_000, 3000),
        (16_000, 24_000, 1777),
        (8_000, 24_000, 500),
        (24_000, 48_000, 100),
    ],
)
def test_same_as_torchaudio(
    data: Path, clip: Samples, rate_in: int, rate_out: int, count: int
) -> None:
    ours = resample(clip[30_000 : 30_000 + count], rate_in, rate_out)
    with np.load(data / "speaker.npz") as golden:
        wanted = golden[f"resample.{rate_in}_{rate_out}"]
    assert ours.shape == wanted.shape
    np.testing.assert_allclose(ours, wanted, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("rate", "least_db"), [(48_000, 44), (44_100, 44), (22_050, 52), (16_000, 58)]
)
def test_speech_is_close_to_soxr(data: Path, rate: int, least_db: float) -> None:
    """2000 samples of clip_b from second 2 on, made by soxr 1.1.0, quality HQ.

    A stretch with sibilants: what differs is the band near the Nyquist frequency.
    """
    ours = resample(read_audio(data / "clip_b.wav").samples, 24_000, rate)
    with np.load(data / "soxr.npz") as golden:
        wanted = golden[f"24000_{rate}"].astype(float)
    error = ours[2 * rate : 2 * rate + len(wanted)] - wanted
    assert -10 * math.log10(np.mean(error**2) / np.mean(wanted**2)) > least_db
