"""Shows a passage to read into the microphone, and counts in above it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.core.reading_cards import READING_CARDS, ReadingCard, reading_card
from app.ui.colours import Colours, translucent
from app.ui.inline_note import wrapped_label
from app.ui.metrics import GAP, ROOM, scaled_font

PASSAGE = 1.2  # text size, as a share of the base size
DIGIT = 0.8  # height of the count, as a share of the card's
LARGEST_DIGIT = 120
VEIL = 0.9  # how much the passage is covered while it counts


class ReadingCardView(QFrame):
    """A card per language; the passage can be compared with what was said afterwards."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("field", True)
        self._language = QComboBox(self)
        self._language.setAccessibleName("Language of the words to read")
        self._language.setToolTip("Language of the words to read")
        for card in READING_CARDS:
            self._language.addItem(card.name, card.language)
        self._language.activated.connect(self._show_card)
        self._passage = wrapped_label(parent=self)
        self._passage.setFont(scaled_font(self, PASSAGE))
        self._passage.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._count = _Countdown(self)
        caption = QLabel("Read this aloud, or say what you like", self)
        caption.setBuddy(self._language)
        head = QHBoxLayout()
        head.setSpacing(GAP)
        head.addWidget(caption, 1)
        head.addWidget(self._language)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM - 4, GAP, GAP, ROOM - 4)
        layout.setSpacing(GAP)
        layout.addLayout(head)
        layout.addWidget(self._passage)
        self.set_language(READING_CARDS[0].language)

    @property
    def card(self) -> ReadingCard:
        """What is shown."""
        return reading_card(str(self._language.currentData()))

    def set_language(self, language: str) -> None:
        """Show the card of a language; no signal is sent."""
        card = reading_card(language)
        self._language.setCurrentIndex(self._language.findData(card.language))
        self._show_card()

    def set_count(self, seconds: int) -> None:
        """Cover the passage with the seconds that are left, or show it again with 0."""
        self._count.set_seconds(seconds)

    @Slot()
    def _show_card(self) -> None:
        self._passage.setText(self.card.text)
        self._passage.setAccessibleName(f"Words to read: {self.card.text}")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._count.setGeometry(self.rect().adjusted(1, 1, -1, -1))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_passage"):
            self._passage.setFont(scaled_font(self, PASSAGE))


class _Countdown(QWidget):
    """Lies over the card; takes no clicks."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._seconds = 0
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def set_seconds(self, seconds: int) -> None:
        if seconds != self._seconds:
            self._seconds = seconds
            self.setAccessibleName(f"Recording begins in {seconds}" if seconds else "")
            self.setVisible(seconds > 0)
            self.raise_()
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(0, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = Colours.of(self.palette())
        painter = QPainter(self)
        painter.fillRect(self.rect(), translucent(colours.field, VEIL))
        font = scaled_font(self, 1.0, bold=True)
        font.setPixelSize(max(1, min(round(self.height() * DIGIT), LARGEST_DIGIT)))
        painter.setFont(font)
        painter.setPen(QColor(colours.accent))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, str(self._seconds))
        painter.end()
