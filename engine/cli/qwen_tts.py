"""The command qwen-tts: text on stdin, speech in a file or on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import astuple, replace

from engine.cli.arguments import Arguments, parse_arguments
from engine.cli.console import Console
from engine.cli.dump import Dump
from engine.cli.options import SpeechOptions, choose_device, choose_seeds
from engine.cli.outputs import check_output, check_suffix, make_folder, save_takes, take_paths
from engine.cli.parser import UsageError
from engine.cli.report import as_json, make_report, tell
from engine.cli.running import DONE, FAILED, STOPPED, run_command, unwritten_stdout
from engine.cli.speaking import (
    LoadedModel,
    Speech,
    describe_pair,
    load,
    speak,
)
from engine.cli.texts import read_stdin_text, stdin_lines
from engine.cli.voices import NO_VOICE, read_voice
from engine.errors import ExplainedError
from engine.families import check_request
from engine.types import AudioChunk, Family
from engine.wav import WavStream


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 1 failed, 130 stopped."""
    try:
        arguments = parse_arguments(argv)
    except UsageError as error:
        Console().error(error)
        return FAILED
    except SystemExit:  # argparse has printed the help or the version
        return DONE
    console = Console(quiet=arguments.quiet)
    return run_command(lambda: _run(arguments, console), console)


def _run(arguments: Arguments, console: Console) -> int:
    device = choose_device(arguments.device)
    seeds = choose_seeds(arguments.seed, arguments.takes)
    if arguments.output is not None:
        inputs = (*astuple(arguments.pair), *astuple(arguments.voice))
        check_output(arguments.output, inputs)
        check_suffix(arguments.output, ".wav")
        for path in take_paths(arguments.output, arguments.takes):
            check_output(path, inputs)
    elif sys.stdout is None:
        raise ExplainedError("Standard output is closed.", "Pipe it, or name a file.")
    elif sys.stdout.isatty():
        raise ExplainedError("Sound cannot be sent to a terminal.", "Pipe it, or name a file.")
    if arguments.dump is not None:
        make_folder(arguments.dump)
    description = describe_pair(arguments.pair)
    voice = read_voice(arguments.voice, description, console)
    options = SpeechOptions(
        seeds=seeds,
        language=arguments.language,
        voice=voice.known,
        speaker=arguments.speaker,
        instruct=arguments.instruct,
        layout=arguments.layout,
        sampling=arguments.sampling,
        streamed=arguments.output is None,
        piece_seconds=arguments.piece_seconds,
    )
    check_request(options.preview(), description)
    text = "" if arguments.by_line else read_stdin_text(console)
    if description.family is Family.BASE and arguments.voice.is_empty:
        console.say(NO_VOICE.format("--ref-wav or --ref-spk"))
    model = load(arguments.pair, device, arguments.precision, console)
    dump = _dump(arguments)
    probe = None if dump is None else dump.probe
    options = replace(options, voice=voice.learned(model.engine, console, probe))
    if arguments.seed < 0:
        console.say(f"Seed: {seeds[0]}")
    if arguments.output is not None:
        return _speak_to_files(arguments, model, options, text, console)
    return _speak_to_stdout(arguments, model, options, text, console)


def _speak_to_files(
    arguments: Arguments, model: LoadedModel, options: SpeechOptions, text: str, console: Console
) -> int:
    assert arguments.output is not None
    speech = _speak(arguments, model, options, text, console)
    paths = take_paths(arguments.output, arguments.takes)
    rate = model.engine.sample_rate
    written = save_takes(speech.takes, paths, arguments.wav_format, rate)
    report = make_report(model, speech, written)
    tell(report, console)
    if arguments.json:
        print(as_json(report))
    return _ending(speech, console)


def _speak_to_stdout(
    arguments: Arguments, model: LoadedModel, options: SpeechOptions, text: str, console: Console
) -> int:
    stream = WavStream(sys.stdout.buffer, arguments.wav_format, model.engine.sample_rate)
    for utterance in stdin_lines(console) if arguments.by_line else (text,):
        stream.begin_utterance()
        speech = _speak(arguments, model, options, utterance, console, stream)
        report = make_report(model, speech, ())
        tell(report, console)
        if arguments.json:
            console.report(as_json(report))
        if speech.stopped:
            return _ending(speech, console)
    return DONE


def _speak(
    arguments: Arguments,
    model: LoadedModel,
    options: SpeechOptions,
    text: str,
    console: Console,
    stream: WavStream | None = None,
) -> Speech:
    """Speak one text, into the stream if there is one, and dump it if that is wanted."""
    request = options.request(text, model.engine)
    dump = _dump(arguments)
    if dump is not None:
        dump.request(request)

    def hear(chunk: AudioChunk) -> None:
        if stream is None:
            return
        try:
            stream.write(chunk.samples)
        except OSError as error:
            raise unwritten_stdout(error) from error

    speech = speak(
        model.engine,
        request,
        console,
        hear=hear,
        keep=stream is None or dump is not None,
        probe=None if dump is None else dump.probe,
    )
    if dump is not None:
        dump.speech(speech)
    return speech


def _dump(arguments: Arguments) -> Dump | None:
    return None if arguments.dump is None else Dump(arguments.dump)


def _ending(speech: Speech, console: Console) -> int:
    if not speech.stopped:
        return DONE
    console.report("stopped")
    return STOPPED


if __name__ == "__main__":
    sys.exit(main())
