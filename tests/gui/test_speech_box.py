"""The text of a tab: what is missing is said as long as it is, and a model is loaded for it."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.core.takes import TakeRequest
from app.studio.models import ModelStatus
from app.studio.speech_state import SpeechPhase
from app.studio.studio import Studio
from app.ui.inline_note import InlineNote
from app.ui.labels import LinkLabel
from app.ui.speech_box import SpeechBox
from app.ui.text_editor import SpeechEdit
from app.ui.theme import Appearance
from engine import Family, ModelFileError
from tests.fakes import FakeModels, FakeOpener

CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
TAB = "speakers"


class Asked:
    """What a tab does with its box: it needs a model with speakers."""

    def __init__(self, box: SpeechBox, studio: Studio) -> None:
        self._box, self._studio = box, studio
        self.takes: list[int] = []
        box.speak_requested.connect(self._on_speak)

    def _on_speak(self, takes: int) -> None:
        if self._studio.models.state.status is ModelStatus.LOADED:
            self.takes.append(takes)
        else:
            self._box.need_model()


@pytest.fixture
def box(qtbot: QtBot, theme: Appearance, studio: Studio) -> SpeechBox:
    made = SpeechBox(TAB, studio)
    qtbot.addWidget(made)
    made.resize(600, 240)
    made.show()
    edit(made).setPlainText("A line.")
    return made


@pytest.fixture
def asked(box: SpeechBox, studio: Studio) -> Asked:
    return Asked(box, studio)


def edit(box: SpeechBox) -> SpeechEdit:
    return box.findChildren(SpeechEdit)[0]


def hint(box: SpeechBox) -> str:
    note = box.findChildren(InlineNote)[0]
    return note.text if note.isVisible() else ""


def offer(box: SpeechBox) -> QPushButton | None:
    """The button of the hint, if it is there."""
    buttons = box.findChildren(QPushButton)
    return next((each for each in buttons if "and speak" in each.text() and each.isVisible()), None)


def press(box: SpeechBox, *, several: bool = False) -> None:
    QTest.keyClick(edit(box), Qt.Key.Key_Return, CONTROL | SHIFT if several else CONTROL)


def look(studio: Studio) -> None:
    studio.models.look()
    assert studio.background.flush()


def test_a_model_that_is_here_is_loaded_by_the_same_key(
    qtbot: QtBot, box: SpeechBox, asked: Asked, studio: Studio, model_files: FakeModels
) -> None:
    look(studio)
    press(box, several=True)
    assert hint(box) == "This needs the 0.6B CustomVoice model."
    button = offer(box)
    assert button is not None
    assert button.text() == "Load and speak"
    assert asked.takes == []
    press(box, several=True)
    assert hint(box) == "0.6B CustomVoice is being loaded; then the text is spoken."
    assert offer(box) is None
    qtbot.waitUntil(lambda: asked.takes == [2])
    assert hint(box) == ""
    assert studio.models.state.pair == model_files.custom_voice


def test_or_by_the_button(
    qtbot: QtBot, box: SpeechBox, asked: Asked, studio: Studio, model_files: FakeModels
) -> None:
    look(studio)
    press(box)
    button = offer(box)
    assert button is not None
    button.click()
    qtbot.waitUntil(lambda: asked.takes == [1])


def test_a_model_that_is_being_loaded_is_waited_for(
    qtbot: QtBot,
    box: SpeechBox,
    asked: Asked,
    studio: Studio,
    model_files: FakeModels,
    opener: FakeOpener,
) -> None:
    opener.gate = threading.Event()
    look(studio)
    studio.models.load(model_files.custom_voice)
    press(box)
    assert "is being loaded; then the text is spoken." in hint(box)
    opener.gate.set()
    qtbot.waitUntil(lambda: asked.takes == [1])
    assert len(opener.opened) == 1


def test_nothing_is_spoken_once_loading_was_cancelled_or_has_failed(
    qtbot: QtBot,
    box: SpeechBox,
    asked: Asked,
    studio: Studio,
    model_files: FakeModels,
    opener: FakeOpener,
) -> None:
    look(studio)
    opener.gate = threading.Event()
    for end in (studio.models.cancel, opener.gate.set):
        press(box)
        press(box)
        qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADING)
        opener.error = ModelFileError("The file is cut.")
        end()
        qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.NONE)
        assert hint(box) == ""
    opener.error = None
    studio.models.load(model_files.custom_voice)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)
    assert asked.takes == []


def test_another_model_or_another_tab_ends_the_wish(
    qtbot: QtBot, box: SpeechBox, asked: Asked, studio: Studio, model_files: FakeModels
) -> None:
    look(studio)
    press(box)
    press(box)
    studio.models.load(model_files.base)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)
    assert studio.models.state.pair == model_files.base
    studio.models.unload()
    press(box)
    press(box)
    box.hide()  # people went to another tab
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)
    assert studio.models.state.pair == model_files.custom_voice
    box.show()
    qtbot.wait(0)
    assert asked.takes == []


def test_without_a_model_on_this_computer_none_is_offered(
    box: SpeechBox, asked: Asked, studio: Studio
) -> None:
    press(box)
    assert hint(box) == "This needs a CustomVoice model, which is being looked for."
    look(studio)
    press(box)
    assert hint(box) == "This needs a CustomVoice model, and none is on this computer yet."
    assert offer(box) is None


def test_a_hint_goes_when_its_reason_may_have_gone(
    qtbot: QtBot, box: SpeechBox, studio: Studio, model_files: FakeModels
) -> None:
    session = studio.session

    def choose() -> None:
        session.set_draft(TAB, replace(session.draft(TAB), speaker="ryan"))

    def direct() -> None:
        session.set_draft(TAB, replace(session.draft(TAB), instruct="softly"))

    def write() -> None:
        QTest.keyClicks(edit(box), "a")

    def load() -> None:
        studio.models.load(model_files.custom_voice)
        qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)

    def speak() -> None:
        line = TakeRequest("A line.", Family.CUSTOM_VOICE, speaker="serena")
        assert studio.speech.speak(line, (1,), "Serena", play=False)

    for act in (choose, direct, write, load, speak):
        box.tell("Something is missing.")
        assert hint(box) == "Something is missing."
        act()
        assert hint(box) == ""
    box.tell("This was read without its formats.")
    box.store()  # what was typed is no other voice
    assert hint(box) == "This was read without its formats."
    qtbot.waitUntil(lambda: studio.speech.state.phase is SpeechPhase.IDLE)


def test_an_empty_text_may_take_that_of_another_tab(
    qtbot: QtBot, box: SpeechBox, studio: Studio
) -> None:
    session = studio.session
    edit(box).clear()
    box.store()
    link = edit(box).findChildren(LinkLabel)[0]
    assert not link.isVisible()
    session.set_draft("design", replace(session.draft("design"), text="Designed words."))
    session.set_draft("clone", replace(session.draft("clone"), text="Cloned words."))
    assert link.isVisible()
    assert link.accessibleName() == "Use the text of “Clone and speak”"
    link.linkActivated.emit("offer")
    assert box.text == "Cloned words."
    assert not link.isVisible()
    edit(box).undo()
    assert box.text == ""
    assert link.isVisible()
    session.set_draft("clone", replace(session.draft("clone"), text=" "))
    assert link.accessibleName() == "Use the text of “Design”"
