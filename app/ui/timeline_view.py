"""A widget that shows a part of some audio: fitting, zooming, scrolling."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Slot
from PySide6.QtGui import QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QScrollBar, QWidget

from app.ui.time_axis import Range, Viewport

ZOOM_STEP = 1.25
WHEEL_NOTCH = 120
SCROLL_SHARE = 0.15  # of the view, per notch of the wheel
SCROLL_UNITS = 1_000_000  # of the scroll bar, whose own numbers are too small for long audio
RANGE_MARGIN = 0.1  # of a range, shown on each side of it


class TimelineView(QWidget):
    """Keeps a viewport within the audio; follows its growth while all of it is shown."""

    def __init__(self, *, can_zoom: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._can_zoom = can_zoom
        self._length = 0  # samples that are shown
        self._expected = 0
        self._is_fitted = True
        self._view = Viewport(0.0, 1.0, 1.0)
        self._bar = QScrollBar(Qt.Orientation.Horizontal, self)
        self._bar.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._bar.setAccessibleName("Scroll the waveform")
        self._bar.setCursor(Qt.CursorShape.ArrowCursor)
        self._bar.hide()
        self._bar.valueChanged.connect(self._on_bar)

    @property
    def view(self) -> Viewport:
        """The samples that are visible."""
        return self._view

    def set_expected(self, samples: int) -> None:
        """Leave room for audio of that length while it is made."""
        if samples != self._expected:
            self._expected = samples
            self._refit()

    def fit(self) -> None:
        """Show all of the audio."""
        self._is_fitted = True
        self._refit()

    def zoom(self, factor: float, at: float | None = None) -> None:
        """Come closer by a factor, around a sample or the middle."""
        if at is None:
            at = (self._view.start + self._view.end) / 2
        self._show(self._view.zoomed(factor, at, self._extent))

    def scroll_by(self, share: float) -> None:
        """Move later by a share of the view."""
        self._show(self._view.moved(share * self._view.span, self._extent))

    def show_range(self, chosen: Range) -> None:
        """Zoom so that a range fills most of the view."""
        margin = RANGE_MARGIN * chosen.length
        view = Viewport(chosen.start - margin, chosen.end + margin, self._view.width)
        self._show(view.zoomed(1.0, (chosen.start + chosen.end) / 2, self._extent))

    def show_view(self, view: Viewport) -> None:
        """Show a part again that was shown before, at the width that there is now."""
        self._show(view.resized(self._view.width))

    @property
    def _extent(self) -> int:
        return max(self._length, self._expected)

    def _set_length(self, samples: int) -> None:
        self._length = samples
        self._refit()

    def _refit(self) -> None:
        if self._is_fitted:
            self._view = self._view.fitted(self._extent)
        self._update_bar()
        self.update()

    def _show(self, view: Viewport) -> None:
        self._is_fitted = view.span >= self._extent
        self._view = view.fitted(self._extent) if self._is_fitted else view
        self._update_bar()
        self.update()

    def _update_bar(self) -> None:
        is_needed = self._can_zoom and not self._is_fitted and self._extent > self._view.span
        if is_needed:
            with QSignalBlocker(self._bar):
                page = max(1, round(SCROLL_UNITS * self._view.span / self._extent))
                self._bar.setPageStep(page)
                self._bar.setSingleStep(max(1, page // 10))
                self._bar.setRange(0, SCROLL_UNITS - page)
                self._bar.setValue(round(SCROLL_UNITS * self._view.start / self._extent))
        if is_needed == self._bar.isHidden():
            self._bar.setVisible(is_needed)

    @Slot(int)
    def _on_bar(self, value: int) -> None:
        start = value / SCROLL_UNITS * self._extent
        self._show(self._view.moved(start - self._view.start, self._extent))

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not self._can_zoom or not self._length:
            event.ignore()
            return
        down, sideways = event.angleDelta().y(), event.angleDelta().x()
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not sideways:
            down, sideways = 0, down
        if abs(sideways) > abs(down):
            self.scroll_by(-sideways / WHEEL_NOTCH * SCROLL_SHARE)
        else:
            at = self._view.sample(event.position().x())
            self.zoom(ZOOM_STEP ** (down / WHEEL_NOTCH), at)
        event.accept()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._view = self._view.resized(max(self.width(), 1))
        height = self._bar.sizeHint().height()
        self._bar.setGeometry(1, self.height() - height - 1, self.width() - 2, height)
        super().resizeEvent(event)
