"""One take as a strip: its waveform, what it says, and what can be done with it."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from PySide6.QtCore import QEvent, QMimeData, QPointF, Qt, QUrl, Signal, Slot
from PySide6.QtGui import QDrag, QFocusEvent, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.audio.take_buffer import TakeBuffer
from app.core.takes import Take, TakeEnding
from app.core.voice_record import Likeness
from app.ui.controls import muted_label, tool_button
from app.ui.icons import icon
from app.ui.labels import ElidedLabel
from app.ui.live import LiveTimer
from app.ui.metrics import CAPTION, GAP, TIGHT, scaled_font
from app.ui.shortcuts import with_key
from app.ui.time_axis import clock
from app.ui.waveform import WaveformView
from engine import Family

WORDS_WIDTHS = (120, 190)  # in a narrow strip and in a wide one
NOTE_WIDTHS = (90, 130)
NARROW = 760
LONGEST_NOTE = 2000
BADGES: Final = MappingProxyType(
    {
        TakeEnding.LIMIT: ("Cut off", "Cut off at the longest length."),
        TakeEnding.STOPPED: ("Stopped", "Stopped before its end."),
        TakeEnding.FAILED: ("Broke off", "Broke off before its end."),
    }
)
"""What is said of takes that did not end by themselves, in short and in a sentence."""
SPEAKING: Final = "Speaking"
WAITING: Final = "Waiting"


class DragGrip(QToolButton):
    """A handle to drag something out of the window by."""

    dragged = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        text = "Drag the WAV file into another program"
        self.setIcon(icon("grip"))
        self.setToolTip(text)
        self.setAccessibleName(text)
        self.setProperty("kind", "quiet")
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # there is Save for the keyboard
        self._pressed: QPointF | None = None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = event.position()
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            return
        moved = (event.position() - self._pressed).manhattanLength()
        if moved >= QApplication.startDragDistance():
            self._pressed = None
            self.setDown(False)
            self.dragged.emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._pressed = None
        super().mouseReleaseEvent(event)


class TakeStrip(QFrame):
    """Shows a take, also while it is made. Every wish is a signal with the id of the take."""

    chosen = Signal(str)
    play_requested = Signal(str)  # or to pause, when it is heard
    seek_requested = Signal(str, int)  # id, sample to play from
    step_requested = Signal(int)  # +1 to the take below, -1 to the one above
    star_changed = Signal(str, bool)
    note_changed = Signal(str, str)
    again_requested = Signal(str, bool)  # id, with a new seed
    save_requested = Signal(str)
    text_requested = Signal(str)  # its text, to be used again
    trash_requested = Signal(str)
    lock_requested = Signal(str)
    view_requested = Signal(str)  # large, or small again

    def __init__(
        self, take: Take, buffer: TakeBuffer | None, timer: LiveTimer, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._take = take
        self._is_live = False
        self._waits = False
        self._is_playing = False
        self._file = ""
        self._wave = WaveformView(timer, compact=True, parent=self)
        self._wave.set_source(buffer)
        self._wave.seek_requested.connect(self._on_seek)
        self._build()
        self.setProperty("panel", True)
        self.setProperty("strip", True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.show_take(take)

    @property
    def take(self) -> Take:
        return self._take

    @property
    def is_live(self) -> bool:
        return self._is_live

    def set_buffer(self, buffer: TakeBuffer | None) -> None:
        """Show other sound, if it is another buffer; None lets go of it."""
        if buffer is not self._wave.source:
            self._wave.set_source(buffer)

    def drag_data(self) -> QMimeData:
        """What another program gets: the file, under its own name."""
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(self._file)])
        return data

    def focus_chain(self) -> tuple[QWidget, ...]:
        """What Tab goes through, from left to right."""
        controls = (self._play, self._star, self._note, self._again, self._save, self._more)
        return (self, *controls)

    def set_file(self, path: str) -> None:
        """Where the WAV of the take lies, for dragging it out; empty while there is none."""
        self._file = path
        self._grip.setVisible(bool(path))

    def set_live(self, is_live: bool, expected: float = 0.0) -> None:
        """Say that the take is being made and will take about `expected` seconds."""
        self._is_live = is_live
        self._waits = False
        self._wave.set_expected(int(expected * self._take.sample_rate) if is_live else 0)
        for button in (self._star, self._again, self._more, self._save):
            button.setEnabled(not is_live)
        self._note.setEnabled(not is_live)
        self._show_details()

    def show_take(self, take: Take) -> None:
        """Show what is known of the take now."""
        self._take = take
        self._words.setText(take.label)
        self._words.setAccessibleName(f"Take: {take.label}")
        self.setAccessibleName(f"Take of {take.voice_label}: {take.label}")
        self._star.setChecked(take.star)
        self._star.setIcon(icon("star-filled" if take.star else "star"))
        if not self._note.isModified():  # else somebody is writing it just now
            self._note.setText(take.note)
        self._lock.setVisible(take.family is Family.VOICE_DESIGN)
        self._show_details()

    def show_progress(self, seconds: float, *, waits: bool = False) -> None:
        """Say how many seconds there are while the take is made, or that it waits for its turn."""
        self._length.setText("" if waits else clock(seconds))
        if waits != self._waits:
            self._waits = waits
            self._show_details()

    def show_playing(self, is_playing: bool, position: int | None) -> None:
        """Show whether this take is heard, and where."""
        if is_playing != self._is_playing:
            self._is_playing = is_playing
            self._play.setIcon(icon("pause" if is_playing else "play"))
            text = "Pause" if is_playing else "Play this take"
            self._play.setToolTip(text)
            self._play.setAccessibleName(text)
        self._wave.set_position(position)

    def set_current(self, is_current: bool) -> None:
        """Show that the keys of takes work on this one."""
        if self.property("current") != is_current:
            self.setProperty("current", is_current)
            self.style().unpolish(self)
            self.style().polish(self)

    def _build(self) -> None:
        self._play = tool_button("play", "Play this take", self)
        self._play.clicked.connect(self._on_play)
        self._words = ElidedLabel(parent=self)
        self._details = ElidedLabel(parent=self)
        self._details.setProperty("muted", True)
        self._details.setFont(scaled_font(self._details, CAPTION))
        self._length = QLabel(self)
        self._length.setAccessibleName("Length")
        self._badge = muted_label(parent=self)
        self._badge.setFont(scaled_font(self._badge, CAPTION))
        badges = [badge for badge, _ in BADGES.values()] + [SPEAKING, WAITING]
        metrics = self._badge.fontMetrics()
        self._length.setMinimumWidth(max(metrics.horizontalAdvance(badge) for badge in badges))
        self._star = tool_button("star", with_key("Star", "take-star"), self)
        self._star.setCheckable(True)
        self._star.clicked.connect(self._on_star)
        self._note = QLineEdit(self)
        self._note.setPlaceholderText("Note")
        self._note.setAccessibleName("Note on this take")
        self._note.setMaxLength(LONGEST_NOTE)
        self._note.editingFinished.connect(self._on_note)
        self._again = tool_button("dice", "Make it again with a new seed", self)
        self._again.clicked.connect(lambda: self.again_requested.emit(self._take.id, True))
        self._save = tool_button("save", with_key("Save as WAV", "take-save"), self)
        self._save.clicked.connect(lambda: self.save_requested.emit(self._take.id))
        self._more = self._more_button()
        self._grip = DragGrip(self)
        self._grip.dragged.connect(self._on_drag)
        keeps_room = self._grip.sizePolicy()
        keeps_room.setRetainSizeWhenHidden(True)  # so that waveforms end below one another
        self._grip.setSizePolicy(keeps_room)
        self._grip.hide()

        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self._words)
        words.addWidget(self._details)
        holder = self._holder = QWidget(self)
        holder.setLayout(words)
        words.setContentsMargins(0, 0, 0, 0)
        figures = QVBoxLayout()
        figures.setSpacing(0)
        figures.addWidget(self._length)
        figures.addWidget(self._badge)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(GAP, TIGHT, GAP, TIGHT)
        layout.setSpacing(TIGHT)
        layout.addWidget(self._play)
        layout.addWidget(holder)
        layout.addWidget(self._wave, 1)
        layout.addLayout(figures)
        for widget in (self._star, self._note, self._again, self._save, self._grip, self._more):
            layout.addWidget(widget)

    def resizeEvent(self, event: QResizeEvent) -> None:
        is_wide = event.size().width() >= NARROW
        self._holder.setFixedWidth(WORDS_WIDTHS[is_wide])
        self._note.setFixedWidth(NOTE_WIDTHS[is_wide])
        super().resizeEvent(event)

    def _more_button(self) -> QToolButton:
        button = tool_button("more", "More to do with this take", self)
        menu = QMenu(button)
        menu.addAction(
            icon("waveform"),
            with_key("Show it large", "take-view"),
            lambda: self.view_requested.emit(self._take.id),
        )
        menu.addAction(
            icon("save"),
            with_key("Save as WAV…", "take-save"),
            lambda: self.save_requested.emit(self._take.id),
        )
        menu.addSeparator()
        menu.addAction(
            icon("edit"), "Use this text again", lambda: self.text_requested.emit(self._take.id)
        )
        menu.addAction(
            icon("refresh"),
            "Make it again with the same seed",
            lambda: self.again_requested.emit(self._take.id, False),
        )
        menu.addAction(
            icon("copy"),
            "Copy the seed",
            lambda: QApplication.clipboard().setText(str(self._take.seed)),
        )
        self._lock = menu.addAction(
            icon("lock"), "Lock this voice…", lambda: self.lock_requested.emit(self._take.id)
        )
        menu.addSeparator()
        menu.addAction(
            icon("trash"),
            with_key("Move to the trash", "take-trash"),
            lambda: self.trash_requested.emit(self._take.id),
        )
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return button

    def _show_details(self) -> None:
        take = self._take
        if self._is_live:
            badge, sentence = SPEAKING, "It is being made."
            if self._waits:
                badge, sentence = WAITING, "It is made when its turn comes."
        else:
            self._length.setText(clock(take.seconds))
            badge, sentence = BADGES.get(take.ending, ("", ""))
        self._badge.setText(badge)
        self._badge.setVisible(bool(badge))
        self._badge.setToolTip(" ".join(filter(None, (sentence, take.remark))))
        likeness = "best likeness" if take.request.likeness is Likeness.BEST else ""
        seed = f"seed {take.seed}"
        self._details.setText(" · ".join(filter(None, (take.voice_label, likeness, seed))))
        star = "Starred." if take.star else ""
        length = "" if self._is_live else f"{take.seconds:.1f} seconds."
        manner = f"{likeness.capitalize()}." if likeness else ""
        spoken = (manner, f"Seed {take.seed}.", length, sentence, take.remark, star, take.note)
        self.setAccessibleDescription(" ".join(filter(None, spoken)))
        voice = ", ".join(filter(None, (take.voice_label, likeness)))
        lines = [take.text[:400], f"Voice: {voice}", f"Seed: {take.seed}"]
        lines += [f"Model: {take.model}"] if take.model else []
        lines += [take.remark] if take.remark else []
        self._words.setToolTip("\n".join(lines))

    @Slot()
    def _on_play(self) -> None:
        self.chosen.emit(self._take.id)
        self.play_requested.emit(self._take.id)

    @Slot(object)
    def _on_seek(self, sample: int) -> None:
        self.chosen.emit(self._take.id)
        self.seek_requested.emit(self._take.id, sample)

    @Slot(bool)
    def _on_star(self, checked: bool) -> None:
        self.star_changed.emit(self._take.id, checked)

    @Slot()
    def _on_note(self) -> None:
        self._note.setModified(False)
        if self._note.text() != self._take.note:
            self.note_changed.emit(self._take.id, self._note.text())

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.chosen.emit(self._take.id)
        super().focusInEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.chosen.emit(self._take.id)
        super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.view_requested.emit(self._take.id)

    def event(self, event: QEvent) -> bool:
        # Space plays what was played last in the rest of the window; here it means this take.
        if event.type() == QEvent.Type.ShortcutOverride and _is_space(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if _is_space(event):
            self._on_play()
        elif step is not None:
            self.step_requested.emit(step)  # else the list around it would scroll
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.hasFocus():
            self.view_requested.emit(self._take.id)
        else:
            super().keyPressEvent(event)

    @Slot()
    def _on_drag(self) -> None:
        drag = QDrag(self)
        drag.setMimeData(self.drag_data())
        drag.setPixmap(self._wave.grab())
        drag.exec(Qt.DropAction.CopyAction)  # never a move: the take stays in the session


def _is_space(event: QEvent) -> bool:
    return (
        isinstance(event, QKeyEvent)
        and event.key() == Qt.Key.Key_Space
        and not event.modifiers()
        and not event.isAutoRepeat()
    )
