"""What every speaking command does: check the files, load them, speak a request, and measure."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.cli.console import Console, readable_bytes
from engine.cli.running import interruptible
from engine.errors import Cancelled, ModelFileError
from engine.families import (
    Engine,
    ModelPair,
    codec_name,
    describe_file,
    files_of_model,
    open_engine,
)
from engine.types import AudioChunk, Codes, Ending, ModelDescription, Probe, Samples, SpeechRequest


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """An engine, where it runs, and how long it took to get there."""

    engine: Engine
    device: str
    precision: str
    seconds: float


@dataclass(eq=False)
class Take:
    """What was made of one take so far."""

    seed: int
    frames: int = 0
    ending: Ending | None = None  # None until it has ended, and for ever if it was stopped
    samples: list[Samples] = field(default_factory=list)  # [n_i] each
    codes: list[Codes] = field(default_factory=list)  # [n_i, 16] each


@dataclass(eq=False)
class Speech:
    """What was made of one request, and how fast."""

    takes: tuple[Take, ...]
    frame_seconds: float
    seconds: float = 0.0  # spent
    first_audio: float | None = None  # seconds from the start to the first samples
    stopped: bool = False

    @property
    def frames(self) -> int:
        return sum(take.frames for take in self.takes)

    @property
    def audio_seconds(self) -> float:
        return self.frames * self.frame_seconds


def describe_pair(pair: ModelPair) -> ModelDescription:
    """Look at the heads of both files before anything slow begins; raises ModelFileError."""
    description = describe_file(pair.talker)
    if description is None:
        raise ModelFileError(
            f"{pair.talker} is a tokenizer; did you swap --model and --codec?",
            "The talker is the other file, qwen-talker-*.gguf.",
        )
    name = codec_name(pair.codec)
    if name is None:
        raise ModelFileError(
            f"{pair.codec} is no audio tokenizer.",
            "Choose a qwen-tokenizer-*.gguf file; the talker is the other one.",
        )
    if name != description.codec_name:
        raise ModelFileError(
            f"{pair.codec} is not the tokenizer whose codes {pair.talker} speaks.",
            "Choose the two files that belong together.",
        )
    return description


def load(pair: ModelPair, device: str, precision: str, console: Console) -> LoadedModel:
    """Load a pair; raises ModelFileError, DeviceError, and Cancelled on Ctrl+C."""
    files = (*files_of_model(pair.talker), pair.codec)
    size = sum(path.stat().st_size for path in files)
    console.say(f"Loading {pair.talker.name} and {pair.codec.name} ({readable_bytes(size)})")

    def tell(done: int, total: int) -> None:
        console.progress(f"Loading: {readable_bytes(done)} of {readable_bytes(total)}")

    begin = time.perf_counter()
    with interruptible() as cancel:
        engine = open_engine(pair, device=device, precision=precision, progress=tell, cancel=cancel)
    seconds = time.perf_counter() - begin
    console.say(f"Loaded in {seconds:.1f} s ({engine.device}, {engine.precision})")
    return LoadedModel(engine, engine.device, engine.precision, seconds)


def speak(
    engine: Engine,
    request: SpeechRequest,
    console: Console,
    *,
    hear: Callable[[AudioChunk], None] | None = None,
    keep: bool = True,
    probe: Probe | None = None,
) -> Speech:
    """Speak a request to its end or until Ctrl+C; `keep` False forgets samples and codes.

    `hear` is given every chunk at once. Raises ModeError, RequestError, and what `hear` raises.
    """
    takes = tuple(Take(seed) for seed in request.seeds)
    speech = Speech(takes, engine.frame_samples / engine.sample_rate)
    begin = time.perf_counter()
    with interruptible() as cancel:
        try:
            for chunk in engine.speak(request, cancel, probe):
                speech.seconds = time.perf_counter() - begin
                if speech.first_audio is None and len(chunk.samples):
                    speech.first_audio = speech.seconds
                take = takes[chunk.take]
                take.frames += len(chunk.codes)
                take.ending = chunk.ending
                if keep:
                    take.samples.append(chunk.samples)
                    take.codes.append(chunk.codes)
                if hear is not None:
                    hear(chunk)
                _show(speech, console)
        except Cancelled:
            speech.stopped = True
    speech.seconds = time.perf_counter() - begin
    return speech


def _show(speech: Speech, console: Console) -> None:
    rate = speech.frames / speech.seconds if speech.seconds else 0.0
    console.progress(
        f"Speaking: {speech.frames} frames, {speech.audio_seconds:.1f} s of audio, "
        f"{rate:.1f} frames/s"
    )
