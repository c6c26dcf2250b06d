"""Parses the header of a GGUF file and believes nothing it says before it is checked.

Layout (GGUF v2 and v3, little endian): magic, version, tensor count, metadata count; the metadata
(key, kind, value); the tensor directory (name, dimensions, type, offset); padding up to
`general.alignment`; the tensors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from io import FileIO
from pathlib import Path
from struct import Struct
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from engine.errors import ModelFileError

Scalar: TypeAlias = bool | int | float | str
Value: TypeAlias = Scalar | tuple[Scalar, ...]
"""A metadata value; the elements of an array are all of one kind."""

MAX_HEADER_BYTES: Final = 32 << 20  # a vocabulary of 150,000 tokens with its merges takes 6 MB
MAX_ENTRIES: Final = 1 << 16  # of the metadata, of the directory
MAX_VALUES: Final = 1 << 22  # of the metadata: each becomes an object of many times its size
MAX_ALIGNMENT: Final = 1 << 16
MAX_DIMENSIONS: Final = 4
MAX_ELEMENTS: Final = (1 << 63) - 1

_FIRST_READ: Final = 1 << 20
_SHOWN_CHARACTERS: Final = 80

_START: Final = Struct("<4sI")
_COUNTS: Final = Struct("<QQ")
_U32: Final = Struct("<I")
_U64: Final = Struct("<Q")
_TYPE_AND_OFFSET: Final = Struct("<IQ")
_SMALLEST_ENTRY: Final = 8 + 4 + 1  # an empty key, its kind, one byte
_SMALLEST_TENSOR: Final = 8 + 4 + 8 + 4 + 8  # an empty name and one dimension

_BOOL: Final = 7
_STRING: Final = 8
_ARRAY: Final = 9
_NUMBERS: Final[Mapping[int, str]] = MappingProxyType(
    {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", _BOOL: "B", 10: "Q", 11: "q", 12: "d"}
)
"""Value kind -> `struct` code, of everything that has a fixed size."""

_FOREIGN_TYPES: Final[Mapping[int, str]] = MappingProxyType(
    {
        9: "Q8_1",
        15: "Q8_K",
        16: "IQ2_XXS",
        17: "IQ2_XS",
        18: "IQ3_XXS",
        19: "IQ1_S",
        20: "IQ4_NL",
        21: "IQ3_S",
        22: "IQ2_S",
        23: "IQ4_XS",
        24: "I8",
        25: "I16",
        26: "I32",
        27: "I64",
        28: "F64",
        29: "IQ1_M",
        34: "TQ1_0",
        35: "TQ2_0",
        39: "MXFP4",
        40: "NVFP4",
        41: "Q1_0",
    }
)
"""Tensor types of ggml that this engine does not read, to call them by name."""

_OTHER_FILES: Final[Mapping[bytes, str]] = MappingProxyType(
    {
        b"RIFF": "a WAV recording",
        b"fLaC": "a FLAC recording",
        b"OggS": "an Ogg recording",
        b"PK\x03\x04": "a zip archive or PyTorch checkpoint",
        b"vers": "a Git LFS pointer, not the model itself",
        b"<!do": "a web page",
        b"<!DO": "a web page",
        b"<htm": "a web page",
    }
)

SHARED_TENSORS: Final = "studio.shared_tensors"
"""Metadata of a file in which tensors may be the very same bytes, as those that are all zero."""

TENSORS_FROM: Final = "studio.tensors_from"
"""Metadata of a file that takes all tensors it does not hold from the file of this name beside it:
one set of weights, described in two ways."""

TENSORS_DIGEST: Final = "studio.tensors_digest"
"""And of such a file: the SHA-256 of the one it was made with, in hexadecimal."""

_DAMAGED: Final = "The file is truncated or corrupt: download it again."
REMAKE: Final = "Convert the model again, or download a file made for this engine."


class TensorType(IntEnum):
    """How the elements of a tensor are stored; the values are ggml's type numbers."""

    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q4_1 = 3
    Q5_0 = 6
    Q5_1 = 7
    Q8_0 = 8
    Q2_K = 10
    Q3_K = 11
    Q4_K = 12
    Q5_K = 13
    Q6_K = 14
    BF16 = 30

    @property
    def block_size(self) -> int:
        """Elements per block; a row holds whole blocks."""
        return _BLOCKS[self][0]

    @property
    def block_bytes(self) -> int:
        return _BLOCKS[self][1]


_BLOCKS: Final[Mapping[TensorType, tuple[int, int]]] = MappingProxyType(
    {
        TensorType.F32: (1, 4),
        TensorType.F16: (1, 2),
        TensorType.Q4_0: (32, 18),
        TensorType.Q4_1: (32, 20),
        TensorType.Q5_0: (32, 22),
        TensorType.Q5_1: (32, 24),
        TensorType.Q8_0: (32, 34),
        TensorType.Q2_K: (256, 84),
        TensorType.Q3_K: (256, 110),
        TensorType.Q4_K: (256, 144),
        TensorType.Q5_K: (256, 176),
        TensorType.Q6_K: (256, 210),
        TensorType.BF16: (1, 2),
    }
)
"""Elements and bytes of a block."""

_TYPES: Final[Mapping[int, TensorType]] = MappingProxyType({int(kind): kind for kind in TensorType})


@dataclass(frozen=True)
class TensorInfo:
    """Where a tensor lies in its file. `shape` is in PyTorch order, outermost first."""

    name: str
    type: TensorType
    shape: tuple[int, ...]
    offset: int  # of the first byte, from the start of the file
    nbytes: int


def quoted(name: str) -> str:
    """A name from a file, fit for a message whatever it holds."""
    return repr(name if len(name) <= _SHOWN_CHARACTERS else name[:_SHOWN_CHARACTERS] + "...")


class Header:
    """The header of one file, read from the front. `_part` says what is being read, for errors."""

    def __init__(self, file: FileIO, path: Path, file_bytes: int) -> None:
        self._file = file
        self._path = path
        self._file_bytes = file_bytes
        self._data = bytearray()  # the file from byte 0 on, as far as it was needed
        self._position = 0
        self._values = 0  # of the metadata so far
        self._part = "the header"

    def parse(self) -> tuple[Mapping[str, Value], Mapping[str, TensorInfo]]:
        """Metadata and tensor directory, or `ModelFileError` at the first thing that is wrong."""
        self._check_start()
        tensor_count, entry_count = self._unpack(_COUNTS)
        for count, smallest, what in (
            (entry_count, _SMALLEST_ENTRY, "metadata entries"),
            (tensor_count, _SMALLEST_TENSOR, "tensors"),
        ):
            self._check_count(count, smallest, what)
            if count > MAX_ENTRIES:
                raise self._error(f"claims {count} {what}, more than the {MAX_ENTRIES} allowed")

        metadata: dict[str, Value] = {}
        for index in range(entry_count):
            self._part = f"metadata entry {index + 1}"
            key = self._string()
            self._part = f"metadata key {quoted(key)}"
            if key in metadata:
                raise self._error("occurs twice")
            metadata[key] = self._metadata_value()

        tensors: dict[str, TensorInfo] = {}
        for index in range(tensor_count):
            self._part = f"tensor {index + 1}"
            name = self._string()
            self._part = f"tensor {quoted(name)}"
            if name in tensors:
                raise self._error("occurs twice")
            tensors[name] = self._tensor(name)
        return MappingProxyType(metadata), MappingProxyType(self._placed(tensors, metadata))

    def _check_start(self) -> None:
        if self._file_bytes == 0:
            raise ModelFileError(f"{self._path} is empty.", "Download it again.")
        self._reach(min(self._file_bytes, _START.size))
        magic = bytes(self._data[:4])
        if magic not in (b"GGUF", b"FUGG"):
            other = _OTHER_FILES.get(magic)
            looks = f": it looks like {other}" if other else ""
            raise ModelFileError(f"{self._path} is not a GGUF file{looks}.", "Choose a .gguf file.")
        _, version = self._unpack(_START)
        if magic == b"FUGG" or (version & 0xFFFF == 0 and version >> 16 != 0):
            message = f"{self._path} is a big-endian GGUF file; only little-endian files are read."
            raise ModelFileError(message, "Get the little-endian file of this model.")
        if version not in (2, 3):
            message = f"{self._path} has GGUF version {version}; versions 2 and 3 are read."
            raise ModelFileError(message, REMAKE)

    def _placed(
        self, tensors: Mapping[str, TensorInfo], metadata: Mapping[str, Value]
    ) -> dict[str, TensorInfo]:
        """The directory with absolute offsets, checked against the file and each other."""
        alignment = metadata.get("general.alignment", 32)
        self._part = "metadata key 'general.alignment'"
        if type(alignment) is not int or not 0 < alignment <= MAX_ALIGNMENT:
            raise self._error(f"is {alignment!r:.40}, not a size from 1 to {MAX_ALIGNMENT}")
        if alignment & (alignment - 1):
            raise self._error(f"is {alignment}, not a power of two")
        data_start = (self._position + alignment - 1) // alignment * alignment

        placed: dict[str, TensorInfo] = {}
        for name, info in tensors.items():
            self._part = f"tensor {quoted(name)}"
            if info.offset % alignment:
                raise self._error(f"has offset {info.offset}, not a multiple of {alignment}")
            first = data_start + info.offset
            self._check_range(first, first + info.nbytes)
            placed[name] = TensorInfo(name, info.type, info.shape, first, info.nbytes)

        shares = metadata.get(SHARED_TENSORS) is True
        end, before, place = 0, "", (0, 0)
        for info in sorted(placed.values(), key=lambda info: info.offset):
            if shares and (info.offset, info.nbytes) == place:
                continue
            if info.offset < end:
                self._part = f"tensor {quoted(info.name)}"
                raise self._error(f"overlaps tensor {quoted(before)}")
            end, before, place = info.offset + info.nbytes, info.name, (info.offset, info.nbytes)
        return placed

    def _tensor(self, name: str) -> TensorInfo:
        """One directory entry; its offset still counts from the start of the tensor data."""
        (dimensions,) = self._unpack(_U32)
        if not 1 <= dimensions <= MAX_DIMENSIONS:
            raise self._error(f"has {dimensions} dimensions, not 1 to {MAX_DIMENSIONS}")
        sizes = self._unpack(Struct(f"<{dimensions}Q"))  # innermost first
        number, offset = self._unpack(_TYPE_AND_OFFSET)
        kind = _TYPES.get(number)
        if kind is None:
            foreign = _FOREIGN_TYPES.get(number, "unknown")
            hint = "Use the F32, BF16, Q8_0 or Q4_K_M file of this model."
            raise self._error(f"has a type that is not read here ({number}, {foreign})", hint)
        if 0 in sizes:
            raise self._error("has a dimension of size 0")
        elements = math.prod(sizes)
        if elements > MAX_ELEMENTS:
            raise self._error("has too many elements")
        if sizes[0] % kind.block_size:
            blocks = f"blocks of {kind.block_size} elements ({kind.name})"
            raise self._error(f"has rows of {sizes[0]} elements, not a whole number of {blocks}")
        nbytes = elements // kind.block_size * kind.block_bytes
        return TensorInfo(name, kind, tuple(reversed(sizes)), offset, nbytes)

    def _metadata_value(self) -> Value:
        (kind,) = self._unpack(_U32)
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array()
        return self._numbers(kind, 1)[0]

    def _array(self) -> tuple[Scalar, ...]:
        (kind,) = self._unpack(_U32)
        (count,) = self._unpack(_U64)
        if kind == _ARRAY:
            raise self._error("is an array of arrays, which is not read here", REMAKE)
        if kind == _STRING:
            self._check_count(count, _U64.size, "strings")
            self._add_values(count)
            return tuple(self._strings(count))
        return self._numbers(kind, count)

    def _numbers(self, kind: int, count: int) -> tuple[Scalar, ...]:
        code = _NUMBERS.get(kind)
        if code is None:
            raise self._error(f"has the unknown value kind {kind}")
        self._check_count(count, Struct(f"<{code}").size, "numbers")
        self._add_values(count)
        layout = Struct(f"<{count}{code}")
        self._reach(self._position + layout.size)  # before `unpack` builds anything
        values = self._unpack(layout)
        if kind != _BOOL:
            return values
        if not set(values) <= {0, 1}:
            raise self._error("is a truth value other than 0 and 1")
        return tuple(map(bool, values))

    def _string(self) -> str:
        return self._strings(1)[0]

    def _strings(self, count: int) -> list[str]:
        # A vocabulary is 300,000 strings: everything the loop touches is a local variable.
        data, position, unpack_length = self._data, self._position, _U64.unpack_from
        available = len(data)
        strings: list[str] = []
        append = strings.append
        for _ in range(count):
            first = position + 8
            if first > available:
                available = self._reach(first)
            position = first + unpack_length(data, position)[0]
            if position > available:
                available = self._reach(position)
            try:
                append(data[first:position].decode())
            except UnicodeDecodeError as error:
                raise self._error("is not valid UTF-8") from error
        self._position = position
        return strings

    def _unpack(self, layout: Struct) -> tuple[Any, ...]:
        end = self._position + layout.size
        self._reach(end)
        values = layout.unpack_from(self._data, self._position)
        self._position = end
        return values

    def _reach(self, end: int) -> int:
        """Have all bytes before `end` in memory; returns how many there are."""
        data = self._data
        if end > len(data):
            self._check_range(self._position, end)
            if end > MAX_HEADER_BYTES:
                raise self._error(f"lies beyond the first {MAX_HEADER_BYTES >> 20} MiB")
            wanted = min(max(end, 2 * len(data), _FIRST_READ), MAX_HEADER_BYTES, self._file_bytes)
            self._file.seek(len(data))
            while len(data) < wanted:
                piece = self._file.read(wanted - len(data))
                if not piece:
                    raise self._error("became shorter while it was read")
                data += piece
        return len(data)

    def _check_range(self, first: int, end: int) -> None:
        if end > self._file_bytes:
            needed = f"needs bytes {first} to {end}"
            raise self._error(f"{needed}, but the file has only {self._file_bytes}")

    def _check_count(self, count: int, smallest: int, what: str) -> None:
        room = min(self._file_bytes, MAX_HEADER_BYTES) - self._position
        if count * smallest > room:
            raise self._error(f"claims {count} {what}, more than fit into the file")

    def _add_values(self, count: int) -> None:
        self._values += count
        if self._values > MAX_VALUES:
            raise self._error(f"makes more than the {MAX_VALUES} values allowed in all")

    def _error(self, problem: str, hint: str = _DAMAGED) -> ModelFileError:
        return ModelFileError(f"{self._path}: {self._part} {problem}.", hint)
