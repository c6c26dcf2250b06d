"""Has recordings turned into what a voice is made of, on the engine's thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Slot

from app.jobs.messages import Ended, Failed, Finished, MadeVoice
from app.jobs.queue import JobQueue
from app.jobs.work import MakeVoice
from app.studio.models import Models
from app.studio.preferences import SettingsKeeper
from engine import ExplainedError
from engine.types import Samples


@dataclass(frozen=True, eq=False)
class _Caller:
    """Who waits for a job, and what it said it needs."""

    done: Callable[[MadeVoice], None]
    failed: Callable[[ExplainedError | None], None]


class VoiceMaker(QObject):
    """One job per recording: an embedding for every width that there is a base model for."""

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
        self._callers: dict[int, _Caller] = {}
        queue.ended.connect(self._on_ended)

    @property
    def can_make(self) -> bool:
        """Whether there is a base model, the only kind that can learn a voice."""
        return bool(self._models.base_talkers)

    def make(
        self,
        samples: Samples,
        *,
        with_codes: bool,
        done: Callable[[MadeVoice], None],
        failed: Callable[[ExplainedError | None], None],
    ) -> int:
        """Queue samples [n] at 24 kHz; the number of the job.

        Exactly one of `done` and `failed` is called, the latter with None if it was cancelled.
        """
        talkers = self._models.base_talkers
        assert talkers, "somebody has asked whether there are any"
        codecs = (self._models.codec_for(talker) for talker in talkers)
        codec = next((codec for codec in codecs if codec is not None), None)
        device = self._settings.settings.device
        number = self._queue.submit(
            MakeVoice(samples, talkers, codec, with_codes=with_codes, device=device)
        )
        self._callers[number] = _Caller(done, failed)
        return number

    def cancel(self, number: int) -> None:
        """Stop a job of this maker."""
        if number in self._callers:
            self._queue.cancel(number)

    @Slot(object)
    def _on_ended(self, ended: Ended) -> None:
        caller = self._callers.pop(ended.job, None)
        if caller is None:
            return
        if isinstance(ended, Failed):
            caller.failed(ended.error)
        elif isinstance(ended, Finished) and isinstance(ended.result, MadeVoice):
            caller.done(ended.result)
        else:
            caller.failed(None)
