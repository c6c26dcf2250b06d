"""Third stage of the codec: the file's waveform encoder learns to give the same codes.

    python -m tools.own_voice.train_encoder WORK_DIR --minutes 60

Its blocks begin as those of the mel encoder; its convolutions are taught to find what that one's
do, and the whole the rows that go to the codebooks. Starts from `codes.pt`; writes `encoder.pt`
every 200 steps and goes on from it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tools.own_voice.codec import SmallCodec
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


def both_rows(codec: SmallCodec, latent: Tensor) -> Tensor:
    """What goes to the codebooks, normalised: [B, T, 2 * code width]."""
    return torch.cat([part.rows(latent) for part in (codec.semantic, codec.acoustic)], dim=-1)


def begin_alike(learner: CodeLearner) -> None:
    """Give the waveform encoder what it has in common with the mel encoder."""
    encoder, model = learner.codec.tok_enc, learner.mel_encoder
    encoder.blk.load_state_dict(model.blocks.state_dict())
    encoder.downsample.load_state_dict(model.frames.state_dict())


def apart(learner: CodeLearner, samples: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean squared distances of features and of rows, and the share of equal first codes."""
    codec = learner.codec
    with torch.no_grad():
        right = learner.mel_encoder.features(samples).float()
        wanted = both_rows(codec, learner.mel_encoder(samples))
    with torch.autocast("cpu", torch.bfloat16):
        found = codec.tok_enc.features(samples)
        latent = codec.tok_enc.mixed(found)
    features = (found.float() - right).square().mean() / right.square().mean()
    rows = both_rows(codec, latent.float())
    width = rows.shape[-1] // 2
    with torch.no_grad():
        same = codec.semantic.codes(rows[..., :width]) == codec.semantic.codes(wanted[..., :width])
    return features, (rows - wanted).square().mean(), same.float().mean()


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
        features, loss, _ = apart(learner, crops.batch(LANES)[0])
        run.learn(features + loss)
        total += loss.item() / EVERY
        if run.step % EVERY == 0:
            with torch.no_grad():
                found = [apart(learner, test) for test in tests]
            features, distance, same = (
                torch.stack([one[place] for one in found]).mean() for place in range(3)
            )
            print(
                f"step {run.step} ({run.seconds:.0f} s): {total:.4f}, held out {distance:.4f} "
                f"(features {features:.4f}), {100 * same:.1f} % of the first codes equal",
                flush=True,
            )
            total = 0.0
            run.save(encoder=encoder.state_dict())


if __name__ == "__main__":
    main()
