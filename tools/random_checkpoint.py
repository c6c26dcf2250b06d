"""Build a random Qwen3-TTS checkpoint of the true dimensions, to run the engine without a download.

    python -m tools.random_checkpoint OUT_DIR --size 0.6b --family base --type Q8_0

writes a talker and a tokenizer that speak noise. Equal seeds give equal F32 values whatever the
type, so that the same numbers can be compared in several precisions. The codec_head row of the
end-of-speech code is zero: its logit is always 0, far below the 50 likeliest codes, so speech
lasts until the frame limit. What `--outliers` does is told at `Outliers`.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeAlias

import numpy as np
from gguf import GGUFWriter
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import quantize
from numpy.typing import NDArray

from engine.errors import ExplainedError, ModelFileError
from engine.gguf.layout import (
    CodecDims,
    ExpectedTensor,
    Size,
    TalkerDims,
    Variant,
    codec_tensors,
    official_talker,
    stored_type,
    talker_tensors,
)
from engine.gguf.reader import GgufFile
from engine.types import Family
from tools.checkpoint_metadata import Metadata, codec_metadata, talker_metadata

Floats: TypeAlias = NDArray[np.float32]

WRITABLE = (Variant.F32, Variant.BF16, Variant.F16, Variant.Q8_0)
"""Variants whose every type the `gguf` package can quantise to."""

PIECE_VALUES = 1 << 22  # 16 MiB: what is held of a tensor at a time
DEFAULT_VOCABULARY = Path(__file__).parents[1] / "tests/golden/data/qwen-bpe-only.gguf.xz"


@dataclass(frozen=True)
class Recipe:
    """How the values of the tensors that match `pattern` are drawn: normal, with this mean.

    `spread` is the standard deviation, or with `per_input` that of an output for inputs of unit
    size: it is divided by the root of the number of inputs that meet in one output.
    """

    pattern: str
    spread: float
    mean: float = 0.0
    per_input: bool = False


# The first match counts. Spreads were chosen by running the models: hidden states stay near 1,
# the codec's encoder uses many codes, the audio has an RMS of some 0.1 and does not clip.
RECIPES = (
    Recipe("*.bias", 0.02),
    Recipe("*norm.weight", 0.1, mean=1.0),
    # Embeddings: 15 acoustic codes are added to a first code and a text row of similar size.
    Recipe("talker.text_embd.weight", 1.0),
    Recipe("talker.codec_embd.weight", 0.5),
    Recipe("code_pred.codec_embd.*", 0.15),
    # Logits: a spread of 2 makes a draw from the 50 likeliest neither certain nor uniform.
    Recipe("talker.codec_head.weight", 2.0, per_input=True),
    Recipe("code_pred.lm_head.*", 2.0, per_input=True),
    # Residual branches: small, as 28 blocks add up.
    Recipe("talker.blk.*.attn_output.weight", 0.5, per_input=True),
    Recipe("talker.blk.*.ffn_down.weight", 0.3, per_input=True),
    Recipe("code_pred.blk.*.attn_output.weight", 0.5, per_input=True),
    Recipe("code_pred.blk.*.ffn_down.weight", 0.5, per_input=True),
    # Log-mel values reach -11.5, so the first layer is small; ReLU halves the power after it.
    Recipe("spk_enc.conv0.weight", 0.2, per_input=True),
    Recipe("spk_enc.fc.weight", 0.12, per_input=True),
    Recipe("spk_enc.*.weight", 1.4, per_input=True),
    # Codec.
    Recipe("tok_*.attn_scale", 0.003, mean=0.01),
    Recipe("tok_*.ffn_scale", 0.003, mean=0.01),
    Recipe("tok_dec.upsample.*.gamma", 0.03, mean=0.1),
    Recipe("tok_*.0.codebook", 1.0),
    Recipe("tok_*.codebook", 0.5),
    Recipe("*.alpha", 0.2),
    Recipe("*.beta", 0.2),
    Recipe("tok_dec.dec.*.res.*.conv2.weight", 0.3, per_input=True),
    Recipe("tok_dec.dec.6.conv.weight", 0.04, per_input=True),
    Recipe("tok_enc.conv.0.weight", 20.0, per_input=True),
    Recipe("*.weight", 1.0, per_input=True),
)


@dataclass(frozen=True)
class Outliers:
    """Makes a few channels of the talker's normalised activations a hundred times too large.

    In all blocks the weights of `attn_norm` and `ffn_norm` grow by `factors` in `channels`, as
    is found in real Qwen checkpoints, and the columns of attn_q/k/v and ffn_gate/up that read
    these channels shrink by the same. Factors are powers of two: in F32 and BF16 the function
    stays the same to the last bit but for the order of sums, while whatever rounds activations
    or blocks of weights by their largest value loses precision.
    """

    channels: tuple[int, ...]
    factors: tuple[float, ...] = (128.0, 256.0, 512.0, 1024.0)

    @classmethod
    def drawn(cls, width: int, seed: int) -> Outliers:
        channels = _generator("outliers", seed).choice(width, len(cls.factors), replace=False)
        return cls(tuple(int(channel) for channel in channels))

    def plant(self, name: str, rows: Floats) -> None:
        """Change `rows` of that tensor in place: [n] of a vector, [n, width] of a matrix."""
        if not name.startswith("talker.blk."):
            return
        if name.endswith(("attn_norm.weight", "ffn_norm.weight")):
            rows[list(self.channels)] *= self.factors
        elif name.split(".")[3] in ("attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up"):
            rows[:, list(self.channels)] /= self.factors


@dataclass(frozen=True)
class Draw:
    """Where the values of a checkpoint come from."""

    seed: int
    silent_code: int = 0  # the end of speech: its row of codec_head is zero
    outliers: Outliers | None = None

    def pieces(self, tensor: ExpectedTensor) -> Iterator[Floats]:
        """The tensor's values, some rows at a time: [n, ...] of [rows, ...], or all of [n]."""
        name, shape = tensor
        recipe = next(recipe for recipe in RECIPES if fnmatchcase(name, recipe.pattern))
        spread = recipe.spread / math.sqrt(_inputs(tensor)) if recipe.per_input else recipe.spread
        generator = _generator(name, self.seed)
        step = max(1, PIECE_VALUES // math.prod(shape[1:])) if len(shape) > 1 else shape[0]
        for first in range(0, shape[0], step):
            count = min(step, shape[0] - first)
            rows = generator.standard_normal((count, *shape[1:]), dtype=np.float32)
            rows *= np.float32(spread)
            if recipe.mean:
                rows += np.float32(recipe.mean)
            if name == "talker.codec_head.weight" and first <= self.silent_code < first + count:
                rows[self.silent_code - first] = 0
            if self.outliers is not None:
                self.outliers.plant(name, rows)
            yield rows


def _generator(name: str, seed: int) -> np.random.Generator:
    digest = hashlib.sha256(name.encode()).digest()
    entropy = [seed, int.from_bytes(digest[:8], "little")]
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(entropy)))


def _inputs(tensor: ExpectedTensor) -> int:
    """How many inputs are summed in one output of a linear or conv layer."""
    name, shape = tensor
    if ".conv_t." in name:  # kernel = 2 strides, so two taps of every input channel meet
        return 2 * shape[0]
    if name.startswith("tok_dec.upsample.") and name.endswith(".conv.weight"):
        return shape[0]  # kernel = stride
    return math.prod(shape[1:])


def write_checkpoint(
    path: Path, metadata: Metadata, tensors: Sequence[ExpectedTensor], variant: Variant, draw: Draw
) -> None:
    """Write one GGUF file, a piece of a tensor at a time; it appears whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    writer = GGUFWriter(partial, str(dict(metadata)["general.architecture"]))
    try:
        for key, value in metadata[1:]:  # the writer has added the architecture itself
            _add(writer, key, value)
        for name, shape in tensors:
            kind = stored_type(name, shape, variant)
            block, block_bytes = GGML_QUANT_SIZES[kind]
            nbytes = math.prod(shape) // block * block_bytes
            writer.add_tensor_info(name, shape, np.dtype(np.float32), nbytes, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        assert writer.fout is not None
        file = writer.fout[0]
        # `write_tensor_data` takes whole tensors only; text_embd alone has 1.2 GB.
        for tensor in tensors:
            writer.write_padding(file, file.tell())
            kind = stored_type(*tensor, variant)
            for rows in draw.pieces(tensor):
                # Flat rows: the package takes 16 at a time, and a kernel may be 1 wide.
                quantize(rows.reshape(len(rows), -1) if rows.ndim > 2 else rows, kind).tofile(file)
        writer.write_padding(file, file.tell())
        writer.close()
        os.replace(partial, path)
    finally:
        writer.close()
        partial.unlink(missing_ok=True)


def _add(writer: GGUFWriter, key: str, value: object) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        assert isinstance(value, tuple), f"{key} has no GGUF type"
        writer.add_array(key, value)


@dataclass(frozen=True)
class Choice:
    """Which checkpoint to build."""

    size: Size
    family: Family
    variant: Variant
    seed: int = 0
    outliers: bool = False


def build_talker(directory: Path, choice: Choice, dims: TalkerDims, vocabulary: GgufFile) -> Path:
    """Write the talker of `choice` in `dims` and return its path.

    Raises `ModelFileError` when the vocabulary does not serve.
    """
    metadata = talker_metadata(choice.size, choice.family, dims, choice.variant, vocabulary)
    silent_code = dict(metadata)["qwen3-tts.codec.eos_id"]
    assert isinstance(silent_code, int)
    outliers = Outliers.drawn(dims.talker.width, choice.seed) if choice.outliers else None
    family = choice.family.value.replace("_", "")
    path = directory / f"qwen-talker-{choice.size}-{family}-{choice.variant.name}.gguf"
    draw = Draw(choice.seed, silent_code, outliers)
    write_checkpoint(path, metadata, list(talker_tensors(dims)), choice.variant, draw)
    return path


def build_codec(directory: Path, choice: Choice, dims: CodecDims) -> Path:
    """Write the tokenizer in `dims` with the variant and seed of `choice`; return its path."""
    path = directory / f"qwen-tokenizer-12hz-{choice.variant.name}.gguf"
    metadata = codec_metadata(dims, choice.variant)
    write_checkpoint(path, metadata, list(codec_tensors(dims)), choice.variant, Draw(choice.seed))
    return path


@contextmanager
def open_vocabulary(path: Path) -> Iterator[GgufFile]:
    """Open a GGUF file, also one compressed as `.xz`.

    Raises `ModelFileError` when it cannot be read.
    """
    with tempfile.TemporaryDirectory() as directory:
        plain = path
        if path.suffix == ".xz":
            plain = Path(directory) / path.stem
            try:
                with lzma.open(path) as packed, plain.open("wb") as unpacked:
                    shutil.copyfileobj(packed, unpacked)
            except (OSError, EOFError, lzma.LZMAError) as error:
                message = f"{path} cannot be unpacked: {error}."
                raise ModelFileError(message, "Choose another --vocabulary.") from error
        with GgufFile.open(plain) as vocabulary:
            yield vocabulary


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what the command line asks for; returns the exit status."""
    parser = argparse.ArgumentParser(description="Build a random Qwen3-TTS checkpoint pair.")
    parser.add_argument("directory", type=Path, metavar="OUT_DIR")
    parser.add_argument("--size", choices=list(Size), default=Size.SMALL)
    parser.add_argument("--family", choices=list(Family), default=Family.BASE)
    names = [variant.name for variant in WRITABLE]
    parser.add_argument("--type", choices=names, default=Variant.Q8_0.name)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--vocabulary", type=Path, default=DEFAULT_VOCABULARY)
    parser.add_argument("--outliers", action="store_true", help="plant activation outliers")
    options = parser.parse_args(arguments)
    size, family = Size(options.size), Family(options.family)
    if size is Size.SMALL and family is Family.VOICE_DESIGN:
        parser.error("voice_design exists in 1.7b only")
    if options.seed < 0:
        parser.error("--seed must not be negative")
    choice = Choice(size, family, Variant[options.type], options.seed, options.outliers)
    try:
        options.directory.mkdir(parents=True, exist_ok=True)
        with open_vocabulary(options.vocabulary) as vocabulary:
            dims = official_talker(size, family)
            _report(lambda: build_talker(options.directory, choice, dims, vocabulary))
        _report(lambda: build_codec(options.directory, choice, CodecDims()))
    except (ExplainedError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _report(build: Callable[[], Path]) -> None:
    start = time.monotonic()
    path = build()
    print(f"{path}  {path.stat().st_size / 1e9:.2f} GB  {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
