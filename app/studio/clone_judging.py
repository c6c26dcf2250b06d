"""Measures the chosen part of a recording as it changes, without falling behind."""

from __future__ import annotations

from collections.abc import Callable

from app.core.reference import ReferenceReport
from app.jobs.background import Background
from app.studio.clone_clip import Clip


class ClipJudge:
    """One measurement at a time; while the part moves, only where it has come to by then."""

    def __init__(self, background: Background, tell: Callable[[ReferenceReport], None]) -> None:
        """`tell` hears of every judgement about the recording that counts."""
        self._background = background
        self._tell = tell
        self._clip: Clip | None = None  # that counts
        self._judged: Clip | None = None  # that was told about last
        self._is_judging = False

    def settle(self, clip: Clip | None) -> None:
        """This is the clip now, and what is to be said about it is known already."""
        self._clip = self._judged = clip

    def judge(self, clip: Clip) -> None:
        """This is the clip now: say what there is to be said about it, unless that is known."""
        self._clip = clip
        if self._is_judging or clip is self._judged:
            return
        self._is_judging = True

        def done(judgement: ReferenceReport) -> None:
            self._is_judging = False
            current = self._clip
            if current is None:
                return
            if current.recording is clip.recording:
                self._judged = clip
                self._tell(judgement)
            self.judge(current)

        self._background.run(clip.judge, done)
