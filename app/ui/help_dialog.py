"""The list of keys on F1."""

from __future__ import annotations

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


class HelpDialog(QDialog):
    """All keys, grouped by where they work, in two columns."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys")
        content = QWidget(self)
        columns = QHBoxLayout(content)
        columns.setContentsMargins(ROOM, ROOM, ROOM, ROOM)
        columns.setSpacing(2 * ROOM)
        first, *others = [_group(context) for context in Context]
        for groups in ([first], others):
            column = QVBoxLayout()
            column.setSpacing(ROOM)
            for group in groups:
                column.addWidget(group)
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
    box = QWidget()
    layout = QHBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(TIGHT)
    for key in row.keys:
        if not key.endswith("Enter"):
            cap = QLabel(key_text(key))
            cap.setProperty("key", True)
            layout.addWidget(cap)
    box.setAccessibleName(f"{' or '.join(key_text(key) for key in row.keys)}: {row.what}")
    return box
