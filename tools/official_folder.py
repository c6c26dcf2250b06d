"""Write an official checkpoint folder with the weights of a GGUF pair, to compare with its package.

    python -m tools.official_folder OUT_DIR --model TALKER.gguf --codec TOKENIZER.gguf

OUT_DIR gets what the package `qwen-tts` loads: config.json, model.safetensors and the vocabulary
of the talker, and the audio tokenizer in speech_tokenizer/. All weights become F32, whatever they
are stored as: the same function, four times as large as Q8_0. `voice-studio convert` is the
opposite.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from struct import pack
from typing import Any

import torch
from torch import Tensor

from engine.errors import ExplainedError
from engine.files import replace_file, replacing
from engine.gguf.blocks import BLOCKS
from engine.gguf.convert.folder import EMBEDDED_CODEC
from engine.gguf.convert.names import Codebook, official_name
from engine.gguf.convert.vocabulary import ADDED, NORMAL
from engine.gguf.header import TensorInfo
from engine.gguf.reader import GgufFile
from tools.official_config import CODEC_PREFIX, codec_config, generation_config, talker_config

PIECE_VALUES = 1 << 20  # held of a tensor at a time: whole blocks of every type

PROCESSOR = {
    "padding_side": "left",
    "padding_value": 0.0,
    "processor_class": "Qwen3TTSProcessor",
    "return_attention_mask": True,
}
FEATURE_EXTRACTOR = {
    "feature_extractor_type": "EncodecFeatureExtractor",
    "feature_size": 1,
    "padding_side": "right",
    "padding_value": 0.0,
    "return_attention_mask": True,
    "sampling_rate": 24000,
}


@dataclass(frozen=True, eq=False)
class NewTensor:
    """A float32 tensor to be written: `pieces` yields its values, flat, when it is its turn."""

    name: str
    shape: tuple[int, ...]
    pieces: Callable[[], Iterator[Tensor]]


def write_talker_folder(folder: Path, talker: Path, codec: Path) -> None:
    """Write the talker's folder, with the tokenizer in it.

    Raises `ModelFileError` when a file cannot be read or lacks something, and `OSError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with GgufFile.open(talker) as file:
        _write_json(folder / "generation_config.json", generation_config(file))
        _write_json(folder / "preprocessor_config.json", PROCESSOR)
        _write_vocabulary(folder, file)
        tensors = [tensor for info in file.tensors.values() for tensor in _official(file, info)]
        write_safetensors(folder / "model.safetensors", tensors)
        write_codec_folder(folder / EMBEDDED_CODEC, codec)
        # Last: a folder that has it is complete.
        _write_json(folder / "config.json", talker_config(file))


def write_codec_folder(folder: Path, codec: Path) -> None:
    """Write the folder of an audio tokenizer; raises what `write_talker_folder` does."""
    folder.mkdir(parents=True, exist_ok=True)
    with GgufFile.open(codec) as file:
        _write_json(folder / "preprocessor_config.json", FEATURE_EXTRACTOR)
        tensors = [tensor for info in file.tensors.values() for tensor in _official(file, info)]
        write_safetensors(folder / "model.safetensors", [*tensors, *_left_out(file)])
        _write_json(folder / "config.json", codec_config(file))


def write_safetensors(path: Path, tensors: Sequence[NewTensor]) -> None:
    """Write a safetensors file a piece of a tensor at a time; it appears whole or not at all."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for tensor in tensors:
        start, end = end, end + 4 * prod(tensor.shape)
        header[tensor.name] = {
            "dtype": "F32",
            "shape": tensor.shape,
            "data_offsets": [start, end],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(path) as file:
        file.write(pack("<Q", len(text)) + text)
        for tensor in tensors:
            for piece in tensor.pieces():
                file.write(piece.numpy().data)


def _official(file: GgufFile, info: TensorInfo) -> Iterator[NewTensor]:
    """The one or two official tensors that a stored one stands for."""

    def pieces() -> Iterator[Tensor]:
        size = PIECE_VALUES // info.type.block_size * info.type.block_bytes
        for start in range(0, info.nbytes, size):
            raw = torch.empty(min(size, info.nbytes - start), dtype=torch.uint8)
            file.read(info, start, raw.numpy().data)
            yield BLOCKS[info.type].dequantize(raw.unsqueeze(0))[0]

    official = official_name(info.name)
    if isinstance(official, Codebook):
        yield NewTensor(official.total, info.shape, pieces)
        yield _ones(official.usage, info.shape[:1])
    else:
        yield NewTensor(official, info.shape, pieces)


def _left_out(file: GgufFile) -> Iterator[NewTensor]:
    """What the package expects of a tokenizer, but neither speaking nor encoding uses."""
    encoder = f"{CODEC_PREFIX}encoder."
    size = file.integer(f"{encoder}codebook_size")
    width = file.integer(f"{encoder}codebook_dim")
    declared = file.integer(f"{encoder}num_quantizers") - 1
    stored = file.integer(f"{CODEC_PREFIX}encoder_valid_num_quantizers") - 1
    stem = "encoder.quantizer.{}_residual_vector_quantizer.layers.{}.codebook"
    for layer in range(stored, declared):
        yield _ones(f"{stem.format('acoustic', layer)}.embed_sum", (size, width))
        yield _ones(f"{stem.format('acoustic', layer)}.cluster_usage", (size,))
    for layer in range(declared):
        yield _ones(f"{stem.format('acoustic', layer)}.initialized", (1,))
    yield _ones(f"{stem.format('semantic', 0)}.initialized", (1,))
    for quantizer in ("first", "rest"):
        outer, inner, _ = file.tensors[f"tok_dec.vq_{quantizer}.output_proj.weight"].shape
        yield _ones(f"decoder.quantizer.rvq_{quantizer}.input_proj.weight", (inner, outer, 1))


def _ones(name: str, shape: tuple[int, ...]) -> NewTensor:
    return NewTensor(name, shape, lambda: iter((torch.ones(prod(shape)),)))


def _write_vocabulary(folder: Path, file: GgufFile) -> None:
    tokens = file.strings("tokenizer.ggml.tokens")
    types = file.integers("tokenizer.ggml.token_type")
    kinds = list(enumerate(zip(tokens, types, strict=True)))
    plain = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
    added = {
        str(index): {"content": token, **plain, "special": True}
        for index, (token, kind) in kinds
        if kind == ADDED
    }
    _write_json(
        folder / "vocab.json", {token: index for index, (token, kind) in kinds if kind == NORMAL}
    )
    _write_json(
        folder / "tokenizer_config.json",
        {
            "add_bos_token": False,
            "add_prefix_space": False,
            "added_tokens_decoder": added,
            "bos_token": None,
            "clean_up_tokenization_spaces": False,
            "eos_token": "<|im_end|>",
            "errors": "replace",
            "model_max_length": 131072,
            "pad_token": "<|endoftext|>",
            "processor_class": "Qwen3TTSProcessor",
            "tokenizer_class": "Qwen2Tokenizer",
            "unk_token": None,
        },
    )
    lines = ["#version: 0.2", *file.strings("tokenizer.ggml.merges"), ""]
    replace_file(folder / "merges.txt", "\n".join(lines).encode())


def _write_json(path: Path, value: object) -> None:
    replace_file(path, json.dumps(value, indent=1, ensure_ascii=False).encode())


def main(arguments: Sequence[str] | None = None) -> int:
    """Write what the command line asks for; returns the exit status."""
    parser = argparse.ArgumentParser(description="Turn a GGUF pair into an official folder.")
    parser.add_argument("folder", type=Path, metavar="OUT_DIR")
    parser.add_argument("--model", type=Path, required=True, metavar="GGUF", help="talker")
    parser.add_argument("--codec", type=Path, required=True, metavar="GGUF", help="tokenizer")
    options = parser.parse_args(arguments)
    try:
        write_talker_folder(options.folder, options.model, options.codec)
    except (ExplainedError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyError as error:
        print(f"The files lack {error}, which the official package asks for.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
