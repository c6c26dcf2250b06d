"""The command `voice-studio verify`: is a quantised file, a precision or a device faithful?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.console import Console, readable_bytes
from engine.cli.outputs import check_output, explained
from engine.cli.parser import (
    LANGUAGE_HELP,
    LARGEST_SEED,
    CommandParser,
    as_typed,
    language,
    whole_number,
    words,
)
from engine.cli.running import DONE, FAILED, interruptible, run_command, run_parsed
from engine.cli.speaking import describe_pair
from engine.cli.voices import VoiceSources, read_voice
from engine.errors import VoiceFileError
from engine.families import ModelPair
from engine.files import replace_file
from engine.types import ModelDescription, Voice

if TYPE_CHECKING:
    from engine.verify.subject import Subject

UNFAITHFUL, ERROR = 1, 2
STDOUT = "-"

EPILOG = """\
Without --against-... and --golden the reference is the same pair of files in float32 on the CPU;
a pair that runs in it anyway is only checked against itself.
Only one model is in memory at a time.

examples:
  voice-studio verify --model talker-Q8_0.gguf --codec tokenizer-Q8_0.gguf \\
      --against-model talker-F32.gguf --against-codec tokenizer-F32.gguf
  voice-studio verify --model talker.gguf --codec tokenizer.gguf --device cuda --precision bf16

Exit status: 0 faithful, 1 some limit is missed, 2 it could not be told, 130 stopped with Ctrl+C.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 faithful, 1 not faithful, 2 not told, 130 stopped."""
    parser = CommandParser(
        prog=as_typed("voice-studio verify"),
        description="Compare what a model pair computes, stage by stage, with a reference.",
        epilog=as_typed(EPILOG),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_options(parser)
    return run_parsed(parser, argv, run_verify, ERROR)


def run_verify(given: argparse.Namespace) -> int:
    """Run the command with parsed options; returns what `main` does."""
    console = Console(quiet=given.quiet)
    verdicts: list[bool] = []

    def action() -> int:
        verdicts.append(verify_pair(given, console))
        return DONE

    status = run_command(action, console)
    if status == FAILED:
        return ERROR
    return UNFAITHFUL if status == DONE and not verdicts[0] else status


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `verify`."""
    model = parser.add_argument_group("model to verify")
    add = model.add_argument
    add("--model", type=Path, required=True, metavar="GGUF", help="talker")
    add("--codec", type=Path, required=True, metavar="GGUF", help="audio tokenizer")
    add("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps, ... (default: auto)")
    add("--precision", default="auto", help="auto, f32, bf16 or int8 (default: %(default)s)")
    _add_reference(parser)
    _add_speech(parser)
    _add_output(parser)


def _add_reference(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("reference").add_argument
    add("--against-model", type=Path, metavar="GGUF", help="talker (default: that of --model)")
    add("--against-codec", type=Path, metavar="GGUF", help="tokenizer (default: that of --codec)")
    add("--against-device", metavar="DEVICE", help="where it runs (default: cpu)")
    add("--against-precision", metavar="NAME", help="auto, f32, bf16 or int8 (default: f32)")
    add(
        "--golden",
        type=Path,
        metavar="DIR",
        help="folder of cases made with the official implementation; those that fit are compared",
    )
    add(
        "--threshold",
        action="append",
        default=[],
        metavar="STAGE.MEASURE=VALUE",
        help='set a limit, or lift it with "off"; may be repeated',
    )


def _add_speech(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("speech").add_argument
    add("--text", type=words, help="what is spoken")
    add("--language", type=language, default="auto", help=f"its {LANGUAGE_HELP}")
    add(
        "--frames",
        type=whole_number(1, 4096),
        default=24,
        metavar="N",
        help="most frames of 80 ms (default: %(default)s)",
    )
    add(
        "--seed",
        type=whole_number(0, LARGEST_SEED),
        default=0,
        metavar="N",
        help="of the takes that are compared with each other; all else is greedy "
        "(default: %(default)s)",
    )
    add(
        "--voice",
        type=Path,
        metavar="FILE",
        help="voice of a base model: NAME.spk for the voice alone, NAME.rvq or NAME for the voice "
        "with its codes and NAME.txt (default: none)",
    )
    add("--speaker", type=words, help="speaker of a custom_voice model (default: the first)")
    add("--instruct", type=words, help="how to speak, or for voice_design the voice itself")
    add("--clip", type=Path, metavar="FILE", help="recording to compare the encoders with")


def _add_output(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("output").add_argument
    add("--json", metavar="FILE", help="write the report in JSON; - prints it instead of the table")
    add("--quiet", action="store_true", help="print the report and errors only")


def verify_pair(given: argparse.Namespace, console: Console) -> bool:
    """Verify, report, and tell whether the pair is faithful; raises ExplainedError."""
    from engine.audio import MODEL_RATE, read_reference
    from engine.verify.report import as_json, as_table
    from engine.verify.thresholds import Thresholds, parse_threshold
    from engine.verify.verification import (
        DEFAULT_TEXT,
        Listeners,
        Question,
        SpokenText,
        verify,
    )

    thresholds = Thresholds(dict(parse_threshold(text) for text in given.threshold))
    if given.json not in (None, STDOUT):
        models = (given.model, given.codec, given.against_model, given.against_codec)
        check_output(Path(given.json), (*models, given.voice, given.clip))
    pair = ModelPair(given.model, given.codec)
    description = describe_pair(pair)
    subject, against = _subjects(given, pair)
    spoken = SpokenText(
        text=DEFAULT_TEXT if given.text is None else given.text,
        language=given.language,
        voice=None if given.voice is None else _voice(given.voice, description),
        speaker=given.speaker,
        instruct=given.instruct,
        frames=given.frames,
        seed=given.seed,
    )
    clip = None if given.clip is None else read_reference(given.clip).at(MODEL_RATE)

    def tell(done: int, total: int) -> None:
        console.progress(f"Loading: {readable_bytes(done)} of {readable_bytes(total)}")

    with interruptible() as cancel:
        listeners = Listeners(console.say, tell, cancel)
        question = Question(subject, against, given.golden, spoken, clip, thresholds)
        verdict = verify(question, listeners)
    if given.json == STDOUT:
        print(as_json(verdict))
    else:
        print(as_table(verdict))
        if given.json is not None:
            path = Path(given.json)
            with explained(path):
                replace_file(path, f"{as_json(verdict)}\n".encode())
    return verdict.passed


def _subjects(given: argparse.Namespace, pair: ModelPair) -> tuple[Subject, Subject | None]:
    """The model, and its reference if it is to have one besides golden cases."""
    from engine.verify.subject import Subject
    from engine.verify.verification import default_reference

    subject = Subject(pair, given.device, given.precision)
    asked = (
        given.against_model,
        given.against_codec,
        given.against_device,
        given.against_precision,
    )
    if all(option is None for option in asked):
        return subject, None if given.golden is not None else default_reference(subject)
    talker = given.against_model or pair.talker
    codec = given.against_codec or pair.codec
    other = ModelPair(talker, codec)
    describe_pair(other)
    return subject, Subject(other, given.against_device or "cpu", given.against_precision or "f32")


def _voice(path: Path, description: ModelDescription) -> Voice | None:
    """The voice that a name stands for; raises VoiceFileError, RequestError and ModeError."""
    if not path.name:
        raise VoiceFileError(f"{path} is a folder.", "Name a voice in it.")
    kind = path.suffix.lower()
    stem = path.with_suffix("") if kind in (".spk", ".rvq") else path
    embedding = stem.with_name(f"{stem.name}.spk")
    codes = stem.with_name(f"{stem.name}.rvq")
    alone = kind == ".spk" or (kind != ".rvq" and not codes.exists())
    if alone:
        return read_voice(VoiceSources(embedding=embedding), description, Console()).voice
    transcript = stem.with_name(f"{stem.name}.txt")
    sources = VoiceSources(None, embedding, codes, transcript)
    return read_voice(sources, description, Console()).voice


if __name__ == "__main__":
    sys.exit(main())
