"""The two themes can be read, follow the system, and carry icons and styles with them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QImage, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.core.resources import resource, resource_path
from app.core.settings import Theme
from app.ui.colours import DARK, LIGHT, Colours, blend, contrast
from app.ui.controls import decimal_box, main_button, number_box, tool_button
from app.ui.icons import APPLICATION_SIZES, application_icon, icon, icon_pixmap
from app.ui.metrics import CONTROL
from app.ui.style_sheet import style_sheet
from app.ui.theme import Appearance

ROOT = Path(__file__).parents[2]
ICONS = sorted(path.stem for path in (ROOT / "resources" / "icons").glob("*.svg"))
THEMES = [pytest.param(DARK, id="dark"), pytest.param(LIGHT, id="light")]
TEXT = 4.5  # WCAG 2.2 AA for text
SHAPE = 3.0  # and for what must be seen of a control


def ink(image: QImage, colour: str) -> int:
    """How many pixels have exactly this colour."""
    wanted = QColor(colour).rgb()
    pixels = (image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height()))
    return sum(pixel.alpha() == 255 and pixel.rgb() == wanted for pixel in pixels)


@pytest.mark.parametrize("colours", THEMES)
def test_texts_can_be_read_on_every_ground(colours: Colours) -> None:
    grounds = (colours.window, colours.surface, colours.field)
    inks = ("text", "muted", "link", "danger", "warning", "good", "info", "suggestion", "accent")
    pairs = [(getattr(colours, name), ground) for name in inks for ground in grounds]
    pairs += [(colours.text, ground) for ground in (colours.raised, colours.hover)]
    pairs += [(colours.text, colours.selected), (colours.muted, colours.raised)]
    pairs += [(colours.on_accent, colours.accent), (colours.on_accent, colours.accent_hover)]
    pairs += [(colours.field, colours.danger), (colours.danger, colours.raised)]
    for kind in ("danger", "warning", "info"):
        ground = getattr(colours, f"{kind}_surface")
        pairs += [(colours.text, ground), (getattr(colours, kind), ground)]
    assert [pair for pair in pairs if contrast(*pair) < TEXT] == []


@pytest.mark.parametrize("colours", THEMES)
def test_controls_stand_out(colours: Colours) -> None:
    grounds = (colours.window, colours.surface, colours.field)
    pairs = [(colours.edge, ground) for ground in grounds]
    pairs += [(colours.accent, ground) for ground in grounds]
    pairs += [(colours.wave, colours.field), (colours.wave, blend(colours.field, "#808080", 0.1))]
    assert [pair for pair in pairs if contrast(*pair) < SHAPE] == []


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == pytest.approx(1.0)


class PaletteChanges(QObject):
    """Counts what a widget is told."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.PaletteChange
        return False


def test_a_theme_is_applied_at_once(theme: Appearance, qtbot: QtBot, qapp: QApplication) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    changes = PaletteChanges()
    widget.installEventFilter(changes)
    assert Colours.of(widget.palette()) is DARK
    with qtbot.waitSignal(theme.changed):
        theme.choose(Theme.LIGHT)
    assert theme.choice is Theme.LIGHT
    assert theme.colours is LIGHT
    qtbot.waitUntil(lambda: Colours.of(widget.palette()) is LIGHT and changes.count > 0)
    assert LIGHT.accent in qapp.styleSheet()
    assert DARK.accent not in qapp.styleSheet()


def test_the_same_theme_again_changes_nothing(theme: Appearance, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(theme.changed):
        theme.choose(Theme.DARK)


def test_the_system_is_followed_while_it_is_chosen(
    theme: Appearance, qtbot: QtBot, qapp: QApplication
) -> None:
    system = qapp.styleHints().colorSchemeChanged
    theme.choose(Theme.SYSTEM)
    for scheme, colours in (
        (Qt.ColorScheme.Dark, DARK),
        (Qt.ColorScheme.Light, LIGHT),
        (Qt.ColorScheme.Dark, DARK),
        (Qt.ColorScheme.Unknown, LIGHT),
    ):
        system.emit(scheme)
        assert Colours.of(qapp.palette()) is colours
    theme.choose(Theme.LIGHT)
    system.emit(Qt.ColorScheme.Dark)
    assert Colours.of(qapp.palette()) is LIGHT


@pytest.mark.parametrize("colours", THEMES)
def test_the_style_sheet_names_only_files_that_exist(colours: Colours) -> None:
    sheet = style_sheet(colours)
    assert "$" not in sheet
    files = re.findall(r"url\(([^)]+)\)", sheet)
    assert files
    assert [file for file in files if not Path(file).is_file()] == []


def test_controls_in_a_row_have_one_height(theme: Appearance, qtbot: QtBot) -> None:
    row = QWidget()
    qtbot.addWidget(row)
    layout = QHBoxLayout(row)
    controls = [
        QPushButton("Speak"),
        tool_button("play", "Play"),
        QLineEdit(),
        QComboBox(),
        number_box("Takes", 1, 8),
        decimal_box("Temperature", 0.0, 2.0, 0.05),
    ]
    for control in controls:
        layout.addWidget(control)
    row.show()
    assert {type(control).__name__: control.height() for control in controls} == {
        type(control).__name__: CONTROL for control in controls
    }


def test_focus_moves_nothing(theme: Appearance, qtbot: QtBot) -> None:
    row = QWidget()
    qtbot.addWidget(row)
    layout = QHBoxLayout(row)
    chip = QPushButton("tag")
    chip.setProperty("kind", "chip")
    controls = [
        QPushButton("Speak"),
        main_button("Speak", "speak"),
        tool_button("play", "Play"),
        chip,
        QLineEdit(),
        QComboBox(),
        QCheckBox("Fade"),
        number_box("Takes", 1, 8),
    ]
    for control in controls:
        layout.addWidget(control)
    row.show()
    qtbot.waitUntil(row.isActiveWindow)
    for control in controls:
        row.setFocus()
        before = control.sizeHint()
        control.setFocus(Qt.FocusReason.TabFocusReason)
        assert control.hasFocus()
        assert (type(control), control.sizeHint()) == (type(control), before)


@pytest.mark.parametrize("name", ICONS)
@pytest.mark.parametrize("size", [16, 40])
def test_icons_are_drawn_within_their_box(qapp: QApplication, name: str, size: int) -> None:
    image = icon_pixmap(name, size, "#ff0000", 1.0).toImage()
    assert image.size() == QSize(size, size)
    alphas = [[image.pixelColor(x, y).alpha() for x in range(size)] for y in range(size)]
    assert sum(map(sum, alphas)) > 255 * size / 2
    edge = [alphas[0], alphas[-1], [row[0] for row in alphas], [row[-1] for row in alphas]]
    assert not any(map(any, edge)) or name == "voice-studio"


def test_all_icons_that_are_asked_for_exist() -> None:
    asked = set()
    for path in (ROOT / "app").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        asked |= set(re.findall(r'\b(?:icon|tool_button|icon_pixmap)\(\s*"([a-z-]+)"', text))
        for chosen in re.findall(r"\bicon\(([^)]* if [^)]* else [^)]*)\)", text):
            asked |= set(re.findall(r'"([a-z-]+)"', chosen))
    assert {"pin-filled", "mute", "cross"} <= asked
    assert asked <= set(ICONS)


def test_icons_follow_the_theme(theme: Appearance, qapp: QApplication) -> None:
    made = icon("record")
    size = QSize(24, 24)
    assert ink(made.pixmap(size).toImage(), DARK.text) > 50
    theme.choose(Theme.LIGHT)
    assert ink(made.pixmap(size).toImage(), LIGHT.text) > 50
    assert ink(made.pixmap(size, QIcon.Mode.Disabled).toImage(), LIGHT.disabled) > 50
    on_accent = icon("record", QPalette.ColorRole.BrightText)
    assert ink(on_accent.pixmap(size).toImage(), LIGHT.on_accent) > 50


def test_the_application_icon_has_all_sizes(qapp: QApplication) -> None:
    assert [size.width() for size in application_icon().availableSizes()] == list(APPLICATION_SIZES)


def test_resources_are_found() -> None:
    assert resource("icons", "play.svg").startswith(b"<svg")
    assert Path(resource_path("themes", "dark", "check.svg")).is_file()
    with pytest.raises(FileNotFoundError):
        resource("icons", "no-such-icon.svg")
