"""The mode rules and parameter checks: which error, and that it says what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import (
    Layout,
    ModeError,
    ModelDescription,
    RequestError,
    Sampling,
    SpeechRequest,
    StackSampling,
    Voice,
    check_can_learn,
    check_request,
    describe_model,
)
from engine.errors import ExplainedError
from engine.gguf.reader import GgufFile
from engine.qwen3tts import rules
from engine.qwen3tts.config import TalkerConfig, read_talker_config
from engine.qwen3tts.rules import CheckedRequest

FILES = {
    "base": "qwen-talker-1.7b-base-F32.gguf",
    "custom_voice": "qwen-talker-0.6b-customvoice-F32.gguf",
    "voice_design": "qwen-talker-1.7b-voicedesign-F32.gguf",
}
WIDTH = 80  # of the base checkpoint
VECTOR = np.ones(WIDTH, np.float32)
CODES = np.zeros((3, 16), np.int64)
Check = Callable[..., CheckedRequest]


@pytest.fixture(scope="module")
def configs(data: Path) -> dict[str, TalkerConfig]:
    made = {}
    for family, name in FILES.items():
        with GgufFile.open(data / name) as file:
            made[family] = read_talker_config(file)
    return made


@pytest.fixture(scope="module")
def descriptions(data: Path) -> dict[str, ModelDescription]:
    # The codec of these checkpoints has 64 codes, as `check` says.
    return {family: describe_model(data / name) for family, name in FILES.items()}


@pytest.fixture
def check(configs: dict[str, TalkerConfig]) -> Check:
    def run(family: str, **asked: Any) -> CheckedRequest:
        return rules.check_request(
            SpeechRequest(**({"text": "Hello."} | asked)), configs[family], 64
        )

    return run


@pytest.mark.parametrize(
    ("family", "asked", "kind", "message"),
    [
        ("base", {"text": ""}, RequestError, "no text"),
        ("base", {"text": " \n\t "}, RequestError, "no text"),
        # the seven mode rules
        ("base", {"speaker": "vivian"}, ModeError, "only be chosen with a custom_voice"),
        ("voice_design", {"speaker": "", "instruct": "x"}, ModeError, "this one is voice_design"),
        ("base", {"instruct": ""}, ModeError, "does not take instructions"),
        ("custom_voice", {}, ModeError, "needs a speaker"),
        ("voice_design", {}, ModeError, "needs a description"),
        ("voice_design", {"instruct": "  "}, ModeError, "needs a description"),
        (
            "custom_voice",
            {"speaker": "vivian", "voice": Voice(VECTOR)},
            ModeError,
            "only be used with a base model",
        ),
        (
            "voice_design",
            {"instruct": "calm", "voice": Voice(VECTOR, CODES, "words")},
            ModeError,
            "only be used with a base model",
        ),
        ("base", {"speaker": "vivian", "voice": Voice(VECTOR)}, ModeError, "only be chosen"),
        ("base", {"voice": Voice(transcript="words")}, RequestError, "without the codes"),
        ("base", {"voice": Voice(VECTOR, None, "words")}, RequestError, "without the codes"),
        # references
        ("base", {"voice": Voice(None, CODES, "words")}, RequestError, "speaker embedding"),
        ("base", {"voice": Voice(VECTOR, CODES)}, RequestError, "without their transcript"),
        ("base", {"voice": Voice(VECTOR, CODES, " ")}, RequestError, "without their transcript"),
        ("base", {"voice": Voice(VECTOR[:64])}, RequestError, "has 64 values; this model needs 80"),
        ("base", {"voice": Voice(VECTOR[None])}, RequestError, r"shape \[1, 80\]; \[80\] is"),
        ("base", {"voice": Voice(VECTOR, CODES / 2, "w")}, RequestError, "not integers"),  # type: ignore[arg-type]
        ("base", {"voice": Voice(VECTOR * np.nan)}, RequestError, "not numbers"),
        ("base", {"voice": Voice(VECTOR, CODES[:, :8], "w")}, RequestError, r"shape \[3, 8\]"),
        ("base", {"voice": Voice(VECTOR, CODES[:0], "w")}, RequestError, r"shape \[0, 16\]"),
        ("base", {"voice": Voice(VECTOR, CODES + 64, "w")}, RequestError, "codebooks end at 63"),
        ("base", {"voice": Voice(VECTOR, CODES - 1, "w")}, RequestError, "hold the value -1"),
        # names
        ("base", {"language": "klingon"}, RequestError, "does not know the language 'klingon'"),
        ("custom_voice", {"speaker": "bob"}, RequestError, "does not have the speaker 'bob'"),
        # numbers
        ("base", {"seeds": ()}, RequestError, "no seed"),
        ("base", {"seeds": (1, -1)}, RequestError, "seed -1"),
        ("base", {"seeds": (2**64,)}, RequestError, "out of range"),
        ("base", {"piece_frames": ()}, RequestError, "at least one frame"),
        ("base", {"piece_frames": (1, 0)}, RequestError, "at least one frame"),
        ("base", {"sampling": Sampling(max_frames=0)}, RequestError, "frames makes no sense"),
        ("base", {"sampling": Sampling(min_frames=-1)}, RequestError, "frames makes no sense"),
        ("base", {"sampling": Sampling(repetition_penalty=0)}, RequestError, "penalty"),
        ("base", {"sampling": Sampling(repetition_penalty=np.nan)}, RequestError, "penalty"),
        ("base", {"sampling": Sampling(repetition_penalty=1e-40)}, RequestError, "penalty"),
        ("base", {"sampling": Sampling(repetition_penalty=1e39)}, RequestError, "penalty"),
        (
            "base",
            {"sampling": Sampling(StackSampling(temperature=1e39))},
            RequestError,
            "temperature 1e.39 of the talker",
        ),
        (
            "base",
            {"sampling": Sampling(StackSampling(temperature=-0.1))},
            RequestError,
            "temperature -0.1 of the talker",
        ),
        (
            "base",
            {"sampling": Sampling(StackSampling(temperature=np.nan))},
            RequestError,
            "temperature",
        ),
        (
            "base",
            {"sampling": Sampling(predictor=StackSampling(temperature=np.inf))},
            RequestError,
            "of the code predictor",
        ),
        ("base", {"sampling": Sampling(StackSampling(top_k=-1))}, RequestError, "top-k -1"),
        ("base", {"sampling": Sampling(StackSampling(top_p=0.0))}, RequestError, "top-p 0.0"),
        ("base", {"sampling": Sampling(StackSampling(top_p=1.01))}, RequestError, "top-p"),
        ("base", {"sampling": Sampling(StackSampling(top_p=np.nan))}, RequestError, "top-p"),
    ],
)
def test_refused(
    check: Check,
    descriptions: dict[str, ModelDescription],
    family: str,
    asked: dict[str, Any],
    kind: type[ExplainedError],
    message: str,
) -> None:
    with pytest.raises(kind, match=message) as caught:
        check(family, **asked)
    assert type(caught.value) is kind
    assert caught.value.hint
    with pytest.raises(kind) as early:
        check_request(SpeechRequest(**({"text": "Hello."} | asked)), descriptions[family])
    assert type(early.value) is kind
    assert str(early.value) == str(caught.value)


def test_a_header_is_enough_to_tell_what_is_ignored(
    descriptions: dict[str, ModelDescription],
) -> None:
    asked = SpeechRequest("Hello.", speaker="vivian", instruct="Very happy.")
    assert "ignored" in check_request(asked, descriptions["custom_voice"])[0]
    assert check_request(replace(asked, instruct=None), descriptions["custom_voice"]) == ()


def test_only_a_speaker_encoder_can_learn_a_voice(
    descriptions: dict[str, ModelDescription],
) -> None:
    check_can_learn(descriptions["base"])
    with pytest.raises(ModeError, match="This voice_design model cannot") as caught:
        check_can_learn(descriptions["voice_design"])
    assert caught.value.hint == "Load a base model."
    with pytest.raises(ModeError, match="has no speaker encoder") as caught:
        check_can_learn(replace(descriptions["base"], has_speaker_encoder=False))
    assert "has one" in caught.value.hint


def test_voices_are_kept_as_the_engine_computes_with_them(check: Check) -> None:
    given = np.broadcast_to(np.array([5, 9], np.uint8)[:, None], (2, 16))  # read-only, strange
    made = check("base", voice=Voice(VECTOR.astype(np.float64), given, "words"))  # type: ignore[arg-type]
    assert made.codes is not None
    assert made.codes.dtype == np.int64
    assert made.codes.flags.writeable
    assert made.codes.flags.c_contiguous
    np.testing.assert_array_equal(made.codes, given)
    assert made.embedding is not None
    assert made.embedding.dtype == np.float32


def test_unknown_names_list_what_there_is(check: Check) -> None:
    with pytest.raises(RequestError) as caught:
        check("base", language="klingon")
    assert "auto, chinese, english" in caught.value.hint
    assert "sichuan_dialect" in caught.value.hint
    with pytest.raises(RequestError) as caught:
        check("custom_voice", speaker="bob")
    assert "vivian" in caught.value.hint


@pytest.mark.parametrize("name", ["English", "ENGLISH", " english "])
def test_languages_and_speakers_match_in_any_case(
    check: Check, configs: dict[str, TalkerConfig], name: str
) -> None:
    config = configs["custom_voice"]
    made = check("custom_voice", language=name, speaker=" ViViAn ")
    assert made.language == config.languages["english"]
    assert made.speaker == config.speakers["vivian"]


@pytest.mark.parametrize(
    ("speaker", "language", "spoken"),
    [
        ("dylan", "auto", "beijing_dialect"),
        ("eric", "Chinese", "sichuan_dialect"),
        ("dylan", "english", "english"),
        ("vivian", "auto", None),
        ("vivian", "chinese", "chinese"),
        ("vivian", "beijing_dialect", "beijing_dialect"),
        ("", "auto", None),
    ],
)
def test_a_dialect_replaces_auto_and_chinese(
    check: Check,
    configs: dict[str, TalkerConfig],
    speaker: str,
    language: str,
    spoken: str | None,
) -> None:
    made = check("custom_voice", speaker=speaker, language=language)
    assert made.language == (configs["custom_voice"].languages[spoken] if spoken else None)


@pytest.mark.parametrize(
    ("family", "asked", "streams"),
    [
        ("base", {}, False),
        ("base", {"voice": Voice()}, False),
        ("base", {"voice": Voice(VECTOR)}, True),
        ("base", {"voice": Voice(VECTOR, CODES, "words")}, True),
        ("base", {"voice": Voice(VECTOR), "layout": Layout.NON_STREAMING}, False),
        ("base", {"layout": Layout.STREAMING}, True),
        ("custom_voice", {"speaker": "vivian"}, False),
        ("voice_design", {"instruct": "calm"}, False),
        ("voice_design", {"instruct": "calm", "layout": Layout.STREAMING}, True),
    ],
)
def test_the_layout_is_the_official_default_unless_asked(
    check: Check, family: str, asked: dict[str, Any], streams: bool
) -> None:
    assert check(family, **asked).streaming_text is streams


def test_a_model_may_want_the_whole_text_of_clones_first(configs: dict[str, TalkerConfig]) -> None:
    config = replace(configs["base"], non_streaming=True)
    for layout, streams in ((Layout.AUTO, False), (Layout.STREAMING, True)):
        request = SpeechRequest("Hello.", voice=Voice(VECTOR), layout=layout)
        assert rules.check_request(request, config, 64).streaming_text is streams


def test_a_model_may_clone_by_the_x_vector_alone(configs: dict[str, TalkerConfig]) -> None:
    config = replace(configs["base"], x_vector_only=True)
    request = SpeechRequest("Hello.", voice=Voice(VECTOR, CODES, "words"))
    checked = rules.check_request(request, config, 64)
    assert (checked.codes, checked.transcript) == (None, "")
    assert checked.embedding is not None
    assert "its words were ignored" in checked.notices[0]
    alone = rules.check_request(replace(request, voice=Voice(VECTOR)), config, 64)
    assert alone.notices == ()


def test_blank_space_around_texts_is_dropped(check: Check) -> None:
    made = check("base", text="\n Hello. \n", voice=Voice(VECTOR, CODES, " some words\n"))
    assert (made.text, made.transcript) == ("Hello.", "some words")


def test_only_the_small_custom_voice_model_ignores_instructions(
    check: Check, configs: dict[str, TalkerConfig]
) -> None:
    small = check("custom_voice", speaker="vivian", instruct="Very happy.")
    assert (small.instruct, len(small.notices)) == ("", 1)
    configs["custom_voice"] = replace(configs["custom_voice"], size="1b7")
    large = check("custom_voice", speaker="vivian", instruct="Very happy.")
    assert (large.instruct, large.notices) == ("Very happy.", ())
