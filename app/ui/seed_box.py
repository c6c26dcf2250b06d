"""The number that a take is drawn from: typed, rolled, or pinned so that it stays."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRegularExpression, Signal, Slot
from PySide6.QtGui import QRegularExpressionValidator
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QToolButton, QWidget

from app.ui.icons import icon
from app.ui.metrics import TIGHT

GREATEST = 2**64 - 1


class SeedBox(QWidget):
    """A seed from 0 to 2^64 - 1. Unpinned, the owner rolls a new one for each press of Speak."""

    changed = Signal()

    def __init__(self, roll: Callable[[], int], parent: QWidget | None = None) -> None:
        """`roll` gives a random seed."""
        super().__init__(parent)
        self._roll = roll
        self._seed = roll()
        self._field = QLineEdit(str(self._seed), self)
        self._field.setAccessibleName("Seed")
        self._field.setToolTip("The same text, voice, settings and seed give the same take again")
        self._field.setValidator(
            QRegularExpressionValidator(QRegularExpression(r"\s*\d{0,20}\s*"), self._field)
        )
        self._field.textEdited.connect(self._on_text)
        self._field.editingFinished.connect(self._on_finished)
        self._pin = QToolButton(self)
        self._pin.setCheckable(True)
        self._pin.toggled.connect(self._on_pinned)
        self._dice = QToolButton(self)
        self._dice.setIcon(icon("dice"))
        self._dice.setToolTip("Roll another seed")
        self._dice.setAccessibleName("Roll another seed")
        self._dice.clicked.connect(self.roll)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TIGHT)
        layout.addWidget(self._field, 1)
        layout.addWidget(self._pin)
        layout.addWidget(self._dice)
        self.setFocusProxy(self._field)
        self._dress_pin()

    @property
    def seed(self) -> int:
        return self._seed

    @property
    def is_pinned(self) -> bool:
        return self._pin.isChecked()

    def set_seed(self, seed: int) -> None:
        """Show another seed; raises ValueError outside 0 to 2^64 - 1."""
        if not 0 <= seed <= GREATEST:
            raise ValueError(f"seed {seed} is not within 0 and {GREATEST}")
        self._field.setText(str(seed))
        self._mark(invalid=False)
        if seed != self._seed:
            self._seed = seed
            self.changed.emit()

    def set_pinned(self, pinned: bool) -> None:
        self._pin.setChecked(pinned)

    @Slot()
    def roll(self) -> None:
        """Take a random seed."""
        self.set_seed(self._roll())

    def next_seed(self) -> int:
        """The seed for a take: the shown one when it is pinned, else a new one, which is shown."""
        if not self.is_pinned:
            self.roll()
        return self._seed

    @Slot(str)
    def _on_text(self, text: str) -> None:
        seed = _read(text)
        self._mark(invalid=seed is None)
        if seed is not None and seed != self._seed:
            self._seed = seed
            self.set_pinned(True)  # who types a seed wants that one
            self.changed.emit()

    @Slot()
    def _on_finished(self) -> None:
        self._field.setText(str(self._seed))
        self._mark(invalid=False)

    @Slot(bool)
    def _on_pinned(self, _pinned: bool) -> None:
        self._dress_pin()
        self.changed.emit()

    def _dress_pin(self) -> None:
        pinned = self.is_pinned
        self._pin.setIcon(icon("pin-filled" if pinned else "pin"))
        self._pin.setAccessibleName("Keep this seed")
        self._pin.setToolTip(
            "This seed is kept for every take" if pinned else "Every take gets a new seed"
        )

    def _mark(self, *, invalid: bool) -> None:
        if invalid != bool(self._field.property("invalid")):
            self._field.setProperty("invalid", invalid)
            self._field.style().polish(self._field)
            said = f"A whole number from 0 to {GREATEST}" if invalid else ""
            self._field.setAccessibleDescription(said)


def _read(text: str) -> int | None:
    digits = text.strip()
    return int(digits) if digits and int(digits) <= GREATEST else None
