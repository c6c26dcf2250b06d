"""Let the Kokoro voices read the sentences; the audio goes to shards that later stages read.

    python -m tools.own_voice.teacher WORK_DIR --part 0 --of 2

Needs `kokoro.onnx` and `voices/*.bin` in the work folder (see README.md). Shard k holds sentences
64k to 64k + 63 of `train.txt`; a process makes the shards whose number leaves remainder `part`,
skips what is there and can be stopped at any time.

A shard (`audio/NNNNN.npz`) holds, for its sentences one after the other: `samples` int16 at
24 kHz, cut to the speech with a margin; `lengths` of the clips; `text`; `voice`; `phonemes`
(IPA of espeak-ng, a string per sentence) and `ends`, float32: where each phoneme symbol ends, in
seconds from the start of the clip.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx  # type: ignore[import-not-found]
import onnxruntime
from kokoro_onnx.tokenizer import Tokenizer  # type: ignore[import-not-found]
from numpy.typing import NDArray

from tools.own_voice.teacher_voices import UNHEARD_VOICES, Blend, blend_for, voice_for

RATE = 24_000
SHARD = 64
DURATIONS = "/encoder/Clip_output_0"  # frames of 600 samples for every symbol, padding included
SYMBOL_SAMPLES = 600
MARGIN = 0.06  # seconds kept before and after the speech
QUIET = 0.004  # of full scale


@dataclass(frozen=True)
class Reading:
    """One sentence read: samples int16 [n], the phonemes and where each ends in seconds."""

    samples: NDArray[np.int16]
    phonemes: str
    ends: NDArray[np.float32]


class Teacher:
    """Kokoro-82M on one core, with the durations of its phonemes brought out."""

    def __init__(self, work: Path) -> None:
        model = onnx.load(str(work / "kokoro.onnx"))
        model.graph.output.append(onnx.helper.make_empty_tensor_value_info(DURATIONS))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer()
        self._styles = work / "voices"
        self._loaded: dict[str, NDArray[np.float32]] = {}

    def read(self, text: str, voice: str, speed: float = 1.0) -> Reading:
        """Read `text`, speech only: silence around it is cut away."""
        language = "en-gb" if voice.startswith("b") else "en-us"
        phonemes = self._tokenizer.phonemize(text, language)
        symbols = self._tokenizer.tokenize(phonemes)
        audio, durations = self._session.run(
            ["audio", DURATIONS],
            {
                "tokens": np.array([[0, *symbols, 0]], np.int64),
                "style": self._style(voice)[len(symbols)],
                "speed": np.array([speed], np.float32),
            },
        )
        audio = audio.reshape(-1)
        ends = np.cumsum(durations.reshape(-1)) * SYMBOL_SAMPLES / RATE
        loud = np.flatnonzero(np.abs(audio) > QUIET)
        first = max(0, int(loud[0] - MARGIN * RATE)) if len(loud) else 0
        last = min(len(audio), int(loud[-1] + MARGIN * RATE)) if len(loud) else len(audio)
        kept = "".join(symbol for symbol in phonemes if self._tokenizer.tokenize(symbol))
        assert len(kept) == len(symbols)
        return Reading(
            (np.clip(audio[first:last], -1, 1) * 32767).astype(np.int16),
            kept,
            (ends[1:-1] - first / RATE).clip(min=0).astype(np.float32),
        )

    def _style(self, voice: str) -> NDArray[np.float32]:
        if "+" in voice:
            blend = Blend.parse(voice)
            first, second = self._style(blend.first), self._style(blend.second)
            between: NDArray[np.float32] = first + np.float32(blend.share) * (second - first)
            return between
        if voice not in self._loaded:
            file = self._styles / f"{voice}.bin"
            self._loaded[voice] = np.fromfile(file, np.float32).reshape(510, 1, 256)
        return self._loaded[voice]


def write_shard(file: Path, texts: list[str], voices: list[str], readings: list[Reading]) -> None:
    """Write a shard at once: a stopped process leaves none half written."""
    partial = file.with_suffix(".partial.npz")
    np.savez(
        partial,
        samples=np.concatenate([reading.samples for reading in readings]),
        lengths=np.array([len(reading.samples) for reading in readings]),
        text=np.array(texts),
        voice=np.array(voices),
        phonemes=np.array([reading.phonemes for reading in readings]),
        ends=np.concatenate([reading.ends for reading in readings]),
    )
    os.replace(partial, file)


def main() -> None:
    """Make the shards of this part until the sentences end or `--hours` are reached."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--of", type=int, default=1)
    parser.add_argument("--list", default="train", help="train, unseen or everyday")
    voices_of = parser.add_mutually_exclusive_group()
    voices_of.add_argument(
        "--unheard", action="store_true", help="with the voices that nothing is trained on"
    )
    voices_of.add_argument("--blended", action="store_true", help="with voices between two")
    parser.add_argument("--first", type=int, default=0, help="shard of 64 sentences")
    given = parser.parse_args()
    os.nice(19)
    texts = (given.work / f"{given.list}.txt").read_text().splitlines()
    of_list = "" if given.list == "train" else f"-{given.list}"
    kind = "-unheard" * given.unheard + "-blended" * given.blended
    folder = given.work / f"audio{kind}{of_list}"
    folder.mkdir(exist_ok=True)
    teacher, seconds, started = Teacher(given.work), 0.0, time.monotonic()
    for number in range(given.first + given.part, -(-len(texts) // SHARD), given.of):
        file = folder / f"{number:05d}.npz"
        if file.exists():
            continue
        lines = texts[number * SHARD : (number + 1) * SHARD]
        sentences = range(number * SHARD, number * SHARD + len(lines))
        if given.unheard:
            voices = [UNHEARD_VOICES[at % len(UNHEARD_VOICES)] for at in sentences]
        elif given.blended:
            voices = [str(blend_for(at)) for at in sentences]
        else:
            voices = [voice_for(at) for at in sentences]
        readings = [teacher.read(text, voice) for text, voice in zip(lines, voices, strict=True)]
        write_shard(file, lines, voices, readings)
        seconds += sum(len(reading.samples) for reading in readings) / RATE
        took = time.monotonic() - started
        print(
            f"shard {number}: {seconds / 3600:.2f} h of speech in {took / 3600:.2f} h", flush=True
        )


if __name__ == "__main__":
    main()
