"""Voices are read again when they have changed, and only then."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from app.core.storage import StorageError
from app.core.trash import Trash
from app.core.voice_cache import RECENT_SECONDS, VoiceCache
from app.core.voice_folder import read_voice_folder
from app.core.voice_parts import VoiceParts
from app.core.voice_record import LibraryVoice, VoiceDetails, VoiceKind
from app.core.voices import VoiceLibrary

LATER = 10.0


class Reader:
    """Counts how often folders are read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, folder: Path) -> LibraryVoice:
        self.read.append(folder.name)
        return read_voice_folder(folder)


@pytest.fixture
def library(tmp_path: Path) -> VoiceLibrary:
    return VoiceLibrary(tmp_path / "voices", Trash(tmp_path / "trash"))


def add(library: VoiceLibrary, name: str) -> LibraryVoice:
    parts = VoiceParts(embeddings=(np.ones(1024, np.float32),))
    return library.create(VoiceDetails(name, VoiceKind.IMPORTED), parts)


def test_only_changed_voices_are_read_again(library: VoiceLibrary) -> None:
    anna, ben = add(library, "Anna"), add(library, "Ben")
    reader = Reader()
    cache = VoiceCache(reader, lambda: time.time() + LATER)
    first = library.list(cache)
    assert library.list(cache) == first
    assert len(reader.read) == 2
    library.save(ben, VoiceDetails("Benjamin", ben.details.kind, id=ben.id))
    assert {voice.name for voice in library.list(cache).voices} == {"Anna", "Benjamin"}
    assert reader.read[2:] == [ben.folder.name]
    library.complete(anna, np.ones(2048, np.float32))
    found = library.list(cache).find(anna.id)
    assert found is not None
    assert found.files.widths == (1024, 2048)


def test_a_transcript_that_was_edited_in_place_is_seen(library: VoiceLibrary) -> None:
    anna = add(library, "Anna")
    (anna.folder / "transcript.txt").write_text("One.")
    cache = VoiceCache(clock=lambda: time.time() + LATER)
    assert cache(anna.folder).transcript == "One."
    with (anna.folder / "transcript.txt").open("r+") as file:
        file.write("Two and three.")
    assert cache(anna.folder).transcript == "Two and three."


def test_what_has_just_changed_is_not_trusted_yet(library: VoiceLibrary) -> None:
    anna = add(library, "Anna")
    reader = Reader()
    cache = VoiceCache(reader)
    cache(anna.folder)
    cache(anna.folder)
    assert len(reader.read) == 2
    past = time.time() - RECENT_SECONDS - 1
    for path in (*anna.folder.iterdir(), anna.folder):
        os.utime(path, (past, past))
    cache(anna.folder)
    cache(anna.folder)
    assert len(reader.read) == 3


def test_a_folder_that_became_damaged_is_an_error_again(library: VoiceLibrary) -> None:
    anna = add(library, "Anna")
    cache = VoiceCache(clock=lambda: time.time() + LATER)
    cache(anna.folder)
    (anna.folder / "voice.json").write_text("{")
    with pytest.raises(StorageError):
        cache(anna.folder)
    (anna.folder / "voice.json").unlink()
    assert library.list(cache).voices == ()
    assert len(library.list(cache).damaged) == 1
