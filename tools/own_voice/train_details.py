"""Third stage of the codec: what recordings have beyond the codes of the first stages.

    python -m tools.own_voice.train_details WORK_DIR --minutes 60

The codes that a talker speaks vary in few directions of a codebook entry. The file's encoder learns
to put details into the others, as the decoder needs them to come nearer to the spectra, and all
codebooks but the spoken ones are learnt anew for them. The choice among the spoken codes stays what
it is: their rows are still taught by the mel encoder. Starts from `codes.pt` and `encoder.pt`;
writes `details.pt` every 200 steps and goes on from it.
"""

from __future__ import annotations

import time
from collections import defaultdict

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tools.own_voice.codec import SmallCodec
from tools.own_voice.dims import BOOKS, CODE_WIDTH, CODEC, SPOKEN_BOOKS
from tools.own_voice.spectra import LogMel
from tools.own_voice.train_codes import (
    EVERY,
    HELD_OUT,
    CodeLearner,
    Crops,
    TrainingFolders,
    held_batches,
    load_codes,
)
from tools.own_voice.train_encoder import both_rows, choices
from tools.own_voice.training import Run, read_arguments

LANES = 16
RATE, ENCODER_RATE = 8e-4, 6e-4
KEPT = 16  # directions of an entry in which spoken codes vary
UNQUANTIZED_STEPS = 250
FIRST_SIZE = 0.3  # of details, before they are learnt
BOOKS_USED = ((SPOKEN_BOOKS, 0.25), (8, 0.25), (BOOKS, 0.5))
WEIGHTS = {"mel": 1.0, "fine": 0.5, "rows": 1.0, "codes": 0.1, "commitment": 0.1}


class DetailLearner(nn.Module):
    """The codec with all its codebooks, and the learner of the first stages to be taught by."""

    kept: Tensor
    free: Tensor

    def __init__(self, teacher: CodeLearner) -> None:
        super().__init__()
        self.teacher = teacher.requires_grad_(False)
        self.codec, self.mel_head = SmallCodec(), teacher.mel_head.requires_grad_(True)
        self.details = nn.Conv1d(CODEC.encoder.transformer.width, CODE_WIDTH - KEPT, 1, bias=False)
        self.register_buffer("kept", torch.zeros(CODE_WIDTH, KEPT))
        self.register_buffer("free", torch.zeros(CODE_WIDTH, CODE_WIDTH - KEPT))
        self._coarse, self._fine = LogMel(80, 1024, 240), LogMel(40, 256, 120)

    def start(self, crops: Crops) -> None:
        """Begin with the first stages' codec; find out in which directions its rows vary."""
        old = self.teacher.codec
        self.codec.load_state_dict(old.state_dict(), strict=False)
        acoustic = self.codec.acoustic
        with torch.no_grad():
            latents = [self.teacher.mel_encoder(crops.batch(LANES)[0]) for _ in range(20)]
            rows = torch.cat([old.acoustic.rows(latent).flatten(0, 1) for latent in latents])
            _, directions = torch.linalg.eigh(rows.T @ rows)
            self.free.copy_(directions[:, :-KEPT])
            self.kept.copy_(directions[:, -KEPT:])
            within = self.kept @ self.kept.T
            acoustic.mean.copy_(within @ acoustic.mean)
            weight = acoustic.input_proj.weight
            weight.copy_((within @ weight[..., 0])[..., None])
            for book in acoustic.chain[: SPOKEN_BOOKS - 1]:
                book.codebook.copy_(book.codebook @ within)
            sizes = torch.cat([self.details(latent).flatten() for latent in latents])
            self.details.weight.mul_(FIRST_SIZE / sizes.std())

    def rows(self, latent: Tensor) -> tuple[Tensor, Tensor]:
        """What goes to the codebooks: the first stages' rows, and those with details."""
        first, rest = both_rows(self.codec, latent)
        return first, rest + self.details(latent).transpose(1, 2) @ self.free.T

    def latent(self, samples: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            found: Tensor = self.codec.tok_enc(samples).float()
        return found

    def losses(
        self, samples: Tensor, used: Tensor, *, quantized: bool, learning: bool = False
    ) -> dict[str, Tensor]:
        """Of crops [B, n], of which lanes decode `used` [B] books; `equal` codes are no loss.

        Codebooks are averages of what they stand for, and change while `learning`.
        """
        codec, teacher = self.codec, self.teacher
        with torch.no_grad():
            coarse, fine = self._coarse(samples), self._fine(samples)
            wanted = both_rows(teacher.codec, teacher.mel_encoder(samples))
        first, rest = self.rows(self.latent(samples))
        spoken = [*choices(codec.semantic, first, teacher.codec.semantic.codes(wanted[0]))]
        right = teacher.codec.acoustic.codes(wanted[1])[..., : SPOKEN_BOOKS - 1]
        spoken += choices(codec.acoustic, rest, right)
        apart = torch.cat((first - wanted[0], (rest - wanted[1]) @ self.kept), dim=-1)
        first_codes = codec.semantic.codes(first)
        nearest = codec.semantic.entries(first_codes)
        first_entry = first + (nearest - first).detach()
        rest_entry, commitment = rest, rest.new_zeros(())
        if quantized:
            codes = codec.acoustic.codes(rest)
            nearest = codec.acoustic.entries(codes, used - 1)
            whole = (used == BOOKS)[:, None, None]
            commitment = ((rest - nearest).square() * whole).mean()
            heard = (used > SPOKEN_BOOKS)[:, None, None]
            rest_entry = nearest + (rest - rest.detach()) * heard
            if learning:
                self._learn_books(rest.detach(), codes)
        with torch.autocast("cpu", torch.bfloat16):
            latent = codec.semantic.latent(first_entry) + codec.acoustic.latent(rest_entry)
            made_coarse, made_fine = self.mel_head(codec.tok_dec.front(latent))
        return {
            "mel": (made_coarse.float() - coarse).abs().mean(),
            "fine": (made_fine.float() - fine).abs().mean(),
            "rows": apart.square().mean(),
            "codes": torch.stack([F.cross_entropy(*pair) for pair in spoken]).mean(),
            "commitment": commitment,
            "equal": torch.stack([(a.argmax(-1) == b).float().mean() for a, b in spoken]).mean(),
        }

    def _learn_books(self, rest: Tensor, codes: Tensor) -> None:
        """All but the spoken ones; their first entry stays zero: a talker's code adds nothing."""
        rows = rest.reshape(-1, CODE_WIDTH)
        for index, book in enumerate(self.codec.acoustic.chain):
            nearest = codes[..., index].reshape(-1)
            entry = book.codebook[nearest]
            if index >= SPOKEN_BOOKS - 1:
                book.learn(rows, nearest, decay=0.99)
                book.codebook[0] = 0
            rows = rows - entry

    @torch.no_grad()
    def start_books(self, crops: Crops) -> None:
        """k-means over what the spoken codes leave, book after book."""
        latents = [self.latent(crops.batch(LANES)[0]) for _ in range(60)]
        rows = torch.cat([self.rows(latent)[1].reshape(-1, CODE_WIDTH) for latent in latents])
        for index, book in enumerate(self.codec.acoustic.chain):
            if index >= SPOKEN_BOOKS - 1:
                book.start(rows, rounds=5)
                book.codebook[0] = 0
            rows = rows - book.codebook[book.nearest(rows)]

    def whole_codec(self) -> dict[str, Tensor]:
        """The codec's state, with details in the projection that its file has."""
        state = dict(self.codec.state_dict())
        details = self.free @ self.details.weight[..., 0] * self.codec.acoustic.spread
        name = "acoustic.input_proj.weight"
        state[name] = (state[name] + details[..., None]).detach()
        return state


def main() -> None:
    given = read_arguments(__doc__, seed=9).parse_args()
    crops = TrainingFolders(given.work).first_crops()
    tests = [batch for name in HELD_OUT for batch, _ in held_batches(given.work / name, LANES)]
    learner = DetailLearner(load_codes(given.work))
    learner.eval().start(crops)
    codec = learner.codec
    encoder = torch.load(given.work / "encoder.pt")["encoder"]
    codec.tok_enc.load_state_dict(encoder)
    codec.requires_grad_(False)
    decoder, acoustic = codec.tok_dec, codec.acoustic.output_proj
    front = (decoder.pre_conv, decoder.pre_tfm, decoder.upsample, acoustic, learner.mel_head)
    for part in (*front, codec.tok_enc):
        part.requires_grad_(True)
    freely = [weight for part in (*front, learner.details) for weight in part.parameters()]
    groups = [
        {"params": freely, "lr": RATE},
        {"params": list(codec.tok_enc.parameters()), "lr": ENCODER_RATE},
    ]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01)
    run = Run(given.work / "details.pt", given.minutes, optimizer)
    if run.kept is not None:
        learner.load_state_dict(run.kept["learner"])
    sums = defaultdict[str, float](float)
    counts, chances = zip(*BOOKS_USED, strict=True)
    for step in run:
        if step == UNQUANTIZED_STEPS:
            learner.start_books(crops)
        used = torch.tensor(counts)[torch.multinomial(torch.tensor(chances), LANES, True)]
        samples, _ = crops.batch(LANES)
        found = learner.losses(samples, used, quantized=step >= UNQUANTIZED_STEPS, learning=True)
        run.learn(torch.stack([weight * found[name] for name, weight in WEIGHTS.items()]).sum())
        for name, value in found.items():
            sums[name] += value.item() / EVERY
        if run.step % EVERY == 0:
            words = " ".join(f"{name} {value:.3f}" for name, value in sums.items())
            print(f"{time.strftime('%H:%M')} step {run.step} ({run.seconds:.0f} s): {words}")
            report(learner, tests)
            sums.clear()
            run.save(learner=learner.state_dict(), codec=learner.whole_codec())


@torch.no_grad()
def report(learner: DetailLearner, tests: list[Tensor]) -> None:
    """Print held-out losses by the number of codebooks."""
    for books, _ in BOOKS_USED:
        used = torch.full((LANES,), books)
        found = [learner.losses(test, used, quantized=True) for test in tests]
        means = {key: sum(float(loss[key]) for loss in found) / len(found) for key in found[0]}
        words = " ".join(f"{key} {value:.3f}" for key, value in means.items())
        print(f"  held out, {books} books: {words}", flush=True)


if __name__ == "__main__":
    main()
