"""Takes in the sound of one take on the engine's thread: for the ears, and for the disk."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from app.audio.take_buffer import Forecast, TakeBuffer
from app.core.storage import StorageError
from app.core.take_files import TakeWriter
from app.core.takes import Take, TakeEnding
from engine import Ending, ExplainedError
from engine.types import Codes, Samples


class TakeKeeper:
    """The sink of a take: it goes on sounding even when the disk does not take it.

    All methods belong to the engine's thread; `kept` may be read once `is_finished`.
    """

    def __init__(
        self,
        take: Take,
        buffer: TakeBuffer,
        writer: Callable[[Take], TakeWriter],
        told: Callable[[ExplainedError], None],
        finished: Callable[[str], None],
    ) -> None:
        """`told` hears, once, why the disk fails; `finished` the id when all is over."""
        self.take = take
        self.buffer = buffer
        self.kept: Take | None = None  # the whole take as it lies on disk
        self.is_finished = False
        self._begin = writer
        self._told = told
        self._finished = finished
        self._writer: TakeWriter | None = None
        self._codes: list[Codes] = []  # while there is no writer
        self._trouble: ExplainedError | None = None

    def open(self, take: Take) -> None:
        """Begin to keep it as `take`, which by now knows its model."""
        self.take = take
        try:
            self._writer = self._begin(take)
        except StorageError as error:
            self._fail(error)

    def append(self, samples: Samples, codes: Codes, forecast: Forecast) -> None:
        """Take in samples [n] and the codes [T, 16] they were made from."""
        self.buffer.append(samples)
        self.buffer.announce(forecast)
        if self._writer is None:
            self._codes.append(codes)
        elif self._trouble is None:
            try:
                self._writer.append(samples, codes)
            except StorageError as error:
                self._fail(error)

    def finish(self, ending: Ending | None, problem: ExplainedError | None) -> None:
        """No more comes: spoken, stopped (neither is given) or failed."""
        self.buffer.finish()
        take_ending = TakeEnding.STOPPED if problem is None else TakeEnding.FAILED
        if ending is not None:
            take_ending = TakeEnding.of(ending)
        try:
            self.kept = self._whole(take_ending, "" if problem is None else problem.message)
        except ExplainedError as error:
            self._fail(error)
        finally:  # also after what nobody expected: the window waits for this take
            if self._trouble is not None and self.kept is None and self.buffer.length:
                self._told(self._lost(self._trouble))
            self.is_finished = True
            self._finished(self.take.id)

    def _whole(self, ending: TakeEnding, remark: str) -> Take | None:
        """The take on disk, None if there is no sound in it; raises ExplainedError."""
        writer = self._writer
        if writer is None:
            if not self.buffer.length:
                return None
            writer = self._begin(self.take)  # perhaps the disk has room again
            samples = self.buffer.read(0, self.buffer.length)
            writer.append(samples, np.concatenate(self._codes))
        elif self._trouble is not None:
            remark = f"Only its beginning could be saved. {self._trouble.message}"
        return writer.finish(ending, remark=remark)

    def _fail(self, error: ExplainedError) -> None:
        if self._trouble is None:
            self._trouble = error
            self._told(error)

    def _lost(self, trouble: ExplainedError) -> StorageError:
        hint = trouble.hint
        if self._writer is not None:
            hint = f"What was written of it comes back with the next start. {hint}".rstrip()
        return StorageError(f"{self.take.label!r} was spoken but could not be saved.", hint)
