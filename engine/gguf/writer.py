"""Writes GGUF files a piece of a tensor at a time, so that no tensor has to fit into memory."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import FileIO
from math import prod
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

from gguf.constants import GGUF_DEFAULT_ALIGNMENT, GGUF_MAGIC, GGUF_VERSION, GGUFValueType

from engine.errors import ModelFileError
from engine.files import replacing
from engine.gguf.header import TENSORS_DIGEST, TENSORS_FROM, Header, TensorType, Value
from engine.types import CancelToken, Progress

PackedMetadata: TypeAlias = Sequence[tuple[str, bytes]]
"""Keys in file order, each with the bytes of its value's kind and value."""

_ALIGNMENT: Final = GGUF_DEFAULT_ALIGNMENT
_OF_THIS_FILE: Final = ("general.alignment", TENSORS_FROM, TENSORS_DIGEST)
"""Keys that say how a file holds its tensors; a copy may hold them otherwise."""


@dataclass(frozen=True, eq=False)
class NewTensor:
    """A tensor to be written: `pieces` yields its stored bytes once the file gets there."""

    name: str
    type: TensorType
    shape: tuple[int, ...]  # outermost first
    pieces: Callable[[], Iterator[memoryview]]
    shared: str = ""  # tensors with the same word here are the same bytes, written once

    @property
    def nbytes(self) -> int:
        return prod(self.shape) // self.type.block_size * self.type.block_bytes


def refuse_to_replace(target: Path, *, force: bool) -> None:
    """Raise `ModelFileError` if `target` exists, unless it may be replaced."""
    if target.exists() and not force:
        message = f"{target} exists already."
        raise ModelFileError(message, "Choose another name, or add --force.")


def write_gguf(
    target: Path,
    metadata: PackedMetadata,
    tensors: Sequence[NewTensor],
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> None:
    """Write a GGUF file (version 3, alignment 32); it appears whole or not at all.

    `progress` is told (bytes written, bytes to write) of the tensors, and `cancel` looked at, once
    per piece. Where tensors are shared, `metadata` must say so (`SHARED_TENSORS`). Raises
    `ModelFileError` when the file cannot be written, and `Cancelled`.
    """
    written = [tensor for tensor, is_new in _with_news(tensors) if is_new]
    total = sum(tensor.nbytes for tensor in written)
    done = 0
    try:
        with replacing(target) as file:
            file.write(_header(metadata, tensors))
            _pad(file)
            for tensor in written:
                end = done + tensor.nbytes
                for piece in tensor.pieces():
                    if cancel is not None:
                        cancel.check()
                    file.write(piece)
                    done += piece.nbytes
                    if progress is not None:
                        progress(done, total)
                assert done == end, f"{tensor.name} came as {tensor.nbytes + done - end} bytes"
                _pad(file)
    except OSError as error:
        message = f"{target} cannot be written: {error.strerror or error}."
        raise ModelFileError(message, "Check the folder and the free space.") from error


def pack_metadata(entries: Iterable[tuple[str, Value]]) -> list[tuple[str, bytes]]:
    """Values as converters write them: `int` as UINT32 (in an array INT32), `float` as FLOAT32.

    An empty array is left out, as it would not say of what it is empty.
    """
    return [(key, _packed(value)) for key, value in entries if value != ()]


def copied_metadata(path: Path) -> list[tuple[str, bytes]]:
    """The metadata of a GGUF file, byte for byte, for a copy that holds all its tensors.

    That is without its alignment, and without the file it takes tensors from.

    Raises `ModelFileError` when the file cannot be read or its header is damaged.
    """
    try:
        with FileIO(path) as file:
            header = _KeepingHeader(file, path, file.seek(0, 2))
            metadata, _ = header.parse()
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}."
        raise ModelFileError(message, "Check the name and the disk.") from error
    entries = zip(metadata, header.packed, strict=True)
    return [(key, value) for key, value in entries if key not in _OF_THIS_FILE]


def with_file_type(metadata: PackedMetadata, file_type: str) -> list[tuple[str, bytes]]:
    """`metadata` saying, behind its other general keys, of which type the file is."""
    own = pack_metadata(
        [("general.quantization_version", 2), ("general.file_type", file_type)]
    )  # a string, as the published files of this model have it
    names = {key for key, _ in own}
    kept = [(key, value) for key, value in metadata if key not in names]
    general = [entry for entry in kept if entry[0].startswith("general.")]
    rest = [entry for entry in kept if not entry[0].startswith("general.")]
    return [*general, *own, *rest]


class _KeepingHeader(Header):
    """Also keeps the bytes of every metadata value, in file order."""

    def __init__(self, file: FileIO, path: Path, file_bytes: int) -> None:
        super().__init__(file, path, file_bytes)
        self.packed: list[bytes] = []

    def _metadata_value(self) -> Value:
        first = self._position
        value = super()._metadata_value()
        self.packed.append(bytes(self._data[first : self._position]))
        return value


def _header(metadata: PackedMetadata, tensors: Sequence[NewTensor]) -> bytes:
    parts = [struct.pack("<IIQQ", GGUF_MAGIC, GGUF_VERSION, len(tensors), len(metadata))]
    for key, value in metadata:
        parts += (_string(key), value)
    free = 0
    shared: dict[str, int] = {}
    for tensor, is_new in _with_news(tensors):
        offset = free if is_new else shared[tensor.shared]
        sizes = tensor.shape[::-1]
        layout = f"<I{len(sizes)}QIQ"
        parts.append(_string(tensor.name))
        parts.append(struct.pack(layout, len(sizes), *sizes, tensor.type, offset))
        if is_new:
            shared[tensor.shared] = offset
            free += -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT
    return b"".join(parts)


def _with_news(tensors: Sequence[NewTensor]) -> Iterator[tuple[NewTensor, bool]]:
    """Each with whether its bytes are to be written: those that are shared are once."""
    seen: set[str] = set()
    for tensor in tensors:
        yield tensor, tensor.shared not in seen
        if tensor.shared:
            seen.add(tensor.shared)


def _pad(file: BinaryIO) -> None:
    file.write(bytes(-file.tell() % _ALIGNMENT))


def _packed(value: Value) -> bytes:
    kind, number = _kind(value)
    if isinstance(value, tuple):
        kind, number = _kind(value[0])
        if kind is GGUFValueType.UINT32:
            kind, number = GGUFValueType.INT32, "i"
        start = struct.pack("<IIQ", GGUFValueType.ARRAY, kind, len(value))
        if kind is GGUFValueType.STRING:
            return start + b"".join(_string(str(text)) for text in value)
        return start + struct.pack(f"<{len(value)}{number}", *value)
    start = struct.pack("<I", kind)
    return start + (_string(value) if isinstance(value, str) else struct.pack(f"<{number}", value))


def _kind(value: Value) -> tuple[GGUFValueType, str]:
    """The kind of a value and its `struct` code."""
    if isinstance(value, bool):
        return GGUFValueType.BOOL, "?"
    if isinstance(value, int):
        return GGUFValueType.UINT32, "I"
    if isinstance(value, float):
        return GGUFValueType.FLOAT32, "f"
    return (GGUFValueType.STRING, "") if isinstance(value, str) else (GGUFValueType.ARRAY, "")


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data
