"""The command line of qwen-tts: its options, checked before anything is loaded."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.cli.options import SamplingChanges, StackChanges
from engine.cli.parser import (
    LANGUAGE_HELP,
    CommandParser,
    UsageError,
    add_version,
    language,
    number,
    seed,
    words,
)
from engine.cli.parser import whole_number as whole
from engine.cli.voices import VoiceSources
from engine.families import ModelPair
from engine.types import Layout
from engine.wav import WavFormat

STDOUT = "-"

DESCRIPTION = """\
Speaks the text on standard input (UTF-8) into a WAV file, or into a pipe as it is made.
"""

EPILOG = """\
examples:
  echo "Good morning." | qwen-tts --model talker.gguf --codec tokenizer.gguf -o morning.wav
  qwen-tts --model talker.gguf --codec tokenizer.gguf -o - < text.txt | aplay

`voice-studio models --json` lists the languages and speakers of the models that are installed.
The environment variable GGML_BACKEND (CPU, CUDA0, ...) chooses the device if --device does not.
Exit status: 0 done, 1 failed, 130 stopped with Ctrl+C (what was made until then is kept).
"""


@dataclass(frozen=True)
class Arguments:
    """What qwen-tts was asked to do."""

    pair: ModelPair
    output: Path | None  # None: standard output
    wav_format: WavFormat
    language: str
    instruct: str | None
    speaker: str | None
    voice: VoiceSources
    layout: Layout
    sampling: SamplingChanges
    seed: int  # negative: any
    takes: int
    piece_seconds: float | None
    by_line: bool
    dump: Path | None
    device: str | None
    precision: str
    quiet: bool
    json: bool


def parse_arguments(arguments: Sequence[str] | None) -> Arguments:
    """Parse and check; raises UsageError, and SystemExit behind --help and --version."""
    given = _parser().parse_args(arguments)
    streamed = given.output == STDOUT
    voice = VoiceSources(given.ref_wav, given.ref_spk, given.ref_rvq, given.ref_text)
    _check_streaming(streamed=streamed, by_line=given.stream_by_line, takes=given.takes)
    _check_voice(voice)
    return Arguments(
        pair=ModelPair(given.model, given.codec),
        output=None if streamed else Path(given.output),
        wav_format=WavFormat(given.format),
        language=given.lang,
        instruct=given.instruct,
        speaker=given.speaker,
        voice=voice,
        layout=Layout(given.layout),
        sampling=SamplingChanges(
            greedy=given.greedy,
            talker=StackChanges(given.temp, given.top_k, given.top_p),
            predictor=StackChanges(given.sub_temp, given.sub_top_k, given.sub_top_p),
            repetition_penalty=given.rep_pen,
            max_frames=given.max_new,
        ),
        seed=given.seed,
        takes=given.takes,
        piece_seconds=given.codec_chunk_dur,
        by_line=given.stream_by_line,
        dump=given.dump,
        device=given.device,
        precision=given.precision,
        quiet=given.quiet,
        json=given.json,
    )


def _check_streaming(*, streamed: bool, by_line: bool, takes: int) -> None:
    if by_line and not streamed:
        raise UsageError("--stream-by-line needs standard output.", "Add: -o -")
    if takes > 1 and streamed:
        raise UsageError("Several takes cannot share standard output.", "Give a file with -o.")


def _check_voice(voice: VoiceSources) -> None:
    if voice.recording is not None and (voice.embedding or voice.codes):
        raise UsageError(
            "--ref-wav cannot be combined with --ref-spk and --ref-rvq.",
            "Give the recording, or the voice that was made of it.",
        )
    if voice.codes is not None and not (voice.embedding and voice.transcript):
        missing = "--ref-text" if voice.embedding else "--ref-spk"
        raise UsageError(
            f"--ref-rvq needs {missing} too.", "Leave --ref-rvq out to use --ref-spk alone."
        )
    if voice.transcript is not None and not (voice.recording or voice.codes):
        raise UsageError(
            "--ref-text is the transcript of a recording, and there is none.",
            "Give --ref-wav, or --ref-rvq with --ref-spk, or leave --ref-text out.",
        )
    if voice.transcript is not None and not os.path.exists(voice.transcript):
        raise UsageError(
            f"There is no file {str(voice.transcript)!r}: --ref-text takes a file, not the words.",
            "Write the words into a file, for example me.txt.",
        )


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="qwen-tts",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_version(parser)
    _add_files(parser)
    _add_speech(parser)
    _add_sampling(parser)
    _add_running(parser)
    return parser


def _add_files(parser: CommandParser) -> None:
    files = parser.add_argument_group("files")
    add = files.add_argument
    add("--model", type=Path, required=True, metavar="GGUF", help="talker")
    add("--codec", type=Path, required=True, metavar="GGUF", help="audio tokenizer")
    add(
        "-o",
        dest="output",
        default="out.wav",
        metavar="PATH",
        help="WAV to write, replacing what is there; - is standard output, sent as it is made "
        "(default: %(default)s)",
    )
    add(
        "--format",
        choices=[str(kind) for kind in WavFormat],
        default=str(WavFormat.WAV16),
        help="16 or 24 bit PCM, or 32 bit float (default: %(default)s)",
    )
    add(
        "--stream-by-line",
        action="store_true",
        help="speak each line as it comes, each as a WAV of its own; with -o - only",
    )
    add(
        "--codec-chunk-dur",
        type=number(lambda value: value > 0, "above 0"),
        metavar="SEC",
        help="decode at most so much audio at once, to bound the memory; without effect behind "
        "-o - (default: 2)",
    )
    add(
        "--dump",
        type=Path,
        metavar="DIR",
        help="write intermediate tensors of the first take there, as NAME.npy",
    )


def _add_speech(parser: CommandParser) -> None:
    speech = parser.add_argument_group("speech")
    add = speech.add_argument
    add("--lang", type=language, default="auto", help=LANGUAGE_HELP)
    add("--speaker", type=words, help="speaker of a custom_voice model")
    add("--instruct", type=words, help="how to speak, or for voice_design the voice itself")
    add(
        "--ref-wav",
        type=Path,
        metavar="WAV",
        help="recording to clone, best with --ref-text (base models)",
    )
    add("--ref-spk", type=Path, metavar="SPK", help="voice to clone: speaker embedding")
    add("--ref-rvq", type=Path, metavar="RVQ", help="codes of its recording; with --ref-text")
    add("--ref-text", type=Path, metavar="FILE", help="transcript of the recording")
    add(
        "--layout",
        choices=[str(layout) for layout in Layout],
        default=str(Layout.AUTO),
        help="whether the model reads the text while it speaks or before; auto: while it speaks "
        "with a cloned voice, unless the model says otherwise (default: %(default)s)",
    )


def _add_sampling(parser: CommandParser) -> None:
    sampling = parser.add_argument_group("sampling", "Defaults are those of the model's file.")
    add = sampling.add_argument
    temperature = number(lambda value: value >= 0, "0 or more; 0 is greedy")
    top_p = number(lambda value: 0 < value <= 1, "above 0, up to 1, which is off")
    add("--seed", type=seed, default=-1, metavar="N", help="a negative one is random (default: -1)")
    add(
        "--takes",
        type=whole(1, 1000),
        default=1,
        metavar="N",
        help="make N takes with the seeds SEED, SEED+1, ...; written to PATH with -1, -2, ... "
        "before its suffix",
    )
    add("--greedy", action="store_true", help="always take the likeliest code")
    add("--temp", type=temperature, metavar="T", help="temperature of the talker")
    add("--top-k", type=whole(0), metavar="K", help="keep the K likeliest codes; 0 keeps all")
    add("--top-p", type=top_p, metavar="P", help="keep the codes that make up P; 1 keeps all")
    add("--sub-temp", type=temperature, metavar="T", help="the same for the code predictor")
    add("--sub-top-k", type=whole(0), metavar="K", help="the same for the code predictor")
    add("--sub-top-p", type=top_p, metavar="P", help="the same for the code predictor")
    add(
        "--rep-pen",
        type=number(lambda value: value > 0, "above 0"),
        metavar="X",
        help="penalty for repeated codes of the talker; 1 is none",
    )
    add(
        "--max-new",
        type=whole(1),
        default=2048,
        metavar="N",
        help="most frames of 80 ms (default: %(default)s)",
    )


def _add_running(parser: CommandParser) -> None:
    running = parser.add_argument_group("running")
    add = running.add_argument
    add("--device", help="auto, cpu, cuda, cuda:1, mps, ... (default: auto)")
    add("--precision", default="auto", help="auto, f32, bf16 or int8 (default: %(default)s)")
    add("--quiet", action="store_true", help="print errors only")
    add(
        "--json",
        action="store_true",
        help="print a report in JSON on standard output, with -o - on standard error",
    )
    add("--no-fa", action="store_true", help="accepted for compatibility; has no effect")
    add("--clamp-fp16", action="store_true", help="accepted for compatibility; has no effect")
