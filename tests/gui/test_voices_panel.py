"""The library beside the work: found, heard, chosen, changed, exported, deleted, brought back."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QDialog,
    QLineEdit,
    QMainWindow,
    QMenu,
    QScrollArea,
)
from pytestqt.qtbot import QtBot

from app.audio.player_state import PlayerStatus
from app.core.settings import Theme
from app.core.voice_colours import VOICE_COLOURS
from app.core.voice_listing import DamagedVoice
from app.core.voice_record import Origin, VoiceDetails, VoiceKind, VoiceOrder
from app.studio.notes import Note
from app.studio.studio import Studio
from app.ui.chips import ChipBar
from app.ui.colour_row import ColourRow
from app.ui.colours import DARK, LIGHT, contrast
from app.ui.damaged_dialog import DamagedDialog
from app.ui.shortcuts import make_action
from app.ui.theme import Appearance
from app.ui.voice_delegate import RowPlaces, VoiceDelegate
from app.ui.voice_details_dialog import VoiceDetailsDialog, consent_words
from app.ui.voice_files import ExportKind, recordings_of
from app.ui.voice_look import origin_lines, runs_leftwards, second_line, voice_colour
from app.ui.voice_tags_dialog import TagsDialog
from app.ui.voice_view import VoiceListView
from app.ui.voices_panel import VoicesPanel
from tests.gui.voice_shelf import Chosen, Shelf

Key = Qt.Key
LEFT = Qt.MouseButton.LeftButton
CONTROL = Qt.KeyboardModifier.ControlModifier
NONE = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def shelf(studio: Studio) -> Shelf:
    return Shelf(studio)


@pytest.fixture
def places() -> Chosen:
    return Chosen()


@pytest.fixture
def panel(studio: Studio, qtbot: QtBot, theme: Appearance, places: Chosen) -> VoicesPanel:
    made = VoicesPanel(studio.voices, studio.sound, studio.deleted, places)
    qtbot.addWidget(made)
    made.resize(300, 640)
    made.show()
    return made


@pytest.fixture
def notes(studio: Studio) -> list[Note]:
    told: list[Note] = []
    studio.voices.notice.connect(told.append)
    return told


def names(panel: VoicesPanel) -> list[str]:
    return [row.name for row in panel.view.model_rows]


def button(panel: VoicesPanel, text: str) -> QAbstractButton:
    buttons = panel.findChildren(QAbstractButton)
    return next(one for one in buttons if text in (one.text(), one.accessibleName()))


def field(panel: VoicesPanel) -> QLineEdit:
    return next(
        one for one in panel.findChildren(QLineEdit) if one.accessibleName() == "Find a voice"
    )


def chip(panel: VoicesPanel, text: str) -> QAbstractButton:
    bars = panel.filters.findChildren(ChipBar)
    chips = [one for bar in bars for one in bar.findChildren(QAbstractButton)]
    return next(one for one in chips if one.text() == text and not one.isHidden())


def choose(panel: VoicesPanel, *wanted: str) -> None:
    rows = names(panel)
    panel.view.go_to(rows.index(wanted[0]))
    for name in wanted[1:]:
        index = panel.view.model().index(rows.index(name), 0)
        QTest.mouseClick(
            panel.view.viewport(), LEFT, CONTROL, panel.view.visualRect(index).center()
        )


def action(panel: VoicesPanel, text: str) -> QAction:
    menu = QMenu(panel)
    panel.fill_menu(menu)
    actions = [*menu.actions()]
    for each in menu.actions():
        if isinstance(inner := each.menu(), QMenu):
            actions += inner.actions()
    return next(each for each in actions if each.text().split("\t")[0] == text)


def opened(panel: VoicesPanel, kind: type[QDialog]) -> QDialog:
    return next(dialog for dialog in panel.findChildren(kind) if dialog.isVisible())


def pressed_at(panel: VoicesPanel, name: str, part: Callable[[RowPlaces], QPoint]) -> None:
    index = panel.view.model().index(names(panel).index(name), 0)
    delegate = panel.view.itemDelegate()
    assert isinstance(delegate, VoiceDelegate)
    QTest.mouseClick(panel.view.viewport(), LEFT, NONE, part(delegate.places(index)))


# What is shown


def test_an_empty_library_has_three_doors(panel: VoicesPanel, shelf: Shelf, qtbot: QtBot) -> None:
    assert not button(panel, "Record a voice").isVisible()  # nobody has looked yet
    shelf.show()
    for text, signal in (
        ("Record a voice", panel.record_requested),
        ("Open a recording…", panel.open_requested),
        ("Design a voice", panel.design_requested),
        ("New voice", panel.new_voice_requested),
    ):
        assert button(panel, text).isVisible()
        with qtbot.waitSignal(signal):
            button(panel, text).click()
    assert not panel.view.isVisible()


def test_rows_say_name_kind_and_model_without_colour(panel: VoicesPanel, shelf: Shelf) -> None:
    shelf.put("Anna", widths=(1024, 2048), tags=("warm",), favourite=True, language="german")
    shelf.put("Blank", kind=VoiceKind.DESIGNED, widths=())
    shelf.damage("crushed")
    shelf.show()
    role = Qt.ItemDataRole.AccessibleTextRole
    spoken = [panel.view.model().index(row, 0).data(role) for row in range(3)]
    assert spoken[0] == "Anna, Clone, German, for 0.6B and 1.7B models, favourite, tags: warm"
    assert spoken[1] == "Blank, Designed, no voice data yet"
    assert spoken[2].startswith("crushed, Damaged: voice.json is damaged")
    assert "not valid JSON" in panel.view.model().index(2, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert button(panel, "More: the selected voices, and the trash").isVisible()


def test_search_filters_and_sorting(panel: VoicesPanel, shelf: Shelf) -> None:
    shelf.put("Zoë", tags=("warm", "old & wise"), language="german", favourite=True)
    shelf.put("Ben", kind=VoiceKind.DESIGNED, language="english")
    shelf.put("Cy", kind=VoiceKind.BLEND, tags=("warm",), language="english")
    shelf.damage("crushed")
    shelf.show()
    assert names(panel) == ["Ben", "Cy", "Zoë", "crushed"]
    QTest.keyClicks(field(panel), "zoe")
    assert names(panel) == ["Zoë"]
    QTest.keyClick(field(panel), Key.Key_Escape)
    assert len(names(panel)) == 4
    for text, found in (
        ("warm", ["Cy", "Zoë"]),
        ("old && wise", ["Zoë"]),
        ("Favourites", ["Zoë"]),
        ("Designed", ["Ben"]),
        ("Damaged", ["crushed"]),
    ):
        chip(panel, text).click()
        assert names(panel) == found
        chip(panel, text).click()
    chip(panel, "German").click()
    assert names(panel) == ["Zoë"]
    chip(panel, "English").click()  # in its place: a voice has one language
    assert names(panel) == ["Ben", "Cy"]
    assert button(panel, "Filter (1)").isVisible()
    panel.filters.show_all()
    panel.filters.set_order(VoiceOrder.LANGUAGE)
    assert names(panel) == ["Ben", "Cy", "Zoë", "crushed"]
    panel.filters.set_order(VoiceOrder.NEWEST)
    assert set(names(panel)[:3]) == {"Ben", "Cy", "Zoë"}


def test_when_nothing_fits_all_is_a_press_away(panel: VoicesPanel, shelf: Shelf) -> None:
    shelf.put("Anna")
    shelf.show()
    field(panel).setText("nobody")
    assert not panel.view.isVisible()
    button(panel, "Show all voices").click()
    assert names(panel) == ["Anna"]
    assert panel.view.isVisible()


def test_a_thousand_voices_are_listed_and_narrowed(panel: VoicesPanel, shelf: Shelf) -> None:
    for number in range(1000):
        folder = shelf.library.folder / f"voice-{number}"
        folder.mkdir(parents=True)
        (folder / "voice.json").write_text(
            f'{{"schema": 1, "id": "{number:032x}", "name": "Voice {number}", "kind": "clone"}}',
            encoding="utf-8",
        )
    shelf.show()
    assert len(names(panel)) == 1000
    panel.view.go_to(500)
    before = panel.view.current_row
    field(panel).setText("voice 99")
    assert len(names(panel)) == 19
    field(panel).clear()
    assert panel.view.current_row is before


@pytest.mark.parametrize("choice", [Theme.DARK, Theme.LIGHT])
def test_it_is_drawn_with_any_name_in_either_theme(
    panel: VoicesPanel, shelf: Shelf, theme: Appearance, choice: Theme
) -> None:
    theme.choose(choice)
    shelf.put("A name that is far longer than any dock is wide, and then some more of it")
    shelf.put("راوية القصص")
    shelf.damage("crushed")
    shelf.show()
    shown = panel.grab().toImage()
    row = panel.view.visualRect(panel.view.model().index(0, 0))
    place = panel.view.viewport().mapTo(panel, row.topRight())
    ratio = panel.devicePixelRatioF()
    ground = shown.pixelColor(round((place.x() - 2) * ratio), round((place.y() + 2) * ratio))
    assert ground.name() == (DARK if choice is Theme.DARK else LIGHT).field  # no word runs over


def test_dots_can_be_seen_in_both_themes() -> None:
    for rgb, _ in VOICE_COLOURS:
        assert contrast(rgb, DARK.field) >= 3
        assert contrast(rgb, LIGHT.field) >= 3


def test_the_direction_of_a_name_is_that_of_its_first_letter() -> None:
    assert runs_leftwards("12 راوية")
    assert not runs_leftwards("Anna راوية")
    assert not runs_leftwards("12")


# Choosing


def test_the_current_row_is_the_voice_that_speaks(
    panel: VoicesPanel, shelf: Shelf, qtbot: QtBot
) -> None:
    anna, ben = shelf.put("Anna"), shelf.put("Ben")
    shelf.damage("crushed")
    shelf.show()
    voices = shelf.studio.voices
    choose(panel, "Anna")
    assert voices.selected == anna
    QTest.keyClick(panel.view, Key.Key_Down)
    assert voices.selected == ben
    with qtbot.waitSignal(panel.speak_requested) as told:
        QTest.keyClick(panel.view, Key.Key_Return)
    assert told.args == [ben]
    choose(panel, "crushed")
    assert voices.selected is None


def test_a_search_does_not_change_who_speaks(panel: VoicesPanel, shelf: Shelf) -> None:
    anna = shelf.put("Anna")
    shelf.put("Ben")
    shelf.show()
    choose(panel, "Anna")
    field(panel).setText("ben")
    assert shelf.studio.voices.selected == anna
    field(panel).clear()
    assert panel.view.current_row == anna


def test_a_voice_that_was_chosen_elsewhere_is_shown(panel: VoicesPanel, shelf: Shelf) -> None:
    shelf.put("Anna")
    ben = shelf.put("Ben")
    shelf.show()
    field(panel).setText("anna")
    shelf.studio.voices.select(ben.id)
    assert panel.view.current_row == ben
    assert field(panel).text() == ""


def test_find_goes_to_the_search_field_and_down_to_the_list(
    studio: Studio, shelf: Shelf, qtbot: QtBot, theme: Appearance
) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    panel = VoicesPanel(studio.voices, studio.sound, studio.deleted)
    window.setCentralWidget(panel)
    make_action("find", window).triggered.connect(panel.focus_search)
    shelf.put("Anna")
    shelf.show()
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    QTest.keyClick(window, Key.Key_F, CONTROL)
    assert field(panel).hasFocus()
    make_action("cancel", window).triggered.connect(lambda: pytest.fail("the window has Esc"))
    QTest.keyClicks(field(panel), "ann")
    QTest.keyClick(field(panel), Key.Key_Escape)
    assert field(panel).text() == ""
    QTest.keyClick(field(panel), Key.Key_Down)
    assert panel.view.hasFocus()
    assert panel.view.current_row is not None


def test_what_is_highlighted_is_chosen_after_a_deletion(panel: VoicesPanel, shelf: Shelf) -> None:
    made = {name: shelf.put(name) for name in ("Anna", "Ben", "Cy")}
    shelf.show()
    voices = shelf.studio.voices
    for gone, following in (("Anna", "Ben"), ("Ben", "Cy")):
        choose(panel, gone)
        action(panel, "Move to the trash").trigger()
        shelf.wait()
        assert panel.view.current_row == voices.selected == made[following]
        assert [index.row() for index in panel.view.selectedIndexes()] == [0]
    action(panel, "Move to the trash").trigger()
    shelf.wait()
    assert voices.selected is None


def test_a_press_on_nothing_keeps_what_is_chosen(panel: VoicesPanel, shelf: Shelf) -> None:
    anna, ben = shelf.put("Anna"), shelf.put("Ben")
    shelf.show()
    view, voices = panel.view, shelf.studio.voices
    choose(panel, "Anna", "Ben")
    below = view.viewport().rect().bottomLeft() - QPoint(0, 4)
    QTest.mouseClick(view.viewport(), LEFT, NONE, below)
    assert view.chosen_rows == (ben,)
    assert voices.selected == ben
    choose(panel, "Anna", "Anna")  # taken out of a selection of one
    assert view.chosen_rows == (anna,)
    choose(panel, "Anna", "Ben", "Ben")  # and out of one of two
    assert view.chosen_rows == (anna,)
    assert voices.selected == anna


def test_all_chips_are_seen_however_the_dock_lies(
    panel: VoicesPanel, shelf: Shelf, qtbot: QtBot
) -> None:
    shelf.put("Anna", kind=VoiceKind.DESIGNED, language="german", tags=("warm", "old"))
    shelf.put("Ben", language="english")
    shelf.show()
    button(panel, "Filter").click()
    area = panel.filters.findChild(QScrollArea)
    assert area is not None
    for width in (240, 252, 268, 300, 340):
        panel.resize(width, 640)
        qtbot.wait(20)
        assert area.verticalScrollBar().maximum() == 0
        assert area.visibleRegion().boundingRect().height() >= chip(panel, "old").height()
    shelf.put("Cy", tags=[f"a tag that is long {number}" for number in range(40)])
    shelf.show()
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() > 0)
    assert area.verticalScrollBar().value() == 0
    assert area.height() < panel.height() / 2


# Hearing


def test_space_plays_the_recording_and_pauses_it(
    panel: VoicesPanel, shelf: Shelf, qtbot: QtBot
) -> None:
    anna = shelf.put("Anna")
    shelf.show()
    sound = shelf.studio.sound
    choose(panel, "Anna")
    QTest.keyClick(panel.view, Key.Key_Space)
    shelf.wait()
    assert sound.playing_key == f"voice:{anna.id}"
    spoken = Qt.ItemDataRole.AccessibleTextRole
    qtbot.waitUntil(lambda: "playing" in panel.view.currentIndex().data(spoken))
    QTest.keyClick(panel.view, Key.Key_Space)
    qtbot.waitUntil(lambda: sound.state.status is PlayerStatus.PAUSED)
    qtbot.waitUntil(lambda: "playing" not in panel.view.currentIndex().data(spoken))


def test_the_dot_plays_without_choosing(panel: VoicesPanel, shelf: Shelf) -> None:
    anna, ben = shelf.put("Anna"), shelf.put("Ben")
    shelf.show()
    choose(panel, "Anna")
    pressed_at(panel, "Ben", lambda places: places.dot.center())
    assert shelf.studio.sound.playing_key == f"voice:{ben.id}"
    assert shelf.studio.voices.selected == anna


def test_a_voice_without_a_recording_says_so(panel: VoicesPanel, shelf: Shelf) -> None:
    shelf.put("Anna", recorded=False)
    shelf.put("Ben")
    shelf.show()
    choose(panel, "Anna")
    QTest.keyClick(panel.view, Key.Key_Space)
    assert panel.note.startswith("Anna has no recording")
    assert not action(panel, "Listen").isEnabled()
    choose(panel, "Ben")
    assert panel.note == ""


# Changing


def test_the_star_makes_a_favourite(panel: VoicesPanel, shelf: Shelf) -> None:
    shelf.put("Anna")
    shelf.show()
    for on in (True, False):
        pressed_at(panel, "Anna", lambda places: places.star.center())
        shelf.wait()
        assert shelf.library.list().voices[0].details.favourite is on


def test_a_name_is_typed_in_its_place(panel: VoicesPanel, shelf: Shelf, qtbot: QtBot) -> None:
    anna = shelf.put("Anna")
    shelf.put("Ben")
    shelf.show()
    choose(panel, "Anna")
    panel.view.rename_current()
    editor = panel.view.findChild(QLineEdit)
    assert editor is not None
    assert editor.selectedText() == "Anna"
    QTest.keyClicks(editor, "Zora")
    QTest.keyClick(editor, Key.Key_Return)
    qtbot.waitUntil(lambda: names(panel) == ["Ben", "Zora"])
    selected = shelf.studio.voices.selected
    assert selected is not None
    assert (selected.id, selected.name) == (anna.id, "Zora")
    assert panel.view.current_row == selected


def test_return_in_a_name_does_not_speak(panel: VoicesPanel, shelf: Shelf, qtbot: QtBot) -> None:
    shelf.put("Anna")
    shelf.show()
    choose(panel, "Anna")
    panel.view.rename_current()
    editor = panel.view.viewport().findChild(QLineEdit)
    assert editor is not None
    with qtbot.assertNotEmitted(panel.speak_requested, wait=50):
        QTest.keyClick(editor, Key.Key_Return)


@pytest.mark.parametrize("name", ["", "   "])
def test_an_empty_name_changes_nothing(panel: VoicesPanel, shelf: Shelf, name: str) -> None:
    shelf.put("Anna")
    shelf.show()
    assert not panel.view.model().setData(panel.view.model().index(0, 0), name)
    shelf.wait()
    assert names(panel) == ["Anna"]


def test_details_are_edited(panel: VoicesPanel, shelf: Shelf) -> None:
    shelf.put("Anna", tags=("warm",))
    shelf.put("Ben", tags=("Trailer",))
    shelf.show()
    choose(panel, "Anna")
    action(panel, "Tags and note…").trigger()
    dialog = opened(panel, VoiceDetailsDialog)
    assert isinstance(dialog, VoiceDetailsDialog)
    tags = next(one for one in dialog.findChildren(QLineEdit) if one.accessibleName() == "Tags")
    QTest.keyClicks(tags, ", old")
    bar = dialog.findChild(ChipBar)
    assert bar is not None
    assert bar.chosen == {"warm"}
    next(one for one in bar.findChildren(QAbstractButton) if one.text() == "Trailer").click()
    shown = voice_colour(dialog.details).name()  # one of ours, drawn for the voice
    colour, name = next(pair for pair in VOICE_COLOURS if pair[0] != shown)
    next(
        one for one in dialog.findChildren(QAbstractButton) if one.accessibleName() == name
    ).click()
    dialog.accept()
    shelf.wait()
    details = next(voice for voice in shelf.library.list().voices if voice.name == "Anna").details
    assert details.tags == ("warm", "old", "Trailer")
    assert details.colour == colour


def test_details_tell_where_a_voice_is_from_in_names() -> None:
    origin = Origin("old", 7, "0123-4567", source="0a1b2c", model_name="1.7B VoiceDesign")
    designed = VoiceDetails("Anna", VoiceKind.DESIGNED, origin=origin, created="2026-11-30")
    assert origin_lines(designed) == (
        "Made on 2026-11-30.",
        "Designed as: “old”",
        "Seed 7.",
        "Made by 1.7B VoiceDesign.",
    )
    assert consent_words(designed) == "Not needed: it is nobody's voice."
    cloned = VoiceDetails("Ben", VoiceKind.CLONE, origin=Origin(source="ben.wav"), created="")
    assert origin_lines(cloned) == ("From the file ben.wav.",)
    assert consent_words(cloned) == "None is stored."


def test_a_row_has_room_for_tags_and_names_only_known_models(shelf: Shelf) -> None:
    voice = shelf.put("Anna", widths=(80, 1024), tags=("warm", "old"), language="german")
    assert second_line(voice) == "Clone · German · for 0.6B models"
    assert second_line(voice, with_tags=True) == "Clone · German · warm, old · for 0.6B models"
    assert second_line(shelf.put("Ben", widths=(80,))) == "Clone"


def test_each_colour_is_offered_once(panel: VoicesPanel, shelf: Shelf) -> None:
    anna = shelf.put("Anna")
    dialog = VoiceDetailsDialog(anna, (), panel)
    row = dialog.findChild(ColourRow)
    assert row is not None
    swatches = row.findChildren(QAbstractButton)
    assert len({each.accessibleName() for each in swatches}) == len(VOICE_COLOURS) == len(swatches)
    assert [each.isChecked() for each in swatches].count(True) == 1
    assert dialog.details == anna.details  # shown is not chosen


def test_several_are_tagged_at_once(panel: VoicesPanel, shelf: Shelf) -> None:
    shelf.put("Anna", tags=("warm", "young"))
    shelf.put("Ben", tags=("warm",))
    shelf.put("Cy")
    shelf.show()
    choose(panel, "Anna", "Ben")
    action(panel, "Tags…").trigger()
    dialog = opened(panel, TagsDialog)
    line = dialog.findChild(QLineEdit)
    assert line is not None
    assert line.text() == "warm"
    line.setText("trailer")
    dialog.accept()
    shelf.wait()
    tags = {voice.name: voice.details.tags for voice in shelf.library.list().voices}
    assert tags == {"Anna": ("young", "trailer"), "Ben": ("trailer",), "Cy": ()}


def test_a_copy_is_chosen(panel: VoicesPanel, shelf: Shelf) -> None:
    shelf.put("Anna")
    shelf.show()
    choose(panel, "Anna")
    action(panel, "Duplicate").trigger()
    shelf.wait()
    assert names(panel) == ["Anna", "Anna copy"]
    row = panel.view.current_row
    assert row is not None
    assert row.name == "Anna copy"


def test_deleting_goes_on_with_the_next_and_is_undone(
    panel: VoicesPanel, shelf: Shelf, notes: list[Note]
) -> None:
    for name in ("Anna", "Ben", "Cy"):
        shelf.put(name)
    shelf.show()
    choose(panel, "Ben")
    delete = next(one for one in panel.view.actions() if one.objectName() == "voice-trash")
    delete.trigger()
    shelf.wait()
    assert names(panel) == ["Anna", "Cy"]
    selected = shelf.studio.voices.selected
    assert selected is not None
    assert selected.name == "Cy"
    (note,) = notes
    assert (note.sentence, note.action_label) == ("Ben was moved to the trash.", "Undo")
    assert note.action is not None
    note.action()
    shelf.wait()
    assert names(panel) == ["Anna", "Ben", "Cy"]


def test_what_is_heard_falls_silent_when_it_is_deleted(panel: VoicesPanel, shelf: Shelf) -> None:
    shelf.put("Anna")
    shelf.show()
    choose(panel, "Anna")
    QTest.keyClick(panel.view, Key.Key_Space)
    action(panel, "Move to the trash").trigger()
    shelf.wait()
    assert shelf.studio.sound.playing_key == ""
    assert names(panel) == []


def test_damaged_folders_are_explained_and_repaired(panel: VoicesPanel, shelf: Shelf) -> None:
    shelf.damage("crushed-12345678")
    shelf.show()
    choose(panel, "crushed-12345678")
    action(panel, "Show the reason…").trigger()
    dialog = opened(panel, DamagedDialog)
    dialog.accept()
    shelf.wait()
    (voice,) = shelf.library.list().voices
    assert voice.name == "crushed"
    assert panel.view.current_row == voice


def test_a_library_that_cannot_be_read_is_not_thrown_away(panel: VoicesPanel, shelf: Shelf) -> None:
    shelf.library.folder.parent.mkdir(parents=True, exist_ok=True)
    shelf.library.folder.write_text("no folder", encoding="utf-8")
    shelf.show()
    panel.view.go_to(0)
    assert isinstance(panel.view.current_row, DamagedVoice)
    assert not action(panel, "Move to the trash").isEnabled()
    for each in panel.view.actions():
        each.trigger()
    shelf.wait()
    assert shelf.library.folder.exists()


# In and out


@pytest.mark.parametrize(
    ("label", "kind", "ending"),
    [
        ("As folders…", ExportKind.FOLDER, "voice.json"),
        ("As files for qwentts.cpp…", ExportKind.BARE, "Anna.spk"),
    ],
)
def test_exports_into_a_folder(
    panel: VoicesPanel,
    shelf: Shelf,
    places: Chosen,
    tmp_path: Path,
    label: str,
    kind: ExportKind,
    ending: str,
) -> None:
    shelf.put("Anna")
    shelf.show()
    choose(panel, "Anna")
    action(panel, label).trigger()  # and changes their mind
    places.into = tmp_path / "out"
    places.into.mkdir()
    action(panel, label).trigger()
    shelf.wait()
    assert places.asked == [(kind, "Anna")] * 2
    assert [path.name for path in places.into.rglob(ending)] == [ending]


def test_several_go_into_one_archive(
    panel: VoicesPanel, shelf: Shelf, places: Chosen, tmp_path: Path, notes: list[Note]
) -> None:
    for name in ("Anna", "Ben", "Cy"):
        shelf.put(name)
    shelf.show()
    choose(panel, "Anna", "Cy")
    assert action(panel, "Blend the two…").isEnabled()
    places.into = tmp_path / "voices.zip"
    action(panel, "As a zip archive…").trigger()
    shelf.wait()
    with zipfile.ZipFile(places.into) as archive:
        assert {name.split("/")[0] for name in archive.namelist()} == {"Anna", "Cy"}
    assert notes[0].sentence == f"2 voices were exported to {places.into}."


def test_imports_from_files_and_folders(
    panel: VoicesPanel, shelf: Shelf, places: Chosen, tmp_path: Path
) -> None:
    made = shelf.put("Anna")
    spk = tmp_path / "Guest.spk"
    spk.write_bytes((made.folder / "voice-1024.spk").read_bytes())
    shelf.show()
    menu = button(panel, "Import…")
    actions = {one.text(): one for one in menu.menu().actions()}  # type: ignore[attr-defined]
    actions["Files…"].trigger()  # nothing chosen
    places.files = (spk,)
    actions["Files…"].trigger()
    shelf.wait()
    assert names(panel) == ["Anna", "Guest"]
    places.folder = made.folder
    actions["A folder…"].trigger()
    shelf.wait()
    assert len(names(panel)) == 3


def drop(panel: VoicesPanel, *paths: Path) -> bool:
    """Drag files over the panel and let go; whether it took them."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    allowed = Qt.DropAction.CopyAction
    enter = QDragEnterEvent(QPoint(9, 9), allowed, data, LEFT, NONE)
    panel.dragEnterEvent(enter)
    if not enter.isAccepted():
        return False
    panel.dropEvent(QDropEvent(QPointF(9, 9), allowed, data, LEFT, NONE))
    return True


def test_a_dropped_recording_begins_a_clone(
    panel: VoicesPanel, shelf: Shelf, qtbot: QtBot, tmp_path: Path
) -> None:
    first, second = tmp_path / "one.WAV", tmp_path / "two.mp3"
    with qtbot.waitSignal(panel.clone_requested) as told:
        assert drop(panel, first, second)
    assert told.args == [first]
    assert "one.WAV was opened" in panel.note


def test_dropped_voices_are_imported_and_models_are_not_for_here(
    panel: VoicesPanel, shelf: Shelf, qtbot: QtBot, tmp_path: Path
) -> None:
    made = shelf.put("Anna")
    spk, wav = tmp_path / "Guest.spk", tmp_path / "Guest.wav"
    spk.write_bytes((made.folder / "voice-1024.spk").read_bytes())
    wav.write_bytes((made.folder / "trimmed.wav").read_bytes())
    with qtbot.assertNotEmitted(panel.clone_requested):
        assert drop(panel, spk, wav)
        assert not drop(panel, tmp_path / "model.gguf")
    shelf.wait()
    guest = next(voice for voice in shelf.library.list().voices if voice.name == "Guest")
    assert guest.recording is not None


def test_what_is_a_recording_for_cloning() -> None:
    wav, txt, spk = Path("a.wav"), Path("a.txt"), Path("a.spk")
    assert recordings_of((wav, txt)) == (wav,)
    assert recordings_of((wav, spk)) == ()
    assert recordings_of((txt,)) == ()
    assert recordings_of((wav, Path("folder"))) == ()


def test_everything_has_a_name_and_tells_what_it_does(panel: VoicesPanel, shelf: Shelf) -> None:
    shelf.put("Anna", tags=("warm",), language="german")
    shelf.show()
    for one in panel.findChildren(QAbstractButton):
        assert one.accessibleName() or one.text() or one.parent() is field(panel)
    assert isinstance(panel.view, VoiceListView)
    assert panel.view.accessibleName() == "Voices"
