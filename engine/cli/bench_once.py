"""Measures one way of speaking in a process of its own: a wish in JSON in, figures in JSON out.

The benchmark starts this once per run, so that memory and threads are those of this run alone. A
peer is measured by a program that takes the same wish and gives the same figures.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.bench_growth import Piece, growth
from engine.cli.report import peak_memory
from engine.families import ModelPair, open_engine
from engine.types import Family, Sampling, SpeechRequest, Voice
from engine.voices import read_embedding

if TYPE_CHECKING:
    from engine.qwen3tts.engine import Qwen3TtsEngine
    from engine.qwen3tts.stage_clock import StageClock

SEED = 1


def measure(wish: dict[str, Any]) -> dict[str, Any]:
    """Load and speak as the wish says; the keys are told in docs/commands.md."""
    begin = time.perf_counter()
    engine = open_engine(
        ModelPair(Path(wish["model"]), Path(wish["codec"])), precision=wish["precision"]
    )
    loaded = time.perf_counter() - begin

    # Not before: it imports torch, which `open_engine` has something to say about first.
    from engine.qwen3tts.engine import Qwen3TtsEngine

    assert isinstance(engine, Qwen3TtsEngine), "stages are known of this family only"
    clock = engine.clock_stages()
    frames = int(wish["frames"])
    sampling = replace(engine.default_sampling, min_frames=frames, max_frames=frames)
    request = _request(wish, engine, sampling)
    if wish["warm"]:
        short = replace(sampling, min_frames=2, max_frames=2)
        for _ in engine.speak(replace(request, sampling=short)):
            pass
        clock.reset()
    begin = time.perf_counter()
    pieces = list(_pieces(engine, request, clock))
    seconds = time.perf_counter() - begin
    stages = dict(sorted(clock.seconds.items()))
    prefill = stages.pop("prefill")
    frame_seconds = engine.frame_samples / engine.sample_rate
    return {
        "precision": _precision(engine),
        "load_seconds": loaded,
        "prefill_seconds": prefill,
        "first_audio_seconds": pieces[0].seconds,
        "seconds": seconds,
        "audio_seconds": frame_seconds * sum(piece.frames for piece in pieces),
        "peak_memory_bytes": peak_memory(),
        "stage_seconds_per_frame": {name: spent / frames for name, spent in stages.items()},
        "growth": [asdict(point) for point in growth(pieces, frame_seconds)],
    }


def _pieces(engine: Qwen3TtsEngine, request: SpeechRequest, clock: StageClock) -> Iterator[Piece]:
    """Speak, and tell what each piece of the first take took: all takes make theirs at once."""
    begin = time.perf_counter()
    before = dict(clock.seconds)
    for chunk in engine.speak(request):
        if chunk.take == 0 and len(chunk.samples):
            now, spent = time.perf_counter(), dict(clock.seconds)
            stages = {
                name: value - before.get(name, 0.0)
                for name, value in spent.items()
                if value > before.get(name, 0.0)
            }
            yield Piece(len(chunk.samples) // engine.frame_samples, now - begin, stages)
            begin, before = now, spent


def _precision(engine: Qwen3TtsEngine) -> str:
    """How it runs: int8 is computed natively or by torch."""
    from engine.native.library import find_library

    natively = find_library().library is not None
    return "int8-torch" if engine.precision == "int8" and not natively else engine.precision


def _request(wish: dict[str, Any], engine: Any, sampling: Sampling) -> SpeechRequest:
    description = engine.description
    voice = speaker = instruct = None
    if wish["voice"] and description.family is Family.BASE:
        voice = Voice(embedding=read_embedding(Path(wish["voice"]), description.width))
    if description.family is Family.CUSTOM_VOICE:
        speaker = description.speakers[0]
    if description.family is Family.VOICE_DESIGN:
        instruct = "A calm, low male voice."
    return SpeechRequest(
        text=wish["text"],
        language=wish["language"],
        voice=voice,
        speaker=speaker,
        instruct=instruct,
        sampling=sampling,
        seeds=tuple(range(SEED, SEED + int(wish["takes"]))),
    )


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(json.loads(sys.argv[1]))) + "\n")
