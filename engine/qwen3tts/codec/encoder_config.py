"""The dimensions of the encoding half of a tokenizer file, read once and checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.gguf.reader import GgufFile
from engine.qwen3tts.codec.metadata import TokenizerMetadata

DOWNSAMPLING = 2  # between the transformer and the quantiser


@dataclass(frozen=True)
class EncoderConfig:
    """From sound to codes."""

    sample_rate: int
    codebooks: int  # stored ones; the official encoder has more and drops their codes
    codebook_size: int
    channels: int  # of the first waveform stage; every later one has twice as many
    kernel: int  # of the first convolution
    residual_kernel: int
    last_kernel: int
    strides: tuple[int, ...]  # in the order of the stages
    width: int  # of the transformer
    inner: int
    heads: int
    head_width: int
    blocks: int
    rope_base: float
    eps: float

    @property
    def position_samples(self) -> int:
        """Samples per position of the transformer (960 in the published files)."""
        return math.prod(self.strides)

    @property
    def frame_samples(self) -> int:
        """Samples per frame of codes (1920 in the published files)."""
        return self.position_samples * DOWNSAMPLING


def read_encoder_config(file: GgufFile) -> EncoderConfig:
    """Read and check the metadata of a tokenizer file; raises ModelFileError naming the key."""
    read = TokenizerMetadata(file)
    config = EncoderConfig(
        sample_rate=read.positive("input_sample_rate"),
        codebooks=read.positive("encoder_valid_num_quantizers"),
        codebook_size=read.positive("encoder.codebook_size"),
        channels=read.positive("encoder.num_filters"),
        kernel=read.positive("encoder.kernel_size"),
        residual_kernel=read.positive("encoder.residual_kernel_size"),
        last_kernel=read.positive("encoder.last_kernel_size"),
        strides=read.factors("encoder.upsampling_ratios")[::-1],  # told as a decoder would use them
        width=read.positive("encoder.hidden_size"),
        inner=read.positive("encoder.intermediate_size"),
        heads=read.positive("encoder.num_attention_heads"),
        head_width=read.even("encoder.head_dim"),
        blocks=read.positive("encoder.num_hidden_layers"),
        rope_base=read.number("encoder.rope_theta"),
        eps=read.number("encoder.norm_eps"),
    )
    if config.codebooks < 2:
        raise read.wrong("encoder_valid_num_quantizers", config.codebooks)
    for name, right in (
        ("encode_downsample_rate", config.frame_samples),
        # The other half of the file, which the codes are for.
        ("decode_upsample_rate", config.frame_samples),
        ("output_sample_rate", config.sample_rate),
        ("decoder.num_quantizers", config.codebooks),
        ("decoder.codebook_size", config.codebook_size),
        ("encoder.num_key_value_heads", config.heads),
        ("encoder.num_semantic_quantizers", 1),
        ("encoder.num_residual_layers", 1),
    ):
        read.expect(name, right)
    return config
