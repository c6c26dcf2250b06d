"""The list of keys on F1."""

from __future__ import annotations

from types import MappingProxyType

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.ui.metrics import GAP, ROOM, TIGHT, TITLE, scaled_font
from app.ui.shortcuts import SHORTCUTS, Context, Shortcut, key_text

SIZE = (960, 700)
KEYS_WIDTH = 190
SINGLE_KEYS = 2  # more that begin alike share a cap
_ARROWS = MappingProxyType({"Left": "←", "Right": "→", "Up": "↑", "Down": "↓"})


class HelpDialog(QDialog):
    """All keys, grouped by where they work, in two columns."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys")
        content = QWidget(self)
        columns = QHBoxLayout(content)
        columns.setContentsMargins(ROOM, ROOM, ROOM, ROOM)
        columns.setSpacing(2 * ROOM)
        for contexts in _halves():
            column = QVBoxLayout()
            column.setSpacing(ROOM)
            for context in contexts:
                column.addWidget(_group(context))
            column.addStretch(1)
            columns.addLayout(column, 1)
        area = QScrollArea(self)
        area.setWidget(content)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setAccessibleName("Keys")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, ROOM)
        layout.addWidget(area, 1)
        row = QHBoxLayout()
        row.setContentsMargins(ROOM, 0, ROOM, 0)
        row.addWidget(buttons)
        layout.addLayout(row)
        self.resize(*SIZE)


def _halves() -> tuple[tuple[Context, ...], tuple[Context, ...]]:
    """The groups in their order, parted so that the longer column is as short as can be."""
    groups = tuple(Context)
    lines = [1 + sum(row.context is context for row in SHORTCUTS) for context in groups]
    at = min(range(1, len(groups)), key=lambda at: max(sum(lines[:at]), sum(lines[at:])))
    return groups[:at], groups[at:]


def _group(context: Context) -> QWidget:
    group = QWidget()
    grid = QGridLayout(group)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(ROOM)
    grid.setVerticalSpacing(GAP - 2)
    grid.setColumnMinimumWidth(0, KEYS_WIDTH)
    grid.setColumnStretch(1, 1)
    title = QLabel(context.value)
    title.setFont(scaled_font(title, TITLE * 0.9, bold=True))
    grid.addWidget(title, 0, 0, 1, 2)
    rows = [row for row in SHORTCUTS if row.context is context]
    for index, row in enumerate(rows, start=1):
        grid.addWidget(
            _keys(row), index, 0, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        )
        what = QLabel(row.what)
        what.setWordWrap(True)
        grid.addWidget(what, index, 1)
    return group


def _keys(row: Shortcut) -> QWidget:
    """The keys as little caps; ways to write the same key on the number pad are left out."""
    named = [key_text(key) for key in row.keys if not key.endswith("Enter")]
    start = named[0].rpartition("+")[0]
    if len(named) > SINGLE_KEYS and all(name.rpartition("+")[0] == start for name in named):
        ends = " ".join(
            _ARROWS.get(end, end) for end in (name.rpartition("+")[2] for name in named)
        )
        named = [f"{start}+{ends}"]
    box = QWidget()
    layout = QHBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(TIGHT)
    for name in named:
        cap = QLabel(name)
        cap.setProperty("key", True)
        layout.addWidget(cap)
    box.setAccessibleName(f"{' or '.join(key_text(key) for key in row.keys)}: {row.what}")
    return box
