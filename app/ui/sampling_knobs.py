"""The raw sampling knobs of both stacks, for those who know what they do."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QCheckBox,
    QGridLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.controls import decimal_box, number_box
from app.ui.metrics import GAP, TIGHT, scaled_font
from engine import Sampling, StackSampling

HOTTEST = 2.0
MOST_CHOICES = 3072  # codes of the largest codebook
LONGEST_SECONDS = 600


class StackKnobs(QWidget):
    """How one of the two stacks draws its codes."""

    changed = Signal()

    def __init__(self, title: str, what: str, parent: QWidget | None = None) -> None:
        """`what` says in the tooltips what this stack decides."""
        super().__init__(parent)
        self._stack = StackSampling()
        self._greedy = QCheckBox("Always the likeliest (greedy)", self)
        self._greedy.setAccessibleName(f"{title}: greedy")
        self._greedy.setToolTip("Every take is the same, whatever the seed. Often monotonous.")
        self._temperature = decimal_box(f"{title}: temperature", 0.0, HOTTEST, 0.05, self)
        self._top_k = number_box(f"{title}: top-k", 0, MOST_CHOICES, self)
        self._top_p = decimal_box(f"{title}: top-p", 0.01, 1.0, 0.05, self)
        self._top_k.setSpecialValueText("all")
        heading = QLabel(title, self)
        heading.setFont(scaled_font(self, 1.0, bold=True))
        heading.setToolTip(what)
        grid = knob_grid(self)
        grid.addWidget(heading, 0, 0, 1, 2)
        grid.addWidget(self._greedy, 1, 0, 1, 2)
        tip = f"Higher is livelier and riskier. {what}"
        add_knob(grid, 2, "Temperature", self._temperature, tip)
        tip = "Only the k likeliest codes are drawn from; 0 means all."
        add_knob(grid, 3, "Top-k", self._top_k, tip)
        tip = "Only codes that together reach this probability; 1 means all."
        add_knob(grid, 4, "Top-p", self._top_p, tip)
        for box in (self._temperature, self._top_k, self._top_p):
            box.valueChanged.connect(self._on_changed)
        self._greedy.toggled.connect(self._on_changed)
        self.show_stack(self._stack)

    @property
    def stack(self) -> StackSampling:
        return self._stack

    def show_stack(self, stack: StackSampling) -> None:
        """Show other values; no signal is sent."""
        self._stack = stack
        for widget in (self._greedy, self._temperature, self._top_k, self._top_p):
            widget.blockSignals(True)
        self._greedy.setChecked(stack.greedy)
        self._temperature.setValue(stack.temperature)
        self._top_k.setValue(stack.top_k)
        self._top_p.setValue(stack.top_p)
        for widget in (self._greedy, self._temperature, self._top_k, self._top_p):
            widget.blockSignals(False)
        self._dress()

    @Slot()
    def _on_changed(self) -> None:
        self._stack = replace(
            self._stack,
            greedy=self._greedy.isChecked(),
            temperature=self._temperature.value(),
            top_k=self._top_k.value(),
            top_p=self._top_p.value(),
        )
        self._dress()
        self.changed.emit()

    def _dress(self) -> None:
        for box in (self._temperature, self._top_k, self._top_p):
            box.setEnabled(not self._stack.greedy)


class SamplingKnobs(QWidget):
    """Both stacks, the repetition penalty and the longest take, and a way back."""

    changed = Signal(object)  # Sampling, as it was turned by hand
    reset_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sampling = Sampling()
        self._frames_per_second = 12.5
        self._talker = StackKnobs("Talker", "Decides how the line is spoken.", self)
        self._predictor = StackKnobs("Code predictor", "Decides the fine sound.", self)
        self._penalty = decimal_box("Repetition penalty", 1.0, 2.0, 0.01, self)
        self._longest = number_box("Longest take in seconds", 1, LONGEST_SECONDS, self)
        self._longest.setSuffix(" s")
        self._reset = QPushButton("Back to the preset", self)
        self._reset.setToolTip("Forget what was turned by hand")
        self._reset.clicked.connect(self.reset_requested)
        grid = QGridLayout()
        prepare_grid(grid)
        penalty_tip = "Above 1, codes that were just used become less likely."
        add_knob(grid, 0, "Repetition penalty", self._penalty, penalty_tip)
        add_knob(grid, 1, "Longest take", self._longest, "Where a take is ended at the latest.")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP + TIGHT)
        layout.addWidget(self._talker)
        layout.addWidget(self._predictor)
        layout.addLayout(grid)
        layout.addWidget(self._reset, 0, Qt.AlignmentFlag.AlignLeft)
        for knobs in (self._talker, self._predictor):
            knobs.changed.connect(self._on_changed)
        self._penalty.valueChanged.connect(self._on_changed)
        self._longest.valueChanged.connect(self._on_longest)
        self.show_sampling(self._sampling, by_hand=False)

    @property
    def sampling(self) -> Sampling:
        return self._sampling

    def set_frame_rate(self, frames_per_second: float) -> None:
        """By which the longest take is told in seconds."""
        self._frames_per_second = frames_per_second
        self._show_longest()

    def show_sampling(self, sampling: Sampling, *, by_hand: bool) -> None:
        """Show other knobs; no signal is sent. `by_hand`: there is a preset to go back to."""
        self._sampling = sampling
        self._talker.show_stack(sampling.talker)
        self._predictor.show_stack(sampling.predictor)
        self._penalty.blockSignals(True)
        self._penalty.setValue(sampling.repetition_penalty)
        self._penalty.blockSignals(False)
        self._show_longest()
        self._reset.setEnabled(by_hand)

    def _show_longest(self) -> None:
        self._longest.blockSignals(True)
        self._longest.setValue(round(self._sampling.max_frames / self._frames_per_second))
        self._longest.blockSignals(False)

    @Slot()
    def _on_changed(self) -> None:
        self._tell(
            replace(
                self._sampling,
                talker=self._talker.stack,
                predictor=self._predictor.stack,
                repetition_penalty=self._penalty.value(),
            )
        )

    @Slot(int)
    def _on_longest(self, seconds: int) -> None:
        frames = max(round(seconds * self._frames_per_second), self._sampling.min_frames)
        self._tell(replace(self._sampling, max_frames=frames))

    def _tell(self, sampling: Sampling) -> None:
        if sampling != self._sampling:
            self._sampling = sampling
            self._reset.setEnabled(True)
            self.changed.emit(sampling)


def knob_grid(owner: QWidget) -> QGridLayout:
    """Two columns: what it is, and the knob."""
    grid = QGridLayout(owner)
    prepare_grid(grid)
    return grid


def prepare_grid(grid: QGridLayout) -> None:
    """Let the knobs of several grids stand below each other."""
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(GAP)
    grid.setVerticalSpacing(TIGHT)
    grid.setColumnStretch(0, 1)


def add_knob(grid: QGridLayout, row: int, text: str, box: QAbstractSpinBox, tip: str) -> None:
    """One line of a grid."""
    label = QLabel(text)
    label.setBuddy(box)
    label.setToolTip(tip)
    box.setToolTip(tip)
    box.setFixedWidth(box.fontMetrics().averageCharWidth() * 16)
    grid.addWidget(label, row, 0)
    grid.addWidget(box, row, 1)
