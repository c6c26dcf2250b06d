"""The line at the bottom: which model, how fast, how much memory, and what is being done."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QSizePolicy, QWidget

from app.core.memory import resident_bytes
from app.studio.models import ModelState, ModelStatus
from app.studio.speech_state import SpeechPhase, SpeechState
from app.studio.studio import Studio
from app.studio.voice_making import MakingState
from app.ui.controls import muted_label
from app.ui.icons import icon
from app.ui.labels import ElidedLabel
from app.ui.metrics import GAP, ROOM, TIGHT
from app.ui.model_words import device_name, loading_sentence, short_name, speed_text
from app.ui.shortcuts import with_key

MEMORY_MILLISECONDS: Final = 2000
BAR_WIDTH: Final = 140
STEPS: Final = 1000  # of the progress bar
NO_MODEL: Final = "No model: choose one"


class StatusStrip(QWidget):
    """Left the model, right the memory, and between them the work with its Cancel."""

    models_requested = Signal()

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self._model = QPushButton(icon("model"), "", self)
        self._speed = muted_label(parent=self)
        self._sentence = ElidedLabel(parent=self)
        self._bar = QProgressBar(self)
        self._cancel = QPushButton("Cancel", self)
        self._memory = muted_label(parent=self)
        self._timer = QTimer(self)
        self._build()
        self._connect()
        self._show_memory()
        self._show()

    @property
    def is_busy(self) -> bool:
        """Whether there is something to cancel."""
        speaks = self._studio.speech.state.phase is not SpeechPhase.IDLE
        return self._loads() or speaks or bool(self._studio.maker.state.name)

    @Slot()
    def cancel(self) -> bool:
        """Stop what is being done; False if nothing was."""
        if self._loads():
            self._studio.models.cancel()
            return True
        return self._studio.speech.cancel() or self._studio.maker.stop()

    def _build(self) -> None:
        self._model.setProperty("kind", "quiet")
        self._model.setAccessibleName("Model")
        self._model.setToolTip(with_key("Choose a model", "models"))
        self._speed.setToolTip("How fast speech was made the last time, measured")
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(BAR_WIDTH)
        self._bar.setRange(0, STEPS)
        self._bar.setAccessibleName("Progress")
        self._sentence.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._cancel.setToolTip(with_key("Stop; what was made until now is kept", "cancel"))
        self._memory.setToolTip("Memory that the studio holds, the model included")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(TIGHT, 2, GAP, 2)
        layout.setSpacing(GAP)
        layout.addWidget(self._model)
        layout.addWidget(self._speed)
        layout.addSpacing(ROOM)
        layout.addWidget(self._bar)
        layout.addWidget(self._sentence, 1)
        layout.addWidget(self._cancel)
        layout.addSpacing(GAP)
        layout.addWidget(self._memory)
        self.setAccessibleName("Status")

    def _connect(self) -> None:
        self._model.clicked.connect(self.models_requested)
        self._cancel.clicked.connect(self.cancel)
        self._studio.models.changed.connect(self._show)
        self._studio.models.looking_changed.connect(self._show)
        self._studio.speech.changed.connect(self._show)
        self._studio.maker.changed.connect(self._show)
        self._timer.setInterval(MEMORY_MILLISECONDS)
        self._timer.timeout.connect(self._show_memory)
        self._timer.start()

    def _loads(self) -> bool:
        return self._studio.models.state.status is ModelStatus.LOADING

    @Slot()
    def _show(self) -> None:
        models, speech = self._studio.models.state, self._studio.speech.state
        self._show_model(models)
        self._show_work(models, speech, self._studio.maker.state)

    def _show_model(self, state: ModelState) -> None:
        if state.description is None:
            looking = self._studio.models.is_looking
            self._model.setText("Looking for models" if looking else NO_MODEL)
            self._model.setAccessibleDescription(self._model.text())
            self._speed.setText("")
            return
        name = short_name(state.description)
        self._model.setText(name)
        parts = [] if state.loaded is None else [device_name(state.loaded.device)]
        if self._studio.speech.speed > 0 and state.loaded is not None:
            parts.append(speed_text(self._studio.speech.speed))
        self._speed.setText(" \N{MIDDLE DOT} ".join(parts))
        self._model.setAccessibleDescription(", ".join((name, *parts)))

    def _show_work(self, models: ModelState, speech: SpeechState, making: MakingState) -> None:
        loading = models.status is ModelStatus.LOADING
        if loading:
            sentence, share = loading_sentence(models), _share(models.done, models.total)
        elif speech.phase is not SpeechPhase.IDLE:
            sentence = speech.sentence
            known = speech.phase is SpeechPhase.SPEAKING
            share = _share(speech.made, speech.expected) if known else None
        else:
            sentence = making.sentence
            share = _share(making.done, making.total) if making.total > 1 else None
        self._sentence.setText(sentence)
        self._bar.setVisible(bool(sentence))
        self._cancel.setVisible(bool(sentence))
        # A bar without an end is animated; one at rest must not be, it would use the processor.
        self._bar.setRange(0, STEPS if share is not None or not sentence else 0)
        self._bar.setValue(round((share or 0.0) * STEPS))
        self._bar.setAccessibleDescription(sentence)

    @Slot()
    def _show_memory(self) -> None:
        held = resident_bytes()
        self._memory.setText("" if held is None else f"{held / 1e9:.1f} GB")
        self._memory.setAccessibleName(f"Memory: {self._memory.text()}")


def _share(done: float, total: float) -> float | None:
    """How much is done, 0 to 1; None if nobody knows."""
    return min(done / total, 1.0) if total > 0 else None
