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


def test_the_half_of_a_voice_that_is_missing_is_added(
    data: Path, clip: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes, voice = clip.with_suffix(".rvq"), clip.with_suffix(".spk")
    alone = ["--model", str(data / CODEC), "-i", str(clip)]
    both = [*alone, "--talker", str(data / BASE)]
    assert main(alone) == 0
    before = codes.stat().st_mtime_ns
    capsys.readouterr()
    assert main(both) == 0
    told = capsys.readouterr().err
    assert told.startswith(f"{codes} exists already and is kept. Add --force to replace it.\n")
    assert f"{voice}: 80 values" in told
    assert codes.stat().st_mtime_ns == before
    codes.unlink()
    assert main(both) == 0
    assert f"{voice} exists already and is kept." in capsys.readouterr().err
    assert codes.is_file()
    assert main(both) == 1
    assert f"{codes} exists already." in capsys.readouterr().err
    assert main(["--model", str(data / CODEC), "-i", str(codes)]) == 1
    assert "for example -o back.wav, or add --force" in capsys.readouterr().err


def test_a_name_without_a_suffix_gets_it(data: Path, clip: Path) -> None:
    target = clip.with_name("plain")
    assert main(["--model", str(data / CODEC), "-i", str(clip), "-o", str(target)]) == 0
    codes = target.with_suffix(".rvq")
    assert main(["--model", str(data / CODEC), "-i", str(codes), "-o", str(target)]) == 0
    assert sorted(path.name for path in clip.parent.glob("plain*")) == ["plain.rvq", "plain.wav"]


def test_the_self_test_runs_both_halves(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", str(data / CODEC)]) == 0
    assert "works: 1 s became 12 frames" in capsys.readouterr().err


def test_a_talker_without_a_speaker_encoder_is_explained(
    data: Path, clip: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talker = str(data / "qwen-talker-0.6b-customvoice-F32.gguf")
    assert main(["--model", str(data / CODEC), "-i", str(clip), "--talker", talker]) == 1
    assert "cannot learn a voice" in capsys.readouterr().err
    assert not clip.with_suffix(".rvq").exists()


def test_no_input_is_overwritten(
    data: Path, clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Path(shutil.copy(data / CODEC, tmp_path / "model.gguf"))
    talker = Path(shutil.copy(data / BASE, tmp_path / "talker.gguf"))
    for path in (clip, model, talker):
        before = path.read_bytes()
        link = path.with_suffix(".rvq")
        link.symlink_to(path)
        arguments = ["--model", model, "--talker", talker, "-i", clip, "-o", link, "--force"]
        assert main([str(argument) for argument in arguments]) == 1
        assert f"{link.name} is read by this command" in capsys.readouterr().err
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-i", "."), ". is a folder"),
        (("-i", "/"), "/ is a folder"),
        (("-i", "clip.wav", "-o", "."), ". is a folder"),
        (("-i", "clip.wav", "-o", "-"), "qwen-codec writes files only"),
        (("-i", "clip.wav", "-o", "x" * 300), "File name too long"),
        (
            ("-i", "clip.wav", "-o", "a.spk", "--talker", BASE),
            "-o names the .rvq file; the .spk is written beside it. Use -o a.rvq.",
        ),
        (("-i", "clip.wav", "-o", "b.wav"), "-o names the .rvq file. Use -o b.rvq."),
        (("-i", "a.rvq", "-o", "b.rvq"), "-o names the .wav file. Use -o b.wav."),
        (("-i", "a.spk"), "a.spk is a speaker embedding, which holds no sound"),
        (("-i", "clip.wav", "--talker", CODEC), "is an audio tokenizer, no talker"),
        (("-i", "absent.rvq"), "absent.rvq cannot be read"),
    ],
)
def test_names_that_lead_nowhere(
    data: Path,
    clip: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    told: str,
) -> None:
    monkeypatch.chdir(clip.parent)
    files = [str(data / word) if word in (BASE, CODEC) else word for word in arguments]
    assert main(["--model", str(data / CODEC), *files]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert told in error
    assert list(clip.parent.iterdir()) == [clip]


def test_a_disk_that_fills_up_is_explained(
    data: Path, clip: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = clip.with_suffix(".rvq")
    assert main(["--model", str(data / CODEC), "-i", str(clip)]) == 0

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    for source, target in ((clip, "new.rvq"), (codes, "new.wav")):
        path = clip.with_name(target)
        arguments = ["--model", data / CODEC, "-i", source, "-o", path]
        assert main([str(argument) for argument in arguments]) == 1
        assert f"{target} cannot be written: No space left" in capsys.readouterr().err
    assert sorted(clip.parent.iterdir()) == [codes, clip]


def test_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert main(["--help"]) == 0
