"""Narrows the list of voices: by words, kinds, favourites, languages and tags; and sorts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.core.voice_listing import VoiceListing
from app.core.voice_record import ANY_LANGUAGE, VoiceFilter, VoiceKind, VoiceOrder
from app.ui.chips import ChipBar
from app.ui.controls import muted_label
from app.ui.icons import icon
from app.ui.language_box import language_label
from app.ui.metrics import CAPTION, TIGHT, scaled_font
from app.ui.shortcuts import with_key
from app.ui.voice_look import KIND_WORDS

FAVOURITES, DAMAGED = "favourites", "damaged"
ORDERS: Final = (
    (VoiceOrder.NAME, "By name"),
    (VoiceOrder.NEWEST, "Newest first"),
    (VoiceOrder.LANGUAGE, "By language"),
)
CHIP_CHARACTERS: Final = 26
ANY_HEIGHT: Final = 1 << 14  # pixels
CHIP_SHARE: Final = 0.45  # of the height of what the chips stand in, from which on they scroll


@dataclass(frozen=True)
class VoiceChips:
    """What the list is filtered by, the searched words aside."""

    kinds: frozenset[str] = frozenset()
    language: str = ""
    tags: frozenset[str] = frozenset()


class VoiceFilterBar(QWidget):
    """Says which voices are to be shown, and in which order."""

    changed = Signal()
    list_requested = Signal()  # go on to the list, by keyboard

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._language = ""
        self._has_voices = False
        self._wanted: VoiceChips | None = None  # as soon as there are
        self._search = _SearchField(self)
        self._search.textChanged.connect(self.changed)
        self._search.down_pressed.connect(self.list_requested)
        self._unfold = QPushButton(self)
        self._unfold.setProperty("kind", "quiet")
        self._unfold.setCheckable(True)
        self._unfold.setToolTip("Filter by kind, favourites, language and tags")
        self._unfold.toggled.connect(self._show_chips)
        self._order = QComboBox(self)
        self._order.setAccessibleName("Sort")
        self._order.setToolTip("How the list is sorted")
        self._order.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        for order, label in ORDERS:
            self._order.addItem(label, str(order))
        self._order.activated.connect(self.changed)
        self._kinds, self._languages, self._tags = (
            ChipBar(name) for name in ("Kinds", "Languages", "Tags")
        )
        self._kinds.changed.connect(self._on_chips)
        self._languages.changed.connect(self._on_languages)
        self._tags.changed.connect(self._on_chips)
        self._captions = {
            bar: muted_label(bar.accessibleName()) for bar in (self._languages, self._tags)
        }
        self._area = _ChipArea((self._kinds, *self._with_captions()), self)
        line = QHBoxLayout()
        line.setSpacing(TIGHT)
        line.addWidget(self._unfold)
        line.addStretch(1)
        line.addWidget(self._order)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TIGHT)
        layout.addWidget(self._search)
        layout.addLayout(line)
        layout.addWidget(self._area)
        self._show_chips()

    @property
    def filter(self) -> VoiceFilter:
        """Which voices are wanted."""
        kinds = self._kinds.chosen
        return VoiceFilter(
            query=self._search.text(),
            tags=self._tags.chosen,
            language=self._language,
            kinds=frozenset(kind for kind in VoiceKind if kind in kinds),
            favourites=FAVOURITES in kinds,
        )

    @property
    def order(self) -> VoiceOrder:
        return VoiceOrder(self._order.currentData())

    @property
    def chips(self) -> VoiceChips:
        """What was chosen, or will be as soon as there are voices."""
        if self._wanted is not None:
            return self._wanted
        return VoiceChips(self._kinds.chosen, self._language, self._tags.chosen)

    def want_chips(self, chips: VoiceChips) -> None:
        """Choose these as soon as there are voices, as far as they are offered then."""
        self._wanted = chips
        self._take_wanted()

    @property
    def wants_damaged(self) -> bool:
        """Whether only damaged folders are wanted."""
        return DAMAGED in self._kinds.chosen

    @property
    def is_filtering(self) -> bool:
        return bool(self._search.text().strip()) or self._count > 0

    def offer(self, listing: VoiceListing) -> None:
        """Offer what can be told apart in this library."""
        kinds = {voice.details.kind for voice in listing.voices}
        chips = [(FAVOURITES, "Favourites")]
        chips += [(str(kind), word) for kind, word in KIND_WORDS.items() if kind in kinds]
        if listing.damaged:
            chips.append((DAMAGED, "Damaged"))
        self._kinds.set_chips(chips)
        languages = {voice.details.language for voice in listing.voices} - {ANY_LANGUAGE}
        self._languages.set_chips((each, language_label(each)) for each in sorted(languages))
        self._tags.set_chips((tag, chip_label(tag)) for tag in listing.tags)
        for bar, is_offered in (
            (self._languages, bool(languages)),
            (self._tags, bool(listing.tags)),
        ):
            bar.setVisible(is_offered)
            self._captions[bar].setVisible(is_offered)
        self._has_voices = bool(listing.voices or listing.damaged)
        self._take_wanted()
        self._show_chips()

    def show_all(self) -> None:
        """Filter by nothing; `changed` tells once."""
        self._wanted = None
        with QSignalBlocker(self):
            self._search.clear()
        self._choose(VoiceChips())
        self._show_chips()
        self.changed.emit()

    def set_order(self, order: VoiceOrder) -> None:
        """Sort in another way."""
        self._order.setCurrentIndex(self._order.findData(str(order)))
        self.changed.emit()

    def focus_search(self) -> None:
        """Let words be typed."""
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()

    def _take_wanted(self) -> None:
        if self._wanted is not None and self._has_voices:
            wanted, self._wanted = self._wanted, None
            self._choose(wanted)

    def _choose(self, chips: VoiceChips) -> None:
        """Choose chips without a signal; those that are not offered are no filter."""
        with QSignalBlocker(self):
            self._kinds.set_chosen(chips.kinds)
            self._languages.set_chosen((chips.language,))
            self._language = next(iter(self._languages.chosen), "")
            self._tags.set_chosen(chips.tags)

    @property
    def _count(self) -> int:
        return sum(len(bar.chosen) for bar in (self._kinds, self._languages, self._tags))

    def _with_captions(self) -> tuple[QWidget, ...]:
        for caption in self._captions.values():
            caption.setFont(scaled_font(caption, CAPTION))
        return tuple(widget for bar, caption in self._captions.items() for widget in (caption, bar))

    @Slot(object)
    def _on_chips(self, _: object) -> None:
        self._show_chips()
        self.changed.emit()

    @Slot(object)
    def _on_languages(self, chosen: frozenset[str]) -> None:
        """A voice has one language: another one that is chosen replaces the first."""
        if self._language in chosen and len(chosen) > 1:
            chosen -= {self._language}
        self._language = next(iter(chosen), "")
        with QSignalBlocker(self._languages):
            self._languages.set_chosen(chosen)
        self._on_chips(chosen)

    @Slot()
    def _show_chips(self) -> None:
        unfolded, count = self._unfold.isChecked(), self._count
        self._unfold.setText(f"Filter ({count})" if count else "Filter")
        self._unfold.setIcon(icon("chevron-down" if unfolded else "chevron-right"))
        self._area.setVisible(unfolded)
        self._area.fit()

    def fit_into(self, height: int) -> None:
        """Leave most of a height for the list, however many chips there are."""
        self._area.limit(round(height * CHIP_SHARE))


class _SearchField(QLineEdit):
    down_pressed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setPlaceholderText("Find a voice")
        self.setAccessibleName("Find a voice")
        self.setToolTip(with_key("Words in name, tags, note or transcript", "find"))
        self.setClearButtonEnabled(True)
        self.addAction(icon("search"), QLineEdit.ActionPosition.LeadingPosition)

    def event(self, event: QEvent) -> bool:
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
            and self.text()
        ):
            event.accept()  # it clears the search before it stops anything
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.down_pressed.emit()
        elif event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)


class _ChipArea(QScrollArea):
    """As high as its chips, up to a limit from which on it scrolls."""

    def __init__(self, widgets: tuple[QWidget, ...], parent: QWidget) -> None:
        super().__init__(parent)
        self._most = ANY_HEIGHT
        self._content = QWidget()
        self._column = QVBoxLayout(self._content)
        self._column.setContentsMargins(0, 0, 0, TIGHT)
        self._column.setSpacing(TIGHT)
        for widget in widgets:
            self._column.addWidget(widget)
        self._column.addStretch(1)
        self.setWidget(self._content)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._fit)
        self._content.installEventFilter(self)

    def limit(self, most: int) -> None:
        """Be no higher than this many pixels."""
        self._most = most
        self.fit()

    def fit(self) -> None:
        """Take the height that is needed, once the layout knows its width."""
        self._timer.start()

    @Slot()
    def _fit(self) -> None:
        self._column.invalidate()  # it remembers heights of chips that had no style yet
        needed = self._column.totalHeightForWidth(self.width())
        fits = needed <= self._most
        policy = Qt.ScrollBarPolicy
        # A bar that is there keeps itself there: it leaves the chips too little width.
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAlwaysOff if fits else policy.ScrollBarAsNeeded
        )
        self.setFixedHeight(min(needed, self._most))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._content and event.type() == QEvent.Type.LayoutRequest:
            self.fit()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.verticalScrollBar().setValue(0)
        self.fit()


def chip_label(tag: str) -> str:
    """A tag as a chip writes it: no longer than fits, `&` as itself."""
    cut = tag if len(tag) <= CHIP_CHARACTERS else f"{tag[: CHIP_CHARACTERS - 1]}…"
    return cut.replace("&", "&&")
