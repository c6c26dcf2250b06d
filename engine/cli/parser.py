"""What the commands' argument parsers share: explained errors, and values that are checked."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Any, Final, NoReturn

from engine.errors import ExplainedError

COMMAND_VARIABLE = "STUDIO_COMMAND"
"""Who starts the command under another name puts what people type into this."""

LARGEST_SEED = 2**64 - 1
LANGUAGE_HELP = "language, as English or en (default: %(default)s)"

_LANGUAGES: Final = MappingProxyType(
    {
        "de": "german",
        "en": "english",
        "es": "spanish",
        "fr": "french",
        "it": "italian",
        "ja": "japanese",
        "ko": "korean",
        "pt": "portuguese",
        "ru": "russian",
        "zh": "chinese",
    }
)
"""What the models call the languages whose ISO 639-1 codes people type."""


def command_name() -> str:
    """What people type to start the command, as they did now: "./studio" or "voice-studio"."""
    return os.environ.get(COMMAND_VARIABLE, "").strip() or "voice-studio"


def as_typed(text: str) -> str:
    """A text in which `voice-studio` before a word is what people type to start the command."""
    return text.replace("voice-studio ", f"{command_name()} ")


class UsageError(ExplainedError):
    """The command line asks for something that the command does not have."""


class CommandParser(argparse.ArgumentParser):
    """Parses the arguments of a command; a mistake is a UsageError instead of an exit."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}.", f"`{self.prog} --help` lists the options.")


class _PrintVersion(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        try:
            number = version("voice-studio")
        except PackageNotFoundError:
            number = "(run from its source, not installed)"
        print(f"{parser.prog} {number}")
        parser.exit()


def add_version(parser: argparse.ArgumentParser) -> None:
    """Add `--version`, which prints the version and ends the command."""
    parser.add_argument("--version", action=_PrintVersion, nargs=0, help="print the version")


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """A parser type: digits with a sign, from `least` to `most`."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,30}", text.strip()):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
        value = int(text)
        if value < least or (most is not None and value > most):
            span = f"{least} or more" if most is None else f"{least} to {most}"
            raise argparse.ArgumentTypeError(f"{value} is out of range ({span})")
        return value

    return parse


def seed(text: str) -> int:
    """A parser type: a seed, or any negative number for a random one."""
    return whole_number(-LARGEST_SEED, LARGEST_SEED)(text)


def number(accepts: Callable[[float], bool], span: str) -> Callable[[str], float]:
    """A parser type: a finite number that `accepts` takes; `span` says which those are."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or "_" in text:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number")
        if not accepts(value):
            raise argparse.ArgumentTypeError(f"{text} is out of range ({span})")
        return value

    return parse


def words(text: str) -> str:
    """A parser type: text that the terminal gave us in valid UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{text!a} is not valid UTF-8") from None
    return text


def language(text: str) -> str:
    """A parser type: a language by its name, or by its code (en)."""
    return _LANGUAGES.get(text.strip().lower(), words(text))
