"""The library: every voice a folder of plain files, there as a whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from app.core.blending import blend_voices
from app.core.names import slug
from app.core.storage import (
    StorageError,
    make_folder,
    replace_bytes,
    set_aside,
    storage_error,
    write_document,
)
from app.core.trash import Trash, TrashItem
from app.core.voice_folder import (
    DETAILS,
    TRANSCRIPT,
    codes_name,
    copy_voice_files,
    embedding_name,
    encode_transcript,
    read_voice_folder,
)
from app.core.voice_listing import DamagedVoice, VoiceListing, list_voices
from app.core.voice_parts import VoiceParts, check_embedding, write_parts
from app.core.voice_record import (
    VOICE_DOCUMENT,
    LibraryVoice,
    VoiceDetails,
    VoiceKind,
    clean_tags,
    plain_details,
)
from engine import RequestError
from engine.types import Codes
from engine.voices import (
    write_codes,
    write_embedding,
)

UNFINISHED: Final = ".new-"
TRASH_KIND: Final = "voice"
STALE_SECONDS: Final = 3600.0


class VoiceLibrary:
    """The voices in one folder. Not thread-safe; every call looks at the disk anew."""

    def __init__(self, folder: Path, trash: Trash) -> None:
        self.folder = folder.absolute()
        self.trash = trash

    def list(self, read: Callable[[Path], LibraryVoice] = read_voice_folder) -> VoiceListing:
        """All voices; what is no voice is told as damaged and stops nothing. Never raises.

        `read` reads one folder; a `VoiceCache` leaves out what has not changed.
        """
        return list_voices(self.folder, read)

    def create(self, details: VoiceDetails, parts: VoiceParts) -> LibraryVoice:
        """Add a voice; raises RequestError if there is nothing in it, StorageError."""
        if parts.clip is None and parts.trimmed is None and not parts.embeddings:
            raise RequestError(
                f"There is nothing to make the voice {details.name!r} from.",
                "Record or open a clip first.",
            )
        for vector in parts.embeddings:
            check_embedding(vector)
        return self.add(details, lambda folder: write_parts(folder, parts))

    def add(self, details: VoiceDetails, fill: Callable[[Path], None]) -> LibraryVoice:
        """Add a voice whose files, all but `voice.json`, are written by `fill` into a folder.

        They are renamed to their place when all is well, and removed when not. Raises
        StorageError, and what `fill` raises.
        """
        make_folder(self.folder)
        details = self._tidy(details)
        try:
            building = self.folder / f"{UNFINISHED}{uuid4().hex}"
            building.mkdir()
        except OSError as error:
            raise storage_error(self.folder, "be written to", error) from error
        try:
            fill(building)
            write_document(building / DETAILS, VOICE_DOCUMENT, plain_details(details))
            for path in building.iterdir():
                _sync(path)
            target = self._free_folder(details)
            building.rename(target)
        except OSError as error:
            shutil.rmtree(building, ignore_errors=True)
            reads = error.filename and error.errno not in (errno.ENOSPC, errno.EDQUOT)
            place = Path(str(error.filename)) if reads else self.folder
            raise storage_error(place, "be stored", error) from error
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
        return read_voice_folder(target)

    def save(self, voice: LibraryVoice, details: VoiceDetails) -> LibraryVoice:
        """Change what `voice.json` says (tags, favourite, note, ...); raises StorageError."""
        self._check_writable(voice)
        details = self._tidy(details)
        write_document(voice.folder / DETAILS, VOICE_DOCUMENT, plain_details(details))
        return replace(voice, details=details)

    def rename(self, voice: LibraryVoice, name: str) -> LibraryVoice:
        """Give another name; the folder follows, unless something holds it. StorageError."""
        voice = self.save(voice, replace(voice.details, name=name))
        wanted = _folder_name(voice.details)
        if voice.folder.name != wanted:
            try:
                target = self._free_folder(voice.details)
                voice.folder.rename(target)
            except OSError:
                return voice  # in use, as on Windows while its clip plays: the id is what counts
            return read_voice_folder(target)
        return voice

    def duplicate(self, voice: LibraryVoice, name: str) -> LibraryVoice:
        """A second voice with the same files; raises StorageError."""
        details = replace(
            VoiceDetails(name, voice.details.kind),
            language=voice.details.language,
            tags=voice.details.tags,
            note=voice.details.note,
            consent=voice.details.consent,
            origin=replace(
                voice.details.origin, parents=(voice.id,), parent_names=(voice.details.name,)
            ),
        )
        return self.add(details, lambda folder: copy_voice_files(voice.folder, folder))

    def delete(self, voice: LibraryVoice | DamagedVoice) -> TrashItem:
        """Move a voice to the trash; raises StorageError."""
        if not voice.folder.exists():
            raise _gone(voice.name, voice.folder)
        key = voice.id if isinstance(voice, LibraryVoice) else ""
        return self.trash.move([voice.folder], TRASH_KIND, voice.name, key)

    def restore(self, item: TrashItem) -> LibraryVoice:
        """Bring a voice back from the trash; raises StorageError."""
        assert item.kind == TRASH_KIND, "a voice"
        (folder,) = self.trash.restore(item)
        return read_voice_folder(folder)

    def complete(
        self,
        voice: LibraryVoice,
        embedding: NDArray[np.float32] | None = None,
        codes: Codes | None = None,
        transcript: str | None = None,
        *,
        codec: str = "",
    ) -> LibraryVoice:
        """Add or replace parts: an embedding of another width, codes of a tokenizer, the words.

        Raises StorageError, VoiceFileError for an embedding that is none.
        """
        self._check_writable(voice)
        try:
            if embedding is not None:
                check_embedding(embedding)
                write_embedding(voice.folder / embedding_name(embedding.size), embedding)
            if codes is not None:
                write_codes(voice.folder / codes_name(codec), codes)
        except OSError as error:
            raise storage_error(voice.folder, "be written to", error) from error
        if transcript is not None:
            replace_bytes(voice.folder / TRANSCRIPT, encode_transcript(transcript))
        return read_voice_folder(voice.folder)

    def blend(
        self, first: LibraryVoice, second: LibraryVoice, amount: float, name: str
    ) -> LibraryVoice:
        """Add a voice that is `amount` (0..1) of the way from the first to the second.

        It has every width that both have, and no codes: those are a recording of one person.
        Raises VoiceWidthError if they share no width, VoiceFileError, StorageError.
        """
        return self.create(*blend_voices(first, second, amount, name))

    def sweep(self, older_than: float = STALE_SECONDS) -> int:
        """Move what a crash left half made for `older_than` seconds to the trash; how many.

        Another studio may be at work on younger ones. Raises StorageError.
        """
        if not self.folder.is_dir():
            return 0
        latest = time.time() - older_than
        stale = [
            path
            for path in self.folder.iterdir()
            if path.name.startswith(UNFINISHED) and path.stat().st_mtime <= latest
        ]
        for path in stale:
            self.trash.move([path], "unfinished voice", path.name)
        return len(stale)

    def repair(self, damaged: DamagedVoice, name: str) -> LibraryVoice:
        """Give a damaged folder a new `voice.json`; the old one is kept beside it.

        Raises ExplainedError if the description is not all that is damaged.
        """
        if (damaged.folder / DETAILS).exists():
            set_aside(damaged.folder / DETAILS)
        details = self._tidy(VoiceDetails(name, VoiceKind.IMPORTED))
        write_document(damaged.folder / DETAILS, VOICE_DOCUMENT, plain_details(details))
        return read_voice_folder(damaged.folder)

    def _check_writable(self, voice: LibraryVoice) -> None:
        if not voice.folder.exists():
            raise _gone(voice.name, voice.folder)
        if voice.read_only:
            raise StorageError(
                f"The voice {voice.name!r} was written by a newer version of the studio.",
                "Update the studio to change it, or duplicate it.",
            )

    def _tidy(self, details: VoiceDetails) -> VoiceDetails:
        name = " ".join(details.name.split())
        if not name:
            raise RequestError("The voice has no name.", "Give it one.")
        return replace(details, name=name[:200], tags=clean_tags(details.tags))

    def _free_folder(self, details: VoiceDetails) -> Path:
        folder = self.folder / _folder_name(details)
        while folder.exists():
            folder = self.folder / _folder_name(replace(details, id=uuid4().hex))
        return folder


def _gone(name: str, folder: Path) -> StorageError:
    return StorageError(
        f"The voice {name!r} is not in {folder} any more.",
        "It was moved or deleted elsewhere: look into the trash.",
    )


def _folder_name(details: VoiceDetails) -> str:
    return f"{slug(details.name, fallback='voice')}-{slug(details.id, fallback='0')[:8]}"


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
