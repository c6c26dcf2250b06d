"""First stage of the codec: which codes stand for which sound.

    python -m tools.own_voice.train_codes WORK_DIR --minutes 60

Trains the mel encoder, the codebooks and the decoder's front half against mel spectra (no
waveform yet), with three aids: phonemes are to be read off the first codebook, in most lanes
only the first one or two codebooks are decoded, so that they carry the speech, and what is coded
is drawn to what the phonemes around let one expect, so that a talker can foresee it. Writes
`codes.pt` every 200 steps and goes on from it.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tools.own_voice.codec import SmallCodec
from tools.own_voice.dims import CODE_WIDTH, CODEC, FIRST_BOOKS
from tools.own_voice.modules import CausalConv, CodecBlock, past_mask, rotary
from tools.own_voice.spectra import LogMel
from tools.own_voice.speech_data import FRAME, LABELS, PHONEMES, Clip, ShardFolder
from tools.own_voice.training import Run, read_arguments

FRAMES = 24  # of a crop
LANES = 32
UNQUANTIZED_STEPS = 300
BOOKS_USED = ((1, 0.3), (2, 0.4), (FIRST_BOOKS, 0.3))
RATE = 1e-3
EVERY = 200  # steps between evaluations and saves
TRAINED_ON = {"audio": 1, "audio-blended": 1, "audio-flite": 2, "audio-flite-varied": 1}
"""Folders, and their parts of the crops."""

HELD_OUT = ("audio-everyday", "audio-flite-everyday")
WEIGHTS = {"mel": 1.0, "fine": 0.5, "phonemes": 0.2, "commitment": 0.2, "unforeseen": 0.05}
AROUND = 2  # frames whose phonemes tell what to expect


class MelEncoder(nn.Module):
    """Log-mel spectra, of the past only -> latents at the rate of frames."""

    def __init__(self) -> None:
        super().__init__()
        dims = CODEC.encoder.transformer
        width = dims.width
        self._coarse = LogMel(80, 1024, 240, causal=True)
        self._fine = LogMel(40, 256, 120, causal=True)
        self.start = CausalConv(160, width, 5)
        self.middle = CausalConv(width, width, 4, stride=2)
        self.end = CausalConv(width, width, 4, stride=2)
        self.blocks = nn.ModuleList(CodecBlock(dims, gated=False) for _ in range(dims.blocks))
        self.frames = CausalConv(width, width, 4, stride=2, bias=False)
        self._head_width = dims.head_width

    def features(self, samples: Tensor) -> Tensor:
        """What the convolutions find, before the blocks: [B, n] -> [B, 2 * n / 1920, width]."""
        with torch.no_grad():
            coarse, fine = self._coarse(samples), self._fine(samples)
            pairs = torch.cat((fine[..., 0::2], fine[..., 1::2]), dim=1)
            spectra = (torch.cat((coarse, pairs), dim=1) + 2) / 2
        with torch.autocast("cpu", torch.bfloat16):
            x = F.gelu(self.start(spectra))
            x = F.gelu(self.middle(x))
            found: Tensor = self.end(x).transpose(1, 2)
        return found

    def forward(self, samples: Tensor) -> Tensor:  # [B, n] -> [B, width, n / 1920]
        x = self.features(samples)
        with torch.autocast("cpu", torch.bfloat16):
            length = x.shape[1]
            angles = rotary(torch.arange(length), self._head_width, 10_000.0)
            for block in self.blocks:
                x = block(x, angles, past_mask(length, None))
            latent: Tensor = self.frames(x.transpose(1, 2))
        return latent.float()


class MelHead(nn.Module):
    """Decoder latents [B, width, 4 T] -> both log-mel spectra, to learn from."""

    def __init__(self) -> None:
        super().__init__()
        width = CODEC.decoder.latent
        self.first = CausalConv(width, width, 3)
        self.second = CausalConv(width, 2 * 80 + 4 * 40, 1)

    def forward(self, latent: Tensor) -> tuple[Tensor, Tensor]:
        y = self.second(F.gelu(self.first(latent)))
        batch, _, length = y.shape
        coarse = y[:, :160].view(batch, 80, 2, length).transpose(2, 3).reshape(batch, 80, -1)
        fine = y[:, 160:].view(batch, 40, 4, length).transpose(2, 3).reshape(batch, 40, -1)
        return coarse, fine


class Foresight(nn.Module):
    """What the phonemes around a frame, and the mean spectrum, let one expect of its rows."""

    def __init__(self) -> None:
        super().__init__()
        count, width, hidden = (2 * AROUND + 1) * LABELS, 24, 512
        self.phonemes = nn.Embedding(PHONEMES, width)
        self.sound = nn.Linear(80, 64)
        self.rows = nn.Sequential(
            nn.Linear(count * width + 64, hidden),
            nn.GELU(),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Linear(hidden, 2 * CODE_WIDTH),
        )

    def forward(self, labels: Tensor, mel: Tensor) -> Tensor:
        """Labels [B, T * LABELS] and log-mel [B, 80, n] -> rows [B, T, 2 * CODE_WIDTH]."""
        padded = F.pad(labels, (AROUND * LABELS, AROUND * LABELS))
        around = padded.unfold(1, (2 * AROUND + 1) * LABELS, LABELS)  # [B, T, count]
        sound = self.sound(mel.mean(-1))[:, None].expand(-1, around.shape[1], -1)
        rows: Tensor = self.rows(torch.cat((self.phonemes(around).flatten(2), sound), dim=-1))
        return rows


class CodeLearner(nn.Module):
    """The parts that this stage trains."""

    def __init__(self) -> None:
        super().__init__()
        self.codec = SmallCodec(books=FIRST_BOOKS)
        self.mel_encoder = MelEncoder()
        self.mel_head = MelHead()
        self.phonemes = nn.Linear(CODE_WIDTH, LABELS * PHONEMES)
        self.foresight = Foresight()
        self._coarse, self._fine = LogMel(80, 1024, 240), LogMel(40, 256, 120)

    def losses(
        self,
        samples: Tensor,
        labels: Tensor,
        used: Tensor,
        *,
        quantized: bool,
        latent: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Of crops [B, n] with phoneme labels [B, T * LABELS]; `used` books count per lane.

        `latent` [B, width, T] is by another encoder than the one of this stage.
        """
        with torch.no_grad():
            coarse, fine = self._coarse(samples), self._fine(samples)
        codec = self.codec
        if latent is None:
            latent = self.mel_encoder(samples)
        first, rest = codec.semantic.rows(latent), codec.acoustic.rows(latent)
        commitment = first.new_zeros(())
        first_entry, rest_entry = first, rest
        if quantized:
            first_codes, rest_codes = codec.semantic.codes(first), codec.acoustic.codes(rest)
            nearest_first = codec.semantic.entries(first_codes)
            nearest_rest = codec.acoustic.entries(rest_codes, used - 1)
            commitment = F.mse_loss(first, nearest_first)
            wanted = (used > 1)[:, None, None]
            commitment = commitment + ((rest - nearest_rest).square() * wanted).mean()
            first_entry = first + (nearest_first - first).detach()
            rest_entry = (rest + (nearest_rest - rest).detach()) * wanted
            if self.training:
                codec.semantic.learn(first, first_codes)
                codec.acoustic.learn(rest, rest_codes)
        with torch.autocast("cpu", torch.bfloat16):
            rows = codec.semantic.latent(first_entry) + codec.acoustic.latent(rest_entry)
            made_coarse, made_fine = self.mel_head(codec.tok_dec.front(rows))
            foreseen = self.foresight(labels, coarse)
        logits = self.phonemes(first_entry).view(-1, PHONEMES)
        return {
            "mel": (made_coarse.float() - coarse).abs().mean(),
            "fine": (made_fine.float() - fine).abs().mean(),
            "phonemes": F.cross_entropy(logits, labels.reshape(-1)),
            "commitment": commitment,
            "unforeseen": F.mse_loss(torch.cat((first, rest), dim=-1), foreseen.float()),
        }


class Crops:
    """Random pieces of clips, as many from each of several lists."""

    def __init__(self, lists: list[list[Clip]], seed: int) -> None:
        self._lists = [clips for clips in lists if clips]
        self._draw = random.Random(seed)

    def batch(self, lanes: int = LANES) -> tuple[Tensor, Tensor]:
        """Samples [lanes, FRAMES * FRAME] and labels [lanes, FRAMES * LABELS]."""
        pieces, labels = [], []
        step = FRAME // LABELS
        for _ in range(lanes):
            clip = self._draw.choice(self._draw.choice(self._lists))
            room = max(0, len(clip.samples) - FRAMES * FRAME)
            first = self._draw.randint(0, room // step)
            piece = np.zeros(FRAMES * FRAME, np.float32)
            part = clip.samples[first * step : first * step + len(piece)]
            piece[: len(part)] = part / 32768
            numbers = clip.labels()[first : first + FRAMES * LABELS]
            pieces.append(piece)
            labels.append(np.pad(numbers, (0, FRAMES * LABELS - len(numbers))))
        return torch.from_numpy(np.stack(pieces)), torch.from_numpy(np.stack(labels))


class TrainingFolders:
    """The speech that the codec is trained on, which may still be growing."""

    def __init__(self, work: Path) -> None:
        self._parts = [(ShardFolder(work / name), parts) for name, parts in TRAINED_ON.items()]

    def crops(self) -> Crops | None:
        """Of all that there is by now; None where nothing is new."""
        new = [folder.update() for folder, _ in self._parts]
        if not any(new):
            return None
        print(" + ".join(f"{folder.hours:.2f} h" for folder, _ in self._parts), flush=True)
        lists = [folder.clips for folder, parts in self._parts for _ in range(parts)]
        return Crops(lists, seed=time.time_ns())

    def first_crops(self) -> Crops:
        """Of the speech that there must be."""
        crops = self.crops()
        if crops is None:
            raise SystemExit("There is no speech yet: run a teacher first.")
        return crops


def held_batches(folder: Path, lanes: int = LANES) -> list[tuple[Tensor, Tensor]]:
    """Fixed batches of clips that nothing is trained on."""
    held = ShardFolder(folder)
    held.update()
    crops = Crops([held.clips], seed=5)
    return [crops.batch(lanes) for _ in range(3)]


def encode(learner: CodeLearner, samples: Tensor) -> Tensor:
    """Codes [B, T, FIRST_BOOKS] of samples [B, n], by the mel encoder."""
    with torch.no_grad():
        return learner.codec.codes(learner.mel_encoder(samples))


def fingerprint(codec: SmallCodec) -> float:
    """Tells whether the codebooks are the same."""
    return float(codec.semantic.chain[0].codebook.double().sum())


def load_codes(work: Path) -> CodeLearner:
    learner = CodeLearner()
    learner.load_state_dict(torch.load(work / "codes.pt")["learner"])
    return learner.eval()


def start_codebooks(learner: CodeLearner, crops: Crops) -> None:
    """k-means over latents, book after book."""
    with torch.no_grad():
        latents = [learner.mel_encoder(crops.batch()[0]) for _ in range(60)]
        for quantizer in (learner.codec.semantic, learner.codec.acoustic):
            rows = torch.cat([quantizer.rows(latent).reshape(-1, CODE_WIDTH) for latent in latents])
            for book in quantizer.chain:
                book.start(rows)
                rows = rows - book.codebook[book.nearest(rows)]


def main() -> None:
    given = read_arguments(__doc__, seed=0).parse_args()
    folders = TrainingFolders(given.work)
    crops = folders.first_crops()
    tests = {name: held_batches(given.work / name) for name in HELD_OUT}
    learner = CodeLearner()
    parameters = [
        weight
        for name, weight in learner.named_parameters()
        if not name.startswith(("codec.tok_enc", "codec.tok_dec.dec"))
    ]
    optimizer = torch.optim.AdamW(parameters, lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    run = Run(given.work / "codes.pt", given.minutes, optimizer)
    if run.kept is not None:
        learner.load_state_dict(run.kept["learner"])
    sums: dict[str, float] = {}
    for step in run:
        if step == UNQUANTIZED_STEPS:
            start_codebooks(learner, crops)
        counts, chances = zip(*BOOKS_USED, strict=True)
        used = torch.tensor(counts)[torch.multinomial(torch.tensor(chances), LANES, True)]
        samples, labels = crops.batch()
        losses = learner.losses(samples, labels, used, quantized=step >= UNQUANTIZED_STEPS)
        run.learn(torch.stack([WEIGHTS[name] * loss for name, loss in losses.items()]).sum())
        for name, value in losses.items():
            sums[name] = sums.get(name, 0) + value.item() / EVERY
        if run.step % EVERY == 0:
            report(learner, tests, run, sums)
            sums.clear()
            run.save(learner=learner.state_dict())
            crops = folders.crops() or crops


@torch.no_grad()
def report(
    learner: CodeLearner,
    tests: dict[str, list[tuple[Tensor, Tensor]]],
    run: Run,
    sums: dict[str, float],
) -> None:
    """Print the means since the last report, and held-out losses by the number of codebooks."""
    learner.eval()
    words = " ".join(f"{name} {value:.3f}" for name, value in sums.items())
    print(f"step {run.step} ({run.seconds:.0f} s): {words}", flush=True)
    for name, batches in tests.items():
        for books in (1, 2, FIRST_BOOKS):
            used = torch.full((LANES,), books)
            found = [learner.losses(*batch, used, quantized=True) for batch in batches]
            means = {key: sum(float(loss[key]) for loss in found) / len(found) for key in found[0]}
            words = " ".join(f"{key} {value:.3f}" for key, value in means.items())
            print(f"  {name}, {books} books: {words}", flush=True)
    learner.train()


if __name__ == "__main__":
    main()
