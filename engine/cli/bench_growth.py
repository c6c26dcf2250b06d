"""Tells from the pieces of one long utterance how the cost of a frame grows with its length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

MARKS: Final = (1, 5, 15, 30, 60)  # seconds of speech
ALLOWED: Final = 0.25
"""By how much a frame may cost more at the end of a minute than at its beginning."""

_PIECES_AT_A_MARK: Final = 3  # odd: one that something else on the computer held up counts nothing


@dataclass(frozen=True)
class Piece:
    """What it took to make the frames of a chunk, from the end of the chunk before."""

    frames: int
    seconds: float
    stages: Mapping[str, float]  # seconds, by the name of the stage


@dataclass(frozen=True)
class GrowthPoint:
    """What a frame takes after so many seconds of speech."""

    second: int
    seconds_per_frame: float  # of everything
    stage_seconds_per_frame: Mapping[str, float]


def growth(pieces: Sequence[Piece], frame_seconds: float) -> list[GrowthPoint]:
    """The cost of a frame at each of MARKS that the utterance reaches.

    It is the median of the pieces nearest to the mark. Only pieces of the usual length count: the
    first ones are shorter, to be heard sooner, and a short piece costs the codec more per frame.
    """
    usual = max((piece.frames for piece in pieces), default=0)
    placed: list[tuple[float, Piece]] = []  # with the second in its middle
    frames = 0
    for index, piece in enumerate(pieces):
        if index and piece.frames == usual:  # the very first one waited for the prefill
            placed.append((frame_seconds * (frames + piece.frames / 2), piece))
        frames += piece.frames
    points = []
    for mark in MARKS:
        if mark > frame_seconds * frames or not placed:
            break
        nearest = sorted(placed, key=lambda place: abs(place[0] - mark))[:_PIECES_AT_A_MARK]
        points.append(_point(mark, [piece for _, piece in nearest]))
    return points


def grown(costs: Sequence[float]) -> float:
    """By how much the last cost is above the first, 0.25 for a quarter."""
    return costs[-1] / costs[0] - 1


def _point(mark: int, pieces: Sequence[Piece]) -> GrowthPoint:
    stages = {name for piece in pieces for name in piece.stages}
    return GrowthPoint(
        second=mark,
        seconds_per_frame=median(piece.seconds / piece.frames for piece in pieces),
        stage_seconds_per_frame={
            name: median(piece.stages.get(name, 0.0) / piece.frames for piece in pieces)
            for name in sorted(stages)
        },
    )
