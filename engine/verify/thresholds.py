"""How far a model may be from its reference: the one table of limits, with their reasons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from engine.errors import RequestError
from engine.gguf.header import TensorType
from engine.gguf.reader import GgufFile
from engine.verify.measures import Measure


class Grade(IntEnum):
    """How coarsely values are kept, the finest first."""

    F32 = 0
    BF16 = 1  # and F16
    Q8_0 = 2
    Q4_K_M = 3  # and whatever else has less than 8 bits


_GRADES: Final[Mapping[TensorType, Grade]] = MappingProxyType(
    {
        TensorType.F32: Grade.F32,
        TensorType.BF16: Grade.BF16,
        TensorType.F16: Grade.BF16,
        TensorType.Q8_0: Grade.Q8_0,
    }
)


def stored_grade(file: GgufFile, prefixes: tuple[str, ...]) -> Grade:
    """The coarsest grade of the tensors whose names begin with one of `prefixes`.

    Tensors that are the same bytes hold nothing but zeros, of whatever type.
    """
    empty = file.shared()
    types = {
        info.type
        for name, info in file.tensors.items()
        if name.startswith(prefixes) and name not in empty
    }
    return max((_GRADES.get(kind, Grade.Q4_K_M) for kind in types), default=Grade.F32)


@dataclass(frozen=True)
class Limit:
    """The limits of one measure of one stage, by grade (F32, BF16, Q8_0, Q4_K_M); None is none."""

    stage: str
    measure: Measure
    by_grade: tuple[float | None, float | None, float | None, float | None]
    reason: str


# The figures for Q8_0 and Q4_K_M leave a margin to what random weights of the published shape give
# (0.6B, talker logits 0.99985 and 0.9765, predictor 0.9996 and 0.950, likeliest codes 96 % and
# 52 %, sound 0.9996 and 0.953). Those have no structure that a block scale could follow and logits
# without clear winners; a wrong kernel or a damaged tensor ends far below: near 0.
# Stages whose name is followed by a number, "talker-hidden-prefill-l3", share the limits of the
# name before it.
LIMITS: Final = (
    Limit(
        "prompt-ids",
        Measure.EXACT,
        (1, 1, 1, 1),
        "no weight takes part in cutting text into tokens",
    ),
    Limit(
        "talker-input-embed",
        Measure.COSINE,
        (0.999999, 0.9999, 0.9995, 0.99),
        "rows of two tables and a projection: nothing adds up yet",
    ),
    Limit(
        "talker-input-embed",
        Measure.MAX_ABS,
        (1e-3, None, None, None),
        "two right float32 orders of evaluation stay below 1e-5",
    ),
    Limit(
        "trailing-text-hidden",
        Measure.COSINE,
        (0.999999, 0.9999, 0.9995, 0.99),
        "as talker-input-embed, of the text alone",
    ),
    Limit(
        "tts-pad-embed",
        Measure.COSINE,
        (0.999999, 0.9999, 0.9995, 0.99),
        "as talker-input-embed, a single row",
    ),
    Limit(
        "talker-hidden-prefill",
        Measure.COSINE,
        (0.99999, 0.999, 0.998, 0.96),
        "errors add up from block to block; no limit for differences, because trained models have "
        "a few values of thousands in the middle blocks",
    ),
    Limit(
        "talker-hidden-prefill-final",
        Measure.COSINE,
        (0.99999, 0.999, 0.998, 0.96),
        "as the last block, without its large values",
    ),
    Limit(
        "talker-logits-prefill",
        Measure.COSINE,
        (0.999999, 0.999, 0.999, 0.96),
        "what the first frame is drawn from",
    ),
    Limit(
        "talker-logits-prefill",
        Measure.MAX_ABS,
        (1e-3, None, None, None),
        "measured 1e-5 between two float32 implementations",
    ),
    Limit(
        "predictor-logits-step0",
        Measure.COSINE,
        (0.99999, None, None, None),
        "needs the same codes, as do the three stages behind it",
    ),
    Limit("next-emb-step0", Measure.COSINE, (0.99999, None, None, None), "needs the same codes"),
    Limit(
        "talker-hidden-step1",
        Measure.COSINE,
        (0.99999, None, None, None),
        "needs the same codes",
    ),
    Limit(
        "talker-logits-step1",
        Measure.COSINE,
        (0.999999, None, None, None),
        "needs the same codes",
    ),
    Limit(
        "teacher-forced-talker-logits",
        Measure.COSINE,
        (0.999999, 0.999, 0.999, 0.96),
        "over all frames, each with the history of the reference: the figure to go by",
    ),
    Limit(
        "teacher-forced-talker-logits",
        Measure.MAX_ABS,
        (1e-3, None, None, None),
        "as talker-logits-prefill; the cache behind the prompt adds no error of its own",
    ),
    Limit(
        "teacher-forced-predictor-logits",
        Measure.COSINE,
        (0.999999, 0.999, 0.998, 0.93),
        "begins with the talker's hidden state, so its error comes on top of the talker's",
    ),
    Limit(
        "teacher-forced-predictor-logits",
        Measure.MAX_ABS,
        (1e-3, None, None, None),
        "as teacher-forced-talker-logits",
    ),
    Limit(
        "teacher-forced-codes",
        Measure.EXACT,
        (1, 0.9, 0.85, 0.4),
        "near ties fall either way, and a draw would take either; a wrong weight changes most",
    ),
    Limit(
        "greedy-codes",
        Measure.EXACT,
        (1, None, None, None),
        "one near tie that falls the other way changes all that follows: only float32 can keep it",
    ),
    Limit(
        "sound-same-codes",
        Measure.COSINE,
        (0.99999, 0.999, 0.99, 0.93),
        "the codec on its own: both decode the codes of the reference",
    ),
    Limit(
        "sound-same-codes",
        Measure.MAX_ABS,
        (1e-3, None, None, None),
        "60 dB below full scale; measured 4e-5 where random weights enlarge rounding most",
    ),
    Limit(
        "sound-same-codes",
        Measure.SNR,
        (34.0, 25.0, 15.0, 8.0),
        "noise that lies so far below the voice is masked by it",
    ),
    Limit(
        "stft-same-codes",
        Measure.COSINE,
        (0.99999, 0.999, 0.995, 0.96),
        "as sound-same-codes, but deaf to phase",
    ),
    Limit(
        "stft-greedy",
        Measure.COSINE,
        (0.9999, None, None, None),
        "sound of different codes, where they differ",
    ),
    Limit(
        "speaker-embedding",
        Measure.COSINE,
        (0.99999, 0.999, 0.998, 0.97),
        "two takes of the same speaker have about 0.9",
    ),
    Limit(
        "reference-codes",
        Measure.EXACT,
        (0.8, None, None, None),
        "nearest neighbours of a residual of residuals: float32 on two devices keeps 82 to 97 %",
    ),
    Limit(
        "self-streamed-sound",
        Measure.MAX_ABS,
        (1e-3, 1e-3, 1e-3, 1e-3),
        "the same arithmetic in pieces; the codec computes in float32 however it is stored",
    ),
    Limit(
        "self-batch-codes",
        Measure.EXACT,
        (1, 1, 1, 1),
        "every lane of a product is computed by itself",
    ),
    Limit(
        "self-batch-sound",
        Measure.MAX_ABS,
        (1e-3, 1e-3, 1e-3, 1e-3),
        "as self-streamed-sound",
    ),
    Limit("self-replay-codes", Measure.EXACT, (1, 1, 1, 1), "a seed is a promise"),
    Limit("self-replay-sound", Measure.MAX_ABS, (1e-3, 1e-3, 1e-3, 1e-3), "as self-streamed-sound"),
    Limit(
        "self-forced-talker-logits",
        Measure.COSINE,
        (0.999999, 0.999, 0.999999, 0.999999),
        "many positions at once against one by one: only the rounding of the run differs, so the "
        "second figure is for runs in bfloat16",
    ),
    Limit(
        "self-forced-predictor-logits",
        Measure.COSINE,
        (0.999999, 0.998, 0.999999, 0.999999),
        "as self-forced-talker-logits",
    ),
    Limit(
        "self-forced-codes",
        Measure.EXACT,
        (1, 0.9, 1, 1),
        "the likeliest codes of the given frames are those that were generated greedily",
    ),
)


@dataclass(frozen=True)
class Thresholds:
    """The limits of one verification: those of the table, and what the user sets instead."""

    changes: Mapping[tuple[str, Measure], float | None] = field(default_factory=dict)

    def of(self, stage: str, grade: Grade) -> dict[Measure, float]:
        """The limits of a stage; without any, its figures are only shown."""
        group = group_of(stage)
        found = {limit.measure: limit.by_grade[grade] for limit in LIMITS if limit.stage == group}
        for (name, measure), value in self.changes.items():
            if name in (group, stage):
                found[measure] = value
        return {measure: value for measure, value in found.items() if value is not None}


def group_of(stage: str) -> str:
    """The name that the table has for a stage: "talker-hidden-prefill-l3" without its number."""
    name, _, number = stage.rpartition("-l")
    return name if number.isdigit() else stage


def parse_threshold(text: str) -> tuple[tuple[str, Measure], float | None]:
    """What STAGE.MEASURE=VALUE sets, where VALUE is a number or "off"; raises RequestError."""
    name, _, value = text.partition("=")
    stage, _, measure = name.strip().rpartition(".")
    known = threshold_names()
    if f"{group_of(stage)}.{measure}" not in known:
        raise RequestError(
            f"There is no threshold {name!r}.", f"Choose one of: {', '.join(known)}."
        )
    if value.strip() == "off":
        return (stage, Measure(measure)), None
    try:
        limit = float(value)
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise RequestError(
            f"{value!r} is no value for the threshold {name}.", "Give a number, or off."
        )
    return (stage, Measure(measure)), limit


def threshold_names() -> tuple[str, ...]:
    """All that can be set, as STAGE.MEASURE: the measures of the table, and those like them."""
    return tuple(dict.fromkeys(_names(LIMITS)))


def _names(limits: Iterable[Limit]) -> Iterable[str]:
    for limit in limits:
        close = limit.measure not in (Measure.EXACT, Measure.SNR)
        alike = (Measure.COSINE, Measure.MAX_ABS, Measure.MEAN_ABS) if close else ()
        for measure in dict.fromkeys((limit.measure, *alike)):
            if limit.stage.startswith("stft") and measure is not Measure.COSINE:
                continue
            yield f"{limit.stage}.{measure}"
