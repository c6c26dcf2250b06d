"""Fingerprints: the same for the same bytes, another for another model, read once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.core import fingerprint as module
from app.core.fingerprint import HEAD_BYTES, FingerprintCache, fingerprint
from app.core.storage import StorageError
from engine import ModelPair, files_of_model
from engine.gguf.header import TENSORS_FROM
from engine.gguf.writer import pack_metadata, write_gguf


def test_the_same_bytes_anywhere_have_the_same_fingerprint(tmp_path: Path) -> None:
    data = os.urandom(HEAD_BYTES + 3_000_000)
    (tmp_path / "a").write_bytes(data)
    (tmp_path / "b").write_bytes(data)
    first = fingerprint(tmp_path / "a")
    assert first == fingerprint(tmp_path / "b")
    assert len(first) == 16
    int(first, 16)


@pytest.mark.parametrize("place", [0, HEAD_BYTES - 1, HEAD_BYTES, -1])
def test_changed_bytes_are_noticed(tmp_path: Path, place: int) -> None:
    data = bytearray(HEAD_BYTES + 3_000_000)
    path = tmp_path / "a"
    path.write_bytes(data)
    before = fingerprint(path)
    data[place] ^= 1
    path.write_bytes(data)
    assert fingerprint(path) != before
    path.write_bytes(data + b"\0")
    assert fingerprint(path) != before


def test_a_model_is_also_what_it_takes_its_weights_from(tmp_path: Path) -> None:
    held, linked, codec = (tmp_path / name for name in ("held.gguf", "linked.gguf", "codec"))
    write_gguf(linked, pack_metadata([(TENSORS_FROM, held.name)]), [])
    write_gguf(held, pack_metadata([("a.key", 1)]), [])
    codec.write_bytes(b"x")
    cache, pair = FingerprintCache(), ModelPair(linked, codec)
    before = cache.of_pair(pair)
    assert cache.of_pair(pair) == before
    write_gguf(held, pack_metadata([("a.key", 200), ("b.key", 3)]), [])
    assert cache.of_pair(pair) != before
    assert cache.of_pair(pair) == FingerprintCache().of_pair(pair)
    assert files_of_model(linked) == (linked, held)


@pytest.mark.parametrize("size", [0, 1, 20_000, HEAD_BYTES, HEAD_BYTES + 1])
def test_small_files_have_one_too(tmp_path: Path, size: int) -> None:
    (tmp_path / "a").write_bytes(b"x" * size)
    (tmp_path / "b").write_bytes(b"x" * size + b"y")
    assert fingerprint(tmp_path / "a") != fingerprint(tmp_path / "b")


def test_models_differ(data: Path) -> None:
    names = sorted(data.glob("*.gguf"))
    assert len(names) == len({fingerprint(path) for path in names}) > 2


def test_files_are_read_again_only_when_they_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def counted(path: Path) -> str:
        read.append(path)
        return fingerprint(path)

    monkeypatch.setattr(module, "fingerprint", counted)
    talker, codec = tmp_path / "talker", tmp_path / "codec"
    talker.write_bytes(b"talker")
    codec.write_bytes(b"codec")
    cache = FingerprintCache()
    pair = cache.of_pair(ModelPair(talker, codec))
    assert pair == f"{fingerprint(talker)}-{fingerprint(codec)}"
    assert cache.of_pair(ModelPair(talker, codec)) == pair
    assert read == [talker, codec]
    talker.write_bytes(b"TALKER")
    os.utime(talker, ns=(1, 1))
    assert cache.of_pair(ModelPair(talker, codec)) != pair
    assert read == [talker, codec, talker]


def test_a_missing_file_is_explained(tmp_path: Path) -> None:
    for act in (fingerprint, FingerprintCache().of):
        with pytest.raises(StorageError, match="cannot be read: No such file"):
            act(tmp_path / "missing")
