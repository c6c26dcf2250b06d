"""The law of streaming: any cut of the frames gives the sound of the whole.

In float32 on a checkpoint of sane scales the difference stays below 1e-5; in float64 on any.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.gguf.layout import (
    CodecDecoderDims,
    CodecDims,
    CodecEncoderDims,
    Size,
    TransformerDims,
    Variant,
)
from engine.gguf.reader import GgufFile
from engine.gguf.weights import Weights
from engine.nn.conv import CausalConv1d, CausalConvTranspose1d
from engine.qwen3tts.codec.config import read_decoder_config
from engine.qwen3tts.codec.decoder import CodecDecoder
from engine.runtime import Runtime
from engine.types import Family
from tools.random_checkpoint import Choice, build_codec

TINY = CodecDims(
    encoder=CodecEncoderDims(TransformerDims(16, 32, 1, 2, 2, 8), filters=4, codebook_width=8),
    decoder=CodecDecoderDims(
        TransformerDims(24, 32, 2, 2, 2, 8), latent=16, quantizer_width=16, width=32
    ),
    codebook_size=32,
)


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> CodecDecoder:
    folder = tmp_path_factory.mktemp("codec")
    path = build_codec(folder, Choice(Size.SMALL, Family.BASE, Variant.F32, seed=11), TINY)
    return load(path)


def load(path: Path) -> CodecDecoder:
    with GgufFile.open(path) as file:
        weights = Weights(file)
        weights.skip("tok_enc.")
        config = read_decoder_config(file)
        return CodecDecoder(weights, config, Runtime(torch.device("cpu"), torch.float32))


@settings(max_examples=12)
@given(widths=st.lists(st.integers(1, 40), min_size=1, max_size=6), seed=st.integers(0, 999))
def test_streamed_equals_whole(decoder: CodecDecoder, widths: list[int], seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    codes = torch.randint(0, 32, (2, sum(widths), 16), generator=random)
    whole = decoder(codes)
    state = decoder.new_state(2)
    streamed = [decoder.step(piece, state) for piece in torch.split(codes, widths, dim=1)]
    assert whole.abs().max() > 0.01, "the test needs a sound"
    assert (torch.cat(streamed, dim=1) - whole).abs().max() <= 1e-5


@settings(max_examples=12)
@given(widths=st.lists(st.integers(1, 40), min_size=2, max_size=5))
def test_a_selected_state_goes_on_as_its_lane_would(
    decoder: CodecDecoder, widths: list[int]
) -> None:
    codes = torch.randint(0, 32, (3, sum(widths), 16), generator=torch.Generator().manual_seed(3))
    state = decoder.new_state(3)
    decoder.step(codes[:, : widths[0]], state)
    chosen = state.select(torch.tensor([2, 0, 2]))
    rest = decoder.step(codes[:, widths[0] :], state)
    again = decoder.step(codes[[2, 0, 2], widths[0] :], chosen)
    assert (again - rest[[2, 0, 2]]).abs().max() <= 1e-5


@given(
    kernel=st.integers(1, 9),
    dilation=st.integers(1, 9),
    widths=st.lists(st.integers(1, 30), min_size=1, max_size=8),
)
def test_causal_convolution(kernel: int, dilation: int, widths: list[int]) -> None:
    random = torch.Generator().manual_seed(kernel * 100 + dilation)
    layer = CausalConv1d(
        torch.randn(3, 2, kernel, dtype=torch.float64, generator=random),
        torch.randn(3, dtype=torch.float64, generator=random),
        dilation=dilation,
    )
    x = torch.randn(2, 2, sum(widths), dtype=torch.float64, generator=random)
    state = layer.new_state(2)
    streamed = torch.cat([layer.step(piece, state) for piece in torch.split(x, widths, -1)], -1)
    assert streamed.shape[-1] == x.shape[-1]
    assert (streamed - layer(x)).abs().max() <= 1e-12


@given(
    stride=st.integers(1, 9),
    extra=st.integers(0, 20),
    widths=st.lists(st.integers(1, 12), min_size=1, max_size=8),
)
def test_transposed_convolution(stride: int, extra: int, widths: list[int]) -> None:
    random = torch.Generator().manual_seed(stride * 100 + extra)
    layer = CausalConvTranspose1d(
        torch.randn(2, 3, stride + extra, dtype=torch.float64, generator=random),
        torch.randn(3, dtype=torch.float64, generator=random),
        stride=stride,
    )
    x = torch.randn(1, 2, sum(widths), dtype=torch.float64, generator=random)
    state = layer.new_state(1)
    streamed = torch.cat([layer.step(piece, state) for piece in torch.split(x, widths, -1)], -1)
    assert streamed.shape[-1] == x.shape[-1] * stride
    assert (streamed - layer(x)).abs().max() <= 1e-12
    plain = torch.nn.functional.conv_transpose1d(x, layer.weight, layer.bias, stride=stride)
    assert (plain[..., : streamed.shape[-1]] - layer(x)).abs().max() <= 1e-12
