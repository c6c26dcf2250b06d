"""Writing files so that a reader sees the old one or the new one, never a part."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` when the block ends well, else vanishes.

    It is replaced through links too. What is no file, such as a device or pipe, is written into.
    Raises OSError as the system does (no folder, no permission, no space).
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            yield device
        return
    path = Path(os.path.realpath(path))  # unlike Path.resolve, gives loops of links as they are
    # Made by `open`, and not by `tempfile`, to have the permissions of an ordinary new file.
    temporary = path.parent / f".{path.name[:40]}.{secrets.token_hex(4)}.part"
    file = temporary.open("xb")
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def replace_file(path: Path, data: bytes) -> None:
    """Write `data` to `path` in one step."""
    with replacing(path) as file:
        file.write(data)
