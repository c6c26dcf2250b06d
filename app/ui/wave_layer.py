"""Draws what changes only with zoom, size, theme or new audio: ruler, waveform, spectrogram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPixmap, QPolygonF

from app.audio.peaks import Peaks
from app.ui.colours import Colours, blend, translucent
from app.ui.spectrogram import SampleSource, Section, Spectrograms, mel, top_frequency
from app.ui.time_axis import Viewport, ticks
from app.ui.wave_drawing import amplitude_to_y, clipped_columns, envelope_image, heat_image

RULER = 24  # height
LABEL_ROOM = 84  # from one label of the ruler to the next
DOTS_FROM = 8.0  # pixels per sample, from which on each gets a dot
DOT = 2.5  # its radius
LEAST_THICKNESS = 1.25  # that silence is drawn with
CLIP_MARK = 4.0  # half the width of a clip mark
SPECTROGRAM_COLUMNS = 2000  # at most
FREQUENCIES = (500, 1000, 2000, 4000, 8000)  # Hz


class AudioSource(SampleSource, Protocol):
    """Audio that may still grow; see `app.audio.take_buffer.TakeBuffer`."""

    @property
    def length(self) -> int:
        """Samples so far."""

    @property
    def is_finished(self) -> bool:
        """True when it will grow no more."""

    def peaks(self, start: int, end: int, columns: int) -> Peaks:
        """Lowest and highest samples in so many equal parts, NaN where nothing is."""


@dataclass(frozen=True)
class LayerKey:
    """What a drawn layer depends on; equal keys look equal."""

    view: Viewport
    size: QSize
    bottom: int  # height that is left to the scroll bar
    ratio: float
    colours: Colours
    font: str
    known: int  # samples there are within the view
    compact: bool
    spectrogram: bool

    @property
    def area(self) -> QRectF:
        """Where the audio is drawn: between ruler and scroll bar."""
        ruler = 0 if self.compact else RULER
        return QRectF(0, ruler, self.size.width(), self.size.height() - ruler - self.bottom)


class WaveLayer:
    """Keeps the drawing until one of the things changes that it depends on."""

    def __init__(self, spectrograms: Spectrograms | None) -> None:
        self._spectrograms = spectrograms
        self._source: AudioSource | None = None
        self._key: LayerKey | None = None
        self._pixmap = QPixmap()

    @property
    def is_waiting(self) -> bool:
        """True while a spectrogram is being computed."""
        return self._spectrograms is not None and self._spectrograms.is_working

    def set_source(self, source: AudioSource | None) -> None:
        self._source = source
        self._key = None
        if self._spectrograms is not None:
            self._spectrograms.set_source(source)

    def collect(self) -> bool:
        """Take over a spectrogram that is ready; True if the layer must be drawn again."""
        if self._spectrograms is None or not self._spectrograms.collect():
            return False
        self._key = None
        return True

    def pixmap(self, key: LayerKey, font: QFont) -> QPixmap:
        """The layer, drawn now if needed."""
        if key != self._key:
            self._key = key
            self._pixmap = QPixmap(key.size * key.ratio)
            self._pixmap.setDevicePixelRatio(key.ratio)
            self._pixmap.fill(QColor(key.colours.field))
            painter = QPainter(self._pixmap)
            painter.setFont(font)
            self._draw(painter, key)
            painter.end()
        return self._pixmap

    def _draw(self, painter: QPainter, key: LayerKey) -> None:
        area = key.area
        if self._source is None:
            return
        rate = self._source.rate
        if key.spectrogram:
            self._draw_spectrogram(painter, key, area)
        elif not key.compact:
            _draw_grid(painter, key, area, rate)
        if not key.compact:
            _draw_ruler(painter, key, rate)
        low, high = self._columns(key)
        if not key.spectrogram:
            height = round(area.height() * key.ratio)
            thickness = LEAST_THICKNESS * key.ratio
            image = envelope_image(low, high, height, thickness, key.colours.wave)
            image.setDevicePixelRatio(key.ratio)
            painter.drawImage(area.topLeft(), image)
            if key.view.width / key.view.span >= DOTS_FROM:
                self._draw_dots(painter, key, area)
        _draw_clip_marks(painter, key, area, clipped_columns(low, high))

    def _columns(self, key: LayerKey) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The extremes at each pixel of the screen.

        The first column begins at a multiple of its width, so that columns hold the same samples
        wherever the view is scrolled to: the shape glides, it does not shimmer.
        """
        assert self._source is not None
        view = key.view
        columns = max(1, round(key.size.width() * key.ratio))
        width = view.span / columns
        if width < 1:
            return self._line(view, columns)
        start = round(view.start / width) * width
        peaks = self._source.peaks(round(start), round(start + view.span), columns)
        return peaks.low, peaks.high

    def _line(
        self, view: Viewport, columns: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """A straight line from sample to sample, at the middle of each pixel of the screen."""
        first, samples = self._samples(view)
        at = view.start + (np.arange(columns) + 0.5) * view.span / columns - first
        values = np.full(columns, np.nan, np.float32)
        inside = (at >= 0) & (at <= len(samples) - 1)
        if inside.any():
            values[inside] = np.interp(at[inside], np.arange(len(samples)), samples)
        return values, values

    def _samples(self, view: Viewport) -> tuple[int, NDArray[np.float32]]:
        """The samples of a close view and their neighbours, with the position of the first."""
        assert self._source is not None
        first = max(int(view.start) - 1, 0)
        return first, self._source.read(first, int(view.span) + 4)

    def _draw_dots(self, painter: QPainter, key: LayerKey, area: QRectF) -> None:
        first, samples = self._samples(key.view)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(key.colours.wave))
        for index, sample in enumerate(samples.tolist()):
            y = area.top() + amplitude_to_y(sample, area.height())
            painter.drawEllipse(QPointF(key.view.x(first + index), y), DOT, DOT)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)

    def _draw_spectrogram(self, painter: QPainter, key: LayerKey, area: QRectF) -> None:
        assert self._spectrograms is not None
        assert self._source is not None
        wanted = Section(
            round(key.view.start),
            round(key.view.end),
            key.known,
            min(round(area.width() * key.ratio), SPECTROGRAM_COLUMNS),
            max(1, round(area.height() * key.ratio)),
        )
        picture = self._spectrograms.find(wanted)
        shown = (wanted, picture) if picture is not None else self._spectrograms.latest()
        if shown is None:
            return
        section, pixels = shown
        left, right = key.view.x(section.start), key.view.x(section.end)
        painter.save()
        painter.setClipRect(area)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        target = QRectF(left, area.top(), right - left, area.height())
        painter.drawImage(target, heat_image(pixels, key.colours.heat))
        painter.restore()
        _draw_frequencies(painter, key, area, self._source.rate)


def _hairline(painter: QPainter, key: LayerKey, x: float, top: float, bottom: float) -> None:
    """A line one pixel of the screen wide, lying on the pixels."""
    aligned = (round(x * key.ratio) + 0.5) / key.ratio
    painter.drawLine(QPointF(aligned, top), QPointF(aligned, bottom))


def _draw_grid(painter: QPainter, key: LayerKey, area: QRectF, rate: int) -> None:
    colours = key.colours
    painter.setPen(QPen(QColor(blend(colours.field, colours.line, 0.7)), 0))
    for tick in ticks(key.view, rate, LABEL_ROOM):
        if tick.label:
            _hairline(painter, key, tick.x, area.top(), area.bottom())
    middle = (round(area.center().y() * key.ratio) + 0.5) / key.ratio
    painter.drawLine(QPointF(0, middle), QPointF(area.right(), middle))


def _draw_ruler(painter: QPainter, key: LayerKey, rate: int) -> None:
    colours = key.colours
    painter.fillRect(QRectF(0, 0, key.size.width(), RULER), QColor(colours.surface))
    metrics = QFontMetricsF(painter.font())
    base = (RULER + metrics.capHeight()) / 2 - 1
    for tick in ticks(key.view, rate, LABEL_ROOM):
        painter.setPen(QPen(QColor(colours.edge if tick.label else colours.line), 0))
        _hairline(painter, key, tick.x, RULER - (8 if tick.label else 4), RULER)
        if tick.label:
            painter.setPen(QColor(colours.muted))
            painter.drawText(QPointF(tick.x + 4, base), tick.label)
    painter.setPen(QPen(QColor(colours.line), 0))
    edge = RULER - 0.5 / key.ratio
    painter.drawLine(QPointF(0, edge), QPointF(key.size.width(), edge))


def _draw_clip_marks(
    painter: QPainter, key: LayerKey, area: QRectF, columns: NDArray[np.int64]
) -> None:
    """A triangle at the top wherever the audio reaches full scale; near ones become one."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(key.colours.danger))
    next_free = -1.0
    for x in (columns / key.ratio).tolist():
        if x >= next_free:
            next_free = x + 2 * CLIP_MARK
            top = area.top()
            painter.drawPolygon(
                QPolygonF(
                    [
                        QPointF(x - CLIP_MARK, top),
                        QPointF(x + CLIP_MARK, top),
                        QPointF(x, top + 1.5 * CLIP_MARK),
                    ]
                )
            )
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)


def _draw_frequencies(painter: QPainter, key: LayerKey, area: QRectF, rate: int) -> None:
    top = top_frequency(rate)
    metrics = QFontMetricsF(painter.font())
    taken = area.bottom()  # from there down
    for frequency in FREQUENCIES:
        y = area.bottom() - float(mel(frequency) / mel(top)) * area.height()
        text = f"{frequency // 1000} kHz" if frequency >= 1000 else f"{frequency} Hz"
        width = metrics.horizontalAdvance(text) + 8
        box = QRectF(area.right() - width - 4, y - metrics.height() / 2, width, metrics.height())
        if frequency >= top or not area.contains(box) or box.bottom() > taken:
            continue
        taken = box.top()
        painter.fillRect(box, translucent(key.colours.field, 0.75))
        painter.setPen(QColor(key.colours.text))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
