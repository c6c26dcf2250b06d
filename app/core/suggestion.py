"""Picks the part of a recording that a voice is best made from, without cutting a word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.core.speech_detection import Segment
from engine.audio.report import FRAME_SECONDS, FULL_SCALE, frame_levels
from engine.types import Samples

SHORTEST: Final = 6.0  # seconds
LONGEST: Final = 15.0
BEST: Final = 10.0
MARGIN: Final = 0.12  # seconds of the pause around that are taken along
SAFE_PAUSE: Final = 0.2  # seconds; a shorter quiet may lie within a word
EDGE: Final = 0.08  # seconds at an end of the recording that tell that no word is cut there
DIP_DB: Final = 25.0  # below the loud frames: a pause within a segment
LONG_PAUSE: Final = 1.0

# What each thing costs, in the same unit: a second more or less than the best length is 0.06.
LENGTH_COST: Final = 0.06
SILENCE_COST: Final = 2.0  # times the share that is not speech
QUIET_COST: Final = 0.08  # per dB below the loudest choice
PAUSE_COST: Final = 0.3  # per second of a long pause
EDGE_COST: Final = 0.6  # per end that lies at an end of the recording, maybe within a word
CLIP_COST: Final = 1.0  # and 0.2 for every further place


@dataclass(frozen=True)
class _Candidate:
    part: Segment
    speech: int  # samples
    longest_pause: int  # samples
    edges: int  # ends at an end of the recording


def suggest_range(samples: Samples, rate: int, segments: Sequence[Segment]) -> Segment | None:
    """The best 6 to 15 s of samples [n], given where speech is; None if there is none.

    It begins and ends in pauses. Where there is less speech, it is all there is; speech without
    any pause stays whole, even if it is longer.
    """
    pieces = [piece for each in segments for piece in _split(samples, rate, each)]
    if not pieces:
        return None
    found = list(_candidates(pieces, samples.size, rate, _loud_ends(samples, rate)))
    fitting = [each for each in found if SHORTEST <= each.part.length / rate <= LONGEST]
    if not fitting:
        short = [each for each in found if each.part.length / rate < SHORTEST]
        choice = max(short, key=_length) if short else min(found, key=_length)
        return choice.part
    measure = _Measure(samples, rate)
    loudest = max(measure.level(each.part) for each in fitting)
    return min(fitting, key=lambda each: measure.cost(each, loudest)).part


class _Measure:
    """Level and clipping of any part of a recording, from sums over its frames."""

    def __init__(self, samples: Samples, rate: int) -> None:
        self._rate = rate
        self._step = min(max(1, round(rate * FRAME_SECONDS)), samples.size)
        power = 10 ** (frame_levels(samples, rate) / 10)
        self._power = np.concatenate([[0.0], np.cumsum(power)])
        full = np.abs(samples[: len(power) * self._step]) >= FULL_SCALE
        self._clipped = np.concatenate([[0], np.cumsum(full.reshape(len(power), -1).any(axis=1))])

    def level(self, part: Segment) -> float:
        """Mean power in dB."""
        first, last = self._frames(part)
        return float(10 * np.log10((self._power[last] - self._power[first]) / (last - first)))

    def cost(self, candidate: _Candidate, loudest: float) -> float:
        part = candidate.part
        first, last = self._frames(part)
        clipped = int(self._clipped[last] - self._clipped[first])
        pause = candidate.longest_pause / self._rate
        return (
            LENGTH_COST * abs(part.length / self._rate - BEST)
            + SILENCE_COST * (1 - candidate.speech / part.length)
            + QUIET_COST * (loudest - self.level(part))
            + PAUSE_COST * (pause if pause > LONG_PAUSE else 0)
            + EDGE_COST * candidate.edges
            + (CLIP_COST + 0.2 * (clipped - 1) if clipped else 0)
        )

    def _frames(self, part: Segment) -> tuple[int, int]:
        last = min(max(part.end // self._step, 1), len(self._power) - 1)
        return min(part.start // self._step, last - 1), last


def _length(candidate: _Candidate) -> int:
    return candidate.part.length


def _loud_ends(samples: Samples, rate: int) -> tuple[bool, bool]:
    """Whether the recording begins and ends loud: a word may be cut there."""
    quiet = _quiet(frame_levels(samples, rate))
    return not quiet[0], not quiet[-1]


def _candidates(
    pieces: list[Segment], size: int, rate: int, loud: tuple[bool, bool]
) -> Iterator[_Candidate]:
    """From any piece to any later one, until it is too long; a single one may be too long."""
    margin, edge = round(MARGIN * rate), round(EDGE * rate)
    for index, first in enumerate(pieces):
        before = first.start - (pieces[index - 1].end if index else 0)
        start = first.start - min(margin, before // 2 if index else before)
        speech = longest_pause = 0
        for place in range(index, len(pieces)):
            last = pieces[place]
            after = (pieces[place + 1].start if place + 1 < len(pieces) else size) - last.end
            end = last.end + min(margin, after // 2 if place + 1 < len(pieces) else after)
            if place > index:
                longest_pause = max(longest_pause, last.start - pieces[place - 1].end)
                if (end - start) / rate > LONGEST:
                    break
            speech += last.length
            edges = (loud[0] and first.start < edge and not index) + (
                loud[1] and size - last.end < edge
            )
            yield _Candidate(Segment(start, end), speech, longest_pause, edges)


def _split(samples: Samples, rate: int, segment: Segment) -> Iterator[Segment]:
    """A segment that is too long for a choice, parted where it is quiet for long enough."""
    if segment.length / rate <= SHORTEST:
        yield segment
        return
    levels = frame_levels(samples[slice(*segment)], rate)
    step = round(rate * FRAME_SECONDS)
    start = segment.start
    for first, last in _quiet_runs(levels, round(SAFE_PAUSE / FRAME_SECONDS)):
        if first and last < len(levels):
            yield Segment(start, segment.start + first * step)
            start = segment.start + last * step
    yield Segment(start, segment.end)


def _quiet(levels: NDArray[np.float64]) -> NDArray[np.bool_]:
    return levels < np.percentile(levels, 95) - DIP_DB


def _quiet_runs(levels: NDArray[np.float64], shortest: int) -> list[tuple[int, int]]:
    quiet = _quiet(levels)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], quiet, [False]]).astype(np.int8)))
    return [
        (int(first), int(last)) for first, last in edges.reshape(-1, 2) if last - first >= shortest
    ]
