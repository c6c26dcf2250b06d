"""Let exported checkpoints read the everyday sentences through the engine, for the judge.

python -m tools.own_voice.read_aloud MODEL_DIR OUT_DIR --speaker clara --sentences 60
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path

import numpy as np
import soundfile

from engine.families import ModelPair, open_engine
from engine.types import Ending, SpeechRequest

EVERYDAY = Path(__file__).parent / "data/everyday.txt"
LONGEST = 150  # frames: nothing of the list takes that long


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--speaker", default="clara")
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    talker = next(given.models.glob("*talker*.gguf"))
    engine = open_engine(ModelPair(talker, next(given.models.glob("*tokenizer*.gguf"))))
    sampling = dataclasses.replace(engine.default_sampling, max_frames=LONGEST)
    pairs, ended, seconds, started = [], 0, 0.0, time.monotonic()
    texts = EVERYDAY.read_text().splitlines()[: given.sentences]
    for number, text in enumerate(texts):
        request = SpeechRequest(
            text, language="english", speaker=given.speaker, sampling=sampling, seeds=(given.seed,)
        )
        chunks = list(engine.speak(request))
        ended += chunks[-1].ending is Ending.SPOKEN
        samples = np.concatenate([chunk.samples for chunk in chunks])
        seconds += len(samples) / engine.sample_rate
        file = given.out / f"{number:03d}.wav"
        soundfile.write(file, samples, engine.sample_rate)
        pairs.append(f"{file}|{text}")
    took = time.monotonic() - started
    (given.out / "pairs.txt").write_text("\n".join(pairs) + "\n")
    print(f"{len(texts)} sentences, {ended} ended by themselves, {seconds:.0f} s of speech")
    print(f"real-time factor {took / seconds:.2f} ({engine.precision})")


if __name__ == "__main__":
    main()
