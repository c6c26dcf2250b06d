"""Measures one way of speaking in a process of its own: a wish in JSON in, figures in JSON out.

The benchmark starts this once per run, so that memory and threads are those of this run alone. A
peer is measured by a program that takes the same wish and gives the same figures.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.cli.report import peak_memory
from engine.families import ModelPair, open_engine
from engine.types import Family, Sampling, SpeechRequest, Voice
from engine.voices import read_embedding

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
    first = 0.0
    samples = 0
    begin = time.perf_counter()
    for chunk in engine.speak(request):
        if not first and len(chunk.samples):
            first = time.perf_counter() - begin
        samples += len(chunk.samples) if chunk.take == 0 else 0
    seconds = time.perf_counter() - begin
    made = frames * int(wish["takes"])
    return {
        "precision": engine.precision,
        "load_seconds": loaded,
        "first_audio_seconds": first,
        "seconds": seconds,
        "audio_seconds": samples / engine.sample_rate,
        "peak_memory_bytes": peak_memory(),
        "stage_seconds_per_frame": {
            name: spent / made for name, spent in sorted(clock.seconds.items())
        },
    }


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
