"""Keeps small JSON documents so that they outlive crashes, newer versions and damage."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from engine.errors import ExplainedError
from engine.files import replace_file

JsonObject: TypeAlias = dict[str, Any]
Upgrade: TypeAlias = Callable[[JsonObject], JsonObject]

SCHEMA: Final = "schema"
LARGEST_DOCUMENT: Final = 1 << 26  # bytes; a session of a thousand takes has about a million
MOST_SET_ASIDE: Final = 1000


class StorageError(ExplainedError):
    """Something of the studio's own on disk cannot be read, written or moved."""


class DamagedFileError(StorageError):
    """A document holds what no version of the studio has written."""


@dataclass(frozen=True)
class DocumentKind:
    """One kind of document: its word in messages, its version, and the steps from older ones.

    `upgrades[n]` turns the values of version n into those of version n + 1.
    """

    name: str
    schema: int = 1
    upgrades: Mapping[int, Upgrade] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """What was read: the values of the current version, without their schema number.

    A document of a newer version has the values as they are, `read_only`, and a `message`.
    """

    values: JsonObject
    read_only: bool = False
    message: str = ""


def read_document(path: Path, kind: DocumentKind) -> Document:
    """Read a document and bring it to the current version; the file stays as it is.

    Raises StorageError if it cannot be read, DamagedFileError if it makes no sense.
    """
    values = _parse(path, kind, read_bytes(path, LARGEST_DOCUMENT))
    schema = values.pop(SCHEMA, None)
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise DamagedFileError(
            f"{path} has no version number, so it is no {kind.name} of this studio.",
            "Put back a copy of it from a backup, or move it away.",
        )
    if schema > kind.schema:
        message = (
            f"{path} was written by a newer version of the studio (version {schema}, "
            f"this one knows {kind.schema}): it can be looked at, but changes are not saved."
        )
        return Document(values, read_only=True, message=message)
    for version in range(schema, kind.schema):
        try:
            values = kind.upgrades[version](values)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedFileError(
                f"{path} cannot be brought from version {version} to {version + 1}.",
                "Put back a copy of it from a backup, or move it away.",
                repr(error),
            ) from error
    return Document(values)


def write_document(path: Path, kind: DocumentKind, values: Mapping[str, Any]) -> None:
    """Write values as the whole content of `path` in one step; raises StorageError."""
    replace_bytes(path, document_bytes(kind, values))


def document_bytes(kind: DocumentKind, values: Mapping[str, Any]) -> bytes:
    """The stored form: readable JSON in UTF-8, its schema number first."""
    document = {SCHEMA: kind.schema, **values}
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    try:
        return (text + "\n").encode()
    except UnicodeEncodeError:  # half a surrogate pair, as a clipboard may hold
        return (json.dumps(document, indent=1, allow_nan=False) + "\n").encode()


def read_bytes(path: Path, limit: int) -> bytes:
    """The content of a file of at most `limit` bytes; raises StorageError."""
    try:
        refuse_endless(path)
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise storage_error(path, "be read", error) from error
    if len(data) > limit:
        raise DamagedFileError(
            f"{path} is too large for what it should be (over {limit} bytes).",
            "Put back a copy of it from a backup, or move it away.",
        )
    return data


def refuse_endless(path: Path) -> None:
    """Raise StorageError for a pipe, which would be waited for, or a device, which never ends."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise StorageError(
            f"{path} cannot be read: it is not a file.", "Put a file in its place, or move it away."
        )


def replace_bytes(path: Path, data: bytes) -> None:
    """Write a file in one step; raises StorageError."""
    try:
        replace_file(path, data)
    except OSError as error:
        raise storage_error(path, "be written", error) from error


def make_folder(path: Path) -> None:
    """Make a folder and those above it where they are missing; raises StorageError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(path, "be made", error) from error


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that it is kept and a new one can be written; its new path.

    Raises StorageError.
    """
    for number in range(1, MOST_SET_ASIDE):
        kept = path.with_name(f"{path.name}.damaged-{number}")
        if not kept.exists():
            break
    try:
        path.rename(kept)
    except OSError as error:
        raise storage_error(path, "be moved aside", error) from error
    return kept


def storage_error(path: Path, act: str, error: OSError) -> StorageError:
    """The explanation of what the system said: '... cannot `act`: No space left on device.'"""
    reason = error.strerror or str(error)
    return StorageError(
        f"{path} cannot {act}: {reason}.",
        "Check that the folder is there, may be written to and has free space.",
        repr(error),
    )


def timestamp() -> str:
    """Now, in UTC, as ISO 8601 with milliseconds: sorts as text."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _parse(path: Path, kind: DocumentKind, data: bytes) -> JsonObject:
    try:
        values = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(
            f"{path} is damaged: it is not valid JSON, as a {kind.name} should be.",
            "Put back a copy of it from a backup, or move it away.",
            str(error),
        ) from error
    if not isinstance(values, dict):
        raise DamagedFileError(
            f"{path} is damaged: it holds no named values, as a {kind.name} should.",
            "Put back a copy of it from a backup, or move it away.",
        )
    return values


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
