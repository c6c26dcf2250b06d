"""Reads and writes the raw voice files `.spk` (x-vector) and `.rvq` (packed reference codes).

Neither has a header: length is all there is to check, so every check says what the file would be.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.errors import VoiceFileError
from engine.files import replace_file
from engine.types import DEMO_WIDTH, Codes

CODEBOOKS = 16
CODE_BITS = 11
FRAME_BYTES = CODEBOOKS * CODE_BITS // 8  # 22
MAX_FRAMES = 45_000  # an hour; anything longer is no voice reference
KNOWN_WIDTHS: Final[Mapping[int, str]] = MappingProxyType(
    {DEMO_WIDTH: "demonstration", 1024: "0.6B", 2048: "1.7B"}
)
"""The sizes of talkers by their width, those that are published and that of the studio's own."""


def read_embedding(path: Path, width: int | None = None) -> NDArray[np.float32]:
    """Read an x-vector: little-endian float32 values and nothing else, shape [width].

    `width` is the talker's. Raises VoiceFileError if the file cannot be read, is no list of finite
    numbers or was made for another width.
    """
    data = _read(path, 4 * 65_536)
    if not data or len(data) % 4:
        raise VoiceFileError(
            f"{path} is not a speaker embedding: its {len(data)} bytes are not whole numbers.",
            _swapped(path, "--ref-spk", data),
        )
    vector = np.frombuffer(data, "<f4").astype(np.float32)
    if width is not None and vector.size != width:
        raise VoiceFileError(
            f"{path} holds {vector.size} values{_made_for(vector.size)}; "
            f"the loaded model needs {width}{_made_for(width)}.",
            _swapped(path, "--ref-spk", data)
            if vector.size not in KNOWN_WIDTHS
            else "A voice only fits models of one size: make it again from its recording.",
        )
    if not np.isfinite(vector).all():
        raise VoiceFileError(
            f"{path} is not a speaker embedding: some of its values are not numbers.",
            _swapped(path, "--ref-spk", data),
        )
    return vector


def write_embedding(path: Path, vector: NDArray[np.float32]) -> None:
    """Write an x-vector [width] as little-endian float32; replaces the file as a whole."""
    replace_file(path, np.ascontiguousarray(vector, dtype="<f4").tobytes())


def read_codes(path: Path, codebook_size: int = 1 << CODE_BITS) -> Codes:
    """Read packed reference codes, shape [T, 16].

    The file is a bit stream of 11-bit codes, lowest bit first, all T codes of codebook 0 before
    those of codebook 1: 22 bytes per frame. Raises VoiceFileError if it cannot be read, is not
    whole frames, or holds codes that the model does not have.
    """
    data = _read(path, FRAME_BYTES * MAX_FRAMES)
    if not data or len(data) % FRAME_BYTES:
        raise VoiceFileError(
            f"{path} is not whole frames of codes: {len(data)} bytes, {FRAME_BYTES} per frame.",
            _swapped(path, "--ref-rvq", data),
        )
    codes = unpack_codes(data)
    if codes.max() >= codebook_size:
        raise VoiceFileError(
            f"{path} holds the code {codes.max()}; this model's codebooks end at "
            f"{codebook_size - 1}.",
            _swapped(path, "--ref-rvq", data),
        )
    return codes


def write_codes(path: Path, codes: Codes) -> None:
    """Write codes [T, 16], values 0..2047, as packed bits; replaces the file as a whole."""
    replace_file(path, pack_codes(codes))


def pack_codes(codes: Codes) -> bytes:
    """The bit stream of codes [T, 16]: 22 bytes per frame."""
    assert codes.ndim == 2, "codes are [T, 16]"
    assert codes.shape[1] == CODEBOOKS, "codes are [T, 16]"
    assert not codes.size or 0 <= codes.min() <= codes.max() < 1 << CODE_BITS, "codes have 11 bits"
    places = np.arange(CODE_BITS)
    bits = codes.T.reshape(-1, 1) >> places & 1  # [16 T, 11], lowest bit first
    return np.packbits(bits.astype(np.uint8).ravel(), bitorder="little").tobytes()


def unpack_codes(data: bytes) -> Codes:
    """The codes [T, 16] of a bit stream of whole frames."""
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    weights = (1 << np.arange(CODE_BITS)).astype(np.int64)
    codes: Codes = (bits.reshape(-1, CODE_BITS).astype(np.int64) @ weights).reshape(CODEBOOKS, -1).T
    return np.ascontiguousarray(codes)


def _read(path: Path, limit: int) -> bytes:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            # A named pipe would be waited for, a device never ends.
            raise VoiceFileError(f"{path} is not a file.", "Choose a .spk or .rvq file.")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise VoiceFileError(
            f"{path} cannot be read: {error.strerror}.", "Check the path and its permissions."
        ) from error
    if not data:
        raise VoiceFileError(f"{path} is empty.", "Make the voice again from its recording.")
    if len(data) > limit:
        raise VoiceFileError(
            f"{path} is too large for a voice file (over {limit} bytes).",
            "Choose the .spk or .rvq file that belongs to the voice.",
        )
    return data


def _made_for(width: int) -> str:
    return f" ({KNOWN_WIDTHS[width]} model)" if width in KNOWN_WIDTHS else ""


def _swapped(path: Path, option: str, data: bytes) -> str:
    """The hint for a file that is something else than was asked for."""
    if data[:4] in (b"RIFF", b"fLaC", b"OggS", b"GGUF"):
        return "It is a recording or a model: make a voice from it first."
    other = {"--ref-spk": ".rvq", "--ref-rvq": ".spk"}[option]
    if path.suffix.lower() == other:
        return "The .spk and .rvq files look swapped."
    if option == "--ref-spk" and not len(data) % FRAME_BYTES:
        return "It could be an .rvq file: check that the two are not swapped."
    if option == "--ref-rvq" and len(data) // 4 in KNOWN_WIDTHS:
        return "It could be an .spk file: check that the two are not swapped."
    return "It is damaged or of another kind; make the voice again from its recording."
