"""Lets a position and a range be chosen in a waveform, by mouse and by keyboard."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QEvent, Qt, QThreadPool, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.ui.live import LiveTimer
from app.ui.time_axis import Range
from app.ui.timeline_view import ZOOM_STEP
from app.ui.wave_display import WaveDisplay
from app.ui.wave_layer import AudioSource
from app.ui.wave_overlay import RangeLook

SEEK_SHARE = 0.02  # of the view, per arrow key
FINE_SECONDS = 0.01  # per arrow key with Ctrl
PAGE_SHARE = 0.9  # of the view, per page key
HANDLE_REACH = 7  # pixels beside a handle that still take hold of it


class _Drag(Enum):
    NONE = 0
    PRESSED = 1  # a click so far
    RANGE = 2  # the end that is not the anchor follows the pointer


class WaveformView(WaveDisplay):
    """A waveform or spectrogram with ruler, playhead and range.

    It asks for seeks and reports ranges; the owner answers by `set_position`. Give `pool` to
    offer the spectrogram. `compact` is the strip of a take: no ruler, no zoom.
    """

    seek_requested = Signal(object)  # int, a sample
    range_changed = Signal(object)  # Range | None, also in the middle of a drag
    range_committed = Signal(object)  # Range | None, when the user let go

    def __init__(
        self,
        timer: LiveTimer,
        pool: QThreadPool | None = None,
        *,
        compact: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(timer, pool, compact=compact, parent=parent)
        self._drag = _Drag.NONE
        self._pressed_x = 0.0
        self._anchor = 0
        self.setMouseTracking(not compact)
        if compact:
            self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        else:
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            self.setToolTip(
                "Click to move the playhead, drag to choose a range, turn the wheel to zoom"
            )

    def set_source(self, source: AudioSource | None) -> None:
        """Show other audio, all of it; position, range and suggestion are cleared."""
        self._drag = _Drag.NONE
        super().set_source(source)

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or not self._length:
            event.ignore()
            return
        x = event.position().x()
        self._pressed_x = x
        grabbed = self._edge_at(x)
        if grabbed is not None:
            self._anchor = grabbed
            self._drag = _Drag.RANGE
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self._range is not None:
            self._anchor = self._far_edge(self._range, self._sample_at(x))
            self._drag = _Drag.RANGE
            self._drag_to(x)
        else:
            self._anchor = self._sample_at(x)
            self._drag = _Drag.PRESSED

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        x = event.position().x()
        far_enough = abs(x - self._pressed_x) >= QApplication.startDragDistance()
        if self._drag is _Drag.PRESSED and far_enough and not self._compact:
            self._drag = _Drag.RANGE
        if self._drag is _Drag.RANGE:
            self._drag_to(x)
        self._set_hover(x)
        grabs = self._drag is _Drag.RANGE or self._edge_at(x) is not None
        self.setCursor(Qt.CursorShape.SizeHorCursor if grabs else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        drag, self._drag = self._drag, _Drag.NONE
        if drag is _Drag.PRESSED:
            self._seek(self._anchor)
        elif drag is _Drag.RANGE:
            self._commit()
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self._compact:
            event.ignore()  # for the strip it lies in
        elif self._look is RangeLook.LOOP and self._range is not None:
            self._choose(None)

    def leaveEvent(self, event: QEvent) -> None:
        self._set_hover(None)

    def _set_hover(self, x: float | None) -> None:
        if not self._compact:
            self._hover_x = x
            self.update()

    def _edge_at(self, x: float) -> int | None:
        """The edge of the range that stays when the one at `x` is dragged."""
        if self._range is None or self._compact:
            return None
        to_start = abs(x - self._view.x(self._range.start))
        to_end = abs(x - self._view.x(self._range.end))
        if min(to_start, to_end) > HANDLE_REACH:
            return None
        return self._range.end if to_start < to_end else self._range.start

    @staticmethod
    def _far_edge(chosen: Range, sample: int) -> int:
        nearer_start = abs(sample - chosen.start) < abs(sample - chosen.end)
        return chosen.end if nearer_start else chosen.start

    def _sample_at(self, x: float) -> int:
        return min(max(round(self._view.sample(x)), 0), self._length)

    def _drag_to(self, x: float) -> None:
        chosen = Range.between(self._anchor, self._sample_at(x))
        if chosen.length and chosen != self._range:
            self._range = chosen
            self.range_changed.emit(chosen)
            self.update()

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._length or not self._on_key(event):
            super().keyPressEvent(event)

    def _on_key(self, event: QKeyEvent) -> bool:
        key, modifiers = event.key(), event.modifiers()
        position = self._position or 0
        match key:
            case Qt.Key.Key_Left | Qt.Key.Key_Right:
                self._step(-1 if key == Qt.Key.Key_Left else 1, modifiers)
            case Qt.Key.Key_Home:
                self._seek(0)
            case Qt.Key.Key_End:
                self._seek(self._length)
            case Qt.Key.Key_PageUp | Qt.Key.Key_PageDown:
                self.scroll_by(-PAGE_SHARE if key == Qt.Key.Key_PageUp else PAGE_SHARE)
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.zoom(ZOOM_STEP)
            case Qt.Key.Key_Minus | Qt.Key.Key_Underscore:
                self.zoom(1 / ZOOM_STEP)
            case Qt.Key.Key_0:
                self.fit()
            case Qt.Key.Key_BracketLeft:
                end = self._range.end if self._range is not None else self._length
                self._choose(Range.between(position, end))
            case Qt.Key.Key_BracketRight:
                start = self._range.start if self._range is not None else 0
                self._choose(Range.between(start, position))
            case Qt.Key.Key_Backslash:
                self._choose(None)
            case _:
                return False
        return True

    def _step(self, direction: int, modifiers: Qt.KeyboardModifier) -> None:
        assert self._source is not None
        before = self._position or 0
        fine = modifiers & Qt.KeyboardModifier.ControlModifier
        step = FINE_SECONDS * self._source.rate if fine else SEEK_SHARE * self._view.span
        after = self._seek(before + direction * max(1, round(step)))
        if modifiers & Qt.KeyboardModifier.ShiftModifier:
            chosen = self._range or Range(before, before)
            self._choose(Range.between(self._far_edge(chosen, before), after))

    def _seek(self, sample: int) -> int:
        sample = min(max(sample, 0), self._length)
        self.set_position(sample)
        self.seek_requested.emit(sample)
        self._describe()
        return sample

    def _choose(self, chosen: Range | None) -> None:
        if chosen is None or chosen.length:
            self._range = chosen
            self.range_changed.emit(chosen)
            self._commit()
            self.update()

    def _commit(self) -> None:
        self.range_committed.emit(self._range)
        self._describe()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._describe()
        super().focusInEvent(event)
        self.update()
