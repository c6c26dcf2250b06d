"""Decides when a take that is still being made may start to sound."""

from __future__ import annotations

from dataclasses import dataclass

from app.audio.take_buffer import Forecast


@dataclass(frozen=True)
class StartDecision:
    """Whether to start now, else in how many seconds it will be possible (None: unknown)."""

    start: bool
    wait: float | None = None


@dataclass(frozen=True)
class StartPolicy:
    """Starts at the first moment from which the sound will not run dry.

    Let a take be made at s seconds of audio per second, with B seconds there and R to come. If
    playing starts now, B + s t - t seconds are left after t; the least of it is at the start
    (s >= 1) or when the making ends at t = R / s. So that a cushion c is left even then,

        B >= c + max(0, R (1/s - 1))

    For s >= 1 that is reached after (c - B) / s seconds. For s < 1 each second of waiting adds s to
    B and takes s (1/s - 1) from the right side: it is reached after c + R (1/s - 1) - B seconds.
    """

    cushion: float = 0.3  # seconds of audio that are always to be ahead
    distrust: float = 0.1  # share of the measured speed that is not counted on
    unknown_remaining: float = 10.0  # seconds assumed to come when nothing was estimated

    def decide(self, ahead: float, forecast: Forecast | None, *, finished: bool) -> StartDecision:
        """What to do with `ahead` seconds of audio made and not yet played."""
        if finished:
            return StartDecision(start=True)
        if ahead <= 0 or forecast is None or forecast.speed <= 0:
            return StartDecision(start=False)
        speed = forecast.speed * (1 - self.distrust)
        remaining = self.unknown_remaining if forecast.remaining is None else forecast.remaining
        remaining = max(remaining, 0.0)
        # Audio comes in pieces: just before one arrives, all that was made for it is missing.
        cushion = self.cushion + min(forecast.piece, remaining) / max(speed, 1.0)
        needed = cushion + remaining * max(0.0, 1 / speed - 1)
        missing = needed - ahead
        if missing <= 0:
            return StartDecision(start=True)
        wait = missing / speed if speed >= 1 else missing
        return StartDecision(start=False, wait=min(wait, remaining / speed))
