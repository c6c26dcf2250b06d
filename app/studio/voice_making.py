"""Has recordings turned into what a voice is made of, on the engine's thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from app.core.models import is_demo
from app.jobs.messages import Ended, Failed, Finished, Learning, MadeVoice, Progress
from app.jobs.queue import JobQueue
from app.jobs.work import MakeVoice
from app.studio.models import Models
from app.studio.preferences import SettingsKeeper
from engine import ExplainedError
from engine.types import Samples


@dataclass(frozen=True)
class MakingState:
    """What is being learnt now, or next; without a name nothing is."""

    name: str = ""  # of the voice
    done: int = 0  # steps
    total: int = 0  # steps; 0 until it has begun
    waiting: int = 0  # voices behind this one

    @property
    def sentence(self) -> str:
        """For the status bar; empty when nothing is learnt."""
        if not self.name:
            return ""
        step = f", step {self.done + 1} of {self.total}" if self.total > 1 else ""
        more = f", {self.waiting} more waiting" if self.waiting else ""
        return f"Learning the voice {self.name}{step}{more}"


@dataclass(frozen=True, eq=False)
class _Caller:
    """Who waits for a job, and what its voice is called."""

    name: str
    done: Callable[[MadeVoice], None]
    failed: Callable[[ExplainedError | None], None]


class VoiceMaker(QObject):
    """One job per recording: an embedding for every width that there is a base model for."""

    changed = Signal(object)  # MakingState
    stopped = Signal()  # somebody wants no more of it; the endings of the jobs follow

    def __init__(
        self,
        queue: JobQueue,
        models: Models,
        settings: SettingsKeeper,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._queue = queue
        self._models = models
        self._settings = settings
        self._callers: dict[int, _Caller] = {}  # in their order
        self._state = MakingState()
        queue.progressed.connect(self._on_progress)
        queue.ended.connect(self._on_ended)

    @property
    def can_make(self) -> bool:
        """Whether there is a base model, the only kind that can learn a voice."""
        return bool(self._models.base_talkers)

    @property
    def codec_name(self) -> str:
        """Of the tokenizer whose codes it would make."""
        talkers = self._models.base_talkers
        return talkers[0].codec_name if talkers else ""

    @property
    def makes_demo(self) -> bool:
        """Whether what it makes speaks with the demonstration voice's model alone."""
        return any(is_demo(talker) for talker in self._models.base_talkers)

    @property
    def state(self) -> MakingState:
        return self._state

    def make(
        self,
        samples: Samples,
        name: str,
        *,
        with_codes: bool,
        done: Callable[[MadeVoice], None],
        failed: Callable[[ExplainedError | None], None],
    ) -> int:
        """Queue samples [n] at 24 kHz of the voice `name`; the number of the job.

        Exactly one of `done` and `failed` is called, the latter with None if it was cancelled.
        """
        talkers = self._models.base_talkers
        assert talkers, "somebody has asked whether there are any"
        codecs = (self._models.codec_for(talker.path) for talker in talkers)
        codec = next((codec for codec in codecs if codec is not None), None)
        device = self._settings.settings.device
        number = self._queue.submit(
            MakeVoice(
                samples,
                tuple(talker.path for talker in talkers),
                codec,
                self.codec_name,
                with_codes=with_codes,
                device=device,
            )
        )
        self._callers[number] = _Caller(name, done, failed)
        self._show()
        return number

    def stop(self) -> bool:
        """Learn none of those that were asked for; False if there was none."""
        numbers = list(self._callers)
        if numbers:
            self.stopped.emit()
        for number in reversed(numbers):  # those that wait first, so that none begins
            self._queue.cancel(number)
        return bool(numbers)

    def cancel(self, number: int) -> None:
        """Stop a job of this maker."""
        if number in self._callers:
            self._queue.cancel(number)

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        if isinstance(progress, Learning) and progress.job == next(iter(self._callers), None):
            self._show(progress.done, progress.total)

    def _show(self, done: int = 0, total: int = 0) -> None:
        first = next(iter(self._callers.values()), None)
        if first is None:
            state = MakingState()
        else:
            state = MakingState(first.name, done, total, len(self._callers) - 1)
        if state != self._state:
            self._state = state
            self.changed.emit(state)

    @Slot(object)
    def _on_ended(self, ended: Ended) -> None:
        caller = self._callers.pop(ended.job, None)
        if caller is None:
            return
        self._show()
        if isinstance(ended, Failed):
            caller.failed(ended.error)
        elif isinstance(ended, Finished) and isinstance(ended.result, MadeVoice):
            caller.done(ended.result)
        else:
            caller.failed(None)
