"""One take large: to look at it closely, and to hear a part of it again and again."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, Qt, QThreadPool, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.audio.player_state import PlayerState
from app.core.takes import Take
from app.studio.session import SessionKeeper
from app.studio.sound import Sound
from app.studio.speech import Speech
from app.ui.controls import tool_button
from app.ui.icons import icon
from app.ui.labels import ElidedLabel
from app.ui.live import LiveTimer
from app.ui.metrics import GAP, TIGHT
from app.ui.shortcuts import key_text
from app.ui.time_axis import Range, clock
from app.ui.wave_tools import WaveTools
from app.ui.waveform import WaveformView

LEAST_HEIGHT: Final = 56
_CLOSING: Final = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class TakeViewer(QWidget):
    """Follows the chosen take while it is open. A range that is chosen in it is repeated."""

    opened = Signal()
    closed = Signal()

    def __init__(
        self,
        session: SessionKeeper,
        speech: Speech,
        sound: Sound,
        timer: LiveTimer,
        pool: QThreadPool,
        parent: QWidget | None = None,
    ) -> None:
        """Closed until a take is opened in it."""
        super().__init__(parent)
        self._session, self._speech, self._sound = session, speech, sound
        self._take_id = ""
        self._wave = WaveformView(timer, pool, parent=self)
        self._play = tool_button("play", "", self)
        self._words = ElidedLabel(parent=self)
        self._part = QLabel(self)
        self._close = tool_button("cross", f"Close ({key_text('Return')})", self)
        self._tools = WaveTools(self._wave, self)
        self._build()
        self._connect()
        self._dress_play()
        self.hide()

    @property
    def take_id(self) -> str:
        """The take that is shown; empty while it is closed."""
        return self._take_id

    def open_take(self, take_id: str) -> None:
        """Show a take, and go there with the keyboard; the one that is shown already: close."""
        if take_id == self._take_id:
            self.close_take()
            return
        was_closed = not self._take_id
        self._show_take(take_id)
        if not self._take_id:
            return  # it is gone
        self.show()
        self._wave.setFocus()
        if was_closed:
            self.opened.emit()

    @Slot()
    def close_take(self) -> None:
        """Show none; what is heard goes on, also a part that is repeated."""
        if not self._take_id:
            return
        self._show_take("")
        self.hide()
        self.closed.emit()

    @Slot(str)
    def follow(self, take_id: str) -> None:
        """Another take was chosen: show that one, if it is open."""
        if not self._take_id or take_id == self._take_id:
            return
        if take_id:
            self._show_take(take_id)
        else:
            self.close_take()

    def chosen_part(self) -> tuple[int, int] | None:
        """The samples that were chosen, if the player has this take."""
        chosen = self._wave.range
        if chosen is None or not self._is_loaded():
            return None
        return chosen.start, chosen.end

    # Building

    def _build(self) -> None:
        self.setAccessibleName("Large view of the chosen take")
        self._wave.setMinimumHeight(LEAST_HEIGHT)
        self._words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._part.setAccessibleName("Length, or the chosen part")
        self._part.setToolTip("A part that is chosen in the waveform is repeated")
        tools = QHBoxLayout()
        tools.setSpacing(TIGHT)
        tools.addWidget(self._play)
        tools.addWidget(self._words, 1)
        tools.addWidget(self._part)
        tools.addSpacing(GAP)
        tools.addWidget(self._tools)
        tools.addWidget(self._close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(GAP, TIGHT, GAP, 0)
        layout.setSpacing(TIGHT)
        layout.addLayout(tools)
        layout.addWidget(self._wave, 1)

    def _connect(self) -> None:
        self._wave.seek_requested.connect(self._on_seek)
        self._wave.range_changed.connect(self._show_part)
        self._wave.range_committed.connect(self._on_range)
        self._play.clicked.connect(self.toggle)
        self._close.clicked.connect(self.close_take)
        self._sound.moved.connect(self._on_moved)
        self._speech.changed.connect(self._on_growing)
        self._speech.take_ended.connect(self._on_growing)
        self._session.changed.connect(self._on_takes)

    # What is shown

    def _show_take(self, take_id: str) -> None:
        take = self._find(take_id)
        self._take_id = "" if take is None else take_id
        self._wave.set_source(None if take is None else self._session.buffer(take_id))
        self._words.setText("" if take is None else f"{take.voice_label}: {take.label}")
        state = self._sound.state
        self._on_moved(state)
        if state.take is not None and state.take is self._wave.source:
            self._wave.set_range(_part_of(state))
        self._on_growing()

    def _find(self, take_id: str) -> Take | None:
        """A take of the session, or one that is being made."""
        making = (live.take for live in self._speech.live if live.take.id == take_id)
        return self._session.session.take(take_id) or next(making, None)

    @Slot()
    def _on_takes(self) -> None:
        if self._take_id and self._find(self._take_id) is None:
            self.close_take()

    @Slot()
    def _on_growing(self) -> None:
        """Leave room for what is still to come, and say how much there is."""
        if not self._take_id:
            return
        lives = (live for live in self._speech.live if live.take.id == self._take_id)
        live = next(lives, None)
        expected = 0 if live is None else round(live.expected * live.take.sample_rate)
        self._wave.set_expected(expected)
        self._show_part(self._wave.range)

    @Slot(object)
    def _show_part(self, chosen: Range | None) -> None:
        source = self._wave.source
        if source is None:
            self._part.setText("")
        elif chosen is None:
            self._part.setText(clock(source.length / source.rate))
        else:
            start, end = (clock(at / source.rate, 2) for at in (chosen.start, chosen.end))
            self._part.setText(f"{start} to {end}, {chosen.length / source.rate:.2f} s")

    @Slot(object)
    def _on_moved(self, state: PlayerState) -> None:
        if self._is_loaded() and state.take is self._wave.source:
            self._wave.set_position(state.position)
        self._dress_play()

    def _dress_play(self) -> None:
        plays = self._is_loaded() and self._sound.is_sounding
        word = "Pause" if plays else "Play this take"
        if self._play.accessibleName() != word:
            self._play.setIcon(icon("pause" if plays else "play"))
            self._play.setAccessibleName(word)
            self._play.setToolTip(word)

    # Hearing

    def _is_loaded(self) -> bool:
        return bool(self._take_id) and self._sound.playing_key == self._take_id

    @Slot()
    def toggle(self) -> None:
        """Play it from the playhead, its part again and again; or pause it."""
        if not self._take_id:
            return
        if self._is_loaded():
            self._sound.toggle()
            return
        buffer, chosen = self._session.buffer(self._take_id), self._wave.range
        start = 0 if chosen is None else chosen.start
        self._sound.play(self._take_id, buffer, self._wave.position or start)
        if chosen is not None:
            self._sound.set_loop((chosen.start, chosen.end))

    @Slot(object)
    def _on_seek(self, sample: int) -> None:
        """Go on there; what else plays is not ended by a click."""
        if not self._is_loaded():
            if self._sound.is_sounding:
                return
            self._sound.load(self._take_id, self._session.buffer(self._take_id))
        self._sound.seek(sample)

    @Slot(object)
    def _on_range(self, chosen: Range | None) -> None:
        """Repeat what was chosen."""
        self._show_part(chosen)
        if not self._is_loaded():
            return
        self._sound.set_loop(None if chosen is None else (chosen.start, chosen.end))
        position = self._wave.position or 0
        if chosen is not None and self._sound.is_sounding and position >= chosen.end:
            self._sound.seek(chosen.start)

    # Keyboard

    def event(self, event: QEvent) -> bool:
        # Space plays what was played last in the rest of the window; here it means this take.
        if event.type() == QEvent.Type.ShortcutOverride and self._is_own(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._is_own(event):
            super().keyPressEvent(event)
        elif event.key() == Qt.Key.Key_Space:
            self.toggle()
        else:
            self.close_take()

    def _is_own(self, event: QEvent) -> bool:
        return (
            isinstance(event, QKeyEvent)
            and self._wave.hasFocus()
            and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
            and not event.isAutoRepeat()
            and event.key() in (Qt.Key.Key_Space, *_CLOSING)
        )


def _part_of(state: PlayerState) -> Range | None:
    """What the player repeats, unless that is all of the take."""
    if state.loop is None or state.take is None or state.loop == (0, state.take.length):
        return None
    return Range(*state.loop)
