"""What the tests of the window share: no screen, and the parts that a window hands out."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # read when the application is made

from PySide6.QtCore import QThreadPool
from PySide6.QtWidgets import QApplication

from app.core.settings import Theme
from app.ui.live import LiveTimer
from app.ui.theme import Appearance


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
