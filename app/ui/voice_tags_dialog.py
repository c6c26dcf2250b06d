"""A field for the tags of a voice, and a dialog for those of several."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QSignalBlocker, Slot
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from app.core.folding import fold
from app.core.voice_record import LibraryVoice, clean_tags
from app.ui.chips import ChipBar
from app.ui.dialogs import FittedDialog, SaveButtons
from app.ui.inline_note import wrapped_label
from app.ui.metrics import GAP, ROOM
from app.ui.voice_filters import chip_label

TAGS_WIDTH = 400
MOST_CHIPS = 24


class TagField(QWidget):
    """Tags, typed with commas between them or chosen from those in use."""

    def __init__(
        self, tags: Iterable[str], in_use: Iterable[str], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._line = _TagLine(", ".join(tags), self)
        self._line.setAccessibleName("Tags")
        self._line.setPlaceholderText("warm, trailer, old")
        self._line.setToolTip("Tags, with commas between them")
        self._line.textEdited.connect(self._show_chosen)
        self._chips = ChipBar("Tags in use", self)
        self._chips.set_chips((fold(tag), chip_label(tag)) for tag in tuple(in_use)[:MOST_CHIPS])
        self._names = {fold(tag): tag for tag in in_use}
        self._chips.changed.connect(self._on_chips)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addWidget(self._line)
        layout.addWidget(self._chips)
        self._chips.setVisible(bool(self._names))
        self.setFocusProxy(self._line)
        self._show_chosen()

    @property
    def tags(self) -> tuple[str, ...]:
        return clean_tags(self._line.text().split(","))

    @Slot()
    def _show_chosen(self) -> None:
        with QSignalBlocker(self._chips):
            self._chips.set_chosen(fold(tag) for tag in self.tags)

    @Slot(object)
    def _on_chips(self, chosen: frozenset[str]) -> None:
        kept = [tag for tag in self.tags if fold(tag) in chosen or fold(tag) not in self._names]
        known = {fold(tag) for tag in kept}
        added = [self._names[key] for key in self._names if key in chosen and key not in known]
        self._line.setText(", ".join([*kept, *added]))


class _TagLine(QLineEdit):
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.end(False)  # not all selected: what is typed is one more tag


class TagsDialog(FittedDialog):
    """Adds tags to several voices at once, and takes away those they have."""

    def __init__(
        self, voices: Iterable[LibraryVoice], in_use: Iterable[str], parent: QWidget | None = None
    ) -> None:
        super().__init__(TAGS_WIDTH, parent)
        self._voices = tuple(voices)
        count = len(self._voices)
        self.setWindowTitle(f"Tags of {count} voices")
        self._had = clean_tags(tag for voice in self._voices for tag in voice.details.tags)
        shared = [
            tag
            for tag in self._had
            if all(fold(tag) in map(fold, voice.details.tags) for voice in self._voices)
        ]
        self._add = TagField(shared, in_use, self)
        self._shared = shared
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM, ROOM, ROOM, ROOM)
        layout.setSpacing(GAP)
        layout.addWidget(
            wrapped_label(f"Tags that all {count} voices have. Others that they have stay.")
        )
        layout.addWidget(self._add)
        layout.addStretch(1)
        layout.addWidget(SaveButtons(self))

    @property
    def changes(self) -> tuple[tuple[LibraryVoice, tuple[str, ...]], ...]:
        """The voices whose tags are to be others, with those."""
        wanted = self._add.tags
        gone = {fold(tag) for tag in self._shared} - {fold(tag) for tag in wanted}
        made = []
        for voice in self._voices:
            kept = [tag for tag in voice.details.tags if fold(tag) not in gone]
            tags = clean_tags([*kept, *wanted])
            if tags != voice.details.tags:
                made.append((voice, tags))
        return tuple(made)
