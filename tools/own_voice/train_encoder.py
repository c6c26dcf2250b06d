"""Third stage of the codec: the file's waveform encoder learns to give the same codes.

    python -m tools.own_voice.train_encoder WORK_DIR --minutes 60

Its blocks begin as those of the mel encoder; its convolutions are taught to find what that one's
do, and the whole the rows that go to the codebooks. Starts from `codes.pt`; writes `encoder.pt`
every 200 steps and goes on from it.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from tools.own_voice.codec import Quantizer, SmallCodec
from tools.own_voice.train_codes import (
    EVERY,
    HELD_OUT,
    CodeLearner,
    TrainingFolders,
    held_batches,
)
from tools.own_voice.train_waveform import load_codes
from tools.own_voice.training import Run, read_arguments

LANES = 16
RATE = 1.5e-3
CHOICE = 0.1  # weight of the choice of codes


def both_rows(codec: SmallCodec, latent: Tensor) -> tuple[Tensor, Tensor]:
    """What goes to the codebooks, normalised: [B, T, code width] each."""
    return codec.semantic.rows(latent), codec.acoustic.rows(latent)


def begin_alike(learner: CodeLearner) -> None:
    """Give the waveform encoder what it has in common with the mel encoder."""
    encoder, model = learner.codec.tok_enc, learner.mel_encoder
    encoder.blk.load_state_dict(model.blocks.state_dict())
    encoder.downsample.load_state_dict(model.frames.state_dict())


def choices(quantizer: Quantizer, found: Tensor, codes: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Logits [n, size] and right code [n] per book: how near the entries are to what is left."""
    rest = found.flatten(0, 1)
    for index, book in enumerate(quantizer.chain):
        right = codes[..., index].flatten()
        yield rest @ book.codebook.T - book.codebook.square().sum(-1) / 2, right
        rest = rest - book.codebook[right]


def apart(learner: CodeLearner, samples: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """How far from the mel encoder: of features and of rows the mean squared distances, the cross
    entropy of its codes, and the share of first codes that are equal.
    """
    codec = learner.codec
    with torch.no_grad():
        right = learner.mel_encoder.features(samples).float()
        wanted = both_rows(codec, learner.mel_encoder(samples))
    with torch.autocast("cpu", torch.bfloat16):
        features = codec.tok_enc.features(samples)
        latent = codec.tok_enc.mixed(features)
    rows = both_rows(codec, latent.float())
    chosen = [
        pair
        for part, found, true in zip((codec.semantic, codec.acoustic), rows, wanted, strict=True)
        for pair in choices(part, found, part.codes(true))
    ]
    logits, first = chosen[0]
    return (
        (features.float() - right).square().mean() / right.square().mean(),
        F.mse_loss(torch.cat(rows, dim=-1), torch.cat(wanted, dim=-1)),
        torch.stack([F.cross_entropy(*pair) for pair in chosen]).mean(),
        (logits.argmax(-1) == first).float().mean(),
    )


def main() -> None:
    given = read_arguments(__doc__, seed=6).parse_args()
    crops = TrainingFolders(given.work).first_crops()
    tests = [samples for name in HELD_OUT for samples, _ in held_batches(given.work / name, LANES)]
    learner = load_codes(given.work)
    encoder = learner.codec.tok_enc
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=RATE, betas=(0.9, 0.98))
    run, total = Run(given.work / "encoder.pt", given.minutes, optimizer), 0.0
    if run.kept is not None:
        encoder.load_state_dict(run.kept["encoder"])
    else:
        begin_alike(learner)
    for _ in run:
        features, loss, choice, _ = apart(learner, crops.batch(LANES)[0])
        run.learn(features + loss + CHOICE * choice)
        total += loss.item() / EVERY
        if run.step % EVERY == 0:
            with torch.no_grad():
                found = [apart(learner, test) for test in tests]
            features, distance, choice, same = (
                torch.stack(one).mean() for one in zip(*found, strict=True)
            )
            print(
                f"step {run.step} ({run.seconds:.0f} s): {total:.4f}, held out {distance:.4f} "
                f"(features {features:.4f}, codes {choice:.3f}), "
                f"{100 * same:.1f} % of the first codes equal",
                flush=True,
            )
            total = 0.0
            run.save(encoder=encoder.state_dict())


if __name__ == "__main__":
    main()
