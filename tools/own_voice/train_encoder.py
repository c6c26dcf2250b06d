"""Third stage of the codec: the file's waveform encoder learns to give the same codes.

    python -m tools.own_voice.train_encoder WORK_DIR --minutes 60

It is taught the rows that the mel encoder sends to the codebooks. Starts from `codes.pt`; writes
`encoder.pt` every 200 steps and goes on from it.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from pathlib import Path

import torch
from torch import Tensor, nn

from tools.own_voice.codec import SmallCodec
from tools.own_voice.speech_data import ShardFolder
from tools.own_voice.train_codes import (
    EVERY,
    HELD_OUT,
    TRAINED_ON,
    CodeLearner,
    crops_of,
    held_batches,
)
from tools.own_voice.train_waveform import load_codes

LANES = 16
RATE = 1.5e-3


def both_rows(codec: SmallCodec, latent: Tensor) -> Tensor:
    """What goes to the codebooks, normalised: [B, T, 2 * code width]."""
    return torch.cat([part.rows(latent) for part in (codec.semantic, codec.acoustic)], dim=-1)


def apart(learner: CodeLearner, samples: Tensor) -> tuple[Tensor, Tensor]:
    """Mean squared distance of the rows, and the share of equal first codes."""
    codec = learner.codec
    with torch.no_grad():
        wanted = both_rows(codec, learner.mel_encoder(samples))
    with torch.autocast("cpu", torch.bfloat16):
        latent = codec.tok_enc(samples)
    rows = both_rows(codec, latent.float())
    width = rows.shape[-1] // 2
    with torch.no_grad():
        same = codec.semantic.codes(rows[..., :width]) == codec.semantic.codes(wanted[..., :width])
    return (rows - wanted).square().mean(), same.float().mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--minutes", type=float, default=60, help="of processor time, in all")
    given = parser.parse_args()
    os.nice(5)
    torch.set_num_threads(1)
    torch.manual_seed(6)
    crops = crops_of([ShardFolder(given.work / name) for name in TRAINED_ON])
    tests = [samples for name in HELD_OUT for samples, _ in held_batches(given.work / name, LANES)]
    learner = load_codes(given.work)
    encoder = learner.codec.tok_enc
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=RATE, betas=(0.9, 0.98))
    saved, step, spent = given.work / "encoder.pt", 0, 0.0
    if saved.exists():
        state = torch.load(saved)
        encoder.load_state_dict(state["encoder"])
        optimizer.load_state_dict(state["optimizer"])
        step, spent = state["step"], state["seconds"]
    started, sums = time.process_time() - spent, 0.0
    while (spent := time.process_time() - started) < given.minutes * 60:
        progress = spent / (given.minutes * 60)
        fall = min(1, (step + 1) / 50) * (0.04 + 0.48 * (1 + math.cos(math.pi * progress)))
        for group in optimizer.param_groups:
            group["lr"] = RATE * fall
        loss, _ = apart(learner, crops.batch(LANES)[0])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimizer.step()
        step += 1
        sums += loss.item() / EVERY
        if step % EVERY == 0:
            with torch.no_grad():
                found = [apart(learner, test) for test in tests]
            distance, same = (
                float(torch.stack([pair[place] for pair in found]).mean()) for place in (0, 1)
            )
            print(
                f"step {step} ({spent:.0f} s): {sums:.4f}, held out {distance:.4f}, "
                f"{100 * same:.1f} % of the first codes equal",
                flush=True,
            )
            sums = 0.0
            state = {"encoder": encoder.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state | {"step": step, "seconds": spent}, saved.with_suffix(".partial"))
            os.replace(saved.with_suffix(".partial"), saved)


if __name__ == "__main__":
    main()
