"""`verify` finds the tiny checkpoints faithful to the goldens, and damaged ones not, by stage."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from engine.cli.verify import main
from engine.errors import RequestError
from engine.families import ModelPair
from engine.gguf.reader import GgufFile, TensorInfo
from engine.gguf.writer import NewTensor, copied_metadata, write_gguf
from engine.verify.report import as_table
from engine.verify.subject import Subject
from engine.verify.verification import Listeners, Question, SpokenText, Verdict, verify
from tests.terminal import Terminal

CODEC = "qwen-tokenizer-12hz-F32.gguf"
BASE = "qwen-talker-1.7b-base-F32.gguf"
CUSTOM = "qwen-talker-0.6b-customvoice-F32.gguf"
DESIGN = "qwen-talker-1.7b-voicedesign-F32.gguf"
CASES = ("cv_speaker_en", "codec_decode", "base_auto_en")
FRAMES = 6


def check(talker: Path, codec: Path, folder: Path, frames: int = FRAMES) -> Verdict:
    question = Question(
        Subject(ModelPair(talker, codec), "cpu", "f32"),
        golden=folder,
        spoken=SpokenText("Good evening.", frames=frames),
    )
    return verify(question, Listeners(lambda _: None))


def damage(source: Path, target: Path, tensor: str) -> None:
    """Write a copy in which every other value of an F32 tensor has the wrong sign."""

    def pieces(file: GgufFile, info: TensorInfo) -> Iterator[memoryview]:
        raw = np.empty(info.nbytes, np.uint8)
        file.read(info, 0, raw.data)
        if info.name == tensor:
            raw.view("<f4")[::2] *= -1
        yield raw.data

    with GgufFile.open(source) as file:
        assert tensor in file.tensors
        tensors = [
            NewTensor(info.name, info.type, info.shape, partial(pieces, file, info))
            for info in file.tensors.values()
        ]
        write_gguf(target, copied_metadata(source), tensors)


@pytest.fixture
def cases(data: Path, tmp_path: Path) -> Path:
    """A folder of few cases, without the checkpoints they were made with."""
    folder = tmp_path / "golden"
    folder.mkdir()
    for name in CASES:
        for kind in ("json", "npz"):
            shutil.copy(data / f"{name}.{kind}", folder)
    return folder


@pytest.mark.parametrize(("talker", "count"), [(BASE, 17), (CUSTOM, 8), (DESIGN, 6)])
def test_the_reference_checkpoints_pass(data: Path, talker: str, count: int) -> None:
    verdict = check(data / talker, data / CODEC, data)
    assert verdict.passed, as_table(verdict)
    of_codes = [stage for stage in verdict.golden if stage.name == "greedy-codes"]
    assert len(of_codes) == count
    assert sum(stage.name == "sound-same-codes" for stage in verdict.golden) >= 3
    assert all(stage.limits for stage in verdict.golden)
    assert all(note.startswith("Golden case left out: ") for note in verdict.notes)


def test_a_case_with_a_natural_end_is_compared_beyond_it(data: Path, cases: Path) -> None:
    shutil.copy(data / "cv_natural_eos.json", cases)
    shutil.copy(data / "cv_natural_eos.npz", cases)
    verdict = check(data / CUSTOM, data / CODEC, cases, frames=80)
    lengths = {
        name: len(np.load(data / f"{name}.npz")["codes"])
        for name in ("cv_natural_eos", "cv_speaker_en")
    }
    assert lengths["cv_natural_eos"] < 60 == lengths["cv_speaker_en"]
    assert verdict.passed, as_table(verdict)


@pytest.mark.parametrize(
    ("tensor", "stage"),
    [
        ("talker.text_embd.weight", "talker-input-embed"),
        ("talker.blk.0.attn_k.weight", "talker-hidden-prefill-l0"),
        ("talker.blk.1.ffn_down.weight", "talker-hidden-prefill-l1"),
        ("talker.output_norm.weight", "talker-hidden-prefill-final"),
        ("talker.codec_head.weight", "talker-logits-prefill"),
        ("code_pred.blk.0.attn_v.weight", "predictor-logits-step0"),
        ("code_pred.codec_embd.3.weight", "predictor-logits-step0"),
        ("code_pred.codec_embd.14.weight", "next-emb-step0"),
    ],
)
def test_a_damaged_talker_fails_where_the_damage_is(
    data: Path, cases: Path, tmp_path: Path, tensor: str, stage: str
) -> None:
    damage(data / CUSTOM, tmp_path / CUSTOM, tensor)
    verdict = check(tmp_path / CUSTOM, data / CODEC, cases)
    assert not verdict.passed
    assert verdict.first_failure is not None
    assert verdict.first_failure.name == stage, as_table(verdict)
    assert all(one.passed for one in verdict.golden if one.name == "sound-same-codes")
    assert all(one.passed for one in verdict.self_checks), "it still agrees with itself"


def test_a_damaged_codec_fails_in_the_sound_alone(data: Path, cases: Path, tmp_path: Path) -> None:
    damage(data / CODEC, tmp_path / CODEC, "tok_dec.pre_conv.weight")
    verdict = check(data / CUSTOM, tmp_path / CODEC, cases)
    failed = {stage.name for stage in verdict.stages if not stage.passed}
    assert failed == {"sound-same-codes", "stft-same-codes"}


def test_two_pairs_without_goldens_show_the_damage_too(data: Path, tmp_path: Path) -> None:
    damage(data / CUSTOM, tmp_path / CUSTOM, "code_pred.lm_head.7.weight")
    right = ModelPair(data / CUSTOM, data / CODEC)
    question = Question(
        Subject(ModelPair(tmp_path / CUSTOM, data / CODEC), "cpu", "f32"),
        Subject(right, "cpu", "f32"),
        spoken=SpokenText("Good evening.", frames=FRAMES),
    )
    verdict = verify(question, Listeners(lambda _: None))
    passed = {stage.name: stage.passed for stage in verdict.compared}
    assert verdict.first_failure is not None
    assert verdict.first_failure.name == "predictor-logits-step0"
    assert passed["teacher-forced-talker-logits"]
    assert passed["sound-same-codes"]
    assert not passed["teacher-forced-predictor-logits"]
    (codes,) = [one for one in verdict.compared if one.name == "teacher-forced-codes"]
    assert codes.note.startswith("codebook 8: ")


def test_the_command_tells_by_its_status(
    data: Path, cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(data / CUSTOM, tmp_path / CUSTOM, "talker.codec_head.weight")
    terminal = Terminal(monkeypatch)
    for talker, status, conclusion in (
        (data / CUSTOM, 0, "Passed: "),
        (tmp_path / CUSTOM, 1, "Failed: "),
    ):
        given = ["--model", talker, "--codec", data / CODEC, "--golden", cases]
        answer = terminal.run(main, [*given, "--device", "cpu", "--frames", 3])
        assert answer.status == status, answer.told
        last = answer.text.splitlines()[-1]
        assert last.startswith(conclusion)
        assert ("golden cases)" in last) == (status == 0)
        assert "Golden case 1 of 1: cv_speaker_en" in answer.told


def test_a_folder_without_fitting_cases_is_explained(data: Path, cases: Path) -> None:
    (cases / "codec_decode.json").unlink()
    with pytest.raises(RequestError, match=r"voice_design.*Cases there: .*\(base, width 80"):
        check(data / DESIGN, data / CODEC, cases)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("cv_speaker_en.json", b"{", "valid JSON"),
        ("cv_speaker_en.npz", b"PK\x03\x04 cut", "cv_speaker_en.npz"),
        ("cv_speaker_en.json", json.dumps({"kind": "greedy"}).encode(), "no case that fits|lacks"),
    ],
)
def test_damaged_folders_are_explained(
    data: Path, cases: Path, name: str, content: bytes, told: str
) -> None:
    (cases / name).write_bytes(content)
    (cases / "codec_decode.json").unlink()
    with pytest.raises(RequestError, match=told):
        check(data / CUSTOM, data / CODEC, cases)
