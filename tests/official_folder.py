"""Builds folders as the official checkpoints have them, from the small reference GGUF files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from engine.gguf.convert.names import Codebook, official_name
from engine.gguf.reader import GgufFile

TALKERS = {
    "base": "qwen-talker-1.7b-base-F32.gguf",
    "custom_voice": "qwen-talker-0.6b-customvoice-F32.gguf",
    "voice_design": "qwen-talker-1.7b-voicedesign-F32.gguf",
}
CODEC = "qwen-tokenizer-12hz-F32.gguf"

LOST_MERGE = "# #"
"""The merge of merges.txt that the published converter takes for a comment, and its place."""
LOST_RANK = 309

GENERATION = {
    "do_sample": True,
    "repetition_penalty": 1.05,
    "temperature": 0.9,
    "top_p": 1.0,
    "top_k": 50,
    "subtalker_dosample": True,
    "subtalker_temperature": 0.9,
    "subtalker_top_p": 1.0,
    "subtalker_top_k": 50,
    "max_new_tokens": 8192,
}
_SPEAKERS = {
    "serena": 1082,
    "vivian": 1081,
    "uncle_fu": 1026,
    "ryan": 1077,
    "aiden": 877,
    "ono_anna": 889,
    "sohee": 880,
    "eric": 891,
    "dylan": 894,
}
_DIALECTS = {"eric": "sichuan_dialect", "dylan": "beijing_dialect"}


def talker_config(family: str) -> dict[str, Any]:
    """The settings of the small checkpoint of that family that mean something."""
    config = _base_config()
    config["tts_model_type"] = family
    talker = config["talker_config"]
    if family == "base":
        return config
    del config["speaker_encoder_config"]
    if family == "custom_voice":
        config["tts_model_size"] = "0b6"
        talker |= {"head_dim": 32, "hidden_size": 64, "text_hidden_size": 48}
        talker["rope_scaling"]["mrope_section"] = [6, 5, 5]
        talker["spk_id"] = _SPEAKERS
        talker["spk_is_dialect"] = {name: _DIALECTS.get(name, False) for name in _SPEAKERS}
        return config
    talker |= {
        "head_dim": 24,
        "hidden_size": 64,
        "intermediate_size": 80,
        "num_attention_heads": 3,
        "num_hidden_layers": 3,
        "num_key_value_heads": 1,
        "text_hidden_size": 40,
    }
    talker["rope_scaling"]["mrope_section"] = [6, 3, 3]
    talker["code_predictor_config"] |= {"head_dim": 12, "hidden_size": 56, "intermediate_size": 72}
    return config


def _base_config() -> dict[str, Any]:
    return {
        "architectures": ["Qwen3TTSForConditionalGeneration"],
        "model_type": "qwen3_tts",
        "tokenizer_type": "qwen3_tts_tokenizer_12hz",
        "tts_model_size": "1b7",
        "tts_model_type": "base",
        "im_start_token_id": 822,
        "im_end_token_id": 823,
        "tts_pad_token_id": 849,
        "tts_bos_token_id": 850,
        "tts_eos_token_id": 851,
        "speaker_encoder_config": {
            "enc_dim": 80,
            "sample_rate": 24000,
            "enc_channels": [16, 16, 16, 16, 48],
            "enc_attention_channels": 12,
            "enc_se_channels": 20,
            "enc_res2net_scale": 8,
        },
        "talker_config": {
            "code_predictor_config": {
                "head_dim": 16,
                "hidden_size": 64,
                "intermediate_size": 96,
                "max_position_embeddings": 65536,
                "num_attention_heads": 4,
                "num_code_groups": 16,
                "num_hidden_layers": 2,
                "num_key_value_heads": 2,
                "rms_norm_eps": 1e-06,
                "rope_scaling": None,
                "rope_theta": 1000000,
                "vocab_size": 64,
            },
            "codec_pad_id": 164,
            "codec_bos_id": 165,
            "codec_eos_token_id": 166,
            "codec_think_id": 170,
            "codec_nothink_id": 171,
            "codec_think_bos_id": 172,
            "codec_think_eos_id": 173,
            "codec_language_id": {
                "chinese": 71,
                "english": 66,
                "german": 69,
                "italian": 86,
                "portuguese": 87,
                "spanish": 70,
                "japanese": 74,
                "korean": 80,
                "french": 77,
                "russian": 85,
                "beijing_dialect": 90,
                "sichuan_dialect": 78,
            },
            "spk_id": {},
            "spk_is_dialect": {},
            "head_dim": 16,
            "hidden_size": 80,
            "intermediate_size": 128,
            "max_position_embeddings": 4096,
            "num_attention_heads": 4,
            "num_code_groups": 16,
            "num_hidden_layers": 2,
            "num_key_value_heads": 2,
            "position_id_per_seconds": 13,
            "rms_norm_eps": 1e-06,
            "rope_scaling": {"interleaved": True, "mrope_section": [4, 2, 2], "type": "default"},
            "rope_theta": 1000000,
            "text_hidden_size": 64,
            "text_vocab_size": 857,
            "vocab_size": 1088,
        },
    }


def codec_config() -> dict[str, Any]:
    """The settings of the small tokenizer that mean something."""
    return {
        "architectures": ["Qwen3TTSTokenizerV2Model"],
        "model_type": "qwen3_tts_tokenizer_12hz",
        "encoder_valid_num_quantizers": 16,
        "input_sample_rate": 24000,
        "output_sample_rate": 24000,
        "decode_upsample_rate": 1920,
        "encode_downsample_rate": 1920,
        "decoder_config": {
            "latent_dim": 48,
            "codebook_dim": 32,
            "codebook_size": 64,
            "decoder_dim": 64,
            "hidden_size": 32,
            "intermediate_size": 64,
            "layer_scale_initial_scale": 0.01,
            "head_dim": 8,
            "num_attention_heads": 4,
            "num_hidden_layers": 2,
            "num_key_value_heads": 4,
            "num_quantizers": 16,
            "num_semantic_quantizers": 1,
            "rms_norm_eps": 1e-05,
            "rope_theta": 10000,
            "sliding_window": 72,
            "upsample_rates": [8, 5, 4, 3],
            "upsampling_ratios": [2, 2],
            "vector_quantization_hidden_dimension": 32,
        },
        "encoder_config": {
            "codebook_dim": 16,
            "codebook_size": 64,
            "compress": 2,
            "dilation_growth_rate": 2,
            "head_dim": 8,
            "hidden_size": 32,
            "intermediate_size": 64,
            "kernel_size": 7,
            "last_kernel_size": 3,
            "layer_scale_initial_scale": 0.01,
            "norm_eps": 1e-05,
            "num_attention_heads": 4,
            "num_filters": 4,
            "num_hidden_layers": 2,
            "num_key_value_heads": 4,
            "num_quantizers": 20,
            "num_residual_layers": 1,
            "num_semantic_quantizers": 1,
            "residual_kernel_size": 3,
            "rope_theta": 10000.0,
            "sliding_window": 250,
            "upsampling_ratios": [8, 6, 5, 4],
            "vector_quantization_hidden_dimension": 16,
        },
    }


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), "utf-8")


def write_talker_folder(folder: Path, data: Path, family: str) -> Path:
    """The talker of that family: weights in BF16 as in the official ones, voice_design's in F32."""
    dtype = torch.float32 if family == "voice_design" else torch.bfloat16
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", talker_config(family))
    write_json(folder / "generation_config.json", GENERATION)
    with GgufFile.open(data / TALKERS[family]) as file:
        _write_vocabulary(folder, file)
        tensors = {
            str(official_name(name)): read_tensor(file, name).to(dtype) for name in file.tensors
        }
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return folder


def write_codec_folder(folder: Path, data: Path) -> Path:
    """The tokenizer in F32, with the tensors that its GGUF file does not have."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", codec_config())
    save_file(codec_tensors(data), folder / "model.safetensors", {"format": "pt"})
    return folder


def codec_tensors(data: Path) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    with GgufFile.open(data / CODEC) as file:
        for name in file.tensors:
            values, official = read_tensor(file, name), official_name(name)
            if isinstance(official, Codebook):
                # Powers of two, so that the quotient is exact; a usage of 0 counts as 1e-5.
                usage = torch.pow(2.0, torch.arange(len(values)) % 8)
                tensors[official.total] = values * usage.unsqueeze(1)
                tensors[official.usage] = usage
            else:
                tensors[official] = values
    acoustic = "encoder.quantizer.acoustic_residual_vector_quantizer.layers"
    for layer in range(15, 19):
        tensors[f"{acoustic}.{layer}.codebook.embed_sum"] = torch.ones(64, 16)
        tensors[f"{acoustic}.{layer}.codebook.cluster_usage"] = torch.ones(64)
    for layer in range(19):
        tensors[f"{acoustic}.{layer}.codebook.initialized"] = torch.ones(1)
    for quantizer in ("rvq_first", "rvq_rest"):
        tensors[f"decoder.quantizer.{quantizer}.input_proj.weight"] = torch.ones(16, 32, 1)
    return tensors


def read_tensor(file: GgufFile, name: str) -> Tensor:
    """A tensor stored as F32."""
    info = file.tensors[name]
    values = torch.empty(info.shape)
    file.read(info, 0, values.numpy().data)
    return values


def _write_vocabulary(folder: Path, file: GgufFile) -> None:
    tokens, types = (
        file.strings("tokenizer.ggml.tokens"),
        file.integers("tokenizer.ggml.token_type"),
    )
    kinds = list(zip(tokens, types, strict=True))
    normal = {token: index for index, (token, kind) in enumerate(kinds) if kind == 1}
    added = {
        str(index): {"content": token} for index, (token, kind) in enumerate(kinds) if kind == 4
    }
    write_json(folder / "vocab.json", normal)
    write_json(folder / "tokenizer_config.json", {"added_tokens_decoder": added})
    merges = file.strings("tokenizer.ggml.merges")
    merges.insert(LOST_RANK, LOST_MERGE)
    lines = "\n".join(["#version: 0.2", *merges, ""])
    (folder / "merges.txt").write_text(lines, "utf-8", newline="\n")
