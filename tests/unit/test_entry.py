"""The installed commands: Ctrl+C ends them quietly while they are still being imported."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from app import entry

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """Ctrl+C as it was, afterwards."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(*_: object) -> int:
    raise KeyboardInterrupt


@pytest.mark.parametrize("command", [entry.voice_studio, entry.qwen_tts, entry.qwen_codec])
def test_ctrl_c_while_importing_is_no_traceback(
    command: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib, "import_module", interrupt)
    assert callable(command)
    assert command() == 130
    assert capsys.readouterr().err == "stopped\n"
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_the_exit_code_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib, "import_module", lambda _: SimpleNamespace(main=lambda: 7))
    assert entry.qwen_tts() == 7


def test_nothing_heavy_is_imported_before() -> None:
    code = "import sys, app.entry; print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not {"engine", "numpy", "argparse"} & set(answer.stdout.split())


def test_every_installed_command_begins_here() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {
        "qwen-codec": "app.entry:qwen_codec",
        "qwen-tts": "app.entry:qwen_tts",
        "voice-studio": "app.entry:voice_studio",
    }
