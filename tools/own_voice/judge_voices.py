"""Let a stranger compare clones with the voices they were made of.

    python -m tools.own_voice.judge_voices REPORT

`REPORT` is the folder that `evaluate` has written: `originals/VOICE.wav`, and the clones in
`cloned/VOICE/*.wav`. The stranger is the speaker encoder of the package `resemblyzer`, trained on
thousands of people, which has nothing to do with ours.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray
from resemblyzer import VoiceEncoder, preprocess_wav  # type: ignore[import-not-found]

from engine.types import Samples
from tools.own_voice.clones import nearness


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("report", type=Path)
    report: Path = parser.parse_args().report
    encoder = VoiceEncoder("cpu", verbose=False)
    rates = set()

    def read(file: Path) -> Samples:
        samples, rate = soundfile.read(file, dtype="float32")
        rates.add(rate)
        return np.asarray(samples, np.float32)

    def embed(samples: Samples) -> NDArray[np.float32]:
        (rate,) = rates
        vector: NDArray[np.float32] = encoder.embed_utterance(preprocess_wav(samples, rate))
        return vector

    originals = {file.stem: read(file) for file in sorted((report / "originals").glob("*.wav"))}
    clones = {
        voice: [read(file) for file in sorted((report / "cloned" / voice).glob("*.wav"))]
        for voice in originals
    }
    print(nearness(originals, clones, embed))


if __name__ == "__main__":
    main()
