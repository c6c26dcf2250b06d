"""The dimensions of a tokenizer file, read once and checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.gguf.reader import GgufFile
from engine.qwen3tts.codec.metadata import TokenizerMetadata, read_codec_name

LARGEST_WINDOW = 4096  # positions; a state keeps keys and values for all of them
LONGEST_FRAME = 1 << 16  # samples


@dataclass(frozen=True)
class DecoderConfig:
    """From codes to sound."""

    sample_rate: int
    codec_name: str  # as in the talkers that speak its codes, "" for the official one
    codebooks: int
    codebook_size: int
    code_width: int  # after the output projections
    latent: int  # width between the stages
    width: int  # of the transformer
    inner: int
    heads: int
    head_width: int
    blocks: int
    window: int  # positions an attention sees, itself included
    rope_base: float
    eps: float
    channels: int  # of the first waveform stage; every later one has half
    upsampling: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def frame_samples(self) -> int:
        """Samples per frame (1920 in the published files)."""
        return math.prod(self.upsampling) * math.prod(self.strides)


def read_decoder_config(file: GgufFile) -> DecoderConfig:
    """Read and check the metadata of a tokenizer file; raises ModelFileError naming the key."""
    metadata = TokenizerMetadata(file)
    config = DecoderConfig(
        sample_rate=metadata.positive("output_sample_rate"),
        codec_name=read_codec_name(file),
        codebooks=metadata.positive("decoder.num_quantizers"),
        codebook_size=metadata.positive("decoder.codebook_size"),
        code_width=metadata.positive("decoder.codebook_dim"),
        latent=metadata.positive("decoder.latent_dim"),
        width=metadata.positive("decoder.hidden_size"),
        inner=metadata.positive("decoder.intermediate_size"),
        heads=metadata.positive("decoder.num_attention_heads"),
        head_width=metadata.even("decoder.head_dim"),
        blocks=metadata.positive("decoder.num_hidden_layers"),
        window=metadata.positive("decoder.sliding_window"),
        rope_base=metadata.number("decoder.rope_theta"),
        eps=metadata.number("decoder.rms_norm_eps"),
        channels=metadata.positive("decoder.decoder_dim"),
        upsampling=metadata.factors("decoder.upsampling_ratios"),
        strides=metadata.factors("decoder.upsample_rates"),
    )
    metadata.expect("decode_upsample_rate", config.frame_samples)
    metadata.expect("decoder.num_key_value_heads", config.heads)
    metadata.expect("decoder.num_semantic_quantizers", 1)
    if config.frame_samples > LONGEST_FRAME:
        raise metadata.wrong("decode_upsample_rate", config.frame_samples)
    if config.window > LARGEST_WINDOW:
        raise metadata.wrong("decoder.sliding_window", config.window)
    if config.codebooks < 2:
        raise metadata.wrong("decoder.num_quantizers", config.codebooks)
    if config.channels % 2 ** len(config.strides):
        raise metadata.wrong("decoder.decoder_dim", config.channels)
    return config
