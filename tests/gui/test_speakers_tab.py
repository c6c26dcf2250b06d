"""The tab of the model's own speakers: what it offers, asks for, and remembers."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from app.core.speakers import speaker_cards
from app.studio.models import ModelStatus
from app.studio.studio import Studio
from app.ui.family_gate import FamilyGate
from app.ui.metrics import TARGET
from app.ui.speakers_tab import MANNERS, SpeakersTab
from app.ui.speech_box import SpeechBox
from app.ui.theme import Appearance
from engine import Family, ModelPair, describe_model
from tests.fakes import FakeModels, FakeOpener

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def tab(qtbot: QtBot, theme: Appearance, studio: Studio) -> SpeakersTab:
    made = SpeakersTab(studio)
    qtbot.addWidget(made)
    made.resize(560, 520)
    made.show()
    return made


@pytest.fixture
def large(model_files: FakeModels) -> ModelPair:
    """A model with speakers that follows instructions: the file says that it is large."""
    path = model_files.folder / "qwen-talker-1.7b-customvoice-F32.gguf"
    head, key, rest = model_files.custom_voice.talker.read_bytes().partition(b"tts.model_size")
    path.write_bytes(head + key + rest.replace(b"0b6", b"1b7", 1))
    assert not describe_model(path).ignores_instruct
    return ModelPair(path, model_files.codec)


def load(studio: Studio, pair: ModelPair, qtbot: QtBot) -> None:
    studio.models.load(pair)
    qtbot.waitUntil(
        lambda: (
            studio.models.state.status is ModelStatus.LOADED and studio.models.state.pair == pair
        )
    )


def write(studio: Studio, **values: Any) -> None:
    studio.session.set_draft("speakers", replace(studio.session.draft("speakers"), **values))


def tiles(tab: SpeakersTab) -> list[QPushButton]:
    """The cards that are seen, in their order."""
    return [each for each in tab._tiles.buttons() if each.isVisibleTo(tab)]  # type: ignore[misc]


def chosen(tab: SpeakersTab) -> list[str]:
    return [each.accessibleName().split(",")[0] for each in tiles(tab) if each.isChecked()]


def manner(tab: SpeakersTab) -> QLineEdit:
    return next(
        each for each in tab.findChildren(QLineEdit) if each.accessibleName() == "How to say it"
    )


def button(tab: SpeakersTab, text: str) -> QPushButton:
    return next(each for each in tab.findChildren(QPushButton) if each.text() == text)


def words(tab: SpeakersTab) -> str:
    return " | ".join(each.text() for each in tab.findChildren(QLabel) if each.isVisibleTo(tab))


# Cards


def test_a_card_for_each_speaker_of_the_model(
    tab: SpeakersTab, studio: Studio, model_files: FakeModels, qtbot: QtBot
) -> None:
    assert tiles(tab) == []
    load(studio, model_files.custom_voice, qtbot)
    description = describe_model(model_files.custom_voice.talker)
    assert tab.cards == speaker_cards(description)
    assert [tile.text().split(" · ")[0] for tile in tiles(tab)] == [
        card.title for card in tab.cards
    ]
    texts = {tile.text() for tile in tiles(tab)}
    assert "Ryan · English\nman, energetic with strong rhythm" in texts
    assert any("Sichuan dialect" in text for text in texts)
    assert "9 speakers" in words(tab)
    qtbot.waitUntil(lambda: tiles(tab)[1].width() > 200)
    for tile in tiles(tab):
        assert tile.accessibleName()
        assert tile.height() >= TARGET
        assert tile.width() >= tile.sizeHint().width()


def test_cards_stand_in_columns(
    tab: SpeakersTab, studio: Studio, model_files: FakeModels, qtbot: QtBot
) -> None:
    load(studio, model_files.custom_voice, qtbot)
    qtbot.waitUntil(lambda: tiles(tab)[1].x() > 0)
    assert len({tile.width() for tile in tiles(tab)}) == 1
    assert len({tile.x() for tile in tiles(tab)}) == 2
    tab.resize(320, 520)
    qtbot.waitUntil(lambda: len({tile.x() for tile in tiles(tab)}) == 1)


def test_a_press_chooses_a_speaker_for_good(
    tab: SpeakersTab, studio: Studio, model_files: FakeModels, qtbot: QtBot
) -> None:
    load(studio, model_files.custom_voice, qtbot)
    assert chosen(tab) == [tab.cards[0].title]  # while nobody has chosen
    QTest.mouseClick(tiles(tab)[3], LEFT)
    assert chosen(tab) == [tab.cards[3].title]
    assert studio.session.draft("speakers").speaker == tab.cards[3].name
    assert tab.voice_label() == tab.cards[3].title
    load(studio, model_files.base, qtbot)
    assert tiles(tab) == []
    load(studio, model_files.custom_voice, qtbot)
    assert chosen(tab) == [tab.cards[3].title]
    write(studio, speaker="somebody else")  # whom another model has
    assert chosen(tab) == [tab.cards[0].title]


def test_many_speakers_can_be_searched(
    tab: SpeakersTab, studio: Studio, model_files: FakeModels, qtbot: QtBot
) -> None:
    load(studio, model_files.custom_voice, qtbot)
    search = next(
        each for each in tab.findChildren(QLineEdit) if each.accessibleName() == "Find a speaker"
    )
    assert not search.isVisibleTo(tab)  # nine are seen at a glance
    search.setText("japan")
    assert [tile.text().split(" · ")[0] for tile in tiles(tab)] == ["Ono Anna"]
    assert "No speaker has this name." not in words(tab)
    search.setText("xyz")
    assert tiles(tab) == []
    assert "No speaker has this name." in words(tab)


# Instructions


def test_instructions_are_hidden_where_the_model_ignores_them(
    tab: SpeakersTab, studio: Studio, model_files: FakeModels, qtbot: QtBot
) -> None:
    assert manner(tab).isVisibleTo(tab)
    load(studio, model_files.custom_voice, qtbot)
    assert not manner(tab).isVisibleTo(tab)
    assert not button(tab, MANNERS[0]).isVisibleTo(tab)
    assert "does not follow instructions" in words(tab)
    write(studio, speaker="ryan", text="Hello.", instruct="sadly")
    request = tab.request()
    assert request is not None
    assert request.instruct == ""


def test_instructions_go_with_the_request(
    tab: SpeakersTab, studio: Studio, large: ModelPair, qtbot: QtBot
) -> None:
    load(studio, large, qtbot)
    assert manner(tab).isVisibleTo(tab)
    assert "does not follow instructions" not in words(tab)
    write(studio, speaker="ryan", text="Hello.", language="english")
    QTest.mouseClick(button(tab, MANNERS[0]), LEFT)
    assert manner(tab).text() == MANNERS[0]
    QTest.keyClicks(manner(tab), ", at night ")
    request = tab.request()
    assert request is not None
    assert (request.family, request.speaker) == (Family.CUSTOM_VOICE, "ryan")
    assert (request.text, request.language) == ("Hello.", "english")
    assert request.instruct == f"{MANNERS[0]}, at night"


# Asking


def test_what_is_missing_is_told_beside_the_text(
    tab: SpeakersTab, studio: Studio, model_files: FakeModels, qtbot: QtBot
) -> None:
    assert tab.request() is None
    assert "There is no text yet." in words(tab)
    write(studio, text="Hello.")
    assert "There is no text yet." not in words(tab)
    assert tab.request() is None
    assert "CustomVoice model" in words(tab)
    assert tab.requests_with_all() == ()
    load(studio, model_files.custom_voice, qtbot)
    assert "This needs a CustomVoice model" not in words(tab)
    request = tab.request()
    assert request is not None
    assert request.speaker == tab.cards[0].name
    write(studio, text="")
    assert tab.requests_with_all() == ()


def test_the_same_line_in_all_speakers(
    tab: SpeakersTab, studio: Studio, large: ModelPair, qtbot: QtBot
) -> None:
    every = button(tab, "Same line in all speakers")
    assert not every.isEnabled()
    load(studio, large, qtbot)
    write(studio, text="Hello.", instruct="softly", language="german")
    with qtbot.waitSignal(tab.all_requested):
        QTest.mouseClick(every, LEFT)
    requests = tab.requests_with_all()
    assert [request.speaker for request, _ in requests] == [card.name for card in tab.cards]
    assert [label for _, label in requests] == [card.title for card in tab.cards]
    assert {(each.text, each.instruct, each.language) for each, _ in requests} == {
        ("Hello.", "softly", "german")
    }


def test_the_buttons_ask_to_speak(tab: SpeakersTab, qtbot: QtBot) -> None:
    box = tab.findChildren(SpeechBox)[0]
    with qtbot.waitSignal(tab.speak_requested) as once:
        box.press_speak()
    with qtbot.waitSignal(tab.speak_requested) as several:
        box.press_several()
    assert once.args == [1]
    assert several.args is not None
    assert several.args[0] > 1


# The gate


def is_whole(label: QLabel) -> bool:
    """Whether all lines of its words are seen."""
    return label.height() >= label.heightForWidth(label.width())


def gate(tab: SpeakersTab) -> FamilyGate:
    return tab.findChildren(FamilyGate)[0]


def test_the_gate_loads_the_model_that_is_there(
    tab: SpeakersTab,
    studio: Studio,
    model_files: FakeModels,
    opener: FakeOpener,
    qtbot: QtBot,
) -> None:
    assert "needs a CustomVoice model. Looking for models." in gate(tab).text
    studio.models.look()
    qtbot.waitUntil(lambda: studio.models.found is not None)
    load(studio, model_files.base, qtbot)
    assert gate(tab).isVisibleTo(tab)
    opener.gate = threading.Event()
    press = button(tab, "Load 0.6B CustomVoice")
    assert str(model_files.custom_voice.talker) in press.toolTip()
    QTest.mouseClick(press, LEFT)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADING)
    assert "is being loaded" in gate(tab).text
    assert not press.isVisibleTo(tab)
    opener.gate.set()
    qtbot.waitUntil(lambda: not gate(tab).isVisibleTo(tab))
    assert studio.models.state.pair == model_files.custom_voice


def test_the_gate_stays_of_use_while_another_model_is_loaded(
    tab: SpeakersTab, studio: Studio, model_files: FakeModels, opener: FakeOpener, qtbot: QtBot
) -> None:
    studio.models.look()
    qtbot.waitUntil(lambda: studio.models.found is not None)
    opener.gate = threading.Event()
    studio.models.load(model_files.base)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADING)
    QTest.mouseClick(button(tab, "Load 0.6B CustomVoice"), LEFT)
    opener.gate.set()
    qtbot.waitUntil(lambda: gate(tab).is_open)


def test_without_such_a_model_the_gate_leads_to_all_models(
    tab: SpeakersTab, studio: Studio, qtbot: QtBot
) -> None:
    studio.models.look()
    qtbot.waitUntil(lambda: studio.models.found is not None)
    assert "There is none on this computer yet." in gate(tab).text
    assert not gate(tab)._load.isVisibleTo(tab)
    with qtbot.waitSignal(tab.models_requested):
        QTest.mouseClick(button(tab, "Choose a model…"), LEFT)


def test_the_words_of_the_gate_are_not_cut_off(
    qtbot: QtBot, tab: SpeakersTab, studio: Studio, model_files: FakeModels
) -> None:
    studio.models.look()
    qtbot.waitUntil(lambda: studio.models.found is not None)
    for width in (420, 560, 900):
        tab.resize(width, 560)
        label = gate(tab)._words
        qtbot.waitUntil(partial(is_whole, label))


# Drafts


def test_the_draft_is_shown_again(
    qtbot: QtBot, tab: SpeakersTab, studio: Studio, large: ModelPair
) -> None:
    load(studio, large, qtbot)
    tiles(tab)[2].click()
    manner(tab).setFocus()
    QTest.keyClicks(manner(tab), "softly")
    box = tab.box
    box.focus_text()
    QTest.keyClicks(box.focusWidget() or box, "A line.")
    box.store()
    other = SpeakersTab(studio)
    qtbot.addWidget(other)
    assert chosen(other) == [tab.cards[2].title]
    assert manner(other).text() == "softly"
    assert other.box.text == "A line."
