"""Turns every ending of a command into its exit code: 0 done, 1 failed, 130 stopped."""

from __future__ import annotations

import argparse
import atexit
import io
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any, TypeAlias

from engine.cli.console import Console, detach
from engine.cli.parser import CommandParser, UsageError
from engine.errors import Cancelled, ExplainedError
from engine.types import CancelToken

DONE, FAILED, STOPPED = 0, 1, 130

_STOPPING = ("SIGINT", "SIGTERM", "SIGHUP")  # Ctrl+C, kill, and the terminal that is closed
_NO_MEMORY = ("out of memory", "not enough memory", "can't allocate memory")  # of torch

_Handlers: TypeAlias = "dict[signal.Signals, Callable[[int, FrameType | None], Any] | int]"


def run_file_command(
    parser: CommandParser,
    argv: Sequence[str] | None,
    work: Callable[[argparse.Namespace, Console], int],
) -> int:
    """Parse and run a command that takes files and makes others; it has `--quiet`."""

    def action(given: argparse.Namespace) -> int:
        console = Console(quiet=given.quiet)
        return run_command(lambda: work(given, console), console)

    return run_parsed(parser, argv, action)


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


def run_command(action: Callable[[], int], console: Console, *, own_signals: bool = False) -> int:
    """Run a command and return its exit code; what went wrong is told in one line.

    SIGTERM and SIGHUP stop it as Ctrl+C does, unless it has `own_signals`.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # not every terminal can show every name
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with console.notices(), nullcontext() if own_signals else _breaking_off():
            status = action()
            _flush_stdout()
            return status
    except ExplainedError as error:
        console.error(error)
    except BrokenPipeError:
        detach(sys.stdout)
    except OSError as error:
        hint = "Check its name, its permissions and the disk."
        what = f"{error.filename or 'A file'} cannot be used: {error.strerror or error}."
        console.error(ExplainedError(what, hint))
    except MemoryError:
        console.error(_no_memory())
    except RuntimeError as error:
        if not any(words in str(error) for words in _NO_MEMORY):
            raise
        console.error(_no_memory())
    except (KeyboardInterrupt, Cancelled):
        console.report("stopped")
        return STOPPED
    return FAILED


@contextmanager
def interruptible() -> Iterator[CancelToken]:
    """A token that Ctrl+C sets, so that work ends between two frames; a second one breaks off."""
    token = CancelToken()
    before = _handlers()

    def stop(number: int, frame: FrameType | None) -> None:
        _restore(before)
        token.cancel()

    for number in before:
        signal.signal(number, stop)
    try:
        yield token
    finally:
        _restore(before)


@contextmanager
def _breaking_off() -> Iterator[None]:
    """Let every signal that stops do so like Ctrl+C, for unfinished files to be removed."""
    before = _handlers()
    for number in before:
        if before[number] is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        _restore(before)
        if before:
            atexit.unregister(_ignore_ctrl_c)  # once, and before all that others have registered
            atexit.register(_ignore_ctrl_c)


def _ignore_ctrl_c() -> None:
    """Nothing is left to stop, and Python would only complain in the midst of its shutdown."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _handlers() -> _Handlers:
    """What the stopping signals do; without those that are ignored, as by `nohup` or `&`."""
    if threading.current_thread() is not threading.main_thread():
        return {}  # signals belong to the main thread
    found: _Handlers = {}
    for name in _STOPPING:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        handler = None if number is None else signal.getsignal(number)
        if number is not None and handler not in (signal.SIG_IGN, None):
            found[number] = handler
    return found


def _restore(handlers: _Handlers) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _flush_stdout() -> None:
    """Write what is left here, where a full disk or a reader that has gone is expected."""
    if sys.stdout is None:  # started without one
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        raise unwritten_stdout(error) from error


def unwritten_stdout(error: OSError) -> Exception:
    """What to raise when standard output cannot be written; nothing more will be."""
    if isinstance(error, BrokenPipeError):
        return error
    detach(sys.stdout)
    return ExplainedError(
        f"Standard output cannot be written: {error.strerror}.", "Look at what reads it."
    )


def _no_memory() -> ExplainedError:
    hint = "Close other programs, make fewer takes at once, or choose a smaller model."
    return ExplainedError("There is not enough memory.", hint)
