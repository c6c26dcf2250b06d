"""The small controls: seeds, chips, labels, devices, volume."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QSlider,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.audio.backend import Device
from app.ui.chips import ChipBar
from app.ui.controls import (
    DeviceBox,
    ElidedCombo,
    VolumeSlider,
    decimal_box,
    main_button,
    number_box,
)
from app.ui.labels import BusyLabel, ElidedLabel
from app.ui.seed_box import GREATEST, SeedBox
from app.ui.theme import Appearance

LEFT = Qt.MouseButton.LeftButton
NO_MODIFIER = Qt.KeyboardModifier.NoModifier


def child(parent: QWidget, name: str) -> QToolButton:
    return next(one for one in parent.findChildren(QToolButton) if one.accessibleName() == name)


def speaker(name: str, host: str = "ALSA", *, is_default: bool = False) -> Device:
    return Device(f"{host}/{name}", name, host, 2, 48_000, is_default)


# Seeds


@pytest.fixture
def seeds(qtbot: QtBot, theme: Appearance) -> SeedBox:
    counter = itertools.count(1)
    made = SeedBox(lambda: next(counter))
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.fixture
def field(seeds: SeedBox) -> QLineEdit:
    found = seeds.findChild(QLineEdit)
    assert found is not None
    return found


def retype(field: QLineEdit, text: str) -> None:
    field.selectAll()
    QTest.keyClicks(field, text)


def test_an_unpinned_seed_is_rolled_for_each_take(seeds: SeedBox, field: QLineEdit) -> None:
    assert [seeds.seed, seeds.next_seed(), seeds.next_seed()] == [1, 2, 3]
    assert field.text() == "3"
    seeds.set_pinned(True)
    assert [seeds.next_seed(), seeds.next_seed()] == [3, 3]
    child(seeds, "Roll another seed").click()
    assert seeds.next_seed() == 4


@pytest.mark.parametrize("seed", [0, 7, 2**63, GREATEST])
def test_a_typed_seed_is_pinned(seeds: SeedBox, field: QLineEdit, qtbot: QtBot, seed: int) -> None:
    with qtbot.waitSignal(seeds.changed):
        retype(field, str(seed))
    assert seeds.seed == seed
    assert seeds.is_pinned
    assert not field.property("invalid")


@pytest.mark.parametrize("text", [str(GREATEST + 1), "9" * 20])
def test_a_seed_that_is_too_large_is_marked_and_forgotten(
    seeds: SeedBox, field: QLineEdit, text: str
) -> None:
    seeds.set_seed(5)
    retype(field, text)
    assert field.property("invalid")
    assert str(GREATEST) in field.accessibleDescription()
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert field.text() == str(seeds.seed)
    assert seeds.seed <= GREATEST
    assert not field.property("invalid")


def test_letters_are_no_seed(seeds: SeedBox, field: QLineEdit) -> None:
    seeds.set_seed(5)
    retype(field, "-a1.2")
    assert field.text() == "12"


def test_a_pasted_seed_may_have_spaces(seeds: SeedBox, field: QLineEdit) -> None:
    field.selectAll()
    field.insert(" 42 ")
    field.textEdited.emit(field.text())
    assert seeds.seed == 42


@pytest.mark.parametrize("seed", [-1, GREATEST + 1])
def test_a_wrong_seed_is_refused(seeds: SeedBox, seed: int) -> None:
    with pytest.raises(ValueError, match="is not within"):
        seeds.set_seed(seed)


# Chips


@pytest.fixture
def chips(qtbot: QtBot, theme: Appearance) -> ChipBar:
    made = ChipBar("Tags")
    qtbot.addWidget(made)
    made.resize(400, 100)
    made.show()
    made.set_chips([("en", "English"), ("zh", "Chinese"), ("fav", "Favourites")])
    return made


def test_chips_are_chosen_by_click_and_by_keyboard(chips: ChipBar, qtbot: QtBot) -> None:
    first, second, _ = chips.findChildren(QPushButton)
    with qtbot.waitSignal(chips.changed) as changed:
        QTest.mouseClick(first, LEFT)
    assert changed.args == [frozenset({"en"})]
    with qtbot.waitSignal(chips.changed):
        QTest.keyClick(second, Qt.Key.Key_Space)
    assert chips.chosen == {"en", "zh"}
    QTest.mouseClick(first, LEFT)
    assert chips.chosen == {"zh"}


def test_chips_that_stay_keep_their_state(chips: ChipBar, qtbot: QtBot) -> None:
    chips.set_chosen(["en", "fav", "unknown"])
    assert chips.chosen == {"en", "fav"}
    with qtbot.waitSignal(chips.changed) as changed:
        chips.set_chips([("fav", "Favourites (3)"), ("de", "German")])
    assert changed.args == [frozenset({"fav"})]
    with qtbot.assertNotEmitted(chips.changed):
        chips.set_chips([("fav", "Favourites (4)"), ("de", "German")])
    texts = [chip.text() for chip in chips.findChildren(QPushButton) if chip.isVisible()]
    assert texts == ["Favourites (4)", "German"]


def test_chips_wrap_and_take_the_height_they_need(chips: ChipBar, qtbot: QtBot) -> None:
    chips.set_chips([(str(number), f"a tag {number}") for number in range(12)])
    assert chips.heightForWidth(200) > chips.heightForWidth(400) > chips.heightForWidth(4000)
    chips.resize(200, chips.heightForWidth(200))
    shown = [chip for chip in chips.findChildren(QPushButton) if chip.text().startswith("a tag")]
    qtbot.waitUntil(lambda: len({chip.y() for chip in shown}) > 3)
    for chip in shown:
        assert chips.rect().contains(chip.geometry())
        assert chip.width() == chip.sizeHint().width()
    boxes = [chip.geometry() for chip in shown]
    assert not any(one.intersects(other) for one, other in itertools.combinations(boxes, 2))


# Labels


def test_a_long_label_is_cut_and_shown_in_the_tooltip(theme: Appearance, qtbot: QtBot) -> None:
    label = ElidedLabel("a sentence that is longer than its place")
    qtbot.addWidget(label)
    label.resize(80, 20)
    assert label.shown_text.endswith("…")
    assert label.shown_text[:5] == "a sen"
    assert label.text() == "a sentence that is longer than its place"
    assert label.minimumSizeHint().width() < 80
    label.resize(label.sizeHint())
    assert label.shown_text == label.text()
    middle = ElidedLabel("/a/long/path/to/a/file.wav", Qt.TextElideMode.ElideMiddle)
    qtbot.addWidget(middle)
    middle.resize(80, 20)
    assert middle.shown_text.endswith("wav")


def test_a_label_keeps_the_tooltip_that_it_was_given(qtbot: QtBot, theme: Appearance) -> None:
    given, plain = ElidedLabel("short"), ElidedLabel("a sentence that is longer than its place")
    given.setToolTip("More about it")
    for label in (given, plain):
        qtbot.addWidget(label)
        label.resize(80, 20)
        QApplication.sendEvent(label, QHelpEvent(QEvent.Type.ToolTip, QPoint(), QPoint()))
    assert given.toolTip() == "More about it"
    assert plain.toolTip() == plain.text()
    plain.setText("short")
    QApplication.sendEvent(plain, QHelpEvent(QEvent.Type.ToolTip, QPoint(), QPoint()))
    assert plain.toolTip() == ""


def test_a_long_device_is_shortened_in_its_middle(qtbot: QtBot, theme: Appearance) -> None:
    box = DeviceBox("output")
    qtbot.addWidget(box)
    name = "Family 17h/19h HD Audio Controller (USB headset)"
    box.set_devices([speaker(name)], f"ALSA/{name}")
    box.resize(200, 32)
    box.show()
    combo = box.findChildren(ElidedCombo)[0]
    assert "…" in combo.shown_text
    assert combo.shown_text.startswith("Fam")
    assert combo.shown_text.endswith("set)")
    assert combo.fontMetrics().horizontalAdvance(combo.shown_text) < combo.width()
    combo.showPopup()
    assert combo.view().width() > combo.fontMetrics().horizontalAdvance(name)
    combo.hidePopup()


def test_a_busy_label_shows_only_while_something_is_done(theme: Appearance, qtbot: QtBot) -> None:
    holder = QWidget()
    qtbot.addWidget(holder)
    holder.resize(200, 40)
    label = BusyLabel(holder)
    label.resize(200, 30)
    holder.show()
    assert not label.isVisible()
    label.set_busy("Reading the reference")
    assert label.isVisible()
    assert label.text == label.accessibleName() == "Reading the reference"
    first = label.grab().toImage()
    qtbot.waitUntil(lambda: label.grab().toImage() != first)
    label.set_busy("")
    assert not label.isVisible()


# Devices


@pytest.fixture
def devices(qtbot: QtBot, theme: Appearance) -> DeviceBox:
    made = DeviceBox("output")
    qtbot.addWidget(made)
    return made


def entries(devices: DeviceBox) -> list[str]:
    combo = devices.findChild(QComboBox)
    assert combo is not None
    return [combo.itemText(index) for index in range(combo.count())]


def test_the_system_choice_comes_first(devices: DeviceBox, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(devices.chosen):
        devices.set_devices([speaker("Speakers", is_default=True), speaker("Headset")], None)
    assert entries(devices) == ["System default (Speakers)", "Speakers", "Headset"]
    assert devices.device_id is None
    combo = devices.findChild(QComboBox)
    assert combo is not None
    with qtbot.waitSignal(devices.chosen) as chosen:
        QTest.keyClick(combo, Qt.Key.Key_End)
    assert chosen.args == ["ALSA/Headset"]
    assert devices.device_id == "ALSA/Headset"


def test_a_missing_device_stays_chosen_and_is_said_to_be_missing(devices: DeviceBox) -> None:
    devices.set_devices([speaker("Speakers")], "ALSA/Headset")
    assert entries(devices) == ["System default", "Speakers", "Headset (not connected)"]
    assert devices.device_id == "ALSA/Headset"


def test_the_same_name_twice_is_told_apart(devices: DeviceBox) -> None:
    devices.set_devices([speaker("Headset"), speaker("Headset", "JACK")], None)
    assert entries(devices)[1:] == ["Headset (ALSA)", "Headset (JACK)"]


def test_no_device_is_said(devices: DeviceBox, qtbot: QtBot) -> None:
    assert entries(devices) == ["No output found"]
    assert devices.device_id is None
    with qtbot.waitSignal(devices.refresh_requested):
        child(devices, "Look for devices again").click()


# Volume


@pytest.fixture
def volume(qtbot: QtBot, theme: Appearance) -> VolumeSlider:
    made = VolumeSlider()
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.mark.parametrize(
    ("decibels", "gain", "text"),
    [(0, 1.0, "0 dB"), (-6, 0.501, "\N{MINUS SIGN}6 dB"), (-60, 0.0, "off")],
)
def test_the_volume_is_in_decibels(
    volume: VolumeSlider, qtbot: QtBot, decibels: int, gain: float, text: str
) -> None:
    volume.set_decibels(-30)
    with qtbot.waitSignal(volume.changed) as changed:
        volume.set_decibels(decibels)
    assert changed.args == [pytest.approx(gain, abs=1e-3)]
    assert volume.gain == pytest.approx(gain, abs=1e-3)
    assert text in [label.text() for label in volume.findChildren(QLabel)]


@pytest.mark.parametrize("gain", [0.0, 0.25, 0.5, 1.0])
def test_a_stored_volume_is_shown(volume: VolumeSlider, gain: float) -> None:
    volume.set_gain(gain)
    assert volume.gain == pytest.approx(gain, rel=0.06)


def test_mute_keeps_the_volume(volume: VolumeSlider, qtbot: QtBot) -> None:
    volume.set_decibels(-6)
    mute = child(volume, "Mute")
    with qtbot.waitSignal(volume.changed) as changed:
        mute.click()
    assert changed.args == [0.0]
    assert volume.is_muted
    assert volume.decibels == -6
    mute.click()
    assert volume.gain == pytest.approx(0.501, abs=1e-3)
    volume.set_muted(True)
    volume.set_decibels(-12)
    assert not volume.is_muted


@pytest.mark.parametrize(
    "act",
    [
        lambda slider: QTest.keyClick(slider, Qt.Key.Key_0),
        lambda slider: QTest.mouseDClick(slider, LEFT, NO_MODIFIER, QPoint(2, 8)),
    ],
)
def test_the_slider_returns_to_zero(volume: VolumeSlider, act: Callable[[QSlider], None]) -> None:
    slider = volume.findChild(QSlider)
    assert slider is not None
    volume.set_decibels(-20)
    act(slider)
    assert volume.decibels == 0


# Buttons and numbers


def test_buttons_and_numbers_have_names(theme: Appearance, qtbot: QtBot) -> None:
    whole, decimal = number_box("Takes", 1, 8), decimal_box("Temperature", 0.0, 2.0, 0.05)
    main = main_button("Speak", "speak")
    for widget in (whole, decimal, main):
        qtbot.addWidget(widget)
    assert (whole.accessibleName(), whole.minimum(), whole.maximum()) == ("Takes", 1, 8)
    assert decimal.accessibleName() == "Temperature"
    decimal.setValue(0.9)
    decimal.stepUp()
    assert decimal.value() == pytest.approx(0.95)
    assert not main.icon().isNull()
    with qtbot.assertNotEmitted(whole.valueChanged):
        retype(whole.lineEdit(), "7")
    with qtbot.waitSignal(whole.valueChanged):
        QTest.keyClick(whole, Qt.Key.Key_Return)
