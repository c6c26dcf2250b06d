"""Small controls that several tabs share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSlider,
    QSpinBox,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolButton,
    QWidget,
)

from app.audio.backend import Device
from app.ui.icons import icon
from app.ui.metrics import GAP, TIGHT

SILENT = -60  # dB at the lower end of the slider, where it mutes
COMBO_CHARACTERS = 14
NUMBER_MARGIN = 6  # left of a number, where a style sheet can give none


def tool_button(icon_name: str, text: str, parent: QWidget | None = None) -> QToolButton:
    """A button that is only a picture, named for tooltips and screen readers."""
    button = QToolButton(parent)
    button.setIcon(icon(icon_name))
    button.setToolTip(text)
    button.setAccessibleName(text)
    button.setProperty("kind", "quiet")
    return button


def main_button(text: str, icon_name: str, parent: QWidget | None = None) -> QPushButton:
    """The one button of a view that does what the view is for."""
    button = QPushButton(icon(icon_name, QPalette.ColorRole.BrightText), text, parent)
    button.setProperty("kind", "main")
    return button


def muted_label(text: str = "", parent: QWidget | None = None) -> QLabel:
    """Words of second rank."""
    label = QLabel(text, parent)
    label.setProperty("muted", True)
    return label


def number_box(name: str, least: int, greatest: int, parent: QWidget | None = None) -> QSpinBox:
    """A field for a whole number."""
    box = QSpinBox(parent)
    box.setRange(least, greatest)
    _prepare(box, name)
    return box


def decimal_box(
    name: str, least: float, greatest: float, step: float, parent: QWidget | None = None
) -> QDoubleSpinBox:
    """A field for a number with two decimals."""
    box = QDoubleSpinBox(parent)
    box.setRange(least, greatest)
    box.setSingleStep(step)
    _prepare(box, name)
    return box


def show_number(box: QSpinBox | QDoubleSpinBox, value: float) -> None:
    """Show a value without a signal; what is being typed stays if the value is the same."""
    if box.value() != value:
        with QSignalBlocker(box):
            if isinstance(box, QSpinBox):
                box.setValue(round(value))
            else:
                box.setValue(value)


def _prepare(box: QAbstractSpinBox, name: str) -> None:
    box.setAccessibleName(name)
    box.setKeyboardTracking(False)  # a number counts when it is complete
    box.lineEdit().setTextMargins(NUMBER_MARGIN, 0, 0, 0)


class ElidedCombo(QComboBox):
    """A list whose choice is shortened in its middle: names of devices differ at their ends."""

    @property
    def shown_text(self) -> str:
        """What fits of the choice."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        part = QStyle.SubControl.SC_ComboBoxEditField
        control = QStyle.ComplexControl.CC_ComboBox
        field = self.style().subControlRect(control, option, part, self)
        room = field.width() - NUMBER_MARGIN
        return self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideMiddle, room)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QStylePainter(self)
        painter.setPen(self.palette().color(QPalette.ColorRole.Text))
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        option.currentText = self.shown_text
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()

    def showPopup(self) -> None:
        """Give the list the width that its names need, as far as the screen has it."""
        view = self.view()
        bar = view.verticalScrollBar().sizeHint().width()
        wanted = view.sizeHintForColumn(0) + bar + 2 * NUMBER_MARGIN
        view.setMinimumWidth(min(wanted, self.screen().availableGeometry().width() // 2))
        super().showPopup()


class DeviceBox(QWidget):
    """A list of sound devices, the system's choice first, and a button to look again."""

    chosen = Signal(object)  # str | None, the id; None is the system's choice
    refresh_requested = Signal()

    def __init__(self, kind: str, parent: QWidget | None = None) -> None:
        """`kind` is "output" or "microphone"."""
        super().__init__(parent)
        self._kind = kind
        self._ids: list[str | None] = []
        self._combo = ElidedCombo(self)
        self._combo.setAccessibleName(kind.capitalize())
        self._combo.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self._combo.setMinimumContentsLength(COMBO_CHARACTERS)
        self._combo.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._combo.activated.connect(self._on_activated)
        self._refresh = tool_button("refresh", "Look for devices again", self)
        self._refresh.clicked.connect(self.refresh_requested)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TIGHT)
        layout.addWidget(self._combo, 1)
        layout.addWidget(self._refresh)
        self.setFocusProxy(self._combo)
        self.set_devices((), None)

    @property
    def device_id(self) -> str | None:
        """The chosen device; None is the system's choice."""
        index = self._combo.currentIndex()
        return self._ids[index] if 0 <= index < len(self._ids) else None

    def set_devices(self, devices: Sequence[Device], device_id: str | None) -> None:
        """Offer devices and show one as chosen, also if it is not there now; no signal is sent."""
        default = next((device.name for device in devices if device.is_default), None)
        entries: list[tuple[str | None, str]] = []
        if devices:
            entries.append((None, f"System default ({default})" if default else "System default"))
            entries += [(device.id, device_label(device, devices)) for device in devices]
        if device_id is not None and all(device.id != device_id for device in devices):
            entries.append((device_id, f"{device_id.rpartition('/')[2]} (not connected)"))
        with QSignalBlocker(self._combo):
            self._combo.clear()
            self._ids = [identity for identity, _ in entries]
            for index, (_, label) in enumerate(entries):
                self._combo.addItem(label)
                self._combo.setItemData(index, label, Qt.ItemDataRole.ToolTipRole)
            if not entries:
                self._combo.addItem(f"No {self._kind} found")
            self._combo.setCurrentIndex(self._ids.index(device_id) if device_id in self._ids else 0)
        self._combo.setEnabled(bool(entries))
        self._combo.setToolTip(self._combo.currentText())

    def choose(self, device_id: str | None) -> None:
        """Show another one of the offered devices as chosen; no signal is sent."""
        if device_id in self._ids:
            self._combo.setCurrentIndex(self._ids.index(device_id))  # only `activated` is told
            self._combo.setToolTip(self._combo.currentText())

    @Slot(int)
    def _on_activated(self, _index: int) -> None:
        self._combo.setToolTip(self._combo.currentText())
        self.chosen.emit(self.device_id)


class VolumeSlider(QWidget):
    """A slider in decibels with its value beside it; the speaker button mutes."""

    changed = Signal(float)  # the gain as a factor, 0 when muted

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._mute = tool_button("volume", "Mute", self)
        self._mute.setCheckable(True)
        self._mute.toggled.connect(self._on_muted)
        self._slider = _DecibelSlider(Qt.Orientation.Horizontal, self)
        self._slider.setRange(SILENT, 0)
        self._slider.setPageStep(6)
        self._slider.setAccessibleName("Volume")
        self._slider.setMinimumWidth(72)
        self._slider.setToolTip("Volume; double-click or 0 for 0 dB")
        self._slider.valueChanged.connect(self._on_value)
        self._label = QLabel(self)
        self._label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addWidget(self._mute)
        layout.addWidget(self._slider, 1)
        layout.addWidget(self._label)
        self.setFocusProxy(self._slider)
        self._show()

    @property
    def decibels(self) -> int:
        return self._slider.value()

    @property
    def is_muted(self) -> bool:
        return self._mute.isChecked()

    @property
    def gain(self) -> float:
        """The factor for the samples."""
        if self.is_muted or self.decibels == SILENT:
            return 0.0
        return float(10.0 ** (self.decibels / 20))

    def set_decibels(self, decibels: int) -> None:
        self._slider.setValue(decibels)

    def set_gain(self, gain: float) -> None:
        """Show a factor as the nearest whole number of decibels."""
        self._slider.setValue(SILENT if gain <= 0 else round(20 * math.log10(gain)))

    def set_muted(self, muted: bool) -> None:
        self._mute.setChecked(muted)

    @Slot(int)
    def _on_value(self, _value: int) -> None:
        self._mute.setChecked(False)  # who moves the slider wants to hear
        self._show()
        self.changed.emit(self.gain)

    @Slot(bool)
    def _on_muted(self, muted: bool) -> None:
        self._mute.setIcon(icon("mute" if muted else "volume"))
        self._show()
        self.changed.emit(self.gain)

    def _show(self) -> None:
        self._label.setMinimumWidth(self._label.fontMetrics().horizontalAdvance("+00 dB"))
        text = "off" if self.gain == 0 else f"{self.decibels} dB"
        text = text.replace("-", "\N{MINUS SIGN}")
        self._label.setText(text)
        self._slider.setAccessibleDescription(text)


class _DecibelSlider(QSlider):
    def mouseDoubleClickEvent(self, event: object) -> None:
        self.setValue(0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_0:
            self.setValue(0)
        else:
            super().keyPressEvent(event)


def device_label(device: Device, devices: Sequence[Device]) -> str:
    """The name, with the sound system where two have the same."""
    same = sum(other.name == device.name for other in devices)
    return f"{device.name} ({device.host_api})" if same > 1 else device.name
