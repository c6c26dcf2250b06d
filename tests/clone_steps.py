"""What a person does in the Clone tab, for the tests that go through it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soundfile
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.studio.models import ModelStatus
from app.studio.studio import Studio
from app.ui.clone_tab import CloneTab
from app.ui.file_choosers import FileChoosers
from tests.fakes import FakeModels

RATE = 24_000
LEFT = Qt.MouseButton.LeftButton
NO_KEY = Qt.KeyboardModifier.NoModifier
TICK = QPoint(8, 12)  # where the tick of a box is
WORDS = "This is what I say in the recording, and it takes me a while."


class Choosing:
    """Chooses what the test has laid out, instead of a dialog."""

    def __init__(self) -> None:
        self.recording: Path | None = None
        self.text: Path | None = None

    @property
    def choosers(self) -> FileChoosers:
        return FileChoosers(lambda _: self.recording, lambda _: self.text)


def open_clip(tab: CloneTab, studio: Studio, path: Path, qtbot: QtBot) -> CloneTab:
    """The tab with a recording in it, and everything found out about it."""
    tab.open_recording(path)
    qtbot.waitUntil(lambda: studio.cloning.state.buffer is not None)
    assert studio.background.flush()
    return tab


def write_clip(folder: Path) -> Path:
    """Six seconds: a second of near silence at each end, four of a loud and soft tone between."""
    time = np.arange(6 * RATE) / RATE
    tone = 0.1 * np.sin(2 * np.pi * 200 * time) * (1.2 + np.sin(2 * np.pi * 3 * time))
    tone[:RATE] *= 0.001
    tone[-RATE:] *= 0.001
    path = folder / "anna.wav"
    soundfile.write(path, tone.astype(np.float32), RATE)
    return path


def part(tab: QWidget, kind: type[QWidget], name: str = "") -> QWidget:
    """The child of a kind, by the name that a screen reader says."""
    return next(
        child for child in tab.findChildren(kind) if not name or child.accessibleName() == name
    )


def button(tab: QWidget, *texts: str) -> QAbstractButton:
    return next(
        one for one in tab.findChildren(QPushButton) if one.text() in texts and one.isVisibleTo(tab)
    )


def offers(tab: QWidget, text: str) -> bool:
    return any(one.text() == text for one in tab.findChildren(QPushButton) if one.isVisible())


def press(tab: QWidget, text: str) -> None:
    one = button(tab, text)
    assert one.isEnabled(), text
    QTest.mouseClick(one, LEFT)


def fill(tab: QWidget, name: str, text: str) -> None:
    field = part(tab, QLineEdit, name)
    assert isinstance(field, QLineEdit)
    field.clear()
    QTest.keyClicks(field, text)


def field_text(tab: QWidget) -> QPlainTextEdit:
    field = part(tab, QPlainTextEdit, "Transcript")
    assert isinstance(field, QPlainTextEdit)
    return field


def consent(tab: QWidget) -> QCheckBox:
    return next(box for box in tab.findChildren(QCheckBox) if box.text() == "I may use this voice")


def load_base(studio: Studio, files: FakeModels, qtbot: QtBot) -> None:
    studio.models.look()
    qtbot.waitUntil(lambda: studio.models.found is not None)
    studio.models.load(files.base)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)


def words(tab: QWidget) -> list[str]:
    return [label.text() for label in tab.findChildren(QLabel) if label.isVisibleTo(tab)]
