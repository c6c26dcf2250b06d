"""The candidates of a design side by side."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from app.audio.player_state import PlayerState, PlayerStatus
from app.core.takes import Take
from app.studio.speech import LiveTake, SpeechState
from app.studio.studio import Studio
from app.ui.candidate_card import CandidateCard
from app.ui.columns import ColumnLayout
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
        studio: Studio,
        timer: LiveTimer,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        session, speech, sound = studio.session, studio.speech, studio.sound
        self._session, self._speech, self._sound = session, speech, sound
        self._voices = studio.voices
        self._timer = timer
        self._members: tuple[str, ...] = ()  # ids, those of deleted takes too: they may come back
        self._cards: dict[str, CandidateCard] = {}
        self._layout = ColumnLayout(self, GAP)
        speech.began.connect(self._on_began)
        speech.changed.connect(self._on_speech)
        speech.take_ended.connect(self._sync)
        session.changed.connect(self._sync)
        sound.moved.connect(self._on_moved)
        studio.voices.changed.connect(self._show_locked)
        self._show_latest()

    @property
    def cards(self) -> tuple[CandidateCard, ...]:
        """In the order in which they were asked for."""
        return tuple(self._cards.values())

    def _show_latest(self) -> None:
        """Show the candidates that were made last, for example after a start."""
        designs = [take for take in self._session.takes if take.family is Family.VOICE_DESIGN]
        if designs:
            alike = [take for take in designs if _is_same(take, designs[0])]
            self._show(tuple(take.id for take in reversed(alike[:MOST])))

    @Slot(object)
    def _on_began(self, lives: tuple[LiveTake, ...]) -> None:
        """Show what is made now; one more of the same design joins the others."""
        if lives[0].take.family is not Family.VOICE_DESIGN:
            return
        ids = tuple(live.take.id for live in lives)
        shown = self.cards
        joins = len(ids) == 1 and shown and _is_same(shown[0].take, lives[0].take)
        known = tuple(card.take.id for card in shown) if joins else ()
        self._show((*known, *ids) if len(known) < MOST else ids)

    def _show(self, members: tuple[str, ...]) -> None:
        self._members = members
        self._sync()

    @Slot()
    def _sync(self) -> None:
        """Make the cards those of the members that there are, keeping the ones that stay."""
        live = {each.take.id: each for each in self._speech.live}
        there = [each for each in self._members if each in live or self._session.session.take(each)]
        if there != list(self._cards):
            self._arrange(there, live)
        for take_id, card in self._cards.items():
            take = self._session.session.take(take_id)
            if take is not None:
                card.show_take(take)

    def _arrange(self, ids: list[str], live: dict[str, LiveTake]) -> None:
        for take_id in [known for known in self._cards if known not in ids]:
            card = self._cards.pop(take_id)
            self._layout.removeWidget(card)
            card.hide()
            card.deleteLater()
        cards = {}
        for take_id in ids:
            if (known := self._cards.get(take_id)) is not None:
                self._layout.removeWidget(known)
            cards[take_id] = known or self._card(take_id, live.get(take_id))
            self._layout.addWidget(cards[take_id])
        self._cards = cards
        self._show_locked()
        self._on_speech(self._speech.state)
        self.changed.emit()

    def _card(self, take_id: str, live: LiveTake | None) -> CandidateCard:
        take = live.take if live is not None else self._session.session.take(take_id)
        assert take is not None, "it is live or in the session"
        number = self._members.index(take_id) + 1
        card = CandidateCard(number, take, self._session.buffer(take_id), self._timer, self)
        card.set_expected(live.expected if live is not None else 0.0)
        card.play_requested.connect(self._on_play)
        card.seek_requested.connect(self._on_seek)
        card.lock_requested.connect(self._on_lock)
        card.seed_requested.connect(self._on_seed)
        card.show()
        return card

    @Slot(object)
    def _on_speech(self, _: SpeechState) -> None:
        running = {live.take.id for live in self._speech.running}
        for live in self._speech.live:
            if (card := self._cards.get(live.take.id)) is not None:
                card.show_progress(live.buffer.seconds, waits=live.take.id not in running)

    @Slot()
    def _show_locked(self) -> None:
        """Mark those that became a voice with its name; copies of that voice do not count."""
        names: dict[str, list[str]] = {}
        for voice in self._voices.listing.voices:
            origin = voice.details.origin
            if origin.source in self._cards and not origin.parents:
                names.setdefault(origin.source, []).append(voice.name)
        for take_id, card in self._cards.items():
            card.show_locked(names.get(take_id, ()))

    @Slot(object)
    def _on_moved(self, state: PlayerState) -> None:
        sounding = state.status in (PlayerStatus.PLAYING, PlayerStatus.WAITING)
        for take_id, card in self._cards.items():
            is_loaded = take_id == self._sound.playing_key
            card.show_playing(is_loaded and sounding, state.position if is_loaded else None)

    @Slot(str)
    def _on_play(self, take_id: str) -> None:
        if self._sound.playing_key == take_id:
            self._sound.toggle()
        else:
            self._on_seek(take_id, 0)

    @Slot(str, int)
    def _on_seek(self, take_id: str, position: int) -> None:
        self._sound.play(take_id, self._session.buffer(take_id), position)

    @Slot(str)
    def _on_lock(self, take_id: str) -> None:
        if (take := self._session.session.take(take_id)) is not None:
            self.lock_requested.emit(take)

    @Slot(str)
    def _on_seed(self, take_id: str) -> None:
        self.seed_requested.emit(self._cards[take_id].take.seed)


def _is_same(take: Take, other: Take) -> bool:
    """Whether two takes are of the same design: the same words about the voice, and by it."""
    return (take.request.text, take.request.instruct) == (
        other.request.text,
        other.request.instruct,
    )
