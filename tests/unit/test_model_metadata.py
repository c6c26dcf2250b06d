"""Metadata that would crash, hang or fill the memory is refused by name before weights are read."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from engine import ModelFileError, codec_name
from engine.gguf.header import TensorType
from engine.gguf.reader import GgufFile, Value
from engine.gguf.writer import NewTensor, copied_metadata, pack_metadata, write_gguf
from engine.qwen3tts.codec.config import read_decoder_config
from engine.qwen3tts.config import read_talker_config
from engine.qwen3tts.loading import load_model
from engine.qwen3tts.speaker import build_speaker_encoder
from engine.runtime import Runtime

TALKER = "qwen-talker-1.7b-base-F32.gguf"
CODEC = "qwen-tokenizer-12hz-F32.gguf"
CPU = Runtime(torch.device("cpu"), torch.float32)


def changed(source: Path, target: Path, key: str, value: Value, *tensors: NewTensor) -> Path:
    """The metadata of a file with one value changed, and other tensors."""
    entries = dict(copied_metadata(source)) | dict(pack_metadata([(key, value)]))
    write_gguf(target, list(entries.items()), tensors)
    return target


@pytest.mark.parametrize("name", ["../escaped", "Demo", "2nd", "a" * 42, "a/b", "a.b"])
def test_names_of_tokenizers_are_names(data: Path, tmp_path: Path, name: str) -> None:
    path = changed(data / CODEC, tmp_path / "codec.gguf", "studio.codec_name", name)
    with pytest.raises(ModelFileError, match="no name of a tokenizer"):
        codec_name(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("decoder.sliding_window", 2_000_000_000),
        ("decoder.head_dim", 15),
        ("decoder.rope_theta", -1.0),
        ("decoder.rms_norm_eps", 0.0),
        ("decoder.upsample_rates", (64,) * 1_000_000),
        ("decoder.upsampling_ratios", (1,) * 17),
    ],
)
def test_impossible_codecs(data: Path, tmp_path: Path, key: str, value: Value) -> None:
    path = changed(data / CODEC, tmp_path / "a.gguf", f"qwen3-tts-tokenizer.{key}", value)
    with GgufFile.open(path) as file, pytest.raises(ModelFileError, match=key) as caught:
        read_decoder_config(file)
    assert len(caught.value.message) < len(str(path)) + 200


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("talker.rope.freq_base", 0.0, "freq_base"),
        ("code_pred.attention.layer_norm_rms_epsilon", -1e-6, "rms_epsilon"),
        # The first codes would reach beyond the codebooks, or the codebooks beyond them.
        ("code_pred.vocab_size", 63, "predictor vocabulary = 63"),
        ("code_pred.vocab_size", 65, "predictor vocabulary = 65"),
        ("codec.language_ids", (1 << 20,) * 12, "ids that its tables do not have"),
    ],
)
def test_impossible_talkers(
    data: Path, tmp_path: Path, key: str, value: Value, message: str
) -> None:
    path = changed(data / TALKER, tmp_path / "a.gguf", f"qwen3-tts.{key}", value)
    with GgufFile.open(path) as file, pytest.raises(ModelFileError, match=message) as caught:
        read_talker_config(file)
    assert len(caught.value.message) < len(str(path)) + 250


@pytest.mark.parametrize(
    ("key", "value"),
    [("temperature", -1.0), ("subtalker_top_p", 0.0), ("repetition_penalty", 0.0)],
)
def test_a_recommended_sampling_that_cannot_be_used(
    data: Path, tmp_path: Path, key: str, value: float
) -> None:
    path = changed(data / TALKER, tmp_path / "a.gguf", f"generation.{key}", value)
    with pytest.raises(ModelFileError, match=r"recommends a sampling.*out of range"):
        load_model(path, data / CODEC, CPU)


def test_a_speaker_encoder_of_another_shape(data: Path, tmp_path: Path) -> None:
    flat = NewTensor(
        "spk_enc.conv0.weight", TensorType.F32, (8,), lambda: iter([memoryview(bytes(32))])
    )
    path = changed(data / TALKER, tmp_path / "a.gguf", "general.name", "flat", flat)
    with (
        GgufFile.open(path) as file,
        pytest.raises(ModelFileError, match=r"conv0.*has shape \[8\]"),
    ):
        build_speaker_encoder(file, 80, CPU)


def test_metadata_of_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="No such file"):
        copied_metadata(tmp_path / "none.gguf")
