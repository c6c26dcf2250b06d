"""File dialogs begin where people keep such files, and go on where they were last."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.core.settings import FilePurpose, load_settings
from app.studio.studio import Studio
from app.ui import file_choosers as choosers
from app.ui.file_choosers import FileDialogs
from app.ui.takes_panel import take_targets
from app.ui.voice_files import ExportKind, SystemVoicePlaces
from engine.wav import WavFormat


@dataclass
class SystemDialogs:
    """Stands for QFileDialog: answers what it is told to, and notes where it was to begin."""

    answer: str = ""
    kind: str = ""
    starts: list[str] = field(default_factory=list)

    def getOpenFileName(self, _: QWidget, title: str, start: str, kinds: str) -> tuple[str, str]:
        self.starts.append(start)
        return self.answer, ""

    def getOpenFileNames(
        self, _: QWidget, title: str, start: str, kinds: str
    ) -> tuple[list[str], str]:
        self.starts.append(start)
        return [self.answer] if self.answer else [], ""

    def getExistingDirectory(self, _: QWidget, title: str, start: str) -> str:
        self.starts.append(start)
        return self.answer

    def getSaveFileName(
        self, _: QWidget, title: str, start: str, kinds: str, first: str
    ) -> tuple[str, str]:
        self.starts.append(start)
        return self.answer, self.kind or first


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> SystemDialogs:
    made = SystemDialogs()
    monkeypatch.setattr(choosers, "QFileDialog", made)
    return made


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


@pytest.fixture
def files(studio: Studio) -> FileDialogs:
    studio.paths.models.mkdir(parents=True)
    return FileDialogs(studio.preferences, studio.paths.models)


def test_nothing_begins_in_the_folder_of_the_program(files: FileDialogs, studio: Studio) -> None:
    for purpose in FilePurpose:
        start = files.start(purpose)
        assert start.is_dir()
        assert start != Path.cwd()
    assert files.start(FilePurpose.MODEL) == studio.paths.models


def test_each_purpose_goes_on_where_it_was_and_remembers_it(
    files: FileDialogs, studio: Studio, window: QWidget, system: SystemDialogs, tmp_path: Path
) -> None:
    songs, models = tmp_path / "songs", tmp_path / "models"
    songs.mkdir()
    models.mkdir()
    usual = str(files.start(FilePurpose.RECORDING))
    choose = choosers.file_choosers(files)
    assert choose.recording(window) is None
    assert FilePurpose.RECORDING not in studio.preferences.settings.last_folders
    system.answer = str(songs / "me.wav")
    assert choose.recording(window) == songs / "me.wav"
    assert choose.text(window) == songs / "me.wav"
    system.answer = str(models)
    assert choosers.model_folder_chooser(files)(window) == models
    system.starts.clear()
    choose.recording(window)
    choosers.model_file_chooser(files)(window)
    assert system.starts == [str(songs), str(models)]
    assert str(songs) != usual
    studio.preferences.close()
    assert studio.background.flush()
    stored = load_settings(studio.paths.config / "settings.json").settings
    assert stored.last_folders[FilePurpose.TEXT] == songs
    songs.rmdir()
    assert str(files.start(FilePurpose.RECORDING)) != str(songs)


def test_takes_and_voices_are_saved_where_they_were_last(
    files: FileDialogs, window: QWidget, system: SystemDialogs, tmp_path: Path
) -> None:
    targets, places = take_targets(files), SystemVoicePlaces(files)
    assert targets.file(window, "a.wav") is None
    assert places.target(window, ExportKind.ZIP, "Anna") is None
    assert list(places.files_to_import(window)) == []
    system.answer, system.kind = str(tmp_path / "take"), "WAV, 16 bit (*.wav)"
    assert targets.file(window, "a.wav") == (tmp_path / "take.wav", WavFormat.WAV16)
    assert places.target(window, ExportKind.ZIP, "Anna") == tmp_path / "take.zip"
    system.starts.clear()
    targets.file(window, "b.wav")
    targets.folder(window)
    places.target(window, ExportKind.ZIP, "Anna")
    places.target(window, ExportKind.FOLDER, "Anna")
    places.folder_to_import(window)
    assert system.starts[:4] == [
        str(tmp_path / "b.wav"),
        str(tmp_path),
        str(tmp_path / "Anna.zip"),
        str(tmp_path),
    ]
