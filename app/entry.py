"""Where the installed commands begin: Ctrl+C ends one quietly even while it is being imported.

Imports nothing heavy itself, as numpy alone takes a noticeable part of a second.
"""

from __future__ import annotations

import importlib
import signal
import sys

STOPPED = 130


def voice_studio() -> int:
    """The command voice-studio."""
    return enter("app.__main__")


def qwen_tts() -> int:
    """The command qwen-tts."""
    return enter("engine.cli.qwen_tts")


def qwen_codec() -> int:
    """The command qwen-codec."""
    return enter("engine.cli.qwen_codec")


def enter(module: str) -> int:
    """Import a module and run its `main`; returns the exit code, 130 after Ctrl+C."""
    try:
        status: int = importlib.import_module(module).main()
    except KeyboardInterrupt:  # before `main` could answer it, or after
        status = STOPPED
        if sys.stderr is not None:
            print("stopped", file=sys.stderr)
    # From here on Python would only complain in the midst of its shutdown.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return status
