"""Second stage of the codec: sound out of the codes, which stay as they are.

    python -m tools.own_voice.train_waveform WORK_DIR --minutes 60

Trains the decoder's waveform half, and its front half a little further, on spectra of several
resolutions. Starts from `codes.pt`; writes `waveform.pt` every 200 steps and goes on from it. Once
there is an `encoder.pt`, every other batch is encoded by the file's own encoder, so that the
decoder learns to make the best of what that one gets wrong.
"""

from __future__ import annotations

import random
from pathlib import Path

import torch
from torch import Tensor, nn

from tools.own_voice.codec import SmallCodec
from tools.own_voice.dims import SPOKEN_BOOKS
from tools.own_voice.spectra import FLOOR, LogMel, magnitudes
from tools.own_voice.speech_data import FRAME
from tools.own_voice.train_codes import (
    EVERY,
    FRAMES,
    HELD_OUT,
    CodeLearner,
    TrainingFolders,
    held_batches,
)
from tools.own_voice.training import Run, read_arguments

LANES = 16
HEARD = 7  # frames of every crop that become sound
SKIPPED = 1  # the first of them: its convolutions saw zeros
RESOLUTIONS = ((2048, 480), (1024, 240), (512, 120), (256, 60), (128, 30))
RATE, FRONT_RATE = 1.5e-3, 2e-4
LATENTS = 4  # per frame
BOOKS = (2, 2, SPOKEN_BOOKS)  # that are decoded, in turns


class SpectralLoss(nn.Module):
    """Distances of magnitudes, linear and logarithmic, at several resolutions, and of mels."""

    def __init__(self) -> None:
        super().__init__()
        self._mels = nn.ModuleList([LogMel(80, 1024, 240), LogMel(40, 256, 120)])

    def forward(self, made: Tensor, true: Tensor) -> Tensor:
        total = sum(
            ((mel(made) - mel(true)).abs().mean() for mel in self._mels), made.new_zeros(())
        )
        for size, hop in RESOLUTIONS:
            x, y = magnitudes(made, size, hop), magnitudes(true, size, hop)
            apart = (x - y).square().sum().sqrt() / (y.square().sum().sqrt() + 1e-3)
            level = size**0.5 * FLOOR / 4
            logs = (torch.log(x + level) - torch.log(y + level)).abs().mean()
            total = total + (0.3 * apart + 0.5 * logs) / 2
        return total


def encode(learner: CodeLearner, samples: Tensor) -> Tensor:
    """Codes [B, T, SPOKEN_BOOKS] of samples [B, n], by the mel encoder."""
    with torch.no_grad():
        return learner.codec.codes(learner.mel_encoder(samples))


def encode_as_files(codec: SmallCodec, samples: Tensor) -> Tensor:
    """The same by the encoder that the file has."""
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        return codec.codes(codec.tok_enc(samples).float())


def excerpt(
    codec: SmallCodec, codes: Tensor, samples: Tensor, first: int, books: int
) -> tuple[Tensor, Tensor]:
    """Sound made for HEARD frames from frame `first` on, and the true one: [B, n] each."""
    with torch.autocast("cpu", torch.bfloat16):
        latent = codec.tok_dec.front(codec.rows(codes, books))
        part = latent[..., LATENTS * first : LATENTS * (first + HEARD)]
        made = codec.tok_dec.waveform(part).float()
    true = samples[:, first * FRAME : (first + HEARD) * FRAME]
    return made[:, SKIPPED * FRAME :], true[:, SKIPPED * FRAME :]


def fingerprint(codec: SmallCodec) -> float:
    """Tells whether the codebooks are the same."""
    return float(codec.semantic.chain[0].codebook.double().sum())


def load_codes(work: Path) -> CodeLearner:
    learner = CodeLearner()
    learner.load_state_dict(torch.load(work / "codes.pt")["learner"])
    return learner.eval()


def main() -> None:
    given = read_arguments(__doc__, seed=1).parse_args()
    crops = TrainingFolders(given.work).first_crops()
    learner, loss_of, draw = load_codes(given.work), SpectralLoss(), random.Random()
    codec = learner.codec
    tests = [samples for name in HELD_OUT for samples, _ in held_batches(given.work / name, LANES)]
    test_codes = [encode(learner, samples) for samples in tests]
    front = [*codec.tok_dec.pre_conv.parameters(), *codec.tok_dec.pre_tfm.parameters()]
    front += [*codec.tok_dec.upsample.parameters()]
    front += [*codec.semantic.output_proj.parameters(), *codec.acoustic.output_proj.parameters()]
    wave = list(codec.tok_dec.dec.parameters())
    groups = [{"params": wave, "lr": RATE}, {"params": front, "lr": FRONT_RATE}]
    optimizer = torch.optim.AdamW(groups, betas=(0.8, 0.98), weight_decay=0.01)
    run, total = Run(given.work / "waveform.pt", given.minutes, optimizer), 0.0
    if run.kept is not None and run.kept["books"] == fingerprint(codec):
        codec.load_state_dict(run.kept["codec"])
    elif run.kept is not None:  # other codes by now: what turns latents into sound still serves
        kept = {k: v for k, v in run.kept["codec"].items() if k.startswith("tok_dec.dec.")}
        codec.load_state_dict(kept, strict=False)
    own = given.work / "encoder.pt"
    if own.exists():
        codec.tok_enc.load_state_dict(torch.load(own)["encoder"])
    for step in run:
        samples, _ = crops.batch(LANES)
        by_file = own.exists() and step % 2
        codes = encode_as_files(codec, samples) if by_file else encode(learner, samples)
        first, books = draw.randint(0, FRAMES - HEARD), draw.choice(BOOKS)
        loss = loss_of(*excerpt(codec, codes, samples, first, books))
        run.learn(loss)
        total += loss.item() / EVERY
        if run.step % EVERY == 0:
            with torch.no_grad():
                losses = [
                    sum(
                        float(loss_of(*excerpt(codec, codes, samples, 8, books)))
                        for codes, samples in zip(test_codes, tests, strict=True)
                    )
                    / len(tests)
                    for books in (2, SPOKEN_BOOKS)
                ]
            print(
                f"step {run.step} ({run.seconds:.0f} s): {total:.3f}, held out {losses[0]:.3f} "
                f"with 2 books, {losses[1]:.3f} with {SPOKEN_BOOKS}",
                flush=True,
            )
            total = 0.0
            run.save(codec=codec.state_dict(), books=fingerprint(codec))


if __name__ == "__main__":
    main()
