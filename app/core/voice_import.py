"""Takes voices into the library: folders, zip archives, and the bare files of qwentts.cpp."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from app.core.archives import ArchiveError, ArchiveLimits, unpack
from app.core.fields import Fields
from app.core.names import UNTITLED
from app.core.storage import read_bytes, read_document, storage_error
from app.core.transcripts import LONGEST_TRANSCRIPT, decode_transcript
from app.core.voice_export import EMBEDDING, REFERENCE_CODES, WORDS
from app.core.voice_folder import (
    DETAILS,
    TRANSCRIPT,
    TRIMMED,
    clip_name,
    codes_name,
    embedding_name,
    encode_transcript,
    is_voice_file,
)
from app.core.voice_record import (
    VOICE_DOCUMENT,
    LibraryVoice,
    Origin,
    VoiceDetails,
    VoiceKind,
    details_from,
)
from app.core.voices import VoiceLibrary
from engine import ExplainedError, VoiceFileError
from engine.types import DEMO_CODEC, DEMO_WIDTH
from engine.voices import read_codes, read_embedding

SOUNDS: Final = frozenset(
    {".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".m4a"}
)
BARE: Final = frozenset({EMBEDDING, REFERENCE_CODES, WORDS}) | SOUNDS
MOST_VOICES: Final = 2_000
_WIDTH: Final = re.compile(r"(.+)-([1-9][0-9]{1,5})")


@dataclass(frozen=True)
class ImportReport:
    """What became of an import: what came in, what did not and why, what to look at."""

    voices: tuple[LibraryVoice, ...] = ()
    problems: tuple[ExplainedError, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Bare:
    """Files that belong together by name."""

    name: str
    embeddings: tuple[Path, ...]
    codes: Path | None
    words: Path | None
    sound: Path | None


def import_voices(
    library: VoiceLibrary, paths: Sequence[Path], limits: ArchiveLimits | None = None
) -> ImportReport:
    """Import whatever the paths are; one that fails stops none of the others. Never raises.

    A folder is a voice if it has a `voice.json`; otherwise it is looked through, one level deep,
    for such folders and for files NAME.spk (NAME-1024.spk, NAME-2048.spk), NAME.rvq, NAME.txt,
    with NAME.wav as the clip. A zip archive is taken as the folder in it.
    """
    importer = _Importer(library, limits or ArchiveLimits())
    importer.take(paths)
    return ImportReport(
        tuple(importer.voices), tuple(importer.problems), tuple(dict.fromkeys(importer.notices))
    )


class _Importer:
    def __init__(self, library: VoiceLibrary, limits: ArchiveLimits) -> None:
        self.voices: list[LibraryVoice] = []
        self.problems: list[ExplainedError] = []
        self.notices: list[str] = []
        self._library = library
        self._limits = limits
        self._known = {voice.id for voice in library.list().voices}

    def take(self, paths: Sequence[Path]) -> None:
        files = []
        for path in paths:
            if path.is_dir():
                self._try(partial(self._folder, path))
            elif path.suffix.lower() == ".zip":
                self._try(partial(self._zip, path))
            elif path.name == DETAILS:
                self._try(partial(self._folder, path.parent))
            elif path.suffix.lower() in BARE:
                files.append(path)
            else:
                self.problems.append(
                    VoiceFileError(
                        f"{path} is no voice.",
                        "Choose voice folders, zip archives, or .spk, .rvq and .txt files.",
                    )
                )
        for bare in self._grouped(files, named=True):
            self._try(partial(self._bare, bare))

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
        except ExplainedError as error:
            self.problems.append(error)

    def _zip(self, path: Path) -> None:
        try:
            temporary = tempfile.TemporaryDirectory(prefix="voices-", ignore_cleanup_errors=True)
        except OSError as error:
            raise storage_error(Path(tempfile.gettempdir()), "be written to", error) from error
        with temporary as name:
            folder = Path(name).resolve()
            before = len(self.problems)
            unpack(path, folder, _is_wanted, self._limits)
            found = self._folder(folder, named=path.stem)
            # What was wrong in there was said about files that are gone by then.
            self.problems[before:] = [
                _located(error, folder, path) for error in self.problems[before:]
            ]
            self.notices = [notice.replace(str(folder), str(path)) for notice in self.notices]
            if not found:
                raise ArchiveError(
                    f"There are no voices in {path}.",
                    "It should hold voice folders, or .spk, .rvq and .txt files.",
                )

    def _folder(self, folder: Path, named: str = "") -> bool:
        """Import all of a folder; whether anything looked like a voice."""
        if (folder / DETAILS).is_file():
            self._try(partial(self._described, folder))
            return True
        entries = _entries(folder)
        inner = [path for path in entries if path.is_dir() and (path / DETAILS).is_file()]
        for path in inner[:MOST_VOICES]:
            self._try(partial(self._described, path))
        groups = self._grouped(path for path in entries if path.is_file())
        if not inner and not groups:
            lower = [path for path in entries if path.is_dir()]
            groups = self._grouped(
                path for each in lower for path in _entries(each) if path.is_file()
            )
        for bare in groups[:MOST_VOICES]:
            self._try(partial(self._bare, bare))
        if inner or groups:
            return True
        if not named:
            raise VoiceFileError(
                f"There are no voices in {folder}.",
                "It should hold voice folders, or .spk, .rvq and .txt files.",
            )
        return False

    def _described(self, folder: Path) -> None:
        """A voice folder of a studio: all its parts are checked before any is taken."""
        document = read_document(folder / DETAILS, VOICE_DOCUMENT)
        if document.read_only:
            raise VoiceFileError(document.message, "Update the studio to import it.")
        details = details_from(Fields(document.values, str(folder / DETAILS)))
        parts: dict[str, Path] = {}
        words = None
        for path in _entries(folder):
            if not is_voice_file(path.name) or not path.is_file() or path.is_symlink():
                continue
            if path.suffix == EMBEDDING:
                parts[embedding_name(read_embedding(path).size)] = path
            elif path.name == TRANSCRIPT:
                words = self._words(path)
            else:
                if path.suffix == REFERENCE_CODES:
                    read_codes(path)
                parts[path.name] = path
        self._add(self._own(details), parts, words)

    def _bare(self, bare: _Bare) -> None:
        parts = {embedding_name(read_embedding(path).size): path for path in bare.embeddings}
        if bare.codes is not None:
            read_codes(bare.codes)
            of_demo = list(parts) == [embedding_name(DEMO_WIDTH)]
            parts[codes_name(DEMO_CODEC if of_demo else "")] = bare.codes
        if bare.sound is not None:
            parts[clip_name(bare.sound)] = bare.sound
        first = bare.embeddings[0] if bare.embeddings else bare.sound
        if first is None or (first == bare.sound and bare.codes is None):
            raise VoiceFileError(
                f"{bare.codes or bare.words or bare.sound} is no voice by itself: "
                f"{bare.name}{EMBEDDING} is missing.",
                "Choose all files of the voice together, or clone a voice from its recording.",
            )
        words = None if bare.words is None else self._words(bare.words)
        origin = Origin(source=first.name)
        name = bare.name.strip() or UNTITLED
        self._add(VoiceDetails(name, VoiceKind.IMPORTED, origin=origin), parts, words)

    def _words(self, path: Path) -> str:
        transcript = decode_transcript(read_bytes(path, LONGEST_TRANSCRIPT), str(path))
        if transcript.notice:
            self.notices.append(transcript.notice)
        return transcript.text

    def _add(self, details: VoiceDetails, parts: dict[str, Path], words: str | None) -> None:
        speaks = [name for name in parts if name.endswith(EMBEDDING) or name == TRIMMED]
        if not speaks and not any(name.startswith("clip.") for name in parts):
            raise VoiceFileError(
                f"The voice {details.name!r} is incomplete: it has neither embedding nor clip.",
                "Export it again.",
            )

        def fill(folder: Path) -> None:
            for name, source in parts.items():
                shutil.copyfile(source, folder / name)
            if words:
                (folder / TRANSCRIPT).write_bytes(encode_transcript(words))

        voice = self._library.add(details, fill)
        self._known.add(voice.id)
        self.voices.append(voice)

    def _own(self, details: VoiceDetails) -> VoiceDetails:
        """The id stays, so that takes find their voice, unless it is here already or is none."""
        try:
            usable = UUID(details.id).hex == details.id and details.id not in self._known
        except ValueError:
            usable = False
        return details if usable else replace(details, id=uuid4().hex)

    def _grouped(self, paths: Iterable[Path], *, named: bool = False) -> list[_Bare]:
        """Files by folder and stem; groups without embedding and codes only if `named`."""
        files = [path for path in paths if path.suffix.lower() in BARE]
        groups: dict[tuple[Path, str], list[Path]] = {}
        for path in files:
            groups.setdefault((path.parent, _stem(path)), []).append(path)
        found = []
        for (_, stem), members in groups.items():
            by_ending = {path.suffix.lower(): path for path in members}
            embeddings = tuple(path for path in members if path.suffix.lower() == EMBEDDING)
            codes, words = by_ending.get(REFERENCE_CODES), by_ending.get(WORDS)
            if embeddings or codes or named:
                sound = next((path for end, path in by_ending.items() if end in SOUNDS), None)
                found.append(_Bare(stem, embeddings, codes, words, sound))
        return found


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise storage_error(folder, "be read", error) from error


def _stem(path: Path) -> str:
    """The name of the voice: without the width behind it, if the file has that width."""
    match = _WIDTH.fullmatch(path.stem)
    if match and path.suffix.lower() == EMBEDDING:
        try:
            if path.stat().st_size == 4 * int(match.group(2)):
                return match.group(1)
        except OSError:
            return path.stem
    return path.stem


def _is_wanted(name: str) -> bool:
    return name == DETAILS or is_voice_file(name) or Path(name).suffix.lower() in BARE


def _located(error: ExplainedError, folder: Path, archive: Path) -> ExplainedError:
    message = error.message.replace(str(folder), str(archive))
    return VoiceFileError(message, error.hint, error.detail)
