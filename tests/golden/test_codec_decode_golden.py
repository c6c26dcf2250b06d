"""Decoded sound against the official decoder, and streamed decoding against whole decoding.

2e-4 is what two right float32 orders of evaluation keep on this checkpoint, whose random weights
enlarge rounding: a last-bit change of the codebook sums alone moves its sound by 4e-5, so streamed
equality is shown in float64 here, and to 1e-5 in float32 on a well-conditioned one (unit tests).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.gguf.reader import GgufFile
from engine.gguf.weights import Weights
from engine.qwen3tts.codec.config import read_decoder_config
from engine.qwen3tts.codec.decoder import CodecDecoder
from engine.qwen3tts.codec.priming import PrimedStates
from engine.runtime import Runtime
from engine.types import CancelToken
from tests.golden.conftest import CODEC, Golden

TOLERANCE = 2e-4
CASES = ("T1", "T7", "T60", "T400")


def codes_of(case: Golden, key: str) -> Tensor:
    """Golden codes [codebooks, T] as the decoder takes them, [1, T, codebooks]."""
    return torch.from_numpy(case.arrays[key].astype(np.int64)).T[None]


def load_decoder(data: Path, dtype: torch.dtype) -> CodecDecoder:
    with GgufFile.open(data / CODEC) as file:
        weights = Weights(file)
        weights.skip("tok_enc.")
        config = read_decoder_config(file)
        decoder = CodecDecoder(weights, config, Runtime(torch.device("cpu"), dtype))
        weights.finish()
    return decoder


@pytest.fixture(scope="module")
def decoder(data: Path) -> CodecDecoder:
    return load_decoder(data, torch.float32)


def stream(decoder: CodecDecoder, codes: Tensor, widths: list[int]) -> Tensor:
    state = decoder.new_state()
    pieces = torch.split(codes, widths, dim=1)
    return torch.cat([decoder.step(piece, state) for piece in pieces], dim=1)


def compare(golden: NDArray[Any], mine: NDArray[np.float32]) -> float:
    return float(np.abs(golden.ravel() - mine).max())


@pytest.mark.parametrize("name", CASES)
def test_whole_decode(name: str, golden: Callable[[str], Golden], decoder: CodecDecoder) -> None:
    arrays = golden("codec_decode").arrays
    sound = decoder(codes_of(golden("codec_decode"), f"{name}.codes"))[0].numpy()
    if f"{name}.wav" in arrays:
        assert compare(arrays[f"{name}.wav"], sound) <= TOLERANCE
        return
    assert sound.size == arrays[f"{name}.n"]
    head, tail = arrays[f"{name}.head"], arrays[f"{name}.tail"]
    assert compare(head, sound[: head.size]) <= TOLERANCE
    assert compare(tail, sound[-tail.size :]) <= TOLERANCE
    assert compare(arrays[f"{name}.stride37"], sound[::37]) <= TOLERANCE


@pytest.mark.parametrize("name", ["own_codec_decode"])
def test_own_decode_cases(
    name: str, golden: Callable[[str], Golden], decoder: CodecDecoder
) -> None:
    case = golden(name)
    keys = [key.removesuffix(".codes") for key in case.arrays if key.endswith(".codes")]
    assert keys
    for key in keys:
        sound = decoder(codes_of(case, f"{key}.codes"))[0].numpy()
        for part, mine in (
            ("wav", sound),
            ("head", sound[: 4 * 1920]),
            ("tail", sound[-2 * 1920 :]),
            ("stride37", sound[::37]),
        ):
            if f"{key}.{part}" in case.arrays:
                assert compare(case.arrays[f"{key}.{part}"], mine) <= TOLERANCE, (key, part)


@pytest.mark.parametrize("widths", [[1] * 60, [1, 2, 4, 8, 8, 8, 8, 8, 8, 5], [59, 1], [60]])
def test_streamed_equals_whole(
    widths: list[int], data: Path, golden: Callable[[str], Golden], decoder: CodecDecoder
) -> None:
    codes = codes_of(golden("codec_decode"), "T60.codes")
    assert (stream(decoder, codes, widths) - decoder(codes)).abs().max() <= TOLERANCE
    exact = load_decoder(data, torch.float64)
    assert (stream(exact, codes, widths) - exact(codes)).abs().max() <= 1e-11


def test_chunked_decode_keeps_the_left_context(
    golden: Callable[[str], Golden], decoder: CodecDecoder
) -> None:
    case = golden("codec_decode")
    sound = decoder.decode_chunked(codes_of(case, "T400.codes"), 300)[0].numpy()
    middle = sound[300 * 1920 : 306 * 1920]
    assert decoder.left_context == 144
    assert compare(case.arrays["T400.chunked_left144.mid"], middle) <= TOLERANCE
    assert compare(case.arrays["T400.chunked_left144.tail"], sound[-2 * 1920 :]) <= TOLERANCE


@pytest.mark.parametrize("name", ["exact", "offby1"])
def test_reference_primes_the_decoder(
    name: str, golden: Callable[[str], Golden], decoder: CodecDecoder
) -> None:
    case = golden("codec_icl_trim")
    frames = case.facts["info"][name]["ref_frames"]
    reference = codes_of(case, "ref_codes")[0, :frames]
    state = PrimedStates(decoder).behind(reference, 1, CancelToken())
    sound = decoder.step(codes_of(case, f"{name}.gen_codes"), state)[0].numpy()
    assert compare(case.arrays[f"{name}.wav_exact_cut"], sound) <= TOLERANCE
