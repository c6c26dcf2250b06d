"""Writes voices out of the library, for other studios and for qwentts.cpp."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.core.names import safe_name, unique_name
from app.core.storage import StorageError, document_bytes, storage_error
from app.core.voice_folder import (
    DETAILS,
    codes_name,
    copy_voice_files,
    embedding_name,
    encode_transcript,
    voice_files,
)
from app.core.voice_record import VOICE_DOCUMENT, LibraryVoice, plain_details
from engine import VoiceFileError
from engine.files import replacing
from engine.types import DEMO_CODEC, DEMO_WIDTH

EMBEDDING, REFERENCE_CODES, WORDS = ".spk", ".rvq", ".txt"
_STORED: Final = frozenset({".mp3", ".flac", ".ogg", ".opus", ".m4a", ".mp4"})  # packed already


def export_folder(voice: LibraryVoice, folder: Path) -> Path:
    """Copy a voice into a new folder within `folder`; the new one. Raises StorageError."""
    try:
        taken = [path.name for path in folder.iterdir()]
        target = folder / unique_name(safe_name(voice.name), taken)
        target.mkdir()
        try:
            copy_voice_files(voice.folder, target)
            (target / DETAILS).write_bytes(_details(voice))
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            raise
    except OSError as error:
        raise storage_error(folder, "be written to", error) from error
    return target


def export_zip(voices: Sequence[LibraryVoice], path: Path) -> None:
    """Write voices into one zip archive, a folder each; replaces `path`. Raises StorageError."""
    taken: list[str] = []
    try:
        with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for voice in voices:
                name = unique_name(safe_name(voice.name), taken)
                taken.append(name)
                archive.writestr(f"{name}/{DETAILS}", _details(voice))
                for source in voice_files(voice.folder):
                    packing = zipfile.ZIP_STORED if source.suffix in _STORED else None
                    archive.write(source, f"{name}/{source.name}", compress_type=packing)
    except OSError as error:
        raise storage_error(path, "be written", error) from error
    except ValueError as error:  # times before 1980, on a machine without a clock
        raise StorageError(
            f"{path} cannot be written: a file of a voice has an impossible date.",
            "Copy the voice folder by hand.",
            repr(error),
        ) from error


def export_bare(voice: LibraryVoice, folder: Path, width: int | None = None) -> tuple[Path, ...]:
    """Write NAME.spk, NAME.rvq and NAME.txt, as qwentts.cpp reads them; their paths.

    `width` chooses the embedding; without it, each has its own file, NAME-1024.spk, if there are
    several. Nothing is overwritten: the name has a number then. Raises VoiceFileError if there
    is no such embedding, StorageError.
    """
    widths = voice.files.widths if width is None else (width,)
    if not widths or not set(widths) <= set(voice.files.widths):
        raise VoiceFileError(
            f"The voice {voice.name!r} has no speaker embedding"
            + (f" of width {width}." if width else "."),
            "Make it again from its clip with a model of that size.",
        )
    sources = {
        EMBEDDING if len(widths) == 1 else f"-{each}{EMBEDDING}": embedding_name(each)
        for each in widths
    }
    codec = DEMO_CODEC if widths == (DEMO_WIDTH,) else ""
    if codec in voice.files.codecs:
        sources[REFERENCE_CODES] = codes_name(codec)
    try:
        stem = _free_stem(folder, safe_name(voice.name, longest=80), (*sources, WORDS))
        made = []
        for ending, source in sources.items():
            path = folder / f"{stem}{ending}"
            shutil.copyfile(voice.folder / source, path)
            made.append(path)
        if voice.transcript:
            path = folder / f"{stem}{WORDS}"
            path.write_bytes(encode_transcript(voice.transcript))
            made.append(path)
    except OSError as error:
        raise storage_error(folder, "be written to", error) from error
    return tuple(made)


def _details(voice: LibraryVoice) -> bytes:
    return document_bytes(VOICE_DOCUMENT, plain_details(voice.details))


def _free_stem(folder: Path, stem: str, endings: tuple[str, ...]) -> str:
    number, free = 1, stem
    while any((folder / f"{free}{ending}").exists() for ending in endings):
        number += 1
        free = f"{stem} {number}"
    return free
