"""Everything behind the window together: how it begins, and how it ends with nothing left over."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.audio.journal import Journal, JournalNote
from app.audio.null import NullBackend
from app.core.paths import studio_paths
from app.core.session import Draft
from app.core.storage import StorageError
from app.core.voice_parts import VoiceParts
from app.core.voice_record import VoiceDetails, VoiceKind
from app.studio.models import ModelStatus
from app.studio.notes import Note
from app.studio.studio import CLONE_TAB, RECORDINGS, Studio
from engine import ExplainedError
from tests.fakes import FakeModels, FakeOpener

OURS = ("background", "autosave", "player", "recorder", "survey", "null-audio")


def our_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name in OURS]


class Told:
    """What a studio tells."""

    def __init__(self, studio: Studio) -> None:
        self.problems: list[ExplainedError] = []
        self.notes: list[Note] = []
        studio.problem.connect(self.problems.append)
        studio.notice.connect(self.notes.append)

    @property
    def sentences(self) -> list[str]:
        return [note.sentence for note in self.notes]


def test_it_begins_with_all_that_is_there(
    studio: Studio, model_files: FakeModels, qtbot: QtBot
) -> None:
    told = Told(studio)
    voice = studio._library.create(
        VoiceDetails("Anna", VoiceKind.CLONE),
        VoiceParts(embeddings=(np.ones(64, np.float32),)),
    )
    studio.begin()
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED, timeout=30_000)
    qtbot.waitUntil(lambda: not studio.sound.is_looking, timeout=30_000)
    assert studio.background.flush()
    assert studio.models.found is not None
    assert len(studio.models.found.talkers) == 3
    assert [one.id for one in studio.voices.listing.voices] == [voice.id]
    assert [device.name for device in studio.sound.outputs] == ["No sound"]
    assert not told.problems
    assert not told.notes


def test_the_voice_that_was_chosen_comes_back(studio: Studio) -> None:
    for name in ("Anna", "Ben"):
        voice = studio._library.create(
            VoiceDetails(name, VoiceKind.CLONE),
            VoiceParts(embeddings=(np.ones(64, np.float32),)),
        )
    studio.session.set_draft(CLONE_TAB, Draft(voice_id=voice.id))
    studio.begin()
    assert studio.background.flush()
    selected = studio.voices.selected
    assert selected is not None
    assert selected.name == "Ben"


def test_an_empty_home_is_no_problem(studio: Studio, qtbot: QtBot) -> None:
    told = Told(studio)
    studio.begin()
    assert studio.background.flush()
    qtbot.waitUntil(lambda: not studio.sound.is_looking, timeout=30_000)
    assert studio.models.state.status is ModelStatus.NONE
    assert studio.paths.models.is_dir()  # where people are told to put models
    assert not told.problems
    assert not told.notes


def test_what_a_crash_has_left_is_told(
    studio: Studio, studio_home: Path, opener: FakeOpener, qtbot: QtBot
) -> None:
    folder = studio.session.folder / RECORDINGS
    journal = Journal(folder, "recording 1", JournalNote(48_000, 1, "Desk", "2026"))
    journal.append(np.full((4800, 1), 0.5, np.float32))
    journal.close()
    assert studio.close()
    settings = studio_paths(studio_home).config / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("{ not JSON")
    again = Studio(studio.paths, NullBackend(), opener.openers)
    try:
        told = Told(again)
        again.begin()
        assert again.background.flush()
        assert again.session.folder == studio.session.folder
        assert "settings.json is damaged" in told.sentences[0]
        assert any("was recovered" in sentence for sentence in told.sentences)
        assert (folder / "recording 1.wav").exists()
    finally:
        assert again.close()


def test_two_windows_share_a_home(studio: Studio, opener: FakeOpener) -> None:
    other = Studio(studio.paths, NullBackend(), opener.openers)
    try:
        told = Told(other)
        other.begin()
        assert any("open in another window" in sentence for sentence in told.sentences)
        assert other.session.folder != studio.session.folder
    finally:
        assert other.close()


def test_nothing_is_left_running(
    qapp: QApplication, studio_home: Path, opener: FakeOpener, model_files: FakeModels
) -> None:
    made = Studio(studio_paths(studio_home), NullBackend(), opener.openers)
    assert len(our_threads()) >= 4
    made.begin()  # and closed before any of it is done
    assert made.close()
    assert made.close()
    assert our_threads() == []
    assert opener.engines == [] or opener.engines[-1]() is None  # its memory is free


def test_a_home_that_cannot_be_used_is_explained(
    qapp: QApplication, studio_home: Path, opener: FakeOpener
) -> None:
    paths = studio_paths(studio_home)
    paths.data.mkdir(parents=True)
    paths.sessions.write_text("a file where the folder should be")
    with pytest.raises(StorageError, match="sessions"):
        Studio(paths, NullBackend(), opener.openers)
    assert our_threads() == []
