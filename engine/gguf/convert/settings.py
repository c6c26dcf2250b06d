"""Reads the JSON files of a checkpoint folder and names the key of whatever is wrong in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from engine.errors import ModelFileError

_HINT: Final = "Download the folder again, or check it against the official one."
_LARGEST_INTEGER: Final = (1 << 31) - 1
_LARGEST_NUMBER: Final = 3.4e38  # of FLOAT32, as which all are stored


class Settings:
    """One JSON object; every method raises `ModelFileError` naming file and key."""

    def __init__(self, path: Path, values: Mapping[str, object], prefix: str = "") -> None:
        self.path = path
        self.values = values
        self._prefix = prefix

    @classmethod
    def read(cls, path: Path) -> Self:
        try:
            values = json.loads(path.read_bytes())
            json.dumps(values, ensure_ascii=False).encode()  # no half of a surrogate pair in it
        except FileNotFoundError:
            raise ModelFileError(
                f"{path.parent} has no {path.name}.", "Choose a folder of an official checkpoint."
            ) from None
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror or error}."
            raise ModelFileError(message, "Check the disk and the permissions.") from error
        except (ValueError, RecursionError) as error:  # no JSON, or no Unicode
            raise ModelFileError(f"{path} is not valid JSON: {error}.", _HINT) from error
        if not isinstance(values, dict):
            raise ModelFileError(f"{path} does not hold a JSON object.", _HINT)
        return cls(path, values)

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def section(self, key: str) -> Settings:
        """The object under `key`."""
        value = self.values.get(key)
        if not isinstance(value, dict):
            raise self.wrong(key, "an object")
        return Settings(self.path, value, f"{self._prefix}{key}.")

    def optional_section(self, key: str) -> Settings:
        """The object under `key`, empty if there is none."""
        return (
            self.section(key) if key in self else Settings(self.path, {}, f"{self._prefix}{key}.")
        )

    def integer(self, key: str) -> int:
        """An integer from 0 on."""
        value = self.values.get(key)
        if type(value) is not int or not 0 <= value <= _LARGEST_INTEGER:
            raise self.wrong(key, f"an integer from 0 to {_LARGEST_INTEGER}")
        return value

    def size(self, key: str) -> int:
        """An integer of 1 or more."""
        value = self.integer(key)
        if value == 0:
            raise self.wrong(key, "1 or more")
        return value

    def sizes(self, key: str) -> tuple[int, ...]:
        """A list of integers of 1 or more."""
        values = self.values.get(key)
        if not isinstance(values, list) or not all(
            type(value) is int and 0 < value <= _LARGEST_INTEGER for value in values
        ):
            raise self.wrong(key, "a list of integers of 1 or more")
        return tuple(values)

    def number(self, key: str) -> float:
        """A finite number, stored as a float or as an integer."""
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(key, "a number")
        if not abs(value) <= _LARGEST_NUMBER:  # also if it is none
            raise self.wrong(key, "a finite number")
        return float(value)

    def boolean(self, key: str) -> bool:
        value = self.values.get(key)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def string(self, key: str) -> str:
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self.wrong(key, "a string")
        return value

    def wrong(self, key: str, wanted: str) -> ModelFileError:
        state = f"is not {wanted}" if key in self else "is missing"
        return ModelFileError(f"{self.path}: {self._prefix}{key} {state}.", _HINT)
