"""Quantised files hold the types of the policy, say so, load and speak."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from torch import Tensor

from engine import (
    Cancelled,
    CancelToken,
    ModelFileError,
    ModelPair,
    Sampling,
    SpeechRequest,
    open_engine,
)
from engine.cli.quantize import main
from engine.gguf.blocks import BLOCKS
from engine.gguf.header import TensorType
from engine.gguf.kquants import quantize
from engine.gguf.layout import Variant
from engine.gguf.quantize import quantize_file, variant_path
from engine.gguf.reader import GgufFile
from engine.gguf.writer import NewTensor, copied_metadata, pack_metadata, write_gguf
from tests.official_folder import read_tensor
from tests.random_talkers import TWO_BLOCKS, random_talker, talker_dims
from tests.terminal import Terminal

TALKER = "qwen-talker-1.7b-base-F32.gguf"
CODEC = "qwen-tokenizer-12hz-F32.gguf"

TARGETS = (Variant.BF16, Variant.Q8_0, Variant.Q4_K_M)
every_target = pytest.mark.parametrize("variant", TARGETS, ids=lambda variant: variant.name)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(monkeypatch)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    """A random talker whose rows are whole blocks of the K-quants, F32."""
    one_block = replace(TWO_BLOCKS, blocks=1)
    return random_talker(tmp_path_factory.mktemp("wide"), data / TALKER, talker_dims(one_block))


def types(path: Path) -> dict[str, str]:
    with GgufFile.open(path) as file:
        return {name: info.type.name for name, info in file.tensors.items()}


def decoded(file: GgufFile, name: str) -> Tensor:
    info = file.tensors[name]
    raw = np.empty(info.nbytes, np.uint8)
    file.read(info, 0, raw.data)
    rows = torch.from_numpy(raw).reshape(int(np.prod(info.shape[:-1])), -1)
    return BLOCKS[info.type].dequantize(rows).reshape(info.shape)


def write_small(
    path: Path,
    tensors: dict[str, Tensor],
    architecture: str = "qwen3-tts",
    entries: Sequence[tuple[str, str | int]] = (),
) -> Path:
    """A file of F32 tensors."""

    def new(name: str, values: Tensor) -> NewTensor:
        def pieces() -> Iterator[memoryview]:
            yield values.contiguous().reshape(-1).view(torch.uint8).numpy().data

        return NewTensor(name, TensorType.F32, tuple(values.shape), pieces)

    metadata = pack_metadata([("general.architecture", architecture), *entries])
    write_gguf(path, metadata, [new(name, values) for name, values in tensors.items()])
    return path


@every_target
def test_a_quantised_pair_speaks(variant: Variant, wide: Path, tmp_path: Path, data: Path) -> None:
    quantize_file(wide, tmp_path / "talker.gguf", variant)
    quantize_file(data / CODEC, tmp_path / "codec.gguf", variant)
    request = SpeechRequest("Good evening.", speaker="eric", sampling=Sampling(max_frames=4))
    pair = ModelPair(tmp_path / "talker.gguf", tmp_path / "codec.gguf")
    engine = open_engine(pair, device="cpu", precision="f32")
    chunks = list(engine.speak(request))
    samples = np.concatenate([chunk.samples for chunk in chunks])
    assert samples.shape == (4 * 1920,)
    assert np.isfinite(samples).all()
    assert samples.std() > 0
    assert engine.description.precision == variant.matrices.name


def test_codes_of_bf16_weights_are_those_of_f32(tmp_path: Path, data: Path) -> None:
    """The small base talker was made of BF16 values, so that nothing is lost."""
    quantize_file(data / TALKER, tmp_path / "talker.gguf", Variant.BF16)
    quantize_file(tmp_path / "talker.gguf", tmp_path / "again.gguf", Variant.Q8_0)
    quantize_file(data / TALKER, tmp_path / "once.gguf", Variant.Q8_0)
    assert (tmp_path / "again.gguf").read_bytes() == (tmp_path / "once.gguf").read_bytes()
    request = SpeechRequest("Good evening.", seeds=(5,), sampling=Sampling(max_frames=5))
    spoken = []
    for talker in (data / TALKER, tmp_path / "talker.gguf"):
        engine = open_engine(ModelPair(talker, data / CODEC), device="cpu", precision="f32")
        spoken.append(np.concatenate([chunk.codes for chunk in engine.speak(request)]))
    assert np.array_equal(spoken[0], spoken[1])


def test_types_follow_the_policy(wide: Path, tmp_path: Path, data: Path) -> None:
    quantize_file(wide, tmp_path / "talker.gguf", Variant.Q4_K_M)
    stored = types(tmp_path / "talker.gguf")
    assert stored["talker.text_embd.weight"] == "Q6_K"
    assert stored["code_pred.codec_embd.3.weight"] == "Q6_K"
    assert stored["talker.blk.0.attn_q.weight"] == "Q4_K"
    assert stored["code_pred.lm_head.14.weight"] == "Q4_K"
    assert stored["talker.blk.0.attn_norm.weight"] == "F32"
    assert stored["talker.text_proj.fc1.bias"] == "F32"
    quantize_file(data / TALKER, tmp_path / "base.gguf", Variant.Q8_0)
    stored = types(tmp_path / "base.gguf")
    assert stored["talker.blk.0.ffn_down.weight"] == "Q8_0"
    assert stored["talker.blk.0.attn_q.weight"] == "F16"  # rows of 80
    assert stored["spk_enc.conv0.weight"] == "F16"
    assert stored["spk_enc.fc.weight"] == "F32"
    quantize_file(data / CODEC, tmp_path / "codec.gguf", Variant.BF16)
    stored = types(tmp_path / "codec.gguf")
    assert stored["tok_dec.dec.6.conv.weight"] == "BF16"
    assert stored["tok_dec.vq_rest.0.codebook"] == "F32"
    assert stored["tok_enc.vq_semantic.input_proj.weight"] == "F32"
    assert stored["tok_dec.dec.1.snake.alpha"] == "F32"


def test_every_tensor_is_the_quantised_source(wide: Path, tmp_path: Path) -> None:
    target = tmp_path / "talker.gguf"
    quantize_file(wide, target, Variant.Q4_K_M)
    with GgufFile.open(wide) as source, GgufFile.open(target) as file:
        assert list(file.tensors) == list(source.tensors)
        for name, info in file.tensors.items():
            values = read_tensor(source, name)
            assert info.shape == tuple(values.shape)
            rows = values.reshape(-1, values.shape[-1])
            expected = BLOCKS[info.type].dequantize(quantize(rows, info.type))
            assert torch.equal(decoded(file, name), expected.reshape(info.shape)), name


@every_target
def test_metadata_is_copied_and_tells_the_type(
    variant: Variant, tmp_path: Path, data: Path
) -> None:
    target = tmp_path / "talker.gguf"
    quantize_file(data / TALKER, target, variant)
    before, after = copied_metadata(data / TALKER), copied_metadata(target)
    own = ("general.quantization_version", "general.file_type")
    assert [entry for entry in after if entry[0] not in own] == before
    fields = gguf.GGUFReader(target).fields
    assert fields["general.file_type"].types == [gguf.GGUFValueType.STRING]
    assert fields["general.file_type"].contents() == variant.name
    assert fields["general.quantization_version"].types == [gguf.GGUFValueType.UINT32]
    assert fields["general.quantization_version"].contents() == 2


def test_other_programs_read_the_file(wide: Path, tmp_path: Path) -> None:
    quantize_file(wide, tmp_path / "talker.gguf", Variant.Q4_K_M)
    reader = gguf.GGUFReader(tmp_path / "talker.gguf")
    assert reader.data_offset % 32 == 0
    with GgufFile.open(tmp_path / "talker.gguf") as file:
        for tensor in reader.tensors:
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            assert tensor.data_offset % 32 == 0
            assert np.array_equal(values, decoded(file, tensor.name).numpy()), tensor.name


def test_an_own_alignment_is_not_copied(tmp_path: Path) -> None:
    alignment = ("general.alignment", 32)
    tensors = {"talker.blk.0.attn_q.weight": torch.ones(2, 32), "talker.x.bias": torch.ones(3)}
    source = write_small(tmp_path / "x-F32.gguf", tensors, entries=[alignment])
    quantize_file(source, tmp_path / "y.gguf", Variant.Q8_0)
    with GgufFile.open(tmp_path / "y.gguf") as file:
        assert "general.alignment" not in file.metadata
        assert torch.equal(decoded(file, "talker.x.bias"), torch.ones(3))


def test_large_tensors_are_read_in_pieces(tmp_path: Path) -> None:
    values = torch.randn(2100, 512, generator=torch.Generator().manual_seed(1))
    name = "talker.blk.0.attn_q.weight"
    source = write_small(tmp_path / "x-F32.gguf", {name: values})
    told: list[tuple[int, int]] = []
    quantize_file(
        source, tmp_path / "y.gguf", Variant.Q4_K_M, progress=lambda *state: told.append(state)
    )
    assert len(told) == 2
    assert told[-1][0] == told[-1][1] == 2100 * 512 // 256 * 144
    with GgufFile.open(tmp_path / "y.gguf") as file:
        expected = BLOCKS[TensorType.Q4_K].dequantize(quantize(values, TensorType.Q4_K))
        assert torch.equal(decoded(file, name), expected)


def test_quantising_twice_is_refused(tmp_path: Path, data: Path) -> None:
    quantize_file(data / TALKER, tmp_path / "once.gguf", Variant.Q8_0)
    with pytest.raises(ModelFileError, match=r"quantised already .*start from the F32 or BF16"):
        quantize_file(tmp_path / "once.gguf", tmp_path / "twice.gguf", Variant.Q4_K_M)
    assert not (tmp_path / "twice.gguf").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -70000.0])
def test_weights_that_cannot_be_expressed_are_refused(value: float, tmp_path: Path) -> None:
    tensors = {"talker.blk.0.attn_q.weight": torch.ones(2, 32)}
    tensors["talker.blk.0.attn_q.weight"][1, 7] = value
    source = write_small(tmp_path / "x-F32.gguf", tensors)
    with pytest.raises(ModelFileError, match=r"attn_q.weight' holds the value .* Q8_0 cannot"):
        quantize_file(source, tmp_path / "y.gguf", Variant.Q8_0)
    assert [path.name for path in tmp_path.iterdir()] == ["x-F32.gguf"]


def test_other_models_are_refused(tmp_path: Path) -> None:
    source = write_small(tmp_path / "x.gguf", {"a": torch.ones(2)}, architecture="llama")
    with pytest.raises(ModelFileError, match="architecture 'llama'"):
        quantize_file(source, tmp_path / "y.gguf", Variant.Q8_0)


def test_existing_files_are_kept_unless_told(tmp_path: Path, data: Path) -> None:
    target = tmp_path / "talker.gguf"
    target.write_bytes(b"mine")
    with pytest.raises(ModelFileError, match="exists already"):
        quantize_file(data / TALKER, target, Variant.Q8_0)
    assert target.read_bytes() == b"mine"
    quantize_file(data / TALKER, target, Variant.Q8_0, force=True)
    assert types(target)["talker.blk.0.ffn_down.weight"] == "Q8_0"


def test_a_file_never_replaces_itself(tmp_path: Path, data: Path) -> None:
    source = tmp_path / "x.gguf"
    source.write_bytes((data / CODEC).read_bytes())
    with pytest.raises(ModelFileError, match="cannot be replaced by its own"):
        quantize_file(source, source, Variant.Q8_0, force=True)
    assert source.read_bytes() == (data / CODEC).read_bytes()


def test_a_folder_that_is_missing_is_named(tmp_path: Path, data: Path) -> None:
    target = tmp_path / "nowhere" / "x.gguf"
    with pytest.raises(ModelFileError, match=r"nowhere.*cannot be written: No such file"):
        quantize_file(data / CODEC, target, Variant.Q8_0)


def test_stopping_leaves_nothing_behind(tmp_path: Path, data: Path) -> None:
    cancel = CancelToken()
    with pytest.raises(Cancelled):
        quantize_file(
            data / TALKER,
            tmp_path / "x.gguf",
            Variant.Q8_0,
            progress=lambda done, total: cancel.cancel(),
            cancel=cancel,
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("qwen-talker-0.6b-base-F32.gguf", "qwen-talker-0.6b-base-Q4_K_M.gguf"),
        ("qwen-talker-0.6b-base-BF16.gguf", "qwen-talker-0.6b-base-Q4_K_M.gguf"),
        ("my.voice.gguf", "my.voice-Q4_K_M.gguf"),
    ],
)
def test_names_follow_the_type(source: str, target: str) -> None:
    assert variant_path(Path("models") / source, Variant.Q4_K_M) == Path("models") / target


def test_the_command(tmp_path: Path, data: Path, terminal: Terminal) -> None:
    source, target = tmp_path / CODEC, tmp_path / CODEC.replace("F32", "Q8_0")
    source.write_bytes((data / CODEC).read_bytes())
    answer = terminal.run(main, [source, "--type", "Q8_0"])
    assert (answer.status, answer.output) == (0, b"")
    assert f"\n{target}: " in answer.told
    answer = terminal.run(main, [source, "--type", "Q8_0"])
    assert answer.status == 1
    assert answer.told == (
        f"error: {target} exists already. Choose another name, or add --force.\n"
    )
    answer = terminal.run(main, [source, "--type", "Q8_0", "--force", "--quiet"])
    assert (answer.status, answer.told) == (0, "")
    answer = terminal.run(main, [source, "--type", "bf16", "-o", tmp_path / "other.gguf"])
    assert answer.status == 0
    assert "note: " not in answer.told
    assert types(tmp_path / "other.gguf")["tok_enc.blk.0.attn_q.weight"] == "BF16"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.gguf", "--type", "Q8_0"], "error: nowhere.gguf does not exist."),
        (["x.gguf"], "error: the following arguments are required: --type."),
        (["x.gguf", "--type", "Q9"], "error: argument --type: invalid choice: 'Q9'"),
    ],
)
def test_the_command_explains_what_is_wrong(
    arguments: list[str], message: str, terminal: Terminal
) -> None:
    answer = terminal.run(main, arguments)
    assert answer.status == 1
    assert answer.told.startswith(message)


def test_what_does_not_fit_is_counted(tmp_path: Path, data: Path, terminal: Terminal) -> None:
    target = tmp_path / "small.gguf"
    answer = terminal.run(main, [data / CODEC, "--type", "Q4_K_M", "-o", target])
    found = re.match(r"note: (\d+) of (\d+) tensors do not fit the blocks of Q4_K_M", answer.told)
    assert found is not None
    stored = Counter(types(target).values())
    assert int(found[1]) == stored["F16"]
    assert int(found[2]) == stored["F16"] + stored["Q4_K"] + stored["Q6_K"]


def test_help_succeeds(terminal: Terminal) -> None:
    answer = terminal.run(main, ["--help"])
    assert answer.status == 0
    assert "voice-studio quantize" in answer.text
