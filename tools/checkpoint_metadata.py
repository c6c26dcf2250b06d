"""Say in metadata what the official Qwen3-TTS files say, for a checkpoint of any dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from engine.errors import ModelFileError
from engine.gguf.layout import CodecDims, Size, TalkerDims, TransformerDims, Variant
from engine.gguf.reader import Value
from engine.types import Family

Metadata: TypeAlias = list[tuple[str, Value]]
"""Keys in file order. `int` stands for UINT32 (in a tuple INT32), `float` for FLOAT32."""

CODEC_VOCABULARY = 3072
"""Where the ids below belong; in a smaller vocabulary they keep their distance to its end."""

CONTROL_IDS = (
    ("pad", 2148),
    ("bos", 2149),
    ("eos", 2150),
    ("think", 2154),
    ("nothink", 2155),
    ("think_bos", 2156),
    ("think_eos", 2157),
)
LANGUAGE_IDS = (
    ("chinese", 2055),
    ("english", 2050),
    ("german", 2053),
    ("italian", 2070),
    ("portuguese", 2071),
    ("spanish", 2054),
    ("japanese", 2058),
    ("korean", 2064),
    ("french", 2061),
    ("russian", 2069),
    ("beijing_dialect", 2074),
    ("sichuan_dialect", 2062),
)
SPEAKERS = (
    ("serena", 3066, ""),
    ("vivian", 3065, ""),
    ("uncle_fu", 3010, ""),
    ("ryan", 3061, ""),
    ("aiden", 2861, ""),
    ("ono_anna", 2873, ""),
    ("sohee", 2864, ""),
    ("eric", 2875, "sichuan_dialect"),
    ("dylan", 2878, "beijing_dialect"),
)
TEXT_TOKENS = (
    ("im_start", "<|im_start|>"),
    ("im_end", "<|im_end|>"),
    ("tts_pad", "<tts_pad>"),
    ("tts_bos", "<tts_text_bos>"),
    ("tts_eos", "<tts_text_eod>"),
)


class Vocabulary(Protocol):
    """The keys of a GGUF file that a tokenizer is made of."""

    @property
    def path(self) -> Path: ...
    def string(self, key: str) -> str: ...
    def integer(self, key: str) -> int: ...
    def strings(self, key: str) -> Sequence[str]: ...
    def integers(self, key: str) -> Sequence[int]: ...


def talker_metadata(
    size: Size, family: Family, dims: TalkerDims, variant: Variant, vocabulary: Vocabulary
) -> Metadata:
    """All keys of a talker file in the converter's order; the tokenizer is the vocabulary's.

    Raises `ModelFileError` when `vocabulary` lacks a list or token, or has more tokens than
    `dims` has text embeddings.
    """
    tokens = _filled(vocabulary, "tokenizer.ggml.tokens")
    if len(tokens) > dims.text_vocabulary:
        raise ModelFileError(
            f"{vocabulary.path} has {len(tokens)} tokens, more than {dims.text_vocabulary}.",
            "Choose the vocabulary of Qwen3-TTS.",
        )
    shift = dims.codec_vocabulary - CODEC_VOCABULARY
    name = f"Qwen3-TTS-12Hz-{size.value.upper()}-{family.value}"
    own: Metadata = [
        ("tokenizer_type", "qwen3_tts_tokenizer_12hz"),
        ("model_size", {Size.SMALL: "0b6", Size.LARGE: "1b7"}[size]),
        ("model_type", family.value),
        ("num_code_groups", dims.code_groups),
        *_stack("talker", dims.talker),
        ("talker.vocab_size", dims.codec_vocabulary),
        ("talker.text_vocab_size", dims.text_vocabulary),
        ("talker.text_hidden_size", dims.text_width),
        *_context("talker", dims.talker_context),
        ("talker.position_id_per_seconds", 13),
        ("talker.rope.mrope_section", _rope_sections(dims.talker.head_width)),
        ("talker.mrope_interleaved", True),
        *_stack("code_pred", dims.predictor),
        ("code_pred.vocab_size", dims.codebook_size),
        *_context("code_pred", dims.predictor_context),
    ]
    if dims.speaker_encoder is not None:
        own += [
            ("spk_enc.embedding_length", dims.speaker_encoder.embedding),
            ("spk_enc.sample_rate", 24000),
        ]
    own += [(f"codec.{control}_id", number + shift) for control, number in CONTROL_IDS]
    own += [
        ("codec.language_names", tuple(name for name, _ in LANGUAGE_IDS)),
        ("codec.language_ids", tuple(number + shift for _, number in LANGUAGE_IDS)),
    ]
    if family is Family.CUSTOM_VOICE:
        own += [
            ("codec.speaker_names", tuple(name for name, _, _ in SPEAKERS)),
            ("codec.speaker_ids", tuple(number + shift for _, number, _ in SPEAKERS)),
            ("codec.speaker_dialects", tuple(dialect for _, _, dialect in SPEAKERS)),
        ]
    own += [(f"text.{key}_id", _token_id(vocabulary, tokens, text)) for key, text in TEXT_TOKENS]
    return [
        *_general("qwen3-tts", name, variant),
        *((f"qwen3-tts.{key}", value) for key, value in own),
        ("generation.do_sample", True),
        ("generation.top_k", 50),
        ("generation.top_p", 1.0),
        ("generation.temperature", 0.9),
        ("generation.repetition_penalty", 1.05),
        ("generation.subtalker_do_sample", True),
        ("generation.subtalker_top_k", 50),
        ("generation.subtalker_top_p", 1.0),
        ("generation.subtalker_temperature", 0.9),
        ("generation.max_new_tokens", 8192),
        ("tokenizer.ggml.model", vocabulary.string("tokenizer.ggml.model")),
        ("tokenizer.ggml.tokens", tokens),
        ("tokenizer.ggml.token_type", tuple(vocabulary.integers("tokenizer.ggml.token_type"))),
        ("tokenizer.ggml.merges", _filled(vocabulary, "tokenizer.ggml.merges")),
        ("tokenizer.ggml.eos_token_id", vocabulary.integer("tokenizer.ggml.eos_token_id")),
    ]


def codec_metadata(dims: CodecDims, variant: Variant) -> Metadata:
    """All keys of a tokenizer file in the converter's order."""
    encoder, decoder = dims.encoder, dims.decoder
    hop = math.prod(decoder.rates) * math.prod(decoder.ratios)
    own: Metadata = [
        ("input_sample_rate", 24000),
        ("output_sample_rate", 24000),
        ("decode_upsample_rate", hop),
        ("encode_downsample_rate", hop),
        ("encoder_valid_num_quantizers", dims.codebooks),
        ("decoder.latent_dim", decoder.latent),
        ("decoder.codebook_dim", decoder.quantizer_width),
        ("decoder.codebook_size", dims.codebook_size),
        ("decoder.decoder_dim", decoder.width),
        *_codec_stack("decoder", decoder.transformer),
        ("decoder.num_quantizers", dims.codebooks),
        ("decoder.num_semantic_quantizers", 1),
        ("decoder.rms_norm_eps", 1e-5),
        ("decoder.rope_theta", 10000.0),
        ("decoder.sliding_window", 72),
        ("decoder.layer_scale_initial_scale", 0.01),
        ("decoder.upsample_rates", decoder.rates),
        ("decoder.upsampling_ratios", decoder.ratios),
        ("decoder.vector_quantization_hidden_dim", decoder.quantizer_width),
        ("decoder.codebook_dim_internal", 256),  # a constant of the converter
        ("encoder.num_filters", encoder.filters),
        ("encoder.kernel_size", encoder.kernel),
        ("encoder.last_kernel_size", encoder.last_kernel),
        ("encoder.residual_kernel_size", encoder.residual_kernel),
        ("encoder.num_residual_layers", 1),
        ("encoder.dilation_growth_rate", 2),
        ("encoder.compress", 2),
        ("encoder.upsampling_ratios", encoder.ratios),
        *_codec_stack("encoder", encoder.transformer),
        ("encoder.norm_eps", 1e-5),
        ("encoder.rope_theta", 10000.0),
        ("encoder.layer_scale_initial_scale", 0.01),
        ("encoder.codebook_dim", encoder.codebook_width),
        ("encoder.codebook_size", dims.codebook_size),
        ("encoder.num_quantizers", encoder.declared_quantizers),
        ("encoder.num_semantic_quantizers", 1),
        ("encoder.vector_quantization_hidden_dim", encoder.codebook_width),
    ]
    return [
        *_general("qwen3-tts-tokenizer", "Qwen3-TTS-Tokenizer-12Hz", variant),
        *((f"qwen3-tts-tokenizer.{key}", value) for key, value in own),
    ]


def _general(architecture: str, name: str, variant: Variant) -> Metadata:
    entries: Metadata = [("general.architecture", architecture), ("general.name", name)]
    if variant is not Variant.F32:
        entries += [
            ("general.quantization_version", 2),
            ("general.file_type", variant.name),
        ]
    return entries


def _stack(prefix: str, dims: TransformerDims) -> Metadata:
    return [
        (f"{prefix}.embedding_length", dims.width),
        (f"{prefix}.feed_forward_length", dims.feed_forward),
        (f"{prefix}.block_count", dims.blocks),
        (f"{prefix}.attention.head_count", dims.heads),
        (f"{prefix}.attention.head_count_kv", dims.key_value_heads),
        (f"{prefix}.attention.key_length", dims.head_width),
    ]


def _context(prefix: str, context: int) -> Metadata:
    return [
        (f"{prefix}.context_length", context),
        (f"{prefix}.rope.freq_base", 1e6),
        (f"{prefix}.attention.layer_norm_rms_epsilon", 1e-6),
    ]


def _codec_stack(prefix: str, dims: TransformerDims) -> Metadata:
    return [
        (f"{prefix}.hidden_size", dims.width),
        (f"{prefix}.intermediate_size", dims.feed_forward),
        (f"{prefix}.head_dim", dims.head_width),
        (f"{prefix}.num_attention_heads", dims.heads),
        (f"{prefix}.num_key_value_heads", dims.key_value_heads),
        (f"{prefix}.num_hidden_layers", dims.blocks),
    ]


def _rope_sections(head_width: int) -> tuple[int, int, int]:
    """The split [24, 20, 20] of a 128 wide head, in proportion for other widths."""
    side = head_width * 5 // 32
    return head_width // 2 - 2 * side, side, side


def _filled(vocabulary: Vocabulary, key: str) -> tuple[str, ...]:
    values = tuple(vocabulary.strings(key))
    if not values:  # the writer would leave the key out without a word
        raise ModelFileError(
            f"{vocabulary.path}: metadata key {key!r} is empty.", "Choose another vocabulary file."
        )
    return values


def _token_id(vocabulary: Vocabulary, tokens: Sequence[str], text: str) -> int:
    if text not in tokens:
        raise ModelFileError(
            f"{vocabulary.path} has no token {text!r}.", "Choose the vocabulary of Qwen3-TTS."
        )
    return tokens.index(text)
