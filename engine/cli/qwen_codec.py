"""The command qwen-codec: recordings to `.rvq` (and `.spk`) files, and `.rvq` files to sound."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.audio import read_reference
from engine.cli.console import Console
from engine.cli.outputs import check_output
from engine.cli.parser import CommandParser, add_version
from engine.cli.running import DONE, interruptible, run_command, run_parsed
from engine.errors import ExplainedError
from engine.families import Codec, open_codec, open_speaker_encoder
from engine.types import LengthRule
from engine.voices import read_codes, write_codes, write_embedding
from engine.wav import WavFormat, write_wav


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 1 failed, 130 stopped."""
    parser = CommandParser(
        prog="qwen-codec",
        description="Turn a recording into codes (.rvq), or codes into a WAV file. "
        "Without -i the tokenizer is loaded and tested on a tone.",
        allow_abbrev=False,
    )
    add_version(parser)
    add = parser.add_argument
    add("--model", type=Path, required=True, metavar="GGUF", help="audio tokenizer")
    add("-i", dest="input", type=Path, metavar="PATH", help="recording, or .rvq file")
    add("-o", dest="output", type=Path, metavar="PATH", help="new file (default: beside the old)")
    add("--talker", type=Path, metavar="GGUF", help="base talker: write the .spk file as well")
    add("--format", type=WavFormat, choices=list(WavFormat), default=WavFormat.WAV16)
    add("--device", default="auto", help="auto, cpu, cuda, cuda:0 or mps")
    add("--force", action="store_true", help="overwrite existing files")
    add("--quiet", action="store_true", help="print errors only")

    def action(given: argparse.Namespace) -> int:
        console = Console(quiet=given.quiet)
        return run_command(lambda: _run(given, console), console)

    return run_parsed(parser, argv, action)


def _run(given: argparse.Namespace, console: Console) -> int:
    if given.input is None:
        _test(open_codec(given.model, device=given.device), console)
    elif given.input.suffix.lower() == ".rvq":
        _decode(given, console)
    else:
        _encode(given, console)
    return DONE


def _encode(given: argparse.Namespace, console: Console) -> None:
    """Whole frames only, as every reader of `.rvq` expects; the x-vector is of the whole clip."""
    codes_path = given.output or given.input.with_suffix(".rvq")
    voice_path = codes_path.with_suffix(".spk")
    _refuse_to_replace(given, codes_path, *([voice_path] if given.talker else []))
    recording = read_reference(given.input)
    for warning in recording.warnings:
        console.say(f"note: {warning.message}")
    codec = open_codec(given.model, device=given.device)
    samples = recording.at(codec.sample_rate)
    with interruptible() as cancel:
        codes = codec.encode(samples, LengthRule.WHOLE_FRAMES, cancel)
        vector = None
        if given.talker is not None:
            speaker = open_speaker_encoder(given.talker, device=given.device)
            vector = speaker.embedding(samples, cancel)
    write_codes(codes_path, codes)
    console.say(f"{codes_path}: {len(codes)} frames")
    if vector is not None:
        write_embedding(voice_path, vector)
        console.say(f"{voice_path}: {vector.size} values")


def _decode(given: argparse.Namespace, console: Console) -> None:
    target = given.output or given.input.with_suffix(".wav")
    _refuse_to_replace(given, target)
    codec = open_codec(given.model, device=given.device)
    codes = read_codes(given.input, codec.codebook_size)
    with interruptible() as cancel:
        sound = list(codec.decode(codes, cancel))
    write_wav(target, sound, given.format, codec.sample_rate)
    console.say(f"{target}: {sum(map(len, sound)) / codec.sample_rate:.2f} s")


def _test(codec: Codec, console: Console) -> None:
    """A second of a tone there and back: shows that both halves can be read and run."""
    seconds = np.arange(codec.sample_rate) / codec.sample_rate
    tone = (0.3 * np.sin(2 * np.pi * 220 * seconds)).astype(np.float32)
    codes = codec.encode(tone, LengthRule.WHOLE_FRAMES)
    sound = np.concatenate(list(codec.decode(codes)))
    if not np.isfinite(sound).all() or len(sound) != len(codes) * codec.frame_samples:
        raise ExplainedError("The tokenizer gives no sound.", "Download the file again.")
    console.say(f"The tokenizer works: 1 s became {len(codes)} frames and {len(sound)} samples.")


def _refuse_to_replace(given: argparse.Namespace, *paths: Path) -> None:
    for path in paths:
        check_output(path)
        if path.exists() and not given.force:
            raise ExplainedError(
                f"{path} exists already.", "Choose another name with -o, or add --force."
            )


if __name__ == "__main__":
    sys.exit(main())
