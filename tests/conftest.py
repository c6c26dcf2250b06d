"""What every test gets: a studio home of its own, repeatable examples, one torch thread."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from engine.families import ModelPair

collect_ignore = ["unit/test_studio_script.py"] if sys.platform == "win32" else []


def pytest_configure() -> None:
    # Read by torch when a test imports it, and inherited by the processes that tests start. The
    # tensors of the tests are tiny: more threads would only wait for one another.
    os.environ["OMP_NUM_THREADS"] = "1"
    settings.register_profile("studio", deadline=None, derandomize=True, print_blob=True)
    settings.load_profile("studio")


@pytest.fixture(autouse=True)
def studio_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A throw-away folder that stands for everything the studio keeps on disk.

    The demonstration voice is not there: `demo_voice` brings it back.
    """
    home = tmp_path / "studio-home"
    monkeypatch.setenv("STUDIO_HOME", str(home))
    monkeypatch.setattr("app.core.paths.demo_folder", lambda: tmp_path / "no-demo")
    return home


@pytest.fixture
def demo_voice(studio_home: Path, monkeypatch: pytest.MonkeyPatch) -> ModelPair:
    """The demonstration voice, which the studio finds then."""
    folder = Path(__file__).parents[1] / "resources" / "demo"
    monkeypatch.setattr("app.core.paths.demo_folder", lambda: folder)
    return ModelPair(folder / "demo-talker-speakers-Q8_0.gguf", folder / "demo-tokenizer-F16.gguf")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of committed reference checkpoints and goldens."""
    return Path(__file__).parent / "golden" / "data"
