"""Blending: only what fits is offered, the mixture is said in words, and a voice comes of it."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QLineEdit, QSlider, QSpinBox
from pytestqt.qtbot import QtBot

from app.core.voice_listing import VoiceListing
from app.core.voice_record import VoiceKind
from app.studio.studio import Studio
from app.ui.blend_dialog import BlendDialog, mixture
from app.ui.theme import Appearance
from app.ui.voices_panel import VoicesPanel
from engine.voices import read_embedding
from tests.gui.voice_shelf import Chosen, Shelf


@pytest.fixture
def shelf(studio: Studio) -> Shelf:
    return Shelf(studio)


@pytest.fixture
def listing(shelf: Shelf) -> VoiceListing:
    """Two of each width, one of both, and one without voice data."""
    for name, widths in (
        ("Anna", (1024,)),
        ("Ben", (1024,)),
        ("Cy", (2048,)),
        ("Dee", (1024, 2048)),
        ("Raw", ()),
    ):
        shelf.put(name, widths=widths, recorded=name != "Ben")
    return shelf.library.list()


@pytest.fixture
def dialog(listing: VoiceListing, qtbot: QtBot, theme: Appearance) -> BlendDialog:
    anna = next(voice for voice in listing.voices if voice.name == "Anna")
    made = BlendDialog(listing.voices, anna)
    qtbot.addWidget(made)
    made.show()
    return made


def box(dialog: BlendDialog, name: str) -> QComboBox:
    return next(one for one in dialog.findChildren(QComboBox) if one.accessibleName() == name)


def offered(dialog: BlendDialog, name: str) -> list[str]:
    combo = box(dialog, name)
    return [combo.itemText(row).split(" (")[0] for row in range(combo.count())]


def button(dialog: BlendDialog, text: str) -> QAbstractButton:
    buttons = dialog.findChildren(QAbstractButton)
    return next(one for one in buttons if text in (one.text(), one.accessibleName()))


def words(dialog: BlendDialog) -> list[str]:
    return [label.text() for label in dialog.findChildren(QLabel) if label.isVisible()]


def name_field(dialog: BlendDialog) -> QLineEdit:
    fields = dialog.findChildren(QLineEdit)
    return next(one for one in fields if one.accessibleName() == "Name of the blend")


def test_only_voices_of_a_common_width_are_offered(dialog: BlendDialog) -> None:
    assert offered(dialog, "First voice") == ["Anna", "Ben", "Cy", "Dee"]
    assert offered(dialog, "Second voice") == ["Ben", "Dee"]
    first = box(dialog, "First voice")
    first.setCurrentIndex(first.findText("Cy", Qt.MatchFlag.MatchStartsWith))
    assert offered(dialog, "Second voice") == ["Dee"]
    first.setCurrentIndex(first.findText("Dee", Qt.MatchFlag.MatchStartsWith))
    assert offered(dialog, "Second voice") == ["Anna", "Ben", "Cy"]


def test_the_mixture_is_said_in_words(dialog: BlendDialog) -> None:
    assert "Half Anna, half Ben." in words(dialog)
    slider = dialog.findChild(QSlider)
    percent = dialog.findChild(QSpinBox)
    assert slider is not None
    assert percent is not None
    QTest.keyClick(slider, Qt.Key.Key_PageUp)
    assert percent.value() == 60
    assert "A little more Ben: 60 % and 40 % Anna." in words(dialog)
    assert slider.accessibleDescription() == "A little more Ben: 60 % and 40 % Anna."
    percent.setValue(5)
    assert dialog.amount == 0.05
    assert "Almost all Anna: 95 % and 5 % Ben." in words(dialog)


@pytest.mark.parametrize(
    ("percent", "said"),
    [
        (0, "Only A."),
        (20, "Mostly A: 80 % and 20 % B."),
        (45, "A little more A: 55 % and 45 % B."),
        (91, "Almost all B: 91 % and 9 % A."),
        (100, "Only B."),
    ],
)
def test_words_for_every_share(percent: int, said: str) -> None:
    assert mixture("A", "B", percent) == said


def test_the_name_follows_until_it_is_typed(dialog: BlendDialog) -> None:
    assert dialog.name == "Anna + Ben"
    second = box(dialog, "Second voice")
    second.setCurrentIndex(1)
    assert dialog.name == "Anna + Dee"
    field = name_field(dialog)
    field.selectAll()
    QTest.keyClicks(field, "Mine")
    second.setCurrentIndex(0)
    assert dialog.name == "Mine"
    field.selectAll()
    QTest.keyClick(field, Qt.Key.Key_Delete)
    assert not button(dialog, "Create the blend").isEnabled()
    assert "Give the blend a name." in words(dialog)


def test_a_part_of_a_name_finds_a_voice(dialog: BlendDialog) -> None:
    first = box(dialog, "First voice")
    line = first.lineEdit()
    assert line is not None
    for typed, found in (("cy", "Cy"), ("nobody", "Cy"), ("", "Cy")):
        line.setFocus()
        line.selectAll()
        QTest.keyClick(line, Qt.Key.Key_Delete)
        QTest.keyClicks(line, typed)
        line.editingFinished.emit()
        assert dialog.first is not None
        assert dialog.first.name == found
        assert line.text() == f"{found} (1.7B)"


def test_both_are_listened_to_where_there_is_something(dialog: BlendDialog, qtbot: QtBot) -> None:
    with qtbot.waitSignal(dialog.listen_requested) as told:
        button(dialog, "Listen to the first voice").click()
    assert told.args == [dialog.first]
    assert not button(dialog, "Listen to the second voice").isEnabled()  # Ben has no recording


def test_without_a_partner_it_says_why(
    listing: VoiceListing, qtbot: QtBot, theme: Appearance
) -> None:
    chosen = [voice for voice in listing.voices if voice.name in ("Anna", "Cy")]
    made = BlendDialog(chosen)
    qtbot.addWidget(made)
    made.show()
    assert not button(made, "Create the blend").isEnabled()
    assert any("No other voice was made for the 0.6B model" in text for text in words(made))
    alone = BlendDialog(())
    qtbot.addWidget(alone)
    alone.show()
    assert "A blend needs two voices with voice data." in words(alone)


def test_a_blend_is_made_from_the_list(
    studio: Studio, shelf: Shelf, listing: VoiceListing, qtbot: QtBot, theme: Appearance
) -> None:
    panel = VoicesPanel(studio.voices, studio.sound, studio.deleted, Chosen())
    qtbot.addWidget(panel)
    panel.show()
    shelf.show()
    by_name = {voice.name: voice for voice in studio.voices.listing.voices}
    panel.actions_of_voices.blend(by_name["Anna"], by_name["Ben"])
    dialog = panel.findChild(BlendDialog)
    assert dialog is not None
    dialog.set_percent(100)
    button(dialog, "Create the blend").click()
    shelf.wait()
    made = studio.voices.selected
    assert made is not None
    assert (made.name, made.details.kind) == ("Anna + Ben", VoiceKind.BLEND)
    np.testing.assert_array_equal(
        read_embedding(made.folder / "voice-1024.spk"),
        read_embedding(by_name["Ben"].folder / "voice-1024.spk"),
    )
