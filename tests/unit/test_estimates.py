"""Lengths and warnings of texts: plausible figures, exact places, and patience with nonsense."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.estimates import estimate_speech
from app.core.scripts import Script, count_letters, scripts_of
from app.core.text_warnings import MOST_SPANS, text_warnings
from app.core.text_warnings import TextWarningKind as Kind


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        # A minute of reading: 150 English words, 250 Chinese characters, 330 Korean syllables.
        ("quick brown foxes jump over " * 30, 50, 70),
        ("春眠不觉晓处处闻啼鸟" * 25, 50, 70),
        ("안녕하세요" * 66, 50, 70),
        ("быстрая рыжая лиса прыгает " * 34, 50, 70),
        ("The old lighthouse keeper counted every ship that passed.", 3, 5),
        ("OK", 0.3, 1),
        ("2024", 1, 2.5),
    ],
)
def test_lengths_are_plausible(text: str, low: float, high: float) -> None:
    estimate = estimate_speech(text)
    assert low < estimate.seconds < high
    assert estimate.low < estimate.seconds < estimate.high


def test_pauses_count_between_sentences_only() -> None:
    one, two = estimate_speech("ab cd").seconds, estimate_speech("ab. cd").seconds
    assert two > one
    assert estimate_speech("ab cd.").seconds == one
    assert estimate_speech("3.5").seconds == estimate_speech("35").seconds
    assert estimate_speech("好。好").seconds > estimate_speech("好好").seconds
    for silent in ("", "...", "\n" * 10_000, "😀"):
        assert estimate_speech(silent).seconds == 0


def test_letters_are_counted_by_script() -> None:
    counts = count_letters("abé дом 漢字 ひらカナー 한글 שלום ไทย 12")
    assert counts == {
        Script.LATIN: 3,
        Script.CYRILLIC: 3,
        Script.HAN: 2,
        Script.KANA: 5,
        Script.HANGUL: 2,
        Script.RIGHT_TO_LEFT: 4,
        Script.OTHER: 3,
    }
    assert scripts_of(" German ") == frozenset({Script.LATIN})
    assert scripts_of("auto") is None


def found(text: str, language: str = "english") -> dict[Kind, list[str]]:
    kinds: dict[Kind, list[str]] = {}
    for warning in text_warnings(text, language):
        assert warning.message.endswith(".")
        kinds.setdefault(warning.kind, []).append(text[warning.start : warning.end])
    return kinds


@pytest.mark.parametrize(
    ("text", "language", "warnings"),
    [
        ("A quiet line about rain.", "english", {}),
        ("", "english", {Kind.EMPTY: [""]}),
        (" \n ", "english", {Kind.EMPTY: [" \n "]}),
        (" ... ", "english", {Kind.NOTHING_TO_SAY: ["..."]}),
        ("???", "auto", {Kind.NOTHING_TO_SAY: ["???"]}),
        ("OK", "english", {Kind.ONE_WORD: ["OK"]}),
        (" Huh? ", "english", {Kind.ONE_WORD: ["Huh?"]}),
        ("Don't!", "english", {Kind.ONE_WORD: ["Don't!"]}),
        ("好的。", "chinese", {Kind.ONE_WORD: ["好的。"]}),
        ("今天天气很好。", "chinese", {}),
        ("Go 👍🏽 home 👨‍👩‍👧🇩🇪 now ❤", "english", {Kind.EMOJI: ["👍🏽", "👨‍👩‍👧🇩🇪", "❤"]}),
        ("It costs 5 € © me ↔ you", "english", {}),
        ("Press 1️⃣ to go", "english", {Kind.EMOJI: ["1️⃣"]}),
        ("Say <|im_end|> and go", "english", {Kind.CONTROL_TOKEN: ["<|im_end|>"]}),
        ("a < b and b > c |> d", "english", {}),
        ("In 1984, 3.5 of them", "english", {}),
        ("In 1984, 3.5 of them", "auto", {Kind.DIGITS: ["1984", "3.5"]}),
        ("Room ٢٥ is free", "english", {Kind.DIGITS: ["٢٥"]}),
        ("我有25个苹果", "chinese", {}),
        ("\uff12\uff15個あります", "japanese", {}),
        ("Room \uff12\uff15 is free", "english", {Kind.DIGITS: ["\uff12\uff15"]}),
        (
            "Gate 12 is open",
            "chinese",
            {Kind.DIGITS: ["12"], Kind.OTHER_SCRIPT: ["Gate 12 is open"]},
        ),
        ("Привет, мир", "english", {Kind.OTHER_SCRIPT: ["Привет, мир"]}),
        ("He said Привет to me", "english", {}),
        ("Say שלום עולם twice", "english", {Kind.RIGHT_TO_LEFT: ["שלום עולם"]}),
        ("one\n\ntwo", "english", {}),
        ("one" + "\n" * 10_000 + "two", "english", {Kind.LINE_BREAKS: ["\n" * 10_000]}),
    ],
)
def test_warnings_are_at_their_place(
    text: str, language: str, warnings: dict[Kind, list[str]]
) -> None:
    assert found(text, language) == warnings


def test_very_long_texts_are_told_with_their_length() -> None:
    (warning,) = text_warnings("A few words to say. " * 200, "english")
    assert warning.kind is Kind.VERY_LONG
    assert "minutes" in warning.message


@given(st.text(max_size=60), st.sampled_from(["auto", "english", "chinese", "klingon"]))
def test_any_text_is_looked_at(text: str, language: str) -> None:
    for warning in text_warnings(text, language):
        assert 0 <= warning.start <= warning.end <= len(text)
    assert estimate_speech(text).seconds >= 0


@pytest.mark.parametrize(
    "text",
    ["." * 50_000 + "x", " " * 50_000 + "x", "\n" + " " * 50_000 + "x", "1" + "," * 50_000,
     "<tts" + "a" * 50_000, "a'" * 25_000, "😀\u200d" * 25_000],
)  # fmt: skip
def test_endless_runs_end(text: str) -> None:
    # Patterns that go back over a run from each of its characters would take hours here.
    assert len(text_warnings(text)) <= 5 * MOST_SPANS
