"""The speaker encoder: a recording as a short embedding that tells its voice from others.

    python -m tools.own_voice.train_speaker_encoder WORK_DIR --minutes 25

Crops of one voice shall be alike and crops of two voices not (supervised contrastive learning,
Khosla et al. 2020); of flite's voices size, pitch and pace shall be read off as well, so that the
embedding means something between voices. Writes `speaker_encoder.pt` every 200 steps and goes on
from it.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from engine.qwen3tts.mel import SHORTEST, LogMel
from tools.own_voice.dims import EMBEDDING_WIDTH, SPEAKER_ENCODER
from tools.own_voice.speaker_encoder import SmallSpeakerEncoder
from tools.own_voice.speech_data import RATE, Clip, ShardFolder
from tools.own_voice.teacher_voices import (
    FLITE_VOICES,
    PITCHES,
    SPEAKER_IDS,
    WOMEN,
    Manner,
)
from tools.own_voice.training import Run, read_arguments

VOICES, CROPS = 24, 3  # of a batch, and of each voice
SECONDS = (1.2, 3.0)  # of a crop
LEARNING_RATE = 2e-3
TEMPERATURE = 0.1
ATTRIBUTES = 4  # woman, size, pitch, pace
WEIGHTS = {"attributes": 0.5, "length": 0.1}
LOUDNESS, NOISE = (0.2, 1.5), 0.003  # that recordings differ by
EVERY = 200
TRAINED_ON = {"audio": (0.3, 45), "audio-flite": (0.15, 60), "audio-flite-varied": (0.55, 200)}
"""Folders, their shares of the voices of a batch, and the most shards that are read."""

HELD_OUT = ("audio-everyday", "audio-flite-everyday", "audio-flite-varied-everyday")
_MEL = LogMel(RATE)


def log_mel(samples: NDArray[np.float32]) -> Tensor:
    """[n] -> [bands, frames]."""
    return _MEL(samples).T


def attributes(voice: str) -> list[float] | None:
    """What can be said of one of flite's voices; None of others."""
    if voice in SPEAKER_IDS and voice not in FLITE_VOICES:
        return None
    manner = FLITE_VOICES.get(voice) or Manner.parse(voice)
    pitch = PITCHES[manner.voice] * 2 ** (manner.pitch / 12) * manner.warp
    woman = float(manner.voice in WOMEN)
    return [woman, 5 * (manner.warp - 1), 2 * math.log2(pitch / 135), 3 * (manner.pace - 1)]


class VoiceLearner(nn.Module):
    """The encoder, its last layer's first half, and the head of its training."""

    def __init__(self) -> None:
        super().__init__()
        self.spk_enc = SmallSpeakerEncoder(SPEAKER_ENCODER)
        self.bottleneck = nn.Linear(6 * SPEAKER_ENCODER.channels, EMBEDDING_WIDTH)
        self.attributes = nn.Linear(EMBEDDING_WIDTH, ATTRIBUTES)

    def forward(self, mel: Tensor) -> Tensor:  # [B, bands, frames] -> [B, EMBEDDING_WIDTH]
        embedding: Tensor = self.bottleneck(self.spk_enc(mel))
        return embedding

    @torch.no_grad()
    def of_clip(self, clip: Clip) -> Tensor:
        """The embedding [EMBEDDING_WIDTH] of a whole clip."""
        samples = clip.padded()
        found: Tensor = self(log_mel(np.resize(samples, max(len(samples), SHORTEST)))[None])[0]
        return found


def load_speaker_encoder(work: Path) -> VoiceLearner:
    learner = VoiceLearner()
    learner.load_state_dict(torch.load(work / "speaker_encoder.pt")["learner"])
    return learner.eval()


class VoiceCrops:
    """Crops of several clips of each of several voices."""

    def __init__(self, work: Path, seed: int) -> None:
        self._draw, self._noise = random.Random(seed), np.random.default_rng(seed)
        self._voices: list[dict[str, list[Clip]]] = []
        for name, (_, most) in TRAINED_ON.items():
            folder, voices = ShardFolder(work / name, most), defaultdict[str, list[Clip]](list)
            folder.update()
            for clip in folder.clips:
                voices[clip.voice].append(clip)
            whole = {name: clips for name, clips in voices.items() if len(clips) >= CROPS}
            self._voices.append(whole)
            print(f"{name}: {len(whole)} voices, {folder.hours:.2f} h", flush=True)

    def batch(self) -> tuple[Tensor, list[str]]:
        """Log-mels [VOICES * CROPS, bands, frames], and the voice of each."""
        shares = [share for share, _ in TRAINED_ON.values()]
        length = int(self._draw.uniform(*SECONDS) * RATE)
        chosen: dict[str, list[Clip]] = {}
        while len(chosen) < VOICES:
            voices = self._draw.choices(self._voices, shares)[0]
            name = self._draw.choice(list(voices))
            chosen[name] = self._draw.sample(voices[name], CROPS)
        mels = [self._crop(clip, length) for clips in chosen.values() for clip in clips]
        return torch.stack(mels), [name for name in chosen for _ in range(CROPS)]

    def _crop(self, clip: Clip, length: int) -> Tensor:
        first = self._draw.randint(0, max(0, len(clip.samples) - length))
        samples = np.resize(clip.samples[first : first + length] / np.float32(32768), length)
        samples = samples * np.float32(self._draw.uniform(*LOUDNESS))
        noise = self._noise.standard_normal(length, np.float32)
        return log_mel(samples + noise * np.float32(NOISE * self._draw.random() ** 2))


def losses(learner: VoiceLearner, mels: Tensor, voices: list[str]) -> dict[str, Tensor]:
    with torch.autocast("cpu", torch.bfloat16):
        found = learner(mels).float()
    unit = F.normalize(found, dim=-1)
    itself = torch.eye(len(found), dtype=torch.bool)
    names = {name: number for number, name in enumerate(dict.fromkeys(voices))}
    number = torch.tensor([names[name] for name in voices])
    same = (number[:, None] == number) & ~itself
    scores = (unit @ unit.T / TEMPERATURE).masked_fill(itself, -1e9).log_softmax(-1)
    told = [attributes(voice) for voice in voices]
    rows = [row for row, values in enumerate(told) if values is not None]
    wanted = torch.tensor([values for values in told if values is not None])
    return {
        "voices": -(scores * same).sum() / same.sum(),
        "attributes": F.mse_loss(learner.attributes(found[rows]), wanted),
        "length": (found.square().mean(-1) - 1).square().mean(),
    }


@torch.no_grad()
def report(learner: VoiceLearner, tests: dict[str, list[Clip]]) -> None:
    """How alike unheard sentences of one voice are, and of two; and how many are nearest to one
    of their own voice."""
    learner.eval()
    for name, clips in tests.items():
        unit = F.normalize(torch.stack([learner.of_clip(clip) for clip in clips]), dim=-1)
        cosines = unit @ unit.T
        itself = torch.eye(len(clips), dtype=torch.bool)
        same = torch.tensor([[one.voice == other.voice for one in clips] for other in clips])
        nearest = cosines.masked_fill(itself, -1).argmax(-1)
        right = same[torch.arange(len(clips)), nearest].float().mean()
        print(
            f"  {name}: cosine {cosines[same & ~itself].mean():.3f} within voices, "
            f"{cosines[~same].mean():.3f} between, {100 * right:.0f} % nearest to their own",
            flush=True,
        )
    learner.train()


def main() -> None:
    given = read_arguments(__doc__, seed=7).parse_args()
    tests = {}
    for name in HELD_OUT:
        folder = ShardFolder(given.work / name)
        folder.update()
        tests[name] = folder.clips[:: max(1, len(folder.clips) // 150)]
    learner, sums = VoiceLearner(), defaultdict[str, float](float)
    optimizer = torch.optim.AdamW(learner.parameters(), lr=LEARNING_RATE, weight_decay=0.02)
    run = Run(given.work / "speaker_encoder.pt", given.minutes, optimizer)
    if run.kept is not None:
        learner.load_state_dict(run.kept["learner"])
    crops = VoiceCrops(given.work, seed=run.step)
    for _ in run:
        found = losses(learner, *crops.batch())
        run.learn(
            torch.stack([WEIGHTS.get(name, 1) * value for name, value in found.items()]).sum()
        )
        for name, value in found.items():
            sums[name] += value.item() / EVERY
        if run.step % EVERY == 0:
            words = " ".join(f"{name} {value:.3f}" for name, value in sums.items())
            print(f"step {run.step} ({run.seconds:.0f} s): {words}", flush=True)
            report(learner, tests)
            sums.clear()
            run.save(learner=learner.state_dict())


if __name__ == "__main__":
    main()
