"""One variable or option moves everything that the studio keeps."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from app.core.paths import studio_paths


def test_home_moves_everything(studio_home: Path, tmp_path: Path) -> None:
    paths = studio_paths()
    assert (paths.config, paths.data, paths.log, paths.cache) == tuple(
        studio_home / name for name in ("config", "data", "log", "cache")
    )
    assert (paths.models, paths.voices, paths.sessions) == tuple(
        studio_home / "data" / name for name in ("models", "voices", "sessions")
    )
    assert studio_paths(tmp_path / "other").models == tmp_path / "other" / "data" / "models"
    assert not studio_home.exists()


def test_homes_are_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STUDIO_HOME", "here")
    assert studio_paths().log == tmp_path / "here" / "log"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert studio_paths(Path("~/studio")).config == tmp_path / "studio" / "config"


def test_without_home_the_system_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUDIO_HOME", "")
    paths = studio_paths()
    assert paths.models == platformdirs.user_data_path("voice-studio", appauthor=False) / "models"
    assert "voice-studio" in paths.cache.parts
