"""Reads a voice folder again only when something in it has changed, for libraries of hundreds."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from app.core.voice_folder import DETAILS, TRANSCRIPT, read_voice_folder
from app.core.voice_record import LibraryVoice

RECENT_SECONDS: Final = 3.0  # file systems tell times in steps of up to two seconds

_Marks: TypeAlias = tuple[tuple[int, int], ...]


class VoiceCache:
    """Stands in for `read_voice_folder`. For one thread at a time."""

    def __init__(
        self,
        read: Callable[[Path], LibraryVoice] = read_voice_folder,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` gives seconds since 1970, as the times of files do."""
        self._read = read
        self._clock = clock
        self._known: dict[Path, tuple[_Marks, LibraryVoice]] = {}

    def __call__(self, folder: Path) -> LibraryVoice:
        """The voice in a folder; raises ExplainedError.

        What was changed a moment ago is read again the next time: a second change within the
        same step of the clock would not show.
        """
        marks = _marks(folder)
        known = self._known.get(folder)
        if known is not None and known[0] == marks:
            return known[1]
        self._known.pop(folder, None)
        voice = self._read(folder)
        if marks and max(mark[0] for mark in marks) < (self._clock() - RECENT_SECONDS) * 1e9:
            self._known[folder] = (marks, voice)
        return voice


def _marks(folder: Path) -> _Marks:
    """Time in ns and size of all that can change without another being renamed; () if unknown."""
    marks = []
    for path in (folder, folder / DETAILS, folder / TRANSCRIPT):
        try:
            status = path.stat()
        except FileNotFoundError:
            marks.append((0, -1))
        except OSError:
            return ()
        else:
            marks.append((status.st_mtime_ns, status.st_size))
    return tuple(marks)
