"""The field where the words to be spoken are written, the same in all tabs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from PySide6.QtCore import QEvent, QMimeData, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QHelpEvent,
    QKeyEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QLabel, QTextEdit, QToolTip, QWidget

from app.core.text_warnings import TextWarning, TextWarningKind
from app.ui.colours import Colours
from app.ui.icons import icon_pixmap
from app.ui.labels import ElidedLabel, LinkLabel
from app.ui.metrics import CAPTION, GAP, TIGHT, scaled_font
from app.ui.plain_edit import PlainEdit
from app.ui.time_axis import clock

CHECK_AFTER = 150  # milliseconds without typing
SHOWN_WARNINGS = 500  # underlines; more would only slow the typing down


Estimate: TypeAlias = Callable[[str], float]
"""Told a text, gives the seconds that it will take to speak."""

Check: TypeAlias = Callable[[str], Sequence[TextWarning]]
"""Told a text, gives its warnings."""


class SpeechEdit(PlainEdit):
    """Plain text with its length in characters and seconds, and with warnings underlined."""

    speak_requested = Signal()
    takes_requested = Signal()
    file_dropped = Signal(object)  # Path of a text file; the owner reads it
    offer_taken = Signal()  # the link that `offer` shows
    checked = Signal()  # length and warnings are up to date

    def __init__(self, estimate: Estimate, check: Check, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._estimate = estimate
        self._check = check
        self._warnings: tuple[TextWarning, ...] = ()
        self._spans: list[tuple[int, int]] = []  # of the shown warnings, in Qt's counting
        self._count = QLabel(self)
        self._sign = QLabel(self)
        self._warning = ElidedLabel(parent=self)
        # Their colours are the style sheet's: it would take others back when the theme changes.
        self._count.setProperty("muted", True)
        self._warning.setProperty("tone", "warning")
        self._offer = LinkLabel(self)
        self._offer.linkActivated.connect(self._on_offer)
        self._offer.hide()
        for label in (self._count, self._sign, self._warning):
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(CHECK_AFTER)
        self._pause.timeout.connect(self.check_now)
        self.textChanged.connect(self._on_text)
        self.cursorPositionChanged.connect(self._show_warning)
        self.setTabChangesFocus(True)
        self.setAcceptDrops(True)
        self.setPlaceholderText("What should be said?")
        self.setAccessibleName("Text to speak")
        self.document().setDocumentMargin(GAP)
        self._dress()
        self.check_now()

    @property
    def warnings(self) -> tuple[TextWarning, ...]:
        return self._warnings

    @property
    def summary(self) -> str:
        """The line below the text."""
        return self._count.text()

    def replace_text(self, text: str) -> None:
        """Put a text in the place of this one so that it can be undone."""
        cursor = self.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        self.setTextCursor(cursor)
        self.check_now()

    def offer(self, words: str) -> None:
        """Show these words as a link below the text, where its warnings are else; "" for none."""
        self._offer.set_link(words, "offer")
        self._offer.setVisible(bool(words))
        self._place()

    @Slot()
    def _on_offer(self) -> None:
        self.offer_taken.emit()

    @Slot()
    def check_now(self) -> None:
        """Look at the text again; for the owner when the language or the model changes."""
        self._pause.stop()
        text = self.toPlainText()
        characters = "1 character" if len(text) == 1 else f"{len(text):,} characters"
        seconds = self._estimate(text)
        if seconds > 0:
            characters += f" · about {_duration(seconds)}"
        self._count.setText(characters)
        # That the field is empty is plain to see, and said by the placeholder.
        found = [one for one in self._check(text) if one.kind is not TextWarningKind.EMPTY]
        self._warnings = tuple(sorted(found, key=lambda warning: (warning.start, warning.end)))
        self._underline(text)
        self._show_warning()
        self._place()
        self.checked.emit()

    @Slot()
    def _on_text(self) -> None:
        self._pause.start()

    def _underline(self, text: str) -> None:
        form = QTextCharFormat()
        form.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        form.setUnderlineColor(QColor(Colours.of(self.palette()).warning))
        selections = []
        self._spans = []
        unit = done = 0
        for warning in self._warnings[:SHOWN_WARNINGS]:
            unit += _units(text[done : warning.start])
            done = warning.start
            end = unit + _units(text[warning.start : warning.end])
            self._spans.append((unit, end))
            if warning.kind is TextWarningKind.VERY_LONG:
                continue  # a page of waves helps nobody
            cursor = QTextCursor(self.document())
            cursor.setPosition(unit)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            selection = QTextEdit.ExtraSelection()
            selection.cursor = cursor
            selection.format = form
            selections.append(selection)
        self.setExtraSelections(selections)

    def _warning_at(self, position: int) -> int | None:
        """The index of the closest warning around a position in Qt's counting."""
        around = [
            (end - start, index)
            for index, (start, end) in enumerate(self._spans)
            if start <= position <= end
        ]
        return min(around)[1] if around else None

    @Slot()
    def _show_warning(self) -> None:
        """Name the warning at the cursor, else the first one."""
        self._sign.setVisible(bool(self._warnings))
        if not self._warnings:
            self._warning.setText("")
            self.setAccessibleDescription(self._count.text())
            return
        index = self._warning_at(self.textCursor().position()) or 0
        number = len(self._warnings)
        more = f" ({index + 1:,} of {number:,} notes)" if number > 1 else ""
        said = f"{self._warnings[index].message}{more}"
        self._warning.setText(said)
        self.setAccessibleDescription(f"{self._count.text()}. {said}")

    # Events

    def keyPressEvent(self, event: QKeyEvent) -> None:
        control = Qt.KeyboardModifier.ControlModifier
        shift = Qt.KeyboardModifier.ShiftModifier
        pressed = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and pressed & control:
            if event.isAutoRepeat():
                return  # a key that is held down asks once
            if pressed == control:
                self.speak_requested.emit()
            elif pressed == control | shift:
                self.takes_requested.emit()
            return
        super().keyPressEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            index = self._warning_at(self.cursorForPosition(event.pos()).position())
            if index is not None:
                QToolTip.showText(event.globalPos(), self._warnings[index].message, self)
                return True
            QToolTip.hideText()
        return super().viewportEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _text_file(event.mimeData()) is not None:
            event.acceptProposedAction()
        else:
            super().dragEnterEvent(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        if _text_file(event.mimeData()) is not None:
            event.acceptProposedAction()
        else:
            super().dragMoveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        path = _text_file(event.mimeData())
        if path is not None:
            event.acceptProposedAction()
            self.file_dropped.emit(path)
        else:
            super().dropEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        # Files other than texts would be inserted as their address.
        return source.hasText() and not source.hasUrls()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(
            self, "_pause"
        ):
            self._dress()
            self._underline(self.toPlainText())
            self._place()

    def _dress(self) -> None:
        colours = Colours.of(self.palette())
        font = scaled_font(self, CAPTION)
        for label in (self._count, self._warning, self._offer):
            label.setFont(font)
        size = self._count.sizeHint().height()
        self._sign.setPixmap(
            icon_pixmap("warning", size, colours.warning, self.devicePixelRatioF())
        )
        self.setViewportMargins(0, 0, 0, size + 2 * TIGHT)

    def _place(self) -> None:
        """Put the line below the text into the margin."""
        inside = self.contentsRect()
        height = self._count.sizeHint().height()
        top = inside.bottom() - height - TIGHT
        width = min(self._count.sizeHint().width(), inside.width() - 2 * GAP)
        self._count.setGeometry(inside.right() - width - GAP, top, width, height)
        left = inside.left() + GAP
        self._sign.setGeometry(left, top, height, height)
        room = max(inside.right() - width - 3 * GAP - left, 0)
        self._offer.setGeometry(left, top, min(self._offer.sizeHint().width(), room), height)
        left += height + TIGHT
        room = max(inside.right() - width - 3 * GAP - left, 0)
        self._warning.setGeometry(left, top, room, height)


def _units(text: str) -> int:
    """How many positions Qt counts: a character beyond the first 65,536 has two."""
    return len(text) + sum(character > "\uffff" for character in text)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{clock(seconds, 0)} min"


def _text_file(data: QMimeData) -> Path | None:
    urls = data.urls() if data.hasUrls() else []
    if len(urls) == 1 and urls[0].isLocalFile():
        path = Path(urls[0].toLocalFile())
        return path if path.suffix.lower() == ".txt" else None
    return None
