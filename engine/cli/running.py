"""Turns every ending of a command into its exit code: 0 done, 1 failed, 130 stopped."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from engine.cli.console import Console
from engine.cli.parser import CommandParser, UsageError
from engine.errors import Cancelled, ExplainedError
from engine.types import CancelToken

DONE, FAILED, STOPPED = 0, 1, 130


def run_parsed(
    parser: CommandParser,
    argv: Sequence[str] | None,
    action: Callable[[argparse.Namespace], int],
    refused: int = 1,
) -> int:
    """Parse the words of a command and run it; `refused` is the exit code of wrong usage."""
    try:
        given = parser.parse_args(argv)
    except UsageError as error:
        Console().error(error)
        return refused
    except SystemExit:  # argparse has printed the help or the version
        return DONE
    return action(given)


def run_command(action: Callable[[], int], console: Console) -> int:
    """Run a command and return its exit code; what went wrong is told in one line."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # not every terminal can show every name
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with console.notices():
            status = action()
            sys.stdout.flush()  # here, where a reader that has gone is expected
            return status
    except ExplainedError as error:
        console.error(error)
    except BrokenPipeError:
        _detach_stdout()
    except MemoryError:
        hint = "Close other programs, make fewer takes at once, or choose a smaller model."
        console.error(ExplainedError("There is not enough memory.", hint))
    except (KeyboardInterrupt, Cancelled):
        console.report("stopped")
        return STOPPED
    return FAILED


@contextmanager
def interruptible() -> Iterator[CancelToken]:
    """A token that Ctrl+C sets, so that work ends between two frames; a second one breaks off."""
    token = CancelToken()
    before = signal.getsignal(signal.SIGINT)
    ignored = before in (signal.SIG_IGN, None)  # as in the background of a shell
    if ignored or threading.current_thread() is not threading.main_thread():
        yield token  # signals belong to the main thread
        return

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        token.cancel()

    signal.signal(signal.SIGINT, stop)
    try:
        yield token
    finally:
        signal.signal(signal.SIGINT, before)


def _detach_stdout() -> None:
    """Nobody reads stdout any more: without this, Python complains again when it closes it."""
    try:
        descriptor = sys.stdout.fileno()
    except OSError:  # a stand-in without one has nothing to close
        return
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, descriptor)
    os.close(devnull)
