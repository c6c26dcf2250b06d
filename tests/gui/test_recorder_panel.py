"""The recorder: it listens while it is shown, counts in, records, and says what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLabel,
    QPushButton,
    QRadioButton,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.audio.backend import Device, Frames, SoundDeviceError
from app.audio.levels import Levels
from app.audio.null import NullBackend, NullStream
from app.audio.recorder_state import RecorderState, RecorderStatus, Recording
from app.core.paths import studio_paths
from app.core.reading_cards import READING_CARDS, reading_card
from app.studio.studio import Studio
from app.ui.inline_note import InlineNote
from app.ui.meter import MeterView
from app.ui.recorder_panel import RecorderPanel
from app.ui.recorder_words import elapsed, missing_microphone, noise_words
from app.ui.theme import Appearance
from engine.errors import ExplainedError
from tests.fakes import FakeOpener

MICROPHONE = Device("Null/signal", "Built-in signal", "Null", 1, 48_000, is_default=True)
OPEN = RecorderState(RecorderStatus.MONITORING, MICROPHONE, 48_000, 1)


@pytest.fixture
def panel(qtbot: QtBot, theme: Appearance, studio: Studio) -> RecorderPanel:
    made = RecorderPanel(studio.sound)
    qtbot.addWidget(made)
    made.resize(560, 460)
    return made


@pytest.fixture
def listening(panel: RecorderPanel, studio: Studio, qtbot: QtBot) -> RecorderPanel:
    """The panel, shown, with an open microphone."""
    with qtbot.waitSignal(studio.sound.devices_changed):
        studio.sound.look_for_devices()
    panel.show()
    qtbot.waitUntil(lambda: status(studio) is RecorderStatus.MONITORING)
    return panel


def status(studio: Studio) -> RecorderStatus:
    return studio.sound.recorder_state.status


def button(panel: RecorderPanel, text: str) -> QPushButton:
    return next(one for one in panel.findChildren(QPushButton) if one.text() == text)


def offers(panel: RecorderPanel, text: str) -> bool:
    return any(one.text() == text for one in panel.findChildren(QPushButton) if one.isVisible())


def note(panel: RecorderPanel) -> str:
    return panel.findChildren(InlineNote)[0].text


def words(panel: RecorderPanel) -> list[str]:
    return [label.text() for label in panel.findChildren(QLabel) if label.isVisible()]


def test_without_a_microphone_it_says_why_and_looks_again(
    panel: RecorderPanel, studio: Studio, qtbot: QtBot
) -> None:
    panel.show()
    assert "No microphone found" in words(panel)
    assert not panel.findChildren(MeterView)[0].isVisible()
    panel.toggle()
    assert not studio.sound.is_recording
    with qtbot.waitSignal(studio.sound.devices_changed):
        QTest.mouseClick(button(panel, "Look again"), Qt.MouseButton.LeftButton)
    assert "No microphone found" not in words(panel)
    qtbot.waitUntil(lambda: status(studio) is RecorderStatus.MONITORING)


def test_it_listens_only_while_it_is_shown(
    listening: RecorderPanel, studio: Studio, qtbot: QtBot
) -> None:
    meter = listening.findChildren(MeterView)[0]
    qtbot.waitUntil(lambda: meter.peak > -40)
    listening.hide()
    qtbot.waitUntil(lambda: status(studio) is RecorderStatus.CLOSED)
    listening.show()
    qtbot.waitUntil(lambda: status(studio) is RecorderStatus.MONITORING)


def test_the_button_records_and_stops(
    listening: RecorderPanel, studio: Studio, qtbot: QtBot
) -> None:
    QTest.mouseClick(button(listening, "Record"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: studio.sound.recorder_state.seconds > 0.3)
    qtbot.waitUntil(lambda: offers(listening, "Stop"))
    assert not listening.findChildren(QCheckBox)[0].isEnabled()
    assert not listening.findChildren(QComboBox)[0].isEnabled()  # the microphone
    with qtbot.waitSignal(studio.sound.recorded) as told:
        QTest.mouseClick(button(listening, "Stop"), Qt.MouseButton.LeftButton)
    assert told.args is not None
    recording = told.args[0]
    assert isinstance(recording, Recording)
    assert recording.path is not None
    assert recording.path.is_file()
    qtbot.waitUntil(lambda: offers(listening, "Record"))


def test_counting_in_covers_the_card_and_can_be_cancelled(
    listening: RecorderPanel, studio: Studio, qtbot: QtBot
) -> None:
    listening.findChildren(QCheckBox)[0].setChecked(True)
    listening.toggle()
    assert studio.sound.counting == 3
    names = [child.accessibleName() for child in listening.card.findChildren(QWidget)]
    assert "Recording begins in 3" in names
    qtbot.waitUntil(lambda: offers(listening, "Cancel"))
    listening.toggle()
    assert not studio.sound.is_recording
    assert studio.sound.counting == 0


def test_a_recording_goes_on_when_the_panel_is_hidden(
    listening: RecorderPanel, studio: Studio, qtbot: QtBot
) -> None:
    listening.toggle()
    qtbot.waitUntil(lambda: status(studio) is RecorderStatus.RECORDING)
    listening.hide()
    assert studio.sound.is_recording
    with qtbot.waitSignal(studio.sound.recorded):
        studio.sound.stop_recording()
    qtbot.waitUntil(lambda: status(studio) is RecorderStatus.CLOSED)


@pytest.mark.parametrize(
    ("state", "part"),
    [
        (RecorderState(RecorderStatus.MONITORING, MICROPHONE, has_clipped=True), "Too loud"),
        (RecorderState(RecorderStatus.MONITORING, MICROPHONE, is_silent=True), "digital silence"),
        (RecorderState(problem=ExplainedError("It is gone.", "Plug it in.")), "It is gone. Plug"),
    ],
)
def test_what_is_wrong_is_said_beside_the_meter(
    panel: RecorderPanel, studio: Studio, state: RecorderState, part: str
) -> None:
    studio.sound.recorder_moved.emit(state)
    assert part in note(panel)
    studio.sound.recorder_moved.emit(OPEN)
    assert note(panel) == ""


def test_the_clip_lamp_is_latched_and_reset(panel: RecorderPanel, studio: Studio) -> None:
    loud = RecorderState(RecorderStatus.MONITORING, MICROPHONE, levels=Levels(1.0, 0.5, 1.0))
    meter = panel.findChildren(MeterView)[0]
    studio.sound.recorder_moved.emit(RecorderState(**{**vars(loud), "has_clipped": True}))
    assert meter.has_clipped
    with_reset: list[bool] = []
    meter.clip_reset.connect(lambda: with_reset.append(True))
    meter.reset_clip()
    assert with_reset == [True]
    assert not meter.has_clipped


def test_the_card_shows_a_passage_for_each_language(panel: RecorderPanel) -> None:
    languages = panel.card.findChildren(QComboBox)[0]
    assert languages.count() == len(READING_CARDS)
    panel.card.set_language("german")
    assert languages.currentText() == "Deutsch"
    assert reading_card("german").text in [one.text() for one in panel.card.findChildren(QLabel)]
    assert panel.card.card == reading_card("german")


@pytest.mark.parametrize(
    ("decibel", "said"),
    [(-72.0, "very quiet"), (-55.0, "quiet"), (-44.0, "some noise"), (-30.0, "noisy")],
)
def test_the_room_is_put_into_words(decibel: float, said: str) -> None:
    text = noise_words(float(10 ** (decibel / 20)))
    assert said in text
    assert f"\N{MINUS SIGN}{abs(decibel):.0f} dB" in text


def test_an_unknown_room_is_not_called_quiet() -> None:
    assert "quiet" not in noise_words(None)
    assert "no sound at all" in noise_words(0.0)


def test_the_place_to_allow_the_microphone_is_named() -> None:
    assert "Privacy" in missing_microphone("", "darwin")
    assert "Privacy" in missing_microphone("", "win32")
    assert "sound settings" in missing_microphone("", "linux")
    assert missing_microphone("PortAudio is not there.").startswith("PortAudio is not there.")


@pytest.mark.parametrize(("seconds", "said"), [(0, "0:00.0"), (7.34, "0:07.3"), (61.0, "1:01.0")])
def test_the_running_time(seconds: float, said: str) -> None:
    assert elapsed(seconds) == said


# --- all microphones at once ---

SECOND = Device("Null/second", "Second signal", "Null", 1, 48_000, is_default=False)
HELD = Device("Null/held", "Held elsewhere", "Null", 1, 48_000, is_default=False)


class ThreeInputs(NullBackend):
    """Two microphones that hear a tone, and one that another program holds."""

    def __init__(self) -> None:
        super().__init__(microphone=tone, inputs=(MICROPHONE, SECOND, HELD))

    def open_input(self, device_id: str | None, rate: int | None) -> NullStream:
        if device_id == HELD.id:
            raise SoundDeviceError("“Held elsewhere” cannot be opened: it is busy.")
        return super().open_input(device_id, rate)

    def held(self) -> list[str]:
        return sorted(stream.device.id for stream in self.open_streams)


def tone(start: int, count: int) -> Frames:
    """What both of them hear, [count, 1]."""
    return (np.sin(np.arange(start, start + count) / 20)[:, None] / 4).astype(np.float32)


@pytest.fixture
def three(studio_home: Path, opener: FakeOpener) -> Iterator[tuple[Studio, ThreeInputs]]:
    backend = ThreeInputs()
    made = Studio(studio_paths(studio_home), backend, opener.openers)
    yield made, backend
    assert made.close()
    made.deleteLater()


def test_every_microphone_shows_its_level_while_the_list_is_open(
    qtbot: QtBot, theme: Appearance, three: tuple[Studio, ThreeInputs]
) -> None:
    studio, backend = three
    panel = RecorderPanel(studio.sound)
    qtbot.addWidget(panel)
    with qtbot.waitSignal(studio.sound.devices_changed):
        studio.sound.look_for_devices()
    panel.show()
    qtbot.waitUntil(lambda: status(studio) is RecorderStatus.MONITORING)
    compare = next(
        one for one in panel.findChildren(QToolButton) if "every microphone" in one.toolTip()
    )
    assert backend.held() == [MICROPHONE.id]
    QTest.mouseClick(compare, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: backend.held() == [SECOND.id, MICROPHONE.id])
    marks = {mark.accessibleName(): mark for mark in panel.findChildren(QRadioButton)}
    meters = {meter.accessibleName(): meter for meter in panel.findChildren(MeterView)}
    names = [device.name for device in (MICROPHONE, SECOND)]
    qtbot.waitUntil(lambda: all(meters[f"Level of {name}"].peak > -20 for name in names))
    said = "It hears you."
    qtbot.waitUntil(lambda: all(marks[name].accessibleDescription() == said for name in names))
    qtbot.waitUntil(lambda: any("it is busy" in text for text in words(panel)))
    assert not meters["Level of Held elsewhere"].isVisible()
    assert [name for name, mark in marks.items() if mark.isChecked()] == [MICROPHONE.name]

    marks[MICROPHONE.name].setFocus()
    QTest.keyClick(marks[MICROPHONE.name], Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: studio.sound.recorder_state.device == SECOND)
    assert studio.preferences.settings.input_device == SECOND.id
    qtbot.waitUntil(lambda: backend.held() == [SECOND.id, MICROPHONE.id])
    assert marks[SECOND.name].isChecked()

    panel.toggle()
    qtbot.waitUntil(lambda: status(studio) is RecorderStatus.RECORDING)
    qtbot.waitUntil(lambda: backend.held() == [SECOND.id])
    with qtbot.waitSignal(studio.sound.recorded):
        panel.toggle()
    panel.hide()
    qtbot.waitUntil(lambda: backend.held() == [])
    panel.show()
    qtbot.waitUntil(lambda: backend.held() == [SECOND.id, MICROPHONE.id])


def test_one_microphone_needs_no_list(listening: RecorderPanel) -> None:
    buttons = [one for one in listening.findChildren(QToolButton) if one.isVisible()]
    assert not any("every microphone" in one.toolTip() for one in buttons)
