"""The tensor lists against the official containers, and the random checkpoints built from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Stored
from gguf.quants import dequantize
from numpy.typing import NDArray

from engine.errors import ModelFileError
from engine.gguf.layout import (
    CodecDecoderDims,
    CodecDims,
    CodecEncoderDims,
    Shape,
    Size,
    SpeakerEncoderDims,
    TalkerDims,
    TransformerDims,
    Variant,
    codec_tensors,
    official_talker,
    stored_type,
    talker_tensors,
)
from engine.gguf.reader import GgufFile
from engine.types import Family
from tools.checkpoint_metadata import codec_metadata, talker_metadata
from tools.random_checkpoint import (
    Choice,
    Draw,
    Outliers,
    build_codec,
    build_talker,
    open_vocabulary,
)

DATA = Path(__file__).parents[1] / "golden" / "data"
PREDICTOR = TransformerDims(64, 96, 2, 4, 2, 16)

# The dimensions of the small reference checkpoints.
TINY_BASE = TalkerDims(
    talker=TransformerDims(80, 128, 2, 4, 2, 16),
    predictor=PREDICTOR,
    speaker_encoder=SpeakerEncoderDims(80, channels=16, squeeze=20, attention=12),
    text_vocabulary=857,
    text_width=64,
    codec_vocabulary=1088,
    codebook_size=64,
    talker_context=4096,
)
TINY_CUSTOM_VOICE = replace(
    TINY_BASE,
    talker=TransformerDims(64, 128, 2, 4, 2, 32),
    speaker_encoder=None,
    text_width=48,
)
TINY_VOICE_DESIGN = replace(
    TINY_CUSTOM_VOICE,
    talker=TransformerDims(64, 80, 3, 3, 1, 24),
    predictor=TransformerDims(56, 72, 2, 4, 2, 12),
    text_width=40,
)
TINY_CODEC = CodecDims(
    encoder=CodecEncoderDims(
        TransformerDims(32, 64, 2, 4, 4, 8), filters=4, codebook_width=16, declared_quantizers=20
    ),
    decoder=CodecDecoderDims(
        TransformerDims(32, 64, 2, 4, 4, 8), latent=48, quantizer_width=32, width=64
    ),
    codebook_size=64,
)

TINY_TALKERS = [
    ("qwen-talker-1.7b-base-F32.gguf", Size.LARGE, Family.BASE, TINY_BASE),
    ("qwen-talker-0.6b-customvoice-F32.gguf", Size.SMALL, Family.CUSTOM_VOICE, TINY_CUSTOM_VOICE),
    ("qwen-talker-1.7b-voicedesign-F32.gguf", Size.LARGE, Family.VOICE_DESIGN, TINY_VOICE_DESIGN),
]


@pytest.fixture
def vocabulary() -> Iterator[GgufFile]:
    with GgufFile.open(DATA / "qwen-talker-1.7b-base-F32.gguf") as file:
        yield file


def shapes(file: GgufFile) -> dict[str, Shape]:
    return {name: info.shape for name, info in file.tensors.items()}


def values(file: GgufFile, name: str) -> NDArray[np.float32]:
    info = file.tensors[name]
    stored = np.empty(info.nbytes, np.uint8)
    file.read(info, 0, stored.data)
    rows = stored.reshape(*info.shape[:-1], -1)
    return dequantize(rows, Stored(int(info.type))).reshape(info.shape)


@pytest.mark.parametrize(
    ("size", "family", "count"),
    [
        (Size.SMALL, Family.BASE, 478),
        (Size.SMALL, Family.CUSTOM_VOICE, 402),
        (Size.LARGE, Family.BASE, 480),
        (Size.LARGE, Family.CUSTOM_VOICE, 404),
        (Size.LARGE, Family.VOICE_DESIGN, 404),
    ],
)
def test_official_talkers_have_the_known_number_of_tensors(
    size: Size, family: Family, count: int
) -> None:
    names = [name for name, _ in talker_tensors(official_talker(size, family))]
    assert len(names) == len(set(names)) == count


def test_the_official_codec_has_the_known_number_of_tensors() -> None:
    names = [name for name, _ in codec_tensors(CodecDims())]
    assert len(names) == len(set(names)) == 398


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("talker.text_embd.weight", (151936, 2048)),
        ("talker.text_proj.fc2.weight", (2048, 2048)),
        ("talker.blk.27.ffn_down.weight", (2048, 6144)),
        ("talker.blk.0.attn_k.weight", (1024, 2048)),
        ("code_pred.codec_embd.14.weight", (2048, 2048)),
        ("code_pred.lm_head.14.weight", (2048, 1024)),
        ("code_pred.mtp_proj.weight", (1024, 2048)),
        ("spk_enc.asp.tdnn.weight", (128, 4608, 1)),
        ("spk_enc.fc.weight", (2048, 3072, 1)),
    ],
)
def test_shapes_of_the_large_base_talker(name: str, shape: Shape) -> None:
    assert dict(talker_tensors(official_talker(Size.LARGE, Family.BASE)))[name] == shape


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("tok_enc.res.10.blk.1.weight", (256, 512, 3)),
        ("tok_enc.conv.12.weight", (1024, 512, 16)),
        ("tok_enc.conv.14.weight", (512, 1024, 3)),
        ("tok_enc.vq_acoustic.14.codebook", (2048, 256)),
        ("tok_dec.vq_first.output_proj.weight", (512, 256, 1)),
        ("tok_dec.upsample.1.dwconv.weight", (1024, 1, 7)),
        ("tok_dec.dec.1.conv_t.weight", (1536, 768, 16)),
        ("tok_dec.dec.4.conv_t.bias", (96,)),
        ("tok_dec.dec.6.conv.weight", (1, 96, 7)),
    ],
)
def test_shapes_of_the_codec(name: str, shape: Shape) -> None:
    assert dict(codec_tensors(CodecDims()))[name] == shape


@pytest.mark.parametrize(("file_name", "size", "family", "dims"), TINY_TALKERS)
def test_a_talker_has_the_tensors_and_metadata_of_the_reference(
    file_name: str, size: Size, family: Family, dims: TalkerDims, vocabulary: GgufFile
) -> None:
    with GgufFile.open(DATA / file_name) as reference:
        assert dict(talker_tensors(dims)) == shapes(reference)
        metadata = talker_metadata(size, family, dims, Variant.F32, vocabulary)
        assert [key for key, _ in metadata] == list(reference.metadata)
        assert as_stored(dict(metadata)) == reference.metadata


def test_a_codec_has_the_tensors_and_metadata_of_the_reference() -> None:
    with GgufFile.open(DATA / "qwen-tokenizer-12hz-F32.gguf") as reference:
        assert dict(codec_tensors(TINY_CODEC)) == shapes(reference)
        metadata = codec_metadata(TINY_CODEC, Variant.F32)
        assert [key for key, _ in metadata] == list(reference.metadata)
        assert as_stored(dict(metadata)) == reference.metadata


def as_stored(metadata: dict[str, object]) -> dict[str, object]:
    """Metadata with its floats rounded to the 32 bits of the container."""
    return {
        key: float(np.float32(value)) if isinstance(value, float) else value
        for key, value in metadata.items()
    }


# Rows: a tensor of each group; columns: its type in F32, F16, BF16, Q8_0 and Q4_K_M.
VARIANTS = [Variant.F32, Variant.F16, Variant.BF16, Variant.Q8_0, Variant.Q4_K_M]
EMBEDDING = [Stored.F32, Stored.F16, Stored.BF16, Stored.Q8_0, Stored.Q6_K]
MATRIX = [Stored.F32, Stored.F16, Stored.BF16, Stored.Q8_0, Stored.Q4_K]
CONVOLUTION = [Stored.F32, Stored.F16, Stored.BF16, Stored.F16, Stored.F16]
PLAIN = [Stored.F32] * 5
POLICY = [
    ("talker.text_embd.weight", EMBEDDING),
    ("talker.codec_embd.weight", EMBEDDING),
    ("code_pred.codec_embd.0.weight", EMBEDDING),
    ("talker.blk.0.attn_q.weight", MATRIX),
    ("talker.blk.0.ffn_down.weight", MATRIX),
    ("talker.text_proj.fc1.weight", MATRIX),
    ("talker.codec_head.weight", MATRIX),
    ("code_pred.lm_head.0.weight", MATRIX),
    ("code_pred.mtp_proj.weight", MATRIX),
    ("code_pred.blk.0.attn_v.weight", MATRIX),
    ("talker.blk.0.attn_norm.weight", PLAIN),
    ("talker.blk.0.attn_q_norm.weight", PLAIN),
    ("talker.text_proj.fc1.bias", PLAIN),
    ("spk_enc.conv0.weight", CONVOLUTION),
    ("spk_enc.blk.1.res2net.0.weight", CONVOLUTION),
    ("spk_enc.blk.1.tdnn1.weight", CONVOLUTION),
    ("spk_enc.fc.weight", PLAIN),
    ("tok_enc.vq_semantic.0.codebook", PLAIN),
    ("tok_enc.vq_acoustic.input_proj.weight", PLAIN),
    ("tok_dec.vq_rest.3.codebook", PLAIN),
    ("tok_dec.vq_first.output_proj.weight", PLAIN),
    ("tok_dec.dec.1.snake.alpha", PLAIN),
    ("tok_dec.upsample.0.gamma", PLAIN),
    ("tok_enc.blk.0.attn_scale", PLAIN),
    ("tok_enc.conv.0.weight", CONVOLUTION),
    ("tok_enc.conv.12.weight", CONVOLUTION),  # its 16 wide kernel fills no block either
    ("tok_enc.downsample.weight", CONVOLUTION),
    ("tok_dec.upsample.0.conv.weight", CONVOLUTION),
    ("tok_dec.upsample.0.dwconv.weight", CONVOLUTION),
    ("tok_dec.dec.1.conv_t.weight", CONVOLUTION),
    ("tok_dec.dec.1.res.0.conv2.weight", CONVOLUTION),
    ("tok_dec.dec.6.conv.weight", CONVOLUTION),
    ("tok_enc.blk.0.ffn_up.weight", MATRIX),
    ("tok_dec.pre_tfm.input_proj.weight", MATRIX),
    ("tok_dec.upsample.0.pwconv1.weight", MATRIX),
]


@pytest.mark.parametrize(("name", "types"), POLICY)
def test_quantisation_policy(name: str, types: list[Stored]) -> None:
    talker = dict(talker_tensors(official_talker(Size.LARGE, Family.BASE)))
    shape = {**talker, **dict(codec_tensors(CodecDims()))}[name]
    assert [stored_type(name, shape, variant) for variant in VARIANTS] == types


def test_rows_that_fill_no_block_become_f16() -> None:
    name = "talker.blk.0.attn_q.weight"
    assert stored_type(name, (64, 80), Variant.Q8_0) is Stored.F16
    assert stored_type(name, (64, 96), Variant.Q8_0) is Stored.Q8_0
    assert stored_type(name, (64, 96), Variant.Q4_K_M) is Stored.F16


@pytest.mark.parametrize("variant", [Variant.F32, Variant.F16, Variant.BF16, Variant.Q8_0])
def test_a_small_checkpoint_can_be_read_back(
    variant: Variant, vocabulary: GgufFile, tmp_path: Path
) -> None:
    choice = Choice(Size.LARGE, Family.BASE, variant)
    talker = build_talker(tmp_path, choice, TINY_BASE, vocabulary)
    codec = build_codec(tmp_path, choice, TINY_CODEC)
    assert sorted(tmp_path.iterdir()) == [talker, codec]
    assert talker.name == f"qwen-talker-1.7b-base-{variant.name}.gguf"
    assert codec.name == f"qwen-tokenizer-12hz-{variant.name}.gguf"
    for path, tensors in (
        (talker, list(talker_tensors(TINY_BASE))),
        (codec, list(codec_tensors(TINY_CODEC))),
    ):
        with GgufFile.open(path) as file:
            assert list(shapes(file).items()) == tensors
            for name, shape in tensors:
                assert int(file.tensors[name].type) == stored_type(name, shape, variant)
            expected = None if variant is Variant.F32 else variant.name
            assert file.metadata.get("general.file_type") == expected
            assert file.metadata.get("general.quantization_version") == (expected and 2)


def test_all_variants_round_the_same_values(vocabulary: GgufFile, tmp_path: Path) -> None:
    names = ["talker.text_embd.weight", "talker.blk.1.ffn_up.weight", "spk_enc.conv0.weight"]
    read: dict[Variant, list[NDArray[np.float32]]] = {}
    for variant in (Variant.F32, Variant.BF16, Variant.Q8_0):
        choice = Choice(Size.LARGE, Family.BASE, variant, seed=3)
        with GgufFile.open(build_talker(tmp_path, choice, TINY_BASE, vocabulary)) as file:
            read[variant] = [values(file, name) for name in names]
    for exact, bf16, q8 in zip(*read.values(), strict=True):
        np.testing.assert_allclose(bf16, exact, rtol=2**-8)  # 8 significant bits
        # Half a step of 1/127 of the block's largest value, and the scale's own rounding.
        np.testing.assert_allclose(q8, exact, atol=np.abs(exact).max() * (0.5 / 127 + 2**-11))


def test_another_seed_gives_other_values(vocabulary: GgufFile, tmp_path: Path) -> None:
    name = "talker.codec_embd.weight"
    tables = []
    for seed in (0, 0, 1):
        choice = Choice(Size.LARGE, Family.BASE, Variant.F32, seed)
        with GgufFile.open(build_talker(tmp_path, choice, TINY_BASE, vocabulary)) as file:
            tables.append(values(file, name))
    np.testing.assert_array_equal(tables[0], tables[1])
    assert np.abs(tables[0] - tables[2]).max() > 1


def test_pieces_join_to_the_same_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = next(talker_tensors(TINY_BASE))
    whole = list(Draw(0).pieces(tensor))
    monkeypatch.setattr("tools.random_checkpoint.PIECE_VALUES", 100 * tensor.shape[1])
    pieces = list(Draw(0).pieces(tensor))
    assert (len(whole), len(pieces)) == (1, 9)
    np.testing.assert_array_equal(np.concatenate(pieces), whole[0])


def test_only_the_end_of_speech_has_a_zero_row(vocabulary: GgufFile, tmp_path: Path) -> None:
    choice = Choice(Size.LARGE, Family.BASE, Variant.Q8_0)
    with GgufFile.open(build_talker(tmp_path, choice, TINY_BASE, vocabulary)) as file:
        head = values(file, "talker.codec_head.weight")
        assert np.flatnonzero(~head.any(axis=1)) == [file.integer("qwen3-tts.codec.eos_id")]


def test_outliers_leave_the_function_as_it_was(vocabulary: GgufFile, tmp_path: Path) -> None:
    names = ["talker.blk.1.attn_norm.weight", "talker.blk.1.attn_k.weight"]
    pairs = []
    for outliers in (False, True):
        choice = Choice(Size.LARGE, Family.BASE, Variant.F32, outliers=outliers)
        with GgufFile.open(build_talker(tmp_path, choice, TINY_BASE, vocabulary)) as file:
            pairs.append([values(file, name) for name in names])
    (norm, matrix), (loud_norm, loud_matrix) = pairs
    planted = Outliers.drawn(80, seed=0)
    np.testing.assert_array_equal(np.flatnonzero(loud_norm != norm), sorted(planted.channels))
    growth = (loud_norm / norm)[list(planted.channels)]
    np.testing.assert_array_equal(growth, planted.factors)
    np.testing.assert_array_equal(loud_norm * loud_matrix, norm * matrix)


def test_a_compressed_vocabulary_is_unpacked() -> None:
    with open_vocabulary(DATA / "qwen-bpe-only.gguf.xz") as file:
        dims = official_talker(Size.SMALL, Family.BASE)
        metadata = dict(talker_metadata(Size.SMALL, Family.BASE, dims, Variant.Q8_0, file))
    texts = [metadata[f"qwen3-tts.text.{key}_id"] for key in ("im_start", "tts_pad", "tts_eos")]
    assert texts == [151644, 151671, 151673]
    assert metadata["qwen3-tts.codec.eos_id"] == 2150
    assert metadata["qwen3-tts.talker.rope.mrope_section"] == (24, 20, 20)


def test_a_damaged_vocabulary_is_named(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.gguf.xz"
    path.write_bytes(b"no archive")
    with (
        pytest.raises(ModelFileError, match=r"vocabulary\.gguf\.xz cannot be unpacked"),
        open_vocabulary(path),
    ):
        pytest.fail("was opened")


def test_a_vocabulary_must_fit_the_text_embeddings(vocabulary: GgufFile) -> None:
    small = replace(TINY_BASE, text_vocabulary=800)
    with pytest.raises(ModelFileError, match="854 tokens, more than 800"):
        talker_metadata(Size.LARGE, Family.BASE, small, Variant.F32, vocabulary)


def test_a_vocabulary_must_not_be_without_lists(tmp_path: Path) -> None:
    with (
        GgufFile.open(DATA / "qwen-tokenizer-12hz-F32.gguf") as file,
        pytest.raises(ModelFileError, match=r"tokenizer\.ggml\.tokens"),
    ):
        build_talker(tmp_path, Choice(Size.LARGE, Family.BASE, Variant.F32), TINY_BASE, file)
    assert not list(tmp_path.iterdir())
