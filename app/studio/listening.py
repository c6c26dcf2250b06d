"""Finds speech in clips and writes it down, in a thread of its own, so that nobody waits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.core.reference import Reference
from app.core.transcription import (
    Recogniser,
    Transcription,
    find_transcriber,
    open_recogniser,
    transcribe,
)
from app.jobs.background import Background
from app.studio.clone_clip import Clip, DetectedSpeech, detect_speech
from engine import Cancelled, CancelToken, ExplainedError


class Listener(QObject):
    """One clip at a time. What is saved and listed meanwhile has the background for itself."""

    changed = Signal()  # `transcription`

    def __init__(
        self,
        folder: Path,
        background: Background,
        load: Callable[[Path], Recogniser] = open_recogniser,
        parent: QObject | None = None,
    ) -> None:
        """Recognisers are looked for in `folder`, once `look` was called."""
        super().__init__(parent)
        self._folder = folder
        self._background = background
        self._load = load
        self._thread = Background(self)
        self._transcription = Transcription(None)
        self._token: CancelToken | None = None
        self._detection = CancelToken()

    @property
    def transcription(self) -> Transcription:
        """Whether there is a recogniser."""
        return self._transcription

    def look(self) -> None:
        """Look for a recogniser again."""
        self._background.run(lambda: find_transcriber(self._folder), self._on_found)

    def listen(
        self,
        reference: Reference,
        language: str,
        done: Callable[[str], None],
        failed: Callable[[ExplainedError], None],
    ) -> None:
        """Write down what is said in the chosen part; after `cancel` neither is called."""
        self.cancel()
        model, load = self._transcription.model, self._load
        assert model is not None, "somebody has asked whether there is one"
        token = self._token = CancelToken()

        def work() -> str:
            try:
                part = reference.part()
                return transcribe(model, part, reference.rate, language, token, load)
            except Cancelled:
                return ""

        def heard(text: str) -> None:
            if self._token is token:
                self._token = None
                done(text)

        def broken(error: ExplainedError) -> None:
            if self._token is token:
                self._token = None
                failed(error)

        self._thread.run(work, heard, broken)

    def detect(self, clip: Clip, done: Callable[[DetectedSpeech], None]) -> None:
        """Find where somebody speaks in a clip, if that can be told; another one is left then."""
        self._detection.cancel()
        token = self._detection = CancelToken()

        def work() -> DetectedSpeech | None:
            try:
                return detect_speech(clip, token)
            except Cancelled:
                return None

        def found(speech: DetectedSpeech | None) -> None:
            if speech is not None and not token.is_set:
                done(speech)

        self._thread.run(work, found)

    def cancel(self) -> None:
        """Write down no more after the sentence that is being heard; nothing comes of it."""
        if self._token is not None:
            self._token.cancel()
            self._token = None

    def flush(self) -> bool:
        """Wait until what was asked for is done and told; False if it takes too long."""
        return self._thread.flush()

    def close(self) -> bool:
        """Stop and end the thread; False if it takes too long."""
        self._detection.cancel()
        self.cancel()
        return self._thread.close()

    def _on_found(self, found: Transcription) -> None:
        self._transcription = found
        self.changed.emit()
