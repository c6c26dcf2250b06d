"""Lays notices over the window, so that nothing moves when one comes or goes."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Slot
from PySide6.QtWidgets import QApplication, QWidget

from app.ui.banner import Banner
from app.ui.metrics import GAP, TIGHT

MOST_WIDTH: Final = 820


class NoticePlace(QObject):
    """Keeps the banner at the lower end of `usual`, or at the top where that hides the focus."""

    def __init__(self, banner: Banner, window: QWidget, usual: QWidget) -> None:
        """`window` is what the banner lies on, and `usual` a part of it."""
        super().__init__(window)
        self._banner, self._window, self._usual = banner, window, usual
        banner.setParent(window)
        banner.hide()
        for widget in (banner, window, usual):
            widget.installEventFilter(self)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._on_focus)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kinds = QEvent.Type
        if watched is self._banner:
            if event.type() in (kinds.Show, kinds.LayoutRequest):
                self._place()
        elif event.type() in (kinds.Resize, kinds.Move, kinds.Show, kinds.Hide):
            self._place()
        return super().eventFilter(watched, event)

    @Slot()
    def _on_focus(self) -> None:
        focus = QApplication.focusWidget()
        if focus is not None and self._hides(self._banner.geometry()):
            self._place()

    def _place(self) -> None:
        if self._banner.isHidden():
            return
        below, above = self._below(), self._above()
        place = above if self._hides(below) and not self._hides(above) else below
        if place != self._banner.geometry():
            self._banner.setGeometry(place)
        self._banner.raise_()

    def _below(self) -> QRect:
        """At the lower end of the usual place; at that of the window if it is not shown."""
        room = QRect(self._window.rect())
        if self._usual.isVisibleTo(self._window):
            corner = self._usual.mapTo(self._window, QPoint(0, 0))
            room = QRect(corner, self._usual.size())
        size = self._size(room.width())
        top = max(room.bottom() + 1 - size.height(), 0)
        return QRect(QPoint(room.center().x() - size.width() // 2, top), size)

    def _above(self) -> QRect:
        size = self._size(self._window.width())
        return QRect(QPoint((self._window.width() - size.width()) // 2, TIGHT), size)

    def _size(self, room: int) -> QSize:
        width = min(room - 2 * GAP, MOST_WIDTH)
        layout = self._banner.layout()
        needed = 0 if layout is None else layout.totalHeightForWidth(width)
        return QSize(width, needed if needed > 0 else self._banner.sizeHint().height())

    def _hides(self, place: QRect) -> bool:
        """Whether what has the focus would lie below a banner at this place."""
        focus = QApplication.focusWidget()
        if focus is None or not self._window.isAncestorOf(focus):
            return False
        if self._banner.isAncestorOf(focus):
            return False
        corner = focus.mapTo(self._window, QPoint(0, 0))
        return place.intersects(QRect(corner, focus.size()))
