"""The draft of a new voice: opened, trimmed, mended, written down, agreed to, saved, and kept."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from app.audio.journal import Journal, JournalNote
from app.audio.recorder_state import Recording as Recorded
from app.core.reference import assess_reference
from app.core.speech_detection import Segment
from app.core.transcription import Transcription
from app.core.voice_parts import VoiceParts
from app.core.voice_record import LibraryVoice, Likeness, VoiceDetails, VoiceKind
from app.studio import listening
from app.studio.clone_clip import Clip, DetectedSpeech
from app.studio.clone_state import CONSENT_TEXT
from app.studio.cloning import CloneState, Cloning, Fix
from engine import (
    AudioFileError,
    CancelToken,
    ExplainedError,
    ModelPair,
    describe_model,
    open_engine,
)
from engine.audio import AudioWarningKind, read_audio, to_24k
from engine.types import Samples
from engine.voices import read_codes, read_embedding
from engine.wav import WavFormat, write_wav
from tests.fakes import BASE, DATA, Pace, fake_models, fake_opener
from tests.workshop import Workshop, put_speech

WORDS = (
    "Fresh bread was cooling by the window while the rain kept tapping on the roof, "
    "and nobody wanted to leave."
)
WIDTH = describe_model(DATA / BASE).width
MakeShop = Callable[..., Workshop]


@pytest.fixture
def make_shop(qtbot: QtBot, tmp_path: Path) -> Iterator[MakeShop]:
    made: list[Workshop] = []

    def make(**options: Any) -> Workshop:
        made.append(Workshop(tmp_path / "home", **options))
        return made[-1]

    yield make
    for shop in made:
        shop.close()


@pytest.fixture
def shop(make_shop: MakeShop) -> Workshop:
    return make_shop()


@pytest.fixture
def clip(tmp_path: Path, data: Path) -> Path:
    """Eight seconds and a half of speech at 48 kHz."""
    put_speech(tmp_path / "Anna.wav", data)
    return tmp_path / "Anna.wav"


def opened(shop: Workshop, path: Path) -> CloneState:
    shop.cloning.open(path)
    shop.flush()
    assert not shop.heard.problems
    return shop.cloning.state


def fill_in(cloning: Cloning, likeness: Likeness = Likeness.BEST) -> None:
    """Say everything that saving waits for."""
    cloning.set_likeness(likeness)
    cloning.set_transcript(WORDS)
    cloning.set_name("Anna")
    cloning.set_language("english")
    cloning.set_consent(True, "Anna Example")


def find_models(shop: Workshop) -> None:
    shop.models.look()
    shop.flush()


# --- the source ---


def test_an_opened_file_is_shown_and_judged(shop: Workshop, clip: Path) -> None:
    states: list[CloneState] = []
    shop.cloning.changed.connect(states.append)
    assert shop.cloning.state.missing == "Record or open a clip first."
    state = opened(shop, clip)
    assert states[0].busy == "Reading Anna.wav"
    assert state.busy == ""
    assert (state.source, state.name, state.rate) == ("Anna.wav", "Anna", 48_000)
    assert state.buffer is not None
    samples = read_audio(clip).samples
    np.testing.assert_array_equal(state.buffer.read(0, samples.size), samples)
    assert state.seconds == pytest.approx(8.5)
    assert state.report is not None
    assert state.range is None
    assert state.suggestion is not None
    assert 6 <= (state.suggestion[1] - state.suggestion[0]) / state.rate <= 8.5
    assert not state.can_save


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("nothing.wav", None, "does not exist"),
        ("empty.wav", b"", "is empty"),
        ("header.wav", b"RIFF\x24\0\0\0WAVEfmt ", "cannot be read"),
        ("words.txt", b"Hello.", "is not a sound file"),
        ("voice.spk", b"\0" * 4096, "speaker embedding"),
    ],
)
def test_a_file_that_cannot_be_used_leaves_the_draft_alone(
    shop: Workshop, clip: Path, tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    before = opened(shop, clip)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    shop.cloning.open(tmp_path / name)
    shop.flush()
    assert words in shop.heard.problems[0].message
    assert shop.cloning.state == before


def test_of_two_files_opened_at_once_the_last_one_counts(
    shop: Workshop, clip: Path, tmp_path: Path, data: Path
) -> None:
    put_speech(tmp_path / "Ben.wav", data, rate=24_000)
    shop.cloning.open(clip)
    shop.cloning.open(tmp_path / "Ben.wav")
    shop.flush()
    assert (shop.cloning.state.source, shop.cloning.state.rate) == ("Ben.wav", 24_000)
    assert shop.heard.notes == []


def test_a_replaced_draft_comes_back_with_undo(
    shop: Workshop, clip: Path, tmp_path: Path, data: Path
) -> None:
    opened(shop, clip)
    fill_in(shop.cloning)
    shop.cloning.set_range(48_000, 96_000)
    shop.flush()
    before = shop.cloning.state
    put_speech(tmp_path / "Ben.wav", data)
    state = opened(shop, tmp_path / "Ben.wav")
    assert (state.name, state.transcript, state.consent_given) == ("Ben", "", False)
    assert shop.heard.sentences == ["The draft of Anna.wav was replaced."]
    shop.heard.press("Undo")
    shop.flush()
    assert shop.cloning.state == before


def test_a_discarded_draft_comes_back_with_undo(shop: Workshop, clip: Path) -> None:
    before = opened(shop, clip)
    shop.cloning.discard()
    shop.flush()
    assert shop.cloning.state.buffer is None
    assert clip.exists()
    shop.heard.press("Undo")
    shop.flush()
    assert shop.cloning.state == before


def test_a_recording_is_adopted(shop: Workshop, data: Path) -> None:
    path = shop.recordings / "recording 2026-01-02 03-04-05 678.wav"
    put_speech(path, data)
    shop.cloning.adopt(Recorded(path, 48_000, 408_000, gaps=2))
    shop.flush()
    state = shop.cloning.state
    assert state.source == "Recording 2026-01-02 03-04-05 678"
    assert state.name == ""
    assert "a little sound is missing" in shop.heard.sentences[0]


def test_a_recording_that_ended_badly_is_kept(shop: Workshop, data: Path) -> None:
    problem = AudioFileError("The microphone was unplugged at 0:07.", "Your 7 seconds are kept.")
    shop.cloning.adopt(Recorded(None, 48_000, 0, problem=problem))
    shop.flush()
    assert shop.cloning.state.buffer is None
    path = shop.recordings / "recording.wav"
    put_speech(path, data)
    shop.cloning.adopt(Recorded(path, 48_000, 408_000, problem=problem))
    shop.flush()
    assert shop.cloning.state.path == path


def test_the_words_beside_a_file_are_taken(shop: Workshop, clip: Path) -> None:
    clip.with_suffix(".txt").write_text(WORDS)
    state = opened(shop, clip)
    assert state.transcript == WORDS
    assert state.transcript_warning == ""
    assert "Anna.wav" in shop.heard.sentences[0]


# --- what is chosen and mended ---


def test_a_range_is_judged_by_itself(shop: Workshop, clip: Path) -> None:
    whole = opened(shop, clip)
    shop.cloning.set_range(48_000, 3 * 48_000)
    assert shop.cloning.state.range == (48_000, 144_000)
    shop.flush()
    state = shop.cloning.state
    assert state.report is not None
    assert state.report.seconds == 2
    assert AudioWarningKind.SHORT in [warning.kind for warning in state.warnings]
    assert state.buffer is whole.buffer
    shop.cloning.clear_range()
    shop.flush()
    assert shop.cloning.state == whole


def test_a_long_part_to_listen_to_is_prepared_in_the_background(
    shop: Workshop, tmp_path: Path, data: Path
) -> None:
    path = tmp_path / "long.wav"
    put_speech(path, data, rate=24_000, seconds=40.0)
    shop.cloning.open(path)
    shop.flush()
    whole = shop.cloning.state.buffer
    assert shop.cloning.excerpt() is whole  # nothing is cut, so nothing is copied
    shop.cloning.set_range(24_000, 35 * 24_000)
    shop.flush()
    gate = threading.Event()
    shop.background.run(gate.wait)
    part = shop.cloning.excerpt()
    assert part is not None
    assert part.length == 0
    gate.set()
    shop.flush()
    assert part.is_finished
    assert part.length == 34 * 24_000
    assert whole is not None
    middle = part.read(100_000, 1000)
    np.testing.assert_array_equal(middle, whole.read(124_000, 1000))


def test_while_handles_move_only_the_place_they_come_to_is_judged(
    shop: Workshop, clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(shop, clip)
    judged: list[int] = []

    def counting(*arguments: Any) -> Any:
        judged.append(arguments[0].chosen.start)
        return assess_reference(*arguments)

    monkeypatch.setattr("app.studio.clone_clip.assess_reference", counting)
    for start in range(0, 20_000, 100):
        shop.cloning.set_range(start, 200_000)
    shop.flush()
    assert judged == [0, 19_900]
    report = shop.cloning.state.report
    assert report is not None
    assert report.seconds == pytest.approx(180_100 / 48_000)


def test_the_suggestion_is_chosen_on_request_only(
    shop: Workshop, tmp_path: Path, data: Path
) -> None:
    put_speech(tmp_path / "long.wav", data, rate=24_000, seconds=45)
    state = opened(shop, tmp_path / "long.wav")
    assert state.range is None
    assert AudioWarningKind.LONG in [warning.kind for warning in state.warnings]
    assert state.suggestion is not None
    shop.cloning.use_suggestion()
    shop.flush()
    assert shop.cloning.state.range == state.suggestion
    report = shop.cloning.state.report
    assert report is not None
    assert 6 <= report.seconds <= 15


def test_level_and_offset_are_mended_and_taken_back(
    shop: Workshop, tmp_path: Path, data: Path
) -> None:
    samples = put_speech(tmp_path / "whisper.wav", data, rate=24_000)
    quiet = (0.01 * samples + 0.02).astype(np.float32)
    write_wav(tmp_path / "whisper.wav", [quiet], WavFormat.WAV32, 24_000)
    given = opened(shop, tmp_path / "whisper.wav")
    assert {Fix.LEVEL, Fix.OFFSET} <= given.fixes
    for fix in (Fix.OFFSET, Fix.LEVEL):
        shop.cloning.apply(fix)
        shop.flush()
    state = shop.cloning.state
    assert state.applied == {Fix.LEVEL, Fix.OFFSET}
    assert state.report is not None
    assert -7 < state.report.peak_dbfs <= -2.9
    assert abs(state.report.dc_offset) < 1e-3
    kinds = {warning.kind for warning in state.warnings}
    assert not kinds & {AudioWarningKind.QUIET, AudioWarningKind.DC_OFFSET}
    assert state.buffer is not None
    assert state.buffer is not given.buffer
    assert np.abs(state.buffer.read(0, quiet.size)).max() > 0.4
    for fix in (Fix.LEVEL, Fix.OFFSET):
        shop.cloning.revert(fix)
        shop.flush()
    assert shop.cloning.state.applied == frozenset()
    assert shop.cloning.state.report == given.report


def test_silence_is_trimmed_by_what_the_detector_found(
    shop: Workshop, tmp_path: Path, data: Path
) -> None:
    put_speech(tmp_path / "pause.wav", data, rate=24_000, pause=3)
    state = opened(shop, tmp_path / "pause.wav")
    assert Fix.TRIM_SILENCE in state.fixes
    shop.cloning.apply(Fix.TRIM_SILENCE)
    shop.flush()
    state = shop.cloning.state
    assert state.range is not None
    assert 2 < state.range[0] / 24_000 < 3.2
    assert 9.5 < state.range[1] / 24_000 < 11
    shop.cloning.revert(Fix.TRIM_SILENCE)
    shop.flush()
    assert shop.cloning.state.range is None


def test_a_fix_that_came_too_late_is_dropped(shop: Workshop, tmp_path: Path, data: Path) -> None:
    put_speech(tmp_path / "pause.wav", data, rate=24_000, pause=3)
    opened(shop, tmp_path / "pause.wav")
    shop.cloning.apply(Fix.TRIM_SILENCE)
    shop.cloning.set_range(24_000, 240_000)
    shop.flush()
    assert shop.cloning.state.range == (24_000, 240_000)
    assert shop.cloning.state.applied == frozenset()


# --- what is missing ---


def test_what_is_missing_is_said_one_after_the_other(shop: Workshop, clip: Path) -> None:
    opened(shop, clip)
    cloning = shop.cloning
    cloning.set_name("")
    assert "Write what is said" in cloning.state.missing
    cloning.set_likeness(Likeness.STEADY)
    assert "name" in cloning.state.missing
    cloning.set_name(" Anna ")
    assert "may be used" in cloning.state.missing
    cloning.set_consent(True, "  ")
    assert "name of the speaker" in cloning.state.missing
    assert not cloning.state.can_save
    cloning.set_consent(True, "Ben")
    assert cloning.state.missing == ""
    assert cloning.state.can_save
    cloning.set_likeness(Likeness.BEST)
    assert not cloning.state.can_save
    cloning.set_transcript(WORDS)
    assert cloning.state.can_save


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        (np.zeros(48_000, np.float32), "silent"),
        (np.full(1000, 0.3, np.float32), "too short"),
        (np.tile(np.array([0.3, -0.3], np.float32), 24_000 * 65), "minutes at most"),
    ],
)
def test_what_no_voice_can_be_made_from_is_refused_with_a_reason(
    shop: Workshop, tmp_path: Path, samples: Samples, words: str
) -> None:
    write_wav(tmp_path / "clip.wav", [samples], WavFormat.WAV32, 24_000)
    opened(shop, tmp_path / "clip.wav")
    fill_in(shop.cloning)
    assert words in shop.cloning.state.missing
    shop.cloning.save()
    shop.flush()
    assert shop.voices.listing.voices == ()


def test_words_that_do_not_fit_the_chosen_part_are_told(shop: Workshop, clip: Path) -> None:
    opened(shop, clip)
    shop.cloning.set_transcript(WORDS)
    assert shop.cloning.state.transcript_warning == ""
    shop.cloning.set_range(0, 60_000)
    shop.flush()
    assert "would be spoken" in shop.cloning.state.transcript_warning
    shop.cloning.clear_range()
    shop.cloning.set_transcript("Fresh.")
    shop.flush()
    assert "everything that is said" in shop.cloning.state.transcript_warning


def test_words_are_read_from_a_file(shop: Workshop, clip: Path, tmp_path: Path) -> None:
    opened(shop, clip)
    (tmp_path / "words.txt").write_bytes("Gr\u00fc\u00dfe".encode("cp1252"))
    shop.cloning.read_transcript(tmp_path / "words.txt")
    shop.flush()
    assert shop.cloning.state.transcript == "Gr\u00fc\u00dfe"
    assert "Windows-1252" in shop.heard.sentences[0]
    shop.cloning.read_transcript(tmp_path / "nothing.txt")
    shop.flush()
    assert "nothing.txt" in shop.heard.problems[0].message
    assert shop.cloning.state.transcript == "Gr\u00fc\u00dfe"


# --- transcribing ---


class Ear:
    """A recogniser that waits for `gate` and then hears `sentence`."""

    def __init__(self, sentence: str = WORDS) -> None:
        self.sentence = sentence
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, model: Path) -> Ear:
        return self

    def transcribe(self, audio: Samples, **_: Any) -> tuple[Any, None]:
        return self._hear(), None

    def _hear(self) -> Iterator[Any]:
        assert self.gate.wait(20)
        yield SimpleNamespace(text=self.sentence)


@pytest.fixture
def ear(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ear:
    monkeypatch.setattr(listening, "find_transcriber", lambda _: Transcription(tmp_path))
    return Ear()


def listening_shop(make_shop: MakeShop, ear: Ear, clip: Path) -> Workshop:
    shop = make_shop(load_recogniser=ear)
    shop.cloning.begin()
    opened(shop, clip)
    assert shop.cloning.state.can_transcribe
    return shop


def test_without_a_recogniser_the_hint_says_what_is_missing(
    shop: Workshop, clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.core.transcription.RECOGNISER", "no_such_package")
    shop.cloning.begin()
    state = opened(shop, clip)
    assert not state.can_transcribe
    assert "pip install" in state.transcribe_hint
    shop.cloning.transcribe()
    assert shop.cloning.state.busy == ""


def test_what_is_heard_becomes_the_transcript(
    make_shop: MakeShop, ear: Ear, clip: Path, qtbot: QtBot
) -> None:
    shop = listening_shop(make_shop, ear, clip)
    shop.cloning.transcribe()
    assert shop.cloning.state.busy == "Writing down what is said"
    qtbot.waitUntil(lambda: shop.cloning.state.transcript == WORDS)
    assert shop.cloning.state.busy == ""
    assert shop.heard.notes == []
    shop.cloning.set_transcript(
        "The old lighthouse keeper counted every ship that passed by night."
    )
    assert "something else" in shop.cloning.state.transcript_warning


def test_typed_words_can_be_kept_when_others_were_heard(
    make_shop: MakeShop, ear: Ear, clip: Path, qtbot: QtBot
) -> None:
    shop = listening_shop(make_shop, ear, clip)
    shop.cloning.set_transcript(
        "The old lighthouse keeper counted every ship that passed by night."
    )
    shop.cloning.transcribe()
    qtbot.waitUntil(lambda: shop.cloning.state.transcript == WORDS)
    assert "something else" in shop.heard.notes[0].hint
    shop.heard.press("Keep mine")
    assert shop.cloning.state.transcript.startswith("The old lighthouse")


def test_transcribing_is_cancelled(make_shop: MakeShop, ear: Ear, clip: Path, qtbot: QtBot) -> None:
    ear.gate.clear()
    shop = listening_shop(make_shop, ear, clip)
    shop.cloning.transcribe()
    shop.cloning.cancel_busy()
    assert shop.cloning.state.busy == ""
    ear.gate.set()
    shop.cloning.transcribe()
    qtbot.waitUntil(lambda: shop.cloning.state.transcript == WORDS)
    assert not shop.heard.problems


def test_a_recogniser_that_fails_is_a_problem(
    make_shop: MakeShop, ear: Ear, clip: Path, qtbot: QtBot
) -> None:
    ear.sentence = "..."
    shop = listening_shop(make_shop, ear, clip)
    shop.cloning.transcribe()
    qtbot.waitUntil(lambda: bool(shop.heard.problems))
    assert "No words were heard" in shop.heard.problems[0].message
    assert shop.cloning.state.busy == ""


# --- saving ---


def test_a_voice_is_saved_with_all_its_files(
    make_shop: MakeShop, clip: Path, tmp_path: Path, qtbot: QtBot
) -> None:
    shop = make_shop()
    fake_models(shop.paths.models)
    find_models(shop)
    opened(shop, clip)
    fill_in(shop.cloning)
    shop.cloning.set_range(20_000, 380_000)
    shop.cloning.set_ends(0.02, 0.5)
    shop.flush()
    with qtbot.waitSignal(shop.cloning.saved) as blocker:
        shop.cloning.save()
    shop.flush()
    voice = blocker.args[0]
    assert isinstance(voice, LibraryVoice)
    assert {path.name for path in voice.folder.iterdir()} == {
        "voice.json",
        "clip.wav",
        "trimmed.wav",
        "transcript.txt",
        "voice.rvq",
        f"voice-{WIDTH}.spk",
    }
    assert (voice.folder / "clip.wav").read_bytes() == clip.read_bytes()
    trimmed = read_audio(voice.folder / "trimmed.wav")
    assert trimmed.sample_rate == 48_000
    assert trimmed.samples.size == 360_000 + 24_000
    assert not trimmed.samples[-24_000:].any()
    details = voice.details
    assert (details.name, details.kind, details.language) == ("Anna", VoiceKind.CLONE, "english")
    assert details.origin.source == "Anna.wav"
    consent = details.consent
    assert consent is not None
    assert (consent.text, consent.name) == (CONSENT_TEXT, "Anna Example")
    assert consent.date.startswith("20")
    assert voice.transcript == WORDS
    assert shop.voices.selected == voice
    assert shop.heard.sentences == ["Anna was saved."]
    assert shop.cloning.state.buffer is None
    assert shop.cloning.state.consent_name == ""
    assert not shop.cloning.state.consent_given


def test_a_steady_voice_has_no_codes(make_shop: MakeShop, clip: Path, qtbot: QtBot) -> None:
    shop = make_shop()
    fake_models(shop.paths.models)
    find_models(shop)
    opened(shop, clip)
    fill_in(shop.cloning, Likeness.STEADY)
    with qtbot.waitSignal(shop.cloning.saved) as blocker:
        shop.cloning.save()
    assert not blocker.args[0].files.has_codes
    assert blocker.args[0].files.widths == (WIDTH,)


def test_without_a_base_model_the_voice_is_saved_and_completed_later(
    make_shop: MakeShop, clip: Path, qtbot: QtBot
) -> None:
    shop = make_shop()
    opened(shop, clip)
    fill_in(shop.cloning)
    with qtbot.waitSignal(shop.cloning.saved) as blocker:
        shop.cloning.save()
    voice = blocker.args[0]
    assert voice.files.widths == ()
    assert shop.heard.sentences == ["Anna was saved, but cannot speak yet."]
    assert "Base model" in shop.heard.notes[0].hint
    fake_models(shop.paths.models)
    with qtbot.waitSignal(shop.designing.completed):
        find_models(shop)
    completed = shop.voices.listing.find(voice.id)
    assert completed is not None
    assert completed.files.widths == (WIDTH,)
    assert completed.has_best_likeness


def test_learning_is_cancelled_and_the_draft_stays(
    make_shop: MakeShop, clip: Path, qtbot: QtBot
) -> None:
    gate = threading.Event()
    opener = fake_opener(gate=gate)
    shop = make_shop(openers=opener.openers)
    models = fake_models(shop.paths.models)
    find_models(shop)
    opened(shop, clip)
    fill_in(shop.cloning)
    shop.models.load(models.custom_voice)  # the engine's thread waits at the gate
    shop.cloning.save()
    qtbot.waitUntil(lambda: shop.cloning.state.busy == "Learning the voice")
    before = shop.cloning.state
    shop.cloning.cancel_busy()
    assert shop.cloning.state.can_save
    assert shop.cloning.state.buffer is before.buffer
    gate.set()
    with qtbot.waitSignal(shop.cloning.saved):
        shop.cloning.save()
    shop.flush()
    assert len(shop.voices.listing.voices) == 1


def test_another_model_stops_learning_and_the_voice_is_saved_again(
    make_shop: MakeShop, clip: Path, qtbot: QtBot
) -> None:
    gate = threading.Event()
    shop = make_shop(openers=fake_opener(gate=gate).openers)
    models = fake_models(shop.paths.models)
    find_models(shop)
    opened(shop, clip)
    fill_in(shop.cloning)
    shop.models.load(models.custom_voice)  # the engine's thread waits at the gate
    shop.cloning.save()
    qtbot.waitUntil(lambda: shop.cloning.state.busy == "Learning the voice")
    shop.models.load(models.base)
    assert shop.cloning.state.can_save
    [note] = shop.heard.notes
    assert note.sentence.startswith("The voice was not saved")
    assert "the draft is still here" in note.sentence
    gate.set()
    with qtbot.waitSignal(shop.cloning.saved):
        shop.heard.press("Save again")
    shop.flush()
    assert [voice.name for voice in shop.voices.listing.voices] == ["Anna"]


def test_what_somebody_stops_is_not_explained(
    make_shop: MakeShop, clip: Path, qtbot: QtBot
) -> None:
    gate = threading.Event()
    shop = make_shop(openers=fake_opener(gate=gate).openers)
    models = fake_models(shop.paths.models)
    find_models(shop)
    opened(shop, clip)
    fill_in(shop.cloning)
    shop.models.load(models.custom_voice)
    shop.cloning.save()
    qtbot.waitUntil(lambda: shop.cloning.state.busy == "Learning the voice")
    assert shop.maker.stop()
    assert shop.cloning.state.can_save
    assert shop.heard.notes == []
    gate.set()


def test_a_voice_that_is_being_stored_cannot_be_stopped(
    make_shop: MakeShop,
    clip: Path,
    tmp_path: Path,
    data: Path,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shop = make_shop()
    opened(shop, clip)
    fill_in(shop.cloning)
    put_speech(tmp_path / "Ben.wav", data)
    gate = threading.Event()
    create = shop.library.create

    def wait(details: VoiceDetails, parts: VoiceParts) -> LibraryVoice:
        assert gate.wait(10.0)
        return create(details, parts)

    monkeypatch.setattr(shop.library, "create", wait)
    shop.cloning.save()
    qtbot.waitUntil(lambda: shop.cloning.state.busy == "Saving the voice")
    before = shop.cloning.state
    assert not before.can_stop
    shop.cloning.cancel_busy()
    shop.cloning.discard()
    shop.cloning.save()
    assert shop.cloning.state == before
    shop.cloning.open(tmp_path / "Ben.wav")
    gate.set()
    with qtbot.waitSignal(shop.cloning.saved):
        pass
    assert shop.cloning.state.busy == "Reading Ben.wav"
    shop.flush()
    assert [voice.name for voice in shop.voices.listing.voices] == ["Anna"]
    assert shop.heard.sentences == ["Anna was saved, but cannot speak yet."]
    assert (shop.cloning.state.source, shop.cloning.state.busy) == ("Ben.wav", "")
    assert shop.cloning.state.can_stop


def test_looking_for_speech_keeps_nobody_waiting(
    make_shop: MakeShop, clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = make_shop()
    gate = threading.Event()
    found = DetectedSpeech((Segment(0, 96_000),), Segment(0, 48_000))

    def detect(clip: Clip, cancel: CancelToken) -> DetectedSpeech:
        assert gate.wait(10.0)
        return found

    monkeypatch.setattr(listening, "detect_speech", detect)
    shop.cloning.open(clip)
    assert shop.background.flush()
    assert shop.cloning.state.report is not None
    assert shop.cloning.state.suggestion != found.suggestion
    gate.set()
    shop.flush()
    assert shop.cloning.state.suggestion == found.suggestion


def test_a_voice_that_cannot_be_learnt_leaves_the_draft(
    make_shop: MakeShop, clip: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = make_shop(openers=fake_opener(Pace()).openers)
    models = fake_models(shop.paths.models)
    find_models(shop)
    models.base.talker.unlink()
    opened(shop, clip)
    fill_in(shop.cloning)
    shop.cloning.save()
    qtbot.waitUntil(lambda: bool(shop.heard.problems))
    assert models.base.talker.name in shop.heard.problems[0].message
    assert shop.cloning.state.can_save
    assert shop.cloning.state.busy == ""


def test_a_library_that_cannot_be_written_leaves_the_draft(make_shop: MakeShop, clip: Path) -> None:
    shop = make_shop()
    shop.paths.voices.parent.mkdir(parents=True, exist_ok=True)
    shop.paths.voices.write_text("in the way")
    opened(shop, clip)
    fill_in(shop.cloning)
    shop.cloning.save()
    shop.flush()
    assert len(shop.heard.problems) == 1
    assert str(shop.paths.voices) in shop.heard.problems[0].message
    assert shop.cloning.state.can_save


def test_a_saved_voice_is_what_the_engine_extracts(
    make_shop: MakeShop, tmp_path: Path, data: Path, qtbot: QtBot
) -> None:
    from app.jobs.work import Openers

    shop = make_shop(openers=Openers(open_engine))
    models = fake_models(shop.paths.models)
    find_models(shop)
    path = tmp_path / "clip.wav"
    samples = put_speech(path, data, rate=44_100, pause=0.2)
    opened(shop, path)
    fill_in(shop.cloning)
    with qtbot.waitSignal(shop.cloning.saved, timeout=60_000) as blocker:
        shop.cloning.save()
    voice = blocker.args[0]
    engine = open_engine(ModelPair(models.base.talker, models.codec), device="cpu")
    expected = engine.extract_voice(to_24k(samples, 44_100))
    assert expected.embedding is not None
    assert expected.codes is not None
    stored = read_embedding(voice.folder / f"voice-{WIDTH}.spk", WIDTH)
    np.testing.assert_array_equal(stored, expected.embedding)
    np.testing.assert_array_equal(read_codes(voice.folder / "voice.rvq"), expected.codes)


# --- what a crash has left ---


def test_a_draft_is_there_again_at_the_next_start(
    make_shop: MakeShop, clip: Path, tmp_path: Path
) -> None:
    first = make_shop()
    opened(first, clip)
    fill_in(first.cloning)
    first.cloning.set_range(20_000, 300_000)
    first.flush()
    expected = first.cloning.state
    first.close()
    second = Workshop(tmp_path / "home")
    second.cloning.begin()
    second.flush()
    assert second.heard.sentences == ["The voice from Anna.wav was not saved the last time."]
    second.heard.press("Go on with it")
    second.flush()
    state = second.cloning.state
    assert state.range == expected.range
    assert state.report == expected.report
    for name in ("source", "transcript", "name", "language", "likeness", "suggestion"):
        assert getattr(state, name) == getattr(expected, name)
    assert not state.consent_given
    second.cloning.discard()
    second.close()
    third = make_shop()
    third.cloning.begin()
    third.flush()
    assert third.heard.notes == []


def test_a_damaged_draft_is_passed_over(shop: Workshop) -> None:
    file = shop.session.folder / "clone-draft.json"
    for content in ("{", json.dumps({"schema": 1, "path": "/nowhere/clip.wav"}), "[]"):
        file.write_text(content)
        shop.cloning.begin()
        shop.flush()
    assert shop.heard.notes == []
    assert shop.heard.problems == []


def test_an_unfinished_recording_is_recovered_and_opened(shop: Workshop, data: Path) -> None:
    samples = put_speech(shop.recordings / "x.wav", data)
    (shop.recordings / "x.wav").unlink()
    note = JournalNote(48_000, 1, "Microphone", "2026-01-02T03:04:05")
    journal = Journal(shop.recordings, "recording 2026-01-02", note)
    journal.append(samples[:, None])
    journal.close()
    shop.cloning.begin()
    shop.flush()
    assert shop.heard.sentences == ["Recording 2026-01-02 was recovered."]
    shop.heard.press("Open")
    shop.flush()
    assert shop.cloning.state.seconds == pytest.approx(8.5)


def test_an_error_is_one_sentence(shop: Workshop, tmp_path: Path) -> None:
    shop.cloning.open(tmp_path)
    shop.flush()
    (problem,) = shop.heard.problems
    assert isinstance(problem, ExplainedError)
    assert problem.hint
