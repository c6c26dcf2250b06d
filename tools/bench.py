"""Build a random checkpoint of the true dimensions, if it is not there, and benchmark with it.

    python -m tools.bench WORK_DIR --type Q8_0 --threads 1,2
    python -m tools.bench WORK_DIR --type Q4_K_M --growth --rounds 1
    python -m tools.bench WORK_DIR --official oracle/bin/python --qwentts-cpp peers/bin/python

Run it in the root of the repository. Model files, a voice and, for the official package, a folder
with the same weights stay in WORK_DIR for the next time: 1 to 9 GB. Whatever is not an option here
is one of `voice-studio bench`. The scripts in tools/peers tell how to set up their environments.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from engine.cli import bench
from engine.errors import ExplainedError
from engine.families import ModelPair, describe_model
from engine.gguf.layout import CodecDims, Size, Variant, official_talker
from engine.gguf.quantize import quantize_file, variant_path
from engine.types import Family
from engine.voices import write_embedding
from tools.official_folder import write_talker_folder
from tools.random_checkpoint import (
    DEFAULT_VOCABULARY,
    WRITABLE,
    Choice,
    build_codec,
    build_talker,
    open_vocabulary,
)

PEERS = Path(__file__).parent / "peers"


def model_pair(folder: Path, size: Size, variant: Variant) -> ModelPair:
    """A random base talker and tokenizer in `folder`, made if they are not there.

    Raises `ExplainedError` and `OSError` when they cannot be.
    """
    folder.mkdir(parents=True, exist_ok=True)
    first = variant if variant in WRITABLE else Variant.F32  # what others are quantised from
    choice = Choice(size, Family.BASE, first)

    def talker() -> None:
        with open_vocabulary(DEFAULT_VOCABULARY) as vocabulary:
            build_talker(folder, choice, official_talker(size, Family.BASE), vocabulary)

    def codec() -> None:
        build_codec(folder, choice, CodecDims())

    stems = f"qwen-talker-{size}-base", "qwen-tokenizer-12hz"
    files = [
        _variant(folder / f"{stem}-{first.name}.gguf", variant, build)
        for stem, build in zip(stems, (talker, codec), strict=True)
    ]
    return ModelPair(*files)


def voice_file(folder: Path, width: int) -> Path:
    """A random speaker embedding [width], as large as an embedded code."""
    path = folder / f"voice-{width}.spk"
    if not path.exists():
        drawn = np.random.default_rng(0).standard_normal(width, dtype=np.float32)
        write_embedding(path, drawn * np.float32(0.5))
    return path


def official_folder(folder: Path, pair: ModelPair) -> Path:
    """A folder for the official package with the weights of `pair`, made if it is not there."""
    path = folder / f"{pair.talker.stem}-official"
    if not (path / "config.json").exists():
        _say(f"Building {path}")
        write_talker_folder(path, pair.talker, pair.codec)
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what is missing and run the benchmark; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("folder", type=Path, metavar="WORK_DIR")
    parser.add_argument("--size", type=Size, choices=list(Size), default=Size.SMALL)
    names = [variant.name for variant in (*WRITABLE, Variant.Q4_K_M)]
    parser.add_argument("--type", choices=names, default=Variant.Q8_0.name)
    parser.add_argument("--official", metavar="PYTHON", help="of an environment with qwen-tts")
    parser.add_argument("--qwentts-cpp", metavar="PYTHON", help="of one with qwentts.cpp")
    options, rest = parser.parse_known_args(arguments)
    try:
        pair = model_pair(options.folder, options.size, Variant[options.type])
        voice = voice_file(options.folder, describe_model(pair.talker).width)
        peers = []
        if options.qwentts_cpp:
            script = [options.qwentts_cpp, PEERS / "qwentts_cpp.py"]
            peers += ["--peer", f"qwentts.cpp={shlex.join(map(str, script))}"]
        if options.official:
            checkpoint = official_folder(options.folder, pair)
            script = [options.official, PEERS / "official.py", checkpoint]
            peers += ["--peer", f"official={shlex.join(map(str, script))}"]
    except (ExplainedError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    files = ["--model", str(pair.talker), "--codec", str(pair.codec), "--voice", str(voice)]
    return bench.main([*files, *peers, *rest])


def _variant(source: Path, variant: Variant, build: Callable[[], None]) -> Path:
    """The `variant` beside `source`, which `build` makes where it is missing and needed."""
    path = source if source.stem.endswith(f"-{variant.name}") else variant_path(source, variant)
    if not path.exists():
        _say(f"Building {path}")
        if not source.exists():
            build()
        if path != source:
            quantize_file(source, path, variant)
    return path


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
