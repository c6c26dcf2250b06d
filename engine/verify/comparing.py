"""Compares what two models made, stage by stage, and judges every figure by its limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.types import Codes, Samples
from engine.verify.capture import Capture
from engine.verify.measures import (
    Measure,
    Measures,
    closeness,
    exact_share,
    first_mismatch,
    segmental_snr,
    stft_cosine,
)
from engine.verify.thresholds import Grade, Thresholds

CODEC_STAGES = ("sound-same-codes", "stft-same-codes", "reference-codes")


@dataclass(frozen=True)
class Stage:
    """One compared stage: its figures, its limits, and whether they are kept."""

    name: str
    measures: Measures
    limits: Measures = field(default_factory=dict)
    note: str = ""
    case: str = ""  # of a golden folder

    @property
    def passed(self) -> bool:
        return not self.broken

    @property
    def broken(self) -> tuple[Measure, ...]:
        """The measures that miss their limits; one that is no number or is absent misses it."""
        return tuple(
            measure
            for measure, limit in self.limits.items()
            if not _keeps(measure, self.measures.get(measure), limit)
        )

    @property
    def badness(self) -> tuple[bool, float]:
        """Orders the results of one stage in several cases, the worst last."""
        exact = self.measures.get(Measure.EXACT, 1.0)
        cosine = self.measures.get(Measure.COSINE, 1.0)
        figure = 2 - exact - cosine
        return not self.passed, figure if np.isfinite(figure) else np.inf


@dataclass(frozen=True)
class Judge:
    """Knows how coarse the two models are, and with it which limits hold."""

    thresholds: Thresholds
    talker: Grade  # the coarser of the two, as it is stored and computed
    codec: Grade

    def stage(self, name: str, measures: Measures, note: str = "") -> Stage:
        grade = self.codec if name in CODEC_STAGES else self.talker
        if name == "stft-greedy":
            grade = max(self.talker, self.codec)
        return Stage(name, measures, self.thresholds.of(name, grade), note)


def compare(
    reference: Capture, mine: Capture, judge: Judge, sample_rate: int, case: str = ""
) -> list[Stage]:
    """The stages that both captures have, in the order of the computation."""
    stages = [
        _integers("prompt-ids", reference.prompt_ids, mine.prompt_ids, judge, "token"),
        *_arrays(reference.arrays, mine.arrays, judge),
    ]
    if reference.teacher_codes is not None and mine.forced_codes is not None:
        stages.append(_forced(reference.teacher_codes, mine.forced_codes, judge))
    stages.append(_integers("greedy-codes", reference.codes, mine.codes, judge, "frame"))
    stages += _sounds(reference, mine, judge, sample_rate)
    stages += _clip(reference, mine, judge)
    return [replace(stage, case=case) for stage in stages]


def compare_sounds(
    reference: Samples, mine: Samples, judge: Judge, sample_rate: int
) -> list[Stage]:
    """Two decodings [n] of the same codes."""
    name = "sound-same-codes"
    if len(reference) != len(mine):
        return [judge.stage(name, {}, f"{len(mine)} samples instead of {len(reference)}")]
    measures = {
        **closeness(reference, mine),
        Measure.SNR: segmental_snr(reference, mine, sample_rate),
    }
    spectral = {Measure.COSINE: stft_cosine(reference, mine)}
    return [judge.stage(name, measures), judge.stage("stft-same-codes", spectral)]


def worst_of(stages: Iterable[Stage]) -> list[Stage]:
    """Of every stage the worst case, and a note which one it is."""
    by_name: dict[str, list[Stage]] = {}
    for stage in stages:
        by_name.setdefault(stage.name, []).append(stage)
    worst = []
    for same in by_name.values():
        stage = max(same, key=lambda one: one.badness)
        equal = all(one.badness == stage.badness for one in same)
        note = f"{len(same)} cases" if equal else f"worst of {len(same)}: {stage.case}"
        worst.append(replace(stage, note=f"{note}; {stage.note}" if stage.note else note))
    return worst


def _arrays(
    reference: Mapping[str, NDArray[Any]], mine: Mapping[str, NDArray[Any]], judge: Judge
) -> Iterator[Stage]:
    for name, theirs in reference.items():
        ours = mine.get(name)
        if ours is None:
            yield judge.stage(name, {}, "this model did not get there")
            continue
        if ours.ndim == theirs.ndim + 1:  # some goldens keep the last position only
            ours = ours[-1]
        if ours.shape == theirs.shape:
            yield judge.stage(name, closeness(theirs, ours))
        else:
            yield judge.stage(name, {}, f"shape {list(ours.shape)} for {list(theirs.shape)}")


def _integers(
    name: str, reference: NDArray[Any], mine: NDArray[Any], judge: Judge, what: str
) -> Stage:
    different = first_mismatch(reference, mine)
    note = "" if different is None else f"first difference at {what} {different}"
    if len(reference) != len(mine):
        note += f", {len(mine)} {what}s for {len(reference)}"
    return judge.stage(name, {Measure.EXACT: exact_share(reference, mine)}, note)


def _forced(reference: Codes, mine: Codes, judge: Judge) -> Stage:
    """How often the likeliest code is that of the reference, with its weakest codebooks."""
    books = (reference == mine).mean(axis=0)  # [codebooks]
    weakest = [int(book) for book in np.argsort(books, kind="stable")[:3] if books[book] < 1]
    note = ", ".join(f"codebook {book}: {books[book]:.0%}" for book in weakest)
    measures = {Measure.EXACT: exact_share(reference, mine)}
    return judge.stage("teacher-forced-codes", measures, note)


def _sounds(reference: Capture, mine: Capture, judge: Judge, sample_rate: int) -> Iterator[Stage]:
    if reference.teacher_sound is not None and mine.teacher_sound is not None:
        yield from compare_sounds(reference.teacher_sound, mine.teacher_sound, judge, sample_rate)
    if reference.sound is not None and mine.sound is not None:
        spectral = {Measure.COSINE: stft_cosine(reference.sound, mine.sound)}
        yield judge.stage("stft-greedy", spectral)


def _clip(reference: Capture, mine: Capture, judge: Judge) -> Iterator[Stage]:
    if reference.speaker_embedding is not None and mine.speaker_embedding is not None:
        measures = closeness(reference.speaker_embedding, mine.speaker_embedding)
        yield judge.stage("speaker-embedding", measures)
    if reference.reference_codes is not None and mine.reference_codes is not None:
        codes = (reference.reference_codes, mine.reference_codes)
        yield _integers("reference-codes", *codes, judge, "frame")


def _keeps(measure: Measure, value: float | None, limit: float) -> bool:
    if value is None:
        return False
    return value <= limit if measure.is_distance else value >= limit
