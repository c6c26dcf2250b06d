"""Every microphone with its level, so that people find the one that hears them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QGridLayout, QRadioButton, QWidget

from app.audio.backend import Device, SoundDeviceError
from app.audio.levels import Levels, decibels
from app.ui.controls import device_label
from app.ui.inline_note import WrappedLabel, wrapped_label
from app.ui.meter import MeterView
from app.ui.metrics import GAP, TIGHT

NAME_WIDTH: Final = 220
HEARD: Final = -45.0  # dB of the held peak from which on somebody speaks to it
OPENING: Final = "It is being opened."
QUIET: Final = "It hears next to nothing."
LOUD: Final = "It hears you."


class MicrophoneList(QWidget):
    """A row each: the name with a mark at the chosen one, and a bar or why there is none."""

    chosen = Signal(str)  # the id of the device that the user chose

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: dict[str, _Row] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GAP)
        self._grid.setVerticalSpacing(TIGHT)
        self._grid.setColumnStretch(1, 1)
        self.setAccessibleName("Microphones and their levels")

    def set_devices(self, devices: Sequence[Device], chosen: str) -> None:
        """Offer these and mark one as chosen, by its id; no signal is sent."""
        labels = {device.id: device_label(device, devices) for device in devices}
        if labels != {key: row.label for key, row in self._rows.items()}:
            for row in self._rows.values():
                row.leave()
            self._rows = {
                key: _Row(self, self._grid, place, label)
                for place, (key, label) in enumerate(labels.items())
            }
            for key, row in self._rows.items():
                row.mark.clicked.connect(lambda _=False, key=key: self.chosen.emit(key))
        if chosen in self._rows:
            self._rows[chosen].mark.setChecked(True)

    def show_levels(
        self, levels: Mapping[str, Levels], refused: Mapping[str, SoundDeviceError]
    ) -> None:
        """Show how loud each is, or why it is not heard; both by the ids of devices."""
        for key, row in self._rows.items():
            if key in levels:
                row.show_levels(levels[key])
            elif key in refused:
                row.show_problem(refused[key].message)
            else:
                row.clear()

    @Slot()
    def clear(self) -> None:
        """Show no levels."""
        for row in self._rows.values():
            row.clear()


class _Row:
    """The widgets of one microphone."""

    def __init__(self, parent: QWidget, grid: QGridLayout, place: int, label: str) -> None:
        self.label = label
        self.mark = QRadioButton(parent)
        metrics = self.mark.fontMetrics()
        shown = metrics.elidedText(label, Qt.TextElideMode.ElideMiddle, NAME_WIDTH)
        self.mark.setText(shown.replace("&", "&&"))  # one alone would make a key of what follows
        self.mark.setToolTip(label)
        self.mark.setAccessibleName(label)
        self._meter = MeterView(compact=True, parent=parent)
        self._problem: WrappedLabel = wrapped_label(muted=True, parent=parent)
        grid.addWidget(self.mark, place, 0)
        grid.addWidget(self._meter, place, 1, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self._problem, place, 1)
        self._meter.setAccessibleName(f"Level of {label}")
        self.clear()
        for widget in (self.mark, self._meter):
            widget.show()

    def show_levels(self, levels: Levels) -> None:
        self._meter.show_levels(levels)
        self._say("")
        self._describe(LOUD if decibels(levels.held_peak) > HEARD else QUIET)

    def show_problem(self, sentence: str) -> None:
        self._say(sentence)
        self._describe(sentence)

    def clear(self) -> None:
        self._meter.clear()
        self._say("")
        self._describe(OPENING)

    def leave(self) -> None:
        """Take the widgets away."""
        for widget in (self.mark, self._meter, self._problem):
            widget.hide()
            widget.deleteLater()

    def _say(self, problem: str) -> None:
        if self._problem.text() != problem or self._problem.isHidden() != (not problem):
            self._problem.setText(problem)
            self._problem.setVisible(bool(problem))
            self._meter.setVisible(not problem)

    def _describe(self, words: str) -> None:
        """A screen reader hears of every change, so only what is worth it is one."""
        if self.mark.accessibleDescription() != words:
            self.mark.setAccessibleDescription(words)
