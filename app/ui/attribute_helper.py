"""Chooses attributes of a voice and writes them into its description."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.core.voice_prompt import ATTRIBUTES, attribute_sentence
from app.ui.metrics import GAP, TIGHT

COLUMNS = 2
LEAST_CHARACTERS = 6
ANY = "any"


class AttributeHelper(QWidget):
    """A list for each attribute. What they say together is reported as one sentence."""

    sentence_changed = Signal(str, str)  # before, now

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._boxes: dict[str, QComboBox] = {}
        self._sentence = ""
        grid = QGridLayout()
        grid.setHorizontalSpacing(GAP)
        grid.setVerticalSpacing(TIGHT)
        for index, (name, values) in enumerate(ATTRIBUTES.items()):
            box = QComboBox(self)
            box.addItems((ANY, *values))
            box.setAccessibleName(name)
            box.setMinimumContentsLength(LEAST_CHARACTERS)
            box.setSizeAdjustPolicy(
                QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            )
            box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            box.currentIndexChanged.connect(self._on_chosen)
            self._boxes[name] = box
            line, column = index // COLUMNS, 2 * (index % COLUMNS)
            label = QLabel(name, self)
            label.setBuddy(box)
            grid.addWidget(label, line, column)
            grid.addWidget(box, line, column + 1)
            grid.setColumnStretch(column + 1, 1)
        self._clear = QPushButton("Any of all", self)
        self._clear.setProperty("kind", "quiet")
        self._clear.setToolTip("Take the chosen attributes out of the description")
        self._clear.clicked.connect(self.clear)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self._clear)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TIGHT)
        layout.addLayout(grid)
        layout.addLayout(row)

    @property
    def chosen(self) -> dict[str, str]:
        """The attributes that are not left open."""
        return {name: box.currentText() for name, box in self._boxes.items() if box.currentIndex()}

    @Slot()
    def clear(self) -> None:
        """Leave all attributes open."""
        for box in self._boxes.values():
            with QSignalBlocker(box):
                box.setCurrentIndex(0)
        self._on_chosen()

    @Slot()
    def _on_chosen(self) -> None:
        before, self._sentence = self._sentence, attribute_sentence(self.chosen)
        if before != self._sentence:
            self.sentence_changed.emit(before, self._sentence)
