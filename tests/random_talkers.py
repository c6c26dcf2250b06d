"""Random talkers with rows of whole blocks, and with the vocabulary of a small checkpoint."""

from __future__ import annotations

from pathlib import Path

from engine import Family
from engine.gguf.layout import Size, TalkerDims, TransformerDims, Variant
from engine.gguf.reader import GgufFile
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
