"""Speaking with a voice of the library, or with none yet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.core.voice_parts import VoiceParts
from app.core.voice_record import LibraryVoice, Likeness, VoiceDetails, VoiceKind
from app.studio.studio import Studio
from app.ui.clone_tab import NEW, SPEAK, CloneTab
from tests.clone_steps import WORDS, load_base, offers, press, words
from tests.fakes import FakeModels


def test_speaking_says_what_is_missing(tab: CloneTab) -> None:
    tab.show_face(NEW)
    assert tab.request() is None
    assert tab.face == SPEAK
    assert "Choose a voice on the left first, or make a new one." in words(tab)
    assert tab.voice_label() == ""


def add_voice(studio: Studio, qtbot: QtBot, parts: VoiceParts) -> LibraryVoice:
    """A voice of the library, which is chosen then."""
    with qtbot.waitSignal(studio.voices.selected_changed):
        studio.voices.create(VoiceDetails("Berta", VoiceKind.CLONE, language="german"), parts)
    voice = studio.voices.selected
    assert voice is not None
    return voice


def best_parts(clip: Path) -> VoiceParts:
    return VoiceParts(
        clip=clip,
        transcript=WORDS,
        codes=np.zeros((75, 16), np.int64),
        embeddings=(np.ones(80, np.float32),),
    )


def test_a_chosen_voice_is_shown_and_used_as_it_was_chosen(
    tab: CloneTab, studio: Studio, model_files: FakeModels, clip: Path, qtbot: QtBot
) -> None:
    load_base(studio, model_files, qtbot)
    voice = add_voice(studio, qtbot, best_parts(clip))
    assert "Berta" in words(tab)
    assert any(line.startswith("Clone") and line.endswith("German") for line in words(tab))
    assert studio.session.draft("clone").voice_id == voice.id
    tab.focus_text()
    QTest.keyClicks(QApplication.focusWidget() or tab, "Hello there.")
    press(tab, "Voice only")
    request = tab.request()
    assert request is not None
    assert request.likeness is Likeness.STEADY
    press(tab, "Best likeness")
    request = tab.request()
    assert request is not None
    assert (request.text, request.likeness) == ("Hello there.", Likeness.BEST)


def test_a_voice_without_words_is_steady_and_has_no_switch(
    tab: CloneTab, studio: Studio, model_files: FakeModels, qtbot: QtBot
) -> None:
    load_base(studio, model_files, qtbot)
    add_voice(studio, qtbot, VoiceParts(embeddings=(np.ones(80, np.float32),)))
    tab.focus_text()
    QTest.keyClicks(QApplication.focusWidget() or tab, "Hello there.")
    assert not offers(tab, "Voice only")
    assert not offers(tab, "Sample")
    request = tab.request()
    assert request is not None
    assert request.likeness is Likeness.STEADY


def test_an_empty_text_is_told(
    tab: CloneTab, studio: Studio, model_files: FakeModels, clip: Path, qtbot: QtBot
) -> None:
    load_base(studio, model_files, qtbot)
    add_voice(studio, qtbot, best_parts(clip))
    assert tab.request() is None
    assert any("no text" in line for line in words(tab))


def test_the_sample_is_heard_and_paused(
    tab: CloneTab, studio: Studio, clip: Path, qtbot: QtBot
) -> None:
    voice = add_voice(studio, qtbot, best_parts(clip))
    press(tab, "Sample")
    assert studio.sound.playing_key == f"voice:{voice.id}"
    qtbot.waitUntil(lambda: offers(tab, "Pause"))
    press(tab, "Pause")
    qtbot.waitUntil(lambda: offers(tab, "Sample"))


def test_a_deleted_voice_is_not_shown_any_more(
    tab: CloneTab, studio: Studio, clip: Path, qtbot: QtBot
) -> None:
    voice = add_voice(studio, qtbot, best_parts(clip))
    with qtbot.waitSignal(studio.voices.selected_changed):
        studio.voices.delete(voice)
    assert "There is no voice to speak with yet." in words(tab)
    assert "Berta" not in words(tab)
