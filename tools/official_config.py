"""Say in the config files of an official checkpoint what the metadata of a GGUF file says.

The opposite of `engine.gguf.convert`. What no GGUF file tells has the value of the official files.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from engine.gguf.reader import GgufFile, Value

Config: TypeAlias = dict[str, Any]

TALKER_PREFIX = "qwen3-tts."
CODEC_PREFIX = "qwen3-tts-tokenizer."

TEXT_IDS = ("im_start", "im_end", "tts_pad", "tts_bos", "tts_eos")
CODEC_IDS = ("pad", "bos", "think", "nothink", "think_bos", "think_eos")
STACK_SIZES = (
    ("embedding_length", "hidden_size"),
    ("feed_forward_length", "intermediate_size"),
    ("block_count", "num_hidden_layers"),
    ("attention.head_count", "num_attention_heads"),
    ("attention.head_count_kv", "num_key_value_heads"),
    ("attention.key_length", "head_dim"),
    ("context_length", "max_position_embeddings"),
    ("rope.freq_base", "rope_theta"),
    ("attention.layer_norm_rms_epsilon", "rms_norm_eps"),
    ("vocab_size", "vocab_size"),
)
RENAMED = {
    "subtalker_do_sample": "subtalker_dosample",
    "vector_quantization_hidden_dim": "vector_quantization_hidden_dimension",
}
CODEC_CONSTANT = "codebook_dim_internal"
"""A constant of the GGUF files."""


def talker_config(file: GgufFile) -> Config:
    """The config.json of a talker folder; raises `ModelFileError` when a key is missing."""
    config: Config = {
        "architectures": ["Qwen3TTSForConditionalGeneration"],
        "model_type": "qwen3_tts",
        "tokenizer_type": file.string(f"{TALKER_PREFIX}tokenizer_type"),
        "tts_model_size": file.string(f"{TALKER_PREFIX}model_size"),
        "tts_model_type": file.string(f"{TALKER_PREFIX}model_type"),
        "talker_config": _talker(file),
    }
    for name in TEXT_IDS:
        config[f"{name}_token_id"] = file.integer(f"{TALKER_PREFIX}text.{name}_id")
    if f"{TALKER_PREFIX}spk_enc.embedding_length" in file.metadata:
        config["speaker_encoder_config"] = _speaker_encoder(file)
    return config


def generation_config(file: GgufFile) -> Config:
    """The generation_config.json of a talker folder."""
    return _section(file, "generation.")


def codec_config(file: GgufFile) -> Config:
    """The config.json of a tokenizer folder."""
    decoder = _section(file, f"{CODEC_PREFIX}decoder.")
    encoder = _section(file, f"{CODEC_PREFIX}encoder.")
    del decoder[CODEC_CONSTANT]
    top = {key: value for key, value in _section(file, CODEC_PREFIX).items() if "." not in key}
    return {
        "architectures": ["Qwen3TTSTokenizerV2Model"],
        "model_type": "qwen3_tts_tokenizer_12hz",
        **top,
        "decoder_config": {"hidden_act": "silu", "attention_bias": False, **decoder},
        "encoder_config": {
            "_frame_rate": 12.5,
            "audio_channels": 1,
            "hidden_act": "gelu",
            "normalize": False,
            "pad_mode": "constant",
            "sampling_rate": top["input_sample_rate"],
            "sliding_window": 250,
            "trim_right_ratio": 1.0,
            "upsample_groups": encoder["hidden_size"],
            "use_causal_conv": True,
            "use_conv_shortcut": False,
            **encoder,
        },
    }


def _talker(file: GgufFile) -> Config:
    codec = f"{TALKER_PREFIX}codec."
    talker = _section(file, f"{TALKER_PREFIX}talker.")
    groups = file.integer(f"{TALKER_PREFIX}num_code_groups")
    config: Config = {
        **_stack(file, "talker"),
        "model_type": "qwen3_tts_talker",
        "code_predictor_config": {
            **_stack(file, "code_pred"),
            "model_type": "qwen3_tts_talker_code_predictor",
            "num_code_groups": groups,
        },
        "num_code_groups": groups,
        "text_vocab_size": talker["text_vocab_size"],
        "text_hidden_size": talker["text_hidden_size"],
        "pad_token_id": file.integer(f"{codec}pad_id"),
        "codec_eos_token_id": file.integer(f"{codec}eos_id"),
        "codec_language_id": _table(file, f"{codec}language_names", f"{codec}language_ids"),
        "spk_id": _table(file, f"{codec}speaker_names", f"{codec}speaker_ids"),
        "spk_is_dialect": {
            name: dialect or False
            for name, dialect in zip(
                file.strings(f"{codec}speaker_names", default=[]),
                file.strings(f"{codec}speaker_dialects", default=[]),
                strict=True,
            )
        },
        "rope_scaling": {
            "interleaved": talker["mrope_interleaved"],
            "mrope_section": talker["rope.mrope_section"],
            "rope_type": "default",
            "type": "default",
        },
        "position_id_per_seconds": talker["position_id_per_seconds"],
    }
    for name in CODEC_IDS:
        config[f"codec_{name}_id"] = file.integer(f"{codec}{name}_id")
    return config


def _stack(file: GgufFile, prefix: str) -> Config:
    values = _section(file, f"{TALKER_PREFIX}{prefix}.")
    sizes = {official: values[key] for key, official in STACK_SIZES}
    return {"attention_bias": False, "hidden_act": "silu", "rope_scaling": None, **sizes}


def _speaker_encoder(file: GgufFile) -> Config:
    """The sizes that no key tells are those of the tensors."""

    def shape(name: str) -> tuple[int, ...]:
        return file.tensors[f"spk_enc.{name}.weight"].shape

    channels, mels, _ = shape("conv0")
    return {
        "enc_dim": file.integer(f"{TALKER_PREFIX}spk_enc.embedding_length"),
        "sample_rate": file.integer(f"{TALKER_PREFIX}spk_enc.sample_rate"),
        "mel_dim": mels,
        "enc_channels": [channels] * 4 + [3 * channels],
        "enc_attention_channels": shape("asp.tdnn")[0],
        "enc_se_channels": shape("blk.1.se.conv1")[0],
        "enc_res2net_scale": channels // shape("blk.1.res2net.0")[0],
    }


def _section(file: GgufFile, prefix: str) -> Config:
    """All keys that begin with `prefix`, without it and under their official names."""
    section: Config = {}
    for key, value in file.metadata.items():
        if key.startswith(prefix):
            name = key.removeprefix(prefix)
            section[RENAMED.get(name, name)] = _plain(value)
    return section


def _table(file: GgufFile, names: str, numbers: str) -> dict[str, int]:
    pairs = zip(file.strings(names, default=[]), file.integers(numbers, default=[]), strict=True)
    return dict(pairs)


def _plain(value: Value) -> object:
    """A float32 as people write it: 0.9, not 0.8999999761581421."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    return list(value) if isinstance(value, tuple) else value
