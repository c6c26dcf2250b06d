"""The command qwen-codec: files there and back, and nothing overwritten silently."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from engine.cli.qwen_codec import main
from engine.voices import read_codes, read_embedding

CODEC = "qwen-tokenizer-12hz-F32.gguf"
BASE = "qwen-talker-1.7b-base-F32.gguf"


@pytest.fixture
def clip(data: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(data / "clip_a.wav", tmp_path / "clip.wav"))


def test_a_recording_becomes_codes_and_a_voice(data: Path, clip: Path) -> None:
    model, talker = str(data / CODEC), str(data / BASE)
    assert main(["--model", model, "-i", str(clip), "--talker", talker, "--quiet"]) == 0
    frames = soundfile.info(clip).frames // 1920
    codes = read_codes(clip.with_suffix(".rvq"))
    assert codes.shape == (frames, 16)
    assert clip.with_suffix(".rvq").stat().st_size == 22 * frames
    assert read_embedding(clip.with_suffix(".spk"), 80).shape == (80,)


def test_codes_become_sound_without_touching_the_recording(
    data: Path, clip: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, codes = str(data / CODEC), clip.with_suffix(".rvq")
    assert main(["--model", model, "-i", str(clip), "--quiet"]) == 0
    before = clip.read_bytes()
    assert main(["--model", model, "-i", str(codes)]) == 1
    assert "exists already" in capsys.readouterr().err
    assert clip.read_bytes() == before

    decoded = clip.with_name("decoded.wav")
    arguments = ["--model", model, "-i", str(codes), "-o", str(decoded), "--format", "wav32"]
    assert main(arguments) == 0
    sound, rate = soundfile.read(decoded)
    assert (rate, len(sound)) == (24_000, 1920 * len(read_codes(codes)))
    assert np.abs(sound).max() > 0
    assert main(arguments) == 1
    assert main([*arguments, "--force"]) == 0


def test_the_self_test_runs_both_halves(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", str(data / CODEC)]) == 0
    assert "works: 1 s became 12 frames" in capsys.readouterr().err


def test_a_talker_without_a_speaker_encoder_is_explained(
    data: Path, clip: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talker = str(data / "qwen-talker-0.6b-customvoice-F32.gguf")
    assert main(["--model", str(data / CODEC), "-i", str(clip), "--talker", talker]) == 1
    assert "error:" in capsys.readouterr().err
    assert not clip.with_suffix(".rvq").exists()


def test_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert main(["--help"]) == 0
