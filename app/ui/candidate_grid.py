"""The candidates of a design side by side."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QGridLayout, QWidget

from app.audio.player_state import PlayerState, PlayerStatus
from app.audio.take_buffer import TakeBuffer
from app.core.takes import Take
from app.studio.session import SessionKeeper
from app.studio.sound import Sound
from app.studio.speech import LiveTake, Speech, SpeechState
from app.ui.candidate_card import LEAST_WIDTH, CandidateCard
from app.ui.live import LiveTimer
from app.ui.metrics import GAP
from engine import Family

MOST = 8


class CandidateGrid(QWidget):
    """Shows the takes of the latest design."""

    lock_requested = Signal(object)  # Take
    seed_requested = Signal(object)  # int
    changed = Signal()  # other candidates are shown

    def __init__(
        self,
        session: SessionKeeper,
        speech: Speech,
        sound: Sound,
        timer: LiveTimer,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._speech, self._sound = session, speech, sound
        self._timer = timer
        self._cards: dict[str, CandidateCard] = {}
        self._columns = 0
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(GAP)
        speech.began.connect(self._on_began)
        speech.changed.connect(self._on_speech)
        speech.take_ended.connect(self._on_take_ended)
        session.changed.connect(self._on_session)
        sound.moved.connect(self._on_moved)
        self._show_latest()

    @property
    def cards(self) -> tuple[CandidateCard, ...]:
        return tuple(self._cards.values())

    def _show_latest(self) -> None:
        """Show the candidates that were made last, for example after a start."""
        designs = [take for take in self._session.takes if take.family is Family.VOICE_DESIGN]
        if designs:
            newest = designs[0].request
            alike = [
                take
                for take in designs
                if (take.request.text, take.request.instruct) == (newest.text, newest.instruct)
            ]
            takes = sorted(alike[:MOST], key=lambda take: (take.created, take.seed))
            self._show([(take, self._session.buffer(take.id)) for take in takes])
            for take in takes:
                self._cards[take.id].show_take(take)

    def _show(self, takes: list[tuple[Take, TakeBuffer]]) -> None:
        for card in self._cards.values():
            self._grid.removeWidget(card)
            card.deleteLater()
        self._cards = {}
        for number, (take, buffer) in enumerate(takes, 1):
            card = CandidateCard(number, take, buffer, self._timer, self)
            card.play_requested.connect(self._on_play)
            card.pause_requested.connect(self._sound.pause)
            card.lock_requested.connect(self._on_lock)
            card.seed_requested.connect(self._on_seed)
            self._cards[take.id] = card
        self._columns = 0
        self._arrange()
        self.changed.emit()

    def _arrange(self) -> None:
        columns = max(1, min((self.width() + GAP) // (LEAST_WIDTH + GAP), len(self._cards)))
        if columns == self._columns:
            return
        for column in range(self._grid.columnCount()):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)
        self._columns = columns
        for place, card in enumerate(self._cards.values()):
            self._grid.addWidget(card, place // columns, place % columns)
            card.show()

    def resizeEvent(self, event: object) -> None:
        self._arrange()

    @Slot(object)
    def _on_began(self, lives: tuple[LiveTake, ...]) -> None:
        if lives and lives[0].take.family is Family.VOICE_DESIGN:
            self._show([(live.take, live.buffer) for live in lives])
            for live in lives:
                self._cards[live.take.id].set_expected(live.expected)

    @Slot(object)
    def _on_speech(self, _: SpeechState) -> None:
        for live in self._speech.live:
            if (card := self._cards.get(live.take.id)) is not None:
                card.show_progress(live.buffer.seconds)

    @Slot(str)
    def _on_take_ended(self, take_id: str) -> None:
        take = self._session.session.take(take_id)
        card = self._cards.get(take_id)
        if card is not None and take is not None:
            card.show_take(take)
        elif card is not None:
            self._remove(take_id)

    @Slot()
    def _on_session(self) -> None:
        """Deleted takes are candidates no more."""
        live = {each.take.id for each in self._speech.live}
        for take_id in list(self._cards):
            if take_id not in live and self._session.session.take(take_id) is None:
                self._remove(take_id)

    def _remove(self, take_id: str) -> None:
        card = self._cards.pop(take_id)
        self._grid.removeWidget(card)
        card.deleteLater()
        self._columns = 0
        self._arrange()
        self.changed.emit()

    @Slot(object)
    def _on_moved(self, state: PlayerState) -> None:
        sounding = state.status in (PlayerStatus.PLAYING, PlayerStatus.WAITING)
        for take_id, card in self._cards.items():
            is_loaded = take_id == self._sound.playing_key
            card.show_playing(is_loaded and sounding, state.position if is_loaded else None)

    @Slot(str, int)
    def _on_play(self, take_id: str, position: int) -> None:
        live = next((one for one in self._speech.live if one.take.id == take_id), None)
        buffer = live.buffer if live is not None else self._session.buffer(take_id)
        self._sound.play(take_id, buffer, position)

    @Slot(str)
    def _on_lock(self, take_id: str) -> None:
        if (take := self._session.session.take(take_id)) is not None:
            self.lock_requested.emit(take)

    @Slot(str)
    def _on_seed(self, take_id: str) -> None:
        self.seed_requested.emit(self._cards[take_id].take.seed)
