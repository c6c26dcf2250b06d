"""Where a text is written and spoken from, the same in all tabs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.core.estimates import estimate_speech
from app.core.models import loads_unasked
from app.core.session import Draft
from app.core.text_files import read_text_file
from app.core.text_warnings import TextWarning, text_warnings
from app.core.transcripts import Transcript
from app.studio.model_wish import ModelWish
from app.studio.models import ModelStatus
from app.studio.speech_state import SpeechPhase
from app.studio.studio import TAB_FAMILIES, TABS, Studio
from app.ui.banner import Severity
from app.ui.controls import main_button
from app.ui.icons import icon
from app.ui.metrics import GAP
from app.ui.model_words import FAMILY_NAMES, short_name
from app.ui.shortcuts import key_text, shortcut
from app.ui.speech_hint import SpeechHint
from app.ui.tab_names import TAB_TITLES
from app.ui.text_editor import SpeechEdit
from engine import ModelDescription

STORE_AFTER: Final = 300  # milliseconds without typing
LEAST_LINES: Final = 2


class SpeechBox(QWidget):
    """The text of a tab, its length and warnings, and the buttons that speak it or stop that.

    The text is the draft's: it is read from the session and written back soon after typing.
    """

    speak_requested = Signal(int)  # takes
    text_changed = Signal()  # the draft has the text now

    def __init__(self, tab: str, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tab = tab
        self._studio = studio
        self._session = studio.session
        self._edit = SpeechEdit(_estimate, self._check, self)
        self._note = SpeechHint(self)
        self._apart = self._draft_apart()
        self._wish = ModelWish(studio.models, self)
        self._offered: ModelDescription | None = None  # by the hint, to be loaded
        self._asked = 1  # takes, the last time
        self._other = ""  # the tab whose text was changed last
        self._word = "Speak"
        self._stops = False  # the main button does, for something is spoken
        self._speak = main_button("Speak", "speak", self)
        self._several = QPushButton(self)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(STORE_AFTER)
        self._build()
        self._connect()
        self._show_draft()
        self._show_takes()
        self._show_speaking()
        self._show_offer()

    @property
    def text(self) -> str:
        """What stands there now."""
        return self._edit.toPlainText()

    def focus_text(self) -> None:
        """Put the cursor into the text."""
        self._edit.setFocus()

    def set_placeholder(self, text: str) -> None:
        """What the empty field says."""
        self._edit.setPlaceholderText(text)

    def tell(self, sentence: str, severity: Severity = Severity.WARNING) -> None:
        """Say below the text what is missing, until that may have changed; or nothing."""
        self._offered = None
        self._note.tell(sentence, severity)

    def need_model(self, widths: Collection[int] = ()) -> None:
        """Say that this tab's kind of model is missing, and offer to load one and to speak.

        One of these widths is preferred. While one is being loaded, speaking waits for it.
        """
        family = TAB_FAMILIES[self._tab]
        state, offered = self._studio.models.state, self._studio.models.fitting(family, widths)
        coming = state.description if state.status is ModelStatus.LOADING else None
        if coming is not None and coming.family is family and state.pair is not None:
            self._wish.wait(state.pair.talker)
            self._tell_waiting(coming)
        elif offered is None:
            looking = self._studio.models.found is None
            why = "which is being looked for" if looking else "and none is on this computer yet"
            self.tell(f"This needs a {FAMILY_NAMES[family]} model, {why}.")
        elif loads_unasked(offered, state.description):
            self._offered = offered
            self._on_hint()
        else:
            key = key_text(shortcut("speak").keys[0])
            self._offered = offered
            self._note.tell(
                f"This needs the {short_name(offered)} model.",
                button="Load and speak",
                tip=f"{offered.name}; {key} once more does it too",
            )

    def has_text(self) -> bool:
        """Whether there is something to speak; if not, says so and puts the cursor there."""
        self.store()
        if self.text.strip():
            return True
        self.tell("There is no text yet. Type what should be said.")
        self.focus_text()
        return False

    def set_main_word(self, word: str) -> None:
        """What the main button does, where it is not plain speaking: "Make candidates"."""
        self._word = word
        self._dress_main()

    @Slot()
    def offer_several(self, offered: bool) -> None:
        """Show or hide the second button, where the main one says how many takes it makes."""
        self._several.setVisible(offered)

    def press_speak(self) -> None:
        """Ask for the text to be spoken, as the main button does while nothing is."""
        self._ask(1)

    @Slot()
    def press_several(self) -> None:
        """Ask for several takes of it."""
        self._ask(self._takes())

    @Slot()
    def store(self) -> None:
        """Write the text into the draft now."""
        self._pause.stop()
        draft = self._session.draft(self._tab)
        if draft.text != self.text:
            self._session.set_draft(self._tab, replace(draft, text=self.text))
            self.text_changed.emit()

    def _build(self) -> None:
        lines = self._edit.fontMetrics().lineSpacing() * LEAST_LINES
        self._edit.setMinimumHeight(lines + 2 * GAP + self._edit.viewportMargins().bottom())
        self._speak.installEventFilter(self)
        for button in (self._speak, self._several):
            button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout()
        row.setSpacing(GAP)
        row.addStretch()
        row.addWidget(self._several)
        row.addWidget(self._speak)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addWidget(self._edit, 1)
        layout.addWidget(self._note)
        layout.addLayout(row)
        self.setFocusProxy(self._edit)

    def _connect(self) -> None:
        self._edit.textChanged.connect(self._on_typed)
        self._edit.speak_requested.connect(self.press_speak)
        self._edit.takes_requested.connect(self.press_several)
        self._edit.file_dropped.connect(self._on_file)
        self._edit.offer_taken.connect(self._use_other_text)
        self._note.pressed.connect(self._on_hint)
        # Later, when the tab has heard of the model too.
        self._wish.ready.connect(self._on_ready, Qt.ConnectionType.QueuedConnection)
        self._studio.models.changed.connect(self._on_models)
        self._studio.models.problem.connect(self._on_models)
        self._studio.speech.began.connect(self._withdraw)
        self._pause.timeout.connect(self.store)
        self._speak.clicked.connect(self._on_main)
        self._several.clicked.connect(self.press_several)
        self._session.draft_changed.connect(self._on_draft)
        self._studio.preferences.changed.connect(self._show_takes)
        self._studio.speech.changed.connect(self._show_speaking)

    def _check(self, text: str) -> tuple[TextWarning, ...]:
        return text_warnings(text, self._session.draft(self._tab).language)

    @Slot(str)
    def _on_draft(self, tab: str) -> None:
        if tab == self._tab:
            apart = self._draft_apart()
            if apart != self._apart:  # another voice, speaker or description
                self._apart = apart
                self.tell("")
            self._show_draft()
        elif self._session.draft(tab).text.strip():
            self._other = tab
        self._show_offer()

    def _draft_apart(self) -> Draft:
        """The draft but for its text, which is shown as it is typed."""
        return replace(self._session.draft(self._tab), text="")

    def _show_draft(self) -> None:
        """Show the draft, unless it is our own text that comes back, older than what is typed."""
        text = self._session.draft(self._tab).text
        if not self._pause.isActive() and text != self.text:
            self._edit.replace_text(text)
            self._pause.stop()
        self._edit.check_now()  # the language may be another one

    @Slot()
    def _on_typed(self) -> None:
        self.tell("")
        self._show_offer()
        self._pause.start()

    def _ask(self, takes: int) -> None:
        self.store()
        self._asked = takes
        if self._offered is not None:
            self._on_hint()
        else:
            self.speak_requested.emit(takes)

    # The hint

    @Slot()
    def _on_hint(self) -> None:
        """Load what the hint offers, and speak then."""
        if (offered := self._offered) is not None:
            self._wish.load(offered.path)
            self._tell_waiting(offered)

    def _tell_waiting(self, coming: ModelDescription) -> None:
        self.tell(f"{short_name(coming)} is being loaded; then the text is spoken.", Severity.INFO)

    @Slot()
    def _on_ready(self) -> None:
        if self.isVisible():  # else people have gone on to something else
            self.speak_requested.emit(self._asked)

    @Slot()
    def _on_models(self) -> None:
        if not self._wish.is_open:
            self.tell("")

    @Slot()
    def _withdraw(self) -> None:
        self.tell("")

    # The text of another tab

    def _source(self) -> str:
        """The other tab whose text may be used here; empty if there is none."""
        tabs = (tab for tab in (self._other, *TABS) if tab and tab != self._tab)
        return next((tab for tab in tabs if self._session.draft(tab).text.strip()), "")

    def _show_offer(self) -> None:
        source = "" if self.text else self._source()
        title = TAB_TITLES.get(source, "")
        self._edit.offer(
            f"Use the text of \N{LEFT DOUBLE QUOTATION MARK}{title}\N{RIGHT DOUBLE QUOTATION MARK}"
            if source
            else ""
        )

    @Slot()
    def _use_other_text(self) -> None:
        if source := self._source():
            self._edit.replace_text(self._session.draft(source).text)
            self.focus_text()

    def _takes(self) -> int:
        return max(self._studio.preferences.settings.takes_per_press, 2)

    @Slot()
    def _show_takes(self) -> None:
        takes = self._takes()
        key = key_text(shortcut("takes").keys[0])
        self._several.setText(f"Speak {takes} takes")
        self._several.setToolTip(f"Speak the text {takes} times, each with its own seed ({key})")

    @Slot()
    def _show_speaking(self) -> None:
        """Let the main button stop what is spoken, as long as something is."""
        phase = self._studio.speech.state.phase
        stops = phase is not SpeechPhase.IDLE
        self._speak.setEnabled(phase is not SpeechPhase.STOPPING)
        if stops != self._stops or not self._speak.accessibleName():
            self._stops = stops
            name, tip = "Speak", "Speak the text once"
            if stops:
                name, tip = "Stop", "Stop speaking; what was made until now is kept"
            self._speak.setAccessibleName(name)
            self._speak.setToolTip(tip)
            picture = "stop" if stops else "speak"
            self._speak.setIcon(icon(picture, QPalette.ColorRole.BrightText))
            self._dress_main()

    def _dress_main(self) -> None:
        """Write on the main button what it does; its width is the same for both."""
        speak = f"{self._word}  ({key_text(shortcut('speak').keys[0])})"
        stop = f"Stop  ({key_text(shortcut('cancel').keys[0])})"
        self._speak.setMinimumWidth(0)
        self._speak.setText(stop)
        width = self._speak.sizeHint().width()
        self._speak.setText(speak)
        self._speak.setMinimumWidth(max(width, self._speak.sizeHint().width()))
        if self._stops:
            self._speak.setText(stop)

    @Slot()
    def _on_main(self) -> None:
        if self._stops:
            self._studio.speech.cancel()
        else:
            self.press_speak()

    def hasHeightForWidth(self) -> bool:
        return False  # else the height that the page would like became the least it can have

    def minimumSizeHint(self) -> QSize:
        least, layout = super().minimumSizeHint(), self.layout()
        if layout is not None and layout.hasHeightForWidth():  # the note wraps
            width = max(self.width(), least.width())
            least.setHeight(layout.minimumHeightForWidth(width))
        return least

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Else a double-click would speak and stop that at once.
        if watched is self._speak and event.type() == QEvent.Type.MouseButtonDblClick:
            return True
        return super().eventFilter(watched, event)

    @Slot(object)
    def _on_file(self, path: Path) -> None:
        self._studio.background.run(partial(read_text_file, path), self._on_read)

    def _on_read(self, transcript: Transcript) -> None:
        self._edit.replace_text(transcript.text)
        self.tell(transcript.notice)


def _estimate(text: str) -> float:
    return estimate_speech(text).seconds
