"""Lets one process at a time work in a folder; the system frees the lock when it dies."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO


class FileLock:
    """An open file that no other process holds. Closing it, or dying, lets it go."""

    def __init__(self, path: Path) -> None:
        """Raises BlockingIOError if somebody holds it, OSError if it cannot be made."""
        self._file: IO[bytes] = path.open("ab")
        try:
            _lock(self._file)
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        self._file.close()


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, error.strerror) from error

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
