"""Takes typed values out of JSON objects, and says by name what is not as it should be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from app.core.storage import DamagedFileError, JsonObject

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

_REQUIRED: Any = object()


class Fields:
    """The values of one JSON object, each taken by key; `rest` is what nobody asked for.

    A missing key has its default; without one, and for a value of the wrong kind, it is a
    DamagedFileError. With `lenient` such a value has its default too, and is listed in
    `complaints`.
    """

    def __init__(self, values: JsonObject, source: str, *, lenient: bool = False) -> None:
        self._values = dict(values)
        self._source = source
        self._lenient = lenient
        self.complaints: list[str] = []

    @property
    def rest(self) -> JsonObject:
        return dict(self._values)

    def text(self, key: str, default: str = _REQUIRED, longest: int = 1 << 20) -> str:
        return self._take(key, default, f"text of at most {longest} characters", _text(longest))

    def flag(self, key: str, default: bool = _REQUIRED) -> bool:
        return self._take(key, default, "true or false", _flag)

    def integer(self, key: str, default: int = _REQUIRED, low: int = 0, high: int = 2**63) -> int:
        return self._take(key, default, f"a whole number from {low} to {high}", _whole(low, high))

    def optional_integer(self, key: str, low: int = 0, high: int = 2**64 - 1) -> int | None:
        check = _whole(low, high)
        return self._take(
            key, None, f"null or a whole number from {low} to {high}", _or_none(check)
        )

    def number(self, key: str, default: float, low: float, high: float) -> float:
        return self._take(key, default, f"a number from {low} to {high}", _number(low, high))

    def optional_text(self, key: str) -> str | None:
        return self._take(key, None, "null or text", _or_none(_text(1 << 20)))

    def optional_path(self, key: str) -> Path | None:
        return self._take(key, None, "null or a path", _or_none(_path))

    def texts(self, key: str) -> tuple[str, ...]:
        return self._take(key, (), "a list of texts", _each(_text(1 << 16)))

    def paths(self, key: str) -> tuple[Path, ...]:
        return self._take(key, (), "a list of paths", _each(_path))

    def choice(self, key: str, kinds: type[E], default: E = _REQUIRED) -> E:
        return self._take(key, default, f"one of {', '.join(kinds)}", kinds)

    def child(self, key: str) -> Fields | None:
        """The object under `key`, None if there is none."""
        values: JsonObject | None = self._take(key, None, "null or an object", _or_none(_object))
        return None if values is None else self._inner(values, key)

    def children(self, key: str) -> tuple[Fields, ...]:
        """The objects of the list under `key`."""
        found: tuple[JsonObject, ...] = self._take(key, (), "a list of objects", _each(_object))
        return tuple(self._inner(values, key) for values in found)

    def named_children(self, key: str) -> dict[str, Fields]:
        """The objects within the object under `key`, by name."""
        check: Callable[[Any], dict[str, JsonObject]] = _named_objects
        found: dict[str, JsonObject] = self._take(key, {}, "an object of objects", check)
        return {name: self._inner(values, key) for name, values in found.items()}

    def _inner(self, values: JsonObject, key: str) -> Fields:
        return Fields(values, f"{self._source}, {key}", lenient=self._lenient)

    def _take(self, key: str, default: T, wanted: str, read: Callable[[Any], T]) -> T:
        value = self._values.pop(key, _REQUIRED)
        if value is _REQUIRED and default is not _REQUIRED:
            return default
        if value is not _REQUIRED:
            try:
                return read(value)
            except (ValueError, TypeError):
                pass
        complaint = f"{self._source}: {key!r} should be {wanted}."
        if self._lenient and default is not _REQUIRED:
            self.complaints.append(complaint)
            return default
        raise DamagedFileError(complaint, "Put back a copy of it from a backup, or move it away.")


def _text(longest: int) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not isinstance(value, str) or len(value) > longest:
            raise ValueError
        return value

    return read


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError
        return value

    return read


def _number(low: float, high: float) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise TypeError
        if not low <= value <= high or not math.isfinite(value):
            raise ValueError
        return float(value)

    return read


def _path(value: Any) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError
    return Path(value)


def _object(value: Any) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _named_objects(value: Any) -> dict[str, JsonObject]:
    return {name: _object(inner) for name, inner in _object(value).items()}


def _or_none(read: Callable[[Any], T]) -> Callable[[Any], T | None]:
    return lambda value: None if value is None else read(value)


def _each(read: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    def read_all(value: Any) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise TypeError
        items: Iterable[Any] = value
        return tuple(read(item) for item in items)

    return read_all
