"""Keeps the recordings of voices that were listened to lately, as much of them as memory allows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final

from app.audio.take_buffer import TakeBuffer
from app.core.voice_record import LibraryVoice
from app.jobs.background import Background
from engine import ExplainedError
from engine.audio import MODEL_RATE, read_audio

MOST_SAMPLES: Final = 8  # of 10 minutes at most, which are 58 MB


class VoiceSamples:
    """Buffers by voice and file, filled in the background."""

    def __init__(
        self, background: Background, on_problem: Callable[[ExplainedError], object]
    ) -> None:
        self._background = background
        self._on_problem = on_problem
        self._buffers: OrderedDict[tuple[str, Path], TakeBuffer] = OrderedDict()

    def get(self, voice: LibraryVoice) -> TakeBuffer | None:
        """The recording of a voice at 24 kHz, the models' rate; None if it has none."""
        path = voice.recording
        if path is None:
            return None
        key = (voice.id, path)
        if key in self._buffers:
            self._buffers.move_to_end(key)
            return self._buffers[key]
        buffer = TakeBuffer(MODEL_RATE)

        def work() -> None:
            try:
                buffer.append(read_audio(path).at(MODEL_RATE))
            finally:
                buffer.finish()

        def failed(error: ExplainedError) -> None:
            self._buffers.pop(key, None)  # it may be there the next time
            self._on_problem(error)

        self._background.run(work, None, failed)
        self._buffers[key] = buffer
        while len(self._buffers) > MOST_SAMPLES:
            self._buffers.popitem(last=False)
        return buffer

    def forget(self, voice: LibraryVoice) -> None:
        """Drop what a voice has no more: a renamed one has its recording in another folder."""
        for key in [key for key in self._buffers if key[0] == voice.id]:
            if key[1] != voice.recording:
                del self._buffers[key]
