"""Makes a voice between two voices: how much of each, and what it is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from app.core.voice_record import LibraryVoice, sorted_voices
from app.ui.controls import number_box, tool_button
from app.ui.dialogs import FittedDialog, SaveButtons
from app.ui.inline_note import InlineNote, wrapped_label
from app.ui.metrics import GAP, ROOM, TIGHT
from app.ui.voice_delegate import LONGEST_NAME
from app.ui.voice_look import models_of
from engine.voices import KNOWN_WIDTHS

WIDTH = 460
NAME_CHARACTERS = 24
COMBO_CHARACTERS = 16
EXPLANATION = (
    "The new voice lies between the two. It holds no recording, so it speaks steadily, with the "
    "voice only."
)


class BlendDialog(FittedDialog):
    """Chooses two voices of one width; `first`, `second`, `amount` and `name` are the wish."""

    listen_requested = Signal(object)  # LibraryVoice

    def __init__(
        self,
        voices: Iterable[LibraryVoice],
        first: LibraryVoice | None = None,
        second: LibraryVoice | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(WIDTH, parent)
        self.setWindowTitle("Blend two voices")
        self._voices = tuple(voice for voice in sorted_voices(voices) if voice.files.widths)
        self._name_is_ours = True
        self._boxes = (self._voice_box("First voice"), self._voice_box("Second voice"))
        self._listen = tuple(
            tool_button("play", f"Listen to the {which} voice", self)
            for which in ("first", "second")
        )
        self._slider = QSlider(Qt.Orientation.Horizontal, self)
        self._percent = number_box("Share of the second voice in percent", 0, 100, self)
        self._shares = QLabel(self)
        self._name = QLineEdit(self)
        self._missing = InlineNote(self)
        self._buttons = SaveButtons(self, "Create the blend", "blend")
        self._create = self._buttons.save
        self._build()
        self._fill(0, self._voices, first)
        self._offer_second(second)
        self._slider.setValue(50)

    @property
    def first(self) -> LibraryVoice | None:
        return self._chosen(0)

    @property
    def second(self) -> LibraryVoice | None:
        return self._chosen(1)

    @property
    def amount(self) -> float:
        """How far from the first to the second, 0 to 1."""
        return self._slider.value() / 100

    @property
    def name(self) -> str:
        return " ".join(self._name.text().split())

    def set_percent(self, percent: int) -> None:
        """Choose the share of the second voice."""
        self._slider.setValue(percent)

    def choose(self, first: LibraryVoice, second: LibraryVoice) -> None:
        """Choose both voices."""
        self._boxes[0].setCurrentIndex(self._boxes[0].findData(first.id))
        self._boxes[1].setCurrentIndex(self._boxes[1].findData(second.id))

    def _build(self) -> None:
        self._slider.setRange(0, 100)
        self._slider.setPageStep(10)
        self._slider.setTickPosition(QSlider.TickPosition.NoTicks)
        self._slider.setAccessibleName("Share of the second voice")
        self._slider.setToolTip("How much of the second voice is in it")
        self._percent.setSuffix(" %")
        self._percent.setToolTip("Share of the second voice")
        self._slider.valueChanged.connect(self._on_amount)
        self._percent.valueChanged.connect(self._slider.setValue)
        self._name.setMaxLength(LONGEST_NAME)
        self._name.setAccessibleName("Name of the blend")
        self._name.setPlaceholderText("Name of the blend")
        self._name.textEdited.connect(self._on_name)
        self._shares.setWordWrap(True)
        self._shares.setTextFormat(Qt.TextFormat.PlainText)
        self._boxes[0].currentIndexChanged.connect(self._on_first)
        self._boxes[1].currentIndexChanged.connect(self._on_second)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM, ROOM, ROOM, ROOM)
        layout.setSpacing(GAP)
        layout.addWidget(wrapped_label(EXPLANATION, muted=True))
        for at, text in enumerate(("&First voice", "&Second voice")):
            self._listen[at].clicked.connect(lambda _=False, at=at: self._on_listen(at))
            caption = QLabel(text, self)
            caption.setBuddy(self._boxes[at])
            line = QHBoxLayout()
            line.setSpacing(TIGHT)
            line.addWidget(self._boxes[at], 1)
            line.addWidget(self._listen[at])
            layout.addWidget(caption)
            layout.addLayout(line)
        mix = QHBoxLayout()
        mix.setSpacing(GAP)
        mix.addWidget(self._slider, 1)
        mix.addWidget(self._percent)
        caption = QLabel("&Blend", self)
        caption.setBuddy(self._slider)
        layout.addWidget(caption)
        layout.addLayout(mix)
        layout.addWidget(self._shares)
        caption = QLabel("&Name", self)
        caption.setBuddy(self._name)
        layout.addWidget(caption)
        layout.addWidget(self._name)
        layout.addWidget(self._missing)
        layout.addStretch(1)
        layout.addWidget(self._buttons)

    def _voice_box(self, name: str) -> QComboBox:
        box = QComboBox(self)
        box.setAccessibleName(name)
        box.setEditable(True)
        box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(COMBO_CHARACTERS)
        box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        completer, line = box.completer(), box.lineEdit()
        assert completer is not None
        assert line is not None
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        line.editingFinished.connect(lambda: _settle(box, line))
        box.setToolTip("Choose a voice, or type a part of its name")
        return box

    def _fill(self, at: int, voices: Sequence[LibraryVoice], wanted: LibraryVoice | None) -> None:
        box = self._boxes[at]
        with QSignalBlocker(box):
            box.clear()
            for voice in voices:
                models = models_of(voice)
                box.addItem(f"{voice.name} ({models})" if models else voice.name, voice.id)
            index = box.findData(wanted.id) if wanted is not None else 0
            box.setCurrentIndex(max(index, 0) if voices else -1)
            _show_start(box)
        box.setEnabled(bool(voices))

    def _chosen(self, at: int) -> LibraryVoice | None:
        wanted = self._boxes[at].currentData()
        return next((voice for voice in self._voices if voice.id == wanted), None)

    def _offer_second(self, wanted: LibraryVoice | None) -> None:
        """Only voices that something can lie between: others, of a width that both have."""
        first = self.first
        widths = set(first.files.widths) if first is not None else set()
        partners = [
            voice for voice in self._voices if voice is not first and widths & {*voice.files.widths}
        ]
        self._fill(1, partners, wanted if wanted in partners else None)
        self._on_second()

    @Slot()
    def _on_first(self) -> None:
        self._offer_second(self.second)

    @Slot()
    def _on_second(self) -> None:
        first, second = self.first, self.second
        if self._name_is_ours and first is not None and second is not None:
            self._name.setText(f"{_short(first.name)} + {_short(second.name)}")
        self._show()

    @Slot(int)
    def _on_amount(self, percent: int) -> None:
        with QSignalBlocker(self._percent):
            self._percent.setValue(percent)
        self._show()

    @Slot()
    def _on_name(self) -> None:
        self._name_is_ours = not self._name.text()
        self._show()

    def _on_listen(self, at: int) -> None:
        if (voice := self._chosen(at)) is not None:
            self.listen_requested.emit(voice)

    @Slot()
    def _show(self) -> None:
        first, second = self.first, self.second
        for box in self._boxes:
            _show_start(box)
        for button, voice in zip(self._listen, (first, second), strict=True):
            button.setEnabled(voice is not None and voice.recording is not None)
        if first is not None and second is not None:
            words = mixture(first.name, second.name, self._slider.value())
            self._shares.setText(words)
            self._slider.setAccessibleDescription(words)
        missing = self._why_not()
        self._missing.tell(missing)
        self._create.setEnabled(not missing)
        self._create.setToolTip(missing or "Add the blend to the library")

    def _why_not(self) -> str:
        """Why nothing can be created yet, as a sentence."""
        first = self.first
        if len(self._voices) < 2 or first is None:
            return "A blend needs two voices with voice data."
        if self.second is None:
            sizes = " or ".join(KNOWN_WIDTHS.get(each, str(each)) for each in first.files.widths)
            return f"No other voice was made for the {sizes} model, so there is nothing between."
        return "" if self.name else "Give the blend a name."


def mixture(first: str, second: str, percent: int) -> str:
    """A blend in words."""
    if percent == 0:
        return f"Only {first}."
    if percent == 100:
        return f"Only {second}."
    if percent == 50:
        return f"Half {first}, half {second}."
    strong, weak, share = (
        (second, first, percent)
        if percent > 50
        else (
            first,
            second,
            100 - percent,
        )
    )
    word = "Almost all" if share > 90 else "Mostly" if share >= 65 else "A little more"
    return f"{word} {strong}: {share} % and {100 - share} % {weak}."


def _show_start(box: QComboBox) -> None:
    """Of a name that is too long the beginning says more than the end."""
    if (line := box.lineEdit()) is not None and not line.hasFocus():
        line.setCursorPosition(0)


def _settle(box: QComboBox, line: QLineEdit) -> None:
    """What was typed and is no voice goes; a part of one name only is that voice."""
    typed = line.text()
    if typed != box.itemText(box.currentIndex()):
        found = box.findText(typed, Qt.MatchFlag.MatchContains)
        box.setCurrentIndex(found if found >= 0 and typed else box.currentIndex())
        line.setText(box.itemText(box.currentIndex()))


def _short(name: str) -> str:
    return name if len(name) <= NAME_CHARACTERS else f"{name[: NAME_CHARACTERS - 1]}…"
