"""Measures the official package as the benchmark asks; for an environment of its own.

The head of tools/make_golden.py tells how to set one up. The package loads folders, not GGUF files:
tools/official_folder.py makes one with the same weights. Then

    ./studio bench --model ... --codec ... --voice me.spk \
        --peer "official=oracle/bin/python tools/peers/official.py FOLDER"

runs it in float32 on the CPU through its public calls. It ends by itself when the model does.
"""

import json
import resource
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).parents[2]
SAMPLES_PER_FRAME = 1920


class Clock:
    """Adds up the time of calls by the name of their stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def watch(self, stage: str, owner: Any, method: str) -> None:
        """Count every call of a method; one of the talker with several rows is the prefill."""
        plain = getattr(owner, method)

        def timed(*arguments: Any, **options: Any) -> Any:
            rows = options["inputs_embeds"].shape[1] if stage == "talker" else 1
            begin = time.perf_counter()
            result = plain(*arguments, **options)
            self.seconds["prefill" if rows > 1 else stage] += time.perf_counter() - begin
            return result

        setattr(owner, method, timed)


def speak(wrapper: Any, wish: dict[str, Any], voice: Any, frames: int) -> Any:
    """Speak, with whatever the model's family needs; returns the samples [n]."""
    arguments = {
        "text": wish["text"],
        "language": wish["language"],
        "max_new_tokens": frames + 1,  # the last one is not emitted
    }
    family = wrapper.model.tts_model_type
    if family == "base":
        if voice is None:
            sys.exit("A base model speaks with a voice only: add --voice.")
        sounds, _ = wrapper.generate_voice_clone(**arguments, voice_clone_prompt=[voice])
    elif family == "custom_voice":
        speaker = next(iter(wrapper.model.config.talker_config.spk_id))
        sounds, _ = wrapper.generate_custom_voice(**arguments, speaker=speaker)
    else:
        instruct = "A calm, low male voice."
        sounds, _ = wrapper.generate_voice_design(**arguments, instruct=instruct)
    return sounds[0]


def measure(folder: str, wish: dict[str, Any]) -> dict[str, Any]:
    """The figures of the wish, as engine/cli/bench_once.py gives them."""
    sys.path.insert(0, str(ROOT))  # `tools` is not installed, and this file is run by its path
    from tools.golden.official import import_official

    package, _, transformers = import_official()
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(wish["threads"])
    torch.manual_seed(1)
    begin = time.perf_counter()
    wrapper = package.Qwen3TTSModel.from_pretrained(folder, dtype=torch.float32)
    loaded = time.perf_counter() - begin
    voice = None
    if wish["voice"]:
        embedding = torch.from_numpy(np.fromfile(wish["voice"], "<f4"))
        voice = package.VoiceClonePromptItem(None, embedding, True, False)
    if wish["warm"]:
        speak(wrapper, wish, voice, 2)
    clock = Clock()
    clock.watch("talker", wrapper.model.talker.model, "forward")
    clock.watch("predictor", wrapper.model.talker.code_predictor, "generate")
    clock.watch("codec", wrapper.model.speech_tokenizer, "decode")
    begin = time.perf_counter()
    samples = speak(wrapper, wish, voice, wish["frames"])
    seconds = time.perf_counter() - begin
    prefill = clock.seconds.pop("prefill")
    made = len(samples) / SAMPLES_PER_FRAME
    return {
        "precision": "f32",
        "load_seconds": loaded,
        "prefill_seconds": prefill,
        "first_audio_seconds": seconds,  # it gives all sound at once
        "seconds": seconds,
        "audio_seconds": len(samples) / 24000,
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "stage_seconds_per_frame": {
            stage: spent / made for stage, spent in sorted(clock.seconds.items())
        },
    }


if __name__ == "__main__":
    figures = measure(sys.argv[1], json.loads(sys.argv[2]))
    sys.stdout.write(json.dumps(figures) + "\n")
