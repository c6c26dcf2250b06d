"""The trash: voices and takes are listed, come back, and are gone for good only when confirmed."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QTableWidget, QWidget
from pytestqt.qtbot import QtBot

from app.core.session_store import TRASH_KIND
from app.core.takes import Take, TakeEnding, TakeRequest
from app.studio.notes import Note
from app.studio.studio import Studio
from app.ui.theme import Appearance
from app.ui.trash_dialog import TrashDialog
from engine import Family
from tests.gui.voice_shelf import Shelf


class Answers:
    """Says yes or no, and keeps what was asked."""

    def __init__(self) -> None:
        self.yes = False
        self.asked: list[str] = []

    def __call__(self, parent: QWidget, question: str, yes: str) -> bool:
        self.asked.append(question)
        return self.yes


@pytest.fixture
def shelf(studio: Studio) -> Shelf:
    return Shelf(studio)


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def dialog(
    studio: Studio, shelf: Shelf, qtbot: QtBot, theme: Appearance, answers: Answers
) -> TrashDialog:
    """With Anna in the trash, and Ben after her."""
    for name in ("Anna", "Ben"):
        voice = shelf.put(name)
        shelf.show()
        studio.voices.delete(voice)
    made = TrashDialog(studio.deleted, answers)
    qtbot.addWidget(made)
    made.show()
    shelf.wait()
    return made


def button(dialog: TrashDialog, text: str) -> QAbstractButton:
    return next(one for one in dialog.findChildren(QAbstractButton) if one.text() == text)


def listed(dialog: TrashDialog) -> list[tuple[str, str]]:
    table = dialog.findChild(QTableWidget)
    assert table is not None
    cells = [[table.item(row, column) for column in (0, 1)] for row in range(table.rowCount())]
    return sorted((name.text(), what.text()) for name, what in cells if name and what)


def select(dialog: TrashDialog, *labels: str) -> None:
    dialog.choose(*(row for row, item in enumerate(dialog.items) if item.label in labels))


def test_what_was_deleted_is_listed_with_its_date(dialog: TrashDialog) -> None:
    assert listed(dialog) == [("Anna", "Voice"), ("Ben", "Voice")]
    table = dialog.findChild(QTableWidget)
    assert table is not None
    when = table.item(0, 2)
    assert when is not None
    assert dialog.items[0].deleted[:4] in when.text()
    assert len(dialog.chosen) == 1  # something is ready to be restored


def test_a_voice_comes_back(dialog: TrashDialog, shelf: Shelf, studio: Studio) -> None:
    select(dialog, "Anna")
    button(dialog, "Restore").click()
    shelf.wait()
    assert listed(dialog) == [("Ben", "Voice")]
    assert [voice.name for voice in studio.voices.listing.voices] == ["Anna"]


def test_for_good_only_when_confirmed(dialog: TrashDialog, shelf: Shelf, answers: Answers) -> None:
    select(dialog, "Ben")
    button(dialog, "Delete for good…").click()
    shelf.wait()
    assert len(listed(dialog)) == 2
    answers.yes = True
    button(dialog, "Delete for good…").click()
    shelf.wait()
    assert listed(dialog) == [("Anna", "Voice")]
    assert answers.asked == ["Delete “Ben” for good? This cannot be undone."] * 2
    assert [item.label for item in shelf.library.trash.items()] == ["Anna"]


def test_an_empty_trash_says_so(dialog: TrashDialog, shelf: Shelf, answers: Answers) -> None:
    answers.yes = True
    button(dialog, "Empty the trash…").click()
    shelf.wait()
    assert answers.asked == ["Delete 2 things for good? This cannot be undone."]
    assert shelf.library.trash.items() == ()
    texts = [label.text() for label in dialog.findChildren(QLabel) if label.isVisible()]
    assert "The trash is empty." in texts
    for text in ("Restore", "Delete for good…", "Empty the trash…"):
        assert not button(dialog, text).isEnabled()


def test_an_answer_that_comes_after_closing_is_not_shown(
    studio: Studio, shelf: Shelf, qtbot: QtBot, theme: Appearance
) -> None:
    shelf.put("Anna")
    shelf.show()
    studio.voices.delete(*studio.voices.listing.voices)
    made = TrashDialog(studio.deleted)
    qtbot.addWidget(made)
    made.show()
    made.reject()
    shelf.wait()
    assert made.items == ()


def test_the_keyboard_does_it_all(dialog: TrashDialog, shelf: Shelf) -> None:
    table = dialog.findChild(QTableWidget)
    assert table is not None
    select(dialog, "Anna")
    table.itemActivated.emit(table.currentItem())
    shelf.wait()
    assert listed(dialog) == [("Ben", "Voice")]
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


# Takes


def spoken(studio: Studio, text: str) -> Take:
    """A take of the open session, on disk."""
    take = Take(TakeRequest(text, Family.BASE), 7, "Anna")
    writer = studio.session.writer(take)
    writer.append(np.full(1920, 0.1, np.float32), np.zeros((1, 16), np.int64))
    made = writer.finish(TakeEnding.SPOKEN)
    assert made is not None
    studio.session.add(made)
    return made


def test_a_take_comes_back_to_its_session(
    studio: Studio, shelf: Shelf, qtbot: QtBot, theme: Appearance
) -> None:
    notes: list[Note] = []
    studio.deleted.notice.connect(notes.append)
    take = spoken(studio, "Hello there.")
    path = studio.session.sound_path(take)
    saved = studio.session.folder / "session.json"
    qtbot.waitUntil(lambda: saved.exists() and take.id in saved.read_text(encoding="utf-8"))
    studio.session.delete(take.id)
    qtbot.waitUntil(lambda: not path.exists())
    made = TrashDialog(studio.deleted)
    qtbot.addWidget(made)
    made.show()
    shelf.wait()
    assert listed(made) == [(take.label, "Take")]
    button(made, "Restore").click()
    shelf.wait()
    assert studio.session.takes == (take,)
    assert path.exists()
    assert listed(made) == []
    assert notes == [Note("1 take came back from the trash.")]


def test_a_take_of_another_session_goes_back_there(studio: Studio, shelf: Shelf) -> None:
    notes: list[Note] = []
    studio.deleted.notice.connect(notes.append)
    sound = studio.paths.sessions / "Other.studio" / "takes" / "abc.wav"
    sound.parent.mkdir(parents=True)
    sound.write_bytes(b"sound")
    item = shelf.library.trash.move([sound], TRASH_KIND, "Hello", "Other.studio/abc")
    studio.deleted.restore(item)
    shelf.wait()
    assert sound.read_bytes() == b"sound"
    assert studio.session.takes == ()
    assert [note.hint for note in notes] == ["1 take went to another session."]


def test_what_cannot_come_back_is_explained(studio: Studio, shelf: Shelf) -> None:
    problems: list[object] = []
    studio.deleted.problem.connect(problems.append)
    sound = studio.session.folder / "takes" / "abc.wav"
    sound.write_bytes(b"old")
    item = shelf.library.trash.move([sound], TRASH_KIND, "Hello", "Other.studio/abc")
    sound.write_bytes(b"new")
    studio.deleted.restore(item)
    shelf.wait()
    (problem,) = problems
    assert "'Hello' cannot be restored" in str(problem)
    assert sound.read_bytes() == b"new"


def test_emptying_removes_what_a_crash_left_too(studio: Studio, shelf: Shelf) -> None:
    left = shelf.library.folder / ".new-1"
    left.mkdir(parents=True)
    shelf.library.trash.move([left], "unfinished voice", ".new-1")
    shown: list[object] = []
    studio.deleted.trash_items(shown.extend)
    studio.deleted.empty_trash()
    shelf.wait()
    assert shown == []
    assert shelf.library.trash.items() == ()
