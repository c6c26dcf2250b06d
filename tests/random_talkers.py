"""Random talkers with rows of whole blocks, a small vocabulary, and what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from engine import Family, Sampling, SpeechRequest
from engine.gguf.layout import Size, TalkerDims, TransformerDims, Variant
from engine.gguf.reader import GgufFile
from engine.qwen3tts.engine import ModelParts, Qwen3TtsEngine
from engine.types import Codes
from tools.random_checkpoint import Choice, build_talker

TWO_BLOCKS = TransformerDims(256, 512, 2, 4, 2, 64)


def talker_dims(stack: TransformerDims = TWO_BLOCKS) -> TalkerDims:
    """Talker and code predictor of the same size."""
    return TalkerDims(
        talker=stack,
        predictor=stack,
        text_vocabulary=857,
        text_width=256,
        codec_vocabulary=1088,
        codebook_size=64,
        talker_context=256,
        predictor_context=256,
    )


def random_talker(
    folder: Path, vocabulary: Path, dims: TalkerDims, *, outliers: bool = False
) -> Path:
    """Write a custom_voice talker in F32 and return its path."""
    choice = Choice(Size.SMALL, Family.CUSTOM_VOICE, Variant.F32, outliers=outliers)
    folder.mkdir(exist_ok=True)
    with GgufFile.open(vocabulary) as file:
        return build_talker(folder, choice, dims, file)


def asked(frames: int = 6, **changes: object) -> SpeechRequest:
    """A request that such a talker can fulfil."""
    request = SpeechRequest(
        "Good evening.", speaker="eric", seeds=(7,), sampling=Sampling(max_frames=frames)
    )
    return replace(request, **changes)  # type: ignore[arg-type]


def spoken(model: ModelParts, request: SpeechRequest) -> dict[int, Codes]:
    """The codes of its takes."""
    takes: dict[int, list[Codes]] = {}
    for chunk in Qwen3TtsEngine(model).speak(request):
        takes.setdefault(chunk.take, []).append(chunk.codes)
    return {take: np.concatenate(codes) for take, codes in takes.items()}
