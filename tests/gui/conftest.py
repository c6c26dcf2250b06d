"""What the tests of the window share: no screen, and the parts that a window hands out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # read when the application is made

from PySide6.QtCore import QThreadPool
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.audio.backend import Frames
from app.audio.null import NullBackend
from app.core.paths import studio_paths
from app.core.settings import Theme
from app.studio.studio import Studio
from app.ui.clone_tab import CloneTab
from app.ui.live import LiveTimer
from app.ui.theme import Appearance
from tests.clone_steps import Choosing, open_clip, write_clip
from tests.fakes import FakeModels, FakeOpener, fake_models, fake_opener


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Appearance]:
    """The look of the studio, dark."""
    made = Appearance(qapp, Theme.DARK)
    yield made
    made.deleteLater()


@pytest.fixture
def timer(qapp: QApplication) -> Iterator[LiveTimer]:
    """The timer that a window owns."""
    made = LiveTimer()
    yield made
    made.deleteLater()


@pytest.fixture
def pool(qapp: QApplication) -> Iterator[QThreadPool]:
    """One thread for pictures."""
    made = QThreadPool()
    made.setMaxThreadCount(1)
    yield made
    assert made.waitForDone(5000)


@pytest.fixture
def opener() -> FakeOpener:
    """What the engine's thread of `studio` opens models with."""
    return fake_opener()


@pytest.fixture
def model_files(studio_home: Path) -> FakeModels:
    """A small model of every family, where `studio` looks for them."""
    return fake_models(studio_paths(studio_home).models)


@pytest.fixture
def studio(qapp: QApplication, studio_home: Path, opener: FakeOpener) -> Iterator[Studio]:
    """Everything behind a window, on disk and on its threads; it has not begun to look around."""
    made = Studio(studio_paths(studio_home), NullBackend(microphone=_noise), opener.openers)
    yield made
    assert made.close()
    made.deleteLater()


@pytest.fixture
def choosing() -> Choosing:
    """What the file dialogs of `tab` choose."""
    return Choosing()


@pytest.fixture
def tab(
    qtbot: QtBot,
    theme: Appearance,
    timer: LiveTimer,
    pool: QThreadPool,
    studio: Studio,
    choosing: Choosing,
) -> CloneTab:
    """The Clone tab, for the tests of its parts; other tabs have their own."""
    made = CloneTab(studio, timer, pool, choosing.choosers)
    qtbot.addWidget(made)
    made.resize(620, 640)
    made.show()
    return made


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """A recording as `write_clip` makes it."""
    return write_clip(tmp_path)


@pytest.fixture
def opened(tab: CloneTab, studio: Studio, clip: Path, qtbot: QtBot) -> CloneTab:
    """The Clone tab with that recording."""
    return open_clip(tab, studio, clip, qtbot)


def _noise(start: int, count: int) -> Frames:
    """What the microphone of `studio` hears, [count, 1]."""
    rng = np.random.default_rng(start)
    return rng.uniform(-0.1, 0.1, (count, 1)).astype(np.float32)
