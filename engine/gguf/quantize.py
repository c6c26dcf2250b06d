"""Makes the smaller variants of a model file: BF16, Q8_0 and Q4_K_M out of F32 or BF16."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from engine.errors import ModelFileError
from engine.gguf.blocks import BLOCKS
from engine.gguf.header import TensorInfo, TensorType, quoted
from engine.gguf.kquants import LARGEST, quantize
from engine.gguf.layout import Variant, stored_type
from engine.gguf.reader import GgufFile
from engine.gguf.writer import (
    NewTensor,
    copied_metadata,
    refuse_to_replace,
    with_file_type,
    write_gguf,
)
from engine.types import CancelToken, Progress

PIECE_VALUES: Final = 1 << 20
"""Values held at a time: whole blocks of every type, the pace of progress and cancelling."""

_PLAIN: Final = (TensorType.F32, TensorType.BF16, TensorType.F16)
_ARCHITECTURES: Final = ("qwen3-tts", "qwen3-tts-tokenizer")
_BFLOAT16_LARGEST: Final = torch.finfo(torch.bfloat16).max


def variant_path(source: Path, variant: Variant) -> Path:
    """Where the variant of `source` belongs: `x-F32.gguf` becomes `x-Q8_0.gguf`."""
    stem = source.stem
    for ending in (Variant.F32, Variant.BF16):
        stem = stem.removesuffix(f"-{ending.name}")
    return source.with_name(f"{stem}-{variant.name}.gguf")


def quantize_file(
    source: Path,
    target: Path,
    variant: Variant,
    *,
    force: bool = False,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> None:
    """Write `target` as the `variant` of the talker or tokenizer file `source`.

    What becomes of each tensor is told by `engine.gguf.layout.stored_type`; the metadata is copied
    as it is but for the file type. `progress` is told (bytes written, bytes to write).

    Raises `ModelFileError` when `source` cannot be read, is quantised already or no model of ours,
    holds values that the type cannot express, or when `target` exists and not `force` or cannot be
    written; `Cancelled` when told to stop. Whatever goes wrong, `target` stays as it was.
    """
    with GgufFile.open(source) as file:
        if target.exists() and any(target.samefile(path) for path in file.paths):
            message = f"{source} cannot be replaced by its own quantised form."
            raise ModelFileError(message, "Choose another name for the new file.")
        refuse_to_replace(target, force=force)
        _check_source(file)
        tensors = [_new_tensor(file, info, variant) for info in file.tensors.values()]
        metadata = with_file_type(copied_metadata(source), variant.name)
        write_gguf(target, metadata, tensors, progress, cancel)


def told_unfitting(path: Path, variant: Variant) -> str:
    """How many tensors of a file were to become `variant` but are F16, in a sentence.

    Those are the ones whose rows do not fill whole blocks. Empty if there are none. Raises
    ModelFileError.
    """
    with GgufFile.open(path) as file:
        kinds = Counter(info.type for info in file.tensors.values())
    left = kinds[TensorType.F16]
    wanted = {int(variant.matrices), int(variant.embeddings)}
    total = left + sum(count for kind, count in kinds.items() if int(kind) in wanted)
    if not left:
        return ""
    return f"note: {left} of {total} tensors do not fit the blocks of {variant.name}: they are F16."


def stored_bytes(values: Tensor, kind: TensorType, where: str) -> memoryview:
    """The stored form of float32 `values` [n], whole blocks of `kind`.

    Raises `ModelFileError`, with the file and tensor given in `where`, when `kind` cannot express
    them.
    """
    if kind is not TensorType.F32:
        limit = _BFLOAT16_LARGEST if kind is TensorType.BF16 else LARGEST
        largest = float(values.abs().max())
        if not largest <= limit:  # also if it is not a number
            message = f"{where} holds the value {largest:g}, which {kind.name} cannot express."
            raise ModelFileError(message, "The source is damaged or was trained wrongly.")
    return quantize(values.unsqueeze(0), kind).flatten().numpy().data


def _check_source(file: GgufFile) -> None:
    architecture = file.string("general.architecture")
    if architecture not in _ARCHITECTURES:
        raise ModelFileError(
            f"{file.path} holds a model of the architecture {quoted(architecture)}, for which "
            "there is no rule what may be quantised.",
            "Choose a Qwen3-TTS talker or tokenizer.",
        )
    for info in file.tensors.values():
        if info.type not in _PLAIN:
            raise ModelFileError(
                f"{file.path} is quantised already ({quoted(info.name)} is {info.type.name}).",
                "Quantising twice adds up the errors: start from the F32 or BF16 file.",
            )


def _new_tensor(file: GgufFile, info: TensorInfo, variant: Variant) -> NewTensor:
    kind = TensorType(int(stored_type(info.name, info.shape, variant)))
    return NewTensor(info.name, kind, info.shape, lambda: _pieces(file, info, kind))


def _pieces(file: GgufFile, info: TensorInfo, kind: TensorType) -> Iterator[memoryview]:
    """The tensor as `kind`. Rows are whole blocks, so blocks can be counted through all rows."""
    where = f"{file.path}: tensor {quoted(info.name)}"
    piece_bytes = PIECE_VALUES * info.type.block_bytes
    for start in range(0, info.nbytes, piece_bytes):
        raw = torch.empty(min(piece_bytes, info.nbytes - start), dtype=torch.uint8)
        file.read(info, start, raw.numpy().data)
        if kind is info.type:
            yield raw.numpy().data
        else:
            values = BLOCKS[info.type].dequantize(raw.unsqueeze(0))[0]
            yield stored_bytes(values, kind, where)
