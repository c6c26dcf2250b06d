"""Shows audio over time: waveform or spectrogram, ruler, playhead, range and suggestion."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QThreadPool, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.colours import Colours
from app.ui.live import LiveTimer
from app.ui.metrics import CAPTION, scaled_font
from app.ui.spectrogram import Spectrograms
from app.ui.time_axis import Range, clock
from app.ui.timeline_view import TimelineView
from app.ui.wave_layer import RULER, AudioSource, LayerKey, WaveLayer
from app.ui.wave_overlay import (
    Canvas,
    RangeLook,
    draw_frame,
    draw_placeholder,
    draw_playhead,
    draw_pointer,
    draw_range,
    draw_suggestion,
)

HEAD_REACH = 8  # pixels beside the position that the playhead covers
LEAST_HEIGHT, LEAST_STRIP = 60, 28  # of a waveform below its ruler, and of a compact one


class WaveDisplay(TimelineView):
    """Draws; what the user does with it is left to `WaveformView`."""

    def __init__(
        self,
        timer: LiveTimer,
        pool: QThreadPool | None = None,
        *,
        compact: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(can_zoom=not compact, parent=parent)
        self._timer = timer
        self._compact = compact
        self._layer = WaveLayer(Spectrograms(pool) if pool is not None else None)
        self._has_spectrogram = pool is not None
        self._source: AudioSource | None = None
        self._position: int | None = None
        self._range: Range | None = None
        self._suggestion: Range | None = None
        self._look = RangeLook.LOOP
        self._shows_spectrogram = False
        self._placeholder = ""
        self._hover_x: float | None = None
        self._is_watching = False
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName("Waveform")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(LEAST_STRIP if compact else RULER + LEAST_HEIGHT)

    # What is shown

    @property
    def source(self) -> AudioSource | None:
        return self._source

    @property
    def position(self) -> int | None:
        return self._position

    @property
    def range(self) -> Range | None:
        return self._range

    @property
    def shows_spectrogram(self) -> bool:
        return self._shows_spectrogram

    def set_source(self, source: AudioSource | None) -> None:
        """Show other audio, all of it; position, range and suggestion are cleared."""
        self._source = source
        self._layer.set_source(source)
        self._expected = 0
        self._position = self._range = self._suggestion = None
        self._set_length(source.length if source is not None else 0)
        self.fit()
        if source is not None and not source.is_finished:
            self._watch()
        self._describe()

    def set_position(self, sample: int | None) -> None:
        """Move the playhead; a view that showed it turns the page when it leaves."""
        if sample == self._position:
            return
        before, self._position = self._position, sample
        for moved in (before, sample):
            if moved is not None:
                self._update_at(moved)
        if before is None or sample is None or not self._sees(before) or self._sees(sample):
            return
        self._show(self._view.moved(sample - self._view.start, self._extent))

    def set_range(self, chosen: Range | None) -> None:
        """Show a range; no signal is sent."""
        self._range = chosen if chosen is not None and chosen.length > 0 else None
        self.update()

    def set_range_look(self, look: RangeLook) -> None:
        self._look = look
        self.update()

    def set_suggestion(self, suggestion: Range | None) -> None:
        """Mark a range as worth choosing."""
        self._suggestion = suggestion
        self.update()

    def set_placeholder(self, text: str) -> None:
        """What is written where there is no audio."""
        self._placeholder = text
        self._describe()
        self.update()

    def show_spectrogram(self, shown: bool) -> None:
        """Switch between waveform and spectrogram."""
        self._shows_spectrogram = shown and self._has_spectrogram
        self.setAccessibleName("Spectrogram" if self._shows_spectrogram else "Waveform")
        self.update()

    @Slot()
    def refresh(self) -> None:
        """Look for new audio and finished spectrograms."""
        source = self._source
        finished = source is None or source.is_finished  # before the length, which may still grow
        if source is not None and source.length != self._length:
            before, rate = self._length, source.rate
            self._set_length(source.length)
            if before // rate != self._length // rate:
                self._describe()  # not more often, for a screen reader hears of each change
        if self._layer.collect():
            self.update()
        if finished and not self._layer.is_waiting and self._is_watching:
            self._is_watching = False
            self._timer.unwatch(self.refresh)
            self._describe()

    def _watch(self) -> None:
        if not self._is_watching:
            self._is_watching = True
            self._timer.watch(self.refresh)

    def zoom(self, factor: float, at: float | None = None) -> None:
        """Come closer by a factor, around a sample, the playhead if it is seen, or the middle."""
        if at is None and self._position is not None:
            at = self._position if self._sees(self._position) else None
        super().zoom(factor, at)

    def _sees(self, sample: int) -> bool:
        return self._view.start <= sample <= self._view.end

    def _update_at(self, sample: int) -> None:
        """Draw the playhead's surroundings again, if they are seen."""
        x = self._view.x(sample)
        if -HEAD_REACH <= x <= self.width() + HEAD_REACH:  # else it may exceed Qt's integers
            self.update(int(x) - HEAD_REACH, 0, 2 * HEAD_REACH + 1, self.height())

    # Drawing

    def sizeHint(self) -> QSize:
        return QSize(240, 40) if self._compact else QSize(640, 180)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(scaled_font(self, CAPTION))
        key = LayerKey(
            view=self._view,
            size=self.size(),
            bottom=0 if self._bar.isHidden() else self._bar.height(),
            ratio=self.devicePixelRatioF(),
            colours=Colours.of(self.palette()),
            font=painter.font().key(),
            known=int(min(self._length, self._view.end + 1)),
            compact=self._compact,
            spectrogram=self._shows_spectrogram,
        )
        painter.drawPixmap(0, 0, self._layer.pixmap(key, painter.font()))
        if self._layer.is_waiting:
            self._watch()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._draw_overlay(
            Canvas(painter, key.view, key.area, key.colours, key.ratio, self._compact)
        )
        painter.end()

    def _draw_overlay(self, canvas: Canvas) -> None:
        if not self._length:
            draw_placeholder(canvas, self._placeholder)
        if self._suggestion is not None:
            draw_suggestion(canvas, self._suggestion)
        if self._range is not None:
            draw_range(canvas, self._range, self._look)
        if self._hover_x is not None and self._source is not None and self._length:
            time = clock(self._view.sample(self._hover_x) / self._source.rate, 2)
            draw_pointer(canvas, self._hover_x, time)
        if self._position is not None:
            draw_playhead(canvas, self._position)
        draw_frame(canvas, QRectF(self.rect()), has_focus=self.hasFocus())

    def changeEvent(self, event: QEvent) -> None:
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self.update()
        super().changeEvent(event)

    def _describe(self) -> None:
        """What a screen reader says."""
        if self._source is None:
            self.setAccessibleDescription(self._placeholder or "No audio")
            return
        rate = self._source.rate
        parts = [f"{clock(self._length / rate)} long"]
        if self._position is not None:
            parts.append(f"playhead at {clock(self._position / rate, 2)}")
        if self._range is not None:
            start, end = self._range.start / rate, self._range.end / rate
            parts.append(f"range from {clock(start, 2)} to {clock(end, 2)}")
        self.setAccessibleDescription(", ".join(parts))
