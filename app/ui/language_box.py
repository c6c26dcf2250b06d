"""The language that a text is spoken in, with what leaving it to the model means."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Signal, Slot
from PySide6.QtWidgets import QComboBox, QSizePolicy, QVBoxLayout, QWidget

from app.core.reading_cards import READING_CARDS
from app.core.voice_record import ANY_LANGUAGE
from app.ui.inline_note import wrapped_label
from app.ui.metrics import CAPTION, TIGHT, scaled_font

USUAL_LANGUAGES = tuple(sorted(card.language for card in READING_CARDS))
AUTO_MEANS = (
    "The model guesses the language from the text. Numbers and short lines may come out in "
    "another one; choose a language to be sure."
)


class LanguageBox(QWidget):
    """A list of languages, Auto first; a line below explains Auto while it is chosen."""

    chosen = Signal(str)  # as the models name it

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._combo = QComboBox(self)
        self._combo.setAccessibleName("Language")
        self._combo.setToolTip("The language that the text is spoken in")
        self._combo.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._combo.activated.connect(self._on_activated)
        self._note = wrapped_label("", muted=True, parent=self)
        self._note.setFont(scaled_font(self, CAPTION))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TIGHT)
        layout.addWidget(self._combo)
        layout.addWidget(self._note)
        self.setFocusProxy(self._combo)
        self._auto_means = AUTO_MEANS
        self.set_languages(())

    @property
    def language(self) -> str:
        return str(self._combo.currentData())

    def set_languages(self, languages: Sequence[str]) -> None:
        """Offer what a model speaks, without one the usual languages; the choice stays."""
        chosen = self.language if self._combo.count() else ANY_LANGUAGE
        offered = sorted(languages) or USUAL_LANGUAGES
        only = f"This model speaks {language_label(offered[0])} alone."
        self._auto_means = only if len(offered) == 1 else AUTO_MEANS
        with QSignalBlocker(self._combo):
            self._combo.clear()
            self._combo.addItem("Auto", ANY_LANGUAGE)
            for language in offered:
                if language != ANY_LANGUAGE:
                    self._combo.addItem(language_label(language), language)
        self.choose(chosen)

    def choose(self, language: str) -> None:
        """Show a language; no signal is sent. One that is not offered is listed all the same."""
        index = self._combo.findData(language)
        if index < 0:
            label = f"{language_label(language)} (not in this model)"
            self._combo.addItem(label, language)
            index = self._combo.count() - 1
        with QSignalBlocker(self._combo):
            self._combo.setCurrentIndex(index)
        self._explain()

    @Slot(int)
    def _on_activated(self, _index: int) -> None:
        self._explain()
        self.chosen.emit(self.language)

    def _explain(self) -> None:
        auto = self.language == ANY_LANGUAGE
        self._note.setText(self._auto_means)
        self._note.setVisible(auto)
        self._combo.setAccessibleDescription(self._auto_means if auto else "")


def language_label(language: str) -> str:
    """A language as people write it: "Beijing dialect" for `beijing_dialect`."""
    return language.replace("_", " ").capitalize()
