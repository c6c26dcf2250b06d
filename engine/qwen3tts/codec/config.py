"""The dimensions of a tokenizer file, read once and checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.errors import ModelFileError
from engine.gguf.reader import GgufFile

ARCHITECTURE = "qwen3-tts-tokenizer"
_PREFIX = "qwen3-tts-tokenizer"


@dataclass(frozen=True)
class DecoderConfig:
    """From codes to sound."""

    sample_rate: int
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
    architecture = file.string("general.architecture")
    if architecture != ARCHITECTURE:
        raise ModelFileError(
            f"{file.path} is not an audio tokenizer: its general.architecture is {architecture!r}.",
            f"Choose a file whose architecture is {ARCHITECTURE!r} (qwen-tokenizer-*.gguf).",
        )

    def positive(name: str) -> int:
        value = file.integer(f"{_PREFIX}.{name}")
        if not 0 < value < 2**31:
            raise _wrong(file, name, value)
        return value

    def factors(name: str) -> tuple[int, ...]:
        values = file.integers(f"{_PREFIX}.{name}")
        if not values or not all(0 < value <= 64 for value in values):
            raise _wrong(file, name, values)
        return tuple(values)

    config = DecoderConfig(
        sample_rate=positive("output_sample_rate"),
        codebooks=positive("decoder.num_quantizers"),
        codebook_size=positive("decoder.codebook_size"),
        code_width=positive("decoder.codebook_dim"),
        latent=positive("decoder.latent_dim"),
        width=positive("decoder.hidden_size"),
        inner=positive("decoder.intermediate_size"),
        heads=positive("decoder.num_attention_heads"),
        head_width=positive("decoder.head_dim"),
        blocks=positive("decoder.num_hidden_layers"),
        window=positive("decoder.sliding_window"),
        rope_base=file.number(f"{_PREFIX}.decoder.rope_theta"),
        eps=file.number(f"{_PREFIX}.decoder.rms_norm_eps"),
        channels=positive("decoder.decoder_dim"),
        upsampling=factors("decoder.upsampling_ratios"),
        strides=factors("decoder.upsample_rates"),
    )
    for name, right in (
        ("decode_upsample_rate", config.frame_samples),
        ("decoder.num_key_value_heads", config.heads),
        ("decoder.num_semantic_quantizers", 1),
    ):
        if positive(name) != right:
            raise _wrong(file, name, positive(name))
    if config.codebooks < 2 or config.channels % 2 ** len(config.strides):
        raise _wrong(file, "decoder.decoder_dim", config.channels)
    return config


def _wrong(file: GgufFile, name: str, value: object) -> ModelFileError:
    return ModelFileError(
        f"{file.path} gives {value} for {_PREFIX}.{name}, which cannot be right.",
        "The file is damaged or of an unknown version; download it again.",
    )
