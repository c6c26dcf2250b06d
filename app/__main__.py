"""The command voice-studio: the door to everything the studio does."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from app.commands.doctor import examine
from app.commands.models import list_models
from app.commands.say import add_options, read_arguments, say
from app.commands.window import open_window
from engine.cli import bench, convert, quantize, verify
from engine.cli.console import Console
from engine.cli.parser import CommandParser, UsageError, add_version, command_name
from engine.cli.running import FAILED, run_command, run_parsed

_ENGINE_COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = MappingProxyType(
    {
        "bench": bench.main,
        "convert": convert.main,
        "quantize": quantize.main,
        "verify": verify.main,
    }
)
"""Commands with option lists of their own."""
_COMMANDS: Final = ("say", "models", "doctor", *_ENGINE_COMMANDS)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 1 failed, 130 stopped."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in _ENGINE_COMMANDS:
        return _ENGINE_COMMANDS[words[0]](words[1:])
    parser = _parser()
    if words and not words[0].startswith("-") and words[0] not in _COMMANDS:
        Console().error(_unknown(words[0]))
        return FAILED

    def action(given: argparse.Namespace) -> int:
        if given.command == "say":
            arguments = read_arguments(given)
            console = Console(quiet=arguments.quiet)
            return run_command(lambda: say(arguments, console), console)
        if given.command == "doctor":
            places = tuple(given.models)
            return run_command(lambda: examine(given.home, places, as_json=given.json), Console())
        if given.command == "models":
            places = tuple(given.models)
            return run_command(
                lambda: list_models(given.home, places, as_json=given.json), Console()
            )
        return run_command(
            lambda: open_window(given.home, tuple(given.models), null_audio=given.null_audio),
            Console(),
            own_signals=True,
        )

    return run_parsed(parser, words, action)


def _unknown(word: str) -> UsageError:
    """What to tell of a first word that is no command: it may be misspelt, or be the text."""
    near = difflib.get_close_matches(word, _COMMANDS, n=1)
    command = command_name()
    meant = f"`{command} {near[0]}`" if near else f'`{command} say "{word}"`'
    return UsageError(
        f"There is no command {word!r}.",
        f"Did you mean {meant}? `{command} --help` lists the commands.",
    )


def _parser() -> CommandParser:
    # A command's own default would take the place of what was given before the command.
    places = _places(home=argparse.SUPPRESS, models=argparse.SUPPRESS)
    parser = CommandParser(
        prog=command_name(),
        description="Speech with cloned, designed and directed voices. Without a command, the "
        "studio opens in its window.",
        parents=[_places(home=None, models=[])],
        allow_abbrev=False,
    )
    parser.add_argument(
        "--null-audio", action="store_true", help="use no sound device; nothing is heard"
    )
    add_version(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    about = "speak a text into a WAV file"
    add_options(
        commands.add_parser(
            "say", help=about, description=about, parents=[places], allow_abbrev=False
        )
    )
    about = "list the models that are installed"
    models = commands.add_parser(
        "models", help=about, description=about, parents=[places], allow_abbrev=False
    )
    models.add_argument("--json", action="store_true", help="print the list in JSON")
    about = "tell how speech is computed on this computer, and why"
    doctor = commands.add_parser(
        "doctor", help=about, description=about, parents=[places], allow_abbrev=False
    )
    doctor.add_argument("--json", action="store_true", help="print it in JSON")
    commands.add_parser("convert", help="turn an official checkpoint into model files")
    commands.add_parser("quantize", help="make a model file smaller")
    commands.add_parser("bench", help="measure how fast this computer speaks")
    commands.add_parser("verify", help="tell whether a file, precision or device is faithful")
    return parser


def _places(home: str | None, models: str | list[Path]) -> CommandParser:
    """The options that say where things are, with these defaults."""
    places = CommandParser(add_help=False, allow_abbrev=False)
    places.add_argument(
        "--home",
        type=Path,
        default=home,
        metavar="DIR",
        help="where the studio keeps everything (STUDIO_HOME)",
    )
    places.add_argument(
        "--models",
        type=Path,
        action="append",
        default=models,
        metavar="DIR",
        help="folder with models, besides the studio's own; may be repeated",
    )
    return places


if __name__ == "__main__":
    sys.exit(main())
