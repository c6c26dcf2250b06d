"""The repository's benchmark builds what is missing, once, and names it to the command."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.gguf.layout import (
    CodecDecoderDims,
    CodecDims,
    CodecEncoderDims,
    SpeakerEncoderDims,
    TalkerDims,
    TransformerDims,
)
from engine.voices import read_embedding
from tests.fakes import BASE
from tools import bench
from tools.peers import official

STACK = TransformerDims(64, 96, 1, 4, 2, 16)
TALKER = TalkerDims(
    talker=STACK,
    predictor=STACK,
    speaker_encoder=SpeakerEncoderDims(64, channels=16, squeeze=20, attention=12),
    text_vocabulary=857,
    text_width=64,
    codec_vocabulary=1088,
    codebook_size=64,
)
CODEC = CodecDims(
    encoder=CodecEncoderDims(TransformerDims(16, 32, 1, 2, 2, 8), filters=4, codebook_width=8),
    decoder=CodecDecoderDims(
        TransformerDims(24, 32, 2, 2, 2, 8), latent=16, quantizer_width=16, width=32
    ),
    codebook_size=64,
)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch, data: Path) -> list[list[str]]:
    """What the command was given each time; models are small."""
    calls: list[list[str]] = []

    def note(argv: list[str]) -> int:
        calls.append(argv)
        return 0

    monkeypatch.setattr(bench, "official_talker", lambda size, family: TALKER)
    monkeypatch.setattr(bench, "CodecDims", lambda: CODEC)
    monkeypatch.setattr(bench, "DEFAULT_VOCABULARY", data / BASE)
    monkeypatch.setattr("engine.cli.bench.main", note)
    return calls


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_pair_and_a_voice_are_built_once(given: list[list[str]], tmp_path: Path) -> None:
    for _ in range(2):
        assert bench.main([str(tmp_path / "work"), "--threads", "1,2", "--growth"]) == 0
        files = {path: path.stat().st_mtime_ns for path in (tmp_path / "work").iterdir()}
    talker, codec, voice = (
        tmp_path / "work" / name
        for name in (
            "qwen-talker-0.6b-base-Q8_0.gguf",
            "qwen-tokenizer-12hz-Q8_0.gguf",
            "voice-64.spk",
        )
    )
    assert files.keys() == {talker, codec, voice}
    assert read_embedding(voice, 64).std() == pytest.approx(0.5, abs=0.1)
    first, second = given
    files_given = ["--model", str(talker), "--codec", str(codec), "--voice", str(voice)]
    assert first == second == [*files_given, "--threads", "1,2", "--growth"]
    assert {path: path.stat().st_mtime_ns for path in files} == files


def test_k_quants_are_made_out_of_float32(given: list[list[str]], tmp_path: Path) -> None:
    assert bench.main([str(tmp_path), "--type", "Q4_K_M"]) == 0
    stems = ("qwen-talker-0.6b-base", "qwen-tokenizer-12hz")
    built = {f"{stem}-{kind}.gguf" for stem in stems for kind in ("F32", "Q4_K_M")}
    assert names(tmp_path) == {*built, "voice-64.spk"}
    assert given[0][1] == str(tmp_path / "qwen-talker-0.6b-base-Q4_K_M.gguf")


def test_peers_get_what_they_load(given: list[list[str]], tmp_path: Path) -> None:
    options = ["--official", "my oracle/python", "--qwentts-cpp", "python3"]
    assert bench.main([str(tmp_path), *options]) == 0
    peers = [
        value for option, value in zip(given[0], given[0][1:], strict=False) if option == "--peer"
    ]
    (_, first), (name, second) = (peer.split("=", 1) for peer in peers)
    assert shlex.split(first) == ["python3", str(bench.PEERS / "qwentts_cpp.py")]
    python, script, folder = shlex.split(second)
    assert (name, python) == ("official", "my oracle/python")
    assert Path(script) == Path(official.__file__)
    assert names(Path(folder)) >= {"config.json", "model.safetensors", "speech_tokenizer"}


def test_a_folder_that_cannot_be_made_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert bench.main([str(tmp_path / "file")]) == 1
    assert "file" in capsys.readouterr().err


class Wrapper:
    """Takes the calls of the official package's wrapper."""

    def __init__(self, family: str) -> None:
        self.model = self
        self.config = self
        self.talker_config = self
        self.tts_model_type = family
        self.spk_id = {"serena": 3, "ryan": 4}
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        def call(**options: Any) -> Any:
            self.calls.append((name, options))
            return [np.zeros(4)], 24000

        return call


@pytest.mark.parametrize(
    ("family", "method", "own"),
    [
        ("base", "generate_voice_clone", {"voice_clone_prompt": ["a voice"]}),
        ("custom_voice", "generate_custom_voice", {"speaker": "serena"}),
        ("voice_design", "generate_voice_design", {"instruct": "A calm, low male voice."}),
    ],
)
def test_the_official_package_is_asked_for_as_many_frames(
    family: str, method: str, own: dict[str, Any]
) -> None:
    wrapper = Wrapper(family)
    wish = {"text": "Hello.", "language": "english"}
    assert len(official.speak(wrapper, wish, "a voice", 63)) == 4
    assert wrapper.calls == [(method, {**wish, "max_new_tokens": 64, **own})]


def test_the_official_base_model_needs_a_voice() -> None:
    with pytest.raises(SystemExit, match="add --voice"):
        official.speak(Wrapper("base"), {"text": "Hello.", "language": "english"}, None, 63)


def test_the_official_prefill_is_told_from_the_steps() -> None:
    class Stack:
        def forward(self, inputs_embeds: Any) -> str:
            return "hidden"

    stack, clock = Stack(), official.Clock()
    clock.watch("talker", stack, "forward")
    assert stack.forward(inputs_embeds=np.zeros((1, 9, 2))) == "hidden"
    assert clock.seconds.keys() == {"prefill"}
    stack.forward(inputs_embeds=np.zeros((1, 1, 2)))
    assert clock.seconds.keys() == {"prefill", "talker"}
