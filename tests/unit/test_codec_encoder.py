"""Encoding in pieces equals encoding the whole, and the length rules are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from engine.errors import AudioFileError, Cancelled, ModelFileError
from engine.gguf.reader import GgufFile
from engine.nn.strided import RepeatedEdges, StridedCausalConv1d
from engine.qwen3tts.codec.encoder import (
    PIECE_FRAMES,
    CodecEncoder,
    build_codec_encoder,
)
from engine.qwen3tts.codec.encoder_config import read_encoder_config
from engine.runtime import Runtime
from engine.types import CancelToken, LengthRule

TOKENIZER = "qwen-tokenizer-12hz-F32.gguf"
FRAME = 1920


def load_encoder(data: Path) -> CodecEncoder:
    with GgufFile.open(data / TOKENIZER) as file:
        return build_codec_encoder(file, Runtime(torch.device("cpu"), torch.float32))


@pytest.fixture(scope="module")
def encoder(data: Path) -> CodecEncoder:
    return load_encoder(data)


def noise(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.randn(*shape, generator=generator, dtype=dtype) * 0.1


@st.composite
def strided(draw: st.DrawFn) -> tuple[StridedCausalConv1d, list[int]]:
    """A convolution, and the lengths of pieces that it may be given."""
    stride = draw(st.integers(1, 5))
    kernel = stride + draw(st.integers(0, 6))
    whole = draw(st.lists(st.integers(1, 4), max_size=5))
    last = draw(st.integers(1, 3 * stride))
    weight = noise(2, 3, kernel, dtype=torch.float64)
    bias = noise(2, dtype=torch.float64) if draw(st.booleans()) else None
    conv = StridedCausalConv1d(weight, bias, stride=stride)
    return conv, [*(count * stride for count in whole), last]


@given(strided(), st.booleans())
def test_strided_convolution_in_pieces(
    drawn: tuple[StridedCausalConv1d, list[int]], repeated: bool
) -> None:
    conv, lengths = drawn
    layer = RepeatedEdges(conv) if repeated else conv
    x = noise(2, 3, sum(lengths), dtype=torch.float64)
    state: Any = layer.new_state(2)
    pieces = [layer.step(piece, state) for piece in torch.split(x, lengths, dim=-1)]
    torch.testing.assert_close(torch.cat(pieces, dim=-1), layer(x), rtol=0, atol=1e-12)


@given(strided(), st.booleans())
def test_strided_convolution_pads_as_mimi_does(
    drawn: tuple[StridedCausalConv1d, list[int]], repeated: bool
) -> None:
    """Against the padding rule as it is written, with one convolution over all of it."""
    conv, lengths = drawn
    length, stride, kernel = sum(lengths), conv.stride, conv.weight.shape[2]
    left = kernel - stride
    frames = -(-(length - kernel + left) // stride)
    extra = frames * stride + kernel - left - length
    x = noise(1, 3, length, dtype=torch.float64)
    padded = F.pad(x, (left, extra), mode="replicate" if repeated else "constant")
    layer = RepeatedEdges(conv) if repeated else conv
    wanted = F.conv1d(padded, conv.weight, conv.bias, stride=stride)
    torch.testing.assert_close(layer(x), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("frames", [(1, 1, 1, 1, 1, 1, 1), (3, 4), (1, 6), (6, 1)], ids=str)
def test_pieces_make_the_stages_of_the_whole(
    encoder: CodecEncoder, frames: tuple[int, ...]
) -> None:
    lengths = [count * FRAME for count in frames]
    lengths[-1] -= 500
    samples = noise(1, sum(lengths))
    whole: dict[str, Tensor] = {}
    encoder.step(samples, encoder.new_state(samples.shape[1]), whole.__setitem__)

    told: dict[str, list[Tensor]] = {}
    state = encoder.new_state(samples.shape[1])
    for piece in torch.split(samples, lengths, dim=1):
        encoder.step(piece, state, lambda name, x: told.setdefault(name, []).append(x))
    assert told.keys() == whole.keys()
    for name, parts in told.items():
        torch.testing.assert_close(torch.cat(parts), whole[name], rtol=0, atol=1e-5)


def test_many_attention_rows_equal_few(encoder: CodecEncoder) -> None:
    """Longer than the rows computed at once, in pieces that are not aligned with them."""
    x = noise(1, encoder.config.width, 300)
    transformer = encoder.transformer
    whole = transformer.step(x, transformer.new_state(1, 300))
    state = transformer.new_state(1, 300)
    pieces = [transformer.step(piece, state) for piece in torch.split(x, [1, 130, 150, 19], dim=-1)]
    torch.testing.assert_close(torch.cat(pieces, dim=-1), whole, rtol=0, atol=1e-5)


def test_attention_reaches_back_to_the_first_position(encoder: CodecEncoder) -> None:
    x = noise(1, encoder.config.width, 300)
    other = x.clone()
    other[..., 0] *= -1  # a constant would vanish in the norm
    transformer = encoder.transformer
    first, second = (transformer.step(each, transformer.new_state(1, 300)) for each in (x, other))
    assert (first[..., -1] - second[..., -1]).abs().max() > 1e-4


def test_long_recordings_are_encoded_in_pieces(encoder: CodecEncoder) -> None:
    samples = noise((2 * PIECE_FRAMES + 3) * FRAME + 17)
    codes = encoder.encode(samples)
    assert codes.shape == (2 * PIECE_FRAMES + 4, encoder.config.codebooks)
    whole = encoder.encode(samples, probe=lambda name, x: None)
    assert (codes == whole).float().mean() > 0.999  # a near tie may go either way
    torch.testing.assert_close(encoder.encode(samples), codes, rtol=0, atol=0)


def test_a_state_can_be_copied_to_other_lanes(encoder: CodecEncoder) -> None:
    start, ends = noise(1, 2 * FRAME), noise(3, 3 * FRAME)
    state = encoder.new_state(5 * FRAME)
    encoder.step(start, state)
    lanes = state.select(torch.tensor([0, 0, 0]))
    together = encoder.step(ends, lanes)
    for lane, end in enumerate(ends):
        alone = encoder.step(end[None], state.select(torch.tensor([0])))
        assert torch.equal(together[lane], alone[0])


def test_stages_are_told_by_name_and_whole(encoder: CodecEncoder) -> None:
    told: dict[str, tuple[int, ...]] = {}
    encoder.encode(
        noise(2 * FRAME + 1), probe=lambda name, x: told.__setitem__(name, tuple(x.shape))
    )
    assert told == {
        "seanet-init": (3841, 4),
        "seanet-resnet0": (3841, 4),
        "seanet-stage0": (961, 8),
        "seanet-resnet1": (961, 8),
        "seanet-stage1": (193, 16),
        "seanet-resnet2": (193, 16),
        "seanet-stage2": (33, 32),
        "seanet-resnet3": (33, 32),
        "seanet-stage3": (5, 64),
        "seanet-out": (5, 32),
        "enc-transformer-out": (5, 32),
        "codec-pre-fsq": (3, 32),
    }


@pytest.mark.parametrize(
    ("rule", "samples", "frames"),
    [
        (LengthRule.OFFICIAL, 1, 1),
        (LengthRule.OFFICIAL, FRAME, 1),
        (LengthRule.OFFICIAL, FRAME + 1, 2),
        (LengthRule.WHOLE_FRAMES, FRAME, 1),
        (LengthRule.WHOLE_FRAMES, 2 * FRAME - 1, 1),
        (LengthRule.WHOLE_FRAMES, 2 * FRAME, 2),
    ],
)
def test_length_rules(encoder: CodecEncoder, rule: LengthRule, samples: int, frames: int) -> None:
    codes = encoder.encode(noise(samples), rule)
    assert codes.shape == (frames, encoder.config.codebooks)
    assert codes.dtype == torch.int64
    assert 0 <= int(codes.min()) <= int(codes.max()) < encoder.config.codebook_size


def test_left_out_samples_do_not_count(encoder: CodecEncoder) -> None:
    samples = noise(3 * FRAME - 1)
    codes = encoder.encode(samples, LengthRule.WHOLE_FRAMES)
    assert torch.equal(codes, encoder.encode(samples[: 2 * FRAME]))


@pytest.mark.parametrize(
    ("rule", "samples", "least"),
    [(LengthRule.OFFICIAL, 0, 1), (LengthRule.WHOLE_FRAMES, FRAME - 1, FRAME)],
)
def test_too_short_recordings_are_refused(
    encoder: CodecEncoder, rule: LengthRule, samples: int, least: int
) -> None:
    with pytest.raises(AudioFileError, match=rf"has {samples} samples.*needs {least} at least"):
        encoder.encode(noise(samples), rule)


def test_encoding_can_be_cancelled(encoder: CodecEncoder) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        encoder.encode(noise(FRAME), cancel=cancel)


def test_equal_distances_choose_the_first_code(data: Path) -> None:
    encoder = load_encoder(data)
    quantizer = encoder.quantizer.semantic
    latent = noise(1, encoder.config.width, 1)
    quantizer.codebooks.data[0, [3, 9, 40]] = quantizer.projection(latent)[0, :, 0]
    assert quantizer(latent).item() == 3


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("encode_downsample_rate", 960),
        ("encoder.num_key_value_heads", 2),
        ("encoder.num_semantic_quantizers", 2),
        ("encoder.num_residual_layers", 2),
        ("encoder.hidden_size", 0),
        ("encoder.head_dim", 7),
        ("encoder_valid_num_quantizers", 1),
        ("encoder.rope_theta", 0),
        # what the other half says
        ("decoder.num_quantizers", 8),
        ("decoder.codebook_size", 32),
        ("output_sample_rate", 48000),
        ("decode_upsample_rate", 960),
    ],
)
def test_impossible_metadata_is_refused(data: Path, tmp_path: Path, key: str, value: int) -> None:
    name = f"qwen3-tts-tokenizer.{key}"
    path = tmp_path / "tokenizer.gguf"
    writer = gguf.GGUFWriter(path, "qwen3-tts-tokenizer")
    with GgufFile.open(data / TOKENIZER) as file:
        entries = dict(file.metadata)
    entries[name] = value
    for entry, known in entries.items():
        if isinstance(known, int):
            writer.add_uint32(entry, known)
        elif isinstance(known, float):
            writer.add_float32(entry, known)
        elif isinstance(known, tuple):
            writer.add_array(entry, list(known))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with GgufFile.open(path) as file, pytest.raises(ModelFileError, match=f"{value} for {name}"):
        read_encoder_config(file)


def test_a_talker_is_no_tokenizer(data: Path) -> None:
    with (
        GgufFile.open(data / "qwen-talker-1.7b-base-F32.gguf") as file,
        pytest.raises(ModelFileError, match="not an audio tokenizer"),
    ):
        read_encoder_config(file)
