"""Write what was trained as GGUF files that the engine loads like any other.

    python -m tools.own_voice.export WORK_DIR OUT_DIR

writes the tokenizer from `waveform.pt` and the talkers from `talker.pt` and `speaker_encoder.pt`,
if there is a talker.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch
from gguf.constants import GGMLQuantizationType
from gguf.quants import quantize
from torch import Tensor

from engine.gguf.header import SHARED_TENSORS, TENSORS_DIGEST, TENSORS_FROM, TensorType
from engine.gguf.layout import (
    CodecDims,
    ExpectedTensor,
    Size,
    TalkerDims,
    Variant,
    codec_tensors,
    stored_type,
    talker_tensors,
)
from engine.gguf.reader import GgufFile, Value
from engine.gguf.writer import NewTensor, pack_metadata, write_gguf
from engine.qwen3tts.config import NON_STREAMING, X_VECTOR_ONLY
from engine.types import DEMO_CODEC, Family
from tools.checkpoint_metadata import Metadata, codec_metadata, talker_metadata
from tools.own_voice.codec import SmallCodec
from tools.own_voice.dims import CODEC, SPEAKER_ENCODER, SPOKEN_BOOKS, TALKER, WINDOW
from tools.own_voice.prompts import ENGLISH
from tools.own_voice.teacher_voices import SHIPPED_NAMES, SPEAKER_IDS
from tools.own_voice.train_speaker_encoder import VoiceLearner, load_speaker_encoder
from tools.own_voice.train_talker import TalkerLearner, load_talker
from tools.own_voice.vocabulary import SmallVocabulary

NAMES = {
    Family.CUSTOM_VOICE: "Demonstration voice",
    Family.VOICE_DESIGN: "Demonstration voice, designed",
    Family.BASE: "Demonstration voice, cloned",
}
CODEC_NAME = ("studio.codec_name", DEMO_CODEC)
"""Tells talker and tokenizer that they belong together."""

FILES = {Family.CUSTOM_VOICE: "speakers", Family.VOICE_DESIGN: "design", Family.BASE: "clone"}
"""What the talkers are called: the same weights, told in three ways whose voice to speak with. The
first file holds them, the others take them from it."""

SPEAKER_ENCODER_STEM = "spk_enc."

SAMPLING = {
    "generation.temperature": 0.3,
    "generation.repetition_penalty": 1.0,
    "generation.top_k": 20,
    "generation.subtalker_do_sample": False,
}
"""What the small talkers recommend: a warm draw stumbles."""

FOR_ZEROS = (TensorType.Q4_K, TensorType.Q4_0, TensorType.F16)
"""Types in which zero bytes are zeros, the smallest first.

Tables of the code predictor, 256 wide, must be of a type that the native step reads.
"""


def codec_values(codec: SmallCodec, dims: CodecDims, spoken_books: int) -> dict[str, Tensor]:
    """Every tensor of the tokenizer file, by name.

    Normalisation goes into the encoder's projections and first entries. Entry 0 of the books that
    the talker does not speak is zero, so that code 0 adds nothing.
    """
    values = {name: value for name, value in codec.state_dict().items() if name.startswith("tok_")}
    width = dims.encoder.transformer.width
    names = {
        "vq_first": ("vq_semantic", codec.semantic),
        "vq_rest": ("vq_acoustic", codec.acoustic),
    }
    for decoding, (encoding, quantizer) in names.items():
        values[f"tok_dec.{decoding}.output_proj.weight"] = quantizer.output_proj.weight
        projection = quantizer.input_proj.weight
        values[f"tok_enc.{encoding}.input_proj.weight"] = projection / quantizer.spread
        values[f"tok_enc.{encoding}.output_proj.weight"] = torch.zeros(width, len(projection), 1)
        before = 0 if decoding == "vq_first" else 1  # books that come before this quantiser's
        for index in range(1 if decoding == "vq_first" else dims.codebooks - 1):
            entries = torch.zeros(dims.codebook_size, len(projection))
            if index < len(quantizer.chain):
                entries = quantizer.chain[index].codebook.clone()
                if before + index >= spoken_books:
                    entries[0] = 0
            values[f"tok_dec.{decoding}.{index}.codebook"] = entries
            shift = quantizer.mean / quantizer.spread if index == 0 else 0.0
            values[f"tok_enc.{encoding}.{index}.codebook"] = entries + shift
    return values


def talker_values(learner: TalkerLearner, spoken_books: int) -> dict[str, Tensor]:
    """Every tensor of the talker file, by name.

    The tables of the books that are not spoken are zero: a greedy draw takes their code 0, and it
    adds nothing to what the talker reads.
    """
    values = dict(learner.speaker.state_dict())
    for group in range(spoken_books - 1, TALKER.code_groups - 1):
        for table in ("codec_embd", "lm_head"):
            name = f"code_pred.{table}.{group}.weight"
            if name in values:
                values[name] = torch.zeros_like(values[name])
    return values


def speaker_encoder_values(learner: TalkerLearner, voices: VoiceLearner) -> dict[str, Tensor]:
    """Every tensor of the speaker encoder, by name; its last layer is the product of two."""
    values = {
        name: value
        for name, value in voices.state_dict().items()
        if name.startswith(SPEAKER_ENCODER_STEM)
    }
    inner, outer = voices.bottleneck, learner.x_vector
    values["spk_enc.fc.weight"] = (outer.weight @ inner.weight)[..., None]
    values["spk_enc.fc.bias"] = outer(inner.bias)
    return values


def talker_file_tensors(dims: TalkerDims, family: Family) -> Iterator[ExpectedTensor]:
    """The tensors that a talker file holds itself."""
    if family is Family.CUSTOM_VOICE:
        yield from talker_tensors(dims)
    elif family is Family.BASE:
        with_encoder = dataclasses.replace(dims, speaker_encoder=SPEAKER_ENCODER)
        for tensor in talker_tensors(with_encoder):
            if tensor.name.startswith(SPEAKER_ENCODER_STEM):
                yield tensor


def talker_file(family: Family, variant: Variant) -> str:
    return f"demo-talker-{FILES[family]}-{variant.name}.gguf"


def write_file(
    target: Path,
    metadata: Metadata,
    tensors: Iterator[ExpectedTensor],
    values: dict[str, Tensor],
    variant: Variant,
) -> None:
    """Write `values` in the order of the layout, each as small as it may be."""
    new = []
    for name, shape in tensors:
        value = values[name].detach().float().numpy()
        assert value.shape == shape, f"{name} is {value.shape}, not {shape}"
        shared = ""
        rows = value.reshape(-1, shape[-1]) if value.ndim > 1 else value
        if value.ndim > 1 and not value.any():
            kind = next(kind for kind in FOR_ZEROS if shape[-1] % kind.block_size == 0)
            packed = bytes(value.size // kind.block_size * kind.block_bytes)
            shared = f"{len(packed)} zeros"
        else:
            kind = TensorType(stored_type(name, shape, variant))
            if name.endswith(".codebook") and variant is not Variant.F32:  # F32 in other files
                kind = TensorType.F16
            packed = quantize(np.ascontiguousarray(rows), GGMLQuantizationType(kind)).tobytes()
        new.append(NewTensor(name, kind, shape, partial(_piece, packed), shared))
    write_gguf(target, pack_metadata(metadata), new)


def _piece(packed: bytes) -> Iterator[memoryview]:
    yield memoryview(packed)


def replaced(metadata: Metadata, changes: dict[str, Value]) -> Metadata:
    """`metadata` with other values for the keys of `changes`, all of which it must have."""
    known = {key for key, _ in metadata}
    assert set(changes) <= known, set(changes) - known
    return [(key, changes.get(key, value)) for key, value in metadata]


def small_codec_metadata(dims: CodecDims, variant: Variant) -> Metadata:
    metadata = replaced(
        codec_metadata(dims, variant),
        {
            "general.name": "Codec of the demonstration voice",
            "qwen3-tts-tokenizer.decoder.sliding_window": WINDOW,
            "qwen3-tts-tokenizer.encoder.num_quantizers": dims.codebooks,
        },
    )
    return [*metadata, CODEC_NAME, (SHARED_TENSORS, True)]


def small_talker_metadata(
    dims: TalkerDims, variant: Variant, family: Family, holder: Path
) -> Metadata:
    """Of a talker file; the weights are in `holder`, which is there if it is another file."""
    speakers: dict[str, Value] = {}
    own: Metadata = [CODEC_NAME, (SHARED_TENSORS, True)]
    if family is not Family.CUSTOM_VOICE:
        with GgufFile.open(holder) as file:
            own += [(TENSORS_FROM, holder.name), (TENSORS_DIGEST, file.digest())]
    if family is Family.BASE:
        own += [(NON_STREAMING, True), (X_VECTOR_ONLY, True)]
        dims = dataclasses.replace(dims, speaker_encoder=SPEAKER_ENCODER)
    if family is Family.CUSTOM_VOICE:
        names = {name: SPEAKER_IDS[voice] for voice, name in SHIPPED_NAMES.items()}
        speakers = {
            "qwen3-tts.codec.speaker_names": tuple(names),
            "qwen3-tts.codec.speaker_ids": tuple(names.values()),
            "qwen3-tts.codec.speaker_dialects": ("",) * len(names),
        }
    metadata = replaced(
        talker_metadata(Size.SMALL, family, dims, variant, SmallVocabulary()),
        {
            "general.name": NAMES[family],
            "qwen3-tts.model_size": "demo",
            **speakers,
            "qwen3-tts.codec.language_names": ("english",),
            "qwen3-tts.codec.language_ids": (ENGLISH,),
            **SAMPLING,
        },
    )
    return [*metadata, *own]


def export_codec(work: Path, target: Path, variant: Variant) -> None:
    codec = SmallCodec()
    codec.load_state_dict(torch.load(work / "waveform.pt")["codec"])
    values = codec_values(codec, CODEC, SPOKEN_BOOKS)
    write_file(target, small_codec_metadata(CODEC, variant), codec_tensors(CODEC), values, variant)


def export_talkers(work: Path, out: Path, variant: Variant) -> None:
    """Write a talker file for every family."""
    learner = load_talker(work)
    values = talker_values(learner, SPOKEN_BOOKS)
    values |= speaker_encoder_values(learner, load_speaker_encoder(work))
    holder = out / talker_file(Family.CUSTOM_VOICE, variant)
    for family in FILES:
        target = out / talker_file(family, variant)
        metadata = small_talker_metadata(TALKER, variant, family, holder)
        write_file(target, metadata, talker_file_tensors(TALKER, family), values, variant)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if (given.work / "talker.pt").exists():
        export_talkers(given.work, given.out, Variant.Q8_0)
    export_codec(given.work, given.out / "demo-tokenizer-F16.gguf", Variant.F16)
    for file in sorted(given.out.glob("*.gguf")):
        print(f"{file} {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
