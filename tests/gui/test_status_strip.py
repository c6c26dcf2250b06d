"""The status line: the model, how fast, how much memory, and the work that can be stopped."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton
from pytestqt.qtbot import QtBot

from app.core.memory import resident_bytes
from app.core.takes import TakeRequest
from app.studio.models import ModelStatus
from app.studio.speech_state import SpeechPhase
from app.studio.studio import Studio
from app.ui.model_words import device_name, speed_text
from app.ui.status_strip import NO_MODEL, StatusStrip
from app.ui.theme import Appearance
from engine import Family
from tests.fakes import FakeModels, FakeOpener, Pace, Waits

LEFT = Qt.MouseButton.LeftButton
LINE = TakeRequest("A line of some length to speak.", Family.CUSTOM_VOICE, speaker="serena")


@pytest.fixture
def strip(qtbot: QtBot, theme: Appearance, studio: Studio) -> StatusStrip:
    made = StatusStrip(studio)
    qtbot.addWidget(made)
    made.resize(1100, 36)
    made.show()
    return made


def words(strip: StatusStrip) -> str:
    labels = [label.text() for label in strip.findChildren(QLabel) if label.isVisibleTo(strip)]
    return " | ".join(labels)


def button(strip: StatusStrip, name: str) -> QPushButton:
    return next(
        each
        for each in strip.findChildren(QPushButton)
        if name in (each.text(), each.accessibleName())
    )


def load(qtbot: QtBot, studio: Studio, files: FakeModels) -> None:
    studio.models.load(files.custom_voice)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)


def test_without_a_model_the_way_to_one_is_there(qtbot: QtBot, strip: StatusStrip) -> None:
    model = button(strip, "Model")
    assert model.text() == NO_MODEL
    with qtbot.waitSignal(strip.models_requested):
        QTest.mouseClick(model, LEFT)
    assert not strip.is_busy
    assert not strip.cancel()


def test_loading_shows_bytes_and_can_be_cancelled(
    qtbot: QtBot, strip: StatusStrip, studio: Studio, model_files: FakeModels, opener: FakeOpener
) -> None:
    opener.gate = threading.Event()
    studio.models.load(model_files.custom_voice)
    qtbot.waitUntil(lambda: studio.models.state.done > 0)
    state = studio.models.state
    assert f"{state.done / 1e9:.2f} of {state.total / 1e9:.2f} GB" in words(strip)
    bar = strip.findChildren(QProgressBar)[0]
    assert bar.isVisible()
    assert bar.value() == round(bar.maximum() * state.done / state.total)
    assert strip.is_busy
    QTest.mouseClick(button(strip, "Cancel"), LEFT)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.NONE)
    assert not bar.isVisible()
    assert not button(strip, "Cancel").isVisible()


def test_the_loaded_model_its_device_and_its_speed_are_told(
    qtbot: QtBot, strip: StatusStrip, studio: Studio, model_files: FakeModels, opener: FakeOpener
) -> None:
    opener.pace = Pace(frame_seconds=0.005)
    load(qtbot, studio, model_files)
    assert button(strip, "Model").text() == "0.6B CustomVoice"
    assert "CPU" in words(strip)
    assert "real time" not in words(strip)
    studio.speech.speak(LINE, (1,), "Serena")
    qtbot.waitUntil(lambda: len(studio.session.takes) == 1)
    qtbot.waitUntil(lambda: studio.speech.state.phase is SpeechPhase.IDLE)
    assert f"CPU \N{MIDDLE DOT} {speed_text(studio.speech.speed)}" in words(strip)
    studio.models.load(model_files.base)
    qtbot.waitUntil(lambda: button(strip, "Model").text() == "1.7B Base")
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)
    assert "real time" not in words(strip)  # that was another model


def test_speaking_shows_its_sentence_and_can_be_cancelled(
    qtbot: QtBot, strip: StatusStrip, studio: Studio, model_files: FakeModels, opener: FakeOpener
) -> None:
    opener.pace = Pace(frame_seconds=0.02, frames=2000)
    load(qtbot, studio, model_files)
    for _ in range(2):
        studio.speech.speak(LINE, (1,), "Serena", play=False)
    qtbot.waitUntil(lambda: "Speaking: " in words(strip))
    assert "1 more waiting" in words(strip)
    assert strip.is_busy
    QTest.mouseClick(button(strip, "Cancel"), LEFT)
    qtbot.waitUntil(lambda: studio.speech.state.phase is SpeechPhase.IDLE)
    assert not strip.is_busy
    assert not strip.findChildren(QProgressBar)[0].isVisible()


def test_memory_is_told(strip: StatusStrip) -> None:
    held = resident_bytes()
    assert held is not None
    assert 10e6 < held < 100e9
    assert " GB" in words(strip)


@pytest.mark.parametrize(
    ("speed", "text"),
    [(0.154, "0.15"), (1.34, "1.3"), (24.6, "25")],
)
def test_speeds_are_told_as_exactly_as_they_are_known(speed: float, text: str) -> None:
    assert speed_text(speed) == f"{text}\N{MULTIPLICATION SIGN} real time"


def test_devices_have_names_for_people() -> None:
    assert [device_name(name) for name in ("cpu", "cuda", "cuda:1", "mps", "xpu")] == [
        "CPU",
        "CUDA",
        "CUDA 1",
        "Apple GPU",
        "xpu",
    ]


def test_learning_a_voice_is_shown_and_stopped(
    qtbot: QtBot, strip: StatusStrip, studio: Studio, model_files: FakeModels
) -> None:
    studio.models.look()
    assert studio.background.flush()
    gate, ends = threading.Event(), list[object]()
    studio.queue.submit(Waits(gate))
    samples = np.full(24_000, 0.1, np.float32)
    for name in ("Edith", "Anna"):
        studio.maker.make(samples, name, with_codes=False, done=ends.append, failed=ends.append)
    assert "Learning the voice Edith, 1 more waiting" in words(strip)
    assert strip.is_busy
    QTest.mouseClick(button(strip, "Cancel"), LEFT)
    assert ends == [None, None]
    assert not strip.is_busy
    assert "Learning" not in words(strip)
    gate.set()
    qtbot.waitUntil(lambda: not len(studio.queue))
