"""The command qwen-codec: recordings to `.rvq` (and `.spk`) files, and `.rvq` files to sound."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.audio import MODEL_RATE, read_reference
from engine.cli.console import Console
from engine.cli.outputs import check_output, explained, with_suffix
from engine.cli.parser import CommandParser, add_version
from engine.cli.running import DONE, interruptible, run_command, run_parsed
from engine.errors import ExplainedError
from engine.families import (
    Codec,
    check_can_learn,
    describe_model,
    open_codec,
    open_speaker_encoder,
)
from engine.types import LengthRule
from engine.voices import read_codes, write_codes, write_embedding
from engine.wav import WavFormat, write_wav

EPILOG = """\
examples:
  qwen-codec --model tokenizer.gguf --talker base.gguf -i me.wav   # the voice: me.rvq, me.spk
  qwen-codec --model tokenizer.gguf -i me.rvq -o back.wav
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 1 failed, 130 stopped."""
    parser = CommandParser(
        prog="qwen-codec",
        description="Turn a recording into codes (.rvq), or codes into a WAV file. "
        "Without -i the tokenizer is loaded and tested on a tone.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_version(parser)
    add = parser.add_argument
    add("--model", type=Path, required=True, metavar="GGUF", help="audio tokenizer")
    add("-i", dest="input", type=Path, metavar="PATH", help="recording, or .rvq file")
    add("-o", dest="output", type=Path, metavar="PATH", help="new file (default: beside the old)")
    add(
        "--talker",
        type=Path,
        metavar="GGUF",
        help="base talker: write the .spk file as well; of the two the one that is missing",
    )
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
    if given.input.suffix.lower() == ".spk":
        raise ExplainedError(
            f"{given.input} is a speaker embedding, which holds no sound.",
            "Give the recording, or the .rvq file.",
        )
    beside = "; the .spk is written beside it" if given.talker is not None else ""
    codes_path = _new_path(given, ".rvq", beside)
    wanted = [codes_path]
    if given.talker is not None:
        wanted.append(codes_path.with_suffix(".spk"))
    missing = [path for path in wanted if given.force or not os.path.exists(path)]
    for path in missing or wanted:
        _check_new(given, path, "Choose another name with -o, or add --force.")
    for path in wanted:
        if path not in missing:
            console.say(f"{path} exists already and is kept. Add --force to replace it.")
    if given.talker is not None:
        check_can_learn(describe_model(given.talker))
    recording = read_reference(given.input)
    for warning in recording.warnings:
        console.say(f"note: {warning.message}")
    samples = recording.at(MODEL_RATE)
    codes, vector = None, None
    with interruptible() as cancel:
        if codes_path in missing:
            codec = open_codec(given.model, device=given.device)
            codes = codec.encode(samples, LengthRule.WHOLE_FRAMES, cancel)
        if wanted[-1] in missing and given.talker is not None:
            speaker = open_speaker_encoder(given.talker, device=given.device)
            vector = speaker.embedding(samples, cancel)
    with interruptible():  # both files or none
        if codes is not None:
            with explained(codes_path):
                write_codes(codes_path, codes)
            console.say(f"{codes_path}: {len(codes)} frames")
        if vector is not None:
            with explained(wanted[-1]):
                write_embedding(wanted[-1], vector)
            console.say(f"{wanted[-1]}: {vector.size} values")


def _decode(given: argparse.Namespace, console: Console) -> None:
    target = _new_path(given, ".wav")
    _check_new(given, target, "Choose another name, for example -o back.wav, or add --force.")
    read_codes(given.input)  # before torch is imported, if it is no such file at all
    codec = open_codec(given.model, device=given.device)
    codes = read_codes(given.input, codec.codebook_size)
    with interruptible() as cancel:
        sound = list(codec.decode(codes, cancel))
    with explained(target), interruptible():
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


def _new_path(given: argparse.Namespace, suffix: str, beside: str = "") -> Path:
    """What -o names, or the path of the input with another suffix; `beside` is told of others."""
    path: Path = given.output or given.input
    if not path.name:
        raise ExplainedError(f"{path} is a folder.", "Name a file in it.")
    if str(path) == "-":
        raise ExplainedError("qwen-codec writes files only.", "Name one with -o.")
    return with_suffix(path, suffix, beside) if given.output else path.with_suffix(suffix)


def _check_new(given: argparse.Namespace, path: Path, hint: str) -> None:
    check_output(path, (given.input, given.model, given.talker))
    if path.exists() and not given.force:
        raise ExplainedError(f"{path} exists already.", hint)


if __name__ == "__main__":
    sys.exit(main())
