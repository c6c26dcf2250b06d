"""The command `voice-studio quantize`: makes a smaller variant of a model file."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from engine.cli.console import Console, readable_bytes
from engine.cli.parser import CommandParser, as_typed
from engine.cli.running import DONE, interruptible, run_file_command
from engine.errors import ModelFileError

EPILOG = """\
examples:
  voice-studio quantize qwen-talker-0.6b-base-F32.gguf --type Q8_0
  voice-studio quantize qwen-tokenizer-12hz-F32.gguf --type Q4_K_M -o small/tokenizer.gguf
"""
TYPES = ("BF16", "Q8_0", "Q4_K_M")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 1 failed, 130 stopped."""
    parser = CommandParser(
        prog=as_typed("voice-studio quantize"),
        description="Make a smaller variant of a talker or tokenizer file (F32 or BF16 GGUF).",
        epilog=as_typed(EPILOG),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_options(parser)
    return run_file_command(parser, argv, quantize)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `quantize`."""
    add = parser.add_argument
    add("source", type=Path, metavar="MODEL.gguf", help="talker or tokenizer, F32 or BF16")
    add(
        "--type",
        required=True,
        type=str.upper,
        choices=TYPES,
        help="BF16 has half the size of F32, Q8_0 a quarter, Q4_K_M a sixth; what does not "
        "fit its blocks becomes F16",
    )
    add("-o", dest="output", type=Path, metavar="PATH", help="new file (default: beside the old)")
    add("--force", action="store_true", help="overwrite an existing file")
    add("--quiet", action="store_true", help="print errors only")


def quantize(given: argparse.Namespace, console: Console) -> int:
    """Write the variant and return the exit code; raises ExplainedError."""
    import torch

    from engine.gguf.layout import Variant
    from engine.gguf.quantize import quantize_file, told_unfitting, variant_path

    # The pieces are small: several threads would spend their time waiting for one another.
    torch.set_num_threads(1)
    source: Path = given.source
    if source.is_dir():
        raise ModelFileError(f"{source} is a folder.", "Choose a .gguf file in it.")
    variant = Variant[given.type]
    target: Path = given.output or variant_path(source, variant)

    def tell(done: int, total: int) -> None:
        console.progress(f"Writing: {readable_bytes(done)} of {readable_bytes(total)}")

    begin = time.perf_counter()
    with interruptible() as cancel:
        quantize_file(source, target, variant, force=given.force, progress=tell, cancel=cancel)
    if note := told_unfitting(target, variant):
        console.say(note)
    size = readable_bytes(target.stat().st_size)
    console.say(f"{target}: {size} in {time.perf_counter() - begin:.1f} s")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
