"""The tab that draws voices from a description, and locks the one that fits."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, QThreadPool, Signal, Slot
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from app.core.settings import MOST_TAKES
from app.core.takes import TakeRequest
from app.core.voice_prompt import EXAMPLES, attributes_in, contradiction, with_attributes
from app.studio.studio import Studio
from app.ui.attribute_helper import AttributeHelper
from app.ui.banner import Severity
from app.ui.candidate_grid import CandidateGrid
from app.ui.chips import FlowLayout
from app.ui.controls import number_box
from app.ui.family_gate import FamilyGate
from app.ui.inline_note import InlineNote, wrapped_label
from app.ui.live import LiveTimer
from app.ui.metrics import GAP, HEADING, ROOM, TIGHT, scaled_font
from app.ui.plain_edit import PlainEdit
from app.ui.scroll_column import ScrollColumn
from app.ui.speech_box import SpeechBox
from app.ui.tab_names import TAB_TITLES
from engine import Family

TAB = "design"
PROMPT_LINES = 3
LONGEST_PROMPT = 4000
USUAL_CANDIDATES = 4
LEAST_WIDTH = 250  # of the candidates
LEAST_HEIGHT = 24  # of the candidates, and of the description


class DesignTab(QWidget):
    """Description, attributes, a text, and the candidates."""

    tab = TAB
    title = TAB_TITLES[TAB]

    models_requested = Signal()
    speak_requested = Signal(int)  # candidates
    lock_requested = Signal(object)  # Take

    def __init__(
        self, studio: Studio, timer: LiveTimer, pool: QThreadPool, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._studio = studio
        self._build(timer)
        studio.session.draft_changed.connect(self._on_draft)
        self._on_draft(TAB)
        self._on_count(self._count.value())
        self._on_candidates()

    @property
    def box(self) -> SpeechBox:
        return self._box

    @property
    def grid(self) -> CandidateGrid:
        return self._candidates

    def request(self) -> TakeRequest | None:
        """What to draw; None when something is missing, which is told beside the text."""
        draft = self._studio.session.draft(TAB)
        if not draft.instruct.strip():
            self._box.tell("Describe the voice first, or choose some attributes.")
            self._prompt.setFocus()
        elif not self._box.has_text():
            return None
        elif not self._gate.is_open:
            self._box.need_model()
        else:
            return TakeRequest(
                text=self._box.text,
                family=Family.VOICE_DESIGN,
                language=draft.language,
                instruct=draft.instruct.strip(),
            )
        return None

    def voice_label(self) -> str:
        return "Designed"

    def focus_text(self) -> None:
        self._prompt.setFocus()

    def _build(self, timer: LiveTimer) -> None:
        self._gate = FamilyGate(Family.VOICE_DESIGN, self._studio.models, self)
        self._gate.models_requested.connect(self.models_requested)
        splitter = QSplitter(self)
        splitter.addWidget(self._build_description())
        splitter.addWidget(self._build_results(timer))
        splitter.setSizes([1, 1])
        splitter.setChildrenCollapsible(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM - 4, GAP, ROOM - 4, GAP)
        layout.setSpacing(GAP)
        layout.addWidget(self._gate)
        layout.addWidget(splitter, 1)

    def _build_description(self) -> QWidget:
        page = ScrollColumn(LEAST_HEIGHT, parent=self)
        page.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        column = page.column
        self._prompt = PlainEdit(page)
        self._prompt.setAccessibleName("Description of the voice")
        self._prompt.setPlaceholderText(f"For example: {next(iter(EXAMPLES.values()))}")
        self._prompt.setTabChangesFocus(True)
        lines = self._prompt.fontMetrics().lineSpacing() * PROMPT_LINES
        self._prompt.setMinimumHeight(lines + 2 * GAP)
        self._prompt.textChanged.connect(self._on_prompt)
        label = QLabel("&Describe the voice", page)
        label.setFont(scaled_font(label, HEADING, bold=True))
        label.setBuddy(self._prompt)
        self._helper = AttributeHelper(page)
        self._helper.sentence_changed.connect(self._on_sentence)
        self._doubt = InlineNote(page)
        column.addWidget(label)
        column.addWidget(self._prompt, 1)
        column.addWidget(self._examples(page))
        column.addWidget(self._helper)
        column.addWidget(self._doubt)
        return page

    def _build_results(self, timer: LiveTimer) -> QWidget:
        studio, page = self._studio, QWidget(self)
        self._box = SpeechBox(TAB, studio, page)
        self._box.set_placeholder("What the candidates should say")
        self._box.offer_several(False)
        self._box.speak_requested.connect(self._on_speak)
        self._candidates = CandidateGrid(studio, timer)
        self._candidates.lock_requested.connect(self.lock_requested)
        self._candidates.seed_requested.connect(self._on_seed)
        self._candidates.changed.connect(self._on_candidates)
        self._count = number_box("Number of candidates", 1, MOST_TAKES, page)
        self._count.setValue(USUAL_CANDIDATES)
        self._count.valueChanged.connect(self._on_count)
        label = QLabel("How &many", page)
        label.setBuddy(self._count)
        heading = QLabel("Candidates", page)
        heading.setFont(scaled_font(heading, HEADING, bold=True))
        head = QHBoxLayout()
        head.setSpacing(GAP)
        head.addWidget(heading)
        head.addStretch(1)
        head.addWidget(label)
        head.addWidget(self._count)
        self._nothing = wrapped_label(
            "The same description draws another person with each seed. Make a few candidates, "
            "listen, and lock the one you like: it becomes a voice of the library that stays "
            "the same in every text.",
            muted=True,
            parent=page,
        )
        area = QScrollArea(page)
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        holder = QWidget(area)
        stack = QVBoxLayout(holder)
        stack.setContentsMargins(0, 0, TIGHT, 0)
        stack.addWidget(self._nothing)
        stack.addWidget(self._candidates)
        stack.addStretch(1)
        area.setWidget(holder)
        area.setMinimumHeight(LEAST_HEIGHT)
        column = QVBoxLayout(page)
        column.setContentsMargins(TIGHT, 0, 0, 0)
        column.setSpacing(GAP)
        column.addWidget(self._box, 1)
        column.addLayout(head)
        column.addWidget(area, 2)
        page.setMinimumWidth(LEAST_WIDTH)
        return page

    def _examples(self, parent: QWidget) -> QWidget:
        holder = QWidget(parent)
        flow = FlowLayout(holder, TIGHT)
        for name, example in EXAMPLES.items():
            chip = QPushButton(name, holder)
            chip.setProperty("kind", "chip")
            chip.setToolTip(f"Write this example: {example}")
            chip.setAccessibleName(f"Example: {name}")
            chip.setAccessibleDescription(example)
            chip.clicked.connect(lambda _=False, words=example: self._write(words))
            flow.addWidget(chip)
        return holder

    def _write(self, words: str) -> None:
        """Replace the description so that it can be undone."""
        cursor = self._prompt.textCursor()
        cursor.select(cursor.SelectionType.Document)
        cursor.insertText(words)

    @Slot(str, str)
    def _on_sentence(self, before: str, now: str) -> None:
        self._write(with_attributes(self._prompt.toPlainText(), before, now))

    @Slot()
    def _on_prompt(self) -> None:
        text = self._prompt.toPlainText()
        self._helper.show_chosen(attributes_in(text))
        words = contradiction(text)
        self._doubt.tell(
            f"The description says “{words[0]}” and “{words[1]}”: keep one of them."
            if words
            else "",
            Severity.WARNING,
        )
        draft = self._studio.session.draft(TAB)
        if draft.instruct != text:
            self._studio.session.set_draft(TAB, replace(draft, instruct=text[:LONGEST_PROMPT]))

    @Slot(str)
    def _on_draft(self, tab: str) -> None:
        if tab == TAB:
            instruct = self._studio.session.draft(TAB).instruct
            if instruct != self._prompt.toPlainText()[:LONGEST_PROMPT]:
                self._prompt.setPlainText(instruct)

    @Slot(int)
    def _on_count(self, count: int) -> None:
        self._box.set_main_word("Make 1 candidate" if count == 1 else f"Make {count} candidates")

    @Slot(int)
    def _on_speak(self, _: int) -> None:
        self.speak_requested.emit(self._count.value())

    @Slot(object)
    def _on_seed(self, seed: int) -> None:
        session = self._studio.session
        session.set_draft(TAB, replace(session.draft(TAB), seed=seed))

    @Slot()
    def _on_candidates(self) -> None:
        self._nothing.setVisible(not self._candidates.cards)
