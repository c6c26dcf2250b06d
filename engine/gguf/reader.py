"""Opens GGUF files quickly, and reads their metadata and tensor bytes with explained errors.

Nothing is mapped into memory: a file that shrinks while it is open must end in an error, not in a
bus error, and tensor bytes go straight into the caller's memory.
"""

from __future__ import annotations

import hashlib
import math
import stat
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from io import FileIO
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self, TypeGuard, TypeVar

from engine.errors import ModelFileError
from engine.gguf.header import (
    REMAKE,
    TENSORS_DIGEST,
    TENSORS_FROM,
    Header,
    TensorInfo,
    TensorType,
    Value,
    quoted,
)

__all__ = ["GgufFile", "TensorInfo", "TensorType", "Value"]

_T = TypeVar("_T")


class _Absent(Enum):
    """The default of a key that has none."""

    REQUIRED = "required"


class GgufFile:
    """An open GGUF file: metadata, tensor directory, and reads of tensor bytes.

    A file may take tensors from another one beside it (`TENSORS_FROM`): the directory has them all,
    and `file_bytes` counts both files.

    Use `GgufFile.open`, and close it or use it as a context manager. Reading moves the file
    position, so only one thread at a time may call `read`.
    """

    def __init__(
        self,
        file: FileIO,
        path: Path,
        metadata: Mapping[str, Value],
        tensors: Mapping[str, TensorInfo],
        file_bytes: int,
    ) -> None:
        self._file = file
        self._other: GgufFile | None = None  # where the tensors are that this file does not hold
        self._own = tensors.keys()
        self.path = path
        self.metadata = metadata
        self.tensors = tensors
        self.file_bytes = file_bytes

    @classmethod
    def open(cls, path: str | Path) -> GgufFile:
        """Open `path` and check its whole header; the tensor bytes stay in the file.

        Raises `ModelFileError` when it cannot be opened, is no GGUF file of version 2 or 3,
        contradicts itself or its size anywhere, or takes tensors from a file that is not there.
        """
        file = cls._open_alone(Path(path))
        try:
            if TENSORS_FROM in file.metadata:
                file._join(file.string(TENSORS_FROM))
        except BaseException:
            file.close()
            raise
        return file

    @classmethod
    def _open_alone(cls, path: Path) -> GgufFile:
        try:
            # Looked at before opening: opening a named pipe would wait for a writer.
            status = path.stat()
            if stat.S_ISDIR(status.st_mode):
                raise ModelFileError(f"{path} is a folder.", "Choose a .gguf file in it.")
            if not stat.S_ISREG(status.st_mode):
                raise ModelFileError(f"{path} is not a regular file.", "Choose a .gguf file.")
            file = FileIO(path)
        except FileNotFoundError as error:
            hint = "Check the name, or download the model."
            raise ModelFileError(f"{path} does not exist.", hint) from error
        except PermissionError as error:
            hint = "Give yourself permission to read it."
            raise ModelFileError(f"{path} may not be read.", hint) from error
        except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
            hint = "Check the name and the disk."
            raise ModelFileError(f"{str(path)!r} cannot be opened: {error}.", hint) from error
        try:
            file_bytes = file.seek(0, 2)
            metadata, tensors = Header(file, path, file_bytes).parse()
        except OSError as error:
            file.close()
            hint = "Check the disk, then try again."
            raise ModelFileError(f"{path} cannot be read: {error}.", hint) from error
        except BaseException:
            file.close()
            raise
        return cls(file, path, metadata, tensors, file_bytes)

    def _join(self, name: str) -> None:
        """Take the tensors that are missing here from the file `name` in the same folder."""
        beside = self.path.parent / name
        is_name = name.isprintable() and Path(name).name == name and name not in ("", ".", "..")
        if not is_name or beside == self.path:
            message = f"{self.path}: metadata key {TENSORS_FROM!r} names {quoted(name)}"
            raise ModelFileError(f"{message}, not another file of its folder.", REMAKE)
        try:
            self._other = other = GgufFile._open_alone(beside)
        except ModelFileError as error:
            message = f"{self.path} takes its weights from a file beside it: "
            hint = f"Put the right {name} beside it, or delete this one."
            raise ModelFileError(message + error.message, hint) from error
        if TENSORS_FROM in other.metadata:
            message = f"{self.path} takes its weights from {quoted(name)}, which takes them from"
            raise ModelFileError(f"{message} another file itself.", REMAKE)
        kinds = [file.metadata.get("general.architecture") for file in (self, other)]
        if kinds[0] != kinds[1]:
            message = f"{self.path} takes its weights from {beside}, which holds another kind of"
            raise ModelFileError(
                f"{message} model ({kinds[1]!r:.80}).", f"Put the right {name} beside it."
            )
        if TENSORS_DIGEST in self.metadata and other.digest() != self.string(TENSORS_DIGEST):
            message = f"{self.path} takes its weights from {beside}, which is another version than"
            raise ModelFileError(
                f"{message} the one it was made with.", f"Put the right {name} beside it."
            )
        self.tensors = MappingProxyType({**other.tensors, **self.tensors})
        self.file_bytes += other.file_bytes

    @property
    def paths(self) -> tuple[Path, ...]:
        """The file, and the one that it takes tensors from."""
        return (self.path,) if self._other is None else (self.path, *self._other.paths)

    def holder(self, name: str) -> Path:
        """The file that holds a tensor, or should."""
        held_here = self._other is None or name in self._own or name not in self._other.tensors
        return self.path if self._other is None or held_here else self._other.path

    def shared(self) -> frozenset[str]:
        """Names of the tensors that are the same bytes as another one: those that are all zero."""
        own = [self.tensors[name] for name in self._own]
        places = Counter((info.offset, info.nbytes) for info in own)
        found = {info.name for info in own if places[info.offset, info.nbytes] > 1}
        if self._other is not None:
            found |= self._other.shared() - self._own
        return frozenset(found)

    def digest(self) -> str:
        """The SHA-256 of the whole file, in hexadecimal. Raises `ModelFileError`."""
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ModelFileError(
                f"{self.path} cannot be read: {error}.", "Check the disk, then try again."
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        if self._other is not None:
            self._other.close()

    def read(self, info: TensorInfo, start: int, buffer: memoryview) -> None:
        """Fill `buffer` with the bytes of the tensor from its byte `start` on.

        Raises `ModelFileError` when the bytes are not there any more.
        """
        if self._other is not None and info.name not in self._own:
            self._other.read(info, start, buffer)
            return
        target = buffer.cast("B")
        assert 0 <= start <= start + len(target) <= info.nbytes, f"reads outside {info.name}"
        filled = 0
        try:
            self._file.seek(info.offset + start)
            while filled < len(target):
                count = self._file.readinto(target[filled:])
                if not count:
                    message = f"{self.path} became shorter while tensor {quoted(info.name)} was"
                    raise ModelFileError(f"{message} read.", "Wait for its download to finish.")
                filled += count
        except OSError as error:
            message = f"{self.path}, tensor {quoted(info.name)}: reading failed: {error}."
            raise ModelFileError(message, "Check the disk, then try again.") from error

    # Metadata by key. Each raises `ModelFileError` when the key is missing (unless there is a
    # default) or holds something of another kind.

    def integer(self, key: str, default: int | _Absent = _Absent.REQUIRED) -> int:
        """An integer of any width."""
        return self._value(key, default, "an integer", _is_integer)

    def number(self, key: str, default: float | _Absent = _Absent.REQUIRED) -> float:
        """A finite number, stored as a float or as an integer."""
        return float(self._value(key, default, "a finite number", _is_number))

    def boolean(self, key: str, default: bool | _Absent = _Absent.REQUIRED) -> bool:
        return self._value(key, default, "true or false", _is_boolean)

    def string(self, key: str, default: str | _Absent = _Absent.REQUIRED) -> str:
        return self._value(key, default, "a string", _is_string)

    def integers(self, key: str, default: Sequence[int] | _Absent = _Absent.REQUIRED) -> list[int]:
        return list(self._value(key, default, "a list of integers", _are_integers))

    def strings(self, key: str, default: Sequence[str] | _Absent = _Absent.REQUIRED) -> list[str]:
        return list(self._value(key, default, "a list of strings", _are_strings))

    def _value(
        self, key: str, default: _T | _Absent, wanted: str, accept: Callable[[Value], TypeGuard[_T]]
    ) -> _T:
        value = self.metadata.get(key)
        if value is None:
            if isinstance(default, _Absent):
                raise ModelFileError(f"{self.path} has no metadata key {key!r}.", REMAKE)
            return default
        if not accept(value):
            raise ModelFileError(f"{self.path}: metadata key {key!r} is not {wanted}.", REMAKE)
        return value


def _is_integer(value: Value) -> TypeGuard[int]:
    return type(value) is int


def _is_number(value: Value) -> TypeGuard[float]:
    return isinstance(value, int | float) and type(value) is not bool and math.isfinite(value)


def _is_boolean(value: Value) -> TypeGuard[bool]:
    return isinstance(value, bool)


def _is_string(value: Value) -> TypeGuard[str]:
    return isinstance(value, str)


def _are_integers(value: Value) -> TypeGuard[Sequence[int]]:
    return isinstance(value, tuple) and (not value or type(value[0]) is int)


def _are_strings(value: Value) -> TypeGuard[Sequence[str]]:
    return isinstance(value, tuple) and (not value or isinstance(value[0], str))
