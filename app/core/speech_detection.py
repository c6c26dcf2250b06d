"""Finds where somebody speaks in a recording: by level alone, or by a trained detector."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.core.speech_model import CHUNK, RATE, SpeechModel
from engine import CancelToken
from engine.audio import resample
from engine.audio.report import FRAME_SECONDS, frame_levels, speech_threshold
from engine.types import Samples

LIKELY: Final = 0.5  # probability at which speech begins
UNLIKELY: Final = 0.35  # and below which it ends
SHORTEST_PAUSE: Final = 0.1  # seconds; what the detector takes for one is no part of a word
SHORTEST_QUIET: Final = 0.2  # before a "p" or "t" it is quiet for half as long, within a word
SHORTEST_SPEECH: Final = 0.2
PADDING: Final = 0.04  # seconds; words begin and end more quietly than they are


class Segment(NamedTuple):
    """Samples start..end - 1."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class _Frames:
    """How long the frames are that hold speech or do not, and what lies between segments."""

    samples: float  # of the recording, per frame
    seconds: float
    shortest_pause: float  # seconds


def segments_by_level(samples: Samples, rate: int) -> tuple[Segment, ...]:
    """Where samples [n] at `rate` Hz are as loud as speech, whatever the sound is."""
    if not samples.size:
        return ()
    levels = frame_levels(samples, rate, float(samples.mean(dtype=np.float64)))
    speaks = levels > speech_threshold(levels)
    step = min(max(1, round(rate * FRAME_SECONDS)), samples.size)
    frames = _Frames(step, FRAME_SECONDS, SHORTEST_QUIET)
    return _segments(speaks, frames, samples.size, rate)


def segments_by_model(
    model: SpeechModel, samples: Samples, rate: int, cancel: CancelToken | None = None
) -> tuple[Segment, ...]:
    """Where a voice speaks in samples [n] at `rate` Hz. Raises Cancelled."""
    likelihood = model.probabilities(resample(samples, rate, RATE), cancel)
    frames = _Frames(CHUNK * rate / RATE, CHUNK / RATE, SHORTEST_PAUSE)
    return _segments(_with_memory(likelihood), frames, samples.size, rate)


def _with_memory(likelihood: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Whether each chunk holds speech, which goes on until it is unlikely enough."""
    speaks = np.zeros(len(likelihood), np.bool_)
    speaking = False
    for index, value in enumerate(likelihood):
        speaking = value >= (UNLIKELY if speaking else LIKELY)
        speaks[index] = speaking
    return speaks


def _segments(
    speaks: NDArray[np.bool_], frames: _Frames, size: int, rate: int
) -> tuple[Segment, ...]:
    """Frames as segments of a recording of `size` samples."""
    padding = round(PADDING * rate)
    found: list[Segment] = []
    for first, last in _runs(speaks, frames):
        start = max(0, round(first * frames.samples) - padding)
        end = min(size, round(last * frames.samples) + padding)
        found.append(Segment(max(start, found[-1].end) if found else start, end))
    return tuple(found)


def _runs(speaks: NDArray[np.bool_], frames: _Frames) -> Iterable[tuple[int, int]]:
    """Frames first..last - 1 of each stretch, short pauses closed and short sounds left out."""
    pause = round(frames.shortest_pause / frames.seconds)
    speech = round(SHORTEST_SPEECH / frames.seconds)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], speaks, [False]]).astype(np.int8)))
    joined: list[list[int]] = []
    for first, last in edges.reshape(-1, 2).tolist():
        if joined and first - joined[-1][1] < pause:
            joined[-1][1] = last
        else:
            joined.append([first, last])
    return [(first, last) for first, last in joined if last - first >= speech]
