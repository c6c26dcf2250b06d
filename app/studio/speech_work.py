"""What was asked to be spoken, and the takes that are being made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from app.audio.take_buffer import TakeBuffer
from app.core.estimates import estimate_speech
from app.core.takes import Take, TakeRequest
from app.jobs.messages import LoadedModel
from app.studio.speech_state import LiveTake
from app.studio.take_keeper import TakeKeeper


@dataclass(frozen=True)
class Wanted:
    """What was asked for; every seed makes a take."""

    request: TakeRequest
    seeds: tuple[int, ...]
    voice_label: str
    play: bool = True
    remake: bool = False  # the embedding of the voice, from its clip
    hint: str = ""  # what to do when the loaded model is of another kind


@dataclass(eq=False)
class Work:
    """A job that speaks and has not ended."""

    wanted: Wanted
    lives: tuple[LiveTake, ...]
    keepers: tuple[TakeKeeper, ...]
    at_once: bool  # nothing was being spoken when it was asked for
    stopping: bool = False
    settled: set[str] = field(default_factory=set)  # ids that the session knows about

    @classmethod
    def begun(
        cls,
        wanted: Wanted,
        loaded: LoadedModel | None,
        keeper_for: Callable[[LiveTake], TakeKeeper],
        *,
        at_once: bool,
    ) -> Work:
        """Takes, empty buffers and keepers for what is wanted; `loaded` is the model, if known."""
        takes = [Take(wanted.request, seed, wanted.voice_label) for seed in wanted.seeds]
        expected = estimate_speech(wanted.request.text).seconds
        if loaded is not None:
            takes = [replace(take, sample_rate=loaded.sample_rate) for take in takes]
            frame_seconds = loaded.frame_samples / loaded.sample_rate
            expected = min(expected, wanted.request.sampling.max_frames * frame_seconds)
        lives = tuple(LiveTake(take, TakeBuffer(take.sample_rate), expected) for take in takes)
        return cls(wanted, lives, tuple(keeper_for(live) for live in lives), at_once)

    @property
    def open_lives(self) -> tuple[LiveTake, ...]:
        """Those that the session does not know about yet, in order."""
        return tuple(live for live in self.lives if live.take.id not in self.settled)
