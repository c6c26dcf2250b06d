"""Names three ways of sampling, so that nobody has to know what top-k is."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from engine import Sampling


class Preset(StrEnum):
    """How far takes of the same text may differ."""

    STEADY = "steady"
    NATURAL = "natural"
    WILD = "wild"


# Talker temperature and top-k decide how the line is spoken, those of the predictor only its fine
# sound, where less than about 0.6 turns metallic; so the predictor moves less.
_TALKER: Final = MappingProxyType({Preset.STEADY: (0.6, 20), Preset.WILD: (1.15, 100)})
_PREDICTOR: Final = MappingProxyType({Preset.STEADY: (0.75, 50), Preset.WILD: (1.0, 50)})


def preset_sampling(preset: Preset, default: Sampling) -> Sampling:
    """The knobs of a preset; Natural is what the model was published with.

    Frame limits and the repetition penalty always stay those of `default`.
    """
    talker, predictor = default.talker, default.predictor
    if preset is Preset.NATURAL:
        return default
    temperature, top_k = _TALKER[preset]
    talker = replace(talker, greedy=False, temperature=temperature, top_k=top_k)
    temperature, top_k = _PREDICTOR[preset]
    predictor = replace(predictor, greedy=False, temperature=temperature, top_k=top_k)
    return replace(default, talker=talker, predictor=predictor)


def matching_preset(sampling: Sampling, default: Sampling) -> Preset | None:
    """The preset that has exactly these knobs, None if somebody turned one."""
    for preset in Preset:
        if preset_sampling(preset, default) == sampling:
            return preset
    return None
