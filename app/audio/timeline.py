"""Tells which sample of a take is heard now, behind ring, resampler, loops and device latency."""

from __future__ import annotations

from collections import deque

MEMORY_SECONDS = 3.0  # of observations; no device buffers more


class Timeline:
    """Connects frames that left the ring with positions in the take.

    What is fed after `restart` is counted in samples of the take; where the position jumps (a
    loop), a new segment begins. What left the ring is heard a latency later, so that the past
    observations of the ring say what is heard now, and more smoothly than blocks come.
    """

    def __init__(self) -> None:
        self._frames_per_sample = 1.0
        self._ring_start = 0  # ring index of the first frame fed
        self._segments: deque[tuple[int, int]] = deque([(0, 0)])  # (samples fed, position)
        self._seen: deque[tuple[float, int]] = deque()  # (time, ring read index)

    def restart(self, position: int, ring_index: int, frames_per_sample: float) -> None:
        """The next sample fed is `position` of the take, the next frame is `ring_index`."""
        self._frames_per_sample = frames_per_sample
        self._ring_start = ring_index
        self._segments = deque([(0, position)])
        self._seen.clear()

    def jump(self, fed: int, position: int) -> None:
        """After `fed` samples since the restart, the take goes on at `position`."""
        self._segments.append((fed, position))

    def observe(self, now: float, read_index: int) -> None:
        """At the time `now` (seconds), the ring was read up to `read_index`."""
        self._seen.append((now, max(read_index, self._ring_start)))
        while len(self._seen) > 2 and self._seen[1][0] < now - MEMORY_SECONDS:
            self._seen.popleft()

    def ring_index(self, when: float) -> float:
        """The ring's read index at a time in the past (seconds), between observations linear."""
        if not self._seen or when <= self._seen[0][0]:
            return self._seen[0][1] if self._seen else self._ring_start
        later = self._seen[-1]
        if when >= later[0]:
            return later[1]
        for earlier in reversed(self._seen):
            if earlier[0] <= when:
                share = (when - earlier[0]) / (later[0] - earlier[0])
                return earlier[1] + share * (later[1] - earlier[1])
            later = earlier
        return later[1]

    def position(self, when: float) -> int:
        """The sample of the take that left the ring at a time in the past (seconds)."""
        fed = (self.ring_index(when) - self._ring_start) / self._frames_per_sample
        while len(self._segments) > 1 and self._segments[1][0] <= fed:
            self._segments.popleft()
        start, position = self._segments[0]
        return position + int(max(fed - start, 0))
