"""How the text of the shown tab is spoken: language, variation, takes, seed, and the raw knobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.core.presets import Preset, preset_sampling
from app.core.session import Draft
from app.core.settings import MOST_TAKES
from app.jobs.messages import LoadedModel
from app.studio.studio import Studio
from app.ui.controls import number_box, show_number
from app.ui.icons import icon
from app.ui.inline_note import wrapped_label
from app.ui.language_box import LanguageBox
from app.ui.metrics import CAPTION, GAP, ROOM, TIGHT, scaled_font
from app.ui.sampling_knobs import SamplingKnobs
from app.ui.scroll_column import ScrollColumn
from app.ui.seed_box import GREATEST, SeedBox
from app.ui.segments import SegmentedSwitch
from engine import Layout, ModelDescription, Sampling, random_seed

PRESETS: Final = (
    (Preset.STEADY, "Steady", "Even and predictable; takes of a line are much alike."),
    (Preset.NATURAL, "Natural", "As the model was published."),
    (Preset.WILD, "Wild", "Livelier; takes differ more, and more of them fail."),
)
LEAST_HEIGHT: Final = 100
BY_HAND: Final = "The knobs under Advanced were turned by hand."
LAYOUTS: Final = (
    (Layout.AUTO, "As the model was trained"),
    (Layout.NON_STREAMING, "All of it before the first sound"),
    (Layout.STREAMING, "Word by word beside the sound"),
)


class SettingsPanel(QWidget):
    """Shows the draft of one tab at a time and writes every change into it."""

    def __init__(self, studio: Studio, tab: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self._session = studio.session
        self._tab = tab
        self._shown_model: tuple[ModelDescription | None, LoadedModel | None] | None = None
        self._language = LanguageBox(self)
        self._presets = SegmentedSwitch(
            "Variation", [(str(key), label) for key, label, _ in PRESETS], self
        )
        self._preset_note = wrapped_label(muted=True, parent=self)
        self._takes = number_box("Takes per press", 1, MOST_TAKES, self)
        self._seed = SeedBox(random_seed, self)
        self._unfold = QToolButton(self)
        self._advanced = QWidget(self)
        self._layout_box = QComboBox(self._advanced)
        self._knobs = SamplingKnobs(self._advanced)
        self._build()
        self._connect()
        self._on_model()
        self._on_settings()
        self.show_tab(tab)

    @property
    def tab(self) -> str:
        return self._tab

    @property
    def takes(self) -> int:
        """Takes per press of the key for several."""
        return self._takes.value()

    @property
    def sampling(self) -> Sampling:
        """The knobs for the next take."""
        return _sampling(self._draft(), self._default_sampling())

    @property
    def layout_choice(self) -> Layout:
        """How the text enters the prompt of the next take."""
        return self._draft().layout

    def show_tab(self, tab: str) -> None:
        """Show the draft of another tab."""
        self._tab = tab
        self._show_draft()

    def next_seeds(self, takes: int) -> tuple[int, ...]:
        """A seed for each take: a pinned one and those that follow it, else random ones."""
        first = self._seed.next_seed()
        if self._seed.is_pinned:
            return tuple((first + offset) % (GREATEST + 1) for offset in range(takes))
        return (first, *(random_seed() for _ in range(takes - 1)))

    def set_unfolded(self, unfolded: bool) -> None:
        """Show or hide the raw knobs."""
        self._unfold.setChecked(unfolded)

    # Building

    def _build(self) -> None:
        self._preset_note.setFont(scaled_font(self, CAPTION))
        for key, _, tip in PRESETS:
            self._presets.set_tip(str(key), tip)
        self._takes.setToolTip("How many takes the key for several takes makes at once")
        self._unfold.setText("Advanced")
        self._unfold.setCheckable(True)
        self._unfold.setProperty("kind", "quiet")
        self._unfold.setToolTip("Sampling of both stacks, and how the text is given to the model")
        self._unfold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._layout_box.setAccessibleName("Text layout")
        self._layout_box.setToolTip("How the text is given to the model")
        for value, label in LAYOUTS:
            self._layout_box.addItem(label, value)
        folded = QVBoxLayout(self._advanced)
        folded.setContentsMargins(0, 0, 0, 0)
        folded.setSpacing(GAP + TIGHT)
        folded.addWidget(self._knobs)
        folded.addLayout(_captioned("Text layout", self._layout_box))

        area = ScrollColumn(LEAST_HEIGHT, keeps_bar=True, parent=self)
        area.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        rows = area.column
        rows.setContentsMargins(ROOM - TIGHT, GAP, 0, ROOM)
        rows.setSpacing(ROOM)
        rows.addLayout(_captioned("Language", self._language))
        rows.addLayout(_captioned("Variation", self._presets, self._preset_note))
        rows.addLayout(_captioned("Seed", self._seed))
        rows.addLayout(_captioned("Takes per press", self._takes))
        rows.addWidget(self._unfold, 0, Qt.AlignmentFlag.AlignLeft)
        rows.addWidget(self._advanced)
        rows.addStretch(1)
        # As wide as with the knobs, or all would move when they are unfolded.
        margins = rows.contentsMargins()
        knobs = self._advanced.minimumSizeHint().width() + margins.left() + margins.right()
        area.setMinimumWidth(knobs + area.verticalScrollBar().sizeHint().width())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)
        self._on_unfold(False)

    def _connect(self) -> None:
        self._language.chosen.connect(self._on_language)
        self._presets.chosen.connect(self._on_preset)
        self._takes.valueChanged.connect(self._on_takes)
        self._seed.changed.connect(self._on_seed)
        self._unfold.toggled.connect(self._on_unfold)
        self._layout_box.activated.connect(self._on_layout)
        self._knobs.changed.connect(self._on_knobs)
        self._knobs.reset_requested.connect(self._on_reset)
        self._session.draft_changed.connect(self._on_draft)
        self._studio.models.changed.connect(self._on_model)
        self._studio.preferences.changed.connect(self._on_settings)

    # What is shown

    def _draft(self) -> Draft:
        return self._session.draft(self._tab)

    def _default_sampling(self) -> Sampling:
        loaded = self._studio.models.state.loaded
        return Sampling() if loaded is None else loaded.default_sampling

    def _show_draft(self) -> None:
        draft = self._draft()
        self._language.choose(draft.language)
        self._presets.choose(str(draft.preset))
        by_hand = draft.sampling is not None
        tips = {key: tip for key, _, tip in PRESETS}
        self._preset_note.setText(BY_HAND if by_hand else tips[draft.preset])
        self._knobs.show_sampling(self.sampling, by_hand=by_hand)
        self._layout_box.setCurrentIndex(self._layout_box.findData(draft.layout))
        self._seed.blockSignals(True)
        if draft.seed is not None:
            self._seed.set_seed(draft.seed)
        self._seed.set_pinned(draft.seed is not None)
        self._seed.blockSignals(False)

    @Slot(str)
    def _on_draft(self, tab: str) -> None:
        if tab == self._tab:
            self._show_draft()

    @Slot()
    def _on_model(self) -> None:
        state = self._studio.models.state
        model = (state.description, state.loaded)
        if model == self._shown_model:
            return  # only more of it is loaded: what is being typed here stays
        self._shown_model = model
        self._language.set_languages(
            () if state.description is None else state.description.languages
        )
        if state.loaded is not None:
            self._knobs.set_frame_rate(state.loaded.sample_rate / state.loaded.frame_samples)
        self._show_draft()

    @Slot()
    def _on_settings(self) -> None:
        show_number(self._takes, self._studio.preferences.settings.takes_per_press)

    # What was changed

    def _store(self, draft: Draft) -> None:
        self._session.set_draft(self._tab, draft)
        self._show_draft()

    @Slot(str)
    def _on_language(self, language: str) -> None:
        self._store(replace(self._draft(), language=language))

    @Slot(str)
    def _on_preset(self, key: str) -> None:
        self._store(replace(self._draft(), preset=Preset(key), sampling=None))

    @Slot(object)
    def _on_knobs(self, sampling: Sampling) -> None:
        default = preset_sampling(self._draft().preset, self._default_sampling())
        self._store(replace(self._draft(), sampling=None if sampling == default else sampling))

    @Slot()
    def _on_reset(self) -> None:
        self._store(replace(self._draft(), sampling=None))

    @Slot()
    def _on_layout(self) -> None:
        self._store(replace(self._draft(), layout=Layout(self._layout_box.currentData())))

    @Slot()
    def _on_seed(self) -> None:
        self._store(replace(self._draft(), seed=self._seed.seed if self._seed.is_pinned else None))

    @Slot(int)
    def _on_takes(self, takes: int) -> None:
        self._studio.preferences.update(takes_per_press=takes)

    @Slot(bool)
    def _on_unfold(self, unfolded: bool) -> None:
        self._unfold.setIcon(icon("chevron-down" if unfolded else "chevron-right"))
        self._advanced.setVisible(unfolded)


def _sampling(draft: Draft, default: Sampling) -> Sampling:
    return draft.sampling or preset_sampling(draft.preset, default)


def _captioned(text: str, *widgets: QWidget) -> QVBoxLayout:
    """A caption above what it names."""
    column = QVBoxLayout()
    column.setSpacing(TIGHT)
    caption = QLabel(text)
    caption.setBuddy(widgets[0])
    column.addWidget(caption)
    for widget in widgets:
        column.addWidget(widget)
    return column
