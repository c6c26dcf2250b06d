"""The table of keys, the actions made from it, and the dialogs of the help and edit menus."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QListWidget,
    QMainWindow,
    QPushButton,
    QTableWidget,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.audio.backend import Device
from app.core.settings import Settings, Theme
from app.ui.about_dialog import AboutDialog, Part, find_parts, find_version
from app.ui.help_dialog import HelpDialog
from app.ui.preferences_dialog import Choices, Preferences, PreferencesDialog
from app.ui.shortcuts import (
    SHORTCUTS,
    Context,
    PlainKeyGuard,
    key_text,
    make_action,
    shortcut,
    with_key,
)
from app.ui.theme import Appearance

ACTIONS = [row for row in SHORTCUTS if row.is_action]


def test_names_are_unique() -> None:
    names = [row.name for row in SHORTCUTS]
    assert len(names) == len(set(names))


def test_keys_can_be_read_and_are_not_given_twice() -> None:
    for row in SHORTCUTS:
        for key in row.keys:
            assert QKeySequence(key).count() == 1, row
            assert QKeySequence(key).toString(), row
    everywhere = [key for row in ACTIONS if row.context is Context.EVERYWHERE for key in row.keys]
    for context in (Context.TAKES, Context.VOICES):
        # A key of a panel that works everywhere too would be ambiguous, and do nothing.
        keys = [key for row in ACTIONS if row.context is context for key in row.keys]
        both = [*everywhere, *keys]
        assert len(both) == len(set(both))


def test_the_keys_of_the_product_are_there() -> None:
    def what(key: str) -> str:
        return next(row.name for row in SHORTCUTS if key in row.keys)

    assert {key: what(key) for key in ("Space", "Ctrl+Return", "Esc", "R", "L", "S", "Ctrl+1")} == {
        "Space": "play",
        "Ctrl+Return": "speak",
        "Esc": "cancel",
        "R": "record",
        "L": "loop",
        "S": "take-star",
        "Ctrl+1": "tab-1",
    }


class Window(QMainWindow):
    """A window whose Space plays, with things in it that have the focus."""

    def __init__(self) -> None:
        super().__init__()
        self.button = QPushButton("press")
        self.combo = QComboBox()
        self.combo.addItems(["Anna", "Lea"])
        self.field = QLineEdit()
        self.list = QListWidget()
        self.list.addItems(["Anna", "Lea"])
        self.plain = QWidget()
        self.plain.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        inside = QWidget()
        layout = QVBoxLayout(inside)
        for widget in (self.button, self.combo, self.field, self.list, self.plain):
            layout.addWidget(widget)
        self.setCentralWidget(inside)
        self.triggered: list[str] = []
        for name in ("play", "loop", "speak"):
            action = make_action(name, self)
            action.triggered.connect(lambda _checked=False, name=name: self.triggered.append(name))


@pytest.fixture
def window(theme: Appearance, qtbot: QtBot, qapp: QApplication) -> Window:
    made = Window()
    qtbot.addWidget(made)
    PlainKeyGuard(qapp, parent=made)
    made.show()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def press(widget: QWidget, key: Qt.Key) -> None:
    widget.setFocus()
    QTest.keyClick(widget, key)


def test_keys_work_where_nothing_claims_them(window: Window) -> None:
    press(window.plain, Qt.Key.Key_Space)
    press(window.plain, Qt.Key.Key_L)
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
        QTest.keyClick(window.plain, key, Qt.KeyboardModifier.ControlModifier)
    assert window.triggered == ["play", "loop", "speak", "speak"]


def test_space_presses_the_button_that_has_the_focus(window: Window, qtbot: QtBot) -> None:
    with qtbot.waitSignal(window.button.clicked):
        press(window.button, Qt.Key.Key_Space)
    assert window.triggered == []
    press(window.button, Qt.Key.Key_L)
    assert window.triggered == ["loop"]


def test_letters_go_into_fields_and_find_entries(window: Window) -> None:
    press(window.field, Qt.Key.Key_Space)
    press(window.field, Qt.Key.Key_L)
    assert window.field.text() == " l"
    press(window.combo, Qt.Key.Key_L)
    assert window.combo.currentText() == "Lea"
    press(window.list, Qt.Key.Key_L)
    assert window.list.currentItem().text() == "Lea"
    assert window.triggered == []
    QTest.keyClick(window.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert window.triggered == ["speak"]


def test_panel_keys_work_in_their_panel_only(window: Window, qtbot: QtBot) -> None:
    star = make_action("take-star", window.plain)
    with qtbot.assertNotEmitted(star.triggered):
        press(window.button, Qt.Key.Key_S)
    with qtbot.waitSignal(star.triggered):
        press(window.plain, Qt.Key.Key_S)


def test_keys_of_widgets_make_no_action(window: Window) -> None:
    with pytest.raises(AssertionError, match="wave-step"):
        make_action("wave-step", window)


def test_a_key_that_is_held_down_only_repeats_undo(window: Window) -> None:
    for row in SHORTCUTS:
        if row.is_action:
            action = make_action(row.name, window)
            assert action.autoRepeat() == (row.name in ("undo", "redo"))
            window.removeAction(action)


def test_tooltips_name_the_key() -> None:
    assert with_key("Play", "play") == f"Play ({key_text('Space')})"
    assert shortcut("help").keys == ("F1",)


# Dialogs


def test_f1_lists_every_key(theme: Appearance, qtbot: QtBot) -> None:
    dialog = HelpDialog()
    qtbot.addWidget(dialog)
    texts = [label.text() for label in dialog.findChildren(QLabel)]
    for row in SHORTCUTS:
        assert row.what in texts
        caps = key_text(row.keys[0]) if len(row.keys) < 3 else "Alt+Shift+← → ↑ ↓"
        assert caps in texts
    for context in Context:
        assert context.value in texts
    dialog.show()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_the_texts_of_f1_do_not_overlap(theme: Appearance, qtbot: QtBot) -> None:
    dialog = HelpDialog()
    qtbot.addWidget(dialog)
    dialog.show()
    boxes = [
        (label.text(), label.rect().translated(label.mapTo(dialog, label.rect().topLeft())))
        for label in dialog.findChildren(QLabel)
    ]
    for (one, first), (other, second) in itertools.combinations(boxes, 2):
        assert not first.intersects(second), (one, other)


def test_the_parts_are_named_with_their_licences(theme: Appearance, qtbot: QtBot) -> None:
    parts = {part.name.replace("_", "-").lower(): part for part in find_parts()}
    assert "LGPL" in parts["pyside6-essentials"].licence
    assert parts["numpy"].licence.startswith("BSD-3-Clause")
    assert {"torch", "gguf", "soundfile", "regex"} <= set(parts)
    assert all(part.licence and part.version for part in parts.values())
    assert find_parts(["no-such-package"]) == ()
    assert find_version("no-such-package") == ""
    assert find_version("numpy") == parts["numpy"].version


def test_about_shows_version_and_parts(theme: Appearance, qtbot: QtBot) -> None:
    dialog = AboutDialog("1.2.3", (Part("numpy", "2.0", "BSD-3-Clause"),))
    qtbot.addWidget(dialog)
    texts = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert "1.2.3" in texts
    assert "GNU Lesser General Public License" in texts
    table = dialog.findChild(QTableWidget)
    assert table is not None
    cells = [table.item(0, column) for column in range(3)]
    assert [cell and cell.text() for cell in cells] == ["numpy", "2.0", "BSD-3-Clause"]


HEADSET = Device("ALSA/Headset", "Headset", "ALSA", 2, 48_000, True)


def open_preferences(
    qtbot: QtBot, preferences: Preferences, folder: Path | None = None
) -> PreferencesDialog:
    dialog = PreferencesDialog(
        preferences, Choices(outputs=(HEADSET,), microphones=(HEADSET,)), lambda _parent: folder
    )
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def combo(dialog: PreferencesDialog, name: str) -> QComboBox:
    return next(one for one in dialog.findChildren(QComboBox) if one.accessibleName() == name)


def button(dialog: PreferencesDialog, text: str) -> QPushButton:
    return next(one for one in dialog.findChildren(QPushButton) if text in one.text())


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("Theme", Preferences(theme=Theme.DARK)),
        ("Size", Preferences(scale=250)),
        ("Output", Preferences(output="ALSA/Headset")),
        ("Microphone", Preferences(microphone="ALSA/Headset")),
        ("Compute on", Preferences(device="cpu")),
    ],
)
def test_a_preference_is_reported_when_it_changes(
    theme: Appearance, qtbot: QtBot, name: str, changed: Preferences
) -> None:
    dialog = open_preferences(qtbot, Preferences())
    with qtbot.waitSignal(dialog.changed) as signal:
        QTest.keyClick(combo(dialog, name), Qt.Key.Key_End)
    assert signal.args == [changed]
    assert dialog.preferences == changed


def test_the_dialog_shows_what_is_set(theme: Appearance, qtbot: QtBot, tmp_path: Path) -> None:
    preferences = Preferences(Theme.LIGHT, 150, "ALSA/Gone", None, (tmp_path,), "cuda:3", "bf16")
    dialog = open_preferences(qtbot, preferences)
    assert dialog.preferences == preferences
    shown = {name: combo(dialog, name).currentText() for name in ("Theme", "Size", "Compute on")}
    assert shown == {"Theme": "Light", "Size": "150 %", "Compute on": "cuda:3"}
    assert combo(dialog, "Output").currentText() == "Gone (not connected)"
    # A change elsewhere keeps what is not offered now.
    QTest.keyClick(combo(dialog, "Theme"), Qt.Key.Key_Home)
    assert dialog.preferences.output == "ALSA/Gone"
    assert dialog.preferences.device == "cuda:3"
    assert dialog.preferences.precision == "bf16"


def test_other_settings_are_kept(tmp_path: Path) -> None:
    stored = Settings(
        Theme.DARK,
        1.25,
        "german",
        model_folders=(tmp_path,),
        device="cuda:0",
        precision="bf16",
        output_device="ALSA/Headset",
        volume=0.5,
        last_session="Tuesday",
    )
    preferences = Preferences.of(stored)
    assert preferences.within(stored) == stored
    assert preferences.within(Settings()) == replace(
        stored, language="auto", volume=1.0, last_session=""
    )
    assert Preferences.of(Settings()) == Preferences()
    assert Preferences().within(stored) == Settings(
        language="german", volume=0.5, last_session="Tuesday"
    )


def test_a_new_size_waits_for_the_next_start(theme: Appearance, qtbot: QtBot) -> None:
    dialog = open_preferences(qtbot, Preferences())
    note = next(one for one in dialog.findChildren(QLabel) if one.property("muted"))
    assert not note.isVisible()
    QTest.keyClick(combo(dialog, "Size"), Qt.Key.Key_End)
    assert note.isVisible()
    assert "starts again" in note.text()
    with qtbot.waitSignal(dialog.restart_requested):
        button(dialog, "Restart now").click()
    QTest.keyClick(combo(dialog, "Size"), Qt.Key.Key_Home)
    assert not note.isVisible()


def test_the_own_folder_of_the_studio_is_named(theme: Appearance, qtbot: QtBot) -> None:
    own = Path("/home/me/.local/share/voice-studio/models")
    dialog = PreferencesDialog(Preferences(), Choices(own_folder=own), lambda _: None)
    qtbot.addWidget(dialog)
    dialog.show()
    assert any(str(own) in label.text() for label in dialog.findChildren(QLabel))


def test_model_folders_come_and_go(theme: Appearance, qtbot: QtBot, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    dialog = open_preferences(qtbot, Preferences(model_folders=(old,)), new)
    button(dialog, "Add").click()
    assert list(dialog.preferences.model_folders) == [old, new]
    with qtbot.assertNotEmitted(dialog.changed):
        button(dialog, "Add").click()  # the same again
    assert not button(dialog, "Remove").isEnabled()
    folders = dialog.findChild(QListWidget)
    assert folders is not None
    folders.setCurrentRow(0)
    button(dialog, "Remove").click()
    assert list(dialog.preferences.model_folders) == [new]


def test_no_folder_chosen_changes_nothing(theme: Appearance, qtbot: QtBot) -> None:
    dialog = open_preferences(qtbot, Preferences())
    with qtbot.assertNotEmitted(dialog.changed):
        button(dialog, "Add").click()
