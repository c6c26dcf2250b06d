"""The command voice-studio: speaking with what is installed, and listing it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from app.__main__ import main
from app.commands import say
from app.core.trash import Trash
from app.core.voice_parts import VoiceParts
from app.core.voice_record import VoiceDetails, VoiceKind
from app.core.voices import VoiceLibrary
from engine.cli.speaking import Speech, speak
from engine.families import Engine
from engine.types import SpeechRequest
from engine.voices import write_codes, write_embedding
from tests.terminal import Answer, Terminal

BASE = "qwen-talker-1.7b-base-F32.gguf"
CUSTOM = "qwen-talker-0.6b-customvoice-F32.gguf"
DESIGN = "qwen-talker-1.7b-voicedesign-F32.gguf"
CODEC = "qwen-tokenizer-12hz-F32.gguf"
FRAME = 1920

Run = Callable[..., Answer]


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[SpeechRequest]:
    """The requests that were spoken, each cut to four frames: the tiny models seldom end."""
    seen: list[SpeechRequest] = []

    def short(engine: Engine, request: SpeechRequest, *rest: Any) -> Speech:
        seen.append(request)
        sampling = replace(request.sampling, max_frames=4)
        return speak(engine, replace(request, sampling=sampling), *rest)

    monkeypatch.setattr(say, "speak", short)
    return seen


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, requests: list[SpeechRequest]) -> Run:
    """Runs voice-studio in a folder of its own, on the processor."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("GGML_BACKEND", "CPU")
    terminal = Terminal(monkeypatch)
    return lambda *arguments, stdin=b"": terminal.run(main, arguments, stdin)


def install(folder: Path, data: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copy(data / name, folder)


def fails(answer: Answer, *told: str) -> None:
    """Failed with status 1 and one line on stderr."""
    assert (answer.status, answer.output) == (1, b"")
    assert re.fullmatch(r"error: [^\n]+\n", answer.told), answer.told
    for part in told:
        assert part in answer.told


def test_say_with_what_is_installed(
    studio: Run, data: Path, studio_home: Path, requests: list[SpeechRequest]
) -> None:
    install(studio_home / "data" / "models", data, CUSTOM, CODEC)
    answer = studio("say", "Hello", "-o", "hello.wav", "--seed", 5, "--format", "wav24")
    assert answer.status == 0
    assert answer.output == b""
    assert "Speaker: serena (others: vivian, uncle_fu, " in answer.told
    assert "seed 5" in answer.told
    assert answer.told.endswith("Wrote hello.wav\n")
    info = soundfile.info("hello.wav")
    assert (info.frames, info.subtype) == (4 * FRAME, "PCM_24")
    (request,) = requests
    assert (request.text, request.speaker, request.seeds) == ("Hello", "serena", (5,))
    assert request.language == "auto"


def test_home_moves_the_models(studio: Run, data: Path, tmp_path: Path) -> None:
    install(tmp_path / "else" / "data" / "models", data, BASE, CODEC)
    fails(
        studio("say", "Hello"),
        "There is no talker in ",
        "qwen-tokenizer-12hz-Q8_0.gguf",
        "https://huggingface.co/Serveurperso/Qwen3-TTS-GGUF",
        "hf download Serveurperso/Qwen3-TTS-GGUF qwen-talker-0.6b-customvoice-Q8_0.gguf "
        "qwen-tokenizer-12hz-Q8_0.gguf --local-dir ",
    )
    assert studio("say", "Hello", "--home", tmp_path / "else").status == 0


def test_files_without_a_name_take_free_ones(studio: Run, data: Path) -> None:
    for expected in ("speech.wav", "speech-2.wav", "speech-3.wav"):
        answer = studio("say", "Hello", "--models", data, "--json", "--quiet")
        assert json.loads(answer.text)["files"] == [expected]
        assert answer.told == ""
    assert len(list(Path().iterdir())) == 3


def test_existing_files_are_kept_unless_forced(studio: Run, data: Path) -> None:
    Path("a.wav").write_bytes(b"old")
    fails(
        studio("say", "Hello", "-o", "a.wav", "--models", data), "a.wav exists already", "--force"
    )
    assert Path("a.wav").read_bytes() == b"old"
    assert studio("say", "Hello", "-o", "a.wav", "--models", data, "--force").status == 0
    assert soundfile.info("a.wav").frames == 4 * FRAME


def test_names_get_the_suffix_of_what_is_written(studio: Run, data: Path) -> None:
    fails(studio("say", "Hello", "-o", "a.mp3", "--models", data), "Use -o a.wav.")
    for given, written in (("a", "a.wav"), ("b.1", "b.1.wav"), ("c.WAV", "c.WAV")):
        told = studio("say", "Hello", "-o", given, "--models", data).told
        assert told.endswith(f"Wrote {written}\n")


def test_a_base_model_without_a_voice_says_so(studio: Run, data: Path) -> None:
    told = "note: no voice is given, so the base model makes one up. Use --voice."
    assert told in studio("say", "Hello", "--models", data, "--model", "base").told
    assert told not in studio("say", "Hello", "--models", data).told


def test_limits_and_codes_of_languages_reach_the_request(
    studio: Run, data: Path, requests: list[SpeechRequest]
) -> None:
    answer = studio("say", "Hello", "--models", data, "--max-new", 3, "--lang", "EN")
    assert answer.status == 0, answer.told
    (request,) = requests
    assert (request.sampling.max_frames, request.language) == (3, "english")


def test_text_on_stdin(studio: Run, data: Path, requests: list[SpeechRequest]) -> None:
    assert studio("say", "--models", data, stdin=b"\xef\xbb\xbfTwo\nlines.\r\n").status == 0
    assert requests[0].text == "Two\nlines."
    fails(studio("say", "--models", data, "--quiet"), "There is no text to speak")
    fails(studio("say", " ", "--models", data, "--quiet"), "There is no text to speak")


@pytest.mark.parametrize(
    ("arguments", "model"),
    [
        ((), CUSTOM),
        (("--speaker", "ryan"), CUSTOM),
        (("--instruct", "A calm voice."), DESIGN),
        (("--instruct", "Calmly.", "--speaker", "ryan"), CUSTOM),
        (("--voice", "v.spk"), BASE),
        (("--model", "base"), BASE),
        (("--model", DESIGN, "--instruct", "A calm voice."), DESIGN),
    ],
)
def test_options_choose_the_kind_of_model(
    studio: Run, data: Path, arguments: tuple[str, ...], model: str
) -> None:
    write_embedding(Path("v.spk"), np.ones(80, np.float32))
    answer = studio("say", "Hello", "--models", data, *arguments)
    assert answer.status == 0
    assert f"Loading {model} and {CODEC}" in answer.told


def test_options_reach_the_request(studio: Run, data: Path, requests: list[SpeechRequest]) -> None:
    arguments = ("--speaker", "Eric", "--instruct", "Calmly.", "--lang", "chinese")
    usual = ("--models", data, "--precision", "bf16", "--codec", data / CODEC, "--json")
    report = json.loads(studio("say", "Hello", *usual, *arguments, "--device", "cpu").text)
    assert (report["precision"], report["device"]) == ("bf16", "cpu")
    (request,) = requests
    assert (request.speaker, request.instruct, request.language) == ("Eric", "Calmly.", "chinese")
    assert report["seeds"] == list(request.seeds)


def test_models_by_path(studio: Run, data: Path, tmp_path: Path) -> None:
    install(tmp_path / "loose", data, BASE, CODEC)
    assert studio("say", "Hello", "--model", tmp_path / "loose" / BASE).status == 0
    fails(studio("say", "Hello", "--model", tmp_path / "absent.gguf"), "does not exist")
    fails(studio("say", "Hello", "--model", data / BASE, "--codec", data / BASE), "no audio token")


def test_voices(studio: Run, data: Path, requests: list[SpeechRequest]) -> None:
    write_embedding(Path("me.spk"), np.ones(80, np.float32))
    say_it = ("say", "Hello", "--models", data, "--voice")
    assert studio(*say_it, "me").status == 0
    fails(studio(*say_it, "me.rvq"), "me.rvq needs me.rvq, which is not there")
    write_codes(Path("me.rvq"), np.ones((5, 16), np.int64))
    fails(studio(*say_it, "me.rvq"), "me.rvq needs me.txt, which is not there")
    assert "note: me.rvq is not used, since me.txt is missing." in studio(*say_it, "me").told
    Path("me.txt").write_text("Well then.")
    for name in ("me", "me.rvq", "me.spk"):
        assert studio(*say_it, name).status == 0
    voices = [request.voice for request in requests]
    assert all(voice is not None and voice.embedding is not None for voice in voices)
    transcripts = [None if voice is None else voice.transcript for voice in voices]
    assert transcripts == [None, None, "Well then.", "Well then.", None]
    fails(studio(*say_it, "you"), "There is no voice you.spk")
    fails(studio(*say_it, "me", "--speaker", "ryan"), "--speaker and --voice cannot be combined")


def test_recordings_as_voices(studio: Run, data: Path, requests: list[SpeechRequest]) -> None:
    shutil.copy(data / "clip_a.wav", "me.wav")
    say_it = ("say", "Hello", "--models", data, "--voice", "me.wav")
    told = studio(*say_it).told
    assert "note: me.txt is missing. With the exact words of me.wav in it" in told
    assert "Learning the voice of me.wav (voice alone)" in told
    Path("me.txt").write_text("Well then.")
    assert "Learning the voice of me.wav (with me.txt)" in studio(*say_it).told
    alone, whole = (request.voice for request in requests)
    assert alone is not None
    assert whole is not None
    assert (alone.codes, alone.transcript, whole.transcript) == (None, None, "Well then.")
    assert whole.codes is not None
    assert alone.embedding is not None
    np.testing.assert_array_equal(alone.embedding, whole.embedding)


def test_voices_of_the_library(
    studio: Run, data: Path, studio_home: Path, requests: list[SpeechRequest]
) -> None:
    library = studio_home / "data" / "voices"
    codes = np.full((5, 16), 3, np.int64)
    parts = {
        "Ann": VoiceParts(
            embeddings=(np.ones(80, np.float32),), codes=codes, transcript="I am Ann."
        ),
        "bob": VoiceParts(embeddings=(np.full(80, 2, np.float32),)),
        "Learn Me": VoiceParts(clip=data / "clip_a.wav"),
        "AC/DC": VoiceParts(embeddings=(np.ones(80, np.float32),)),
        "Zo\u00eb": VoiceParts(embeddings=(np.ones(80, np.float32),)),
        "Wide": VoiceParts(embeddings=(np.ones(96, np.float32),)),
    }
    voices = VoiceLibrary(library, Trash(studio_home / "data" / "trash"))
    for name, made_of in parts.items():
        voices.create(VoiceDetails(name, VoiceKind.CLONE), made_of)
    say_it = ("say", "Hello", "--models", data, "--voice")
    for name in ("ann", "bob", "Learn Me"):
        assert studio(*say_it, name).status == 0
    ann, bob, learnt = (request.voice for request in requests)
    assert ann is not None
    assert bob is not None
    assert learnt is not None
    assert (ann.transcript, bob.transcript, bob.codes) == ("I am Ann.", None, None)
    np.testing.assert_array_equal(ann.codes, codes)
    np.testing.assert_array_equal(bob.embedding, np.full(80, 2))
    assert learnt.embedding is not None
    fails(studio(*say_it, "Carl"), "no voice Carl.spk", "The library has: AC/DC, Ann, bob, Learn")
    write_embedding(Path("bob.spk"), np.ones(80, np.float32))  # what lies here goes first
    assert studio(*say_it, "bob").status == 0
    assert requests[-1].voice is not None
    np.testing.assert_array_equal(requests[-1].voice.embedding, np.ones(80))
    for name in ("ac/dc", "Zoe\u0308"):
        assert studio(*say_it, name).status == 0
    voices.create(VoiceDetails("ann", VoiceKind.CLONE), parts["bob"])
    assert "note: 2 voices are called" in studio(*say_it, "ANN").told
    assert "note: 2" not in studio(*say_it, "Ann").told
    fails(studio(*say_it, "Wide"), "'Wide' was made for models of another size", "--model")
    for name in ("Anna.spk", "a//b", "\u65e5" * 100):
        voices.create(VoiceDetails(name, VoiceKind.CLONE), parts["bob"])
        assert studio(*say_it, name).status == 0
    voice = voices.create(VoiceDetails("Broken One", VoiceKind.CLONE), parts["bob"])
    (voice.folder / "voice-80.spk").unlink()
    fails(studio(*say_it, "broken one"), "has neither a clip nor a speaker embedding")
    (voice.folder / "voice.json").unlink()
    fails(studio(*say_it, "broken one"), "has no voice.json")
    fails(studio(*say_it, " "), "--voice names nothing")
    fails(studio(*say_it, "lost.spk"), "There is no lost.spk", "The library has: ")


def test_what_cannot_be_said_is_explained(studio: Run, data: Path, tmp_path: Path) -> None:
    where = ("--models", data, "--quiet")
    fails(
        studio("say", "Hello", *where, "--model", DESIGN),
        "makes a voice from a description",
        "--instruct",
    )
    fails(studio("say", "Hello", *where, "--speaker", "nobody"), "Choose one of: serena")
    fails(studio("say", "Hello", *where, "--model", "huge"), "There is no model 'huge'")
    fails(studio("say", "Hello", *where, "--model", "qwen"), "fits several models")
    fails(studio("say", "Hello", "--models", tmp_path / "absent"), "absent is no folder")
    fails(studio("say", "Hello", *where, "-o", "-"), "Use qwen-tts -o - to stream")
    fails(studio("say", "Hello", *where, "-o", "absent/x.wav"), "The folder absent does not exist")
    fails(studio("say", "Hello", "--seed", "x"), "'x' is not a whole number", "voice-studio say")
    fails(studio("says"), "no command 'says'", "`voice-studio say`?", "`voice-studio --help`")
    fails(studio("Hello"), "no command 'Hello'", '`voice-studio say "Hello"`?')
    assert list(Path().iterdir()) == []


def test_the_command_is_called_as_it_was_typed(
    studio: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUDIO_COMMAND", "./studio")
    assert studio("--help").text.startswith("usage: ./studio ")
    assert studio("convert", "--help").text.startswith("usage: ./studio convert ")
    assert "  ./studio quantize qwen-talker" in studio("quantize", "--help").text
    fails(studio("Hello"), '`./studio say "Hello"`?', "`./studio --help`")
    fails(studio("say", "Hello", "--seed", "x"), "`./studio say --help`")


def test_stopping_keeps_what_was_made(
    studio: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(engine: Engine, request: SpeechRequest, *rest: Any) -> Speech:
        sampling = replace(request.sampling, max_frames=2)
        speech = speak(engine, replace(request, sampling=sampling), *rest)
        speech.stopped = True
        return speech

    monkeypatch.setattr(say, "speak", stopped)
    answer = studio("say", "Hello", "--models", data)
    assert answer.status == 130
    assert answer.told.endswith("stopped\n")
    assert soundfile.info("speech.wav").frames == 2 * FRAME


def test_a_file_that_appeared_meanwhile_is_kept(
    studio: Run, data: Path, studio_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(studio_home / "data" / "models", data, CUSTOM, CODEC)

    def other_is_faster(engine: Engine, request: SpeechRequest, *rest: Any) -> Speech:
        Path("mine.wav").write_bytes(b"of the other")
        sampling = replace(request.sampling, max_frames=4)
        return speak(engine, replace(request, sampling=sampling), *rest)

    monkeypatch.setattr(say, "speak", other_is_faster)
    answer = studio("say", "Hello", "-o", "mine.wav", "--seed", "1")
    assert answer.status == 0
    assert Path("mine.wav").read_bytes() == b"of the other"
    assert soundfile.info("mine-2.wav").frames == 4 * FRAME
    assert "Wrote mine-2.wav" in answer.told


def test_no_input_is_overwritten(studio: Run, data: Path, studio_home: Path) -> None:
    models = studio_home / "data" / "models"
    install(models, data, BASE, CODEC)
    Path("me.wav").write_bytes((data / "clip_a.wav").read_bytes())
    Path("talker.wav").symlink_to(models / BASE)
    for path, source in (("talker.wav", models / BASE), ("me.wav", Path("me.wav"))):
        before = source.read_bytes()
        answer = studio("say", "Hello", "--voice", "me.wav", "-o", path, "--force")
        assert answer.status == 1
        assert "is read by this command" in answer.told
        assert source.read_bytes() == before


@pytest.mark.parametrize("name", ["", ".", "..", "/", "x" * 300, "a\nb"])
def test_voices_with_strange_names(studio: Run, data: Path, studio_home: Path, name: str) -> None:
    install(studio_home / "data" / "models", data, BASE, CODEC)
    fails(studio("say", "Hello", "--voice", name))


def test_mistakes_are_told_before_text_and_weights_are_read(
    studio: Run, data: Path, studio_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(studio_home / "data" / "models", data, CUSTOM, CODEC)
    monkeypatch.delattr(say, "read_stdin_text")
    monkeypatch.delattr(say, "load")
    fails(studio("say", "--speaker", "nobody"), "does not have the speaker 'nobody'")
    fails(studio("say", "--speaker", "ryan", "--lang", "klingon"), "language 'klingon'")
    fails(studio("say", " "), "There is no text to speak")


def test_models_lists_what_is_there(studio: Run, data: Path, tmp_path: Path) -> None:
    install(tmp_path / "m", data, BASE, CUSTOM, CODEC)
    (tmp_path / "m" / "cut.gguf").write_bytes((data / BASE).read_bytes()[:9000])
    answer = studio("models", "--models", tmp_path / "m")
    assert (answer.status, answer.told) == (0, "")
    custom, base, codec, unusable, where = answer.text.splitlines()
    assert where.endswith(f"/data/models or {tmp_path / 'm'}.")
    assert custom.split() == [
        *("Qwen3-TTS-12Hz-0.6B-custom_voice", "custom_voice", "0.6B", "F32", "1.9", "MB"),
        *("9", "speakers", str(tmp_path / "m" / CUSTOM)),
    ]
    assert base.split()[:4] == ["Qwen3-TTS-12Hz-1.7B-base", "base", "1.7B", "F32"]
    assert codec.split() == ["tokenizer", "1.1", "MB", str(tmp_path / "m" / CODEC)]
    assert re.fullmatch(r"unusable: .*cut\.gguf.+", unusable)
    assert custom.index(" custom_voice ") == base.index(" base ") == codec.index(" tokenizer")


def test_models_in_json(studio: Run, data: Path, studio_home: Path) -> None:
    install(studio_home / "data" / "models", data, CUSTOM, CODEC)
    (studio_home / "data" / "models" / "bad.gguf").write_bytes(b"GGUF")
    values = json.loads(studio("models", "--json").text)
    assert values["folders"] == [str(studio_home / "data" / "models")]
    (talker,) = values["talkers"]
    assert (talker["family"], talker["speakers"][0]) == ("custom_voice", "serena")
    assert [Path(codec["path"]).name for codec in values["tokenizers"]] == [CODEC]
    assert "bad.gguf" in values["unusable"][0]["reason"]


def test_models_in_the_wrong_folder_are_noticed(studio: Run, data: Path, studio_home: Path) -> None:
    install(studio_home / "models", data, CUSTOM, CODEC)
    told = f"Those in {studio_home / 'models'} are not looked at: move them to {studio_home}/data/"
    fails(studio("say", "Hello"), told)
    assert told in studio("models").text


def test_models_says_what_is_missing(studio: Run, data: Path, studio_home: Path) -> None:
    folder = studio_home / "data" / "models"
    told = studio("models").text
    assert f"There is no talker in {folder}." in told
    assert f"--local-dir {folder}" in told
    install(folder, data, BASE)
    lines = studio("models").text.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith(f"There is no tokenizer in {folder}. Speaking needs qwen-talker")


@pytest.mark.parametrize(
    ("arguments", "begin"),
    [
        (("--version",), "voice-studio "),
        (("--help",), "usage: voice-studio "),
        (("say", "--help"), "usage: voice-studio say "),
    ],
)
def test_help_and_version(studio: Run, arguments: tuple[str, ...], begin: str) -> None:
    answer = studio(*arguments)
    assert (answer.status, answer.told) == (0, "")
    assert answer.text.startswith(begin)
