"""Says which model a tab needs when another one, none or a small one is loaded, and loads it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from app.core.models import is_demo, loads_unasked
from app.studio.models import Models, ModelStatus
from app.ui.controls import main_button
from app.ui.inline_note import wrapped_label
from app.ui.metrics import GAP, TIGHT
from app.ui.model_words import FAMILY_NAMES, short_name
from engine import Family, ModelDescription

PURPOSES = {
    Family.BASE: "Speaking with cloned and locked voices",
    Family.CUSTOM_VOICE: "Speaking with the model's own speakers",
    Family.VOICE_DESIGN: "Designing voices from a description",
}


DEMO = "You hear the demonstration voice that comes with the studio: small, English only. "
DEMO_SENTENCES = {
    Family.BASE: f"{DEMO}Its clones are rough, those of men most; the large models sound like the "
    "person.",
    Family.CUSTOM_VOICE: f"{DEMO}The large models sound like people and speak ten languages.",
    Family.VOICE_DESIGN: f"{DEMO}It follows the words woman or man, low or high, slow or fast; the "
    "large models take any description.",
}

WITH_DEMO = "The demonstration voice can do this: speak, and its model for it is loaded."

BESIDE = 220  # pixels that the words need beside the buttons; with fewer they stand above them


class FamilyGate(QWidget):
    """A line that is there only while the right model is not, or only the demonstration voice."""

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
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(GAP)
        self._buttons.addStretch()
        self._buttons.addWidget(self._load)
        self._buttons.addWidget(self._choose)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(GAP, TIGHT, GAP, TIGHT)
        self._row.setSpacing(GAP)
        self._row.addWidget(self._words, 1)
        self._row.addLayout(self._buttons)
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
        state, found = self._models.state, self._models.found
        demo = self.is_open and state.description is not None and is_demo(state.description)
        self.setVisible(demo or not self.is_open)
        self._offered = self._models.fitting(self._family)
        name = FAMILY_NAMES[self._family]
        purpose = f"{PURPOSES[self._family]} needs a {name} model."
        coming = state.description if state.status is ModelStatus.LOADING else None
        loading = coming is not None and self._fits(coming)
        if demo:
            self._words.setText(DEMO_SENTENCES[self._family])
        elif coming is not None and loading:
            self._words.setText(f"{coming.name} is being loaded.")
        elif self._offered is not None:
            unasked = loads_unasked(self._offered, state.description)
            self._words.setText(WITH_DEMO if unasked else purpose)
        elif found is None:
            self._words.setText(f"{purpose} Looking for models.")
        else:
            self._words.setText(f"{purpose} There is none on this computer yet.")
        better = self._offered is not None and not (demo and is_demo(self._offered))
        self._load.setVisible(better and not loading)
        self._choose.setVisible(not loading)
        if self._offered is not None:
            small = is_demo(self._offered)
            name = "the demonstration voice" if small else short_name(self._offered)
            self._load.setText(f"Load {name}")
            self._load.setToolTip(f"{self._offered.name}, {self._offered.path}")
        self._arrange()

    def _arrange(self) -> None:
        """Put the buttons below the words where both do not fit beside one another."""
        is_wide = self.width() >= self._buttons.sizeHint().width() + BESIDE + 3 * GAP
        direction = QBoxLayout.Direction
        self._row.setDirection(direction.LeftToRight if is_wide else direction.TopToBottom)

    def minimumSizeHint(self) -> QSize:
        # That with the buttons below, or it could never become that narrow.
        height = super().minimumSizeHint().height()
        return QSize(self._buttons.minimumSize().width() + 2 * GAP, height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()
        super().resizeEvent(event)

    def _fits(self, description: ModelDescription) -> bool:
        return description.family is self._family

    @Slot()
    def _on_load(self) -> None:
        if self._offered is not None:
            self._models.load_talker(self._offered.path)
