"""From codes to sound: whole, in chunks, or piece by piece with carried state.

Every operation sees only the past, so the streamed signal equals the whole one but for rounding.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.gguf.reader import GgufFile
from engine.gguf.weights import Weights
from engine.nn.conv import CausalConv1d, CausalConvTranspose1d, SnakeBeta
from engine.nn.pipeline import Pipeline, StreamingLayer
from engine.nn.state import History, Stack, State, Stateless
from engine.nn.waves import Residual, WaveLayer
from engine.qwen3tts.codec.config import DecoderConfig, read_decoder_config
from engine.qwen3tts.codec.transformer import WindowedTransformer
from engine.runtime import Runtime
from engine.types import CancelToken, Progress

RESIDUAL_DILATIONS = (1, 3, 9)
NOT_NEEDED = ("tok_enc.",)  # the half that turns sound into codes
CONV_NEXT_EPS = 1e-6


class CodeEmbedding(nn.Module):
    """Residual vector quantiser, decoding side: the entries of all codebooks, summed."""

    def __init__(self, weights: Weights, prefix: str, config: DecoderConfig, runtime: Runtime):
        super().__init__()

        def codebooks(name: str, count: int) -> Tensor:  # [count, size, width]
            tables: list[Tensor] = []
            for book in range(count):
                width = tables[0].shape[1] if tables else None
                stored = weights.take(
                    f"{prefix}.{name}.{book}.codebook", (config.codebook_size, width)
                )
                tables.append(runtime.tensor(stored))
            return torch.stack(tables)

        def projection(name: str, width: int) -> CausalConv1d:
            stored = weights.take(
                f"{prefix}.{name}.output_proj.weight", (config.code_width, width, 1)
            )
            return CausalConv1d(runtime.tensor(stored), None)

        first, rest = codebooks("vq_first", 1), codebooks("vq_rest", config.codebooks - 1)
        self.first = nn.Parameter(first[0], requires_grad=False)  # [size, width]
        self.rest = nn.Parameter(rest, requires_grad=False)  # [codebooks - 1, size, width]
        self.first_projection = projection("vq_first", first.shape[2])
        self.rest_projection = projection("vq_rest", rest.shape[2])

    def new_state(self, batch: int) -> Stateless:
        return Stateless()

    def step(self, codes: Tensor, state: State) -> Tensor:
        """Codes [B, T, codebooks] -> [B, code width, T]."""
        books = torch.arange(self.rest.shape[0], device=codes.device)
        rest = self.rest[books, codes[..., 1:]].sum(dim=2)  # [B, T, width]
        semantic = self.first_projection(self.first[codes[..., 0]].transpose(1, 2))
        latent: Tensor = semantic + self.rest_projection(rest.transpose(1, 2))
        return latent


class ConvNext(nn.Module):
    """Depthwise causal convolution and a pointwise MLP around a residual (Liu et al. 2022)."""

    def __init__(self, weights: Weights, prefix: str, width: int, runtime: Runtime) -> None:
        super().__init__()
        take = weights.take
        inner = weights.shape(f"{prefix}.pwconv1.weight")[0]
        self.depthwise = CausalConv1d(
            runtime.tensor(take(f"{prefix}.dwconv.weight", (width, 1, None))),
            runtime.tensor(take(f"{prefix}.dwconv.bias", (width,))),
            groups=width,
        )
        self.norm = runtime.layer_norm(weights, f"{prefix}.norm", width, CONV_NEXT_EPS)
        self.inner = runtime.linear(
            (take(f"{prefix}.pwconv1.weight", (inner, width)),),
            take(f"{prefix}.pwconv1.bias", (inner,)),
        )
        self.outer = runtime.linear(
            (take(f"{prefix}.pwconv2.weight", (width, inner)),),
            take(f"{prefix}.pwconv2.bias", (width,)),
        )
        self.scale = nn.Parameter(
            runtime.tensor(take(f"{prefix}.gamma", (width,))), requires_grad=False
        )

    def new_state(self, batch: int) -> History:
        return self.depthwise.new_state(batch)

    def step(self, x: Tensor, state: History) -> Tensor:  # [B, width, T] -> the same
        y = self.norm(self.depthwise.step(x, state).transpose(1, 2))
        y = self.scale * self.outer(F.gelu(self.inner(y)))
        mixed: Tensor = x + y.transpose(1, 2)
        return mixed


class CodecDecoder(nn.Module):
    """Weights `tok_dec.*` of a tokenizer file: codes [B, T, codebooks] -> samples [B, n]."""

    def __init__(self, weights: Weights, config: DecoderConfig, runtime: Runtime) -> None:
        super().__init__()
        self.config = config
        pre_conv = _conv(weights, "tok_dec.pre_conv", (config.latent, config.code_width), runtime)
        stages: list[StreamingLayer] = [
            CodeEmbedding(weights, "tok_dec", config, runtime),
            runtime.wave_runner([WaveLayer(pre_conv)]),
            WindowedTransformer(weights, "tok_dec.pre_tfm", config, runtime),
        ]
        for index, factor in enumerate(config.upsampling):
            prefix = f"tok_dec.upsample.{index}"
            shape = (config.latent, config.latent, factor)
            conv = _conv_transpose(weights, f"{prefix}.conv", shape, factor, runtime)
            stages.append(runtime.wave_runner([WaveLayer(conv)]))
            stages.append(ConvNext(weights, prefix, config.latent, runtime))
        stages.append(runtime.wave_runner(_wave_layers(weights, config, runtime)))
        self.stages = Pipeline(stages)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def left_context(self) -> int:
        """Frames before a chunk that are decoded with it, so that its start sounds as in the whole.

        Two attention windows; the exact reach is longer, but what lies there hardly counts.
        """
        return 2 * self.config.window

    def new_state(self, batch: int = 1) -> Stack:
        """The state before the first frame."""
        return self.stages.new_state(batch)

    @torch.inference_mode()
    def step(self, codes: Tensor, state: Stack) -> Tensor:
        """Decode the next frames [B, T, codebooks] -> [B, T * frame_samples]; moves `state` on."""
        return self.stages.step(codes, state)[:, 0].clamp(-1, 1)

    def forward(self, codes: Tensor) -> Tensor:
        """Decode whole utterances [B, T, codebooks] -> [B, T * frame_samples]."""
        return self.step(codes, self.new_state(codes.shape[0]))

    def decode_chunked(self, codes: Tensor, chunk: int) -> Tensor:
        """As `forward`, `chunk` frames at a time, each after its left context and without state.

        Chunks can be decoded apart from each other, in any order or on several machines.
        """
        pieces = []
        for start in range(0, codes.shape[1], chunk):
            context = min(start, self.left_context)
            sound = self(codes[:, start - context : start + chunk])
            pieces.append(sound[:, context * self.config.frame_samples :])
        return torch.cat(pieces, dim=1)


def build_codec_decoder(
    file: GgufFile,
    runtime: Runtime,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> CodecDecoder:
    """The decoder of an open tokenizer file, in float32 but for what is stored in less.

    Raises ModelFileError and Cancelled.
    """
    config = read_decoder_config(file)
    weights = Weights(file, progress, cancel)
    for prefix in NOT_NEEDED:
        weights.skip(prefix)
    decoder = CodecDecoder(weights, config, runtime.without_rounding())
    weights.finish()
    return decoder


def _wave_layers(weights: Weights, config: DecoderConfig, runtime: Runtime) -> Iterator[WaveLayer]:
    """Weights `tok_dec.dec.*`: [B, latent, T] -> [B, 1, T * strides], read as they are asked for.

    A convolution; for each stride a transposed one, which halves the channels, and residual units
    of a dilated and a pointwise convolution; and one to a single channel. Snakes stand before all
    but the first.
    """
    prefix, channels = "tok_dec.dec", config.channels
    yield WaveLayer(_conv(weights, f"{prefix}.0.conv", (channels, config.latent), runtime))
    for index, stride in enumerate(config.strides, 1):
        stage, half = f"{prefix}.{index}", channels // 2
        shape = (channels, half, 2 * stride)
        yield WaveLayer(
            _conv_transpose(weights, f"{stage}.conv_t", shape, stride, runtime),
            _snake(weights, f"{stage}.snake", channels, runtime),
            Residual.KEPT,
        )
        for number, dilation in enumerate(RESIDUAL_DILATIONS):
            unit, size = f"{stage}.res.{number}", (half, half)
            yield WaveLayer(
                _conv(weights, f"{unit}.conv1", size, runtime, dilation=dilation),
                _snake(weights, f"{unit}.act1", half, runtime),
            )
            yield WaveLayer(
                _conv(weights, f"{unit}.conv2", size, runtime, kernel=1),
                _snake(weights, f"{unit}.act2", half, runtime),
                Residual.ADDED,
            )
        channels = half
    last = len(config.strides) + 1
    yield WaveLayer(
        _conv(weights, f"{prefix}.{last + 1}.conv", (1, channels), runtime),
        _snake(weights, f"{prefix}.{last}.snake", channels, runtime),
    )


def _snake(weights: Weights, prefix: str, channels: int, runtime: Runtime) -> SnakeBeta:
    return SnakeBeta(
        runtime.tensor(weights.take(f"{prefix}.alpha", (channels,))),
        runtime.tensor(weights.take(f"{prefix}.beta", (channels,))),
    )


def _conv(
    weights: Weights,
    prefix: str,
    size: tuple[int, int],
    runtime: Runtime,
    *,
    kernel: int | None = None,
    dilation: int = 1,
) -> CausalConv1d:
    return CausalConv1d(
        runtime.tensor(weights.take(f"{prefix}.weight", (*size, kernel))),
        runtime.tensor(weights.take(f"{prefix}.bias", size[:1])),
        dilation=dilation,
    )


def _conv_transpose(
    weights: Weights, prefix: str, shape: tuple[int, int, int], stride: int, runtime: Runtime
) -> CausalConvTranspose1d:
    return CausalConvTranspose1d(
        runtime.tensor(weights.take(f"{prefix}.weight", shape)),
        runtime.tensor(weights.take(f"{prefix}.bias", shape[1:2])),
        stride=stride,
    )
