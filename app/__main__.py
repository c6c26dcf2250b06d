"""The command voice-studio: the door to everything the studio does."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from app.commands.models import list_models
from app.commands.say import add_options, read_arguments, say
from engine.cli import convert, quantize, verify
from engine.cli.console import Console
from engine.cli.parser import CommandParser, add_version
from engine.cli.running import DONE, run_command, run_parsed

_ENGINE_COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = MappingProxyType(
    {"convert": convert.main, "quantize": quantize.main, "verify": verify.main}
)
"""Commands with option lists of their own."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 1 failed, 130 stopped."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in _ENGINE_COMMANDS:
        return _ENGINE_COMMANDS[words[0]](words[1:])
    parser = _parser()

    def action(given: argparse.Namespace) -> int:
        if given.command == "say":
            arguments = read_arguments(given)
            console = Console(quiet=arguments.quiet)
            return run_command(lambda: say(arguments, console), console)
        if given.command == "models":
            places = tuple(given.models)
            return run_command(
                lambda: list_models(given.home, places, as_json=given.json), Console()
            )
        print("This version has no window yet: `voice-studio say` speaks from the terminal.\n")
        parser.print_help()
        return DONE

    return run_parsed(parser, words, action)


def _parser() -> CommandParser:
    places = CommandParser(add_help=False, allow_abbrev=False)
    places.add_argument(
        "--home", type=Path, metavar="DIR", help="where the studio keeps everything (STUDIO_HOME)"
    )
    places.add_argument(
        "--models",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="folder with models, besides the studio's own; may be repeated",
    )
    parser = CommandParser(
        prog="voice-studio",
        description="Speech with cloned, designed and directed voices.",
        allow_abbrev=False,
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
    commands.add_parser("convert", help="turn an official checkpoint into model files")
    commands.add_parser("quantize", help="make a model file smaller")
    commands.add_parser("verify", help="tell whether a file, precision or device is faithful")
    return parser


if __name__ == "__main__":
    sys.exit(main())
