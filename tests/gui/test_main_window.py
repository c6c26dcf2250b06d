"""The window: keys, menus, drops and messages reach the parts they are meant for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import pytest
import soundfile
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QThreadPool, QUrl
from PySide6.QtGui import QColor, QDropEvent, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDialog,
    QLineEdit,
    QMenu,
    QPushButton,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.audio.backend import SoundDeviceError
from app.audio.null import NullBackend
from app.core.presets import Preset, preset_sampling
from app.core.settings import Theme
from app.core.take_files import SavedTakes
from app.core.takes import Take, TakeEnding, TakeRequest
from app.core.voice_record import LibraryVoice, VoiceDetails, VoiceFiles, VoiceKind, VoiceOrder
from app.studio.models import ModelStatus
from app.studio.notes import Note
from app.studio.speech_state import SpeechPhase
from app.studio.studio import Studio
from app.ui.banner import Banner, Severity
from app.ui.clone_tab import NEW, SPEAK
from app.ui.help_dialog import HelpDialog
from app.ui.live import LiveTimer
from app.ui.lock_dialog import LockDialog
from app.ui.main_window import CLONE, DESIGN, SPEAKERS, MainWindow
from app.ui.model_dialog import ModelDialog
from app.ui.preferences_dialog import PreferencesDialog
from app.ui.shortcuts import SHORTCUTS, Context
from app.ui.takes_panel import TakeTargets
from app.ui.theme import Appearance
from app.ui.window_drops import Drop, sorted_out
from app.ui.window_messages import Remedies, WindowMessages
from app.ui.window_panels import decoded, encoded
from engine import DeviceError, ExplainedError, Family, Layout, ModelFileError, ModelPair, Sampling
from tests.fakes import FakeModels, FakeOpener, Pace
from tests.gui.voice_shelf import Shelf

LEFT = Qt.MouseButton.LeftButton
TEXT = "The kettle was singing when the rain began."

Make = Callable[[], MainWindow]


@pytest.fixture
def make(
    qtbot: QtBot, theme: Appearance, studio: Studio, timer: LiveTimer, pool: QThreadPool
) -> Iterator[Make]:
    """Makes windows over the same studio."""
    studio.preferences.update(theme=Theme.DARK)

    def made() -> MainWindow:
        window = MainWindow(studio, theme, timer, pool)
        qtbot.addWidget(window)
        window.resize(1280, 820)
        window.show()
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        return window

    yield made
    studio.sound.stop()


@pytest.fixture
def window(make: Make) -> MainWindow:
    return make()


def key(window: MainWindow, keys: str) -> None:
    """Press keys as a person does: at what has the focus."""
    QTest.keySequence(window.focusWidget() or window, QKeySequence(keys))


def load(qtbot: QtBot, studio: Studio, pair: ModelPair) -> None:
    studio.models.load(pair)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)


def write(studio: Studio, tab: str, **values: Any) -> None:
    """Set fields of a draft."""
    studio.session.set_draft(tab, replace(studio.session.draft(tab), **values))


def open_dialogs(window: MainWindow) -> list[type[QDialog]]:
    return [type(each) for each in window.findChildren(QDialog) if each.isVisible()]


def drop_on(window: MainWindow, *paths: Path) -> bool:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    event = QDropEvent(
        QPointF(20, 5), Qt.DropAction.CopyAction, data, LEFT, Qt.KeyboardModifier.NoModifier
    )
    window.dropEvent(event)
    return event.isAccepted()


# Speaking


def test_ctrl_enter_speaks_the_text_as_its_settings_say(
    qtbot: QtBot,
    window: MainWindow,
    studio: Studio,
    model_files: FakeModels,
    opener: FakeOpener,
) -> None:
    load(qtbot, studio, model_files.custom_voice)
    write(
        studio,
        "speakers",
        text=TEXT,
        speaker="ryan",
        language="english",
        preset=Preset.WILD,
        seed=7,
        layout=Layout.STREAMING,
    )
    key(window, "Ctrl+2")
    key(window, "Ctrl+Return")
    qtbot.waitUntil(lambda: len(studio.session.takes) == 1)
    take = studio.session.takes[0]
    assert (take.text, take.seed, take.voice_label) == (TEXT, 7, "Ryan")
    assert take.request.speaker == "ryan"
    assert take.request.language == "english"
    assert take.request.layout is Layout.STREAMING
    assert take.request.sampling == preset_sampling(Preset.WILD, Sampling())
    assert opener.engine.requests[0].seeds == (7,)


def test_several_takes_have_a_seed_each(
    qtbot: QtBot, window: MainWindow, studio: Studio, model_files: FakeModels
) -> None:
    load(qtbot, studio, model_files.custom_voice)
    studio.preferences.update(takes_per_press=3)
    write(studio, "speakers", text=TEXT, speaker="ryan")
    key(window, "Ctrl+2")
    key(window, "Ctrl+Shift+Return")
    qtbot.waitUntil(lambda: len(studio.session.takes) == 3)
    assert len({take.seed for take in studio.session.takes}) == 3


def test_the_line_in_every_speaker_has_one_seed(
    qtbot: QtBot, window: MainWindow, studio: Studio, model_files: FakeModels
) -> None:
    load(qtbot, studio, model_files.custom_voice)
    write(studio, "speakers", text="Short line here.")
    key(window, "Ctrl+2")
    window.speakers.all_requested.emit()
    number = len(window.speakers.cards)
    assert number > 1
    qtbot.waitUntil(lambda: len(studio.session.takes) == number)
    assert len({take.seed for take in studio.session.takes}) == 1
    assert len({take.request.speaker for take in studio.session.takes}) == number


def test_the_design_tab_makes_its_number_of_candidates(
    qtbot: QtBot, window: MainWindow, studio: Studio, model_files: FakeModels
) -> None:
    load(qtbot, studio, model_files.voice_design)
    write(studio, "design", text=TEXT, instruct="A calm, low male voice.")
    key(window, "Ctrl+3")
    key(window, "Ctrl+Return")
    qtbot.waitUntil(lambda: len(studio.session.takes) == 4)
    assert {take.family for take in studio.session.takes} == {Family.VOICE_DESIGN}


def test_nothing_is_spoken_where_something_is_missing(window: MainWindow, studio: Studio) -> None:
    for keys in ("Ctrl+1", "Ctrl+2", "Ctrl+3"):
        key(window, keys)
        key(window, "Ctrl+Return")
    assert studio.speech.live == ()
    assert window.banner.notice is None  # it is said beside the text


# Esc


def test_esc_stops_the_work_first_and_closes_the_message_next(
    qtbot: QtBot,
    window: MainWindow,
    studio: Studio,
    model_files: FakeModels,
    opener: FakeOpener,
) -> None:
    opener.pace = Pace(frame_seconds=0.02, frames=2000)
    load(qtbot, studio, model_files.custom_voice)
    write(studio, "speakers", text=TEXT, speaker="ryan")
    key(window, "Ctrl+2")
    key(window, "Ctrl+Return")
    qtbot.waitUntil(lambda: studio.speech.state.made > 0)
    studio.problem.emit(ExplainedError("Something else."))
    key(window, "Esc")
    qtbot.waitUntil(lambda: studio.speech.state.phase is SpeechPhase.IDLE)
    assert studio.session.takes[0].ending is TakeEnding.STOPPED
    assert window.banner.notice is not None
    key(window, "Esc")
    assert window.banner.notice is None


def test_esc_ends_the_counting_before_a_recording(
    qtbot: QtBot, window: MainWindow, studio: Studio
) -> None:
    studio.sound.start_recording(3)
    assert studio.sound.counting
    key(window, "Esc")
    assert not studio.sound.counting
    studio.sound.monitor(False)


# Other keys


def test_space_plays_and_pauses_outside_the_text(
    qtbot: QtBot, window: MainWindow, studio: Studio
) -> None:
    window.clone.focus_text()
    key(window, "Space")
    assert window.clone.box.text == " "
    made = _take()
    studio.session.add(made)
    window.tabs.findChildren(QTabBar)[0].setFocus()
    key(window, "Space")
    assert studio.sound.playing_key == made.id


def test_keys_lead_to_the_tabs_and_to_their_text(window: MainWindow) -> None:
    for keys, index in (("Ctrl+2", SPEAKERS), ("Ctrl+3", DESIGN), ("Ctrl+1", CLONE)):
        key(window, keys)
        assert window.tabs.currentIndex() == index
        assert window.settings.tab == window.current_tab.tab
        focus = window.focusWidget()
        assert focus is not None
        assert window.current_tab.isAncestorOf(focus)


def test_find_shows_the_voices_and_goes_to_the_search(window: MainWindow) -> None:
    window.panels.voices.hide()
    key(window, "Ctrl+F")
    assert window.panels.voices.isVisible()


def test_recording_goes_to_the_new_voice(qtbot: QtBot, window: MainWindow, studio: Studio) -> None:
    studio.sound.look_for_devices()
    qtbot.waitUntil(lambda: bool(studio.sound.inputs))
    key(window, "Ctrl+2")
    window.keys["record"].trigger()
    assert window.tabs.currentIndex() == CLONE
    assert window.clone.face == NEW
    qtbot.waitUntil(lambda: studio.sound.is_recording)
    window.keys["record"].trigger()
    qtbot.waitUntil(lambda: not studio.sound.is_recording)
    studio.sound.monitor(False)


def test_what_is_being_recorded_when_the_window_closes_is_offered_at_the_next_start(
    qtbot: QtBot, window: MainWindow, studio: Studio, opener: FakeOpener
) -> None:
    studio.sound.look_for_devices()
    qtbot.waitUntil(lambda: bool(studio.sound.inputs))
    window.clone.show_recorder()
    studio.sound.start_recording(0)
    qtbot.waitUntil(lambda: studio.sound.recorder_state.seconds > 0.5)
    window.close()
    assert studio.close()
    again = Studio(studio.paths, NullBackend(), opener.openers)
    notes: list[Note] = []
    again.notice.connect(notes.append)
    again.begin()
    assert again.background.flush()
    (note,) = notes
    assert note.sentence.startswith("The voice from Recording 2")
    assert note.action is not None
    note.action()
    assert again.background.flush()
    assert again.cloning.state.seconds > 0.5
    assert again.close()


@pytest.mark.parametrize(
    ("keys", "kind"),
    [("F1", HelpDialog), ("Ctrl+M", ModelDialog), ("Ctrl+,", PreferencesDialog)],
)
def test_dialogs_open_once(window: MainWindow, keys: str, kind: type[QDialog]) -> None:
    key(window, keys)
    name = {"F1": "help", "Ctrl+M": "models", "Ctrl+,": "preferences"}[keys]
    window.keys[name].trigger()
    assert open_dialogs(window) == [kind]
    window.findChildren(kind)[0].reject()
    window.keys[name].trigger()
    assert open_dialogs(window) == [kind]


def test_what_is_changed_beside_the_preferences_is_not_changed_back(
    qtbot: QtBot, window: MainWindow, studio: Studio
) -> None:
    window.keys["preferences"].trigger()
    dialog = window.findChildren(PreferencesDialog)[0]
    studio.preferences.update(theme=Theme.LIGHT, model_folders=(studio.paths.data,))
    assert dialog.preferences.theme is Theme.LIGHT
    size = next(each for each in dialog.findChildren(QComboBox) if each.accessibleName() == "Size")
    size.setCurrentIndex(2)
    size.activated.emit(2)
    settings = studio.preferences.settings
    assert (settings.scale, settings.theme) == (1.25, Theme.LIGHT)
    assert settings.model_folders == (studio.paths.data,)


def test_sort_order_and_filters_are_remembered(make: Make, studio: Studio) -> None:
    shelf = Shelf(studio)
    shelf.put("Anna", tags=("calm",), language="german")
    shelf.put("Ben", favourite=True)
    first = make()
    shelf.show()
    first.voices.filters.set_order(VoiceOrder.NEWEST)
    chips = {each.text(): each for each in first.voices.filters.findChildren(QPushButton)}
    chips["calm"].click()
    chips["German"].click()
    first.close()
    settings = studio.preferences.settings
    assert (settings.voice_order, settings.voice_tags) == (VoiceOrder.NEWEST, ("calm",))
    second = make()  # the library is known by now
    assert second.voices.filters.order is VoiceOrder.NEWEST
    assert second.voices.filters.filter == first.voices.filters.filter
    second.voices.filters.show_all()
    assert studio.preferences.settings.voice_tags == ()
    assert studio.preferences.settings.voice_language == ""


def test_a_note_that_is_closed_lets_go_of_what_it_would_bring_back(
    window: MainWindow, studio: Studio
) -> None:
    class Recording:
        def bring_back(self) -> None:
            """Never called here."""

    recording = Recording()
    held = ref(recording)
    studio.notice.emit(Note("The draft was discarded.", "", "Undo", recording.bring_back))
    del recording
    assert held() is not None
    window.banner.dismiss()
    assert held() is None


def test_every_action_of_the_table_does_something(window: MainWindow) -> None:
    for row in SHORTCUTS:
        if row.is_action and row.context is Context.EVERYWHERE:
            action = window.keys[row.name]
            assert [QKeySequence(each) for each in row.keys] == action.shortcuts()
            assert action.receivers("2triggered(bool)") > 0, row.name


def test_menus_offer_every_action(window: MainWindow) -> None:
    offered = set()
    for top in window.menuBar().actions():
        menu = top.menu()
        assert isinstance(menu, QMenu)
        offered |= {action.text() for action in menu.actions()}
    for row in SHORTCUTS:
        if row.is_action and row.context is Context.EVERYWHERE:
            assert window.keys[row.name].text() in offered
    assert {"Voices", "Settings", "Takes", "About voice studio"} <= offered


def test_undo_names_the_step(window: MainWindow, studio: Studio) -> None:
    made = _take()
    studio.session.add(made)
    assert not window.keys["undo"].isEnabled()
    studio.session.delete(made.id)
    assert window.keys["undo"].text() == "Undo: Delete take"
    window.keys["undo"].trigger()
    assert studio.session.takes == (made,)
    assert window.keys["redo"].text() == "Redo: Delete take"
    assert not window.keys["undo"].isEnabled()


def test_the_title_names_the_session(window: MainWindow, studio: Studio) -> None:
    assert window.windowTitle() == f"{studio.session.session.name} \N{EN DASH} voice studio"


# Messages


@pytest.mark.parametrize(
    ("error", "dialog"),
    [
        (ModelFileError("No model is loaded.", "Choose one."), ModelDialog),
        (DeviceError("There is no device 'abacus'."), PreferencesDialog),
        (ExplainedError("The disk is full."), None),
    ],
)
def test_problems_come_with_the_way_to_their_cause(
    window: MainWindow, studio: Studio, error: ExplainedError, dialog: type[QDialog] | None
) -> None:
    studio.problem.emit(error)
    notice = window.banner.notice
    assert notice is not None
    assert (notice.sentence, notice.hint) == (error.message, error.hint)
    assert notice.severity is Severity.ERROR
    if dialog is None:
        assert notice.action is None
    else:
        assert notice.action is not None
        notice.action.run()
        assert open_dialogs(window) == [dialog]


def test_without_sound_devices_the_way_is_to_look_again(
    qtbot: QtBot, window: MainWindow, studio: Studio
) -> None:
    error = SoundDeviceError("The loudspeaker is gone.")
    studio.problem.emit(error)
    notice = window.banner.notice
    assert notice is not None
    assert notice.action is not None
    assert notice.action.label == "Look again"
    with qtbot.waitSignal(studio.sound.devices_changed):
        notice.action.run()
    assert studio.sound.outputs
    window.banner.dismiss()
    studio.problem.emit(error)
    notice = window.banner.notice
    assert notice is not None
    assert notice.action is not None
    notice.action.run()
    assert open_dialogs(window) == [PreferencesDialog]


def test_what_was_written_is_shown_or_named(
    qtbot: QtBot, studio: Studio, theme: Appearance, tmp_path: Path
) -> None:
    answers = [True, False]
    host = QWidget()
    qtbot.addWidget(host)
    banner = Banner(host)
    remedies = Remedies(lambda: None, lambda: None)
    messages = WindowMessages(studio, banner, remedies, banner, lambda _: answers.pop(0))
    for expected in ("", f"No file manager opens here. The folder is {tmp_path}."):
        messages.tell_note(Note("1 file saved.", folder=tmp_path))
        assert banner.notice is not None
        assert banner.notice.action is not None
        assert banner.notice.action.label == "Open its folder"
        action = banner.notice.action
        banner.dismiss()
        action.run()
        assert (banner.notice.sentence if banner.notice is not None else "") == expected


def test_the_size_and_the_colours_have_keys(
    qtbot: QtBot, window: MainWindow, studio: Studio
) -> None:
    studio.preferences.update(theme=Theme.DARK)
    chosen = []
    for _ in range(2):
        window.keys["theme"].trigger()
        chosen.append(studio.preferences.settings.theme)
    assert chosen == [Theme.LIGHT, Theme.DARK]
    window.keys["smaller"].trigger()
    assert window.banner.notice is not None
    assert window.banner.notice.sentence == "100 % is the smallest size."
    window.banner.dismiss()
    window.keys["larger"].trigger()
    assert studio.preferences.settings.scale == 1.1
    notice = window.banner.notice
    assert notice is not None
    assert notice.action is not None
    assert notice.action.label == "Restart now"
    assert not studio.is_restart_wanted
    with qtbot.waitSignal(studio.restart_wanted):
        notice.action.run()
    assert studio.is_restart_wanted
    assert not window.isVisible()


def test_notes_bring_their_button_and_newer_undo_replaces_older(
    window: MainWindow, studio: Studio
) -> None:
    done: list[str] = []
    for name in ("one", "two"):
        note = Note(f"{name} was moved to the trash.", "", "Undo", partial(done.append, name))
        studio.notice.emit(note)
    notice = window.banner.notice
    assert notice is not None
    assert notice.sentence == "two was moved to the trash."
    assert window.banner.waiting == 0
    button = next(each for each in window.banner.findChildren(QPushButton) if each.text() == "Undo")
    QTest.mouseClick(button, LEFT)
    assert done == ["two"]
    assert window.banner.notice is None


def test_a_note_goes_when_its_deletion_was_undone_elsewhere(
    window: MainWindow, studio: Studio
) -> None:
    made = _take()
    studio.session.add(made)
    studio.session.delete(made.id)
    assert window.banner.notice is not None
    window.keys["undo"].trigger()
    assert window.banner.notice is None
    window.keys["redo"].trigger()
    studio.session.bring_back([made])
    studio.session.delete(made.id)
    studio.problem.emit(ExplainedError("The disk is full."))  # goes before the note
    assert window.banner.waiting == 1
    window.keys["undo"].trigger()
    assert window.banner.waiting == 0


def test_takes_that_were_saved_together_are_counted(
    window: MainWindow, studio: Studio, tmp_path: Path
) -> None:
    studio.session.saved_all.emit(SavedTakes(tmp_path, (), ()))
    assert window.banner.notice is None  # that nothing was saved is a problem
    for count, words in ((1, "1 file saved"), (5, "5 files saved")):
        files = tuple(tmp_path / f"{number}.wav" for number in range(count))
        studio.session.saved_all.emit(SavedTakes(tmp_path, files, ()))
        notice = window.banner.notice
        assert notice is not None
        assert notice.sentence == f"{words} in {tmp_path}."
        assert notice.action is not None
        window.banner.dismiss()


def test_notes_without_a_button_are_all_told(window: MainWindow, studio: Studio) -> None:
    for name in ("one", "two"):
        studio.notice.emit(Note(f"A recording was recovered: {name}."))
    assert window.banner.waiting == 1


# Drops


def test_files_are_sorted_by_what_they_are_for() -> None:
    model, voice, folder = Path("a.GGUF"), Path("b.spk"), Path("voices/anna")
    sound, words = Path("b.wav"), Path("b.txt")
    assert sorted_out([model, sound]) == Drop(models=(model,), recordings=(sound,))
    assert sorted_out([sound, words]) == Drop(recordings=(sound,))
    assert sorted_out([voice, sound, words]) == Drop(voices=(voice, sound, words))
    assert sorted_out([folder]) == Drop(voices=(folder,))
    assert not sorted_out([words])
    assert not sorted_out([])


def test_a_dropped_model_is_loaded(
    qtbot: QtBot, window: MainWindow, studio: Studio, model_files: FakeModels
) -> None:
    assert drop_on(window, model_files.base.talker)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)
    assert studio.models.state.pair == model_files.base


def test_a_dropped_recording_begins_a_clone(
    qtbot: QtBot, window: MainWindow, studio: Studio, tmp_path: Path
) -> None:
    path = tmp_path / "anna.wav"
    noise = np.random.default_rng(1).uniform(-0.2, 0.2, 24_000 * 3)
    soundfile.write(path, noise.astype(np.float32), 24_000)
    key(window, "Ctrl+2")
    assert drop_on(window, path)
    assert window.tabs.currentIndex() == CLONE
    assert window.clone.face == NEW
    qtbot.waitUntil(lambda: studio.cloning.state.buffer is not None)
    qtbot.waitUntil(lambda: not studio.cloning.state.busy)


# Locking, theme, and what is remembered


def test_a_voice_that_was_locked_is_spoken_with(window: MainWindow, studio: Studio) -> None:
    window.clone.show_face(NEW)
    key(window, "Ctrl+3")
    voice = LibraryVoice(Path("borin"), VoiceDetails("Borin", VoiceKind.DESIGNED), VoiceFiles())
    studio.designing.speak_wished.emit(voice)
    assert window.tabs.currentIndex() == CLONE
    assert window.clone.face == SPEAK


# Takes in the menus


def test_the_file_menu_saves_takes(
    window: MainWindow, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, starred = window.keys["take-save"], window.keys["save-starred"]
    assert not one.isEnabled()
    assert not starred.isEnabled()
    made = _take()
    studio.session.add(made)
    assert one.isEnabled()
    assert not starred.isEnabled()
    studio.session.star(made.id, True)
    assert starred.isEnabled()
    asked: list[str] = []

    def choose_file(_: QWidget, name: str) -> None:
        asked.append(name)

    def choose_folder(_: QWidget) -> None:
        asked.append("a folder")

    monkeypatch.setattr(window.takes, "_targets", TakeTargets(choose_file, choose_folder))
    window.speakers.focus_text()
    key(window, "Ctrl+S")
    one.trigger()
    starred.trigger()
    name = "Designed - The kettle was singing when the rain began.wav"
    assert asked == [name, name, "a folder"]
    studio.session.delete(made.id)
    assert not one.isEnabled()
    assert not starred.isEnabled()


def test_the_text_of_a_take_is_used_again_where_somebody_is(
    window: MainWindow, studio: Studio
) -> None:
    take = _take()
    studio.session.add(take)
    for keys, tab in (("Ctrl+2", window.speakers), ("Ctrl+3", window.design)):
        key(window, keys)
        tab.box.focus_text()
        QTest.keyClicks(window.focusWidget(), "Unfinished")
        window.takes.text_requested.emit(take)
        assert tab.box.text == TEXT
        assert studio.session.draft(tab.tab).text == TEXT
    assert studio.session.draft("clone").text == ""
    window.clone.show_face(NEW)
    key(window, "Ctrl+1")
    window.takes.text_requested.emit(take)
    assert window.clone.face == SPEAK
    assert window.clone.box.text == TEXT


def test_locking_asks_for_a_name(window: MainWindow) -> None:
    window.design.lock_requested.emit(_take())
    assert open_dialogs(window) == [LockDialog]


def test_the_theme_is_changed_from_the_menu(
    window: MainWindow, studio: Studio, theme: Appearance
) -> None:
    light = next(each for each in window.keys.themes.actions() if each.data() == Theme.LIGHT)
    light.trigger()
    assert studio.preferences.settings.theme is Theme.LIGHT
    assert theme.choice is Theme.LIGHT
    assert light.isChecked()


def test_the_arrangement_is_remembered_and_can_be_undone(make: Make, studio: Studio) -> None:
    first = make()
    first.resize(1111, 711)
    first.panels.takes.hide()
    first.clone.box.focus_text()
    QTest.keyClicks(first.focusWidget(), "Not stored yet")
    first.close()
    assert studio.session.draft("clone").text == "Not stored yet"
    second = make()
    assert not second.panels.takes.isVisible()
    second.keys["new-panels"].trigger()
    assert second.panels.takes.isVisible()


def test_the_tab_is_remembered(make: Make, studio: Studio) -> None:
    first = make()
    first.tabs.setCurrentIndex(2)
    first.close()
    assert studio.preferences.settings.tab == "design"
    second = make()
    assert second.tabs.currentIndex() == 2
    assert second.settings.tab == "design"


@pytest.mark.parametrize(
    ("panel", "grow", "shrink"),
    [
        ("voices", Qt.Key.Key_Right, Qt.Key.Key_Left),
        ("settings", Qt.Key.Key_Left, Qt.Key.Key_Right),
        ("takes", Qt.Key.Key_Up, Qt.Key.Key_Down),
    ],
)
def test_keys_move_the_edge_of_the_panel_with_the_focus(
    window: MainWindow, panel: str, grow: Qt.Key, shrink: Qt.Key
) -> None:
    dock = getattr(window.panels, panel)
    is_low = panel == "takes"
    modifiers = Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.ShiftModifier

    def size_after(key: Qt.Key) -> int:
        QTest.keyClick(window, key, modifiers)
        QApplication.processEvents()
        return int(dock.height() if is_low else dock.width())

    dock.show()
    inside = QLineEdit(dock.widget())
    inside.show()
    inside.setFocus()
    before = size_after(Qt.Key.Key_Up if not is_low else Qt.Key.Key_Left)  # no such edge
    grown = size_after(grow)
    assert grown > before
    assert size_after(shrink) == before
    window.current_tab.focus_text()
    assert size_after(grow) == before


@pytest.mark.parametrize("text", ["", "no state", "w6TDtsO8", "äöü"])
def test_an_arrangement_that_makes_no_sense_changes_nothing(make: Make, text: str) -> None:
    window = make()
    before = encoded(window.panels.saveState(1))
    window.panels.restore(text)
    assert encoded(window.panels.saveState(1)) == before
    assert encoded(decoded(before)) == before


def test_it_fits_a_small_window(qtbot: QtBot, window: MainWindow) -> None:
    least = window.minimumSizeHint()
    assert least.width() <= 1100
    assert least.height() <= 700
    window.resize(1100, 700)
    for index in (CLONE, SPEAKERS, DESIGN):
        window.tabs.setCurrentIndex(index)
        button = _main_button(window.current_tab)
        button.setFocus()
        assert button.width() >= button.minimumSizeHint().width()


def test_what_can_be_pressed_has_a_name(window: MainWindow) -> None:
    for index in (CLONE, SPEAKERS, DESIGN):
        window.tabs.setCurrentIndex(index)
        for button in window.findChildren(QAbstractButton):
            if button.isVisible():
                assert button.accessibleName() or button.text(), button


def test_both_themes_are_drawn(window: MainWindow, studio: Studio, theme: Appearance) -> None:
    for choice in (Theme.LIGHT, Theme.DARK):
        studio.preferences.update(theme=choice)
        drawn = window.grab().toImage().pixelColor(QPoint(3, window.height() // 2))
        assert drawn == QColor(theme.colours.window)


def _take() -> Take:
    request = TakeRequest(TEXT, Family.VOICE_DESIGN, instruct="A calm voice.")
    return Take(request, 1, "Designed", ending=TakeEnding.SPOKEN, seconds=2.0)


def _main_button(tab: QWidget) -> QPushButton:
    return next(each for each in tab.findChildren(QPushButton) if each.accessibleName() == "Speak")
