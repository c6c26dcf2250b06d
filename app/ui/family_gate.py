"""Says which model a tab needs when another one or none is loaded, and loads it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QWidget

from app.studio.models import Models, ModelStatus
from app.ui.controls import main_button
from app.ui.inline_note import wrapped_label
from app.ui.metrics import GAP
from engine import Family, ModelDescription

NAMES = {
    Family.BASE: "Base",
    Family.CUSTOM_VOICE: "CustomVoice",
    Family.VOICE_DESIGN: "VoiceDesign",
}
"""What the families are called in the names of the published models."""

PURPOSES = {
    Family.BASE: "Speaking with cloned and locked voices",
    Family.CUSTOM_VOICE: "Speaking with the model's own speakers",
    Family.VOICE_DESIGN: "Designing voices from a description",
}


class FamilyGate(QWidget):
    """A line that is there only while the right model is not."""

    models_requested = Signal()

    def __init__(self, family: Family, models: Models, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._family, self._models = family, models
        self._offered: ModelDescription | None = None
        self._words = wrapped_label(parent=self)
        self._load = main_button("Load it", "model", self)
        self._load.clicked.connect(self._on_load)
        self._choose = QPushButton("Choose a model…", self)
        self._choose.clicked.connect(self.models_requested)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(GAP, GAP, GAP, GAP)
        layout.setSpacing(GAP)
        layout.addWidget(self._words, 1)
        layout.addWidget(self._load, 0, Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self._choose, 0, Qt.AlignmentFlag.AlignVCenter)
        self.setProperty("panel", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        models.changed.connect(self._sync)
        models.found_changed.connect(self._sync)
        self._sync()

    @property
    def is_open(self) -> bool:
        """Whether a model of the family is loaded."""
        state = self._models.state
        return (
            state.status is ModelStatus.LOADED
            and state.description is not None
            and state.description.family is self._family
        )

    @property
    def text(self) -> str:
        return self._words.text()

    @Slot()
    def _sync(self) -> None:
        self.setVisible(not self.is_open)
        state, found = self._models.state, self._models.found
        fitting = [each for each in (found.talkers if found else ()) if self._fits(each)]
        self._offered = fitting[0] if fitting else None
        name = NAMES[self._family]
        purpose = f"{PURPOSES[self._family]} needs a {name} model."
        coming = state.description if state.status is ModelStatus.LOADING else None
        loading = coming is not None and self._fits(coming)
        if coming is not None and loading:
            self._words.setText(f"{coming.name} is being loaded.")
        elif self._offered is not None:
            self._words.setText(purpose)
            self._load.setText(f"Load {self._offered.size} {name}")
            self._load.setToolTip(f"{self._offered.name}, {self._offered.path}")
        elif found is None:
            self._words.setText(f"{purpose} Looking for models.")
        else:
            self._words.setText(f"{purpose} There is none on this computer yet.")
        self._load.setVisible(self._offered is not None and not loading)
        self._choose.setVisible(not loading)

    def _fits(self, description: ModelDescription) -> bool:
        return description.family is self._family

    @Slot()
    def _on_load(self) -> None:
        if self._offered is not None:
            self._models.load_talker(self._offered.path)
