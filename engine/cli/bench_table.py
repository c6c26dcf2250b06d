"""Lays out what the benchmark measured: medians, ratios, and growth with length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, TypeAlias

from engine.cli.bench_growth import ALLOWED, grown
from engine.cli.console import readable_bytes

STAGES = ("talker", "predictor", "codec")
FRAME = 80.0  # ms

Figures: TypeAlias = Mapping[str, Any]
"""What one run gave; the keys are told in docs/commands.md."""


@dataclass(frozen=True)
class Way:
    """One way of speaking that is measured."""

    path: str  # of computing, or the name of a peer
    command: tuple[str, ...]  # the wish is added as its last argument
    wish: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)  # besides what there is

    @property
    def task(self) -> tuple[int, int, int]:
        """Threads, frames and takes: what ways must have in common to be compared."""
        return self.wish["threads"], self.wish["frames"], self.wish["takes"]

    @property
    def name(self) -> str:
        threads, frames, takes = self.task
        name = f"{self.path}, {threads} {'thread' if threads == 1 else 'threads'}, {frames} frames"
        return f"{name}, {takes} takes" if takes > 1 else name


@dataclass(frozen=True)
class Measured:
    """A way and its runs, one per round."""

    way: Way
    runs: Sequence[Figures]


def figures_table(measured: Sequence[Measured]) -> str:
    """A line per way with the medians of its runs."""
    width = max(len(each.way.name) for each in measured)
    head = f"{'':{width}}  {'runs as':>10} {'load s':>7} {'prefill s':>9} {'first s':>8} {'RTF':>6}"
    head += f" {'ms/frame':>9}" + "".join(f" {stage:>9}" for stage in STAGES) + f" {'peak':>9}\n"
    return head + "".join(f"{each.way.name:{width}}  {_line(each.runs)}\n" for each in measured)


def ratios_table(measured: Sequence[Measured]) -> str:
    """How each way compares, round by round, with the first one that has the same task."""
    first: dict[tuple[int, int, int], Measured] = {}
    lines = []
    for each in measured:
        base = first.setdefault(each.way.task, each)
        if base is not each:
            lines.append((each.way.name, _ratios(each.runs, base.runs), base.way.path))
    width = max((len(name) for name, _, _ in lines), default=0)
    return "".join(f"{name:{width}}  {ratios} of {base}\n" for name, ratios, base in lines)


def growth_table(measured: Sequence[Measured]) -> str:
    """What a frame takes from the beginning of an utterance to its end, of ways that tell it."""
    told = [each for each in measured if all(run.get("growth") for run in each.runs)]
    return "\n".join(f"{each.way.name}\n{_growth(each.runs)}" for each in told)


def _line(runs: Sequence[Figures]) -> str:
    memory = _known(run["peak_memory_bytes"] for run in runs)
    cells = [
        f"{runs[0]['precision']:>10}",
        _cell([run["load_seconds"] for run in runs], 7, 2),
        _cell([run.get("prefill_seconds") for run in runs], 9, 3),
        _cell([run["first_audio_seconds"] for run in runs], 8, 2),
        _cell([_factor(run) for run in runs], 6, 2),
        _cell([FRAME * _factor(run) for run in runs], 9, 1),
        *(_cell([_stage(run, stage) for run in runs], 9, 1) for stage in STAGES),
        f"{readable_bytes(int(median(memory))) if memory else '':>9}",
    ]
    return " ".join(cells)


def _cell(values: Iterable[float | None], width: int, digits: int) -> str:
    """The median of what is known, or nothing."""
    known = _known(values)
    return f"{f'{median(known):.{digits}f}' if known else '':>{width}}"


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _factor(run: Figures) -> float:
    """Seconds of computing per second of sound."""
    return float(run["seconds"] / run["audio_seconds"]) if run["audio_seconds"] else math.inf


def _ratios(runs: Sequence[Figures], base: Sequence[Figures]) -> str:
    rounds = list(zip(runs, base, strict=True))
    times = [_factor(run) / _factor(other) for run, other in rounds]
    memory = [
        run["peak_memory_bytes"] / other["peak_memory_bytes"]
        for run, other in rounds
        if run["peak_memory_bytes"] and other["peak_memory_bytes"]
    ]
    told = f"{median(times):.2f} x the time"
    return f"{told}, {median(memory):.2f} x the memory" if memory else told


def _growth(runs: Sequence[Figures]) -> str:
    """A line per mark, and one that says by how much the last is above the first."""
    marks = list(zip(*(run["growth"] for run in runs), strict=True))  # each one of all runs
    costs = {
        "ms/frame": [median(1000 * run["seconds_per_frame"] for run in mark) for mark in marks]
    }
    for stage in STAGES:
        known = [_known(_stage(run, stage) for run in mark) for mark in marks]
        if all(known):
            costs[stage] = [median(values) for values in known]
    lines = [f"{'':>8}" + "".join(f" {name:>9}" for name in costs)]
    for index, mark in enumerate(marks):
        cells = "".join(f" {column[index]:9.1f}" for column in costs.values())
        lines.append(f"{mark[0]['second']:>6} s{cells}")
    more = {name: grown(column) for name, column in costs.items()}
    verdict = "within" if more["ms/frame"] <= ALLOWED else "over"
    cells = "".join(f" {f'{each:+.0%}':>9}" for each in more.values())
    lines.append(f"{'growth':>8}{cells}  {verdict} the {ALLOWED:.0%} allowed")
    return "".join(f"{line}\n" for line in lines)


def _stage(figures: Figures, stage: str) -> float | None:
    """Milliseconds per frame, if they are known."""
    seconds = figures["stage_seconds_per_frame"].get(stage)
    return None if seconds is None else 1000 * float(seconds)
