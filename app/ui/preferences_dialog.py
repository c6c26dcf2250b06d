"""Where the user says how the studio looks and sounds, and where models are; applied at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QGroupBox,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.audio.backend import Device
from app.core.settings import Settings, Theme
from app.ui.controls import DeviceBox, muted_label
from app.ui.inline_note import wrapped_label
from app.ui.metrics import CONTROL, GAP, ROOM
from engine.plain_text import one_line

SCALES = (100, 110, 125, 150, 175, 200, 225, 250)  # percent
THEMES = (
    (Theme.SYSTEM, "As the system"),
    (Theme.LIGHT, "Light"),
    (Theme.DARK, "Dark"),
)
FOLDER = Qt.ItemDataRole.UserRole
FOLDER_ROWS = 4
WIDTH = 560
CAPTION_WIDTH = 96

ChooseFolder: TypeAlias = Callable[[QWidget], Path | None]
"""Lets the user choose a folder; None when they changed their mind."""


@dataclass(frozen=True)
class Preferences:
    """The settings that are changed here."""

    theme: Theme = Theme.SYSTEM
    scale: int = 100  # percent, read when the studio starts
    output: str | None = None  # id of the device, None is the system's choice
    microphone: str | None = None
    model_folders: tuple[Path, ...] = ()
    device: str = "auto"  # that the model runs on
    precision: str = "auto"

    @classmethod
    def of(cls, settings: Settings) -> Preferences:
        return cls(
            settings.theme,
            round(settings.scale * 100),
            settings.output_device or None,
            settings.input_device or None,
            settings.model_folders,
            settings.device,
            settings.precision,
        )

    def within(self, settings: Settings) -> Settings:
        """These settings, with what was changed here."""
        return replace(
            settings,
            theme=self.theme,
            scale=self.scale / 100,
            output_device=self.output or "",
            input_device=self.microphone or "",
            model_folders=self.model_folders,
            device=self.device,
            precision=self.precision,
        )


@dataclass(frozen=True)
class Choices:
    """What there is to choose from; devices and precisions as (value, label)."""

    outputs: tuple[Device, ...] = ()
    microphones: tuple[Device, ...] = ()
    devices: tuple[tuple[str, str], ...] = (("auto", "Automatic"), ("cpu", "CPU"))
    precisions: tuple[tuple[str, str], ...] = field(default=(("auto", "Automatic"),))
    own_folder: Path | None = None  # where the studio always looks for models


class PreferencesDialog(QDialog):
    """Shows preferences and reports each change."""

    changed = Signal(object)  # Preferences
    restart_requested = Signal()  # so that the size changes now
    refresh_requested = Signal()  # the sound devices; answer with `set_devices`

    def __init__(
        self,
        preferences: Preferences,
        choices: Choices,
        choose_folder: ChooseFolder,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Preferences")
        self._preferences = preferences
        self._scale_at_start = preferences.scale
        self._choose_folder = choose_folder
        self._theme = _combo("Theme", [(str(value), label) for value, label in THEMES])
        self._scale = _combo("Size", [(str(scale), f"{scale} %") for scale in SCALES])
        self._later = QWidget()
        self._restart = QPushButton("Restart now")
        self._own_folder = choices.own_folder
        self._output = DeviceBox("output")
        self._microphone = DeviceBox("microphone")
        self._folders = QListWidget()
        self._add = QPushButton("Add a folder…")
        self._remove = QPushButton("Remove from the list")
        self._device = _combo("Compute on", choices.devices)
        self._precision = _combo("Precision", choices.precisions)
        self._build()
        self._show_preferences()
        self.set_devices(choices.outputs, choices.microphones)
        self._connect()
        self.setMinimumWidth(WIDTH)

    @property
    def preferences(self) -> Preferences:
        return self._preferences

    def set_devices(self, outputs: Sequence[Device], microphones: Sequence[Device]) -> None:
        """Offer these sound devices."""
        self._output.set_devices(outputs, self._preferences.output)
        self._microphone.set_devices(microphones, self._preferences.microphone)

    def follow(self, preferences: Preferences) -> None:
        """Show what was changed elsewhere; no signal is sent."""
        if preferences != self._preferences:
            self._preferences = preferences
            self._show_preferences()
            for box, device in (
                (self._output, preferences.output),
                (self._microphone, preferences.microphone),
            ):
                box.choose(device)

    def _build(self) -> None:
        look, sound, models = (QGroupBox(name, self) for name in ("Appearance", "Sound", "Models"))
        form = _form(look, ("Theme", self._theme), ("Size", self._scale))
        later = QHBoxLayout(self._later)
        later.setContentsMargins(0, 0, 0, 0)
        later.setSpacing(GAP)
        later.addWidget(muted_label("The size changes when the studio starts again"), 1)
        later.addWidget(self._restart)
        self._restart.setToolTip("What is being spoken is stopped, and kept")
        form.addRow("", self._later)
        _form(sound, ("Output", self._output), ("Microphone", self._microphone))
        self._folders.setAccessibleName("Folders with models")
        self._folders.setFixedHeight(FOLDER_ROWS * (self._folders.fontMetrics().height() + GAP))
        self._folders.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        folder_buttons = QHBoxLayout()
        folder_buttons.addWidget(self._add)
        folder_buttons.addWidget(self._remove)
        folder_buttons.addStretch(1)
        form = _form(models, ("Compute on", self._device), ("Precision", self._precision))
        form.addRow(self._place_note())
        form.addRow(self._folders)
        form.addRow(folder_buttons)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM, ROOM, ROOM, ROOM)
        layout.setSpacing(GAP)
        for group in (look, sound, models):
            layout.addWidget(group)
        layout.addStretch(1)
        layout.addWidget(buttons)

    def _place_note(self) -> QLabel:
        own = f", {one_line(str(self._own_folder))}" if self._own_folder is not None else ""
        note = wrapped_label(f"Looked for in the studio's own folder{own}, and here:", muted=True)
        note.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return note

    def _connect(self) -> None:
        self._restart.clicked.connect(self.restart_requested)
        self._theme.activated.connect(self._on_changed)
        self._scale.activated.connect(self._on_changed)
        self._device.activated.connect(self._on_changed)
        self._precision.activated.connect(self._on_changed)
        for box in (self._output, self._microphone):
            box.chosen.connect(self._on_changed)
            box.refresh_requested.connect(self.refresh_requested)
        self._add.clicked.connect(self._on_add)
        self._remove.clicked.connect(self._on_remove)
        self._folders.itemSelectionChanged.connect(self._show_note)

    def _show_preferences(self) -> None:
        wanted = self._preferences
        _choose(self._theme, wanted.theme)
        _choose(self._scale, str(min(SCALES, key=lambda scale: abs(scale - wanted.scale))))
        _choose(self._device, wanted.device)
        _choose(self._precision, wanted.precision)
        self._folders.clear()
        for folder in wanted.model_folders:
            self._list_folder(folder)
        self._show_note()

    def _list_folder(self, folder: Path) -> None:
        item = QListWidgetItem(one_line(str(folder)))
        item.setToolTip(item.text())
        item.setData(FOLDER, str(folder))
        self._folders.addItem(item)

    @Slot()
    def _show_note(self) -> None:
        self._later.setVisible(self._preferences.scale != self._scale_at_start)
        self._remove.setEnabled(bool(self._folders.selectedItems()))

    @Slot()
    def _on_changed(self) -> None:
        rows = range(self._folders.count())
        made = replace(
            self._preferences,
            theme=Theme(self._theme.currentData()),
            scale=int(self._scale.currentData()),
            output=self._output.device_id,
            microphone=self._microphone.device_id,
            model_folders=tuple(Path(self._folders.item(row).data(FOLDER)) for row in rows),
            device=self._device.currentData(),
            precision=self._precision.currentData(),
        )
        if made != self._preferences:
            self._preferences = made
            self.changed.emit(made)
        self._show_note()

    @Slot()
    def _on_add(self) -> None:
        folder = self._choose_folder(self)
        if folder is not None and folder not in self._preferences.model_folders:
            self._list_folder(folder)
            self._on_changed()

    @Slot()
    def _on_remove(self) -> None:
        for item in self._folders.selectedItems():
            self._folders.takeItem(self._folders.row(item))
        self._on_changed()


def _combo(name: str, entries: Sequence[tuple[str, str]]) -> QComboBox:
    combo = QComboBox()
    combo.setAccessibleName(name)
    for value, label in entries:
        combo.addItem(label, value)
    return combo


def _choose(combo: QComboBox, value: str) -> None:
    """Select a value; one that is not offered now is kept as an entry of its own."""
    index = combo.findData(value)
    if index < 0:
        combo.addItem(value, value)
        index = combo.count() - 1
    combo.setCurrentIndex(index)


def _form(group: QGroupBox, *rows: tuple[str, QWidget]) -> QFormLayout:
    form = QFormLayout(group)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    form.setSpacing(GAP)
    for label, widget in rows:
        caption = QLabel(label)
        caption.setBuddy(widget)
        caption.setMinimumSize(CAPTION_WIDTH, CONTROL)
        form.addRow(caption, widget)
    return form
