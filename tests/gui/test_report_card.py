"""The report card: six lines with a verdict, and buttons that mend and take back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from app.audio.take_buffer import TakeBuffer
from app.core.reference import Fix
from app.studio.clone_state import CloneState
from app.ui.report_card import ReportCard
from app.ui.report_rows import Aspect, ReportRow, Verdict, report_rows
from app.ui.theme import Appearance
from engine.audio import AudioReport, AudioWarning, AudioWarningKind, warnings_of

GOOD = AudioReport(9.0, -6.0, -22.0, 0, 0.0, -64.0, 0.8)
RATE = 48_000
NONE: frozenset[Fix] = frozenset()


def row(aspect: Aspect, report: AudioReport, *more: AudioWarning) -> ReportRow:
    rows = report_rows(report, (*warnings_of(report), *more), RATE)
    assert tuple(each.aspect for each in rows) == tuple(Aspect)
    return next(each for each in rows if each.aspect is aspect)


def test_a_good_recording_is_good_in_all_lines() -> None:
    assert {row(aspect, GOOD).verdict for aspect in Aspect} == {Verdict.GOOD}


@pytest.mark.parametrize(
    ("aspect", "change", "verdict"),
    [
        (Aspect.LENGTH, {"seconds": 0.4}, Verdict.BAD),
        (Aspect.LENGTH, {"seconds": 2.0}, Verdict.LOOK),
        (Aspect.LENGTH, {"seconds": 4.0}, Verdict.FAIR),
        (Aspect.LENGTH, {"seconds": 20.0}, Verdict.FAIR),
        (Aspect.LENGTH, {"seconds": 45.0}, Verdict.LOOK),
        (Aspect.LEVEL, {"peak_dbfs": -40.0, "rms_dbfs": -55.0}, Verdict.LOOK),
        (Aspect.LEVEL, {"peak_dbfs": 2.0}, Verdict.LOOK),
        (Aspect.LEVEL, {"dc_offset": -0.05}, Verdict.LOOK),
        (Aspect.CLIPPING, {"clipped": 1}, Verdict.LOOK),
        (Aspect.CLIPPING, {"clipped": 50}, Verdict.BAD),
        (Aspect.NOISE, {"noise_floor_dbfs": -48.0}, Verdict.LOOK),
        (Aspect.NOISE, {"noise_floor_dbfs": -30.0}, Verdict.BAD),
        (Aspect.NOISE, {"noise_floor_dbfs": -25.0, "speech_share": 0.99}, Verdict.GOOD),
        (Aspect.SPEECH, {"speech_share": 0.4}, Verdict.LOOK),
        (Aspect.SPEECH, {"speech_share": 0.1}, Verdict.BAD),
    ],
)
def test_what_is_wrong_is_seen(aspect: Aspect, change: dict[str, float], verdict: Verdict) -> None:
    assert row(aspect, replace(GOOD, **change)).verdict is verdict  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        (AudioWarningKind.OUT_OF_PHASE, Verdict.BAD),
        (AudioWarningKind.SILENT_CHANNEL, Verdict.LOOK),
    ],
)
def test_what_is_told_of_the_channels_is_repeated(kind: AudioWarningKind, verdict: Verdict) -> None:
    found = row(Aspect.CHANNELS, GOOD, AudioWarning(kind, "One channel is silent.", 6.0))
    assert (found.verdict, found.sentence) == (verdict, "One channel is silent.")


def test_negative_numbers_have_a_minus_sign() -> None:
    sentence = row(Aspect.LEVEL, GOOD).sentence
    assert sentence == "Peak \N{MINUS SIGN}6 dB, mean \N{MINUS SIGN}22 dB."


@pytest.fixture
def card(qtbot: QtBot, theme: Appearance) -> ReportCard:
    made = ReportCard()
    qtbot.addWidget(made)
    made.resize(620, 220)
    return made


def state(report: AudioReport, fixes: frozenset[Fix], applied: frozenset[Fix] = NONE) -> CloneState:
    buffer = TakeBuffer.of(np.zeros(100, np.float32), RATE)
    return CloneState(
        buffer=buffer,
        rate=RATE,
        report=report,
        warnings=warnings_of(report),
        fixes=fixes,
        applied=applied,
    )


def shown_buttons(card: ReportCard) -> list[QPushButton]:
    return [button for button in card.findChildren(QPushButton) if button.isVisible()]


def test_it_is_not_there_without_a_recording(card: ReportCard) -> None:
    card.show_state(CloneState())
    assert card.isHidden()


def test_each_line_has_a_word_and_not_a_colour_alone(card: ReportCard) -> None:
    card.show_state(state(replace(GOOD, clipped=9), NONE))
    texts = [label.text() for label in card.findChildren(QLabel)]
    assert texts.count("Good") == 5
    assert texts.count("Bad") == 1
    named = [label.accessibleName() for label in card.findChildren(QLabel)]
    assert any(name.startswith("Clipping: Bad. Cut off in 9 places") for name in named)
    assert shown_buttons(card) == []


def test_a_fix_is_asked_for_and_taken_back(card: ReportCard) -> None:
    asked: list[object] = []
    card.fix_requested.connect(asked.append)
    card.revert_requested.connect(lambda fix: asked.append(("back", fix)))
    quiet = replace(GOOD, peak_dbfs=-40.0, rms_dbfs=-55.0)
    card.show_state(state(quiet, frozenset({Fix.LEVEL})))
    (button,) = shown_buttons(card)
    assert "Level" in button.accessibleName()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    card.show_state(state(GOOD, frozenset({Fix.LEVEL}), frozenset({Fix.LEVEL})))
    (button,) = shown_buttons(card)
    assert button.text() == "Undo"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert asked == [Fix.LEVEL, ("back", Fix.LEVEL)]


def test_of_two_fixes_the_one_that_is_left_comes_first(card: ReportCard) -> None:
    both = frozenset({Fix.LEVEL, Fix.OFFSET})
    card.show_state(state(GOOD, both, frozenset({Fix.OFFSET})))
    (button,) = shown_buttons(card)
    assert button.text() == "Set level"


def test_nothing_is_mended_while_something_is_done(card: ReportCard) -> None:
    card.show_state(replace(state(GOOD, frozenset({Fix.TRIM_SILENCE})), busy="Saving"))
    (button,) = shown_buttons(card)
    assert not button.isEnabled()


def test_sentences_get_lines_of_their_own_where_it_is_narrow(
    card: ReportCard, qtbot: QtBot
) -> None:
    card.show_state(state(GOOD, NONE))
    word = next(label for label in card.findChildren(QLabel) if label.text() == "Good")
    sentence = next(label for label in card.findChildren(QLabel) if label.text() == "9.0 s.")

    def is_below() -> bool:
        return sentence.geometry().top() >= word.geometry().bottom()

    card.resize(900, 400)
    qtbot.waitUntil(lambda: not is_below())
    card.resize(320, 400)
    qtbot.waitUntil(is_below)
    card.resize(900, 400)
    qtbot.waitUntil(lambda: not is_below())
