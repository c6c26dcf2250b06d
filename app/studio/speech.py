"""Speaks what the tabs ask for: takes that grow, sound, are kept, and can be stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.core.fingerprint import FingerprintCache
from app.core.storage import StorageError
from app.core.takes import Take, TakeRequest
from app.core.voice_folder import VoiceWidthError
from app.core.voices import VoiceLibrary
from app.jobs.background import Background
from app.jobs.messages import Ended, Failed, Progress, Reading, Speaking, Spoken
from app.jobs.queue import JobQueue
from app.jobs.work import Speak
from app.studio.models import Models, ModelState, ModelStatus
from app.studio.notes import Note
from app.studio.session import SessionKeeper
from app.studio.sound import Sound
from app.studio.speech_state import LiveTake, SpeechPhase, SpeechState
from app.studio.speech_work import Wanted, Work
from app.studio.take_keeper import TakeKeeper
from app.studio.voice_reader import VoiceReader
from engine import (
    CancelToken,
    Engine,
    ExplainedError,
    Family,
    ModeError,
    ModelFileError,
    ModelPair,
    RequestError,
    SpeechRequest,
    check_request,
    random_seed,
)

__all__ = ["LiveTake", "Speech", "SpeechPhase", "SpeechState"]

_KINDS: Final = MappingProxyType(
    {
        Family.BASE: "a Base model, which speaks with cloned voices",
        Family.CUSTOM_VOICE: "a Custom Voice model, which has speakers of its own",
        Family.VOICE_DESIGN: "a Voice Design model, which speaks with described voices",
    }
)
MOST_LIVE: Final = 100
"""Takes at once that are spoken or wait: each is a strip of the window that moves."""


class Speech(QObject):
    """Everything that is spoken goes through here."""

    began = Signal(object)  # tuple[LiveTake, ...]
    changed = Signal(object)  # SpeechState, at most 30 times a second
    take_ended = Signal(str)  # its id: the session has it now, or nothing was made
    voice_learnt = Signal(str)  # the id of a voice that was completed on the way
    problem = Signal(object)  # ExplainedError
    notice = Signal(object)  # Note
    _disk_failed = Signal(object)
    _keeper_finished = Signal(str)
    _voice_learnt = Signal(str)

    def __init__(
        self,
        queue: JobQueue,
        models: Models,
        sound: Sound,
        session: SessionKeeper,
        library: VoiceLibrary,
        background: Background,
        parent: QObject | None = None,
    ) -> None:
        """`library` is for the engine's thread alone."""
        super().__init__(parent)
        self._queue = queue
        self._models = models
        self._sound = sound
        self._session = session
        self._background = background
        self._works: dict[int, Work] = {}  # by number of the job, in their order
        self._state = SpeechState()
        self._speed = 0.0
        self._fingerprints = FingerprintCache()
        queued = Qt.ConnectionType.QueuedConnection  # these three come from the engine's thread
        self._disk_failed.connect(self._on_disk_failed, queued)
        self._keeper_finished.connect(self._on_keeper_finished, queued)
        self._voice_learnt.connect(self.voice_learnt, queued)
        self._reader = VoiceReader(library, self._voice_learnt.emit)
        queue.started.connect(self._on_started)
        queue.progressed.connect(self._on_progress)
        queue.ended.connect(self._on_ended)
        models.changed.connect(self._on_models_changed)

    @property
    def state(self) -> SpeechState:
        return self._state

    @property
    def live(self) -> tuple[LiveTake, ...]:
        """What is being made or waits to be, in order."""
        return tuple(live for work in self._works.values() for live in work.open_lives)

    @property
    def running(self) -> tuple[LiveTake, ...]:
        """Those of `live` that are being made just now; the others wait."""
        number = self._queue.running
        work = None if number is None else self._works.get(number)
        return () if work is None else work.open_lives

    @property
    def speed(self) -> float:
        """Seconds of sound made per second, as measured last; 0 before."""
        return self._speed

    def speak(
        self,
        request: TakeRequest,
        seeds: Sequence[int],
        voice_label: str,
        *,
        play: bool = True,
    ) -> tuple[str, ...]:
        """Make a take per seed; their ids, none if that cannot even begin.

        The first of them plays as soon as it can, unless something else sounds by the time it is
        its turn.
        """
        return self._submit(Wanted(request, tuple(seeds), voice_label, play=play))

    def again(self, take: Take, *, new_seed: bool) -> tuple[str, ...]:
        """Make a take once more; with the same seed it becomes the same, by the same model."""
        seed = random_seed() if new_seed else take.seed
        hint = f"It was made by {take.model}: load that first." if take.model else ""
        ids = self._submit(Wanted(take.request, (seed,), take.voice_label, hint=hint))
        if ids and not new_seed:
            self._compare_models(take)
        return ids

    def cancel(self) -> bool:
        """Stop all that is spoken or waits; what was made is kept. Whether there was anything."""
        ids = {live.take.id for live in self.live}
        dropped = self._waiting
        if self._sound.playing_key in ids and self._sound.is_sounding:
            self._sound.stop()
        for work in self._works.values():
            work.stopping = True
        for number in reversed(list(self._works)):  # those that wait first, so that none begins
            self._queue.cancel(number)
        self._show(self._state)
        if dropped:
            self._tell_dropped(dropped)
        return bool(ids)

    @property
    def _waiting(self) -> tuple[Wanted, ...]:
        """What has not begun behind what is being made."""
        works = self._works.items()
        waiting = (work for number, work in works if number != self._queue.running)
        return tuple(work.wanted for work in waiting if not work.stopping)

    def _tell_dropped(self, dropped: tuple[Wanted, ...]) -> None:
        """Say what nothing is left of, and let it be asked for again."""
        count = sum(len(wanted.seeds) for wanted in dropped)
        takes = "1 waiting take was" if count == 1 else f"{count} waiting takes were"

        def speak() -> None:
            for wanted in dropped:
                if not self._submit(wanted):
                    break  # why not is told by now, and once is enough

        self.notice.emit(Note(f"{takes} dropped.", "", "Speak them after all", speak))

    # --- beginning ---

    def _submit(self, wanted: Wanted) -> tuple[str, ...]:
        state = self._models.state
        try:
            if state.status is ModelStatus.NONE or state.description is None or state.pair is None:
                raise ModelFileError("No model is loaded.", "Choose a model first.")
            family = state.description.family
            if family is not wanted.request.family:
                raise ModeError(
                    f"{state.description.name} is {_KINDS[family]}.",
                    wanted.hint or f"Load {_KINDS[wanted.request.family]}.",
                )
            check_request(wanted.request.speech(wanted.seeds), state.description)
            if len(self.live) + len(wanted.seeds) > MOST_LIVE:
                raise RequestError(
                    f"{len(self.live)} takes are waiting already.",
                    "Ask again when some are spoken, or stop them all (Esc).",
                )
        except ExplainedError as error:
            self.problem.emit(error)
            return ()
        work = Work.begun(
            wanted,
            state.loaded,
            self._keeper_for,
            at_once=all(work.stopping for work in self._works.values()),
        )
        for live in work.lives:
            self._session.adopt(live.take.id, live.buffer)
        pair = state.pair

        def prepare(engine: Engine, token: CancelToken) -> SpeechRequest:
            return self._prepare(work, pair, engine, token)

        number = self._queue.submit(Speak(prepare, work.keepers, work.lives[0].expected))
        self._works[number] = work
        self.began.emit(work.lives)
        if self._queue.running == number:
            self._on_started(number)
        else:
            self._show_waiting()
        return tuple(live.take.id for live in work.lives)

    def _keeper_for(self, live: LiveTake) -> TakeKeeper:
        return TakeKeeper(
            live.take,
            live.buffer,
            self._session.writer,
            self._disk_failed.emit,
            self._keeper_finished.emit,
        )

    def _prepare(
        self, work: Work, pair: ModelPair, engine: Engine, token: CancelToken
    ) -> SpeechRequest:
        """Read the voice and open the files of the takes; on the engine's thread."""
        wanted = work.wanted
        voice = self._reader.voice_of(wanted.request, engine, token, remake=wanted.remake)
        for keeper in work.keepers:
            keeper.open(
                replace(
                    keeper.take,
                    model=engine.description.name,
                    model_fingerprint=self._fingerprint(pair),
                    codec=engine.description.codec_name,
                    device=engine.device,
                    precision=engine.precision,
                    sample_rate=engine.sample_rate,
                )
            )
        return wanted.request.speech(wanted.seeds, voice)

    def _fingerprint(self, pair: ModelPair) -> str:
        """Of the loaded pair; none if its files are gone, which does not keep it from speaking."""
        try:
            return self._fingerprints.of_pair(pair)
        except StorageError:
            return ""

    def _compare_models(self, take: Take) -> None:
        """Say so if the loaded model is not the one that made a take."""
        state = self._models.state
        pair, description = state.pair, state.description
        if pair is None or description is None or not take.model_fingerprint:
            return
        cache = FingerprintCache()  # the other one belongs to the engine's thread
        name = description.name

        def done(fingerprint: str) -> None:
            if fingerprint != take.model_fingerprint:
                self.notice.emit(
                    Note(
                        f"This take was made by {take.model or 'another model'}; {name} makes "
                        "something else of the same seed.",
                        "Load that model to make the same take again.",
                    )
                )

        self._background.run(lambda: cache.of_pair(pair), done, self.problem.emit)

    # --- going on ---

    @Slot(int)
    def _on_started(self, number: int) -> None:
        work = self._works.get(number)
        if work is None:
            self._show_waiting()
            return
        first = work.lives[0]
        sound = self._sound
        is_free = not sound.is_recording and (work.at_once or not sound.is_sounding)
        if work.wanted.play and not work.stopping and not sound.unavailable and is_free:
            sound.play(first.take.id, first.buffer)
        self._show(
            SpeechState(SpeechPhase.READING, len(work.lives), 0.0, first.expected, self._speed)
        )

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        work = self._works.get(progress.job)
        if work is None:
            return
        state = SpeechState(
            SpeechPhase.READING, len(work.lives), 0.0, work.lives[0].expected, self._speed
        )
        match progress:
            case Speaking(_, frames, seconds, frames_per_second):
                if frames and frames_per_second > 0:
                    self._speed = frames_per_second * seconds / frames
                self._show(
                    replace(state, phase=SpeechPhase.SPEAKING, made=seconds, speed=self._speed)
                )
            case Reading():
                self._show(state)

    @Slot(object)
    def _on_ended(self, ended: Ended) -> None:
        work = self._works.pop(ended.job, None)
        if work is None:
            return
        for keeper in work.keepers:
            self._settle(work, keeper)
        match ended:
            case Failed(_, VoiceWidthError() as error) if error.can_be_remade:
                self._offer_remake(work.wanted, error)
            case Failed(_, error):
                self.problem.emit(error)
        if isinstance(ended.result, Spoken):
            for notice in ended.result.notices:
                self.notice.emit(Note(notice))
        self._show_waiting()

    def _offer_remake(self, wanted: Wanted, error: VoiceWidthError) -> None:
        def remake() -> None:
            self._submit(replace(wanted, remake=True))

        self.notice.emit(Note(error.message, "", "Make it again from its clip", remake))

    def _settle(self, work: Work, keeper: TakeKeeper) -> None:
        """Hand a take that has ended over to the session, once."""
        take_id = keeper.take.id
        if take_id in work.settled or not keeper.is_finished:
            return
        work.settled.add(take_id)
        if keeper.kept is not None:
            self._session.add(keeper.kept)
        else:
            self._session.drop(take_id)
        self.take_ended.emit(take_id)

    @Slot(str)
    def _on_keeper_finished(self, take_id: str) -> None:
        for work in self._works.values():
            for keeper in work.keepers:
                if keeper.take.id == take_id:
                    self._settle(work, keeper)

    @Slot(object)
    def _on_disk_failed(self, error: ExplainedError) -> None:
        self.problem.emit(error)

    @Slot(object)
    def _on_models_changed(self, state: ModelState) -> None:
        if state.status is ModelStatus.LOADING:
            self._speed = 0.0  # it was that of another model
        if self._state.phase is SpeechPhase.WAITING:
            self._show_waiting()

    def _show_waiting(self) -> None:
        """The state when nothing of ours is in flight; else the same, with what waits counted."""
        if self._queue.running in self._works:
            self._show(self._state)
            return
        if not self._works:
            self._show(SpeechState(speed=self._speed))
            return
        first = next(iter(self._works.values()))
        loading = self._models.state.status is ModelStatus.LOADING
        self._show(
            SpeechState(
                SpeechPhase.WAITING,
                len(first.lives),
                expected=first.lives[0].expected,
                is_loading=loading,
            )
        )

    def _show(self, state: SpeechState) -> None:
        works = list(self._works.values())
        state = replace(state, waiting=max(len(works) - 1, 0))
        if works and works[0].stopping:
            state = replace(state, phase=SpeechPhase.STOPPING)
        if state != self._state:
            self._state = state
            self.changed.emit(state)
