"""The buttons beside a waveform: nearer, farther, all of it, and the spectrogram."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.ui.controls import tool_button
from app.ui.shortcuts import key_text
from app.ui.timeline_view import ZOOM_STEP
from app.ui.waveform import WaveformView


class WaveTools(QWidget):
    """Works on one waveform, which has the same by keyboard, the spectrogram aside."""

    def __init__(self, wave: WaveformView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._wave = wave
        zoom_in = tool_button("zoom-in", f"Zoom in ({key_text('+')})", self)
        zoom_out = tool_button("zoom-out", f"Zoom out ({key_text('-')})", self)
        fit = tool_button("zoom-fit", f"Show all of it ({key_text('0')})", self)
        spectrogram = tool_button("spectrogram", "Show the spectrogram", self)
        spectrogram.setCheckable(True)
        zoom_in.clicked.connect(self._on_zoom_in)
        zoom_out.clicked.connect(self._on_zoom_out)
        fit.clicked.connect(wave.fit)
        spectrogram.toggled.connect(wave.show_spectrogram)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for button in (zoom_in, zoom_out, fit, spectrogram):
            layout.addWidget(button)

    @Slot()
    def _on_zoom_in(self) -> None:
        self._wave.zoom(ZOOM_STEP)

    @Slot()
    def _on_zoom_out(self) -> None:
        self._wave.zoom(1 / ZOOM_STEP)
