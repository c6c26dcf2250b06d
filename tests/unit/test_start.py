"""The window is up before anything heavy is loaded, and where none can open, a sentence says so."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.__main__ import main
from app.commands.window import (
    NoWindowError,
    check_display,
    check_x11,
    debian_package,
    missing_libraries,
)
from app.core.paths import studio_paths
from app.core.settings import FILE_NAME, Settings, load_settings, read_scale, save_settings
from app.log import LOG_FILE, end_log, start_log
from tests.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]
INSTEAD = 'voice-studio say "Hello" -o hello.wav'

# Runs the real window without a screen; `begin` is what comes after the first paint.
SCRIPT = """
import sys
from pathlib import Path
from PySide6.QtWidgets import QApplication, QMessageBox
from app.commands.window import open_window
from app.studio.studio import Studio

def begin(self):
    window = next(each for each in QApplication.topLevelWidgets() if each.isVisible())
    print("shown", type(window).__name__, window.devicePixelRatioF())
    print("heavy", *({"torch", "sounddevice", "silero_vad"} & set(sys.modules)))
    window.close()

Studio.begin = begin
QMessageBox.exec = lambda box: print("told", box.text())
models = tuple(Path(word) for word in sys.argv[2:])
sys.exit(open_window(Path(sys.argv[1]), models, null_audio=True))
"""


@dataclass(frozen=True)
class Run:
    """What a start of the window printed, and its exit status."""

    status: int
    lines: tuple[str, ...]


def start(home: Path, *models: Path) -> Run:
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(home), *map(str, models)],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in answer.stderr, answer.stderr
    return Run(answer.returncode, tuple(answer.stdout.splitlines()))


def test_the_window_is_shown_before_torch_is_loaded(tmp_path: Path) -> None:
    run = start(tmp_path)
    assert run == Run(0, ("shown MainWindow 1.0", "heavy"))
    paths = studio_paths(tmp_path)
    assert (paths.log / LOG_FILE).is_file()
    assert [folder.suffix for folder in paths.sessions.iterdir()] == [".studio"]
    settings = load_settings(paths.config / FILE_NAME).settings
    assert settings.window_geometry
    assert settings.window_state


def test_size_and_folders_are_those_of_settings_and_command(tmp_path: Path) -> None:
    known, named = tmp_path / "known", tmp_path / "named"
    path = studio_paths(tmp_path).config / FILE_NAME
    save_settings(path, Settings(scale=2.0, model_folders=(known,)))
    assert start(tmp_path, named, known).lines[0] == "shown MainWindow 2.0"
    assert load_settings(path).settings.model_folders == (known, named)


def test_a_place_that_cannot_hold_a_session_is_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "data").write_text("a file where a folder should be")
    run = start(home)
    assert run.status == 1
    assert len(run.lines) == 1
    assert run.lines[0].startswith(f"told {home / 'data'}")


# Where no window can be


def test_without_a_display_the_command_names_what_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("app.commands.window.sys", SimpleNamespace(platform="linux"))
    answer = Terminal(monkeypatch).run(main, [])
    assert (answer.status, answer.output) == (1, b"")
    assert answer.told.startswith("error: There is no display here")
    assert INSTEAD in answer.told
    assert answer.told.count("\n") == 1
    monkeypatch.setenv("STUDIO_COMMAND", "./studio")
    assert './studio say "Hello" -o hello.wav' in Terminal(monkeypatch).run(main, []).told


@pytest.mark.parametrize(
    ("environment", "platform"),
    [
        ({"DISPLAY": ":0"}, "linux"),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux"),
        ({"QT_QPA_PLATFORM": "offscreen"}, "linux"),
        ({}, "darwin"),
        ({}, "win32"),
    ],
)
def test_a_display_is_only_missed_where_one_is_needed(
    environment: dict[str, str], platform: str
) -> None:
    check_display(environment, platform)
    with pytest.raises(NoWindowError):
        check_display(dict.fromkeys(environment, ""), "linux")


@pytest.fixture
def qt(tmp_path: Path) -> Path:
    """A folder with a library of Qt's that needs what nobody has."""
    library = tmp_path / "lib" / "libQt6Gui.so.6"
    library.parent.mkdir()
    names = (b"libQt6Core.so.6", b"libnowhere.so.1", b"libno-where-x11.so.0", b"not-a-lib.so.3")
    library.write_bytes(b"\x7fELF\0" + b"\0".join(names) + b"\0")
    return tmp_path


def test_missing_libraries_are_those_that_qt_does_not_bring(qt: Path) -> None:
    assert missing_libraries([qt / "lib" / "libQt6Gui.so.6", qt / "absent"]) == (
        "libno-where-x11.so.0",
        "libnowhere.so.1",
    )


def test_missing_libraries_come_with_the_line_that_installs_them(
    qt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(NoWindowError) as raised:
        check_x11(qt)
    assert "libnowhere.so.1" in raised.value.message
    assert INSTEAD in raised.value.hint
    line = "sudo apt-get install libno-where-x11-0 libnowhere1"
    assert raised.value.hint.endswith(line)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(NoWindowError, match="your system's packages"):
        check_x11(qt)


@pytest.mark.parametrize(
    ("soname", "package"),
    [
        ("libEGL.so.1", "libegl1"),
        ("libX11-xcb.so.1", "libx11-xcb1"),
        ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
        ("libdbus-1.so.3", "libdbus-1-3"),
        ("libxcb-icccm.so.4", "libxcb-icccm4"),
        ("libglib-2.0.so.0", "libglib2.0-0"),
    ],
)
def test_packages_are_named_as_debian_names_them(soname: str, package: str) -> None:
    assert debian_package(soname) == package


# What is read and written first


def test_the_size_is_read_without_touching_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config" / FILE_NAME
    assert read_scale(path) == 1.0
    save_settings(path, Settings(scale=1.5))
    assert read_scale(path) == 1.5
    path.write_text("{")
    assert read_scale(path) == 1.0
    assert path.read_text() == "{"


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    """The root of all loggers, as it was afterwards."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield root
    root.setLevel(level)
    assert root.handlers == handlers


def test_the_log_is_a_file(tmp_path: Path, root_logger: logging.Logger) -> None:
    handler = start_log(tmp_path / "log")
    logging.getLogger("app.anything").info("a line with an ü")
    end_log(handler)
    text = (tmp_path / "log" / LOG_FILE).read_text(encoding="utf-8")
    assert "INFO MainThread app.anything: a line with an ü" in text
    logging.getLogger("app.anything").warning("not for the file any more")
    assert (tmp_path / "log" / LOG_FILE).read_text(encoding="utf-8") == text


def test_where_no_log_can_be_the_terminal_has_it(
    tmp_path: Path, root_logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log").write_text("a file")
    handler = start_log(tmp_path / "log")
    logging.getLogger("app.anything").info("heard")
    end_log(handler)
    assert "app.anything: heard" in capsys.readouterr().err
