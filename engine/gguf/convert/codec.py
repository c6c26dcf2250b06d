"""Says in metadata and dimensions what the config file of an audio tokenizer says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from engine.errors import ModelFileError
from engine.gguf.convert.settings import Settings
from engine.gguf.layout import CodecDecoderDims, CodecDims, CodecEncoderDims, TransformerDims
from engine.gguf.reader import Value

MODEL_TYPE: Final = "qwen3_tts_tokenizer_12hz"
STEM: Final = "qwen-tokenizer-12hz"

Entries: TypeAlias = list[tuple[str, Value]]

_TOP: Final = (
    "input_sample_rate",
    "output_sample_rate",
    "decode_upsample_rate",
    "encode_downsample_rate",
    "encoder_valid_num_quantizers",
)
_DECODER: Final = (
    "latent_dim",
    "codebook_dim",
    "codebook_size",
    "decoder_dim",
    "hidden_size",
    "intermediate_size",
    "head_dim",
    "num_attention_heads",
    "num_key_value_heads",
    "num_hidden_layers",
    "num_quantizers",
    "num_semantic_quantizers",
    "rms_norm_eps",
    "rope_theta",
    "sliding_window",
    "layer_scale_initial_scale",
    "upsample_rates",
    "upsampling_ratios",
    "vector_quantization_hidden_dim",
)
# Not the sliding window: the official code does not apply it in the encoder.
_ENCODER: Final = (
    "num_filters",
    "kernel_size",
    "last_kernel_size",
    "residual_kernel_size",
    "num_residual_layers",
    "dilation_growth_rate",
    "compress",
    "upsampling_ratios",
    "hidden_size",
    "intermediate_size",
    "head_dim",
    "num_attention_heads",
    "num_key_value_heads",
    "num_hidden_layers",
    "norm_eps",
    "rope_theta",
    "layer_scale_initial_scale",
    "codebook_dim",
    "codebook_size",
    "num_quantizers",
    "num_semantic_quantizers",
    "vector_quantization_hidden_dim",
)
_NUMBERS: Final = {"rms_norm_eps", "norm_eps", "rope_theta", "layer_scale_initial_scale"}
_LISTS: Final = {"upsample_rates", "upsampling_ratios"}
_FOR_INFORMATION: Final = {
    "layer_scale_initial_scale",
    "vector_quantization_hidden_dim",
    "dilation_growth_rate",
    "compress",
}
"""Left out where the config does not say them."""


def codec_dims(config: Settings) -> CodecDims:
    """The sizes of all tensors of a tokenizer file."""
    encoder, decoder = config.section("encoder_config"), config.section("decoder_config")
    codebooks = config.size("encoder_valid_num_quantizers")
    if decoder.size("num_quantizers") != codebooks:
        raise ModelFileError(
            f"{config.path} encodes with {codebooks} codebooks and decodes with "
            f"{decoder.size('num_quantizers')}.",
            "Download the folder again, or check it against the official one.",
        )
    return CodecDims(
        encoder=CodecEncoderDims(
            transformer=_stack_dims(encoder),
            filters=encoder.size("num_filters"),
            ratios=encoder.sizes("upsampling_ratios"),
            kernel=encoder.size("kernel_size"),
            residual_kernel=encoder.size("residual_kernel_size"),
            last_kernel=encoder.size("last_kernel_size"),
            codebook_width=encoder.size("codebook_dim"),
            declared_quantizers=encoder.size("num_quantizers"),
        ),
        decoder=CodecDecoderDims(
            transformer=_stack_dims(decoder),
            latent=decoder.size("latent_dim"),
            quantizer_width=decoder.size("codebook_dim"),
            width=decoder.size("decoder_dim"),
            rates=decoder.sizes("upsample_rates"),
            ratios=decoder.sizes("upsampling_ratios"),
        ),
        codebook_size=decoder.size("codebook_size"),
        codebooks=codebooks,
    )


def codec_metadata(config: Settings) -> Entries:
    """All keys of a tokenizer file; raises `ModelFileError` naming the key at fault."""
    own: Entries = [
        *_values(config, "", _TOP),
        *_values(config.section("decoder_config"), "decoder.", _DECODER),
        ("decoder.codebook_dim_internal", 256),  # a constant of the format, whatever the width
        *_values(config.section("encoder_config"), "encoder.", _ENCODER),
    ]
    return [
        ("general.architecture", "qwen3-tts-tokenizer"),
        ("general.name", "Qwen3-TTS-Tokenizer-12Hz"),
        *((f"qwen3-tts-tokenizer.{key}", value) for key, value in own),
    ]


def _values(config: Settings, prefix: str, names: Sequence[str]) -> Entries:
    entries: Entries = []
    for name in names:
        official = name
        if name == "vector_quantization_hidden_dim":
            official = "vector_quantization_hidden_dimension"
        if name in _FOR_INFORMATION and official not in config:
            continue
        if name in _NUMBERS:
            entries.append((prefix + name, config.number(official)))
        elif name in _LISTS:
            entries.append((prefix + name, config.sizes(official)))
        else:
            entries.append((prefix + name, config.size(official)))
    return entries


def _stack_dims(stack: Settings) -> TransformerDims:
    return TransformerDims(
        width=stack.size("hidden_size"),
        feed_forward=stack.size("intermediate_size"),
        blocks=stack.size("num_hidden_layers"),
        heads=stack.size("num_attention_heads"),
        key_value_heads=stack.size("num_key_value_heads"),
        head_width=stack.size("head_dim"),
    )
