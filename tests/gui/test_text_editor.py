"""The text field counts, estimates, warns and passes on what is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QHelpEvent, QKeyEvent, QTextCharFormat
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QToolTip, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.core.estimates import estimate_speech
from app.core.settings import Theme
from app.core.text_files import LONGEST_FIELD, read_text_file
from app.core.text_warnings import TextWarning, TextWarningKind, text_warnings
from app.core.transcripts import LONGEST_TRANSCRIPT
from app.ui.colours import Colours
from app.ui.labels import LinkLabel
from app.ui.text_editor import SpeechEdit
from app.ui.theme import Appearance
from engine import RequestError

CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
MakeEdit = Callable[[str], SpeechEdit]


def seconds(text: str) -> float:
    return len(text) / 10


def warning(start: int, end: int, message: str) -> TextWarning:
    return TextWarning(TextWarningKind.DIGITS, start, end, message)


def digits(text: str) -> list[TextWarning]:
    """A warning for every digit, the last one first."""
    found = [warning(at, at + 1, f"Digit {sign}") for at, sign in enumerate(text) if sign.isdigit()]
    return found[::-1]


@pytest.fixture
def make_edit(qtbot: QtBot, theme: Appearance) -> MakeEdit:
    def make(text: str) -> SpeechEdit:
        edit = SpeechEdit(seconds, digits)
        qtbot.addWidget(edit)
        edit.resize(500, 160)
        edit.show()
        edit.setPlainText(text)
        edit.check_now()
        return edit

    return make


def underlined(edit: SpeechEdit) -> list[str]:
    wave = QTextCharFormat.UnderlineStyle.WaveUnderline
    selections = edit.extraSelections()
    assert all(selection.format.underlineStyle() == wave for selection in selections)
    return [selection.cursor.selectedText() for selection in selections]


def kinds(edit: SpeechEdit) -> list[TextWarningKind]:
    return [warning.kind for warning in edit.warnings]


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("", "0 characters"),
        ("   ", "3 characters · about 0 s"),
        ("x", "1 character · about 0 s"),
        ("x" * 50, "50 characters · about 5 s"),
        ("x" * 1234, "1,234 characters · about 2:03 min"),
        ("\N{GRINNING FACE}", "1 character · about 0 s"),
    ],
)
def test_the_length_is_told(make_edit: MakeEdit, text: str, summary: str) -> None:
    assert make_edit(text).summary == summary


def test_the_length_follows_the_typing(make_edit: MakeEdit, qtbot: QtBot) -> None:
    edit = make_edit("")
    with qtbot.waitSignal(edit.checked):
        QTest.keyClicks(edit, "Hello 5")
    assert edit.summary.startswith("7 characters")
    assert underlined(edit) == ["5"]


def test_warnings_are_underlined_behind_emoji_too(make_edit: MakeEdit) -> None:
    edit = make_edit("\N{GRINNING FACE} a 1\n\N{GRINNING FACE}\N{GRINNING FACE} 2")
    assert edit.warnings == (warning(4, 5, "Digit 1"), warning(9, 10, "Digit 2"))
    assert underlined(edit) == ["1", "2"]


def test_the_warning_at_the_cursor_is_named(make_edit: MakeEdit) -> None:
    edit = make_edit("\N{GRINNING FACE} one 1 two 2")
    assert "Digit 1 (1 of 2 notes)" in edit.accessibleDescription()
    cursor = edit.textCursor()
    cursor.movePosition(cursor.MoveOperation.End)
    edit.setTextCursor(cursor)
    assert "Digit 2 (2 of 2 notes)" in edit.accessibleDescription()
    edit.setPlainText("none")
    edit.check_now()
    assert edit.accessibleDescription() == edit.summary


def test_warnings_have_tooltips(make_edit: MakeEdit, qtbot: QtBot) -> None:
    edit = make_edit("7" * 10)
    cursor = edit.textCursor()
    cursor.setPosition(5)
    place = edit.cursorRect(cursor).center()
    shown = QHelpEvent(QEvent.Type.ToolTip, place, edit.viewport().mapToGlobal(place))
    QApplication.sendEvent(edit.viewport(), shown)
    qtbot.waitUntil(lambda: QToolTip.text() == "Digit 7")
    QToolTip.hideText()


def test_ten_thousand_lines_are_no_burden(make_edit: MakeEdit) -> None:
    edit = make_edit("1\n" * 10_000)
    assert len(edit.warnings) == 10_000
    assert len(edit.extraSelections()) == 500
    assert "1 of 10,000 notes" in edit.accessibleDescription()


def test_the_warnings_of_the_studio_fit(qtbot: QtBot, theme: Appearance) -> None:
    edit = SpeechEdit(lambda text: estimate_speech(text).seconds, text_warnings)
    qtbot.addWidget(edit)
    assert edit.summary == "0 characters"
    assert edit.warnings == ()
    edit.replace_text("OK \N{GRINNING FACE}")
    assert kinds(edit) == [TextWarningKind.ONE_WORD, TextWarningKind.EMOJI]
    assert underlined(edit) == ["OK \N{GRINNING FACE}", "\N{GRINNING FACE}"]
    assert "Emoji" in edit.accessibleDescription()  # the closest one at the cursor
    edit.replace_text("Words that are said one after the other. " * 60)
    assert kinds(edit) == [TextWarningKind.VERY_LONG]
    assert underlined(edit) == []


def test_control_and_enter_speak(make_edit: MakeEdit, qtbot: QtBot) -> None:
    edit = make_edit("text")
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
        with (
            qtbot.waitSignal(edit.speak_requested),
            qtbot.assertNotEmitted(edit.takes_requested),
        ):
            QTest.keyClick(edit, key, CONTROL)
        with (
            qtbot.waitSignal(edit.takes_requested),
            qtbot.assertNotEmitted(edit.speak_requested),
        ):
            QTest.keyClick(edit, key, CONTROL | SHIFT)
    assert edit.toPlainText() == "text"
    QTest.keyClick(edit, Qt.Key.Key_Return)
    assert edit.toPlainText() == "\ntext"


def test_a_key_that_is_held_down_asks_once(make_edit: MakeEdit, qtbot: QtBot) -> None:
    edit = make_edit("text")
    event = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Return, CONTROL, "", True)
    with qtbot.assertNotEmitted(edit.speak_requested):
        QApplication.sendEvent(edit, event)
    assert edit.toPlainText() == "text"


def test_more_than_fits_is_not_pasted_but_said(make_edit: MakeEdit, qtbot: QtBot) -> None:
    edit = make_edit("text")
    data = QMimeData()
    data.setText("x" * (LONGEST_FIELD - 3))
    edit.insertFromMimeData(data)
    assert edit.toPlainText() == "text"
    qtbot.waitUntil(lambda: "100,001 characters" in QToolTip.text())
    edit.selectAll()
    edit.insertFromMimeData(data)
    assert len(edit.toPlainText()) == LONGEST_FIELD - 3
    QToolTip.hideText()


def test_files_longer_than_a_field_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text("x" * LONGEST_FIELD)
    assert len(read_text_file(path).text) == LONGEST_FIELD
    path.write_text("x" * (LONGEST_FIELD + 1))
    with pytest.raises(RequestError, match=r"book\.txt has 100,001 characters"):
        read_text_file(path)
    path.write_bytes(b"x" * (LONGEST_TRANSCRIPT + 1))
    with pytest.raises(RequestError, match="too large for a text"):
        read_text_file(path)


def test_tab_moves_on(theme: Appearance, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    edit, after = SpeechEdit(seconds, digits), QLineEdit()
    layout = QVBoxLayout(window)
    layout.addWidget(edit)
    layout.addWidget(after)
    window.show()
    qtbot.waitUntil(window.isActiveWindow)
    edit.setFocus()
    QTest.keyClick(edit, Qt.Key.Key_Tab)
    assert after.hasFocus()
    assert edit.toPlainText() == ""


def drop(edit: SpeechEdit, data: QMimeData) -> bool:
    event = QDropEvent(
        QPointF(20, 20),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    event.setAccepted(False)
    edit.dropEvent(event)
    return event.isAccepted()


def test_a_text_file_is_handed_to_the_owner(
    make_edit: MakeEdit, qtbot: QtBot, tmp_path: Path
) -> None:
    edit = make_edit("before")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "Grüße.TXT"))])
    with qtbot.waitSignal(edit.file_dropped) as dropped:
        assert drop(edit, data)
    assert dropped.args == [tmp_path / "Grüße.TXT"]
    assert edit.toPlainText() == "before"


@pytest.mark.parametrize("names", [["a.wav"], ["a.txt", "b.txt"]])
def test_other_files_are_not_taken(
    make_edit: MakeEdit, qtbot: QtBot, tmp_path: Path, names: list[str]
) -> None:
    edit = make_edit("before")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / name)) for name in names])
    with qtbot.assertNotEmitted(edit.file_dropped):
        drop(edit, data)
    assert edit.toPlainText() == "before"


def test_a_replaced_text_can_be_had_back(make_edit: MakeEdit) -> None:
    edit = make_edit("old")
    edit.replace_text("new 1")
    assert edit.toPlainText() == "new 1"
    assert underlined(edit) == ["1"]
    edit.undo()
    assert edit.toPlainText() == "old"


def test_the_line_below_lies_under_the_text(
    make_edit: MakeEdit, theme: Appearance, qtbot: QtBot
) -> None:
    edit = make_edit("1")
    theme.choose(Theme.LIGHT)
    edit.resize(300, 120)
    qtbot.waitUntil(lambda: edit.viewport().width() < 300)
    below = edit.viewport().geometry().bottom()
    labels = [label for label in edit.findChildren(QWidget) if label.parent() is edit]
    shown = [
        label
        for label in labels
        if label.isVisible() and label.metaObject().className() != "QWidget"
    ]
    texts = [label for label in shown if label is not edit.viewport() and label.height() < 40]
    assert len(texts) == 3
    for label in texts:
        assert label.geometry().top() > below
        assert edit.rect().contains(label.geometry())
    assert edit.childAt(QPoint(5, 5)) is edit.viewport()


def test_its_colours_follow_the_theme(make_edit: MakeEdit, theme: Appearance) -> None:
    edit = make_edit("4 lines.")
    count, warned = (
        next(label for label in edit.findChildren(QLabel) if label.text().startswith(start))
        for start in ("8 characters", "Digit 4")
    )
    edit.offer("Use the text of “Design”")
    link = edit.findChildren(LinkLabel)[0]
    for choice in (Theme.LIGHT, Theme.DARK):
        theme.choose(choice)
        colours = Colours.of(edit.palette())
        assert f"color: {colours.link}" in link.text()
        assert count.palette().color(count.foregroundRole()).name() == colours.muted
        assert warned.palette().color(warned.foregroundRole()).name() == colours.warning
