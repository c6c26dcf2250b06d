"""GGUF files become official folders: converting those back gives the same files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from engine.gguf.convert.folder import convert_folder, read_folder
from engine.gguf.convert.names import official_name
from engine.gguf.layout import Variant
from engine.gguf.quantize import quantize_file
from engine.gguf.reader import GgufFile
from engine.gguf.weights import Weights
from engine.gguf.writer import copied_metadata
from tests.official_folder import CODEC, TALKERS, read_tensor
from tools.official_folder import main


def convert_back(folder: Path, target: Path) -> Path:
    assert convert_folder(read_folder(folder), target, Variant.F32) == ()
    return target


def assert_same_file(mine: Path, original: Path) -> None:
    assert dict(copied_metadata(mine)) == dict(copied_metadata(original))
    with GgufFile.open(mine) as ours, GgufFile.open(original) as theirs:
        assert set(ours.tensors) == set(theirs.tensors)
        for name, info in theirs.tensors.items():
            assert ours.tensors[name].shape == info.shape
            assert torch.equal(read_tensor(ours, name), read_tensor(theirs, name)), name


@pytest.mark.parametrize("family", list(TALKERS))
def test_there_and_back(family: str, tmp_path: Path, data: Path) -> None:
    files = ["--model", str(data / TALKERS[family]), "--codec", str(data / CODEC)]
    folder = tmp_path / "folder"
    assert main([str(folder), *files]) == 0
    assert_same_file(convert_back(folder, tmp_path / "talker.gguf"), data / TALKERS[family])
    codec = convert_back(folder / "speech_tokenizer", tmp_path / "codec.gguf")
    assert_same_file(codec, data / CODEC)


def test_quantised_weights_become_what_they_stand_for(tmp_path: Path, data: Path) -> None:
    talker = tmp_path / "talker.gguf"
    quantize_file(data / TALKERS["base"], talker, Variant.Q8_0)
    assert (
        main([str(tmp_path / "folder"), "--model", str(talker), "--codec", str(data / CODEC)]) == 0
    )
    written = load_file(tmp_path / "folder" / "model.safetensors")
    with GgufFile.open(talker) as file:
        weights = Weights(file)
        for name, info in file.tensors.items():
            stored = weights.take(name, info.shape).to_torch(torch.float32, torch.device("cpu"))
            assert torch.equal(written[str(official_name(name))], stored), name


def test_what_the_package_asks_for_beyond_the_weights_is_there(tmp_path: Path, data: Path) -> None:
    files = ["--model", str(data / TALKERS["base"]), "--codec", str(data / CODEC)]
    main([str(tmp_path), *files])
    tensors = load_file(tmp_path / "speech_tokenizer" / "model.safetensors")
    stem = "encoder.quantizer.acoustic_residual_vector_quantizer.layers"
    assert {name for name in tensors if name.startswith(f"{stem}.18.")} == {
        f"{stem}.18.codebook.{part}" for part in ("embed_sum", "cluster_usage", "initialized")
    }
    assert tensors["decoder.quantizer.rvq_first.input_proj.weight"].shape == (16, 32, 1)
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    assert config["talker_config"]["rope_scaling"]["mrope_section"] == [4, 2, 2]
    assert config["speaker_encoder_config"]["enc_res2net_scale"] == 8
    added = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))
    assert added["added_tokens_decoder"]["823"]["content"] == "<|im_end|>"


def test_a_file_that_is_no_talker_is_told(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--model", str(data / CODEC), "--codec", str(data / CODEC)]
    assert main([str(tmp_path / "folder"), *files]) == 1
    assert "has no" in capsys.readouterr().err
    assert not (tmp_path / "folder" / "config.json").exists()
