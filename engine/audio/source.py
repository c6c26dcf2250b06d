"""The bytes of a sound file as libsndfile gets them, and what they are if it refuses them."""

from __future__ import annotations

import io
import os
import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

from engine.errors import AudioFileError

MOST_CHUNKS = 1000  # a WAV file has a handful; a damaged one could seem to have millions

ANOTHER_COPY = "Export it again or use another copy."
CONVERT = "Save it as WAV, FLAC, OGG or MP3 first."


class _Kind(NamedTuple):
    place: int
    magic: bytes
    name: str
    hint: str


_NOT_READ = (
    _Kind(0, b"GGUF", "a model file (GGUF)", "Choose a recording; models are opened elsewhere."),
    _Kind(8, b"AVI ", "a video (AVI)", CONVERT),
    _Kind(4, b"ftyp", "an MPEG-4 file (M4A, MP4, MOV)", CONVERT),
    _Kind(0, b"\x1aE\xdf\xa3", "a WebM or Matroska file", CONVERT),
    _Kind(0, b"0&\xb2u\x8ef\xcf\x11", "a Windows Media file", CONVERT),
    _Kind(0, b"#!AMR", "an AMR voice memo", CONVERT),
    _Kind(0, b"wvpk", "a WavPack file", CONVERT),
    _Kind(0, b"MAC ", "a Monkey's Audio file", CONVERT),
    _Kind(0, b"\xff\xf1", "a raw AAC file", CONVERT),
    _Kind(0, b"\xff\xf9", "a raw AAC file", CONVERT),
    _Kind(0, b"PK\x03\x04", "a ZIP archive", "Unpack it and choose a recording."),
    _Kind(0, b"%PDF", "a PDF document", "Choose a recording."),
    _Kind(0, b"\x89PNG", "a picture", "Choose a recording."),
    _Kind(0, b"\xff\xd8\xff", "a picture", "Choose a recording."),
)
_READ = (
    _Kind(0, b"RIFF", "WAV", ANOTHER_COPY),
    _Kind(0, b"RF64", "WAV (RF64)", ANOTHER_COPY),
    _Kind(0, b"riff", "Wave64", ANOTHER_COPY),
    _Kind(0, b"fLaC", "FLAC", ANOTHER_COPY),
    _Kind(0, b"OggS", "OGG", ANOTHER_COPY),
    _Kind(0, b"FORM", "AIFF", ANOTHER_COPY),
    _Kind(0, b"caff", "CAF", ANOTHER_COPY),
    _Kind(0, b"ID3", "MP3", ANOTHER_COPY),
    _Kind(0, b"\xff\xfb", "MP3", ANOTHER_COPY),
    _Kind(0, b"\xff\xf3", "MP3", ANOTHER_COPY),
    _Kind(0, b"\xff\xf2", "MP3", ANOTHER_COPY),
    _Kind(0, b"\xff\xfa", "MP3", ANOTHER_COPY),
)
_VOICE_FILES = {".spk": "a speaker embedding", ".rvq": "reference codes"}


class SoundBytes(io.RawIOBase):
    """A sound file, with the data size of a WAV that was never finished put right.

    libsndfile asks for bytes from within C, where an exception would be printed and lost. So no
    method raises: an OSError is kept in `error` and ends the file, a seek out of range stays put.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        super().__init__()
        self._file = file
        self._size = size
        self._place = 0
        self._repair = _unfinished_data(file, size)
        self.error: OSError | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        if 0 <= base + offset < 1 << 62:
            self._place = base + offset
        return self._place

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any buffer will do
        view = memoryview(buffer).cast("B")
        try:
            self._file.seek(self._place)
            data = self._file.read(len(view))
        except OSError as error:
            self.error = error
            return 0
        view[: len(data)] = data
        if self._repair is not None:
            at, patch = self._repair
            for i, byte in enumerate(patch, at - self._place):
                if 0 <= i < len(data):
                    view[i] = byte
        self._place += len(data)
        return len(data)


def _unfinished_data(file: BinaryIO, size: int) -> tuple[int, bytes] | None:
    """Where the data size of a WAV file is 0 although samples follow, and what it should be.

    A recorder writes the size at the end; one that crashed never did.
    """
    file.seek(0)
    head = file.read(12)
    if head[:4] != b"RIFF" or head[8:] != b"WAVE":
        return None
    place = 12
    for _ in range(MOST_CHUNKS):
        chunk = _chunk(file, place, size)
        if chunk is None:
            return None
        name, length = chunk
        rest = size - place - 8
        if name == b"data":
            if length or not rest or _chunk(file, place + 8, size) is not None:
                return None
            return place + 4, struct.pack("<I", min(rest, 0xFFFF_FFFF))
        place += 8 + length + length % 2
    return None


def _chunk(file: BinaryIO, place: int, size: int) -> tuple[bytes, int] | None:
    """Name and length of the RIFF chunk at `place`, if there is one and it fits."""
    file.seek(place)
    head = file.read(8)
    if len(head) < 8 or not head[:4].isascii() or not head[:4].decode("ascii").isprintable():
        return None
    length = struct.unpack("<I", head[4:])[0]
    if head[:4] != b"data" and place + 8 + length > size:
        return None
    return head[:4], length


def ogg_has_end(file: BinaryIO, size: int) -> bool:
    """Whether the last page of an Ogg file says that it is the last (RFC 3533, sec. 6)."""
    file.seek(max(0, size - (1 << 17)))  # a page has at most 65,307 bytes
    tail = file.read(1 << 17)
    page = tail.rfind(b"OggS")
    return 0 <= page < len(tail) - 5 and bool(tail[page + 5] & 4)


def refuse_voice_file(path: Path, head: bytes) -> None:
    """Raise AudioFileError for a `.spk` or `.rvq` file; neither has a mark of its own."""
    what = _VOICE_FILES.get(path.suffix.lower())
    if what is not None and _match(_READ, head) is None:
        raise AudioFileError(
            f"{path} is {what}, not a recording.",
            "Use it as a voice file, or choose the recording that it was made from.",
        )


def not_readable(path: Path, head: bytes, detail: str) -> AudioFileError:
    """The error for a file that libsndfile refuses: what it seems to be, and what to do."""
    known = _match(_NOT_READ, head)
    if known is not None:
        return AudioFileError(
            f"{path} is {known.name}, which is not read here.", known.hint, detail
        )
    known = _match(_READ, head)
    if known is not None:
        return AudioFileError(
            f"{path} cannot be read: this {known.name} file is damaged, cut off within its "
            "header, or in a rare encoding.",
            known.hint,
            detail,
        )
    return AudioFileError(
        f"{path} is not a sound file.", f"Choose a recording in a common format. {CONVERT}", detail
    )


def _match(kinds: tuple[_Kind, ...], head: bytes) -> _Kind | None:
    for kind in kinds:
        if head[kind.place : kind.place + len(kind.magic)] == kind.magic:
            return kind
    return None
