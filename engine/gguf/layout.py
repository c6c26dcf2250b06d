"""Name every tensor of the Qwen3-TTS containers, with its shape and its type in each variant.

Shapes are in PyTorch order (outermost dimension first), as a linear, conv or embedding layer
takes them; GGUF stores the same sizes reversed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import NamedTuple, TypeAlias

from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from engine.types import Family

Shape: TypeAlias = tuple[int, ...]

SPEAKER_BLOCKS = 3
"""SE-Res2Net blocks of the ECAPA-TDNN speaker encoder; no metadata key tells their number."""

RESIDUAL_UNITS = 3
"""Residual units (dilations 1, 3, 9) in each block of the codec decoder."""


class ExpectedTensor(NamedTuple):
    """A tensor that a container has to hold."""

    name: str
    shape: Shape


class Size(StrEnum):
    """The two sizes of the official 12 Hz talkers."""

    SMALL = "0.6b"
    LARGE = "1.7b"


@dataclass(frozen=True)
class TransformerDims:
    """Sizes of one stack of attention and feed-forward blocks."""

    width: int
    feed_forward: int
    blocks: int
    heads: int
    key_value_heads: int
    head_width: int


@dataclass(frozen=True)
class SpeakerEncoderDims:
    """Sizes of the ECAPA-TDNN that only Base checkpoints carry."""

    embedding: int  # = talker width
    mels: int = 128
    channels: int = 512
    squeeze: int = 128
    attention: int = 128
    scale: int = 8  # Res2Net splits the channels into this many groups


@dataclass(frozen=True)
class TalkerDims:
    """Sizes of a talker file: language model, code predictor and, for Base, speaker encoder."""

    talker: TransformerDims
    predictor: TransformerDims
    speaker_encoder: SpeakerEncoderDims | None = None
    text_vocabulary: int = 151936
    text_width: int = 2048
    codec_vocabulary: int = 3072
    codebook_size: int = 2048
    code_groups: int = 16
    talker_context: int = 32768
    predictor_context: int = 65536

    @property
    def projects_to_predictor(self) -> bool:
        """Whether the talker's width has to be projected to the predictor's (`mtp_proj`)."""
        return self.talker.width != self.predictor.width


@dataclass(frozen=True)
class CodecEncoderDims:
    """Sizes of the Mimi encoder; its convs run through `ratios` from the last to the first."""

    transformer: TransformerDims = TransformerDims(512, 2048, 8, 8, 8, 64)
    filters: int = 64
    ratios: tuple[int, ...] = (8, 6, 5, 4)
    kernel: int = 7
    residual_kernel: int = 3
    last_kernel: int = 3
    codebook_width: int = 256
    declared_quantizers: int = 32  # the file stores fewer, see CodecDims.codebooks


@dataclass(frozen=True)
class CodecDecoderDims:
    """Sizes of the codec decoder; the width halves after each of `rates`."""

    transformer: TransformerDims = TransformerDims(512, 1024, 8, 16, 16, 64)
    latent: int = 1024
    quantizer_width: int = 512  # a codebook row is half as wide
    width: int = 1536
    rates: tuple[int, ...] = (8, 5, 4, 3)
    ratios: tuple[int, ...] = (2, 2)


@dataclass(frozen=True)
class CodecDims:
    """Sizes of a tokenizer file; the defaults are those of the 12 Hz tokenizer."""

    encoder: CodecEncoderDims = field(default_factory=CodecEncoderDims)
    decoder: CodecDecoderDims = field(default_factory=CodecDecoderDims)
    codebook_size: int = 2048
    codebooks: int = 16  # one semantic, the rest acoustic


def official_talker(size: Size, family: Family) -> TalkerDims:
    """The dimensions of the published checkpoint of that size and family."""
    width, feed_forward = {Size.SMALL: (1024, 3072), Size.LARGE: (2048, 6144)}[size]
    return TalkerDims(
        talker=TransformerDims(width, feed_forward, 28, 16, 8, 128),
        predictor=TransformerDims(1024, 3072, 5, 16, 8, 128),
        speaker_encoder=SpeakerEncoderDims(width) if family is Family.BASE else None,
    )


def talker_tensors(dims: TalkerDims) -> Iterator[ExpectedTensor]:
    """Every tensor of a talker file."""
    width, text = dims.talker.width, dims.text_width
    yield ExpectedTensor("talker.text_embd.weight", (dims.text_vocabulary, text))
    yield ExpectedTensor("talker.codec_embd.weight", (dims.codec_vocabulary, width))
    yield from _with_bias("talker.text_proj.fc1", (text, text))
    yield from _with_bias("talker.text_proj.fc2", (width, text))
    yield ExpectedTensor("talker.codec_head.weight", (dims.codec_vocabulary, width))
    yield ExpectedTensor("talker.output_norm.weight", (width,))
    yield from _language_blocks("talker", dims.talker)
    yield from _predictor(dims)
    if dims.speaker_encoder is not None:
        yield from _speaker_encoder(dims.speaker_encoder)


def codec_tensors(dims: CodecDims) -> Iterator[ExpectedTensor]:
    """Every tensor of a tokenizer file."""
    yield from _codec_encoder(dims)
    yield from _codec_decoder(dims)


def _with_bias(stem: str, shape: Shape, outputs: int | None = None) -> Iterator[ExpectedTensor]:
    yield ExpectedTensor(f"{stem}.weight", shape)
    yield ExpectedTensor(f"{stem}.bias", (shape[0] if outputs is None else outputs,))


def _attention(stem: str, dims: TransformerDims) -> Iterator[ExpectedTensor]:
    queries, keys = dims.heads * dims.head_width, dims.key_value_heads * dims.head_width
    yield ExpectedTensor(f"{stem}.attn_q.weight", (queries, dims.width))
    yield ExpectedTensor(f"{stem}.attn_k.weight", (keys, dims.width))
    yield ExpectedTensor(f"{stem}.attn_v.weight", (keys, dims.width))
    yield ExpectedTensor(f"{stem}.attn_output.weight", (dims.width, queries))


def _gated_feed_forward(stem: str, dims: TransformerDims) -> Iterator[ExpectedTensor]:
    yield ExpectedTensor(f"{stem}.ffn_gate.weight", (dims.feed_forward, dims.width))
    yield ExpectedTensor(f"{stem}.ffn_up.weight", (dims.feed_forward, dims.width))
    yield ExpectedTensor(f"{stem}.ffn_down.weight", (dims.width, dims.feed_forward))


def _language_blocks(prefix: str, dims: TransformerDims) -> Iterator[ExpectedTensor]:
    for index in range(dims.blocks):
        stem = f"{prefix}.blk.{index}"
        yield ExpectedTensor(f"{stem}.attn_norm.weight", (dims.width,))
        yield from _attention(stem, dims)
        yield ExpectedTensor(f"{stem}.attn_q_norm.weight", (dims.head_width,))
        yield ExpectedTensor(f"{stem}.attn_k_norm.weight", (dims.head_width,))
        yield ExpectedTensor(f"{stem}.ffn_norm.weight", (dims.width,))
        yield from _gated_feed_forward(stem, dims)


def _predictor(dims: TalkerDims) -> Iterator[ExpectedTensor]:
    width, later_groups = dims.predictor.width, range(dims.code_groups - 1)
    for group in later_groups:
        name = f"code_pred.codec_embd.{group}.weight"
        yield ExpectedTensor(name, (dims.codebook_size, dims.talker.width))
    for group in later_groups:
        yield ExpectedTensor(f"code_pred.lm_head.{group}.weight", (dims.codebook_size, width))
    if dims.projects_to_predictor:
        yield from _with_bias("code_pred.mtp_proj", (width, dims.talker.width))
    yield ExpectedTensor("code_pred.output_norm.weight", (width,))
    yield from _language_blocks("code_pred", dims.predictor)


def _speaker_encoder(dims: SpeakerEncoderDims) -> Iterator[ExpectedTensor]:
    channels, group = dims.channels, dims.channels // dims.scale
    joined = SPEAKER_BLOCKS * channels  # the outputs of all blocks, side by side
    yield from _with_bias("spk_enc.conv0", (channels, dims.mels, 5))
    for index in range(1, SPEAKER_BLOCKS + 1):
        stem = f"spk_enc.blk.{index}"
        yield from _with_bias(f"{stem}.tdnn1", (channels, channels, 1))
        for branch in range(dims.scale - 1):
            yield from _with_bias(f"{stem}.res2net.{branch}", (group, group, 3))
        yield from _with_bias(f"{stem}.tdnn2", (channels, channels, 1))
        yield from _with_bias(f"{stem}.se.conv1", (dims.squeeze, channels, 1))
        yield from _with_bias(f"{stem}.se.conv2", (channels, dims.squeeze, 1))
    yield from _with_bias("spk_enc.mfa", (joined, joined, 1))
    yield from _with_bias("spk_enc.asp.tdnn", (dims.attention, 3 * joined, 1))
    yield from _with_bias("spk_enc.asp.conv", (joined, dims.attention, 1))
    yield from _with_bias("spk_enc.fc", (dims.embedding, 2 * joined, 1))


def _codec_encoder(dims: CodecDims) -> Iterator[ExpectedTensor]:
    encoder, inner = dims.encoder, dims.encoder.transformer
    channels, layer = encoder.filters, 0
    yield from _with_bias("tok_enc.conv.0", (channels, 1, encoder.kernel))
    # Names keep the layer numbers of the original sequence, in which activations count too.
    for ratio in reversed(encoder.ratios):
        residual = f"tok_enc.res.{layer + 1}.blk"
        half = (channels // 2, channels, encoder.residual_kernel)
        yield from _with_bias(f"{residual}.1", half)
        yield from _with_bias(f"{residual}.3", (channels, channels // 2, 1))
        layer += 3
        yield from _with_bias(f"tok_enc.conv.{layer}", (2 * channels, channels, 2 * ratio))
        channels *= 2
    last = (inner.width, channels, encoder.last_kernel)
    yield from _with_bias(f"tok_enc.conv.{layer + 2}", last)
    for index in range(inner.blocks):
        stem = f"tok_enc.blk.{index}"
        yield from _with_bias(f"{stem}.attn_norm", (inner.width,))
        yield from _attention(stem, inner)
        yield ExpectedTensor(f"{stem}.attn_scale", (inner.width,))
        yield from _with_bias(f"{stem}.ffn_norm", (inner.width,))
        yield ExpectedTensor(f"{stem}.ffn_up.weight", (inner.feed_forward, inner.width))
        yield ExpectedTensor(f"{stem}.ffn_down.weight", (inner.width, inner.feed_forward))
        yield ExpectedTensor(f"{stem}.ffn_scale", (inner.width,))
    yield ExpectedTensor("tok_enc.downsample.weight", (inner.width, inner.width, 4))
    code = encoder.codebook_width
    for quantizer in ("vq_semantic", "vq_acoustic"):
        yield ExpectedTensor(f"tok_enc.{quantizer}.input_proj.weight", (code, inner.width, 1))
        yield ExpectedTensor(f"tok_enc.{quantizer}.output_proj.weight", (inner.width, code, 1))
    yield from _codebooks("tok_enc.vq_semantic", "tok_enc.vq_acoustic", dims, code)


def _codebooks(first: str, rest: str, dims: CodecDims, width: int) -> Iterator[ExpectedTensor]:
    yield ExpectedTensor(f"{first}.0.codebook", (dims.codebook_size, width))
    for index in range(dims.codebooks - 1):
        yield ExpectedTensor(f"{rest}.{index}.codebook", (dims.codebook_size, width))


def _codec_decoder(dims: CodecDims) -> Iterator[ExpectedTensor]:
    decoder = dims.decoder
    code, latent = decoder.quantizer_width // 2, decoder.latent
    for quantizer in ("vq_first", "vq_rest"):
        name = f"tok_dec.{quantizer}.output_proj.weight"
        yield ExpectedTensor(name, (decoder.quantizer_width, code, 1))
    yield from _codebooks("tok_dec.vq_first", "tok_dec.vq_rest", dims, code)
    yield from _with_bias("tok_dec.pre_conv", (latent, decoder.quantizer_width, 3))
    yield from _pre_transformer(decoder)
    for index, ratio in enumerate(decoder.ratios):
        stem = f"tok_dec.upsample.{index}"
        yield from _with_bias(f"{stem}.conv", (latent, latent, ratio))
        yield from _with_bias(f"{stem}.dwconv", (latent, 1, 7))
        yield from _with_bias(f"{stem}.norm", (latent,))
        yield from _with_bias(f"{stem}.pwconv1", (4 * latent, latent))
        yield from _with_bias(f"{stem}.pwconv2", (latent, 4 * latent))
        yield ExpectedTensor(f"{stem}.gamma", (latent,))
    yield from _with_bias("tok_dec.dec.0.conv", (decoder.width, latent, 7))
    channels = decoder.width
    for index, rate in enumerate(decoder.rates, start=1):
        stem = f"tok_dec.dec.{index}"
        yield from _snake(f"{stem}.snake", channels)
        upsampling = (channels, channels // 2, 2 * rate)  # transposed: inputs first
        channels //= 2
        yield from _with_bias(f"{stem}.conv_t", upsampling, outputs=channels)
        for unit in range(RESIDUAL_UNITS):
            yield from _snake(f"{stem}.res.{unit}.act1", channels)
            yield from _with_bias(f"{stem}.res.{unit}.conv1", (channels, channels, 7))
            yield from _snake(f"{stem}.res.{unit}.act2", channels)
            yield from _with_bias(f"{stem}.res.{unit}.conv2", (channels, channels, 1))
    last = len(decoder.rates) + 1
    yield from _snake(f"tok_dec.dec.{last}.snake", channels)
    yield from _with_bias(f"tok_dec.dec.{last + 1}.conv", (1, channels, 7))


def _pre_transformer(decoder: CodecDecoderDims) -> Iterator[ExpectedTensor]:
    inner = decoder.transformer
    yield from _with_bias("tok_dec.pre_tfm.input_proj", (inner.width, decoder.latent))
    yield from _with_bias("tok_dec.pre_tfm.output_proj", (decoder.latent, inner.width))
    yield ExpectedTensor("tok_dec.pre_tfm.norm.weight", (inner.width,))
    for index in range(inner.blocks):
        stem = f"tok_dec.pre_tfm.blk.{index}"
        yield ExpectedTensor(f"{stem}.attn_norm.weight", (inner.width,))
        yield from _attention(stem, inner)
        yield ExpectedTensor(f"{stem}.attn_scale", (inner.width,))
        yield ExpectedTensor(f"{stem}.ffn_norm.weight", (inner.width,))
        yield from _gated_feed_forward(stem, inner)
        yield ExpectedTensor(f"{stem}.ffn_scale", (inner.width,))


def _snake(stem: str, channels: int) -> Iterator[ExpectedTensor]:
    yield ExpectedTensor(f"{stem}.alpha", (channels,))
    yield ExpectedTensor(f"{stem}.beta", (channels,))


class Variant(Enum):
    """A container's overall precision: the type of its matrices and that of its embeddings."""

    F32 = (GGMLQuantizationType.F32, GGMLQuantizationType.F32)
    F16 = (GGMLQuantizationType.F16, GGMLQuantizationType.F16)
    BF16 = (GGMLQuantizationType.BF16, GGMLQuantizationType.BF16)
    Q8_0 = (GGMLQuantizationType.Q8_0, GGMLQuantizationType.Q8_0)
    Q4_K_M = (GGMLQuantizationType.Q4_K, GGMLQuantizationType.Q6_K)

    def __init__(self, matrices: GGMLQuantizationType, embeddings: GGMLQuantizationType) -> None:
        self.matrices = matrices
        self.embeddings = embeddings


def stored_type(name: str, shape: Shape, variant: Variant) -> GGMLQuantizationType:
    """The type in which a container of that variant stores this tensor.

    The policy of qwentts.cpp's `quantize`, rule for rule: vectors, residual quantisers and the
    speaker encoder's last layer stay F32; a row that does not fill whole blocks becomes F16.
    """
    if _dimensions(shape) < 2 or name.startswith(("tok_enc.vq_", "tok_dec.vq_")):
        return GGMLQuantizationType.F32
    if name == "spk_enc.fc.weight":
        return GGMLQuantizationType.F32
    embedding = ".codec_embd." in name or ".text_embd." in name
    target = variant.embeddings if embedding else variant.matrices
    block, _ = GGML_QUANT_SIZES[target]
    return target if shape[-1] % block == 0 else GGMLQuantizationType.F16


def _dimensions(shape: Shape) -> int:
    """How many dimensions ggml counts: outer sizes of one are not seen."""
    outermost = next((i for i, size in enumerate(shape) if size > 1), len(shape) - 1)
    return len(shape) - outermost
