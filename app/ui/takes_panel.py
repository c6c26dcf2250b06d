"""The takes of the session, newest first, and what can be done with one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.audio.player_state import PlayerState, PlayerStatus
from app.core.settings import FilePurpose
from app.core.take_files import saved_name
from app.core.takes import Take
from app.studio.session import SessionKeeper
from app.studio.sound import Sound
from app.studio.speech import LiveTake, Speech, SpeechState
from app.ui.file_choosers import FileDialogs
from app.ui.live import LiveTimer
from app.ui.metrics import GAP, TIGHT
from app.ui.shortcuts import key_text, make_action, shortcut
from app.ui.take_list import TakeList
from app.ui.take_strip import TakeStrip
from engine.wav import WavFormat

PAGE: Final = 40  # strips that are shown at once, and more at each press
FORMATS: Final = (
    ("WAV, 24 bit (*.wav)", WavFormat.WAV24),
    ("WAV, 16 bit (*.wav)", WavFormat.WAV16),
    ("WAV, 32 bit float (*.wav)", WavFormat.WAV32),
)

ChooseTarget: TypeAlias = Callable[[QWidget, str], tuple[Path, WavFormat] | None]
"""Asks where to save a WAV of this name, and how."""
ChooseFolder: TypeAlias = Callable[[QWidget], Path | None]
"""Asks for the folder to save takes in."""


@dataclass(frozen=True)
class TakeTargets:
    """How a person says where takes are to be saved."""

    file: ChooseTarget
    folder: ChooseFolder


class TakesPanel(QWidget):
    """Strips for the takes that are being made and for those of the session."""

    lock_requested = Signal(object)  # Take
    current_changed = Signal(str)  # the id of the take that the keys work on, or nothing
    view_requested = Signal(str)  # the id of a take to be shown large, or small again
    text_requested = Signal(object)  # Take whose text is to be used again

    def __init__(
        self,
        session: SessionKeeper,
        speech: Speech,
        sound: Sound,
        timer: LiveTimer,
        targets: TakeTargets | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._speech, self._sound = session, speech, sound
        self._timer = timer
        self._targets = targets or take_targets(FileDialogs())
        self._strips: dict[str, TakeStrip] = {}
        self._current = ""
        self._running = ""  # the id of the first take that is being made
        self._shown = PAGE
        self._build()
        session.changed.connect(self._sync)
        speech.began.connect(self._on_began)
        speech.changed.connect(self._on_speech)
        speech.take_ended.connect(self._on_take_ended)
        sound.moved.connect(self._on_moved)
        self._sync()

    @property
    def current(self) -> Take | None:
        """The take that the keys work on."""
        return self._session.session.take(self._current)

    @property
    def strips(self) -> tuple[TakeStrip, ...]:
        """From top to bottom."""
        return self._list.strips

    def _build(self) -> None:
        self.setAccessibleName("Takes")
        self._empty = QLabel(self)
        self._empty.setText(
            "<b>No takes yet</b><br>Write a line above, for example "
            "“The kettle was singing when the rain began.”, "
            f"and press {key_text(shortcut('speak').keys[0])}. Every take is kept here."
        )
        self._empty.setTextFormat(Qt.TextFormat.RichText)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setWordWrap(True)
        self._empty.setProperty("muted", True)
        self._older = QPushButton(self)
        self._older.setProperty("kind", "quiet")
        self._older.clicked.connect(self._on_older)
        self._list = TakeList(self._session.buffer, self._show_sounding, self._older, self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(GAP, TIGHT, GAP, TIGHT)
        layout.setSpacing(TIGHT)
        layout.addWidget(self._empty, 1)
        layout.addWidget(self._list, 1)
        layout.addWidget(self._older, 0, Qt.AlignmentFlag.AlignHCenter)
        for name, act in (
            ("take-star", self._star_current),
            ("take-trash", self._trash_current),
        ):
            make_action(name, self).triggered.connect(act)

    # What is shown

    @Slot()
    def _sync(self) -> None:
        """Make the strips those of the takes, keeping the ones that stay."""
        kept = self._session.takes
        # The last one that was asked for stands on top, as in the session later on.
        live_first = reversed(self._speech.live)
        wanted: list[tuple[Take, LiveTake | None]] = [(live.take, live) for live in live_first]
        wanted += [(take, None) for take in kept[: self._shown]]
        strips = [self._strip_of(take, live) for take, live in wanted]
        self._strips = {strip.take.id: strip for strip in strips}
        self._list.arrange(strips)
        self._empty.setVisible(not wanted)
        self._list.setVisible(bool(wanted))
        hidden = len(kept) - self._shown
        self._older.setVisible(hidden > 0)
        self._older.setText(f"Show {min(hidden, PAGE)} older takes")
        if self._current not in self._strips:
            self._choose(wanted[0][0].id if wanted else "")
        self._show_sounding()

    def _strip_of(self, take: Take, live: LiveTake | None) -> TakeStrip:
        strip = self._strips.get(take.id)
        if strip is None:
            strip = TakeStrip(take, live.buffer if live is not None else None, self._timer)
            self._connect(strip)
        elif strip.take is take and strip.is_live == (live is not None):
            return strip  # what it shows is still true, and there may be a hundred of them
        strip.show_take(take)
        strip.set_live(live is not None, live.expected if live is not None else 0.0)
        strip.set_file(str(self._session.sound_path(take)) if live is None else "")
        return strip

    def _connect(self, strip: TakeStrip) -> None:
        strip.chosen.connect(self._choose)
        strip.play_requested.connect(self._on_play)
        strip.seek_requested.connect(self._on_seek)
        strip.step_requested.connect(self._on_step)
        strip.star_changed.connect(self._session.star)
        strip.note_changed.connect(self._session.set_note)
        strip.again_requested.connect(self._on_again)
        strip.save_requested.connect(self._on_save)
        strip.text_requested.connect(self._on_text)
        strip.trash_requested.connect(self._on_trash)
        strip.lock_requested.connect(self._on_lock)
        strip.view_requested.connect(self.view_requested)

    @Slot(object)
    def _on_began(self, lives: tuple[LiveTake, ...]) -> None:
        self._sync()
        if not self._is_at_work():
            self._choose(lives[-1].take.id)
            self._list.verticalScrollBar().setValue(0)
            self._running = ""  # it may lie far below by now
        self._show_live()

    @Slot(object)
    def _on_speech(self, _: SpeechState) -> None:
        self._show_live()

    def _show_live(self) -> None:
        """Say how far the takes are, and bring the one that is made now into sight."""
        running = [one.take.id for one in self._speech.running]
        for one in self._speech.live:
            if (strip := self._strips.get(one.take.id)) is not None:
                strip.show_progress(one.buffer.seconds, waits=one.take.id not in running)
        first = next(iter(running), "")
        if first != self._running and not self._is_at_work():
            # What waited above the last one may be gone by now.
            strip = self._strips.get(first or self._running)
            if strip is not None:
                self._list.reveal_soon(strip)
        self._running = first

    def _is_at_work(self) -> bool:
        """Whether somebody does something with a take: then nothing moves by itself."""
        focus = QApplication.focusWidget()
        return focus is not None and self.isAncestorOf(focus)

    @Slot(str)
    def _on_take_ended(self, _: str) -> None:
        self._sync()

    def _show_sounding(self) -> None:
        self._on_moved(self._sound.state)

    @Slot(object)
    def _on_moved(self, state: PlayerState) -> None:
        sounding = state.status in (PlayerStatus.PLAYING, PlayerStatus.WAITING)
        for take_id, strip in self._strips.items():
            is_loaded = take_id == self._sound.playing_key
            strip.show_playing(is_loaded and sounding, state.position if is_loaded else None)

    @Slot()
    def _on_older(self) -> None:
        self._shown += PAGE
        self._sync()

    @Slot()
    def focus_current(self) -> None:
        """Go to the chosen take with the keyboard."""
        if (strip := self._strips.get(self._current)) is not None:
            strip.setFocus()

    @Slot()
    def view_current(self) -> None:
        """Ask for the chosen take, finished or not, to be shown large."""
        if self._current:
            self.view_requested.emit(self._current)

    # What is done with takes

    @Slot(str)
    def _choose(self, take_id: str) -> None:
        is_other = take_id != self._current
        self._current = take_id
        for known, strip in self._strips.items():
            strip.set_current(known == take_id)
        if is_other:
            self.current_changed.emit(take_id)

    @Slot(str)
    def _on_play(self, take_id: str) -> None:
        if self._sound.playing_key == take_id:
            self._sound.toggle()
        else:
            self._on_seek(take_id, 0)

    @Slot(str, int)
    def _on_seek(self, take_id: str, position: int) -> None:
        buffer = self._session.buffer(take_id)
        self._strips[take_id].set_buffer(buffer)
        self._sound.play(take_id, buffer, position)

    @Slot(str, bool)
    def _on_again(self, take_id: str, new_seed: bool) -> None:
        if (take := self._session.session.take(take_id)) is not None:
            self._speech.again(take, new_seed=new_seed)

    @Slot(str)
    def _on_save(self, take_id: str) -> None:
        take = self._session.session.take(take_id)
        if take is None:
            return
        chosen = self._targets.file(self, saved_name(take))
        if chosen is not None:
            self._session.save_as(take, *chosen)

    @Slot(str)
    def _on_trash(self, take_id: str) -> None:
        if self._session.session.take(take_id) is None:
            return  # it is still being made
        neighbour = self._neighbour(take_id)
        if self._sound.playing_key == take_id:
            self._sound.stop()
        self._session.delete(take_id)
        if neighbour in self._strips:
            self._choose(neighbour)
            self._strips[neighbour].setFocus()

    @Slot(str)
    def _on_lock(self, take_id: str) -> None:
        if (take := self._session.session.take(take_id)) is not None:
            self.lock_requested.emit(take)

    @Slot()
    def _star_current(self) -> None:
        if (take := self.current) is not None:
            self._session.star(take.id, not take.star)

    @Slot()
    def save_current(self) -> None:
        """Ask where the chosen take shall be saved."""
        self._on_save(self._current)

    @Slot()
    def save_starred(self) -> None:
        """Ask for a folder, and save all starred takes there."""
        starred = [take for take in self._session.takes if take.star]
        folder = self._targets.folder(self) if starred else None
        if folder is not None:
            self._session.save_all(starred, folder)

    @Slot(str)
    def _on_text(self, take_id: str) -> None:
        if (take := self._session.session.take(take_id)) is not None:
            self.text_requested.emit(take)

    @Slot()
    def _trash_current(self) -> None:
        self._on_trash(self._current)

    def _neighbour(self, take_id: str) -> str:
        ids = [strip.take.id for strip in self.strips]
        at = ids.index(take_id)
        return next(iter(ids[at + 1 :] + ids[:at][::-1]), "")

    @Slot(int)
    def _on_step(self, step: int) -> None:
        strips = self.strips
        at = strips.index(self._strips[self._current]) + step
        if 0 <= at < len(strips):
            strips[at].setFocus()
            self._list.reveal(strips[at])


def take_targets(files: FileDialogs) -> TakeTargets:
    """Ask with the system's dialogs."""
    formats = dict(FORMATS)

    def file(parent: QWidget, name: str) -> tuple[Path, WavFormat] | None:
        asked = files.target(parent, FilePurpose.TAKE, "Save the take as WAV", name, (*formats,))
        if asked is None:
            return None
        target, chosen = asked
        if target.suffix.lower() != ".wav":
            target = target.with_name(f"{target.name}.wav")
        return target, formats.get(chosen, FORMATS[0][1])

    return TakeTargets(
        file,
        lambda parent: files.folder(parent, FilePurpose.TAKE, "Save the starred takes in a folder"),
    )
