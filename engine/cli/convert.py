"""The command `voice-studio convert`: makes GGUF files out of an official checkpoint folder."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.console import Console, readable_bytes
from engine.cli.outputs import make_folder
from engine.cli.parser import CommandParser, as_typed
from engine.cli.running import DONE, interruptible, run_file_command

if TYPE_CHECKING:
    from engine.gguf.convert.folder import Conversion

EPILOG = """\
The folder holds config.json and model.safetensors, for a talker also vocab.json, merges.txt and
tokenizer_config.json. A talker's speech_tokenizer folder is converted too, unless its file exists
already.

examples:
  voice-studio convert Qwen3-TTS-12Hz-0.6B-Base --type Q8_0 -o ~/.local/share/voice-studio/models
  voice-studio convert Qwen3-TTS-12Hz-1.7B-CustomVoice -o models-F32
"""
TYPES = ("F32", "BF16", "Q8_0", "Q4_K_M")
LISTED_NAMES = 20


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 1 failed, 130 stopped."""
    parser = CommandParser(
        prog=as_typed("voice-studio convert"),
        description="Make GGUF files out of the folder of an official Qwen3-TTS checkpoint.",
        epilog=as_typed(EPILOG),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_options(parser)
    return run_file_command(parser, argv, convert)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `convert`."""
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help="official talker or tokenizer folder")
    add(
        "--type",
        type=str.upper,
        choices=TYPES,
        default="F32",
        help="precision; what does not fit becomes F16 (default: %(default)s)",
    )
    add(
        "-o",
        dest="output",
        type=Path,
        metavar="PATH",
        help="folder for the new files, made if it is missing, or one new .gguf file (default: "
        "the current folder)",
    )
    add("--force", action="store_true", help="overwrite existing files")
    add("--quiet", action="store_true", help="print errors only")


def convert(given: argparse.Namespace, console: Console) -> int:
    """Write the files and return the exit code; raises ExplainedError."""
    import torch

    from engine.gguf.convert.folder import EMBEDDED_CODEC, read_folder
    from engine.gguf.layout import Variant

    # The pieces are small: several threads would spend their time waiting for one another.
    torch.set_num_threads(1)
    folder: Path = given.folder
    variant = Variant[given.type]
    output: Path = given.output or Path()
    conversion = read_folder(folder)
    if output.suffix == ".gguf" and not output.is_dir():
        _write(conversion, output, given, console)
        return DONE
    make_folder(output)
    _write(conversion, output / conversion.file_name(variant), given, console)
    embedded = folder / EMBEDDED_CODEC
    if not conversion.is_codec and (embedded / "config.json").is_file():
        tokenizer = read_folder(embedded)
        target = output / tokenizer.file_name(variant)
        if target.exists() and not given.force:  # all talkers come with the same one
            console.say(f"{target} exists already and is kept.")
        else:
            _write(tokenizer, target, given, console)
    if given.output is None:
        console.say(
            as_typed(
                "`voice-studio say` looks for models in the folder that `voice-studio models` "
                "names: move them there."
            )
        )
    return DONE


def _write(
    conversion: Conversion, target: Path, given: argparse.Namespace, console: Console
) -> None:
    from engine.gguf.convert.folder import convert_folder
    from engine.gguf.layout import Variant
    from engine.gguf.quantize import told_unfitting

    def tell(done: int, total: int) -> None:
        console.progress(f"Writing: {readable_bytes(done)} of {readable_bytes(total)}")

    begin = time.perf_counter()
    with interruptible() as cancel:
        left = convert_folder(
            conversion,
            target,
            Variant[given.type],
            force=given.force,
            progress=tell,
            cancel=cancel,
        )
    if left:
        console.say(f"note: {conversion.folder} holds tensors that no talker file has:")
        for name in left[:LISTED_NAMES]:
            console.say(f"  {name}")
        if len(left) > LISTED_NAMES:
            console.say(f"  and {len(left) - LISTED_NAMES} more")
    if note := told_unfitting(target, Variant[given.type]):
        console.say(note)
    size = readable_bytes(target.stat().st_size)
    console.say(f"{target}: {size} in {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
