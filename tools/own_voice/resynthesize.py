"""Send the everyday clips through the codec, for the judge.

    python -m tools.own_voice.resynthesize WORK_DIR OUT_DIR --books 2 --clips 40

Writes WAV files and `pairs.txt`; with `--books 0` the teacher's own sound.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import soundfile
import torch

from tools.own_voice.codec import SmallCodec
from tools.own_voice.dims import BOOKS
from tools.own_voice.speech_data import RATE, ShardFolder
from tools.own_voice.train_waveform import encode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--folder", default="audio-everyday")
    parser.add_argument("--books", type=int, default=BOOKS)
    parser.add_argument("--clips", type=int, default=40)
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.out.mkdir(parents=True, exist_ok=True)
    held = ShardFolder(given.work / given.folder)
    held.update()
    codec = SmallCodec().eval()
    codec.load_state_dict(torch.load(given.work / "waveform.pt")["codec"])
    pairs = []
    for number, clip in enumerate(held.clips[: given.clips]):
        samples = torch.from_numpy(clip.padded())[None]
        if given.books:
            with torch.no_grad():
                samples = codec.decode(encode(codec, samples), given.books)
        file = given.out / f"{number:03d}.wav"
        soundfile.write(file, samples[0].numpy(), RATE)
        pairs.append(f"{file}|{clip.text}")
    (given.out / "pairs.txt").write_text("\n".join(pairs) + "\n")


if __name__ == "__main__":
    main()
