"""The words of a recording: typed, read, dropped, warned about, and not needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.core.voice_record import Likeness
from app.studio.studio import Studio
from app.ui.clone_tab import CloneTab
from app.ui.segments import SegmentedSwitch
from app.ui.transcript_panel import TranscriptPanel
from tests.clone_steps import (
    LEFT,
    WORDS,
    Choosing,
    button,
    consent,
    field_text,
    fill,
    part,
    press,
    words,
)


def test_words_are_typed_read_and_warned_about(
    opened: CloneTab, studio: Studio, choosing: Choosing, tmp_path: Path, qtbot: QtBot
) -> None:
    field = field_text(opened)
    QTest.keyClicks(field, "Hello ")
    assert studio.cloning.state.transcript == "Hello "
    assert field.toPlainText() == "Hello "  # a blank at the end is not taken away while typing
    choosing.text = tmp_path / "words.txt"
    choosing.text.write_text(WORDS * 20, encoding="utf-8")
    press(opened, "Read from file…")
    qtbot.waitUntil(lambda: field.toPlainText() == WORDS * 20)
    assert studio.cloning.state.transcript_warning in words(opened)
    assert studio.cloning.state.transcript_warning


def test_a_text_file_may_be_dropped_on_the_words(
    opened: CloneTab, studio: Studio, tmp_path: Path, qtbot: QtBot
) -> None:
    path = tmp_path / "words.txt"
    path.write_text(WORDS, encoding="utf-8")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    event = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction,
        data,
        LEFT,
        Qt.KeyboardModifier.NoModifier,
    )
    panel = part(opened, TranscriptPanel)
    assert isinstance(panel, TranscriptPanel)
    panel.dropEvent(event)
    qtbot.waitUntil(lambda: studio.cloning.state.transcript == WORDS)


def test_why_nothing_can_be_transcribed_is_said(
    opened: CloneTab, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.core.transcription.RECOGNISER", "no_such_package")
    studio.cloning.begin()
    assert studio.background.flush()
    assert not button(opened, "Transcribe").isEnabled()
    assert studio.cloning.state.transcribe_hint in words(opened)
    assert button(opened, "Transcribe").toolTip() == studio.cloning.state.transcribe_hint


def test_steady_needs_no_words(opened: CloneTab, studio: Studio) -> None:
    page = part(opened, TranscriptPanel)
    switch = part(page, SegmentedSwitch)
    assert isinstance(switch, SegmentedSwitch)
    press(page, "Voice only")
    assert studio.cloning.state.likeness is Likeness.STEADY
    fill(opened, "Name of the voice", "Anna")
    consent(opened).setChecked(True)
    fill(opened, "Who agreed", "Me")
    assert button(opened, "Save voice").isEnabled()
