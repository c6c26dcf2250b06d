"""Sessions: listed, named, begun and gone on with, each in a window of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QListWidget, QPushButton
from pytestqt.qtbot import QtBot

from app.core.session_store import LOCK, SessionStore, list_sessions, session_title
from app.core.takes import Take, TakeRequest
from app.core.trash import Trash
from app.studio.sessions import KnownSession
from app.studio.studio import Studio
from app.ui.session_dialogs import NameDialog, SessionsDialog
from app.ui.theme import Appearance
from engine import ExplainedError, Family

TWO_SESSIONS = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from app import main
from app.core import paths

paths.demo_folder = lambda: Path(sys.argv[1]) / "no-demo"

class Window(main.MainWindow):
    shown = []

    def showEvent(self, event):
        super().showEvent(event)
        self.shown.append(self.windowTitle())
        QTimer.singleShot(0, self.act)

    def act(self):
        sessions = self._studio.sessions
        if len(self.shown) == 1:
            self._studio.session.rename("The first")
            sessions.create("The second")
        elif len(self.shown) == 2:
            sessions.find(self.open_other)
        else:
            self.close()

    def open_other(self, found):
        self._studio.sessions.open(next(known.folder for known in found if not known.is_here))

main.MainWindow = Window
status = main.run_studio(Path(sys.argv[1]), null_audio=True)
print("\\n".join(Window.shown))
sys.exit(status)
"""


def other(studio: Studio, name: str) -> SessionStore:
    """Another session, which is open until it is closed."""
    return SessionStore.create(studio.paths.sessions, name, Trash(studio.paths.data / "trash"))


def found(studio: Studio) -> tuple[KnownSession, ...]:
    told: list[tuple[KnownSession, ...]] = []
    studio.sessions.find(told.append)
    assert studio.background.flush()
    return told[0]


def test_a_session_has_another_name_and_undo_does_not_take_it_back(studio: Studio) -> None:
    take = Take(TakeRequest("A line.", Family.BASE), 1, "Anna")
    studio.session.add(take)
    studio.session.star(take.id, True)
    studio.session.rename("The old theatre")
    assert studio.session.session.name == "The old theatre"
    studio.session.undo()
    assert studio.session.session.name == "The old theatre"
    assert studio.session.undo_label == ""
    folder = studio.session.folder
    assert studio.session.close()
    (entry,) = list_sessions(folder.parent)
    assert (entry.folder, session_title(entry)) == (folder, "The old theatre")


def test_sessions_are_listed_by_their_names(studio: Studio) -> None:
    store = other(studio, "Radio play")
    store.save(store.session)
    (store.folder.parent / "Damaged.studio").mkdir()
    listed = {known.title: known.is_here for known in found(studio)}
    assert listed == {"Radio play": False, studio.session.session.name: True, "Damaged": False}
    store.close()


def test_another_session_is_wanted_unless_a_window_has_it(studio: Studio) -> None:
    wanted: list[bool] = []
    problems: list[ExplainedError] = []
    studio.sessions.wanted.connect(lambda: wanted.append(True))
    studio.sessions.problem.connect(problems.append)
    store = other(studio, "Radio play")
    studio.sessions.open(store.folder)
    studio.sessions.open(studio.session.folder)  # is open here
    studio.sessions.open(store.folder.with_name("gone.studio"))
    assert studio.background.flush()
    assert [error.message.rpartition(" is ")[2] for error in problems] == [
        "open in another window of the studio.",
        "gone.",
    ]
    assert not wanted
    assert not studio.sessions.is_another_wanted
    store.close()
    studio.sessions.open(store.folder)
    assert studio.background.flush()
    assert wanted
    assert studio.sessions.is_another_wanted
    assert studio.preferences.settings.last_session == store.folder.name


def test_a_new_session_has_a_folder_of_its_own(studio: Studio) -> None:
    studio.sessions.create("Radio/play")
    studio.sessions.create("Radio/play")
    assert studio.background.flush()
    titles = [known.title for known in found(studio) if not known.is_here]
    assert len(set(titles)) == 2
    assert all((known.folder / LOCK).exists() for known in found(studio))


def test_a_session_is_chosen_by_keyboard(qtbot: QtBot, theme: Appearance, studio: Studio) -> None:
    store = other(studio, "Radio play")
    store.close()
    dialog = SessionsDialog(studio.sessions)
    qtbot.addWidget(dialog)
    chosen: list[Path] = []
    dialog.chosen.connect(chosen.append)
    dialog.show()
    assert studio.background.flush()
    rows = dialog.findChildren(QListWidget)[0]
    texts = [rows.item(row).text() for row in range(rows.count())]
    here = next(row for row, text in enumerate(texts) if text.endswith("(open now)"))
    yes = next(each for each in dialog.findChildren(QPushButton) if each.text() == "Open")
    assert yes.isEnabled()
    rows.setCurrentRow(here)
    assert not yes.isEnabled()
    rows.setCurrentRow(1 - here)
    QTest.keyClick(rows, Qt.Key.Key_Return)
    assert chosen == [store.folder]
    assert not dialog.isVisible()


def test_a_name_is_asked_for(qtbot: QtBot, theme: Appearance) -> None:
    dialog = NameDialog("New session", "Session", "Begin")
    qtbot.addWidget(dialog)
    dialog.show()
    field = dialog.findChildren(QLineEdit)[0]
    yes = next(each for each in dialog.findChildren(QPushButton) if each.text() == "Begin")
    field.setText("   ")
    assert not yes.isEnabled()
    field.setText("  The  old theatre ")
    with qtbot.waitSignal(dialog.accepted):
        QTest.keyClick(field, Qt.Key.Key_Return)
    assert dialog.name == "The old theatre"


@pytest.mark.usefixtures("studio_home")
def test_one_window_after_the_other_shows_them(tmp_path: Path) -> None:
    home = tmp_path / "another home"
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, "-c", TWO_SESSIONS, str(home)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.splitlines()
    assert first.startswith("Session 2")
    assert second.startswith("The second ")
    assert third.startswith("The first ")
    log = (home / "log" / "studio.log").read_text(encoding="utf-8")
    assert "ERROR" not in log
