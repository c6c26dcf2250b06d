"""The command `voice-studio bench`: how fast this computer speaks, and against what."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.cli.console import Console, readable_bytes
from engine.cli.outputs import check_output
from engine.cli.parser import CommandParser, as_typed, whole_number
from engine.cli.running import DONE, run_command, run_parsed
from engine.cli.speaking import describe_pair
from engine.errors import ExplainedError
from engine.families import ModelPair
from engine.files import replace_file

LONGEST_RUN = 1800.0  # seconds after which a run counts as hanging
TEXT = (
    "The quick brown fox jumps over the lazy dog, and then it rests for a while in the shade of "
    "an old tree while the evening comes."
)
STAGES = ("talker", "predictor", "codec")

EPILOG = """\
Every way is run in processes of its own, in turn, as often as --rounds says; the figures are
medians. Real-time factor: seconds of computing per second of sound, 1 or less is fast enough to
listen while it speaks. Let nothing else run meanwhile.

A peer is a program that is given the same wish as one argument in JSON and prints the same
figures; tools/peers has one for qwentts.cpp.

examples:
  voice-studio bench --model talker-Q8_0.gguf --codec tokenizer-Q8_0.gguf
  voice-studio bench --model talker-Q8_0.gguf --codec tokenizer-Q8_0.gguf --precision int8 f32 \\
      --threads 1 2 --frames 63 --rounds 3 \\
      --peer "qwentts.cpp=peers/bin/python tools/peers/qwentts_cpp.py"
"""


@dataclass(frozen=True)
class Way:
    """One way of speaking that is measured."""

    name: str
    command: tuple[str, ...]  # the wish is added as its last argument
    wish: Mapping[str, Any]


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
        "--precision",
        nargs="+",
        choices=("auto", "f32", "bf16", "int8"),
        default=["auto"],
        help="precisions to measure (default: auto)",
    )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    add(
        "--threads",
        nargs="+",
        type=whole_number(1, 256),
        default=[cores or 1],
        metavar="N",
        help="numbers of threads to measure (default: one per core)",
    )
    add(
        "--frames",
        nargs="+",
        type=whole_number(4, 2000),
        default=[63],
        metavar="N",
        help="lengths to measure, in frames of 80 ms (default: 63, five seconds)",
    )
    add(
        "--takes",
        nargs="+",
        type=whole_number(1, 8),
        default=[1],
        metavar="N",
        help="numbers of takes that are made at once (default: 1)",
    )
    add("--rounds", type=whole_number(1, 100), default=3, metavar="N", help="(default: 3)")
    add("--peer", action="append", default=[], metavar="NAME=COMMAND", help="measure a peer too")
    add("--cold", action="store_true", help="do not speak two frames first")
    add("--json", type=Path, metavar="FILE", help="write all figures there")
    add("--quiet", action="store_true", help="print the table only")


def _bench(given: argparse.Namespace, console: Console) -> int:
    describe_pair(ModelPair(given.model, given.codec))
    if given.json is not None:
        check_output(given.json, (given.model, given.codec))
    ways = [*_own_ways(given), *_peer_ways(given)]
    runs: dict[str, list[dict[str, Any]]] = {way.name: [] for way in ways}
    for number in range(given.rounds):
        for way in ways:
            console.say(f"Round {number + 1} of {given.rounds}: {way.name}")
            runs[way.name].append(_run(way))
    sys.stdout.write(_table(runs))
    if given.json is not None:
        replace_file(given.json, json.dumps(runs, indent=1).encode())
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
    for precision in given.precision:
        for threads in given.threads:
            for frames in given.frames:
                for takes in given.takes:
                    name = f"{precision}, {_count(threads, 'thread')}, {frames} frames"
                    name += f", {takes} takes" if takes > 1 else ""
                    wish = {**_wish(given, threads, frames, takes), "precision": precision}
                    yield Way(name, (sys.executable, "-m", "engine.cli.bench_once"), wish)


def _peer_ways(given: argparse.Namespace) -> Iterable[Way]:
    for peer in given.peer:
        name, _, command = peer.partition("=")
        if not name or not command:
            raise ExplainedError(
                f"--peer {peer} names no command.", 'Write --peer "NAME=python path/to/peer.py".'
            )
        for threads in given.threads:
            for frames in given.frames:
                yield Way(
                    f"{name}, {_count(threads, 'thread')}, {frames} frames",
                    tuple(shlex.split(command)),
                    _wish(given, threads, frames, 1),
                )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _run(way: Way) -> dict[str, Any]:
    threads = str(way.wish["threads"])
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
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


def _table(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    width = max(map(len, runs))
    head = f"{'':{width}}  {'load s':>7} {'first s':>8} {'RTF':>6} {'ms/frame':>9}"
    head += "".join(f" {stage:>10}" for stage in STAGES) + f" {'peak':>9}\n"
    lines = [head]
    baseline = None
    for name, figures in runs.items():
        audio = _median(each["audio_seconds"] for each in figures)
        spent = _median(each["seconds"] for each in figures)
        factor = spent / audio if audio else float("inf")
        baseline = baseline or factor
        line = f"{name:{width}}  {_median(each['load_seconds'] for each in figures):7.2f} "
        line += f"{_median(each['first_audio_seconds'] for each in figures):8.2f} {factor:6.2f} "
        line += f"{80 * factor:9.1f}"
        for stage in STAGES:
            known = [
                1000 * each["stage_seconds_per_frame"][stage]
                for each in figures
                if stage in each["stage_seconds_per_frame"]
            ]
            line += f" {_median(known):10.1f}" if known else f" {'':>10}"
        memory = [each["peak_memory_bytes"] for each in figures if each["peak_memory_bytes"]]
        line += f" {readable_bytes(int(_median(memory))) if memory else '':>9}"
        line += f"  {factor / baseline:.2f} x the first\n" if factor != baseline else "\n"
        lines.append(line)
    return "".join(lines)


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)


if __name__ == "__main__":
    sys.exit(main())
