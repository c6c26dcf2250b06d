"""Puts alike widgets into as many equal columns as fit."""

from __future__ import annotations

from functools import reduce

from PySide6.QtCore import QRect, QSize

from app.ui.chips import FlowLayout


class ColumnLayout(FlowLayout):
    """Columns are as wide as the widest widget needs at least, and share what room is left."""

    def minimumSize(self) -> QSize:
        # A style sheet's least width takes the place of what a button's words need.
        widgets = [item.widget() for item in self._items if not item.isEmpty()]
        needs = [widget.minimumSizeHint() for widget in widgets if widget is not None]
        return reduce(QSize.expandedTo, needs, super().minimumSize())

    def columns(self, width: int) -> int:
        """How many stand side by side in so many pixels."""
        least = self.minimumSize().width() + self.spacing()
        return max(1, (width + self.spacing()) // least) if least > 0 else 1

    def _arrange(self, rect: QRect, *, move: bool) -> int:
        items = [item for item in self._items if not item.isEmpty()]
        columns = self.columns(rect.width())
        width = (rect.width() - (columns - 1) * self.spacing()) // columns
        y = rect.y()
        for start in range(0, len(items), columns):
            row = items[start : start + columns]
            height = max(item.sizeHint().height() for item in row)
            if move:
                for column, item in enumerate(row):
                    x = rect.x() + column * (width + self.spacing())
                    item.setGeometry(QRect(x, y, width, height))
            y += height + self.spacing()
        return max(y - self.spacing() - rect.y(), 0)
