"""Names the model that made a take, so that the take can be made again by the same one."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from app.core.storage import storage_error
from engine import ModelPair, files_of_model
from engine.gguf.header import TENSORS_FROM

HEAD_BYTES: Final = 1 << 20  # metadata and the beginning of the vocabulary
SAMPLES: Final = 32
SAMPLE_BYTES: Final = 1 << 14
DIGITS: Final = 16


def fingerprint(path: Path) -> str:
    """16 hex digits of a file: of its size, its head, and 32 evenly spread samples.

    Those of a model file that takes its weights from another are of both.

    Reads 1.5 MiB of a file of any size. Files that differ only between the samples have the same
    fingerprint, but a training run or a conversion changes all tensors. Raises StorageError.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            digest = hashlib.sha256(size.to_bytes(8, "little"))
            file.seek(0)
            head = file.read(HEAD_BYTES)
            digest.update(head)
            rest = max(0, size - HEAD_BYTES - SAMPLE_BYTES)
            for index in range(SAMPLES):
                file.seek(HEAD_BYTES + rest * index // (SAMPLES - 1))
                digest.update(file.read(SAMPLE_BYTES))
    except OSError as error:
        raise storage_error(path, "be read", error) from error
    if TENSORS_FROM.encode() in head:
        for other in files_of_model(path)[1:]:
            digest.update(fingerprint(other).encode())
    return digest.hexdigest()[:DIGITS]


class FingerprintCache:
    """Fingerprints of files, computed anew when path, time of change or size differ."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int], str] = {}

    def of(self, path: Path) -> str:
        """The fingerprint of a file; raises StorageError."""
        try:
            status = path.stat()
        except OSError as error:
            raise storage_error(path, "be read", error) from error
        key = (str(path.absolute()), status.st_mtime_ns, status.st_size)
        if key not in self._known:
            self._known[key] = fingerprint(path)
        return self._known[key]

    def of_pair(self, pair: ModelPair) -> str:
        """Both fingerprints, talker first: the codec has a part in how a take sounds."""
        return f"{self.of(pair.talker)}-{self.of(pair.codec)}"
