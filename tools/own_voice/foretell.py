"""What the talker would say where the teacher spoke: for the decoder to learn from.

    python -m tools.own_voice.foretell WORK_DIR --shards 30

The talker reads the true frames of every clip and tells the next; its choices are written into
`told-*/`, so that `train_waveform --told` can teach the decoder to make good sound of them.
"""

from __future__ import annotations

import random
from pathlib import Path

import torch
from torch import Tensor

from tools.own_voice.dims import CODEBOOK, SPOKEN_BOOKS
from tools.own_voice.train_codes import CodeLearner
from tools.own_voice.train_talker import (
    SHARES,
    Sentence,
    TalkerLearner,
    load_talker,
    make_batch,
    read_coded,
    shuffled_shards,
)
from tools.own_voice.train_waveform import fingerprint, load_codes
from tools.own_voice.training import read_arguments

LANES = 16


def told_file(work: Path, codes: CodeLearner, folder: str, shard: Path) -> Path:
    """Where the choices for a shard are."""
    return work / f"told-{fingerprint(codes.codec):.3f}" / folder / f"{shard.stem}.pt"


@torch.no_grad()
def foretell(learner: TalkerLearner, sentences: list[Sentence], books: int) -> list[Tensor]:
    """The likeliest codes [T, SPOKEN_BOOKS] of every frame after the true frames before it."""
    batch = make_batch(sentences, books, random.Random(0))
    talker, predictor = learner.speaker.talker, learner.speaker.code_pred
    with torch.autocast("cpu", torch.bfloat16):
        hidden, _ = learner.think(batch)
        spoken = hidden[batch.lane, batch.row]
        codes = torch.zeros(len(spoken), SPOKEN_BOOKS, dtype=torch.long)
        codes[:, 0] = talker.codec_head(spoken)[:, :CODEBOOK].argmax(-1)
        first = talker.codec_embd(codes[:, 0])
        for book in range(1, books):
            logits = predictor.logits(spoken, first, codes, book + 1)
            codes[:, book] = logits[:, -1].argmax(-1)
    return list(torch.split(codes, [len(sentence.codes) for sentence in sentences]))


def main() -> None:
    parser = read_arguments(__doc__, seed=3)
    parser.add_argument("--shards", type=int, default=30, help="in all, by the voices' shares")
    given = parser.parse_args()
    codes = load_codes(given.work)
    learner, books = load_talker(given.work)
    for folder, pattern, share in SHARES:
        files = shuffled_shards(given.work / folder, pattern)
        files = files[: max(1, round(share * given.shards))]
        for shard in files:
            kept = told_file(given.work, codes, folder, shard)
            if kept.exists():
                continue
            sentences = read_coded(given.work, folder, shard, codes)
            order = sorted(range(len(sentences)), key=lambda at: len(sentences[at].codes))
            told: dict[int, Tensor] = {}
            for first in range(0, len(order), LANES):
                part = order[first : first + LANES]
                found = foretell(learner, [sentences[at] for at in part], books)
                told.update(zip(part, found, strict=True))
            kept.parent.mkdir(exist_ok=True, parents=True)
            codes_told = [told[at].to(torch.int16) for at in range(len(sentences))]
            torch.save({"books": books, "codes": codes_told}, kept)
        print(f"{folder}/{pattern}: {len(files)} shards", flush=True)


if __name__ == "__main__":
    main()
