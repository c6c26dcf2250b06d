"""Chooses attributes of a voice and writes them into its description."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSignalBlocker, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.core.voice_prompt import ATTRIBUTES, attribute_sentence
from app.ui.metrics import TIGHT

COLUMNS = 2
LEAST_CHARACTERS = 8
NAMED = ("Pitch", "Pace")
"""Attributes whose values say little alone: "low pitch", "slow pace"."""


class AttributeHelper(QWidget):
    """A list for each attribute. What they say together is reported as one sentence."""

    sentence_changed = Signal(str, str)  # before, now

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._boxes: dict[str, QComboBox] = {}
        self._sentence = ""
        grid = QGridLayout()
        grid.setSpacing(TIGHT)
        for index, name in enumerate(ATTRIBUTES):
            box = self._box(name)
            self._boxes[name] = box
            grid.addWidget(box, index // COLUMNS, index % COLUMNS)
        self._clear = QPushButton("Clear attributes", self)
        self._clear.setProperty("kind", "chip")
        self._clear.setToolTip("Take the chosen attributes out of the description")
        self._clear.clicked.connect(self.clear)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TIGHT)
        layout.addLayout(grid)
        layout.addWidget(self._clear)
        self._clear.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.show_chosen({})

    @property
    def chosen(self) -> dict[str, str]:
        """The attributes that are not left open."""
        return {
            name: ATTRIBUTES[name][box.currentIndex() - 1]
            for name, box in self._boxes.items()
            if box.currentIndex() > 0
        }

    def show_chosen(self, chosen: Mapping[str, str]) -> None:
        """Show the attributes that the description has by now; no signal is sent."""
        for name, box in self._boxes.items():
            value = chosen.get(name)
            with QSignalBlocker(box):
                box.setCurrentIndex(ATTRIBUTES[name].index(value) + 1 if value else 0)
        self._sentence = attribute_sentence(chosen)
        self._clear.setEnabled(bool(chosen))

    @Slot()
    def clear(self) -> None:
        """Leave all attributes open."""
        before = self._sentence
        self.show_chosen({})
        self._tell(before)

    def _box(self, name: str) -> QComboBox:
        box = QComboBox(self)
        box.addItem(f"Any {name.lower()}")
        for value in ATTRIBUTES[name]:
            box.addItem(f"{value} {name.lower()}" if name in NAMED else value)
        box.setAccessibleName(name)
        box.setToolTip(f"{name} of the voice; written into the description")
        box.setMinimumContentsLength(LEAST_CHARACTERS)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        box.currentIndexChanged.connect(self._on_chosen)
        return box

    @Slot()
    def _on_chosen(self) -> None:
        before, self._sentence = self._sentence, attribute_sentence(self.chosen)
        self._clear.setEnabled(bool(self._sentence))
        self._tell(before)

    def _tell(self, before: str) -> None:
        if before != self._sentence:
            self.sentence_changed.emit(before, self._sentence)
