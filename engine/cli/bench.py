"""The command `voice-studio bench`: how fast this computer speaks, and against what."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from engine.cli.bench_table import Measured, Way, figures_table, growth_table, ratios_table
from engine.cli.console import Console
from engine.cli.outputs import check_output
from engine.cli.parser import CommandParser, UsageError, as_typed, whole_number
from engine.cli.running import DONE, run_command, run_parsed
from engine.cli.speaking import describe_pair
from engine.errors import ExplainedError
from engine.families import ModelPair
from engine.files import replace_file
from engine.native.library import SWITCH

_T = TypeVar("_T")

LONGEST_RUN = 1800.0  # seconds after which a run counts as hanging
USUAL_FRAMES = 63  # five seconds
LONG_FRAMES = 750  # a minute
SHORTEST_GROWTH = 63  # frames: reaches the second mark
TEXT = (
    "The quick brown fox jumps over the lazy dog, and then it rests for a while in the shade of "
    "an old tree while the evening comes."
)

PATHS: Mapping[str, tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        "auto": ("auto", {}),
        "int8": ("int8", {}),
        "int8-torch": ("int8", {SWITCH: "0"}),
        "bf16": ("bf16", {}),
        "f32": ("f32", {}),
    }
)
"""Ways of computing by their names here: a precision, and what its process finds around it."""

EPILOG = """\
Every way is run in processes of its own, in turn, as often as --rounds says; the figures are
medians. Real-time factor: seconds of computing per second of sound, 1 or less is fast enough to
listen while it speaks. Let nothing else run meanwhile.

A peer is a program that is given the same wish as one argument in JSON and prints the same
figures; tools/peers has them for qwentts.cpp and for the official package.

examples:
  voice-studio bench --model talker-Q8_0.gguf --codec tokenizer-Q8_0.gguf
  voice-studio bench --model talker-Q8_0.gguf --codec tokenizer-Q8_0.gguf --growth --rounds 1
  voice-studio bench --model talker-Q8_0.gguf --codec tokenizer-Q8_0.gguf \\
      --paths int8,int8-torch,f32 --threads 1,2 \\
      --peer "qwentts.cpp=peers/bin/python tools/peers/qwentts_cpp.py"
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 done, 1 failed, 130 stopped."""
    parser = CommandParser(
        prog=as_typed("voice-studio bench"),
        description="Measure how fast this computer speaks with a model pair.",
        epilog=as_typed(EPILOG),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_options(parser)
    return run_parsed(parser, argv, run_bench)


def run_bench(given: argparse.Namespace) -> int:
    """Run the command with parsed options; returns what `main` does."""
    console = Console(quiet=given.quiet)
    return run_command(lambda: _bench(given, console), console)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench`."""
    add = parser.add_argument
    add("--model", type=Path, required=True, metavar="GGUF", help="talker")
    add("--codec", type=Path, required=True, metavar="GGUF", help="audio tokenizer")
    add("--voice", type=Path, metavar="SPK", help="speaker embedding, for a base talker")
    add(
        "--paths",
        "--precision",
        action=_Several,
        type=_several(_path),
        default=["auto"],
        metavar="PATH",
        help=f"ways of computing to measure: {', '.join(PATHS)}; int8-torch is int8 without the "
        "native step (default: auto)",
    )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    add(
        "--threads",
        action=_Several,
        type=_several(whole_number(1, 256)),
        default=[cores or 1],
        metavar="N",
        help="numbers of threads to measure (default: one per core)",
    )
    add(
        "--frames",
        action=_Several,
        type=_several(whole_number(4, 2000)),
        metavar="N",
        help=f"lengths to measure, in frames of 80 ms (default: {USUAL_FRAMES}, five seconds; with "
        f"--growth {LONG_FRAMES}, a minute)",
    )
    add(
        "--takes",
        action=_Several,
        type=_several(whole_number(1, 8)),
        default=[1],
        metavar="N",
        help="numbers of takes that are made at once (default: 1)",
    )
    add(
        "--growth",
        action="store_true",
        help="tell how the cost of a frame grows with the length of the utterance",
    )
    add("--rounds", type=whole_number(1, 100), default=3, metavar="N", help="(default: 3)")
    add("--peer", action="append", default=[], metavar="NAME=COMMAND", help="measure a peer too")
    add("--cold", action="store_true", help="do not speak two frames first")
    add("--json", type=Path, metavar="FILE", help="write all figures there")
    add("--quiet", action="store_true", help="print the table only")


class _Several(argparse.Action):
    """Takes values one by one or with commas between them: `1 2` or `1,2`."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs="+", **options)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, [value for group in values for value in group])


def _several(parse: Callable[[str], _T]) -> Callable[[str], list[_T]]:
    """A parser type: values of that type with commas between them."""
    return lambda text: [parse(part) for part in text.split(",")]


def _path(text: str) -> str:
    if text not in PATHS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(PATHS)}")
    return text


def _bench(given: argparse.Namespace, console: Console) -> int:
    describe_pair(ModelPair(given.model, given.codec))
    if given.json is not None:
        check_output(given.json, (given.model, given.codec))
    given.frames = given.frames or [LONG_FRAMES if given.growth else USUAL_FRAMES]
    if given.growth and min(given.frames) < SHORTEST_GROWTH:
        raise UsageError(
            f"--growth needs {SHORTEST_GROWTH} frames or more.", "Leave --frames out for a minute."
        )
    ways = [*_own_ways(given), *_peer_ways(given)]
    names = [way.name for way in ways]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"{twice} would be measured twice.", "Name every way once.")
    runs: list[list[dict[str, Any]]] = [[] for _ in ways]
    for number in range(given.rounds):
        for way, figures in zip(ways, runs, strict=True):
            console.say(f"Round {number + 1} of {given.rounds}: {way.name}")
            figures.append(_run(way))
    measured = [Measured(way, figures) for way, figures in zip(ways, runs, strict=True)]
    tables = [figures_table(measured), ratios_table(measured)]
    if given.growth:
        tables.append(growth_table(measured))
    sys.stdout.write("\n".join(filter(None, tables)))
    if given.json is not None:
        told = {each.way.name: each.runs for each in measured}
        replace_file(given.json, json.dumps(told, indent=1).encode())
    return DONE


def _wish(given: argparse.Namespace, threads: int, frames: int, takes: int) -> dict[str, Any]:
    return {
        "model": str(given.model.absolute()),
        "codec": str(given.codec.absolute()),
        "voice": "" if given.voice is None else str(given.voice.absolute()),
        "text": TEXT,
        "language": "english",
        "precision": "auto",
        "threads": threads,
        "frames": frames,
        "takes": takes,
        "warm": not given.cold,
    }


def _own_ways(given: argparse.Namespace) -> Iterable[Way]:
    command = (sys.executable, "-m", "engine.cli.bench_once")
    for path, *task in product(given.paths, given.threads, given.frames, given.takes):
        precision, environment = PATHS[path]
        yield Way(path, command, {**_wish(given, *task), "precision": precision}, environment)


def _peer_ways(given: argparse.Namespace) -> Iterable[Way]:
    for peer in given.peer:
        name, _, command = peer.partition("=")
        if not name or not command:
            raise ExplainedError(
                f"--peer {peer} names no command.", 'Write --peer "NAME=python path/to/peer.py".'
            )
        for threads, frames in product(given.threads, given.frames):
            yield Way(name, tuple(shlex.split(command)), _wish(given, threads, frames, 1))


def _run(way: Way) -> dict[str, Any]:
    threads = str(way.wish["threads"])
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
    environment |= way.environment
    try:
        done = subprocess.run(
            [*way.command, json.dumps(way.wish)],
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST_RUN,
            check=False,
        )
    except OSError as error:
        raise ExplainedError(
            f"{way.command[0]} cannot be run: {error.strerror}.", "Check the command of the peer."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise ExplainedError(
            f"{way.name} did not end within {LONGEST_RUN:.0f} s.", "Measure fewer frames."
        ) from error
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise ExplainedError(
            f"{way.name} failed (exit status {done.returncode}).",
            "Its last words: " + (done.stderr.strip().splitlines() or ["none"])[-1],
            done.stderr,
        )
    figures: dict[str, Any] = json.loads(lines[-1])
    return figures


if __name__ == "__main__":
    sys.exit(main())
