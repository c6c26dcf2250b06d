"""An opened library together with its threads, which all layers of a model share."""

from __future__ import annotations

import weakref

from engine.native.library import Library


class NativeContext:
    """Threads that sleep between two passes; they end when nothing refers to this any more.

    It serves one call at a time.
    """

    def __init__(self, library: Library, threads: int) -> None:
        self.library = library
        self.threads = threads
        self.calls = library.calls
        self.handle: int = library.calls.step_open(threads)
        weakref.finalize(self, library.calls.step_close, self.handle)
