"""Log-mel spectra against the official front end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from engine.audio import read_audio
from engine.errors import AudioFileError
from engine.qwen3tts.mel import LogMel, mel_filters

# The reference was made in float32 too; 1e-4 in the logarithm is what the order of sums leaves.
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def log_mel() -> LogMel:
    return LogMel(24_000)


@pytest.mark.parametrize("clip", ["clip_a", "clip_b"])
def test_spectra_are_the_official_ones(data: Path, log_mel: LogMel, clip: str) -> None:
    samples = read_audio(data / f"{clip}.wav").samples
    mel = log_mel(samples)
    assert mel.shape == (len(samples) // 256, 128)
    assert mel.dtype == torch.float32
    with np.load(data / "speaker.npz") as golden:
        rows, wanted = golden[f"{clip}.mel_rows"], golden[f"{clip}.mel"]
    differences = np.abs(mel.numpy()[rows] - wanted)
    worst = np.unravel_index(differences.argmax(), differences.shape)
    assert differences.max() <= TOLERANCE, f"frame {rows[worst[0]]}, band {worst[1]}"


def test_a_stereo_file_at_48_khz_gives_the_same_spectra(
    data: Path, log_mel: LogMel, tmp_path: Path
) -> None:
    """Up to where the resampling filter begins to fall off, some 8 kHz."""
    clip = read_audio(data / "clip_a.wav")
    doubled = clip.at(48_000)
    soundfile.write(
        tmp_path / "stereo.wav", np.stack([doubled * 1.2, doubled * 0.8], 1), 48_000, "FLOAT"
    )
    stereo = read_audio(tmp_path / "stereo.wav")
    mel = log_mel(stereo.at(24_000))
    wanted = log_mel(clip.samples)
    assert mel.shape == wanted.shape
    audible = wanted[:, :100] > -6
    assert (mel - wanted)[:, :100][audible].abs().max() < 0.02


@pytest.mark.parametrize(("count", "frames"), [(1280, 5), (1920, 7), (5000, 19)])
def test_frames_of_short_clips(log_mel: LogMel, count: int, frames: int) -> None:
    assert log_mel(np.zeros(count, np.float32)).shape == (frames, 128)


def test_digital_silence_is_the_floor(log_mel: LogMel) -> None:
    mel = log_mel(np.zeros(2400, np.float32))
    wanted = np.log(
        np.maximum(mel_filters(24_000, 1024, 128, 12_000.0).sum(axis=1) * 1e-9**0.5, 1e-5)
    )
    np.testing.assert_allclose(mel.numpy(), np.tile(wanted, (len(mel), 1)), atol=1e-5)


@pytest.mark.parametrize("count", [0, 384, 1279])
def test_too_short_is_explained(log_mel: LogMel, count: int) -> None:
    with pytest.raises(AudioFileError, match="too short for a voice") as caught:
        log_mel(np.zeros(count, np.float32))
    assert caught.value.hint


def test_filters_have_equal_area() -> None:
    filters = mel_filters(24_000, 1024, 128, 12_000.0).astype(float)
    assert filters.shape == (128, 513)
    assert (filters >= 0).all()
    assert filters.max(axis=1).all(), "no band is empty"
    # Summed over bins of 23.4 Hz, a triangle of area 1 is only roughly 1 while it spans 3 bins.
    np.testing.assert_allclose(filters[100:].sum(axis=1) * 24_000 / 1024, 1, atol=0.02)
