"""The settings of a tab: each change lands in its draft, and each draft is shown."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QLabel,
    QSpinBox,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.core.presets import Preset, preset_sampling
from app.core.session import Draft
from app.studio.models import ModelStatus
from app.studio.studio import Studio
from app.ui.language_box import AUTO_MEANS, LanguageBox
from app.ui.metrics import TARGET
from app.ui.seed_box import GREATEST, SeedBox
from app.ui.settings_panel import BY_HAND, SettingsPanel
from app.ui.theme import Appearance
from engine import Layout, Sampling
from tests.fakes import FakeModels, FakeOpener

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot: QtBot, theme: Appearance, studio: Studio) -> SettingsPanel:
    made = SettingsPanel(studio, "clone")
    qtbot.addWidget(made)
    made.resize(280, 900)
    made.show()
    made.set_unfolded(True)
    return made


def named(parent: QWidget, kind: type[QWidget], name: str) -> QWidget:
    return next(each for each in parent.findChildren(kind) if each.accessibleName() == name)


def combo(panel: SettingsPanel, name: str) -> QComboBox:
    found = named(panel, QComboBox, name)
    assert isinstance(found, QComboBox)
    return found


def pick(box: QComboBox, value: object) -> None:
    """Choose as a person does."""
    index = box.findData(value)
    assert index >= 0
    box.setCurrentIndex(index)
    box.activated.emit(index)


def press(panel: SettingsPanel, text: str) -> None:
    button = next(each for each in panel.findChildren(QAbstractButton) if each.text() == text)
    QTest.mouseClick(button, LEFT)


def said(panel: SettingsPanel) -> list[str]:
    return [label.text() for label in panel.findChildren(QLabel) if label.isVisibleTo(panel)]


def test_auto_is_explained_and_a_language_is_kept(panel: SettingsPanel, studio: Studio) -> None:
    assert AUTO_MEANS in said(panel)
    pick(combo(panel, "Language"), "german")
    assert studio.session.draft("clone").language == "german"
    assert AUTO_MEANS not in said(panel)
    assert studio.session.draft("design") == Draft()


def test_a_model_offers_its_own_languages(
    qtbot: QtBot, panel: SettingsPanel, studio: Studio, model_files: FakeModels
) -> None:
    pick(combo(panel, "Language"), "german")
    studio.models.load(model_files.custom_voice)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)
    description = studio.models.state.description
    assert description is not None
    box = combo(panel, "Language")
    offered = {box.itemData(index) for index in range(box.count())}
    assert {"auto", *description.languages} == offered
    assert box.currentData() == "german"


def test_a_language_that_the_model_lacks_is_shown_as_such(qtbot: QtBot, theme: Appearance) -> None:
    box = LanguageBox()
    qtbot.addWidget(box)
    box.choose("klingon")
    box.set_languages(("english",))
    assert box.language == "klingon"
    assert box.findChildren(QComboBox)[0].currentText() == "Klingon (not in this model)"


def test_auto_of_a_model_with_one_language_guesses_nothing(qtbot: QtBot, theme: Appearance) -> None:
    box = LanguageBox()
    qtbot.addWidget(box)
    [note] = box.findChildren(QLabel)
    assert note.text() == AUTO_MEANS
    box.set_languages(("english",))
    assert note.text() == "This model speaks English alone."


def test_each_tab_has_settings_of_its_own(panel: SettingsPanel, studio: Studio) -> None:
    studio.session.set_draft("design", Draft(language="french", preset=Preset.WILD, seed=7))
    panel.show_tab("design")
    assert combo(panel, "Language").currentData() == "french"
    assert panel.sampling == preset_sampling(Preset.WILD, Sampling())
    assert panel.next_seeds(1) == (7,)
    press(panel, "Steady")
    assert studio.session.draft("design").preset is Preset.STEADY
    assert studio.session.draft("clone").preset is Preset.NATURAL


def test_knobs_that_are_turned_count_until_a_preset_is_chosen(
    panel: SettingsPanel, studio: Studio
) -> None:
    knob = named(panel, QDoubleSpinBox, "Code predictor: temperature")
    assert isinstance(knob, QDoubleSpinBox)
    knob.setValue(0.7)
    turned = replace(Sampling(), predictor=replace(Sampling().predictor, temperature=0.7))
    assert studio.session.draft("clone").sampling == turned == panel.sampling
    assert BY_HAND in said(panel)
    press(panel, "Natural")
    assert studio.session.draft("clone").sampling is None
    assert panel.sampling == Sampling()
    assert knob.value() == Sampling().predictor.temperature


def test_turning_a_knob_back_is_the_preset_again(panel: SettingsPanel, studio: Studio) -> None:
    penalty = named(panel, QDoubleSpinBox, "Repetition penalty")
    assert isinstance(penalty, QDoubleSpinBox)
    usual = penalty.value()
    penalty.setValue(1.2)
    assert studio.session.draft("clone").sampling is not None
    penalty.setValue(usual)
    assert studio.session.draft("clone").sampling is None
    penalty.setValue(1.2)
    press(panel, "Back to the preset")
    assert studio.session.draft("clone").sampling is None


def test_what_is_typed_stays_while_a_model_is_loading(
    qtbot: QtBot,
    panel: SettingsPanel,
    studio: Studio,
    model_files: FakeModels,
    opener: FakeOpener,
) -> None:
    opener.gate = threading.Event()
    studio.models.load(model_files.base)
    qtbot.waitUntil(lambda: studio.models.state.done > 0)
    knob = next(each for each in panel.findChildren(QDoubleSpinBox) if each.isEnabled())
    knob.setFocus()
    knob.selectAll()
    QTest.keyClicks(knob, "0.5")
    before = knob.value()
    state = studio.models.state
    studio.models.changed.emit(replace(state, done=state.done + 1))
    assert (knob.value(), knob.text()) == (before, "0.5")
    opener.gate.set()
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)


def test_greedy_rests_the_other_knobs(panel: SettingsPanel, studio: Studio) -> None:
    greedy = named(panel, QCheckBox, "Talker: greedy")
    assert isinstance(greedy, QCheckBox)
    greedy.click()
    assert panel.sampling.talker.greedy
    assert not panel.sampling.predictor.greedy
    assert not named(panel, QDoubleSpinBox, "Talker: temperature").isEnabled()
    assert named(panel, QDoubleSpinBox, "Code predictor: temperature").isEnabled()


def test_the_longest_take_is_told_in_seconds(panel: SettingsPanel) -> None:
    longest = named(panel, QSpinBox, "Longest take in seconds")
    assert isinstance(longest, QSpinBox)
    assert longest.value() == 164  # 2048 frames of 80 ms
    longest.setValue(60)
    assert panel.sampling.max_frames == 750


def test_the_text_layout_is_kept(panel: SettingsPanel, studio: Studio) -> None:
    pick(combo(panel, "Text layout"), Layout.STREAMING)
    assert studio.session.draft("clone").layout is Layout.STREAMING is panel.layout_choice


def test_unpinned_seeds_differ_and_pinned_ones_follow_each_other(
    panel: SettingsPanel, studio: Studio
) -> None:
    assert len(set(panel.next_seeds(8))) == 8
    assert studio.session.draft("clone").seed is None
    seeds = panel.findChildren(SeedBox)[0]
    seeds.set_seed(GREATEST)
    seeds.set_pinned(True)
    assert studio.session.draft("clone").seed == GREATEST
    assert panel.next_seeds(3) == (GREATEST, 0, 1)
    assert panel.next_seeds(1) == (GREATEST,)
    seeds.set_pinned(False)
    assert studio.session.draft("clone").seed is None


def test_takes_per_press_are_remembered(panel: SettingsPanel, studio: Studio) -> None:
    takes = named(panel, QSpinBox, "Takes per press")
    assert isinstance(takes, QSpinBox)
    takes.setValue(5)
    assert studio.preferences.settings.takes_per_press == 5 == panel.takes
    studio.preferences.update(takes_per_press=3)
    assert panel.takes == 3


def test_the_knobs_fold_away(panel: SettingsPanel) -> None:
    knob = named(panel, QDoubleSpinBox, "Talker: top-p")
    assert knob.isVisible()
    panel.set_unfolded(False)
    assert not knob.isVisible()


def test_everything_has_a_name_and_room_for_a_finger(panel: SettingsPanel) -> None:
    controls = [
        *panel.findChildren(QAbstractButton),
        *panel.findChildren(QComboBox),
        *panel.findChildren(QSpinBox),
        *panel.findChildren(QDoubleSpinBox),
    ]
    for control in controls:
        if control.isVisibleTo(panel):
            name = control.accessibleName()
            assert name or (isinstance(control, QAbstractButton) and control.text()), control
            assert control.height() >= TARGET
            inside = control.mapTo(panel, control.rect().topRight()).x()
            assert inside < panel.width(), name


def test_it_looks_the_theme_s_way(panel: SettingsPanel, theme: Appearance) -> None:
    assert panel.grab().toImage().pixelColor(2, 2) == QColor(theme.colours.window)
