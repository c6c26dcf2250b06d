"""Looks at the folders of the library: which of them are voices, and what is wrong with others."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from app.core.storage import storage_error
from app.core.voice_record import LibraryVoice, clean_tags
from engine import ExplainedError


@dataclass(frozen=True)
class DamagedVoice:
    """A folder of the library that is no voice, and why."""

    folder: Path
    error: ExplainedError

    @property
    def name(self) -> str:
        return self.folder.name


@dataclass(frozen=True)
class VoiceListing:
    """What is in the library, in no particular order."""

    voices: tuple[LibraryVoice, ...] = ()
    damaged: tuple[DamagedVoice, ...] = ()

    def find(self, voice_id: str) -> LibraryVoice | None:
        return next((voice for voice in self.voices if voice.id == voice_id), None)

    @property
    def tags(self) -> tuple[str, ...]:
        """All tags in use, sorted."""
        return tuple(sorted(clean_tags(tag for voice in self.voices for tag in voice.details.tags)))


def list_voices(folder: Path, read: Callable[[Path], LibraryVoice]) -> VoiceListing:
    """All voices of a library in `folder`; `read` reads one of them. Never raises.

    What is no voice is told as damaged and stops nothing.
    """
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if not entry.name.startswith(".") and _is_folder(entry)
            )
    except FileNotFoundError:
        return VoiceListing()
    except OSError as error:
        failure = storage_error(folder, "be listed", error)
        return VoiceListing(damaged=(DamagedVoice(folder, failure),))
    voices: dict[str, LibraryVoice] = {}
    damaged = []
    for name in names:
        try:
            voice = read(folder / name)
        except ExplainedError as error:
            damaged.append(DamagedVoice(folder / name, error))
            continue
        if voice.id in voices:  # the folder was copied by hand
            details = replace(voice.details, id=uuid5(NAMESPACE_URL, name).hex)
            voice = replace(voice, details=details)
        voices[voice.id] = voice
    return VoiceListing(tuple(voices.values()), tuple(damaged))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of the library is a folder; links in circles are none."""
    try:
        return entry.is_dir()
    except OSError:
        return False
