"""The sound of takes in memory: what is being made, and of the rest as much as fits."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final
from weakref import WeakValueDictionary

from app.audio.take_buffer import TakeBuffer
from app.core.takes import Take
from app.jobs.background import Background
from engine.errors import ExplainedError
from engine.types import Samples

MEMORY: Final = 64 << 20  # bytes: 12 minutes of sound
SAMPLE_BYTES: Final = 4


class TakeSounds:
    """Hands out a buffer per take, the same one as long as anybody holds it.

    Buffers of whole takes are dropped, least recently asked for first, when there are too many.
    For the window's thread.
    """

    def __init__(
        self,
        background: Background,
        read: Callable[[Take], Samples],
        failed: Callable[[ExplainedError], None],
        memory: int = MEMORY,
    ) -> None:
        """`read` gives the samples of a whole take and runs in the background."""
        self._background = background
        self._read = read
        self._failed = failed
        self._memory = memory
        self._growing: dict[str, TakeBuffer] = {}
        self._kept: OrderedDict[str, tuple[TakeBuffer, int]] = OrderedDict()  # and its bytes
        self._held: WeakValueDictionary[str, TakeBuffer] = WeakValueDictionary()  # by anybody

    @property
    def kept_bytes(self) -> int:
        """Of the buffers that are held here, growing ones aside."""
        return sum(size for _, size in self._kept.values())

    def get(self, take_id: str, take: Take | None) -> TakeBuffer:
        """The sound of a take; without a `take` on disk to read, an empty finished one."""
        buffer = self._growing.get(take_id) or self._held.get(take_id)
        if buffer is None:
            buffer = TakeBuffer(24_000 if take is None else take.sample_rate)
            if take is None:
                buffer.finish()
                return buffer
            self._fill(buffer, take)
        if take_id not in self._growing:
            seconds = buffer.seconds if take is None else max(take.seconds, buffer.seconds)
            self._keep(take_id, buffer, round(seconds * buffer.rate) * SAMPLE_BYTES)
        return buffer

    def adopt(self, take_id: str, buffer: TakeBuffer) -> None:
        """A buffer that somebody fills; it stays until it is settled or dropped."""
        self._growing[take_id] = buffer

    def settle(self, take_id: str) -> None:
        """The take is whole: its buffer counts as one of the others."""
        buffer = self._growing.pop(take_id, None)
        if buffer is not None:
            self._keep(take_id, buffer, buffer.length * SAMPLE_BYTES)

    def drop(self, take_id: str) -> None:
        """Forget a buffer."""
        self._growing.pop(take_id, None)
        self._kept.pop(take_id, None)
        self._held.pop(take_id, None)

    def _keep(self, take_id: str, buffer: TakeBuffer, size: int) -> None:
        self._held[take_id] = buffer
        self._kept[take_id] = (buffer, size)
        self._kept.move_to_end(take_id)
        while len(self._kept) > 1 and self.kept_bytes > self._memory:
            self._kept.popitem(last=False)

    def _fill(self, buffer: TakeBuffer, take: Take) -> None:
        def work() -> None:
            try:
                buffer.append(self._read(take))
            finally:
                buffer.finish()

        def failed(error: ExplainedError) -> None:
            self.drop(take.id)  # the next one who asks has it read again
            self._failed(error)

        self._background.run(work, None, failed)
