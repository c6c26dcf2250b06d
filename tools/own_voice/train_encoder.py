"""Second stage of the codec: the file's waveform encoder learns to give the same codes.

    python -m tools.own_voice.train_encoder WORK_DIR --minutes 60

Its blocks begin as those of the mel encoder; its convolutions are taught to find what that one's
do, and the whole the rows that go to the codebooks, their codes, and what the decoder makes of
them. Starts from `codes.pt`; writes `encoder.pt` every 200 steps and goes on from it.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from tools.own_voice.codec import Quantizer, SmallCodec
from tools.own_voice.dims import FIRST_BOOKS
from tools.own_voice.train_codes import (
    EVERY,
    HELD_OUT,
    CodeLearner,
    TrainingFolders,
    held_batches,
    load_codes,
)
from tools.own_voice.training import Run, read_arguments

LANES = 16
RATE = 1.5e-3
WEIGHTS = {"features": 1.0, "rows": 1.0, "codes": 0.1, "decoded": 0.3}


def both_rows(codec: SmallCodec, latent: Tensor) -> tuple[Tensor, Tensor]:
    """What goes to the codebooks, normalised: [B, T, code width] each."""
    return codec.semantic.rows(latent), codec.acoustic.rows(latent)


def begin_alike(learner: CodeLearner) -> None:
    """Give the waveform encoder what it has in common with the mel encoder."""
    encoder, model = learner.codec.tok_enc, learner.mel_encoder
    encoder.blk.load_state_dict(model.blocks.state_dict())
    encoder.downsample.load_state_dict(model.frames.state_dict())


def choices(quantizer: Quantizer, found: Tensor, codes: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Logits [n, size] and right code [n] per book that `codes` tells: how near the entries are."""
    rest = found.flatten(0, 1)
    for index, book in enumerate(quantizer.chain[: codes.shape[-1]]):
        right = codes[..., index].flatten()
        yield rest @ book.codebook.T - book.codebook.square().sum(-1) / 2, right
        rest = rest - book.codebook[right]


def losses(learner: CodeLearner, samples: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """How far from the mel encoder on crops [B, n] with phonemes [B, T * LABELS].

    Mean squared distances of features and of rows, the cross entropy of the codes, and the error
    of what the decoder makes of them; and the share of first codes that are equal, no loss.
    """
    codec = learner.codec
    with torch.no_grad():
        right = learner.mel_encoder.features(samples).float()
        wanted = both_rows(codec, learner.mel_encoder(samples))
    with torch.autocast("cpu", torch.bfloat16):
        features = codec.tok_enc.features(samples)
        latent = codec.tok_enc.mixed(features).float()
    rows = both_rows(codec, latent)
    chosen = [
        pair
        for part, found, true in zip((codec.semantic, codec.acoustic), rows, wanted, strict=True)
        for pair in choices(part, found, part.codes(true))
    ]
    logits, first = chosen[0]
    books = torch.full((len(samples),), FIRST_BOOKS)
    decoded = learner.losses(samples, labels, books, quantized=True, latent=latent)
    return {
        "features": (features.float() - right).square().mean() / right.square().mean(),
        "rows": F.mse_loss(torch.cat(rows, dim=-1), torch.cat(wanted, dim=-1)),
        "codes": torch.stack([F.cross_entropy(*pair) for pair in chosen]).mean(),
        "decoded": decoded["mel"] + 0.5 * decoded["fine"] + 0.2 * decoded["phonemes"],
        "equal": (logits.argmax(-1) == first).float().mean(),
    }


def main() -> None:
    given = read_arguments(__doc__, seed=6).parse_args()
    crops = TrainingFolders(given.work).first_crops()
    tests = [batch for name in HELD_OUT for batch in held_batches(given.work / name, LANES)]
    learner = load_codes(given.work)
    encoder = learner.codec.tok_enc
    learner.requires_grad_(False)
    encoder.requires_grad_(True)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=RATE, betas=(0.9, 0.98))
    run, total = Run(given.work / "encoder.pt", given.minutes, optimizer), 0.0
    if run.kept is not None:
        encoder.load_state_dict(run.kept["encoder"])
    else:
        begin_alike(learner)
    for _ in run:
        found = losses(learner, *crops.batch(LANES))
        loss = torch.stack([weight * found[name] for name, weight in WEIGHTS.items()]).sum()
        run.learn(loss)
        total += loss.item() / EVERY
        if run.step % EVERY == 0:
            with torch.no_grad():
                held = [losses(learner, *test) for test in tests]
            means = {name: torch.stack([one[name] for one in held]).mean() for name in held[0]}
            words = ", ".join(f"{name} {value:.3f}" for name, value in means.items())
            print(
                f"step {run.step} ({run.seconds:.0f} s): {total:.4f}, held out {words}", flush=True
            )
            total = 0.0
            run.save(encoder=encoder.state_dict())


if __name__ == "__main__":
    main()
