"""What a loaded pair must do whatever its weights are: no reference is needed for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from engine.qwen3tts.engine import ModelParts, Qwen3TtsEngine
from engine.qwen3tts.prompt import PromptBuilder
from engine.types import CancelToken, Codes, Samples, SpeechRequest
from engine.verify.capture import Capture, force, plain, plan
from engine.verify.comparing import Stage
from engine.verify.measures import Measure, Measures, closeness, exact_share, first_mismatch
from engine.verify.teacher import likeliest, step_by_step
from engine.verify.thresholds import Grade, Thresholds

PIECES = (1, 2, 4, 8)  # frames; the last entry repeats
BATCH_FRAMES = 6


@dataclass(frozen=True)
class SelfChecks:
    """Checks one loaded pair; `run_grade` is the grade of its arithmetic."""

    model: ModelParts
    thresholds: Thresholds
    run_grade: Grade
    cancel: CancelToken

    def run(self, request: SpeechRequest, made: Capture) -> list[Stage]:
        """All checks, for a greedy request and what the model made of it; raises Cancelled."""
        return [
            self._streaming(made.codes),
            *self._takes(request),
            *self._teacher(request, made.codes),
        ]

    @torch.inference_mode()
    def _streaming(self, codes: Codes) -> Stage:
        """Sound decoded in pieces equals sound decoded as a whole."""
        decoder = self.model.decoder
        given = torch.from_numpy(codes)[None].to(decoder.device)
        state = decoder.new_state(1)
        pieces = [
            decoder.step(piece, state) for piece in torch.split(given, _widths(len(codes)), dim=1)
        ]
        streamed = plain(torch.cat(pieces, dim=1))
        return self._stage("self-streamed-sound", closeness(plain(decoder(given)), streamed))

    def _takes(self, request: SpeechRequest) -> Iterator[Stage]:
        """Takes of a batch equal those made alone, and a seed gives the same take again."""
        first = request.seeds[0]
        seeds = (first, first ^ 1)  # another one within the range of seeds
        sampling = replace(self.model.sampling, max_frames=BATCH_FRAMES)
        asked = replace(request, sampling=sampling, seeds=seeds)
        batch = self._speak(asked)
        alone = [self._speak(replace(asked, seeds=(seed,)))[0] for seed in seeds]
        again = self._speak(replace(asked, seeds=seeds[:1]))
        yield from self._equal("self-batch", alone, batch)
        yield from self._equal("self-replay", alone[:1], again)

    def _equal(
        self,
        name: str,
        right: list[tuple[Codes, Samples]],
        mine: list[tuple[Codes, Samples]],
    ) -> Iterator[Stage]:
        pairs = list(zip(right, mine, strict=True))
        share = float(np.mean([exact_share(a[0], b[0]) for a, b in pairs]))
        wrong = [
            f"seed {index + 1} of {len(pairs)} differs from frame {frame} on"
            for index, (a, b) in enumerate(pairs)
            if (frame := first_mismatch(a[0], b[0])) is not None
        ]
        yield self._stage(f"{name}-codes", {Measure.EXACT: share}, "; ".join(wrong))
        if not wrong:
            sounds = (np.concatenate([take[1] for take in takes]) for takes in (right, mine))
            yield self._stage(f"{name}-sound", closeness(*sounds))

    @torch.inference_mode()
    def _teacher(self, request: SpeechRequest, codes: Codes) -> Iterator[Stage]:
        """One pass over all frames equals one step after the other."""
        model = self.model
        builder = PromptBuilder(model.talker, model.predictor, model.config)
        prompt = builder.build(plan(model, request))
        forced = force(model, prompt, codes, self.cancel)
        given = torch.from_numpy(codes).to(prompt.embeds.device)
        stepped = step_by_step(model.talker, model.predictor, prompt, given, self.cancel)
        for name, steps, whole in (
            ("self-forced-talker-logits", stepped.talker, forced.talker),
            ("self-forced-predictor-logits", stepped.predictor, forced.predictor),
        ):
            yield self._stage(name, closeness(plain(steps), plain(whole)))
        chosen = likeliest(forced, model.config).cpu().numpy()
        share = {Measure.EXACT: exact_share(codes, chosen)}
        yield self._stage("self-forced-codes", share)

    def _speak(self, request: SpeechRequest) -> list[tuple[Codes, Samples]]:
        """Codes [T, codebooks] and samples [n] of every take."""
        codes: list[list[Codes]] = [[] for _ in request.seeds]
        sound: list[list[Samples]] = [[] for _ in request.seeds]
        for chunk in Qwen3TtsEngine(self.model).speak(request, self.cancel):
            codes[chunk.take].append(chunk.codes)
            sound[chunk.take].append(chunk.samples)
        return [
            (np.concatenate(code), np.concatenate(samples))
            for code, samples in zip(codes, sound, strict=True)
        ]

    def _stage(self, name: str, measures: Measures, note: str = "") -> Stage:
        return Stage(name, measures, self.thresholds.of(name, self.run_grade), note)


def _widths(frames: int) -> list[int]:
    widths: list[int] = []
    while sum(widths) < frames:
        width = PIECES[min(len(widths), len(PIECES) - 1)]
        widths.append(min(width, frames - sum(widths)))
    return widths
