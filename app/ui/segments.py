"""A switch between a few things of which one is always chosen, all of them in sight."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from app.ui.metrics import TIGHT


class SegmentedSwitch(QWidget):
    """Buttons side by side; Tab goes to the chosen one, and the arrow keys choose another."""

    chosen = Signal(str)  # the key of what the user chose

    def __init__(
        self, name: str, segments: Sequence[tuple[str, str]], parent: QWidget | None = None
    ) -> None:
        """`segments` are (key, label) pairs, the first of which is chosen."""
        super().__init__(parent)
        self._keys = [key for key, _ in segments]
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TIGHT)
        for index, (_, label) in enumerate(segments):
            button = _Segment(label, self)
            button.setCheckable(True)
            button.setAccessibleDescription(name)
            self._group.addButton(button, index)
            layout.addWidget(button)
        self._group.idClicked.connect(self._on_clicked)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.choose(self._keys[0])

    @property
    def current(self) -> str:
        """The key of what is chosen."""
        return self._keys[self._group.checkedId()]

    def choose(self, key: str) -> None:
        """Choose by key; no signal is sent."""
        button = self._button(key)
        has_focus = any(other.hasFocus() for other in self._group.buttons())
        button.setChecked(True)
        self.setFocusProxy(button)
        for other in self._group.buttons():
            chosen = other is button
            other.setFocusPolicy(
                Qt.FocusPolicy.StrongFocus if chosen else Qt.FocusPolicy.ClickFocus
            )
        if has_focus:
            button.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_tip(self, key: str, text: str) -> None:
        """Say more about a choice in its tooltip."""
        self._button(key).setToolTip(text)

    def _button(self, key: str) -> QPushButton:
        button = self._group.button(self._keys.index(key))
        assert isinstance(button, QPushButton)
        return button

    @Slot(int)
    def _on_clicked(self, index: int) -> None:
        self.choose(self._keys[index])
        self.chosen.emit(self._keys[index])

    def step(self, direction: int) -> None:
        """Choose the next one that can be chosen, as an arrow key does."""
        index = self._group.checkedId() + direction
        while 0 <= index < len(self._keys):
            button = self._button(self._keys[index])
            if button.isEnabled():
                self.choose(self._keys[index])
                self.chosen.emit(self._keys[index])
                return
            index += direction


class _Segment(QPushButton):
    def keyPressEvent(self, event: QKeyEvent) -> None:
        switch = self.parentWidget()
        assert isinstance(switch, SegmentedSwitch)
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Up):
            switch.step(-1)
        elif event.key() in (Qt.Key.Key_Right, Qt.Key.Key_Down):
            switch.step(1)
        else:
            super().keyPressEvent(event)
