"""The command qwen-tts: every option matters, and every failure is told in one line."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from engine.cli import qwen_tts, speaking
from engine.cli.console import Console
from engine.cli.options import choose_device, choose_seeds
from engine.cli.qwen_tts import main
from engine.cli.texts import LARGEST_TEXT
from engine.errors import DeviceError, RequestError
from engine.families import Engine, open_engine
from engine.types import AudioChunk, CancelToken, Ending, Probe, SpeechRequest
from engine.voices import write_codes, write_embedding
from engine.wav import WavFormat, stream_header
from tests.terminal import Answer, Terminal

BASE = "qwen-talker-1.7b-base-F32.gguf"
CUSTOM = "qwen-talker-0.6b-customvoice-F32.gguf"
DESIGN = "qwen-talker-1.7b-voicedesign-F32.gguf"
CODEC = "qwen-tokenizer-12hz-F32.gguf"
WIDTH = 80  # of the tiny base model
CLIP = Path(__file__).parents[1] / "golden" / "data" / "clip_a.wav"
FRAME = 1920

Speak = Callable[..., Answer]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.delenv("GGML_BACKEND", raising=False)
    return Terminal(monkeypatch)


@pytest.fixture
def speak(terminal: Terminal, data: Path, tmp_path: Path) -> Speak:
    """Runs the command: four frames of a fixed seed into out.wav of a fresh folder."""

    def run(
        *arguments: object, model: str = BASE, stdin: bytes = b"Good morning.\n", **screen: Any
    ) -> Answer:
        files = ("--model", data / model, "--codec", data / CODEC)
        usual = ("--seed", 3, "--max-new", 4, "-o", tmp_path / "out.wav", "--device", "cpu")
        return terminal.run(main, (*files, *usual, *arguments), stdin, **screen)

    return run


@pytest.fixture
def codes(speak: Speak, tmp_path: Path) -> Callable[..., NDArray[np.int64]]:
    """Runs the command and returns the codes [T, 16] of its first take."""

    def run(*arguments: object, **others: Any) -> NDArray[np.int64]:
        answer = speak(*arguments, "--dump", tmp_path / "dump", **others)
        assert answer.status == 0, answer.told
        spoken: NDArray[np.int64] = np.load(tmp_path / "dump" / "codes-full.npy")
        return spoken

    return run


@pytest.fixture
def voice(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Files of a cloned voice: .spk, .rvq, .txt."""
    generator = np.random.default_rng(5)
    write_embedding(tmp_path / "v.spk", generator.standard_normal(WIDTH).astype(np.float32))
    write_codes(tmp_path / "v.rvq", generator.integers(0, 64, (6, 16)))
    (tmp_path / "v.txt").write_bytes(b"\xef\xbb\xbfWell then.\r\n")
    return tmp_path / "v.spk", tmp_path / "v.rvq", tmp_path / "v.txt"


def fails(answer: Answer, *told: str) -> None:
    """Failed with status 1, nothing on stdout, one line on stderr: so nothing was loaded either,
    which would have been told, unless --quiet was given.
    """
    assert (answer.status, answer.output) == (1, b"")
    assert re.fullmatch(r"error: [^\n]+\n", answer.told), answer.told
    for part in told:
        assert part in answer.told


# --- what is written ---


@pytest.mark.parametrize("name", list(WavFormat))
def test_formats_hold_the_same_sound(speak: Speak, tmp_path: Path, name: str) -> None:
    answer = speak("--format", name, "--dump", tmp_path)
    assert answer.status == 0
    sound = np.load(tmp_path / "output-audio.npy")
    assert sound.shape == (4 * FRAME,)
    assert np.abs(sound).max() > 0.01
    written, rate = soundfile.read(tmp_path / "out.wav", dtype="float32")
    assert rate == 24_000
    assert np.abs(written - sound).max() <= {"wav16": 1e-4, "wav24": 1e-6, "wav32": 0}[name]
    assert (tmp_path / "out.wav").stat().st_size == 44 + len(sound) * WavFormat(name).sample_bytes


def test_the_usual_file_is_out_wav_and_is_replaced(
    terminal: Terminal, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("out.wav").write_bytes(b"old")
    arguments = ("--model", data / BASE, "--codec", data / CODEC, "--max-new", 2)
    answer = terminal.run(main, (*arguments, "--device", "cpu"), b"Hello")
    assert answer.status == 0
    assert soundfile.info("out.wav").frames == 2 * FRAME
    assert re.search(r"Seed: \d+\n", answer.told)


def test_stdout_gets_a_streaming_wav_with_the_same_samples(speak: Speak, tmp_path: Path) -> None:
    assert speak("--max-new", 6).status == 0
    answer = speak("--max-new", 6, "-o", "-")
    assert answer.status == 0
    assert answer.output[:44] == stream_header(WavFormat.WAV16, 24_000)
    streamed = np.frombuffer(answer.output[44:], "<i2").astype(int)
    written, _ = soundfile.read(tmp_path / "out.wav", dtype="int16")
    assert streamed.shape == written.shape
    assert np.abs(streamed - written).max() <= 2  # other pieces round otherwise


def test_each_line_is_an_utterance_with_a_header_of_its_own(speak: Speak) -> None:
    lines = "\ufeffGood morning.\r\n\n  \nGood night.".encode()
    answer = speak("-o", "-", "--stream-by-line", stdin=lines)
    assert answer.status == 0
    header, size = stream_header(WavFormat.WAV16, 24_000), 44 + 4 * FRAME * 2
    assert len(answer.output) == 2 * size
    assert answer.output[:44] == answer.output[size : size + 44] == header
    for stdin, part in (
        (b"Good morning.", answer.output[:size]),
        (b"Good night.", answer.output[size:]),
    ):
        assert speak("-o", "-", stdin=stdin).output == part


def test_failed_synthesis_leaves_nothing_on_stdout(speak: Speak) -> None:
    answer = speak("-o", "-", "--lang", "klingon")
    assert (answer.status, answer.output) == (1, b"")
    assert "error: This model does not know the language 'klingon'. Choose one of" in answer.told


class Closed(io.BytesIO):
    """A pipe that nobody reads any more."""

    def write(self, _: Any) -> int:
        raise BrokenPipeError

    def fileno(self) -> int:
        raise io.UnsupportedOperation


def test_broken_pipe_ends_quietly(speak: Speak) -> None:
    answer = speak("-o", "-", "--quiet", screen=Closed())
    assert (answer.status, answer.told) == (1, "")


def test_full_device_is_explained(speak: Speak) -> None:
    class Full(io.BytesIO):
        def write(self, _: Any) -> int:
            raise OSError(28, "No space left on device")

    answer = speak("-o", "-", "--quiet", screen=Full())
    fails(answer, "Standard output cannot be written: No space left on device.")


def test_takes_are_the_seeds_that_follow(speak: Speak, tmp_path: Path) -> None:
    answer = speak("--takes", 3, "--json")
    assert answer.status == 0
    assert not (tmp_path / "out.wav").exists()
    assert json.loads(answer.text)["seeds"] == [3, 4, 5]
    takes = [soundfile.read(tmp_path / f"out-{n}.wav")[0] for n in (1, 2, 3)]
    assert np.abs(takes[0] - takes[1]).max() > 0.01
    for seed, take in zip((3, 4, 5), takes, strict=True):
        assert speak("--seed", seed).status == 0
        alone, _ = soundfile.read(tmp_path / "out.wav")
        np.testing.assert_allclose(alone, take, atol=1e-3)


def test_no_sound_no_file(speak: Speak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaking, "open_engine", silent)
    answer = speak("--json")
    assert answer.status == 0
    assert "there is no sound, and no file is written" in answer.told
    assert not (tmp_path / "out.wav").exists()
    report = json.loads(answer.text)
    assert (report["frames"], report["files"], report["endings"]) == ([0], [], ["spoken"])
    assert report["time_to_first_audio"] is report["real_time_factor"] is None
    assert speak("-o", "-").output == b""


# --- what is told ---


def test_report_in_json(speak: Speak, tmp_path: Path) -> None:
    report = json.loads(speak("--json", "--takes", 2).text)
    expected = {
        "model": "Qwen3-TTS-12Hz-1.7B-base",
        "device": "cpu",
        "precision": "f32",
        "seeds": [3, 4],
        "endings": ["limit", "limit"],
        "frames": [4, 4],
        "seconds": [0.32, 0.32],
        "files": [str(tmp_path / "out-1.wav"), str(tmp_path / "out-2.wav")],
        "stopped": False,
    }
    measured = {
        "load_seconds",
        "time_to_first_audio",
        "frames_per_second",
        "real_time_factor",
        "peak_memory_bytes",
    }
    assert {key: report[key] for key in expected} == expected
    assert set(report) == set(expected) | measured
    assert all(report[key] > 0 for key in measured)


def test_report_keeps_off_a_streaming_stdout(speak: Speak) -> None:
    answer = speak("-o", "-", "--json", "--quiet", "--stream-by-line", stdin=b"One.\nTwo.\n")
    assert answer.output.startswith(b"RIFF")
    reports = [json.loads(line) for line in answer.told.splitlines()]
    assert [report["frames"] for report in reports] == [[4], [4]]


def test_what_a_person_is_told(speak: Speak, tmp_path: Path) -> None:
    answer = speak()
    assert answer.output == b""
    assert f"Loading {BASE} and {CODEC} (3.4 MB)\n" in answer.told
    limit = "stopped at the limit of 0.32 s; the text may not be finished"
    assert f"Made: 0.32 s of audio, 4 frames, seed 3, {limit}\n" in answer.told
    assert re.search(r"first audio after [\d.]+ s, [\d.]+ frames/s, real-time factor", answer.told)
    assert answer.told.endswith(f"Wrote {tmp_path / 'out.wav'}\n")
    assert "\r" not in answer.told


def test_quiet_tells_nothing(speak: Speak) -> None:
    answer = speak("--quiet")
    assert (answer.status, answer.output, answer.told) == (0, b"", "")


def test_what_the_engine_ignores_is_noted(speak: Speak) -> None:
    arguments = ("--speaker", "vivian", "--instruct", "Whisper.")
    answer = speak(*arguments, model=CUSTOM)
    assert answer.told.count("note: The 0.6B custom-voice model does not follow instructions") == 1
    assert speak(*arguments, "--quiet", model=CUSTOM).told == ""


def test_typed_text_is_asked_for(speak: Speak) -> None:
    answer = speak(typed=True)
    assert answer.status == 0
    assert answer.told.startswith("Type the text, then press Ctrl+")
    assert "Type" not in speak().told


def test_progress_is_for_terminals() -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen, file = Screen(), io.StringIO()
    for stream in (screen, file):
        console = Console(stream=stream)
        console.progress("half of it")
        console.progress("all")
        console.say("done")
    assert screen.getvalue() == "\rhalf of it\rall       \r   \rdone\n"
    assert file.getvalue() == "done\n"


# --- what is chosen ---


def test_seeds_replay(codes: Callable[..., NDArray[np.int64]]) -> None:
    first = codes()
    assert np.array_equal(codes(), first)
    assert not np.array_equal(codes("--seed", 4), first)


def test_negative_seeds_are_random_and_shown(speak: Speak) -> None:
    answers = [speak("--seed", -1, "--json") for _ in range(2)]
    seeds = [json.loads(answer.text)["seeds"][0] for answer in answers]
    assert seeds[0] != seeds[1]
    for seed, answer in zip(seeds, answers, strict=True):
        assert f"\nSeed: {seed}\n" in answer.told


def test_seeds_stay_in_range() -> None:
    assert choose_seeds(2**64 - 2, 2) == (2**64 - 2, 2**64 - 1)
    with pytest.raises(RequestError, match="3 takes from 18446744073709551614 on"):
        choose_seeds(2**64 - 2, 3)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--temp", "0.2"),
        ("--top-k", "1"),
        ("--top-p", "0.05"),
        ("--rep-pen", "50"),
        ("--greedy",),
        ("--lang", "english"),
        ("--layout", "streaming"),
    ],
)
def test_talker_options_matter(
    codes: Callable[..., NDArray[np.int64]], arguments: tuple[str, ...]
) -> None:
    usual, changed = codes("--max-new", 12), codes("--max-new", 12, *arguments)
    assert not np.array_equal(usual[:, 0], changed[:, 0])


@pytest.mark.parametrize(
    "arguments", [("--sub-temp", "0.2"), ("--sub-top-k", "1"), ("--sub-top-p", "0.05")]
)
def test_predictor_options_leave_the_first_code(
    codes: Callable[..., NDArray[np.int64]], arguments: tuple[str, ...]
) -> None:
    usual, changed = codes(), codes(*arguments)
    assert usual[0, 0] == changed[0, 0]
    assert not np.array_equal(usual[0, 1:], changed[0, 1:])


def test_greedy_needs_no_seed(codes: Callable[..., NDArray[np.int64]]) -> None:
    assert np.array_equal(codes("--greedy"), codes("--greedy", "--seed", 9))
    cold = codes("--temp", 0, "--sub-temp", 0)
    assert np.array_equal(codes("--greedy"), cold)


def test_flags_without_effect(codes: Callable[..., NDArray[np.int64]]) -> None:
    assert np.array_equal(codes("--no-fa", "--clamp-fp16"), codes())


def test_speaker_and_instruct_matter(codes: Callable[..., NDArray[np.int64]]) -> None:
    vivian, ryan = (codes("--speaker", name, model=CUSTOM) for name in ("vivian", "ryan"))
    assert not np.array_equal(vivian, ryan)
    calm, loud = (codes("--instruct", words, model=DESIGN) for words in ("A calm voice", "Loud"))
    assert not np.array_equal(calm, loud)


@pytest.mark.parametrize(
    ("model", "arguments", "told"),
    [
        (BASE, ("--speaker", "vivian"), "this one is base"),
        (BASE, ("--instruct", "Whisper."), "A base model does not take instructions"),
        (CUSTOM, (), "needs a speaker. Choose one of: serena, vivian"),
        (CUSTOM, ("--speaker", "nobody"), "does not have the speaker 'nobody'"),
        (DESIGN, (), "needs a description of the voice"),
        (CUSTOM, ("--ref-wav", str(CLIP)), "cannot learn a voice from a recording"),
        (BASE, ("--max-new", "9999"), "the model has 4096"),
        (BASE, ("--device", "abacus"), "There is no device 'abacus'"),
        (BASE, ("--precision", "f7"), "There is no precision 'f7'"),
    ],
)
def test_what_the_engine_refuses_is_told(
    speak: Speak, tmp_path: Path, model: str, arguments: tuple[str, ...], told: str
) -> None:
    answer = speak(*arguments, "--quiet", model=model)
    fails(answer, told)
    assert list(tmp_path.glob("*.wav")) == []


@pytest.mark.parametrize(
    ("model", "arguments"),
    [
        (BASE, ("--speaker", "vivian")),
        (BASE, ("--instruct", "Whisper.")),
        (BASE, ("--lang", "klingon")),
        (BASE, ("--temp", "1e300")),
        (BASE, ("--rep-pen", "1e-300")),
        (CUSTOM, ()),
        (CUSTOM, ("--speaker", "nobody")),
        (CUSTOM, ("--ref-wav", str(CLIP))),
        (DESIGN, ()),
    ],
)
def test_what_the_header_tells_is_told_before_text_and_weights_are_read(
    speak: Speak, monkeypatch: pytest.MonkeyPatch, model: str, arguments: tuple[str, ...]
) -> None:
    monkeypatch.delattr(qwen_tts, "read_stdin_text")
    monkeypatch.delattr(qwen_tts, "load")
    fails(speak(*arguments, model=model))


def test_no_input_is_overwritten(
    speak: Speak, voice: tuple[Path, Path, Path], data: Path, tmp_path: Path
) -> None:
    embedding, packed, transcript = voice
    talker, clip = tmp_path / "talker.gguf", tmp_path / "me.wav"
    shutil.copy(data / BASE, talker)
    shutil.copy(CLIP, clip)
    (tmp_path / "link-2.wav").symlink_to(clip)
    files = ("--ref-spk", embedding, "--ref-rvq", packed, "--ref-text", transcript)
    for path, arguments in (
        (talker, ("--model", talker)),
        (embedding, files),
        (packed, files),
        (transcript, files),
        (clip, ("--ref-wav", clip)),
    ):
        before = path.read_bytes()
        fails(speak(*arguments, "-o", path), f"{path.name} is read by this command")
        assert path.read_bytes() == before
    answer = speak("--ref-wav", clip, "-o", tmp_path / "link.wav", "--takes", 2)
    fails(answer, "link-2.wav is read by this command")


def test_names_that_promise_another_kind_of_file_are_refused(speak: Speak, tmp_path: Path) -> None:
    fails(speak("-o", tmp_path / "a.mp3"), f"Use -o {tmp_path / 'a.wav'}.")
    for name in ("plain", "tmp.Xy12"):  # as scripts of other engines name them
        assert speak("-o", tmp_path / name).status == 0
        assert soundfile.info(tmp_path / name).frames == 4 * FRAME


def test_a_base_model_without_a_voice_says_so(speak: Speak, voice: tuple[Path, ...]) -> None:
    told = "note: no voice is given, so the base model makes one up. Use --ref-wav or --ref-spk."
    assert told in speak().told
    assert told not in speak("--ref-spk", voice[0]).told


def test_pieces_of_any_length(codes: Callable[..., NDArray[np.int64]]) -> None:
    assert np.array_equal(codes("--codec-chunk-dur", "1e308"), codes())


def test_transcripts_come_through_pipes_that_somebody_writes(
    speak: Speak, voice: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    arguments = ("--ref-spk", voice[0], "--ref-rvq", voice[1], "--ref-text", pipe)
    fails(speak(*arguments), "pipe is empty")
    both = os.open(pipe, os.O_RDWR)  # as a shell has it open for <(...)
    writer = os.open(pipe, os.O_WRONLY)
    os.close(both)

    def write() -> None:
        os.write(writer, b"Well then.")
        os.close(writer)

    thread = threading.Timer(0.2, write)
    thread.start()
    assert speak(*arguments).status == 0
    thread.join()


def test_endless_lines_are_refused(speak: Speak) -> None:
    endless = b"a" * (LARGEST_TEXT + 5)
    fails(speak(stdin=endless), "The text on standard input is too long")
    answer = speak("-o", "-", "--stream-by-line", "--quiet", stdin=endless)
    fails(answer, "Line 1 of standard input is too long")


def test_cloned_voices(
    codes: Callable[..., NDArray[np.int64]], voice: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    embedding, packed, transcript = voice
    alone = codes("--ref-spk", embedding)
    assert not np.array_equal(alone, codes())
    assert not (tmp_path / "dump" / "ref-codes.npy").exists()
    whole = codes("--ref-spk", embedding, "--ref-rvq", packed, "--ref-text", transcript)
    assert not np.array_equal(alone, whole)
    written = np.load(tmp_path / "dump" / "spk-emb.npy")
    assert written.astype("<f4").tobytes() == embedding.read_bytes()
    assert np.load(tmp_path / "dump" / "ref-codes.npy").shape == (16, 6)
    other = tmp_path / "other.txt"
    other.write_text("Something else entirely.")
    assert not np.array_equal(
        whole, codes("--ref-spk", embedding, "--ref-rvq", packed, "--ref-text", other)
    )


def test_recordings_become_the_voice_that_their_files_hold(
    codes: Callable[..., NDArray[np.int64]], data: Path, tmp_path: Path
) -> None:
    clip, transcript, dump = data / "clip_a.wav", tmp_path / "a.txt", tmp_path / "dump"
    transcript.write_text("Well then.")
    heard = codes("--ref-wav", clip)
    assert not np.array_equal(heard, codes())
    assert not (dump / "ref-codes.npy").exists()
    whole = codes("--ref-wav", clip, "--ref-text", transcript)
    assert not np.array_equal(heard, whole)

    embedding, packed = tmp_path / "a.spk", tmp_path / "a.rvq"
    write_embedding(embedding, np.load(dump / "spk-emb.npy"))
    write_codes(packed, np.load(dump / "ref-codes.npy").T)
    assert np.array_equal(codes("--ref-spk", embedding), heard)
    parts = ("--ref-spk", embedding, "--ref-rvq", packed, "--ref-text", transcript)
    assert np.array_equal(codes(*parts), whole)


def test_recordings_are_judged_and_brought_to_the_rate(
    speak: Speak, data: Path, tmp_path: Path
) -> None:
    clip, rate = soundfile.read(data / "clip_a.wav")
    soundfile.write(tmp_path / "short.flac", clip[: rate // 2 : 2], rate // 2)
    answer = speak("--ref-wav", tmp_path / "short.flac")
    assert answer.status == 0
    assert "note: The recording is only 0.50 s long" in answer.told
    assert f"Learning the voice of {tmp_path / 'short.flac'} (voice alone)\n" in answer.told


def test_dump_holds_every_named_tensor(speak: Speak, tmp_path: Path) -> None:
    assert speak("--dump", tmp_path / "new" / "dump", "--takes", 2).status == 0
    arrays = {path.stem: np.load(path) for path in (tmp_path / "new" / "dump").iterdir()}
    expected = {
        "codes-full",
        "codes-step0",
        "next-emb-step0",
        "output-audio",
        "prompt-ids",
        "talker-hidden-prefill-final",
        "talker-hidden-prefill-l0",
        "talker-hidden-step1",
        "talker-input-embed",
        "talker-logits-prefill",
        "trailing-text-hidden",
        "tts-pad-embed",
    }
    assert expected <= set(arrays)
    assert arrays["codes-full"].shape == (4, 16)
    assert arrays["codes-full"].dtype == np.int64
    assert np.array_equal(arrays["codes-full"][0], arrays["codes-step0"])
    assert arrays["talker-input-embed"].shape[1] == WIDTH
    assert arrays["output-audio"].dtype == arrays["tts-pad-embed"].dtype == np.float32


def test_dump_works_while_streaming_and_in_low_precision(speak: Speak, tmp_path: Path) -> None:
    answer = speak("-o", "-", "--json", "--precision", "bf16", "--dump", tmp_path, "--quiet")
    assert json.loads(answer.told)["precision"] == "bf16"
    assert np.load(tmp_path / "talker-input-embed.npy").dtype == np.float32
    assert np.load(tmp_path / "output-audio.npy").shape == (4 * FRAME,)


@pytest.mark.parametrize(
    ("arguments", "pieces"),
    [
        ((), (25,)),
        (("--codec-chunk-dur", "0.4"), (5,)),
        (("--codec-chunk-dur", "0.01"), (1,)),
        (("-o", "-"), (1, 2, 4, 8)),
        (("-o", "-", "--codec-chunk-dur", "0.4"), (1, 2, 4, 8)),
    ],
)
def test_pieces_that_are_decoded_at_once(
    speak: Speak,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    pieces: tuple[int, ...],
) -> None:
    requests: list[SpeechRequest] = []

    def watched(engine: Engine, request: SpeechRequest, *rest: Any, **named: Any) -> Any:
        requests.append(request)
        return speaking.speak(engine, request, *rest, **named)

    monkeypatch.setattr(qwen_tts, "speak", watched)
    assert speak(*arguments).status == 0
    assert [request.piece_frames for request in requests] == [pieces]


def test_backend_variable_chooses_the_device(speak: Speak, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GGML_BACKEND", raising=False)
    assert choose_device(None) == "auto"
    for backend, device in (("CPU", "cpu"), ("CUDA0", "cuda:0"), ("cuda1", "cuda:1")):
        monkeypatch.setenv("GGML_BACKEND", backend)
        assert choose_device(None) == device
        assert choose_device("mps") == "mps"
    monkeypatch.setenv("GGML_BACKEND", "Vulkan0")
    with pytest.raises(DeviceError, match="GGML_BACKEND names 'Vulkan0'"):
        choose_device(None)
    assert speak().status == 0  # --device goes first


# --- text ---


@pytest.mark.parametrize(
    "stdin",
    [
        b"\xef\xbb\xbfGood morning.",
        b"Good morning.\r\n\r\n",
        "Good morning.\n".encode("utf-16"),
    ],
)
def test_marks_and_line_ends_are_no_text(
    codes: Callable[..., NDArray[np.int64]], stdin: bytes
) -> None:
    assert np.array_equal(codes(stdin=stdin), codes())


@pytest.mark.parametrize(
    ("stdin", "told"),
    [
        (b"", "no text to speak on standard input"),
        (b" \r\n\n", "no text to speak on standard input"),
        (b"caf\xe9", "The text on standard input is not valid UTF-8 (byte 4)"),
        (b"x" * ((1 << 24) + 1), "too long"),
    ],
)
def test_unusable_text(speak: Speak, stdin: bytes, told: str) -> None:
    fails(speak(stdin=stdin), told)


def test_unusable_line_is_named_and_the_lines_before_are_spoken(speak: Speak) -> None:
    answer = speak("-o", "-", "--stream-by-line", "--quiet", stdin=b"One.\ncaf\xe9\n")
    assert answer.status == 1
    assert len(answer.output) == 44 + 4 * FRAME * 2
    assert answer.told.startswith("error: Line 2 of standard input is not valid UTF-8")


# --- usage ---


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--temp", "warm"), "argument --temp: 'warm' is not a number"),
        (("--temp", "nan"), "'nan' is not a number"),
        (("--temp", "-1"), "--temp: -1 is out of range (0 or more"),
        (("--sub-temp", "inf"), "argument --sub-temp: 'inf' is not a number"),
        (("--top-k", "1.5"), "argument --top-k: '1.5' is not a whole number"),
        (("--top-k", "-1"), "argument --top-k: -1 is out of range (0 or more)"),
        (("--sub-top-k", "x"), "argument --sub-top-k: 'x' is not a whole number"),
        (("--top-p", "0"), "argument --top-p: 0 is out of range (above 0, up to 1"),
        (("--sub-top-p", "1.1"), "argument --sub-top-p: 1.1 is out of range"),
        (("--rep-pen", "0"), "argument --rep-pen: 0 is out of range (above 0)"),
        (("--max-new", "0"), "argument --max-new: 0 is out of range (1 or more)"),
        (("--max-new", "1e3"), "argument --max-new: '1e3' is not a whole number"),
        (("--seed", "x1"), "argument --seed: 'x1' is not a whole number"),
        (("--seed", str(2**64)), "argument --seed: 18446744073709551616 is out of range"),
        (("--takes", "0"), "argument --takes: 0 is out of range (1 to 1000)"),
        (("--codec-chunk-dur", "0"), "argument --codec-chunk-dur: 0 is out of range"),
        (("--format", "mp3"), "argument --format: invalid choice: 'mp3'"),
        (("--layout", "wide"), "argument --layout: invalid choice: 'wide'"),
        (("--instruct", "\udcff"), "is not valid UTF-8"),
        (("--dum", "x"), "unrecognized arguments: --dum x"),
        (("extra",), "unrecognized arguments: extra"),
        (("--lang",), "argument --lang: expected one argument"),
        (("--stream-by-line",), "--stream-by-line needs standard output. Add: -o -"),
        (("--takes", "2", "-o", "-"), "Several takes cannot share standard output"),
        (("--ref-rvq", "a", "--ref-text", "b"), "--ref-rvq needs --ref-spk too"),
        (("--ref-rvq", "a", "--ref-spk", "b"), "--ref-rvq needs --ref-text too"),
        (("--ref-spk", "a", "--ref-text", "b"), "--ref-text is the transcript of a recording"),
        (("--ref-wav", "a", "--ref-spk", "b"), "--ref-wav cannot be combined"),
    ],
)
def test_usage_errors(speak: Speak, arguments: tuple[str, ...], told: str) -> None:
    fails(speak(*arguments), told)


def test_both_files_are_required(terminal: Terminal) -> None:
    answer = terminal.run(main, ("-o", "x.wav"))
    fails(answer, "arguments are required: --model, --codec", "`qwen-tts --help` lists the options")


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_goes_to_stdout(terminal: Terminal, option: str) -> None:
    answer = terminal.run(main, (option,))
    assert (answer.status, answer.told) == (0, "")
    assert answer.text.startswith("usage: qwen-tts ")
    assert "--clamp-fp16" in answer.text
    assert "no effect" in answer.text


def test_version(terminal: Terminal) -> None:
    answer = terminal.run(main, ("--version",))
    assert (answer.status, answer.told) == (0, "")
    assert answer.text.startswith("qwen-tts ")


def test_torch_stays_unloaded_until_all_is_well(data: Path, tmp_path: Path) -> None:
    files = ["--model", str(data / BASE), "--codec", str(data / CODEC)]
    runs = [
        ["--help"],
        [*files, "--temp", "warm"],
        ["--model", "absent.gguf", *files[2:]],
        [*files, "-o", str(tmp_path / "absent" / "x.wav")],
        [*files, "-o", str(tmp_path / "x.wav")],  # without text
    ]
    code = (
        f"import sys; from engine.cli.qwen_tts import main; runs = {runs!r}\n"
        "statuses = [main(run) for run in runs]\n"
        "print(statuses, 'torch' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], input="", capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1] == "[0, 1, 1, 1, 1] False"
    assert len(ran.stderr.splitlines()) == 4


# --- files ---


def test_outputs_are_checked_first(speak: Speak, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "out-2.wav").mkdir()
    fails(speak("-o", tmp_path / "absent" / "x.wav"), "The folder", "absent does not exist")
    fails(speak("-o", tmp_path), f"{tmp_path} is a folder")
    fails(speak("-o", tmp_path / "file" / "x.wav"), "is no folder")
    fails(speak("-o", tmp_path / ("x" * 300)), "cannot be written")
    fails(speak("--takes", 2), "out-2.wav is a folder")
    fails(speak("--dump", tmp_path / "file" / "dump"), "cannot be made")


def test_protected_places_are_told_first(
    speak: Speak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    fails(speak(), "out.wav cannot be written: Permission denied.")
    (tmp_path / "out.wav").touch()
    monkeypatch.setattr("os.access", lambda *_: False)
    fails(speak(), "out.wav may not be overwritten")


def test_disk_that_fills_up_is_explained(
    speak: Speak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    fails(speak("--quiet"), "out.wav cannot be written: No space left on device")
    fails(speak("--quiet", "--dump", tmp_path), ".npy cannot be written: No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_unusable_models_are_told_first(speak: Speak, data: Path, tmp_path: Path) -> None:
    fails(speak("--model", tmp_path / "absent.gguf"), "absent.gguf does not exist")
    fails(speak("--codec", data / BASE), f"{BASE} is no audio tokenizer")
    fails(speak("--model", data / CODEC), "did you swap --model and --codec?")
    (tmp_path / "cut.gguf").write_bytes((data / BASE).read_bytes()[:5000])
    fails(speak("--model", tmp_path / "cut.gguf"), "cut.gguf")


def test_unusable_voices_are_told_first(
    speak: Speak, voice: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    embedding, packed, transcript = voice
    fails(speak("--ref-wav", tmp_path / "me.wav"), "me.wav does not exist")
    soundfile.write(tmp_path / "blank.wav", np.zeros(24_000), 24_000)
    fails(speak("--ref-wav", tmp_path / "blank.wav"), "blank.wav is silent")
    fails(speak("--ref-wav", embedding), "v.spk")
    fails(speak("--ref-spk", tmp_path / "absent.spk"), "absent.spk cannot be read")
    write_embedding(tmp_path / "wide.spk", np.zeros(2048, np.float32))
    fails(speak("--ref-spk", tmp_path / "wide.spk"), "holds 2048 values", f"needs {WIDTH}")
    rest = ("--ref-spk", embedding, "--ref-text", transcript)
    fails(speak(*rest, "--ref-rvq", embedding), "not whole frames")
    rest = ("--ref-spk", embedding, "--ref-rvq", packed)
    transcript.write_bytes(b"\xef\xbb\xbf\r\n")
    fails(speak(*rest, "--ref-text", transcript), "v.txt is empty")
    for words in (tmp_path / "absent.txt", "These are the words. " * 20):
        fails(speak(*rest, "--ref-text", words), "--ref-text takes a file, not the words")
    fails(speak(*rest, "--ref-text", tmp_path), f"{tmp_path} cannot be read")
    transcript.write_bytes(b"\xff\xff")
    fails(speak(*rest, "--ref-text", transcript), "v.txt is not valid UTF-8")


# --- stopping ---


def changed(engine: Engine, act: Callable[[Iterator[AudioChunk]], Iterator[AudioChunk]]) -> Engine:
    """The engine, with something done to the chunks that it speaks."""
    spoken = engine.speak

    def speak(
        request: SpeechRequest, cancel: CancelToken | None = None, probe: Probe | None = None
    ) -> Iterator[AudioChunk]:
        return act(spoken(request, cancel, probe))

    engine.speak = speak  # type: ignore[method-assign]
    return engine


def silent(*arguments: Any, **options: Any) -> Engine:
    """Opens an engine whose takes end before their first frame."""

    def end(chunks: Iterator[AudioChunk]) -> Iterator[AudioChunk]:
        chunk = next(chunks)
        yield AudioChunk(0, 0, chunk.samples[:0], chunk.codes[:0], Ending.SPOKEN)

    return changed(open_engine(*arguments, **options), end)


def interrupted(*arguments: Any, **options: Any) -> Engine:
    """Opens an engine behind which Ctrl+C is pressed after the second chunk."""

    def press(chunks: Iterator[AudioChunk]) -> Iterator[AudioChunk]:
        for index, chunk in enumerate(chunks):
            yield chunk
            if index == 1:
                signal.raise_signal(signal.SIGINT)

    return changed(open_engine(*arguments, **options), press)


def test_ctrl_c_keeps_what_was_made(
    speak: Speak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speaking, "open_engine", interrupted)
    handler = signal.getsignal(signal.SIGINT)
    answer = speak("--max-new", 50, "--codec-chunk-dur", "0.08", "--json")
    assert signal.getsignal(signal.SIGINT) is handler
    assert answer.status == 130
    assert answer.told.endswith("stopped\n")
    report = json.loads(answer.text)
    assert (report["stopped"], report["endings"], report["frames"]) == (True, [None], [2])
    assert soundfile.info(tmp_path / "out.wav").frames == 2 * FRAME


def test_ctrl_c_ends_a_stream_between_chunks(speak: Speak, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaking, "open_engine", interrupted)
    answer = speak("-o", "-", "--max-new", 50, "--stream-by-line", stdin=b"One.\nTwo.\n")
    assert answer.status == 130
    assert len(answer.output) == 44 + 3 * FRAME * 2  # pieces of 1 and 2 frames
    assert struct.unpack("<I", answer.output[4:8]) == (0x7FFFFFFF,)


def test_ctrl_c_while_text_is_awaited(speak: Speak, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(_: Console) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(qwen_tts, "read_stdin_text", press)
    answer = speak()
    assert (answer.status, answer.output, answer.told) == (130, b"", "stopped\n")


def test_ctrl_c_while_loading(speak: Speak, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*arguments: Any, **options: Any) -> Engine:
        signal.raise_signal(signal.SIGINT)
        return open_engine(*arguments, **options)

    monkeypatch.setattr(speaking, "open_engine", press)
    answer = speak("--quiet")
    assert (answer.status, answer.told) == (130, "stopped\n")
