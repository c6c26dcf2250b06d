"""Converts one official checkpoint folder to one GGUF file, with bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from engine.errors import ModelFileError
from engine.gguf.convert import codec, talker
from engine.gguf.convert.names import Codebook, is_unused, official_name
from engine.gguf.convert.settings import Settings
from engine.gguf.convert.tensors import CheckpointTensors
from engine.gguf.header import TensorType, quoted
from engine.gguf.layout import ExpectedTensor, Variant, codec_tensors, stored_type, talker_tensors
from engine.gguf.quantize import PIECE_VALUES, stored_bytes
from engine.gguf.reader import Value
from engine.gguf.writer import (
    NewTensor,
    pack_metadata,
    refuse_to_replace,
    with_file_type,
    write_gguf,
)
from engine.types import CancelToken, Progress

EMBEDDED_CODEC: Final = "speech_tokenizer"
"""Where a talker folder keeps a copy of the audio tokenizer."""

_SMALLEST_USAGE: Final = 1e-5  # of a codebook entry; the constant of the official code
_SHOWN_NAMES: Final = 5


@dataclass(frozen=True)
class Conversion:
    """A folder that was understood: what it holds and what its file is to be called."""

    folder: Path
    stem: str  # file name without variant
    metadata: Sequence[tuple[str, Value]]
    is_codec: bool
    config: Settings

    def file_name(self, variant: Variant) -> str:
        return f"{self.stem}-{variant.name}.gguf"


def read_folder(folder: Path) -> Conversion:
    """Look at the config files of a talker or tokenizer folder.

    Raises `ModelFileError` when it is neither, or one of these files is missing or damaged.
    """
    if not folder.is_dir():
        raise ModelFileError(f"{folder} is no folder.", "Choose the folder of a checkpoint.")
    config = Settings.read(folder / "config.json")
    kind = config.string("model_type")
    if kind == talker.MODEL_TYPE:
        metadata = talker.talker_metadata(folder, config)
        return Conversion(folder, talker.talker_stem(config), metadata, False, config)
    if kind == codec.MODEL_TYPE:
        return Conversion(folder, codec.STEM, codec.codec_metadata(config), True, config)
    raise ModelFileError(
        f"{config.path} is of a model of the type {quoted(kind)}.",
        f"Types read here are {talker.MODEL_TYPE!r} and {codec.MODEL_TYPE!r}.",
    )


def convert_folder(
    conversion: Conversion,
    target: Path,
    variant: Variant,
    *,
    force: bool = False,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> tuple[str, ...]:
    """Write the tensors and metadata of the folder to `target`.

    Returns the names of tensors that a talker folder holds and no talker file has (extensions of
    other programs); in a tokenizer folder such tensors are an error. Types are those of
    `engine.gguf.layout.stored_type`; BF16 values become F32 exactly. `progress` is told (bytes
    written, bytes to write).

    Raises `ModelFileError` when tensors are missing, have other shapes than the config tells or
    values that the type cannot express, or when `target` exists and not `force` or cannot be
    written; `Cancelled` when told to stop. Whatever goes wrong, `target` stays as it was.
    """
    refuse_to_replace(target, force=force)
    with CheckpointTensors(conversion.folder) as source:
        wanted, left = _checked(source, _wanted(conversion, source))
        if left and conversion.is_codec:
            names = ", ".join(map(quoted, left[:_SHOWN_NAMES]))
            raise ModelFileError(
                f"{conversion.folder} holds tensors that do not belong in a tokenizer: {names}.",
                "Choose the official tokenizer folder.",
                detail="\n".join(left),
            )
        tensors = [_new_tensor(source, tensor, variant) for tensor in wanted]
        metadata = pack_metadata(conversion.metadata)
        if variant is not Variant.F32:
            metadata = with_file_type(metadata, variant.name)
        write_gguf(target, metadata, tensors, progress, cancel)
    return left


def _wanted(conversion: Conversion, source: CheckpointTensors) -> Iterator[ExpectedTensor]:
    if conversion.is_codec:
        return codec_tensors(codec.codec_dims(conversion.config))
    speaker_encoder = any(name.startswith(f"{talker.SPEAKER_ENCODER}.") for name in source.names())
    dims = talker.talker_dims(conversion.config, speaker_encoder=speaker_encoder)
    return talker_tensors(dims)


def _checked(
    source: CheckpointTensors, tensors: Iterator[ExpectedTensor]
) -> tuple[list[ExpectedTensor], tuple[str, ...]]:
    """The tensors, all of them there, and the names left over and not known to be unused."""
    wanted: list[ExpectedTensor] = []
    left = set(source.names())
    for tensor in tensors:  # as many as config.json claims: stops at the first that is missing
        official = official_name(tensor.name)
        if isinstance(official, Codebook):
            source.check(official.total, tensor.shape)
            source.check(official.usage, tensor.shape[:1])
            left -= set(official)
        else:
            source.check(official, tensor.shape)
            left.discard(official)
        wanted.append(tensor)
    return wanted, tuple(sorted(name for name in left if not is_unused(name)))


def _new_tensor(source: CheckpointTensors, tensor: ExpectedTensor, variant: Variant) -> NewTensor:
    kind = TensorType(int(stored_type(tensor.name, tensor.shape, variant)))

    def pieces() -> Iterator[memoryview]:
        official = official_name(tensor.name)
        if isinstance(official, Codebook):
            values = _fused(source.whole(official.total), source.whole(official.usage))
            yield stored_bytes(values.reshape(-1), kind, source.where(official.total))
            return
        for values in source.pieces(official, PIECE_VALUES):
            yield stored_bytes(values, kind, source.where(official))

    return NewTensor(tensor.name, kind, tensor.shape, pieces)


def _fused(total: Tensor, usage: Tensor) -> Tensor:
    """The vectors of a codebook [entries, width], in float32 as the running averages they are."""
    return total / torch.clamp(usage, min=_SMALLEST_USAGE).unsqueeze(1)
