"""Last stage of the codec: sound out of the codes, which stay as they are.

    python -m tools.own_voice.train_waveform WORK_DIR --minutes 60

Trains the decoder's waveform half, and its front half a little further, on spectra of several
resolutions, from codes of the file's own encoder. Starts from `details.pt`; writes `waveform.pt`
every 200 steps and goes on from it.
"""

from __future__ import annotations

import random

import torch
from torch import Tensor, nn

from tools.own_voice.codec import SmallCodec
from tools.own_voice.dims import BOOKS, SPOKEN_BOOKS
from tools.own_voice.spectra import FLOOR, LogMel, magnitudes
from tools.own_voice.speech_data import FRAME
from tools.own_voice.train_codes import (
    EVERY,
    FRAMES,
    HELD_OUT,
    TrainingFolders,
    held_batches,
)
from tools.own_voice.training import Run, read_arguments

LANES = 16
HEARD = 7  # frames of every crop that become sound
SKIPPED = 1  # the first of them: its convolutions saw zeros
RESOLUTIONS = ((2048, 480), (1024, 240), (512, 120), (256, 60), (128, 30))
RATE, FRONT_RATE = 1.5e-3, 8e-4
LATENTS = 4  # per frame
DECODED = (SPOKEN_BOOKS, BOOKS)  # books, in turns


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


def encode(codec: SmallCodec, samples: Tensor) -> Tensor:
    """Codes [B, T, BOOKS] of samples [B, n]."""
    assert not codec.training, "its normalisation would move"
    with torch.no_grad():
        with torch.autocast("cpu", torch.bfloat16):
            latent = codec.tok_enc(samples)
        return codec.codes(latent.float())


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


def trained(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """What this stage trains of a codec's state."""
    return {k: v for k, v in state.items() if k.startswith("tok_dec.") or ".output_proj." in k}


def main() -> None:
    given = read_arguments(__doc__, seed=1).parse_args()
    crops = TrainingFolders(given.work).first_crops()
    codec, loss_of, draw = SmallCodec().eval(), SpectralLoss(), random.Random()
    known = torch.load(given.work / "details.pt")["codec"]
    codec.load_state_dict(known)
    decoder = codec.tok_dec
    front = [decoder.pre_conv, decoder.pre_tfm, decoder.upsample]
    front += [codec.semantic.output_proj, codec.acoustic.output_proj]
    groups = [
        {"params": list(decoder.dec.parameters()), "lr": RATE},
        {"params": [weight for part in front for weight in part.parameters()], "lr": FRONT_RATE},
    ]
    optimizer = torch.optim.AdamW(groups, betas=(0.8, 0.98), weight_decay=0.01)
    run, total = Run(given.work / "waveform.pt", given.minutes, optimizer), 0.0
    if run.kept is not None:
        codec.load_state_dict(known | trained(run.kept["codec"]))
    tests = [samples for name in HELD_OUT for samples, _ in held_batches(given.work / name, LANES)]
    test_codes = [encode(codec, samples) for samples in tests]
    for _ in run:
        samples, _ = crops.batch(LANES)
        first, books = draw.randint(0, FRAMES - HEARD), draw.choice(DECODED)
        loss = loss_of(*excerpt(codec, encode(codec, samples), samples, first, books))
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
                    for books in DECODED
                ]
            print(
                f"step {run.step} ({run.seconds:.0f} s): {total:.3f}, held out {losses[0]:.3f} "
                f"with {SPOKEN_BOOKS} books, {losses[1]:.3f} with {BOOKS}",
                flush=True,
            )
            total = 0.0
            run.save(codec=codec.state_dict())


if __name__ == "__main__":
    main()
