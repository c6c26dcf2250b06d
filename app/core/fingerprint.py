"""Names the model that made a take, so that the take can be made again by the same one."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, TypeAlias

from app.core.storage import storage_error
from engine import ModelPair, files_of_model

HEAD_BYTES: Final = 1 << 20  # metadata and the beginning of the vocabulary
SAMPLES: Final = 32
SAMPLE_BYTES: Final = 1 << 14
DIGITS: Final = 16

_State: TypeAlias = tuple[str, int, int]  # path, time of change, size


def fingerprint(path: Path) -> str:
    """16 hex digits of a file: of its size, its head, and 32 evenly spread samples.

    Reads 1.5 MiB of a file of any size. Files that differ only between the samples have the same
    fingerprint, but a training run or a conversion changes all tensors. Raises StorageError.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            digest = hashlib.sha256(size.to_bytes(8, "little"))
            file.seek(0)
            digest.update(file.read(HEAD_BYTES))
            rest = max(0, size - HEAD_BYTES - SAMPLE_BYTES)
            for index in range(SAMPLES):
                file.seek(HEAD_BYTES + rest * index // (SAMPLES - 1))
                digest.update(file.read(SAMPLE_BYTES))
    except OSError as error:
        raise storage_error(path, "be read", error) from error
    return digest.hexdigest()[:DIGITS]


class FingerprintCache:
    """Fingerprints of files, computed anew when path, time of change or size differ."""

    def __init__(self) -> None:
        self._known: dict[_State, str] = {}
        self._parts: dict[_State, tuple[Path, ...]] = {}  # of models, by their first file

    def of(self, path: Path) -> str:
        """The fingerprint of a file; raises StorageError."""
        state = _state(path)
        if state not in self._known:
            self._known[state] = fingerprint(path)
        return self._known[state]

    def of_pair(self, pair: ModelPair) -> str:
        """Both fingerprints, talker first: the codec has a part in how a take sounds.

        That of a talker that takes its weights from another file is followed by that one's.
        """
        state = _state(pair.talker)
        if state not in self._parts:
            self._parts[state] = files_of_model(pair.talker)
        return "-".join(self.of(path) for path in (*self._parts[state], pair.codec))


def _state(path: Path) -> _State:
    try:
        status = path.stat()
    except OSError as error:
        raise storage_error(path, "be read", error) from error
    return str(path.absolute()), status.st_mtime_ns, status.st_size
