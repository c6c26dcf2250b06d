"""Cloning from the microphone or a file to a voice that speaks, as a person goes through it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QCheckBox,
    QComboBox,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.audio.recorder_state import Recording
from app.core.reading_cards import reading_card
from app.core.voice_record import Likeness
from app.studio.clone_state import CloneState
from app.studio.models import ModelStatus
from app.studio.notes import Note
from app.studio.studio import Studio
from app.ui.clone_tab import NEW, SPEAK, CloneTab
from app.ui.new_voice_page import NewVoicePage
from app.ui.recorder_panel import RecorderPanel
from app.ui.step_panel import StepPanel
from app.ui.transcript_panel import TranscriptPanel
from app.ui.trim_panel import TrimPanel
from app.ui.voice_speak_page import VoiceSpeakPage
from engine import Family
from tests.clone_steps import (
    LEFT,
    NO_KEY,
    TICK,
    WORDS,
    button,
    consent,
    field_text,
    fill,
    load_base,
    part,
    press,
    words,
)
from tests.fakes import FakeModels, FakeOpener


def test_it_begins_with_speaking(tab: CloneTab) -> None:
    assert (tab.tab, tab.title, tab.face) == ("clone", "Clone and speak", SPEAK)
    assert "There is no voice to speak with yet." in words(tab)


def test_without_a_voice_one_is_made_here(tab: CloneTab) -> None:
    page = part(tab, VoiceSpeakPage)
    QTest.mouseClick(button(page, "New voice"), LEFT)
    assert tab.face == NEW
    assert part(tab, NewVoicePage).isVisible()


def test_the_later_steps_wait_for_a_recording(tab: CloneTab) -> None:
    tab.show_face(NEW)
    assert not part(tab, TrimPanel).isVisible()
    assert not part(tab, TranscriptPanel).isVisible()
    names = [step.accessibleName() for step in tab.findChildren(StepPanel)]
    assert names == [
        "Step 1: Source",
        "Step 2: Trim",
        "Step 3: Transcript",
        "Step 4: Name and consent",
    ]


def test_coming_back_stays_with_the_voice_that_is_being_made(opened: CloneTab) -> None:
    opened.focus_text()
    assert opened.face == NEW
    focused = QApplication.focusWidget()
    assert focused is not None
    assert part(opened, NewVoicePage).isAncestorOf(focused)
    opened.show_face(SPEAK)
    opened.focus_text()
    assert opened.box.isAncestorOf(QApplication.focusWidget() or opened)


def test_closing_the_dialog_changes_nothing(tab: CloneTab, studio: Studio) -> None:
    tab.choose_recording()
    assert studio.cloning.state == CloneState(
        transcribe_hint=studio.cloning.state.transcribe_hint,
        missing=studio.cloning.state.missing,
    )


# From the microphone to a voice that speaks


def test_from_the_microphone_to_a_speaking_voice(
    tab: CloneTab, studio: Studio, model_files: FakeModels, qtbot: QtBot
) -> None:
    load_base(studio, model_files, qtbot)
    with qtbot.waitSignal(studio.sound.devices_changed):
        studio.sound.look_for_devices()
    tab.toggle_recording()
    qtbot.waitUntil(lambda: studio.sound.recorder_state.seconds > 1.2)
    tab.toggle_recording()
    qtbot.waitUntil(lambda: studio.cloning.state.buffer is not None)
    assert not part(tab, RecorderPanel).isVisible()
    assert part(tab, TrimPanel).isVisible()

    press(tab, "I read the card")
    assert field_text(tab).toPlainText() == reading_card("auto").text
    assert studio.cloning.state.language == "english"
    fill(tab, "Name of the voice", "Anna")
    QTest.mouseClick(consent(tab), LEFT, NO_KEY, TICK)
    fill(tab, "Who agreed", "Anna Berg")
    assert studio.background.flush()
    assert studio.cloning.state.missing == ""

    with qtbot.waitSignals([studio.cloning.saved, tab.test_requested], timeout=10_000):
        press(tab, "Save voice")
    voice = studio.voices.selected
    assert voice is not None
    assert (voice.name, voice.details.language) == ("Anna", "english")
    assert voice.details.consent is not None
    assert voice.details.consent.name == "Anna Berg"
    assert voice.has_best_likeness
    assert tab.face == SPEAK
    assert tab.box.text == reading_card("english").test_line
    request = tab.request()
    assert request is not None
    assert (request.family, request.voice_id) == (Family.BASE, voice.id)
    assert (request.likeness, request.language) == (Likeness.BEST, "english")
    assert tab.voice_label() == "Anna"
    with qtbot.waitSignal(studio.speech.take_ended, timeout=10_000):
        studio.speech.speak(request, (1,), tab.voice_label(), play=False)
    assert studio.session.takes[0].voice_label == "Anna"


def test_digital_silence_is_not_taken_for_a_recording(tab: CloneTab, studio: Studio) -> None:
    studio.sound.recorded.emit(Recording(Path("silence.wav"), 48_000, 48_000, was_silent=True))
    studio.sound.recorded.emit(Recording(None, 48_000, 0))
    assert studio.cloning.state.busy == ""


# Saving


def test_what_is_being_done_can_be_cancelled(
    opened: CloneTab,
    studio: Studio,
    opener: FakeOpener,
    model_files: FakeModels,
    qtbot: QtBot,
) -> None:
    opener.gate = threading.Event()
    studio.models.look()
    qtbot.waitUntil(lambda: studio.models.found is not None)
    studio.models.load(model_files.base)  # keeps the engine's thread busy
    field_text(opened).setPlainText(WORDS)
    consent(opened).setChecked(True)
    fill(opened, "Who agreed", "Me")
    press(opened, "Save voice")
    qtbot.waitUntil(lambda: studio.cloning.state.busy == "Learning the voice")
    assert "Learning the voice" in words(opened)
    assert not button(opened, "Save voice").isEnabled()
    press(opened, "Cancel")
    qtbot.waitUntil(lambda: not studio.cloning.state.busy)
    assert button(opened, "Save voice").isEnabled()
    opener.gate.set()
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)
    assert studio.voices.listing.voices == ()


def test_what_is_missing_is_said_beside_the_button(opened: CloneTab, studio: Studio) -> None:
    steps: list[tuple[Callable[[], None], str]] = [
        (lambda: field_text(opened).setPlainText(WORDS), "Say that the voice may be used."),
        (lambda: fill(opened, "Name of the voice", " "), "Give the voice a name."),
        (lambda: fill(opened, "Name of the voice", "Anna"), "Say that the voice may be used."),
        (
            lambda: consent(opened).setChecked(True),
            "Write who agreed: the name of the speaker.",
        ),
    ]
    assert not button(opened, "Save voice").isEnabled()
    for step, missing in steps:
        step()
        assert missing in words(opened)
        assert not button(opened, "Save voice").isEnabled()
    fill(opened, "Who agreed", "Me")
    assert button(opened, "Save voice").isEnabled()
    assert opened.findChildren(StepPanel)[3].is_done


def test_without_a_base_model_it_is_saved_and_waits(
    opened: CloneTab, studio: Studio, qtbot: QtBot
) -> None:
    notes: list[Note] = []
    tests: list[None] = []
    studio.cloning.notice.connect(notes.append)
    opened.test_requested.connect(lambda: tests.append(None))
    field_text(opened).setPlainText(WORDS)
    consent(opened).setChecked(True)
    fill(opened, "Who agreed", "Me")
    language = part(opened, QComboBox, "Language of the voice")
    assert isinstance(language, QComboBox)
    language.setCurrentIndex(language.findData("german"))
    language.activated.emit(language.currentIndex())
    with qtbot.waitSignal(studio.cloning.saved):
        press(opened, "Save voice")
    assert opened.face == SPEAK
    assert opened.box.text == reading_card("german").test_line
    assert tests == []
    assert "anna" in words(opened)
    assert opened.request() is None
    assert any("This needs a Base model" in each for each in words(opened))


def test_a_text_that_is_there_is_not_replaced_by_the_test_line(
    opened: CloneTab, studio: Studio, qtbot: QtBot
) -> None:
    opened.show_face(SPEAK)
    opened.focus_text()
    QTest.keyClicks(QApplication.focusWidget() or opened, "My own words.")
    opened.box.store()
    opened.show_face(NEW)
    field_text(opened).setPlainText(WORDS)
    consent(opened).setChecked(True)
    fill(opened, "Who agreed", "Me")
    with qtbot.waitSignal(studio.cloning.saved):
        press(opened, "Save voice")
    assert opened.box.text == "My own words."


def test_discarding_begins_again(opened: CloneTab, studio: Studio) -> None:
    press(opened, "Discard")
    assert studio.cloning.state.buffer is None
    assert not part(opened, TrimPanel).isVisible()
    assert "Record" in [one.text() for one in opened.findChildren(QPushButton)]


# Accessibility


def test_everything_that_is_used_has_a_name(opened: CloneTab) -> None:
    opened.show_face(NEW)
    for child in opened.findChildren(QWidget):
        focusable = child.focusPolicy() & Qt.FocusPolicy.TabFocus
        if not focusable or not child.isVisibleTo(opened) or child.focusProxy() is not None:
            continue
        text = child.text() if isinstance(child, QAbstractButton) else ""
        assert child.accessibleName() or text, f"{child} has no name"
        if isinstance(child, QAbstractButton) and not isinstance(child, QCheckBox):
            assert child.toolTip(), f"{text} has no tooltip"


def test_tab_goes_down_the_page_as_the_eye_does(opened: CloneTab) -> None:
    page = part(opened, NewVoicePage)
    opened.show_face(NEW)
    names = []
    widget: QWidget = opened
    while (widget := widget.nextInFocusChain() or opened) is not opened:
        if page.isAncestorOf(widget) and widget.isVisibleTo(opened) and _is_tab_stop(widget):
            text = widget.text() if isinstance(widget, QAbstractButton) else ""
            names.append(text or widget.accessibleName())
    wanted = [
        *("Record again", "Open a file…", "Discard"),
        *("Play selection", "Use the suggestion", "Waveform", "Show the spectrogram"),
        *("Fade at both ends, in milliseconds", "Silence behind it, in seconds", "Trim ends"),
        *("Best likeness", "Transcript", "Read from file…"),
        *("Name of the voice", "Language of the voice", "I may use this voice", "Who agreed"),
    ]
    assert [name for name in names if name in wanted] == wanted


def _is_tab_stop(widget: QWidget) -> bool:
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.isEnabled()


def test_the_page_fits_into_a_narrow_window(opened: CloneTab, qtbot: QtBot) -> None:
    page = part(opened, NewVoicePage)
    assert isinstance(page, NewVoicePage)
    opened.show_face(NEW)
    opened.resize(400, 380)
    qtbot.waitUntil(lambda: page.horizontalScrollBar().maximum() == 0)
    assert opened.width() == 400
