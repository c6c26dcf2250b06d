"""Waits for a model that something is to be spoken with, and gives up when it does not come."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.studio.models import Models, ModelState, ModelStatus


class ModelWish(QObject):
    """One wish at a time; the newest counts."""

    ready = Signal()  # the model is loaded

    def __init__(self, models: Models, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._models = models
        self._talker: Path | None = None
        models.changed.connect(self._on_changed)
        models.problem.connect(self.drop)

    @property
    def is_open(self) -> bool:
        """Whether a model is waited for."""
        return self._talker is not None

    def load(self, talker: Path) -> None:
        """Load a talker and tell when it is there."""
        self._talker = talker
        self._models.load_talker(talker)

    def wait(self, talker: Path) -> None:
        """Tell when a talker is there that is being loaded already."""
        self._talker = talker

    @Slot()
    def drop(self) -> None:
        """Wait no longer; what is being loaded goes on."""
        self._talker = None

    @Slot(object)
    def _on_changed(self, state: ModelState) -> None:
        if self._talker is None:
            return
        is_ours = state.pair is not None and state.pair.talker == self._talker
        if state.status is ModelStatus.NONE or (
            state.status is ModelStatus.LOADING and not is_ours
        ):
            self.drop()  # it was cancelled, has failed, or somebody wants another one
        elif state.status is ModelStatus.LOADED and is_ours:
            self.drop()
            self.ready.emit()
