"""The parts of the look that Qt's Fusion style does not give: flat, rounded, with visible focus."""

from __future__ import annotations

from string import Template

from app.core.resources import resource_path
from app.ui.colours import Colours
from app.ui.metrics import CONTROL, GAP, RADIUS, TIGHT

# Properties that widgets set to be drawn specially:
#   kind = "main" | "danger" | "quiet" | "chip" | "tile"   on buttons
#   panel = true                              on containers that lie on the window
#   field = true                              on frames that look like a text field
#   strip = true, current = true              on the strips of a list that can be chosen
#   muted = true                              on labels of second rank
#   tone = warning                            on labels that doubt something
#   key = true                                on labels that show a key
TEMPLATE = Template("""
QToolTip { background: $raised; color: $text; border: 1px solid $edge; padding: 4px 6px; }
QMainWindow::separator { background: $window; width: 6px; height: 6px; }
QMainWindow::separator:hover { background: $line; }
QSplitter::handle { background: $window; }
QSplitter::handle:hover { background: $line; }
QWidget[panel="true"] { background: $surface; border: 1px solid $line; border-radius: ${radius}px; }
QFrame[strip="true"][current="true"] { border-color: $edge; background: $raised; }
QFrame[strip="true"]:focus { border: 2px solid $accent; }
QLabel { background: transparent; }
QLabel[muted="true"] { color: $muted; }
QLabel[tone="warning"] { color: $warning; }
QLabel:disabled { color: $disabled; }
QLabel[key="true"] {
    background: $raised; border: 1px solid $edge; border-radius: 4px; padding: 2px 7px;
}

QPushButton, QToolButton {
    background: $raised; color: $text; border: 1px solid $edge; border-radius: ${radius}px;
    padding: 0 12px; min-height: ${inner}px;
}
QToolButton { padding: 0 ${tight}px; min-width: ${tool}px; }
QPushButton:hover, QToolButton:hover { background: $hover; }
QPushButton:pressed, QToolButton:pressed { background: $line; }
QPushButton:checked, QToolButton:checked { background: $selected; border-color: $accent; }
/* The thicker border of the focus is taken from the inside, so that nothing moves. */
QPushButton:focus, QToolButton:focus {
    border: 2px solid $accent; padding: 0 11px; min-height: ${focused}px;
}
QToolButton:focus { padding: 0 3px; min-width: ${focused_tool}px; }
QPushButton:disabled, QToolButton:disabled {
    color: $disabled; background: $surface; border-color: $line;
}
/* The system's pictures are made for its own colours. */
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QPushButton[kind="main"] { background: $accent; color: $on_accent; border-color: $accent; }
QPushButton[kind="main"]:hover { background: $accent_hover; border-color: $accent_hover; }
QPushButton[kind="main"]:focus { border: 2px solid $text; }
QPushButton[kind="main"]:disabled {
    background: $raised; color: $disabled; border-color: $line;
}
QPushButton[kind="danger"] { color: $danger; border-color: $danger; }
QPushButton[kind="danger"]:disabled { color: $disabled; border-color: $line; }
QPushButton[kind="quiet"], QToolButton[kind="quiet"] {
    background: transparent; border-color: transparent;
}
QPushButton[kind="quiet"]:hover, QToolButton[kind="quiet"]:hover { background: $hover; }
QToolButton[kind="quiet"]:checked { background: $selected; border-color: transparent; }
QPushButton[kind="quiet"]:focus, QToolButton[kind="quiet"]:focus { border: 2px solid $accent; }
QPushButton[kind="chip"] {
    min-height: 22px; border-radius: 12px; padding: 0 10px; border-color: $edge;
    background: transparent;
}
QPushButton[kind="chip"]:hover { background: $hover; }
QPushButton[kind="chip"]:checked { background: $selected; border-color: $accent; }
QPushButton[kind="chip"]:focus { border: 2px solid $accent; padding: 0 9px; min-height: 20px; }
QPushButton[kind="tile"] {
    text-align: left; padding: ${gap}px 12px; min-width: 190px; background: $surface;
}
QPushButton[kind="tile"]:hover { background: $hover; }
QPushButton[kind="tile"]:checked {
    background: $selected; border: 2px solid $accent; padding: 7px 11px;
}
QPushButton[kind="tile"]:focus { border: 2px solid $text; padding: 7px 11px; }
QToolButton::menu-indicator, QPushButton::menu-indicator {
    image: url($themes/chevron-down.svg); width: 12px; height: 12px;
    subcontrol-position: right center; subcontrol-origin: padding; right: 6px;
}
/* A button that is only a picture has no room for a second one. */
QToolButton[kind="quiet"]::menu-indicator { image: none; }
QPushButton::menu-indicator:disabled { image: url($themes/chevron-down-off.svg); }

QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox, QComboBox, QFrame[field="true"] {
    background: $field; color: $text; border: 1px solid $edge; border-radius: ${radius}px;
    selection-background-color: $selected; selection-color: $text;
}
QLineEdit, QAbstractSpinBox, QComboBox { padding: 0 8px; min-height: ${inner}px; }
/* The pictures within a field, which Qt places for buttons without a frame. */
QLineEdit > QToolButton {
    background: transparent; border: none; padding: 0; min-width: 0; min-height: 0;
}
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QAbstractSpinBox:focus, QComboBox:focus {
    border: 2px solid $accent;
}
QLineEdit:focus, QAbstractSpinBox:focus, QComboBox:focus {
    padding: 0 7px; min-height: ${focused}px;
}
QLineEdit:disabled, QPlainTextEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled {
    color: $disabled; background: $surface; border-color: $line;
}
QLineEdit[invalid="true"] {
    border: 2px solid $danger; padding: 0 7px; min-height: ${focused}px;
}
QComboBox::drop-down { border: none; width: 24px; }
QComboBox::down-arrow { image: url($themes/chevron-down.svg); width: 14px; height: 14px; }
QComboBox::down-arrow:disabled { image: url($themes/chevron-down-off.svg); }
QComboBox QAbstractItemView {
    background: $raised; color: $text; border: 1px solid $edge; padding: 4px; outline: none;
    selection-background-color: $selected; selection-color: $text;
}
QLineEdit, QPlainTextEdit, QTextEdit { placeholder-text-color: $muted; }
/* Qt adds 3 to a spin box; for its left padding, which Qt ignores, see controls.py. */
QAbstractSpinBox { padding: 0; min-height: ${spin}px; }
QAbstractSpinBox:focus { padding: 0; min-height: ${focused_spin}px; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {
    border: none; background: transparent; width: 22px; subcontrol-origin: border;
}
QAbstractSpinBox::up-button { subcontrol-position: top right; margin-top: 2px; }
QAbstractSpinBox::down-button { subcontrol-position: bottom right; margin-bottom: 2px; }
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover { background: $hover; }
QAbstractSpinBox::up-arrow { image: url($themes/chevron-up.svg); width: 11px; height: 11px; }
QAbstractSpinBox::down-arrow { image: url($themes/chevron-down.svg); width: 11px; height: 11px; }
QAbstractSpinBox::up-arrow:disabled, QAbstractSpinBox::up-arrow:off {
    image: url($themes/chevron-up-off.svg);
}
QAbstractSpinBox::down-arrow:disabled, QAbstractSpinBox::down-arrow:off {
    image: url($themes/chevron-down-off.svg);
}

QCheckBox, QRadioButton { spacing: 8px; background: transparent; min-height: 24px; }
QCheckBox::indicator, QRadioButton::indicator, QAbstractItemView::indicator {
    width: 16px; height: 16px; border: 1px solid $edge; border-radius: 4px; background: $field;
}
QRadioButton::indicator { border-radius: 9px; }
QCheckBox::indicator:checked, QAbstractItemView::indicator:checked {
    background: $accent; border-color: $accent; image: url($themes/check.svg);
}
QCheckBox::indicator:indeterminate, QAbstractItemView::indicator:indeterminate {
    background: $accent; border-color: $accent; image: url($themes/partly.svg);
}
QRadioButton::indicator:checked {
    background: $accent; border-color: $accent; image: url($themes/dot.svg);
}
QCheckBox::indicator:focus, QRadioButton::indicator:focus {
    border: 2px solid $accent; width: 14px; height: 14px;
}
QCheckBox::indicator:checked:focus, QRadioButton::indicator:checked:focus {
    border: 2px solid $text;
}
QCheckBox:disabled, QRadioButton:disabled { color: $disabled; }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled {
    background: $surface; border-color: $line;
}

QSlider { min-height: 22px; background: transparent; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: $line; }
QSlider::sub-page:horizontal { height: 4px; border-radius: 2px; background: $accent; }
QSlider::handle:horizontal {
    width: 14px; height: 14px; margin: -6px 0; border-radius: 8px;
    background: $text; border: 1px solid $surface;
}
QSlider::handle:horizontal:hover { background: $accent; }
QSlider::handle:horizontal:focus { background: $accent; border: 2px solid $text; margin: -7px 0; }
QSlider::sub-page:horizontal:disabled { background: $disabled; }
QSlider::handle:horizontal:disabled { background: $disabled; }

QScrollBar { background: transparent; border: none; }
QScrollBar:vertical { width: 12px; }
QScrollBar:horizontal { height: 12px; }
QScrollBar::handle { background: $edge; border-radius: 4px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: $muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
/* What scrolls lies on what is behind it. */
QScrollArea, QScrollArea > QWidget > QWidget { background: transparent; }
QAbstractScrollArea::corner { background: transparent; }

QTabWidget::pane { border: 1px solid $line; border-radius: ${radius}px; background: $surface; }
QTabBar { background: transparent; }
QTabBar::tab {
    background: transparent; color: $muted; padding: 7px 16px; border: none;
    border-bottom: 2px solid transparent;
}
QTabBar::tab:hover { color: $text; background: $hover; }
QTabBar::tab:selected { color: $text; border-bottom: 2px solid $accent; }
QTabBar::tab:focus { background: $hover; }
QTabBar::tab:disabled { color: $disabled; }

QMenuBar { background: $window; }
QMenuBar::item { padding: 4px 8px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: $hover; }
QMenu { background: $raised; border: 1px solid $edge; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 10px; border-radius: 4px; }
QMenu::item:selected { background: $selected; }
QMenu::item:disabled { color: $disabled; }
QMenu::separator { height: 1px; background: $line; margin: 4px 6px; }
QMenu::icon { padding-left: 8px; }

QListView, QTreeView, QTableView {
    background: $field; border: 1px solid $line; border-radius: ${radius}px; outline: none;
    alternate-background-color: $surface; selection-background-color: $selected;
    selection-color: $text; gridline-color: $line;
}
QListView:focus, QTreeView:focus, QTableView:focus { border: 2px solid $accent; }
QListWidget::item, QTableWidget::item { padding: 3px 6px; }
QTreeWidget::item { padding: 6px; }
QAbstractItemView::item:hover { background: $hover; }
QAbstractItemView::item:selected { background: $selected; color: $text; }
QHeaderView { background: $surface; border: none; }
QHeaderView::section {
    background: $surface; color: $muted; border: none; border-bottom: 1px solid $line;
    padding: 5px 6px;
}
QGroupBox {
    border: 1px solid $line; border-radius: ${radius}px; margin-top: 10px; padding: ${gap}px;
}
QGroupBox::title { subcontrol-origin: margin; left: 10px; padding: 0 4px; color: $muted; }
QProgressBar {
    background: $line; border: none; border-radius: 3px; max-height: 6px; min-height: 6px;
    text-align: center; color: transparent;
}
QProgressBar::chunk { background: $accent; border-radius: 3px; }
QStatusBar { background: $window; color: $muted; }
QStatusBar::item { border: none; }
QDockWidget { titlebar-close-icon: none; titlebar-normal-icon: none; }
QDockWidget::title { background: $window; color: $muted; padding: 6px 4px; }
""")


def style_sheet(colours: Colours) -> str:
    """The style sheet of a theme."""
    values = {name: value for name, value in vars(colours).items() if isinstance(value, str)}
    return TEMPLATE.substitute(
        values,
        themes=resource_path("themes", "dark" if colours.is_dark else "light"),
        inner=CONTROL - 2,
        focused=CONTROL - 4,
        spin=CONTROL - 5,
        focused_spin=CONTROL - 7,
        tool=CONTROL - 2 - 2 * TIGHT,
        focused_tool=CONTROL - 4 - 2 * (TIGHT - 1),
        tight=TIGHT,
        gap=GAP,
        radius=RADIUS,
    )
