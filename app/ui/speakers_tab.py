"""The tab that speaks with the voices a checkpoint brings along."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Signal, Slot
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.core.folding import contains_all, fold
from app.core.speakers import SpeakerCard, speaker_cards
from app.core.takes import TakeRequest
from app.studio.models import ModelStatus
from app.studio.studio import Studio
from app.ui.chips import FlowLayout
from app.ui.columns import ColumnLayout
from app.ui.family_gate import FamilyGate
from app.ui.inline_note import wrapped_label
from app.ui.metrics import GAP, HEADING, ROOM, TARGET, TIGHT, scaled_font
from app.ui.scroll_column import ScrollColumn
from app.ui.speech_box import SpeechBox
from app.ui.tab_names import TAB_TITLES
from engine import Family

TAB = "speakers"
LEAST_HEIGHT = 24  # of what stands above the text
MANY = 12  # speakers from which on a search field helps
MANNERS = ("whispering", "cheerfully and fast", "slowly and seriously", "close to tears")


class SpeakersTab(QWidget):
    """Cards for the speakers, how to say it, and the text."""

    tab = TAB
    title = TAB_TITLES[TAB]

    models_requested = Signal()
    speak_requested = Signal(int)  # takes
    all_requested = Signal()  # the line in every speaker

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self._cards: tuple[SpeakerCard, ...] = ()
        self._ignores_instruct = False
        self._tiles = QButtonGroup(self)
        self._tiles.idClicked.connect(self._on_tile)
        self._build()
        studio.models.changed.connect(self._on_model)
        studio.session.draft_changed.connect(self._on_draft)
        self._on_model()
        self._on_draft(TAB)

    @property
    def box(self) -> SpeechBox:
        return self._box

    @property
    def cards(self) -> tuple[SpeakerCard, ...]:
        """The speakers that are offered."""
        return self._cards

    def request(self) -> TakeRequest | None:
        """What to say with the chosen speaker; None when something is missing, which is told."""
        if not self._box.has_text():
            return None
        if not self._gate.is_open:
            self._box.need_model()
            return None
        return self._request_with(self._speaker)

    def requests_with_all(self) -> tuple[tuple[TakeRequest, str], ...]:
        """The line in every speaker, with the labels of the takes; empty when something lacks."""
        if not self._gate.is_open:
            self._box.tell("Load a model with speakers first.")
        elif self._box.has_text():
            return tuple((self._request_with(card.name), card.title) for card in self._cards)
        return ()

    def voice_label(self) -> str:
        name = self._speaker
        return next((card.title for card in self._cards if card.name == name), name)

    def focus_text(self) -> None:
        self._box.focus_text()

    def _request_with(self, speaker: str) -> TakeRequest:
        draft = self._studio.session.draft(TAB)
        return TakeRequest(
            text=self._box.text,
            family=Family.CUSTOM_VOICE,
            language=draft.language,
            speaker=speaker,
            instruct="" if self._ignores_instruct else draft.instruct.strip(),
        )

    def _build(self) -> None:
        self._gate = FamilyGate(Family.CUSTOM_VOICE, self._studio.models, self)
        self._gate.models_requested.connect(self.models_requested)
        self._people = QWidget(self)
        self._heading = QLabel(self._people)
        self._heading.setFont(scaled_font(self, HEADING, bold=True))
        self._search = QLineEdit(self._people)
        self._search.setPlaceholderText("Find a speaker")
        self._search.setAccessibleName("Find a speaker")
        self._search.setClearButtonEnabled(True)
        self._search.setMaximumWidth(220)
        self._search.textChanged.connect(self._show_found)
        self._all = QPushButton("Same line in all speakers", self._people)
        self._all.setToolTip("Speak the text once with every speaker, with the same seed")
        self._all.clicked.connect(self.all_requested)
        head = QHBoxLayout()
        head.setSpacing(GAP)
        head.addWidget(self._heading)
        head.addStretch(1)
        head.addWidget(self._search)
        head.addWidget(self._all)
        self._grid = QWidget(self._people)
        self._flow = ColumnLayout(self._grid, GAP)
        self._nobody = wrapped_label("No speaker has this name.", muted=True, parent=self._people)
        people = QVBoxLayout(self._people)
        people.setContentsMargins(0, 0, 0, 0)
        people.setSpacing(GAP)
        people.addLayout(head)
        people.addWidget(self._nobody)
        people.addWidget(self._grid)
        self._manner = QLineEdit(self)
        self._manner.setAccessibleName("How to say it")
        self._manner.setPlaceholderText("How to say it, for example: whispering, with a smile")
        self._manner.setMaxLength(2000)
        self._manner.textEdited.connect(self._on_manner)
        label = QLabel("How to &say it", self)
        label.setBuddy(self._manner)
        label.setMinimumHeight(TARGET)  # beside the chips
        self._manners = QWidget(self)
        flow = FlowLayout(self._manners, TIGHT)
        flow.addWidget(label)
        for manner in MANNERS:
            chip = QPushButton(manner, self._manners)
            chip.setProperty("kind", "chip")
            chip.setAccessibleName(f"Say it {manner}")
            chip.clicked.connect(lambda _=False, words=manner: self._use_manner(words))
            flow.addWidget(chip)
        self._no_manner = wrapped_label(
            "This model does not follow instructions: the 1.7B CustomVoice model does.",
            muted=True,
            parent=self,
        )
        self._box = SpeechBox(TAB, self._studio, self)
        self._box.speak_requested.connect(self.speak_requested)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM - 4, GAP, ROOM - 4, GAP)
        layout.setSpacing(GAP)
        above = ScrollColumn(LEAST_HEIGHT, parent=self)
        for widget in (self._gate, self._people, self._manners):
            above.column.addWidget(widget)
        layout.addWidget(above)
        layout.addWidget(self._manner)
        layout.addWidget(self._no_manner)
        layout.addWidget(self._box, 1)

    @Slot()
    def _on_model(self) -> None:
        state = self._studio.models.state
        description = state.description if state.status is ModelStatus.LOADED else None
        if description is not None and description.family is not Family.CUSTOM_VOICE:
            description = None
        cards = speaker_cards(description) if description is not None else ()
        self._ignores_instruct = description is not None and description.ignores_instruct
        for widget in (self._manner, self._manners):
            widget.setVisible(not self._ignores_instruct)
        self._no_manner.setVisible(self._ignores_instruct)
        self._all.setEnabled(len(cards) > 1)
        self._people.setVisible(bool(cards))
        self._heading.setText("1 speaker" if len(cards) == 1 else f"{len(cards)} speakers")
        self._search.setVisible(len(cards) > MANY)
        if cards != self._cards:
            self._cards = cards
            self._fill()

    def _fill(self) -> None:
        for tile in self._tiles.buttons():
            self._tiles.removeButton(tile)
            self._flow.removeWidget(tile)
            tile.deleteLater()
        for index, card in enumerate(self._cards):
            details = ", ".join(filter(None, (card.language, card.dialect)))
            lines = [" · ".join(filter(None, (card.title, details))), card.about]
            tile = QPushButton("\n".join(filter(None, lines)).replace("&", "&&"), self._grid)
            tile.setProperty("kind", "tile")
            tile.setCheckable(True)
            tile.setAccessibleName(", ".join(filter(None, (card.title, details, card.about))))
            self._tiles.addButton(tile, index)
            self._flow.addWidget(tile)
            tile.show()
        with QSignalBlocker(self._search):
            self._search.clear()
        self._show_found()
        self._on_draft(TAB)

    @Slot()
    def _show_found(self) -> None:
        query = self._search.text()
        some = False
        for index, card in enumerate(self._cards):
            found = contains_all(query, fold(f"{card.title} {card.language} {card.about}"))
            self._tiles.button(index).setVisible(found)
            some = some or found
        self._nobody.setVisible(bool(self._cards) and not some)
        self._flow.invalidate()

    @Slot(str)
    def _on_draft(self, tab: str) -> None:
        if tab != TAB:
            return
        draft = self._studio.session.draft(TAB)
        self._tiles.setExclusive(False)  # else the one that was checked last would stay so
        for index, card in enumerate(self._cards):
            self._tiles.button(index).setChecked(card.name == self._speaker)
        self._tiles.setExclusive(True)
        if self._manner.text() != draft.instruct:
            self._manner.setText(draft.instruct)

    @Slot(int)
    def _on_tile(self, index: int) -> None:
        session = self._studio.session
        session.set_draft(TAB, replace(session.draft(TAB), speaker=self._cards[index].name))

    @Slot(str)
    def _on_manner(self, text: str) -> None:
        session = self._studio.session
        session.set_draft(TAB, replace(session.draft(TAB), instruct=text))

    def _use_manner(self, words: str) -> None:
        self._manner.setText(words)
        self._on_manner(words)

    @property
    def _speaker(self) -> str:
        """The chosen speaker, the first one while nobody has chosen one of these."""
        chosen = self._studio.session.draft(TAB).speaker
        names = [card.name for card in self._cards]
        return names[0] if names and chosen not in names else chosen
