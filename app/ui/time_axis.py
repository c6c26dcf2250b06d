"""Which part of the audio a view shows, and the times that are written along it."""

from __future__ import annotations

import math
from dataclasses import dataclass

LEAST_SPAN = 32.0  # samples across the view at the closest zoom
STEPS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    *(1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0),
)
"""Seconds between labels, of which the smallest that leaves room is taken."""


@dataclass(frozen=True)
class Range:
    """Samples from `start` up to `end`, not included."""

    start: int
    end: int

    @classmethod
    def between(cls, one: int, other: int) -> Range:
        return cls(min(one, other), max(one, other))

    @property
    def length(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class Viewport:
    """The samples from `start` to `end` lie across `width` device independent pixels."""

    start: float
    end: float
    width: float

    @property
    def span(self) -> float:
        return self.end - self.start

    def x(self, sample: float) -> float:
        """Where a sample is drawn."""
        return (sample - self.start) / self.span * self.width

    def sample(self, x: float) -> float:
        """What is drawn at `x`."""
        return self.start + x / self.width * self.span

    def resized(self, width: float) -> Viewport:
        return Viewport(self.start, self.end, width)

    def fitted(self, length: float) -> Viewport:
        """All of the audio."""
        return Viewport(0.0, max(length, LEAST_SPAN), self.width)

    def zoomed(self, factor: float, at: float, length: float) -> Viewport:
        """Closer by `factor`, with the sample `at` staying where it is."""
        span = min(max(self.span / factor, LEAST_SPAN), max(length, LEAST_SPAN))
        share = (at - self.start) / self.span
        return self._placed(at - share * span, span, length)

    def moved(self, samples: float, length: float) -> Viewport:
        """Later by so many samples, as far as there is audio."""
        return self._placed(self.start + samples, self.span, length)

    def _placed(self, start: float, span: float, length: float) -> Viewport:
        start = min(max(start, 0.0), max(length - span, 0.0))
        return Viewport(start, start + span, self.width)


@dataclass(frozen=True)
class Tick:
    """A line of the ruler; small ones have no label."""

    x: float
    label: str


def ticks(view: Viewport, rate: int, room: float) -> list[Tick]:
    """The lines of a ruler whose labels need `room` pixels each."""
    seconds_per_pixel = view.span / rate / view.width
    step = next((step for step in STEPS if step >= seconds_per_pixel * room), STEPS[-1])
    parts = 5
    first = math.floor(view.start / rate / step) * parts
    last = math.ceil(view.end / rate / step) * parts
    made = []
    for index in range(first, last + 1):
        time = index * step / parts
        label = "" if index % parts else clock(time, _decimals(step))
        made.append(Tick(view.x(time * rate), label))
    return made


def clock(seconds: float, decimals: int = 1) -> str:
    """A time as it is written on rulers: 0:07.5, 12:00.0, 1:02:03.0."""
    scale = 10**decimals
    units = round(max(seconds, 0.0) * scale)
    whole, fraction = divmod(units, scale)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return f"{text}.{fraction:0{decimals}}" if decimals else text


def _decimals(step: float) -> int:
    return 0 if step >= 1 else 1 if step >= 0.1 else 2 if step >= 0.01 else 3
