"""The strips below one another, of which only those that are seen hold sound in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from PySide6.QtCore import QEvent, QObject, QTimer, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QVBoxLayout, QWidget

from app.audio.take_buffer import TakeBuffer
from app.ui.metrics import TIGHT
from app.ui.take_strip import TakeStrip


class TakeList(QScrollArea):
    """Hundreds of takes of minutes would else fill the memory as soon as they are listed."""

    def __init__(
        self,
        buffer_of: Callable[[str], TakeBuffer],
        furnished: Callable[[], None],
        following: QWidget,
        parent: QWidget | None = None,
    ) -> None:
        """`buffer_of` gives the sound of a take; `furnished` is called when strips got theirs.

        From the last strip Tab goes on to `following`.
        """
        super().__init__(parent)
        self._buffer_of = buffer_of
        self._furnished = furnished
        self._following = following
        self._strips: tuple[TakeStrip, ...] = ()
        self._is_chained = True  # Tab goes through the strips from top to bottom
        self._to_reveal: TakeStrip | None = None
        self._content = QWidget(self)
        self._content.installEventFilter(self)
        self._column = QVBoxLayout(self._content)
        self._column.setContentsMargins(0, 0, TIGHT, 0)
        self._column.setSpacing(TIGHT)
        self._column.addStretch(1)
        self._soon = QTimer(self)  # when the strips have found their places
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self._settle)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidget(self._content)
        self.verticalScrollBar().valueChanged.connect(self.furnish)

    @property
    def strips(self) -> tuple[TakeStrip, ...]:
        """From top to bottom."""
        return self._strips

    def arrange(self, strips: Sequence[TakeStrip]) -> None:
        """Show these from top to bottom; others are deleted."""
        before, self._strips = self._strips, tuple(strips)
        wanted = set(self._strips)
        staying = [strip for strip in before if strip in wanted]
        for strip in before:
            if strip not in wanted:
                self._remove(strip)
        self._place(staying)
        self._is_chained = self._is_chained and self._strips == before
        self._soon.start()

    def _remove(self, strip: TakeStrip) -> None:
        focus = QApplication.focusWidget()
        self._column.removeWidget(strip)
        if focus is not None and (focus is strip or strip.isAncestorOf(focus)):
            self.setFocus()
        strip.hide()  # it is deleted only after what happens now
        strip.deleteLater()

    def _place(self, staying: Sequence[TakeStrip]) -> None:
        """Put every strip into its place; the column holds `staying`, in this order."""
        here = set(staying)
        moved: set[TakeStrip] = set()
        rest = iter(staying)
        next_one = next(rest, None)
        for place, strip in enumerate(self._strips):
            while next_one in moved:
                next_one = next(rest, None)
            if strip is next_one:
                next_one = next(rest, None)
                continue
            if strip in here:
                moved.add(strip)
                self._column.removeWidget(strip)
            self._column.insertWidget(place, strip)
            strip.show()  # else it is only from the next turn of the event loop on

    def reveal(self, strip: TakeStrip) -> None:
        """Scroll until a strip is seen."""
        self.ensureWidgetVisible(strip, 0, TIGHT)

    def reveal_soon(self, strip: TakeStrip) -> None:
        """Scroll there when all strips have found their places."""
        self._to_reveal = strip
        self._soon.start()

    @Slot()
    def _settle(self) -> None:
        """What is due once after all that happens at the same time: takes come in dozens."""
        if not self._is_chained:
            self._is_chained = True
            self._chain_focus()
        if self._to_reveal in self._strips:
            self.reveal(self._to_reveal)
        self._to_reveal = None
        self.furnish()

    @Slot()
    def furnish(self) -> None:
        """Give the strips that are seen their sound, and take it from the others."""
        seen = self.viewport().rect().translated(0, -self._content.y())
        for strip in self._strips:
            if not strip.is_live:
                in_sight = strip.geometry().intersects(seen)
                strip.set_buffer(self._buffer_of(strip.take.id) if in_sight else None)
        self._furnished()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._soon.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self._content:
            self._soon.start()
        return super().eventFilter(watched, event)

    def _chain_focus(self) -> None:
        """Let Tab go through the strips from top to bottom, whenever they were made."""
        chain = [widget for strip in self._strips for widget in strip.focus_chain()]
        for widget, next_one in pairwise([*chain, self._following]):
            self.setTabOrder(widget, next_one)
