"""Opens recordings for a draft, in the background: the one that was asked for last counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.core.clone_draft import CloneDraft
from app.jobs.background import Background
from app.studio.clone_clip import OpenedClip, open_clip
from engine import ExplainedError


@dataclass(frozen=True, eq=False)
class Wish:
    """What is to be opened, and the draft it belongs to."""

    path: Path
    source: str  # what people see
    name: str = ""  # of the voice
    draft: CloneDraft | None = None


def file_wish(path: Path) -> Wish:
    """A file that somebody has chosen."""
    return Wish(path, path.name, path.stem)


def recording_wish(path: Path) -> Wish:
    """A recording; people see its file's name, which says when it was made."""
    return Wish(path, path.stem[:1].upper() + path.stem[1:])


def draft_wish(draft: CloneDraft) -> Wish:
    """The recording of a draft, with all that was done to it."""
    return Wish(draft.path, draft.source or draft.path.name, draft.name, draft)


class ClipOpener:
    """One recording at a time; what comes of older wishes is dropped."""

    def __init__(
        self,
        background: Background,
        opened: Callable[[Wish, OpenedClip], None],
        failed: Callable[[ExplainedError], None],
    ) -> None:
        """`failed` is called for older wishes too: somebody wanted to know."""
        self._background = background
        self._opened = opened
        self._failed = failed
        self._wish: Wish | None = None

    @property
    def sentence(self) -> str:
        """What is being done, empty if nothing is."""
        return "" if self._wish is None else f"Reading {self._wish.source}"

    def open(self, wish: Wish) -> None:
        """Read what is wished for."""
        self._wish = wish

        def done(opened: OpenedClip) -> None:
            if wish is self._wish:
                self._wish = None
                self._opened(wish, opened)

        def failed(error: ExplainedError) -> None:
            if wish is self._wish:
                self._wish = None
            self._failed(error)

        self._background.run(lambda: open_clip(wish.path, wish.draft), done, failed)

    def cancel(self) -> None:
        """Nothing is wished for any more."""
        self._wish = None
