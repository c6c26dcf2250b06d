"""The command `voice-studio say`: one text into one WAV, with the models that are installed."""

from __future__ import annotations

import argparse
import itertools
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from app.commands.voices import voice_sources
from app.core.models import ABOUT_DEMO, choose_pair, find_models, is_demo
from app.core.paths import StudioPaths, studio_paths
from engine.cli.console import Console
from engine.cli.options import SamplingChanges, SpeechOptions, choose_device, choose_seeds
from engine.cli.outputs import check_output, save_takes, with_suffix
from engine.cli.parser import LANGUAGE_HELP, as_typed, language, seed, whole_number, words
from engine.cli.report import as_json, make_report, tell
from engine.cli.running import DONE, STOPPED
from engine.cli.speaking import (
    describe_pair,
    load,
    speak,
)
from engine.cli.texts import read_stdin_text
from engine.cli.voices import NO_VOICE, VoiceSources, read_voice
from engine.errors import ExplainedError, ModeError, RequestError
from engine.families import check_request
from engine.types import Family, ModelDescription
from engine.wav import WavFormat

FREE_NAME = Path("speech.wav")


@dataclass(frozen=True)
class SayArguments:
    """What `say` was asked to do."""

    text: str | None  # None: on standard input
    output: Path | None  # None: a free name in the current folder
    force: bool
    model: str | None
    codec: Path | None
    folders: tuple[Path, ...]  # searched besides the studio's own
    home: Path | None
    language: str
    speaker: str | None
    instruct: str | None
    voice: str | None  # a file, or the name of a voice of the library
    max_frames: int | None  # None: what the model's file recommends
    seed: int
    wav_format: WavFormat
    device: str | None
    precision: str
    quiet: bool
    json: bool


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `say`."""
    add = parser.add_argument
    add("text", nargs="?", type=words, help="what to say (default: what stands on standard input)")
    add("-o", dest="output", type=Path, metavar="PATH", help="WAV to write (default: a free name)")
    add("--force", action="store_true", help="overwrite an existing file")
    add("--model", metavar="NAME", help="installed model by name, or any talker by its path")
    add("--codec", type=Path, metavar="PATH", help="tokenizer (default: the one installed)")
    add("--lang", type=language, default="auto", help=LANGUAGE_HELP)
    add("--speaker", type=words, help="speaker of a custom_voice model (default: its first)")
    add("--instruct", type=words, help="how to speak, or for voice_design the voice itself")
    add(
        "--voice",
        type=words,
        metavar="NAME",
        help="voice to clone: a recording, a voice of the library, NAME.spk, NAME.rvq or NAME",
    )
    add(
        "--max-new",
        type=whole_number(1),
        metavar="N",
        help="most frames of 80 ms (default: 2048, which is 164 s)",
    )
    add("--seed", type=seed, default=-1, metavar="N", help="a negative one is random (default: -1)")
    add(
        "--format",
        choices=[str(kind) for kind in WavFormat],
        default=str(WavFormat.WAV16),
        help="16 or 24 bit PCM, or 32 bit float (default: %(default)s)",
    )
    add("--device", help="auto, cpu, cuda, cuda:1, mps, ... (default: auto)")
    add("--precision", default="auto", help="auto, f32, bf16 or int8 (default: %(default)s)")
    add("--quiet", action="store_true", help="print errors only")
    add("--json", action="store_true", help="print a report in JSON on standard output")


def read_arguments(given: argparse.Namespace) -> SayArguments:
    """What was parsed, with its types."""
    return SayArguments(
        text=given.text,
        output=given.output,
        force=given.force,
        model=given.model,
        codec=given.codec,
        folders=tuple(given.models),
        home=given.home,
        language=given.lang,
        speaker=given.speaker,
        instruct=given.instruct,
        voice=given.voice,
        max_frames=given.max_new,
        seed=given.seed,
        wav_format=WavFormat(given.format),
        device=given.device,
        precision=given.precision,
        quiet=given.quiet,
        json=given.json,
    )


def say(arguments: SayArguments, console: Console) -> int:
    """Speak the text and return the exit code; raises ExplainedError."""
    output = _output(arguments)
    if arguments.speaker is not None and arguments.voice is not None:
        raise RequestError(
            "--speaker and --voice cannot be combined.",
            "Speakers are built into custom_voice models, and base models clone a voice.",
        )
    if arguments.text is not None and not arguments.text.strip():
        raise RequestError("There is no text to speak.", "Type at least one word.")
    paths = studio_paths(arguments.home)
    found = find_models(model_folders(paths, arguments.folders), paths.demo)
    pair = choose_pair(
        found,
        _families(arguments),
        arguments.model,
        arguments.codec,
    )
    description = describe_pair(pair)
    check_output(output, (pair.talker, pair.codec))
    speaker = _speaker(arguments, description, console)
    sources = VoiceSources()
    if arguments.voice is not None:
        sources = voice_sources(arguments.voice, description, paths.voices, console)
        check_output(output, astuple(sources))
    voice = read_voice(sources, description, console)
    if description.family is Family.VOICE_DESIGN and not (arguments.instruct or "").strip():
        raise ModeError(
            f"{pair.talker.name} makes a voice from a description, and there is none.",
            'Give one, for example --instruct "a calm, low male voice".',
        )
    options = SpeechOptions(
        seeds=choose_seeds(arguments.seed, 1),
        language=arguments.language,
        voice=voice.known,
        speaker=speaker,
        instruct=arguments.instruct,
        sampling=SamplingChanges(max_frames=arguments.max_frames),
    )
    check_request(options.preview(), description)
    text = read_stdin_text(console) if arguments.text is None else arguments.text
    if description.family is Family.BASE and arguments.voice is None:
        console.say(NO_VOICE.format("--voice"))
    if all(is_demo(talker) for talker in (description, *found.talkers)):
        line = as_typed("`voice-studio models`")
        console.say(f"{ABOUT_DEMO}{line} tells where the large ones are.")
    model = load(pair, choose_device(arguments.device), arguments.precision, console)
    options = replace(options, voice=voice.learned(model.engine, console))
    speech = speak(model.engine, options.request(text, model.engine), console)
    rate = model.engine.sample_rate
    if output.is_file() and not arguments.force:  # by another command meanwhile: keep both
        output = _free_name(output)
    report = make_report(
        model, speech, save_takes(speech.takes, (output,), arguments.wav_format, rate)
    )
    tell(report, console)
    if arguments.json:
        print(as_json(report))
    if speech.stopped:
        console.report("stopped")
        return STOPPED
    return DONE


def model_folders(paths: StudioPaths, extra: tuple[Path, ...]) -> tuple[Path, ...]:
    """The folders to search; raises ExplainedError if one that was named is not there."""
    for folder in extra:
        if not folder.is_dir():
            raise ExplainedError(f"{folder} is no folder.", "Check what --models names.")
    return (paths.models, *extra)


def _output(arguments: SayArguments) -> Path:
    output = arguments.output or _free_name(FREE_NAME)
    if str(output) == "-":
        raise RequestError("say writes files only.", "Use qwen-tts -o - to stream.")
    output = with_suffix(output, ".wav")
    check_output(output)
    if output.exists() and not arguments.force:
        raise RequestError(f"{output} exists already.", "Choose another name, or add --force.")
    return output


def _free_name(wanted: Path) -> Path:
    """The path, or if that is taken, with -2, -3, ... before its suffix."""
    others = (wanted.with_name(f"{wanted.stem}-{n}{wanted.suffix}") for n in itertools.count(2))
    return next(path for path in itertools.chain((wanted,), others) if not path.exists())


def _families(arguments: SayArguments) -> tuple[Family, ...]:
    """Which kinds of models can do what was asked, the likeliest first."""
    if arguments.speaker is not None:
        return (Family.CUSTOM_VOICE,)
    if arguments.voice is not None:
        return (Family.BASE,)
    if arguments.instruct is not None:
        return (Family.VOICE_DESIGN, Family.CUSTOM_VOICE)
    return (Family.CUSTOM_VOICE, Family.BASE, Family.VOICE_DESIGN)


def _speaker(
    arguments: SayArguments, description: ModelDescription, console: Console
) -> str | None:
    if arguments.speaker is not None or description.family is not Family.CUSTOM_VOICE:
        return arguments.speaker
    if not description.speakers:
        return None
    first = description.speakers[0]
    others = ", ".join(description.speakers[1:]) or "none"
    console.say(f"Speaker: {first} (others: {others})")
    return first
