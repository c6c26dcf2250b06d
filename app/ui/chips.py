"""Filter chips that wrap onto as many lines as they need."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QLayout, QLayoutItem, QPushButton, QSizePolicy, QWidget

from app.ui.metrics import TIGHT


class FlowLayout(QLayout):
    """Puts widgets side by side and begins a new line where the width ends."""

    def __init__(self, parent: QWidget | None = None, spacing: int = TIGHT) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        size = QSize(0, 0)
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size

    def _arrange(self, rect: QRect, *, move: bool) -> int:
        """Place the items, if asked to, and give the height that they take."""
        x, y, line = rect.x(), rect.y(), 0
        for item in self._items:
            if item.isEmpty():
                continue
            size = item.sizeHint()
            if x > rect.x() and x + size.width() > rect.x() + rect.width():
                x, y, line = rect.x(), y + line + self.spacing(), 0
            if move:
                width = min(size.width(), rect.width())
                item.setGeometry(QRect(QPoint(x, y), QSize(width, size.height())))
            x += size.width() + self.spacing()
            line = max(line, size.height())
        return y + line - rect.y()


class ChipBar(QWidget):
    """A set of words of which any number may be chosen."""

    changed = Signal(object)  # frozenset[str], the keys that are chosen

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        """`name` says for screen readers what is filtered by."""
        super().__init__(parent)
        self._chips: dict[str, QPushButton] = {}
        self._layout = FlowLayout(self)
        self.setAccessibleName(name)
        # Its height is that for its width alone: the hint is that of the narrowest bar.
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @property
    def chosen(self) -> frozenset[str]:
        return frozenset(key for key, chip in self._chips.items() if chip.isChecked())

    def set_chips(self, chips: Iterable[tuple[str, str]]) -> None:
        """Offer (key, label) pairs; those that stay keep their state."""
        wanted = dict(chips)
        if list(self._chips) == list(wanted):
            for key, label in wanted.items():
                self._chips[key].setText(label)
            return
        before = self.chosen
        for chip in self._chips.values():
            self._layout.removeWidget(chip)
            chip.hide()
            chip.deleteLater()
        self._chips = {key: self._chip(label, key in before) for key, label in wanted.items()}
        self.updateGeometry()
        if self.chosen != before:
            self.changed.emit(self.chosen)

    def set_chosen(self, keys: Iterable[str]) -> None:
        """Choose exactly these."""
        wanted, before = set(keys), self.chosen
        for key, chip in self._chips.items():
            chip.setChecked(key in wanted)
        if self.chosen != before:
            self.changed.emit(self.chosen)

    def _chip(self, label: str, checked: bool) -> QPushButton:
        chip = QPushButton(label, self)
        chip.setProperty("kind", "chip")
        chip.setCheckable(True)
        chip.setChecked(checked)
        chip.clicked.connect(self._on_clicked)
        self._layout.addWidget(chip)
        chip.show()
        return chip

    @Slot()
    def _on_clicked(self) -> None:
        self.changed.emit(self.chosen)
