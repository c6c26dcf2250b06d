"""The tab of designed voices: words, candidates, and locking the one that fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import Qt, QThreadPool
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.audio.null import NullBackend
from app.core.take_files import TAKE_CODES
from app.core.takes import Take, TakeRequest
from app.core.voice_prompt import ATTRIBUTES, EXAMPLES
from app.core.voice_record import VoiceKind
from app.studio.models import ModelStatus
from app.studio.studio import Studio
from app.ui.candidate_card import CandidateCard
from app.ui.candidate_grid import MOST
from app.ui.design_tab import DesignTab
from app.ui.live import LiveTimer
from app.ui.lock_dialog import LockDialog
from app.ui.metrics import TARGET
from app.ui.settings_panel import SettingsPanel
from app.ui.theme import Appearance
from app.ui.waveform import WaveformView
from app.ui.window_dialogs import WindowDialogs
from engine import Family, ModelPair
from engine.voices import read_codes
from tests.fakes import FakeModels, FakeOpener, Pace

LEFT = Qt.MouseButton.LeftButton
PROMPT = "A calm, low male voice."
TEXT = "Come in, come in."
DESIGN = TakeRequest(TEXT, Family.VOICE_DESIGN, instruct=PROMPT)


@pytest.fixture
def tab(
    qtbot: QtBot, theme: Appearance, studio: Studio, timer: LiveTimer, pool: QThreadPool
) -> Iterator[DesignTab]:
    made = DesignTab(studio, timer, pool)
    qtbot.addWidget(made)
    made.resize(560, 420)
    made.show()
    yield made
    studio.sound.stop()


@pytest.fixture
def loaded(studio: Studio, model_files: FakeModels, qtbot: QtBot) -> FakeModels:
    load(studio, model_files.voice_design, qtbot)
    return model_files


def load(studio: Studio, pair: ModelPair, qtbot: QtBot) -> None:
    studio.models.load(pair)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)


def write(studio: Studio, **values: Any) -> None:
    studio.session.set_draft("design", replace(studio.session.draft("design"), **values))


def make(studio: Studio, seeds: tuple[int, ...], qtbot: QtBot, text: str = TEXT) -> list[Take]:
    """Candidates to the end, in the order of their seeds."""
    ids = studio.speech.speak(replace(DESIGN, text=text), seeds, "Designed", play=False)
    qtbot.waitUntil(lambda: not studio.speech.live)
    takes = [studio.session.session.take(each) for each in ids]
    return [take for take in takes if take is not None]


def prompt(tab: DesignTab) -> QPlainTextEdit:
    return next(
        each
        for each in tab.findChildren(QPlainTextEdit)
        if each.accessibleName() == "Description of the voice"
    )


def choose(tab: DesignTab, attribute: str, value: str) -> None:
    box = attribute_box(tab, attribute)
    box.setCurrentIndex(ATTRIBUTES[attribute].index(value) + 1 if value else 0)


def attribute_box(tab: DesignTab, attribute: str) -> QComboBox:
    return next(each for each in tab.findChildren(QComboBox) if each.accessibleName() == attribute)


def shown_attributes(tab: DesignTab) -> dict[str, str]:
    boxes = {name: attribute_box(tab, name) for name in ATTRIBUTES}
    return {name: box.currentText() for name, box in boxes.items() if box.currentIndex()}


def press(widget: QWidget, text: str) -> None:
    one = next(
        each
        for kind in (QPushButton, QToolButton)
        for each in widget.findChildren(kind)
        if text in (each.text(), each.accessibleName())
    )
    assert one.isEnabled(), text
    QTest.mouseClick(one, LEFT)


def words(widget: QWidget) -> str:
    shown = (each for each in widget.findChildren(QLabel) if each.isVisibleTo(widget))
    return " | ".join(each.text() for each in shown)


def seeds(tab: DesignTab) -> list[int]:
    return [card.take.seed for card in tab.grid.cards]


# The description


def test_attributes_write_a_sentence_in_front_of_the_own_words(
    tab: DesignTab, studio: Studio
) -> None:
    QTest.keyClicks(prompt(tab), "He limps.")
    choose(tab, "Gender", "man")
    choose(tab, "Pitch", "very low")
    assert prompt(tab).toPlainText() == "A man with a very low-pitched voice. He limps."
    choose(tab, "Pitch", "")
    choose(tab, "Age", "elderly")
    assert prompt(tab).toPlainText() == "An elderly man. He limps."
    assert studio.session.draft("design").instruct == "An elderly man. He limps."
    press(tab, "Clear attributes")
    assert prompt(tab).toPlainText() == "He limps."
    assert shown_attributes(tab) == {}


def test_only_the_sentence_of_the_attributes_is_replaced(tab: DesignTab) -> None:
    choose(tab, "Gender", "woman")
    edit = prompt(tab)
    edit.setPlainText("Imagine this. A woman. A woman who sings.")
    choose(tab, "Mood", "calm")
    assert edit.toPlainText() == "Imagine this. A woman, sounding calm. A woman who sings."


def test_a_sentence_that_was_changed_by_hand_is_the_persons_own(tab: DesignTab) -> None:
    choose(tab, "Gender", "woman")
    edit = prompt(tab)
    edit.setPlainText("A woman with a lisp.")
    assert shown_attributes(tab) == {}
    choose(tab, "Age", "young")
    assert edit.toPlainText() == "A young speaker. A woman with a lisp."


def test_undo_takes_the_choice_back_too(tab: DesignTab) -> None:
    choose(tab, "Gender", "woman")
    choose(tab, "Age", "young")
    prompt(tab).undo()
    assert prompt(tab).toPlainText() == "A woman."
    assert shown_attributes(tab) == {"Gender": "woman"}


def test_a_kept_description_shows_its_attributes_and_is_not_written_twice(
    qtbot: QtBot, studio: Studio, theme: Appearance, timer: LiveTimer, pool: QThreadPool
) -> None:
    write(studio, instruct="A young man, speaking at a slow pace. He limps.")
    tab = DesignTab(studio, timer, pool)
    qtbot.addWidget(tab)
    assert shown_attributes(tab) == {"Age": "young", "Gender": "man", "Pace": "slow pace"}
    choose(tab, "Age", "elderly")
    assert prompt(tab).toPlainText() == "An elderly man, speaking at a slow pace. He limps."


def test_examples_are_written_and_can_be_undone(tab: DesignTab) -> None:
    QTest.keyClicks(prompt(tab), "Mine.")
    for name, example in EXAMPLES.items():
        press(tab, f"Example: {name}")
        assert prompt(tab).toPlainText() == example
    for _ in EXAMPLES:
        prompt(tab).undo()
    assert prompt(tab).toPlainText() == "Mine."


def test_an_example_shows_its_attributes_and_what_contradicts_them_is_told(tab: DesignTab) -> None:
    press(tab, "Example: Narrator")
    assert shown_attributes(tab)["Age"] == "middle-aged"
    choose(tab, "Age", "young")
    text = prompt(tab).toPlainText()
    assert text.startswith("A young woman ")
    assert "middle-aged" not in text
    assert "keep one of them" not in words(tab)
    prompt(tab).setPlainText(f"{text} An elderly lady.")
    assert "“young” and “elderly”: keep one of them" in words(tab)
    choose(tab, "Age", "elderly")
    assert "keep one of them" not in words(tab)


# Asking


def test_what_is_missing_is_told_beside_the_text(
    tab: DesignTab, studio: Studio, model_files: FakeModels, qtbot: QtBot
) -> None:
    write(studio, instruct=" \n")
    assert tab.request() is None
    assert "Describe the voice first" in words(tab)
    write(studio, instruct=f" {PROMPT} ", language="english")
    assert "Describe the voice first" not in words(tab)
    assert tab.request() is None
    assert "There is no text yet." in words(tab)
    write(studio, text=TEXT)
    assert tab.request() is None
    assert "This needs a VoiceDesign model" in words(tab)
    load(studio, model_files.voice_design, qtbot)
    assert "This needs a VoiceDesign model" not in words(tab)
    assert tab.request() == replace(DESIGN, language="english")


def test_the_button_says_how_many_it_makes(tab: DesignTab, qtbot: QtBot) -> None:
    count = tab.findChildren(QSpinBox)[0]
    main = next(each for each in tab.findChildren(QPushButton) if each.accessibleName() == "Speak")
    assert main.text().startswith("Make 4 candidates")
    for number, text in ((1, "Make 1 candidate "), (8, "Make 8 candidates ")):
        count.setValue(number)
        assert main.text().startswith(text)
        with qtbot.waitSignal(tab.speak_requested) as asked:
            QTest.mouseClick(main, LEFT)
        assert asked.args == [number]
    count.setValue(99)
    assert count.value() == MOST


# Candidates


def test_candidates_are_one_batch_with_a_seed_each(
    tab: DesignTab, studio: Studio, loaded: FakeModels, opener: FakeOpener, qtbot: QtBot
) -> None:
    assert "draws another person with each seed" in words(tab)
    takes = make(studio, (11, 12, 13, 14), qtbot)
    [request] = opener.engine.requests
    assert request.seeds == (11, 12, 13, 14)
    assert seeds(tab) == [11, 12, 13, 14]
    assert [card.take for card in tab.grid.cards] == takes
    assert "draws another person" not in words(tab)
    for number, card in enumerate(tab.grid.cards, 1):
        assert card.accessibleName() == f"Candidate {number}, seed {10 + number}"
        assert str(10 + number) in words(card)
        assert card.can_be_locked


def test_candidates_grow_and_can_be_locked_only_when_whole(
    tab: DesignTab, studio: Studio, loaded: FakeModels, opener: FakeOpener, qtbot: QtBot
) -> None:
    opener.engine.pace = Pace(frame_seconds=0.01, frames=5000)
    studio.speech.speak(DESIGN, (1, 2), "Designed", play=False)
    cards = tab.grid.cards
    assert not any(card.can_be_locked for card in cards)
    assert "Speaking · 0:00.0" in words(cards[1])
    qtbot.waitUntil(lambda: "0:00.0" not in words(cards[1]), timeout=20_000)
    assert "Speaking · " in words(cards[1])
    assert cards[1].findChildren(WaveformView)[0].source is studio.speech.live[1].buffer
    studio.speech.cancel()
    qtbot.waitUntil(lambda: not studio.speech.live)
    assert tab.grid.cards == cards
    assert all("Stopped" in words(card) and card.can_be_locked for card in cards)


def test_a_candidate_that_waits_for_its_turn_says_so(
    tab: DesignTab, studio: Studio, loaded: FakeModels, opener: FakeOpener, qtbot: QtBot
) -> None:
    opener.engine.pace = Pace(frame_seconds=0.01, frames=5000)
    for seed in (1, 2):
        studio.speech.speak(DESIGN, (seed,), "Designed", play=False)
    first, second = tab.grid.cards
    assert "Speaking · " in words(first)
    assert "Waiting" in words(second)
    assert "0:00" not in words(second)
    studio.speech.cancel()
    qtbot.waitUntil(lambda: not studio.speech.live)


def test_candidates_that_came_to_nothing_vanish(
    tab: DesignTab, studio: Studio, loaded: FakeModels, opener: FakeOpener, qtbot: QtBot
) -> None:
    opener.engine.pace = Pace(pre_roll_seconds=0.2)
    studio.speech.speak(DESIGN, (1, 2), "Designed", play=False)
    assert len(tab.grid.cards) == 2
    studio.speech.cancel()
    qtbot.waitUntil(lambda: not studio.speech.live)
    assert not tab.grid.cards
    assert "draws another person" in words(tab)


def test_a_new_try_takes_the_place_of_the_last_and_one_more_joins_it(
    tab: DesignTab, studio: Studio, loaded: FakeModels, qtbot: QtBot
) -> None:
    make(studio, (1, 2), qtbot)
    make(studio, (3, 4), qtbot)
    assert seeds(tab) == [3, 4]
    make(studio, (5,), qtbot)
    assert seeds(tab) == [3, 4, 5]
    make(studio, (6,), qtbot, text="Other words.")
    assert seeds(tab) == [6]
    for seed in range(7, 6 + MOST):
        make(studio, (seed,), qtbot, text="Other words.")
    assert len(tab.grid.cards) == MOST
    make(studio, (20,), qtbot, text="Other words.")
    assert seeds(tab) == [20]


def test_a_deleted_candidate_leaves_and_undo_brings_it_back(
    tab: DesignTab, studio: Studio, loaded: FakeModels, qtbot: QtBot
) -> None:
    takes = make(studio, (1, 2, 3), qtbot)
    kept = tab.grid.cards[0]
    studio.session.delete(takes[1].id)
    assert seeds(tab) == [1, 3]
    studio.session.undo()
    assert seeds(tab) == [1, 2, 3]
    assert tab.grid.cards[0] is kept
    assert tab.grid.cards[1].accessibleName() == "Candidate 2, seed 2"


def test_takes_of_other_tabs_are_no_candidates(
    tab: DesignTab, studio: Studio, model_files: FakeModels, qtbot: QtBot
) -> None:
    load(studio, model_files.custom_voice, qtbot)
    studio.speech.speak(
        TakeRequest(TEXT, Family.CUSTOM_VOICE, speaker="ryan"), (1,), "Ryan", play=False
    )
    qtbot.waitUntil(lambda: len(studio.session.takes) == 1)
    assert not tab.grid.cards


def test_the_last_candidates_are_there_again_after_a_restart(
    qtbot: QtBot,
    theme: Appearance,
    studio: Studio,
    timer: LiveTimer,
    pool: QThreadPool,
    loaded: FakeModels,
    opener: FakeOpener,
) -> None:
    make(studio, (9,), qtbot, text="Older words.")
    make(studio, (3, 1, 2), qtbot)
    assert studio.close()
    again = Studio(studio.paths, NullBackend(), opener.openers)
    tab = DesignTab(again, timer, pool)
    qtbot.addWidget(tab)
    assert sorted(seeds(tab)) == [1, 2, 3]
    assert all(card.can_be_locked for card in tab.grid.cards)
    wave = tab.grid.cards[0].findChildren(WaveformView)[0]
    qtbot.waitUntil(lambda: wave.source is not None and wave.source.length > 0)
    tab.close()
    assert again.close()


def test_candidates_are_heard_one_at_a_time(
    tab: DesignTab, studio: Studio, loaded: FakeModels, opener: FakeOpener, qtbot: QtBot
) -> None:
    opener.engine.pace = Pace(frames=300)
    first, second = make(studio, (1, 2), qtbot)
    one, two = tab.grid.cards
    press(one, "Play candidate 1")
    assert studio.sound.playing_key == first.id
    qtbot.waitUntil(lambda: offers(one, "Pause candidate 1"))
    press(two, "Play candidate 2")
    assert studio.sound.playing_key == second.id
    qtbot.waitUntil(lambda: offers(one, "Play candidate 1") and offers(two, "Pause candidate 2"))
    press(two, "Pause candidate 2")
    qtbot.waitUntil(lambda: offers(two, "Play candidate 2"))


def offers(card: CandidateCard, name: str) -> bool:
    return any(each.accessibleName() == name for each in card.findChildren(QToolButton))


def test_a_seed_is_pinned_for_the_next_try(
    qtbot: QtBot, tab: DesignTab, studio: Studio, loaded: FakeModels
) -> None:
    settings = SettingsPanel(studio, "design")
    qtbot.addWidget(settings)
    make(studio, (41, 42), qtbot)
    press(tab.grid.cards[1], "Pin the seed 42")
    assert studio.session.draft("design").seed == 42
    assert settings.next_seeds(2)[0] == 42


def test_cards_fit_the_narrow_tab(
    tab: DesignTab, studio: Studio, loaded: FakeModels, qtbot: QtBot
) -> None:
    make(studio, (4294967295, 2), qtbot)
    qtbot.waitUntil(lambda: tab.grid.cards[1].y() > 0)
    assert tab.minimumSizeHint().width() <= 560
    for card in tab.grid.cards:
        assert card.width() >= card.minimumSizeHint().width()
        for button in (*card.findChildren(QPushButton), *card.findChildren(QToolButton)):
            assert card.rect().contains(button.geometry())
            assert button.height() >= TARGET
            assert button.accessibleName()
            assert button.toolTip()


# Locking


@pytest.fixture
def dialogs(qtbot: QtBot, studio: Studio, tab: DesignTab) -> WindowDialogs:
    made = WindowDialogs(studio, tab)
    tab.lock_requested.connect(made.ask_to_lock)
    return made


def lock(tab: DesignTab, card: CandidateCard, name: str) -> str:
    """Lock a candidate as a person does; what the dialog said."""
    press(card, "Lock…")
    [dialog] = [each for each in tab.findChildren(QDialog) if each.isVisible()]
    assert isinstance(dialog, LockDialog)
    said = words(dialog)
    button = next(each for each in dialog.findChildren(QPushButton) if each.text() == "Lock voice")
    assert not button.isEnabled()
    field = dialog.findChildren(QLineEdit)[0]
    QTest.keyClicks(field, name)
    assert button.isEnabled()
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert not dialog.isVisible()
    return said


def test_a_candidate_is_locked_as_a_voice_of_the_library(
    qtbot: QtBot, tab: DesignTab, dialogs: WindowDialogs, studio: Studio, loaded: FakeModels
) -> None:
    studio.models.look()
    qtbot.waitUntil(lambda: bool(studio.models.base_talkers))
    _, take = make(studio, (1, 2), qtbot)
    with qtbot.waitSignal(studio.designing.completed, timeout=20_000):
        said = lock(tab, tab.grid.cards[1], "The innkeeper")
    assert "It can speak any text with a Base model." in said
    assert "breaks off" not in said
    assert PROMPT in said
    [voice] = studio.voices.listing.voices
    assert (voice.name, voice.details.kind) == ("The innkeeper", VoiceKind.DESIGNED)
    assert (voice.details.origin.prompt, voice.details.origin.seed) == (PROMPT, 2)
    assert voice.transcript == TEXT
    assert len(voice.files.widths) == 1
    codes = read_codes(studio.session.sound_path(take).with_suffix(TAKE_CODES))
    assert (read_codes(voice.folder / "voice.rvq") == codes).all()


def test_without_a_base_model_the_voice_waits_and_is_completed_later(
    qtbot: QtBot,
    tab: DesignTab,
    dialogs: WindowDialogs,
    studio: Studio,
    loaded: FakeModels,
) -> None:
    kept = loaded.base.talker.read_bytes()
    loaded.base.talker.unlink()
    studio.models.look()
    qtbot.waitUntil(lambda: studio.models.found is not None)
    make(studio, (1,), qtbot)
    with qtbot.waitSignal(studio.designing.locked, timeout=20_000):
        said = lock(tab, tab.grid.cards[0], "The innkeeper")
    assert "No Base model is on this computer yet" in said
    [voice] = studio.designing.pending
    assert voice.files.widths == ()
    loaded.base.talker.write_bytes(kept)
    with qtbot.waitSignal(studio.designing.completed, timeout=20_000):
        studio.models.look()
    assert not studio.designing.pending
    [voice] = studio.voices.listing.voices
    assert len(voice.files.widths) == 1


def test_a_locked_candidate_says_which_voice_it_is(
    qtbot: QtBot, tab: DesignTab, dialogs: WindowDialogs, studio: Studio, loaded: FakeModels
) -> None:
    make(studio, (1, 2), qtbot)
    first, second = tab.grid.cards
    with qtbot.waitSignal(studio.designing.locked, timeout=20_000):
        lock(tab, second, "Borin")
    assert "Locked as Borin" in words(second)
    assert second.accessibleDescription() == "Locked as Borin"
    assert "Locked" not in words(first)
    [voice] = studio.voices.listing.voices
    studio.voices.duplicate(voice)
    studio.voices.rename(voice, "Borin the Bold")
    qtbot.waitUntil(lambda: "Locked as Borin the Bold" in words(second))
    assert " and " not in words(second)  # a copy is another voice
    studio.session.delete(second.take.id)
    studio.session.undo()
    assert "Locked as Borin the Bold" in words(tab.grid.cards[1])
    studio.voices.delete(*studio.voices.listing.voices)
    qtbot.waitUntil(lambda: "Locked" not in words(tab.grid.cards[1]))


def test_a_take_that_breaks_off_is_locked_with_a_warning(
    qtbot: QtBot,
    tab: DesignTab,
    dialogs: WindowDialogs,
    studio: Studio,
    loaded: FakeModels,
    opener: FakeOpener,
) -> None:
    opener.engine.pace = Pace(frame_seconds=0.01, frames=5000)
    studio.speech.speak(DESIGN, (1,), "Designed", play=False)
    qtbot.waitUntil(lambda: studio.speech.state.made > 0, timeout=20_000)
    studio.speech.cancel()
    qtbot.waitUntil(lambda: not studio.speech.live)
    with qtbot.waitSignal(studio.designing.locked, timeout=20_000):
        said = lock(tab, tab.grid.cards[0], "Borin")
    assert "This take breaks off after " in said
    assert "with its words as transcript" not in said
    [voice] = studio.voices.listing.voices
    assert voice.transcript == ""
    qtbot.waitUntil(lambda: not tab.findChildren(LockDialog))
    press(tab.grid.cards[0], "Lock…")
    [dialog] = tab.findChildren(LockDialog)
    QTest.mouseClick(dialog.findChildren(QCheckBox)[0], LEFT)
    QTest.keyClicks(dialog.findChildren(QLineEdit)[0], "Borin the whole")
    with qtbot.waitSignal(studio.designing.locked, timeout=20_000) as locked:
        dialog.accept()
    assert locked.args[0].transcript == TEXT
    assert locked.args[0].files.has_codes


def test_a_lock_can_be_called_off(
    qtbot: QtBot, tab: DesignTab, dialogs: WindowDialogs, studio: Studio, loaded: FakeModels
) -> None:
    make(studio, (1,), qtbot)
    press(tab.grid.cards[0], "Lock…")
    [dialog] = [each for each in tab.findChildren(LockDialog) if each.isVisible()]
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    assert studio.background.flush()
    assert studio.voices.listing.voices == ()
