"""Settings are told to all, saved once soon after many changes, and never over a newer file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot

from app.core.settings import Settings, Theme, load_settings, save_settings
from app.jobs.background import Background
from app.studio.preferences import SettingsKeeper
from engine import ExplainedError


@pytest.fixture
def background(qtbot: QtBot) -> Iterator[Background]:
    made = Background()
    yield made
    assert made.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "settings.json"


def test_changes_are_told_and_saved_soon(path: Path, background: Background, qtbot: QtBot) -> None:
    keeper = SettingsKeeper(path, background)
    told: list[Settings] = []
    keeper.changed.connect(told.append)
    assert keeper.settings == Settings()
    keeper.update(volume=0.5)
    keeper.update(volume=0.5)
    keeper.update(theme=Theme.DARK, volume=0.25)
    assert [settings.volume for settings in told] == [0.5, 0.25]
    assert told[-1] is keeper.settings
    assert not path.exists()  # not with every step of a slider
    qtbot.waitUntil(path.exists)
    assert background.flush()
    assert load_settings(path).settings == Settings(theme=Theme.DARK, volume=0.25)
    assert SettingsKeeper(path, background).settings == keeper.settings


def test_nothing_is_lost_at_the_end(path: Path, background: Background) -> None:
    keeper = SettingsKeeper(path, background)
    keeper.update(language="german")
    keeper.close()
    assert background.close()
    assert load_settings(path).settings.language == "german"
    keeper.close()  # nothing is left to save, so a closed background is not missed


def test_a_field_that_is_none_is_a_mistake(path: Path, background: Background) -> None:
    keeper = SettingsKeeper(path, background)
    with pytest.raises(TypeError, match="volumen"):
        keeper.update(volumen=0.5)


def test_a_newer_file_is_used_but_not_written(path: Path, background: Background) -> None:
    save_settings(path, Settings(volume=0.5))
    newer = path.read_text().replace('"schema": 1', '"schema": 99')
    path.write_text(newer)
    keeper = SettingsKeeper(path, background)
    assert keeper.settings.volume == 0.5
    assert keeper.is_read_only
    assert "newer version" in keeper.notices[0]
    keeper.update(volume=1.0)
    keeper.close()
    assert background.flush()
    assert keeper.settings.volume == 1.0
    assert path.read_text() == newer


def test_a_damaged_file_is_told_and_kept(path: Path, background: Background) -> None:
    path.parent.mkdir()
    path.write_text("{")
    keeper = SettingsKeeper(path, background)
    assert keeper.settings == Settings()
    assert "damaged" in keeper.notices[0]
    assert not keeper.is_read_only


def test_what_cannot_be_saved_is_told_once(path: Path, background: Background) -> None:
    keeper = SettingsKeeper(path, background)
    problems: list[ExplainedError] = []
    keeper.problem.connect(problems.append)
    unhandled = QSignalSpy(background.problem)
    path.parent.write_text("a file where the folder should be")
    for volume in (0.1, 0.2):
        keeper.update(volume=volume)
        keeper.close()
        assert background.flush()
    assert [str(path.parent) in problem.message for problem in problems] == [True]
    path.parent.unlink()
    keeper.update(volume=0.3)
    keeper.close()
    assert background.flush()
    assert load_settings(path).settings.volume == 0.3
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("again")
    keeper.update(volume=0.4)
    keeper.close()
    assert background.flush()
    assert len(problems) == 2
    assert unhandled.count() == 0
