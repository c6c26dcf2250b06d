"""GGUF files open to exactly what was written, and every kind of damage is named."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tracemalloc
from pathlib import Path

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

from engine.errors import ModelFileError
from engine.gguf.header import SHARED_TENSORS, TENSORS_DIGEST, TENSORS_FROM
from engine.gguf.reader import GgufFile, TensorInfo, TensorType
from engine.gguf.writer import NewTensor, copied_metadata, pack_metadata, write_gguf

U8, U32, F32, BOOL, STRING, ARRAY, U64 = 0, 4, 6, 7, 8, 9, 10


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def text(value: str | bytes) -> bytes:
    encoded = value.encode() if isinstance(value, str) else value
    return u64(len(encoded)) + encoded


def entry(key: str | bytes, kind: int, payload: bytes) -> bytes:
    return text(key) + u32(kind) + payload


def tensor(name: str, sizes: tuple[int, ...], kind: int = 0, offset: int = 0) -> bytes:
    """A directory entry; `sizes` innermost first."""
    return text(name) + u32(len(sizes)) + b"".join(map(u64, sizes)) + u32(kind) + u64(offset)


def container(entries: list[bytes], tensors: list[bytes], data: bytes = b"") -> bytes:
    head = b"GGUF" + u32(3) + u64(len(tensors)) + u64(len(entries))
    head += b"".join(entries) + b"".join(tensors)
    return head + bytes(-len(head) % 32) + data


def write(folder: Path, content: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(content)
    return path


def opening_error(path: Path) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        GgufFile.open(path)
    return caught.value


@pytest.fixture
def matrix() -> NDArray[np.float32]:
    return np.arange(96 * 7, dtype=np.float32).reshape(96, 7)


@pytest.fixture
def written(tmp_path: Path, matrix: NDArray[np.float32]) -> Path:
    """A file with every value kind and tensors of several types."""
    path = tmp_path / "written.gguf"
    writer = gguf.GGUFWriter(path, "qwen3-tts")
    writer.add_uint8("a.u8", 200)
    writer.add_int8("a.i8", -100)
    writer.add_uint16("a.u16", 60000)
    writer.add_int16("a.i16", -30000)
    writer.add_uint32("a.u32", 4_000_000_000)
    writer.add_int32("a.i32", -2_000_000_000)
    writer.add_uint64("a.u64", 2**63 + 5)
    writer.add_int64("a.i64", -(2**62))
    writer.add_float32("a.f32", 0.25)
    writer.add_float64("a.f64", 0.1)
    writer.add_float32("a.nan", float("nan"))
    writer.add_bool("a.yes", True)
    writer.add_bool("a.no", False)
    writer.add_string("a.text", "Grüße, 世界 \x00 end")
    writer.add_array("a.ids", [3, -1, 2])
    writer.add_array("a.names", ["", "Ġthe", "世"])
    writer.add_array("a.reals", [0.5, 1.5])
    writer.add_array("a.flags", [True, False])
    writer.add_string("general.file_type", "Q8_0")
    writer.add_tensor("plain.weight", matrix)
    writer.add_tensor("half.weight", matrix.astype(np.float16).reshape(2, 48, 7))
    writer.add_tensor(
        "packed.weight",
        gguf.quants.quantize(matrix.reshape(21, 32), gguf.GGMLQuantizationType.Q8_0),
        raw_dtype=gguf.GGMLQuantizationType.Q8_0,
    )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_metadata_is_what_was_written(written: Path) -> None:
    with GgufFile.open(written) as file:
        assert file.path == written
        assert file.file_bytes == written.stat().st_size
        assert file.string("general.architecture") == "qwen3-tts"
        integers = [file.integer(f"a.{kind}{bits}") for bits in (8, 16, 32, 64) for kind in "ui"]
        assert integers == [
            *(200, -100, 60000, -30000),
            *(4_000_000_000, -2_000_000_000, 2**63 + 5, -(2**62)),
        ]
        assert file.number("a.f32") == 0.25
        assert file.number("a.f64") == 0.1
        assert file.number("a.u8") == 200.0
        assert file.boolean("a.yes") is True
        assert file.boolean("a.no") is False
        assert file.string("a.text") == "Grüße, 世界 \x00 end"
        assert file.integers("a.ids") == [3, -1, 2]
        assert file.strings("a.names") == ["", "Ġthe", "世"]
        assert file.metadata["a.reals"] == (0.5, 1.5)
        assert file.metadata["a.flags"] == (True, False)
        assert file.metadata["general.file_type"] == "Q8_0"


def test_tensors_lie_where_the_reference_reader_finds_them(written: Path) -> None:
    with GgufFile.open(written) as file:
        for reference in gguf.GGUFReader(written).tensors:
            info = file.tensors[reference.name]
            assert info == TensorInfo(
                reference.name,
                TensorType(reference.tensor_type),
                tuple(reversed(reference.shape.tolist())),
                reference.data_offset,
                reference.n_bytes,
            )
        assert len(file.tensors) == 3


def test_tensor_types_have_the_sizes_of_ggml() -> None:
    for kind in TensorType:
        reference = gguf.GGMLQuantizationType[kind.name]
        assert kind.value == reference.value
        assert (kind.block_size, kind.block_bytes) == gguf.GGML_QUANT_SIZES[reference]


def test_reads_any_part_of_a_tensor(written: Path, matrix: NDArray[np.float32]) -> None:
    with GgufFile.open(written) as file:
        part = np.zeros(10, dtype=np.float32)
        file.read(file.tensors["plain.weight"], 5 * 4, part.data)
        np.testing.assert_array_equal(part, matrix.ravel()[5:15])
        with pytest.raises(AssertionError):
            file.read(file.tensors["plain.weight"], matrix.nbytes - 8, part.data)


def test_version_2_is_read_too(written: Path) -> None:
    content = bytearray(written.read_bytes())
    content[4:8] = u32(2)
    written.write_bytes(content)
    with GgufFile.open(written) as file:
        assert file.integers("a.ids") == [3, -1, 2]


def test_empty_file_of_the_right_kind(tmp_path: Path) -> None:
    with GgufFile.open(write(tmp_path, container([], []))) as file:
        assert not file.metadata
        assert not file.tensors


def test_alignment_of_the_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "aligned.gguf"
    writer = gguf.GGUFWriter(path, "qwen3-tts")
    writer.add_custom_alignment(256)
    for index in range(3):
        writer.add_tensor(f"t{index}", np.full(5, index, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with GgufFile.open(path) as file:
        for index in range(3):
            info = file.tensors[f"t{index}"]
            assert info.offset % 256 == 0
            values = np.empty(5, dtype=np.float32)
            file.read(info, 0, values.data)
            assert values.tolist() == [index] * 5


def test_vocabulary_of_a_real_size(tmp_path: Path) -> None:
    tokens = [f"token-{index}-ü" for index in range(151_676)]
    merges = [f"left{index} right" for index in range(151_291)]
    path = tmp_path / "vocabulary.gguf"
    writer = gguf.GGUFWriter(path, "qwen3-tts")
    writer.add_array("tokenizer.ggml.tokens", tokens)
    writer.add_array("tokenizer.ggml.token_type", [1] * len(tokens))
    writer.add_array("tokenizer.ggml.merges", merges)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with GgufFile.open(path) as file:
        assert file.strings("tokenizer.ggml.tokens") == tokens
        assert file.strings("tokenizer.ggml.merges") == merges
        assert file.integers("tokenizer.ggml.token_type") == [1] * len(tokens)


@pytest.mark.parametrize("method", ["integer", "number", "boolean", "string"])
@pytest.mark.parametrize("key", ["a.u32", "a.f32", "a.nan", "a.yes", "a.text", "a.ids", "a.names"])
def test_values_of_another_kind_are_refused(written: Path, method: str, key: str) -> None:
    accepted = {
        "integer": {"a.u32"},
        "number": {"a.u32", "a.f32"},
        "boolean": {"a.yes"},
        "string": {"a.text"},
    }
    with GgufFile.open(written) as file:
        if key in accepted[method]:
            getattr(file, method)(key)
            return
        with pytest.raises(ModelFileError, match=f"written.gguf: metadata key '{key}' is not"):
            getattr(file, method)(key)


@pytest.mark.parametrize("key", ["a.u32", "a.text", "a.reals", "a.flags"])
def test_lists_of_another_kind_are_refused(written: Path, key: str) -> None:
    with GgufFile.open(written) as file:
        with pytest.raises(ModelFileError, match=key):
            file.integers(key)
        with pytest.raises(ModelFileError, match=key):
            file.strings(key)


def test_missing_keys_have_a_default_or_are_named(written: Path) -> None:
    with GgufFile.open(written) as file:
        assert file.integer("absent", default=3) == 3
        assert file.number("absent", default=0.5) == 0.5
        assert file.boolean("absent", default=False) is False
        assert file.string("absent", default="") == ""
        assert file.integers("absent", default=()) == []
        assert file.strings("absent", default=("a",)) == ["a"]
        assert file.integer("a.u8", default=3) == 200
        for method in (file.integer, file.number, file.boolean, file.string):
            with pytest.raises(ModelFileError, match=r"written\.gguf has no metadata key 'absent'"):
                method("absent")
        with pytest.raises(ModelFileError, match="is not an integer"):
            file.integer("a.text", default=3)


def test_file_that_shrinks_after_opening(written: Path) -> None:
    with GgufFile.open(written) as file:
        info = file.tensors["packed.weight"]
        os.truncate(written, info.offset + info.nbytes - 1)
        with pytest.raises(ModelFileError, match=r"written\.gguf became shorter.*'packed\.weight'"):
            file.read(info, 0, memoryview(bytearray(info.nbytes)))


def test_every_truncation_is_an_error(tmp_path: Path) -> None:
    content = container(
        [
            entry("name", STRING, text("value")),
            entry("list", ARRAY, u32(STRING) + u64(2) + text("one") + text("two")),
            entry("ids", ARRAY, u32(U32) + u64(2) + bytes(8)),
        ],
        [tensor("t", (8,))],
        data=bytes(32),
    )
    for size in range(len(content)):
        error = opening_error(write(tmp_path, content[:size]))
        assert "model.gguf" in error.message
        assert "ownload" in error.hint or "GGUF" in error.message
    with GgufFile.open(write(tmp_path, content)) as file:
        assert file.strings("list") == ["one", "two"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"GG", "is not a GGUF file"),
        (b"RIFF\x24\x00\x00\x00WAVEfmt ", "is not a GGUF file: it looks like a WAV recording"),
        (b"PK\x03\x04rest", "it looks like a zip archive or PyTorch checkpoint"),
        (b"version https://git-lfs.github.com/spec/v1", "it looks like a Git LFS pointer"),
        (b"<!doctype html>", "it looks like a web page"),
        (b"\x93NUMPY", "is not a GGUF file."),
        (b"GGUF" + u32(1) + bytes(16), "has GGUF version 1; versions 2 and 3"),
        (b"GGUF" + u32(4) + bytes(16), "has GGUF version 4; versions 2 and 3"),
        (b"GGUF" + u32(0) + bytes(16), "has GGUF version 0; versions 2 and 3"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(16), "is a big-endian GGUF file"),
        (b"FUGG" + struct.pack(">I", 3) + bytes(16), "is a big-endian GGUF file"),
    ],
)
def test_other_files_are_recognised(tmp_path: Path, content: bytes, problem: str) -> None:
    error = opening_error(write(tmp_path, content))
    assert problem in error.message
    assert "model.gguf" in error.message
    assert error.hint


HUGE = 2**64 - 1


@pytest.mark.parametrize(
    ("entries", "tensors", "problem"),
    [
        ([entry("k", U8, b"\1")] * 2, [], "metadata key 'k' occurs twice"),
        ([entry(b"\xff\xfe", U8, b"\1")], [], "metadata entry 1 is not valid UTF-8"),
        ([entry("k", STRING, text(b"\xed\xa0\x80"))], [], "'k' is not valid UTF-8"),
        ([entry("k", 13, b"\1")], [], "'k' has the unknown value kind 13"),
        ([entry("k", BOOL, b"\2")], [], "'k' is a truth value other than 0 and 1"),
        ([entry("k", STRING, u64(HUGE))], [], f"'k' needs bytes 37 to {45 + HUGE}"),
        ([entry("k", ARRAY, u32(U8) + u64(HUGE))], [], f"'k' claims {HUGE} numbers"),
        ([entry("k", ARRAY, u32(STRING) + u64(HUGE))], [], f"'k' claims {HUGE} strings"),
        ([entry("k", ARRAY, u32(F32) + u64(1 << 62))], [], "numbers, more than fit"),
        ([entry("k", ARRAY, u32(99) + u64(0))], [], "'k' has the unknown value kind 99"),
        (
            [entry("k", ARRAY, u32(ARRAY) + u64(1) + u32(ARRAY) + u64(1))],
            [],
            "'k' is an array of arrays",
        ),
        ([entry("general.alignment", U32, u32(0))], [], "'general.alignment' is 0"),
        ([entry("general.alignment", U32, u32(48))], [], "is 48, not a power of two"),
        ([entry("general.alignment", U64, u64(1 << 60))], [], "not a size from 1 to"),
        ([entry("general.alignment", STRING, text("32"))], [], "is '32', not a size"),
        ([], [tensor("t", (8,))] * 2, "tensor 't' occurs twice"),
        ([], [tensor("t", ())], "tensor 't' has 0 dimensions, not 1 to 4"),
        ([], [tensor("t", (1, 1, 1, 1, 1))], "tensor 't' has 5 dimensions, not 1 to 4"),
        ([], [text("t") + u32(2**32 - 1)], "tensor 't' has 4294967295 dimensions"),
        ([], [tensor("t", (8, 0))], "tensor 't' has a dimension of size 0"),
        ([], [tensor("t", (1 << 32, 1 << 32))], "tensor 't' has too many elements"),
        ([], [tensor("t", (HUGE,))], "tensor 't' has too many elements"),
        ([], [tensor("t", (33, 32), kind=8)], "'t' has rows of 33 elements, not a whole number of"),
        ([], [tensor("t", (32,), kind=20)], "type that is not read here (20, IQ4_NL)"),
        ([], [tensor("t", (32,), kind=4)], "type that is not read here (4, unknown)"),
        ([], [tensor("t", (8,), offset=4)], "'t' has offset 4, not a multiple of 32"),
        ([], [tensor("t", (8,), offset=64)], "tensor 't' needs bytes 128 to 160, but the file has"),
        ([], [tensor("t", (1 << 40,))], "tensor 't' needs bytes 64 to"),
        ([], [tensor("a", (8,), offset=32), tensor("b", (9,))], "tensor 'a' overlaps tensor 'b'"),
        ([], [tensor("a", (8,)), tensor("b", (8,))], "tensor 'b' overlaps tensor 'a'"),
    ],
)
def test_damage_is_named(
    tmp_path: Path, entries: list[bytes], tensors: list[bytes], problem: str
) -> None:
    error = opening_error(write(tmp_path, container(entries, tensors, data=bytes(64))))
    assert problem in error.message
    assert "model.gguf" in error.message
    assert error.hint


def test_tensors_are_shared_only_where_the_file_says_so(tmp_path: Path) -> None:
    def new(name: str, count: int, value: int, shared: str = "") -> NewTensor:
        content = memoryview(bytes([value]) * count * 4)
        return NewTensor(name, TensorType.F32, (count,), lambda: iter((content,)), shared)

    tensors = [new("a", 8, 0, "zeros"), new("b", 16, 1), new("c", 8, 0, "zeros")]
    path = tmp_path / "model.gguf"
    write_gguf(path, pack_metadata([(SHARED_TENSORS, True)]), tensors)
    with GgufFile.open(path) as file:
        assert file.tensors["a"].offset == file.tensors["c"].offset
        for name, value in (("a", 0), ("b", 1), ("c", 0)):
            buffer = bytearray(file.tensors[name].nbytes)
            file.read(file.tensors[name], 0, memoryview(buffer))
            assert set(buffer) == {value}
    assert path.stat().st_size == file.tensors["b"].offset + 64
    write_gguf(path, pack_metadata([(SHARED_TENSORS, False)]), tensors)
    assert "tensor 'c' overlaps tensor 'a'" in opening_error(path).message
    flag = entry(SHARED_TENSORS, BOOL, b"\1")
    partly = [tensor("a", (8,)), tensor("b", (9,))]
    error = opening_error(write(tmp_path, container([flag], partly, data=bytes(64))))
    assert "tensor 'b' overlaps tensor 'a'" in error.message


def test_tensors_are_taken_from_the_file_beside(tmp_path: Path) -> None:
    def new(name: str, count: int, value: int) -> NewTensor:
        content = memoryview(bytes([value]) * count * 4)
        return NewTensor(name, TensorType.F32, (count,), lambda: iter((content,)))

    held, own, copied = tmp_path / "held.gguf", tmp_path / "own.gguf", tmp_path / "copied.gguf"
    write_gguf(held, pack_metadata([("a.key", 1)]), [new("a", 8, 1), new("b", 16, 2)])
    beside = pack_metadata([("a.key", 2), (TENSORS_FROM, held.name)])
    write_gguf(own, beside, [new("b", 8, 3), new("c", 8, 4)])
    with GgufFile.open(own) as file:
        assert file.integer("a.key") == 2
        assert file.file_bytes == held.stat().st_size + own.stat().st_size
        assert {name: info.shape for name, info in file.tensors.items()} == {
            "a": (8,),
            "b": (8,),
            "c": (8,),
        }
        for name, value in (("a", 1), ("b", 3), ("c", 4), ("a", 1)):
            buffer = bytearray(file.tensors[name].nbytes)
            file.read(file.tensors[name], 0, memoryview(buffer))
            assert set(buffer) == {value}
    assert TENSORS_FROM not in dict(copied_metadata(own))

    for name, problem in (
        ("../held.gguf", "not another file of its folder"),
        (own.name, "not another file of its folder"),
        ("", "not another file of its folder"),
        ("..", "not another file of its folder"),
        ("a\nb.gguf", "not another file of its folder"),
        ("missing.gguf", "missing.gguf does not exist"),
    ):
        write_gguf(copied, pack_metadata([(TENSORS_FROM, name)]), [new("c", 8, 4)])
        if name == own.name:
            copied.replace(own)
            assert problem in opening_error(own).message
        else:
            assert problem in opening_error(copied).message
    with GgufFile.open(held) as file:
        assert file.holder("a") == held
    write_gguf(copied, pack_metadata([(TENSORS_FROM, held.name)]), [new("c", 8, 4)])
    with GgufFile.open(copied) as file:
        assert (file.holder("a"), file.holder("c"), file.holder("x")) == (held, copied, copied)
        assert file.paths == (copied, held)
    other = [("general.architecture", "another"), (TENSORS_FROM, held.name)]
    write_gguf(copied, pack_metadata(other), [new("c", 8, 4)])
    assert f"{held}, which holds another kind of model" in opening_error(copied).message
    write_gguf(copied, pack_metadata([(TENSORS_FROM, own.name)]), [new("c", 8, 4)])
    assert "which takes them from another file" in opening_error(copied).message
    with GgufFile.open(held) as file:
        made_with = [(TENSORS_FROM, held.name), (TENSORS_DIGEST, file.digest())]
    write_gguf(copied, pack_metadata(made_with), [new("c", 8, 4)])
    GgufFile.open(copied).close()
    assert not {TENSORS_FROM, TENSORS_DIGEST} & dict(copied_metadata(copied)).keys()
    write_gguf(held, pack_metadata([("a.key", 1)]), [new("a", 8, 1), new("b", 16, 3)])
    assert "another version than the one it was made with" in opening_error(copied).message


@pytest.mark.parametrize("counts", [(HUGE, 0), (0, HUGE), (3, 0), (0, 6)])
def test_claimed_counts_must_fit_the_file(tmp_path: Path, counts: tuple[int, int]) -> None:
    content = b"GGUF" + u32(3) + u64(counts[0]) + u64(counts[1]) + bytes(64)
    assert "more than fit into the file" in opening_error(write(tmp_path, content)).message


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (entry("k", ARRAY, u32(U8) + u64(900 << 20)), "'k' claims 943718400 numbers"),
        (entry("k", ARRAY, u32(STRING) + u64(100 << 20)), "'k' claims 104857600 strings"),
        (entry("k", STRING, u64(900 << 20)), "'k' lies beyond the first 32 MiB"),
    ],
)
def test_claims_of_a_large_file_are_bounded(tmp_path: Path, content: bytes, problem: str) -> None:
    path = write(tmp_path, container([content], []))
    os.truncate(path, 1 << 30)
    tracemalloc.start()
    try:
        error = opening_error(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert problem in error.message
    assert peak < 4 << 20


def test_too_many_entries_for_a_model(tmp_path: Path) -> None:
    path = write(tmp_path, b"GGUF" + u32(3) + u64(0) + u64(100_000))
    os.truncate(path, 1 << 30)
    assert "claims 100000 metadata entries, more than the 65536" in opening_error(path).message


def test_arrays_may_not_fill_the_memory_with_objects(tmp_path: Path) -> None:
    many = bytes(3 << 20)
    entries = [entry(key, ARRAY, u32(U8) + u64(len(many)) + many) for key in ("first", "second")]
    message = opening_error(write(tmp_path, container(entries, []))).message
    assert "'second' makes more than the 4194304 values allowed" in message


def test_long_names_are_shortened_in_messages(tmp_path: Path) -> None:
    content = container([entry("x\n" * 5000, STRING, text(b"\xff"))], [])
    error = opening_error(write(tmp_path, content))
    assert "...' is not valid UTF-8" in error.message
    assert "\n" not in error.message
    assert len(error.message) < 500


def test_paths_that_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "is a folder" in opening_error(tmp_path).message
    assert "absent.gguf does not exist" in opening_error(tmp_path / "absent.gguf").message
    assert "is not a regular file" in opening_error(Path(os.devnull)).message
    assert "cannot be opened" in opening_error(tmp_path / "nul\0character").message
    path = write(tmp_path, container([], []))
    assert "cannot be opened" in opening_error(path / "inside.gguf").message

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    # Changing the mode would not keep an administrator out.
    monkeypatch.setattr("engine.gguf.reader.FileIO", refuse)
    assert "model.gguf may not be read" in opening_error(path).message


def test_reader_works_without_torch() -> None:
    code = "import sys, engine.gguf.reader; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
