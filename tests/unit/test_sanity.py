"""Every finding about a take is made where its fault is, and not about plausible speech."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from engine.types import Samples
from engine.verify.sanity import FindingKind, Severity, check_speech, plausible_seconds

RATE = 24_000
WORDS = {
    "clip_a": "The old lighthouse keeper counted every ship that passed.",
    "clip_b": "Fresh bread was cooling by the window while the rain kept tapping on the roof, "
    "and nobody wanted to leave.",
}


def clip(data: Path, name: str = "clip_a") -> Samples:
    samples: Samples = soundfile.read(data / f"{name}.wav", dtype="float32")[0]
    return samples


def kinds(samples: Samples, text: str = WORDS["clip_a"], *, cut: bool = False) -> list[FindingKind]:
    return [finding.kind for finding in check_speech(samples, text, RATE, cut=cut)]


@pytest.mark.parametrize("name", sorted(WORDS))
@pytest.mark.parametrize("gain", [0.1, 1.0, 1.9])
def test_speech_is_accepted(data: Path, name: str, gain: float) -> None:
    assert kinds(clip(data, name) * np.float32(gain), WORDS[name]) == []


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers(data: Path, value: float) -> None:
    samples = clip(data)
    samples[[7, 70_000]] = value
    (found,) = check_speech(samples, WORDS["clip_a"], RATE)
    assert (found.kind, found.value) == (FindingKind.NOT_FINITE, 2)
    assert found.severity is Severity.ERROR


@pytest.mark.parametrize("samples", [0, 1, RATE])
def test_silence(samples: int) -> None:
    (found,) = check_speech(np.zeros(samples, np.float32), "Hello.", RATE)
    assert (found.kind, found.severity) == (FindingKind.SILENT, Severity.ERROR)


def test_noise_far_below_speech_is_silence(data: Path) -> None:
    assert kinds(clip(data) * np.float32(1e-3)) == [FindingKind.SILENT]


@pytest.mark.parametrize(("seconds", "found"), [(1.5, []), (2.5, [FindingKind.LONG_PAUSE])])
def test_pauses(data: Path, seconds: float, found: list[FindingKind]) -> None:
    samples = clip(data)
    middle = int(np.abs(samples).argmax())
    pause = np.zeros(int(seconds * RATE), np.float32)
    assert kinds(np.concatenate((samples[:middle], pause, samples[middle:]))) == found


def test_silence_at_both_ends_is_no_pause_inside(data: Path) -> None:
    edge = np.zeros(3 * RATE, np.float32)
    assert kinds(np.concatenate((edge, clip(data), edge))) == []


def test_clipping(data: Path) -> None:
    loud = np.clip(clip(data) * np.float32(6), -1, 1)
    (found,) = check_speech(loud, WORDS["clip_a"], RATE)
    assert found.kind is FindingKind.CLIPPED
    assert found.value == pytest.approx(np.mean(np.abs(loud) == 1), abs=1e-3)


def test_dc_offset(data: Path) -> None:
    (found,) = check_speech(clip(data) + np.float32(0.03), WORDS["clip_a"], RATE)
    assert found.kind is FindingKind.DC_OFFSET
    assert found.value == pytest.approx(0.03, abs=1e-3)


@pytest.mark.parametrize("place", [0, 100])
def test_a_click_at_the_start(data: Path, place: int) -> None:
    samples = clip(data)
    samples[place : place + 3] += np.float32(0.4)
    assert kinds(samples) == [FindingKind.CLICK_AT_START]


def test_sound_that_sets_in_early_is_no_click(data: Path) -> None:
    samples = clip(data)
    start = int(np.flatnonzero(np.abs(samples) > 0.05)[0])
    assert kinds(samples[start - 100 :]) == []


def test_a_take_that_leaves_words_out(data: Path) -> None:
    (found,) = check_speech(clip(data), WORDS["clip_b"] * 2, RATE)
    assert (found.kind, found.value) == (FindingKind.TOO_SHORT, 4.0)


def test_a_take_that_does_not_stop(data: Path) -> None:
    (found,) = check_speech(np.tile(clip(data), 5), WORDS["clip_a"], RATE)
    assert (found.kind, found.value) == (FindingKind.TOO_LONG, 20.0)


def test_a_take_that_ends_in_a_sound(data: Path) -> None:
    samples = clip(data)
    middle = int(np.abs(samples).argmax())
    (found,) = check_speech(samples[:middle], "The old", RATE)
    assert (found.kind, found.severity) == (FindingKind.ABRUPT_END, Severity.NOTE)


def test_a_take_cut_by_a_limit_may_be_short_and_end_anywhere(data: Path) -> None:
    samples = clip(data)
    middle = int(np.abs(samples).argmax())
    assert kinds(samples[:middle], WORDS["clip_b"] * 3, cut=True) == []


def test_the_worst_comes_first(data: Path) -> None:
    samples = np.clip(clip(data) * np.float32(6), -1, 1)
    middle = int(np.abs(samples).argmax())
    found = check_speech(samples[: middle + 1], WORDS["clip_a"], RATE)
    severities = [finding.severity for finding in found]
    assert severities == sorted(severities, key=[Severity.WARNING, Severity.NOTE].index)
    assert len(set(severities)) == 2


@pytest.mark.parametrize(
    ("text", "usual"),
    [
        ("The quick brown fox jumps over the lazy dog.", 3.0),
        ("Der schnelle braune Fuchs springt über den faulen Hund.", 3.5),
        ("Съешь же ещё этих мягких французских булок, да выпей чаю.", 4.0),
        ("今天天气很好。我们一起去公园散步吧。", 3.5),
        ("今日はとても天気がいいので、散歩に行きましょう。", 4.0),
        ("오늘은 날씨가 정말 좋네요.", 2.5),
        ("Room 1203, floor 12.", 3.0),
        ("Hi!", 0.4),
    ],
)
def test_usual_lengths_are_plausible(text: str, usual: float) -> None:
    span = plausible_seconds(text)
    assert span is not None
    shortest, longest = span
    assert shortest < usual < longest
    assert longest < 8 * usual + 4, "a range that takes anything tells nothing"


def test_ideographs_take_longer_than_letters() -> None:
    few, many = plausible_seconds("abcdefghij"), plausible_seconds("一二三四五六七八九十")
    assert few is not None
    assert many is not None
    assert many[0] > 2 * few[0]


@pytest.mark.parametrize("text", ["", "...", "\n —"])
def test_a_text_without_words_may_take_any_time(data: Path, text: str) -> None:
    assert plausible_seconds(text) is None
    assert kinds(clip(data), text) == []


def test_the_studio_can_judge_takes_without_torch() -> None:
    code = "import sys, engine.verify.sanity; print('torch' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"
