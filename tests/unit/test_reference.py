"""What is chosen and mended in a recording before it becomes a voice, and what is suggested."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.core.reference import (
    FADE_SECONDS,
    Fix,
    Reference,
    assess_reference,
    speech_part,
)
from app.core.speech_detection import Segment, segments_by_level
from app.core.suggestion import suggest_range
from engine.audio import AudioWarningKind, Recording, read_audio
from engine.types import Samples
from engine.wav import WavFormat, write_wav

RATE = 16_000


def silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * RATE), np.float32)


def voice(seconds: float, level: float = 0.3) -> Samples:
    """Pulses that swell and fall as syllables do, without a pause; peaks at `level`."""
    time = np.arange(round(seconds * RATE)) / RATE
    swell = 0.7 + 0.3 * np.sin(2 * np.pi * 4 * time)
    pulses = np.mean([np.cos(2 * np.pi * 180 * k * time) for k in range(1, 7)], axis=0)
    samples: Samples = (level * swell * pulses).astype(np.float32)
    return samples


def recording(samples: Samples, tmp_path: Path) -> Recording:
    path = tmp_path / "clip.wav"
    write_wav(path, [samples], WavFormat.WAV32, RATE)
    return read_audio(path)


# --- what is chosen ---


def test_without_a_choice_and_a_fix_nothing_changes() -> None:
    samples = voice(2) + np.float32(0.05)
    reference = Reference(samples, RATE)
    assert reference.is_as_given
    np.testing.assert_array_equal(reference.result(), samples)
    assert np.shares_memory(reference.result(), samples)
    assert reference.sound() is samples


def test_a_part_is_faded_where_it_was_cut_only() -> None:
    samples = np.full(RATE, 0.5, np.float32)
    fade = round(FADE_SECONDS * RATE)
    part = Reference(samples, RATE).with_selection((0, 8000)).result()
    assert part.size == 8000
    assert part[0] == np.float32(0.5)
    assert abs(part[-1]) < 0.001
    assert np.all(np.diff(part[-fade:]) < 0)
    part = Reference(samples, RATE).with_selection((8000, RATE)).result()
    assert abs(part[0]) < 0.001
    assert part[-1] == np.float32(0.5)
    assert np.all(part[fade:] == np.float32(0.5))
    assert np.all(samples == np.float32(0.5))


def test_without_fades_a_part_is_cut_as_it_is() -> None:
    samples = voice(1)
    reference = replace(Reference(samples, RATE), fade_seconds=0.0).with_selection((100, 900))
    np.testing.assert_array_equal(reference.result(), samples[100:900])


def test_fades_of_a_tiny_part_do_not_overlap() -> None:
    reference = Reference(np.ones(RATE, np.float32), RATE).with_selection((100, 103))
    assert reference.result().size == 3
    assert reference.result()[1] == 1
    assert Reference(np.ones(9, np.float32), RATE).with_selection((4, 5)).result().size == 1


@pytest.mark.parametrize("selection", [None, (0, 16_000), (-5, 99_999), (700, 700), (900, 100)])
def test_all_of_it_or_nothing_is_no_selection(selection: tuple[int, int] | None) -> None:
    reference = Reference(voice(1), RATE).with_selection(selection)
    assert reference.selection is None
    assert reference.chosen == (0, RATE)


def test_a_selection_stays_within_the_recording() -> None:
    assert Reference(voice(1), RATE).with_selection((-10, 500)).selection == (0, 500)
    assert Reference(voice(1), RATE).with_selection((15_000, 20_000)).selection == (15_000, RATE)


def test_a_tail_is_silence_behind_a_faded_end() -> None:
    reference = replace(Reference(np.ones(RATE, np.float32), RATE), tail_seconds=0.25)
    result = reference.result()
    assert result.size == RATE + 4000
    assert not result[RATE:].any()
    assert abs(result[RATE - 1]) < 0.001
    assert result[0] == 1
    assert not reference.is_as_given


# --- what is mended ---


def test_levelling_brings_the_peak_of_the_chosen_part_to_minus_3() -> None:
    samples = np.concatenate([voice(1, 0.02), voice(1, 0.6)])
    quiet = Reference(samples, RATE).with_selection((0, RATE)).with_fix(Fix.LEVEL, ())
    assert quiet.applied == {Fix.LEVEL}
    assert 20 * np.log10(np.abs(quiet.part()).max()) == pytest.approx(-3, abs=0.05)
    assert quiet.without_fix(Fix.LEVEL).gain == 1


def test_a_dense_recording_is_levelled_by_what_is_heard() -> None:
    square = (0.9 * np.sign(np.sin(np.arange(RATE) / 20))).astype(np.float32)
    levelled = Reference(square, RATE).with_fix(Fix.LEVEL, ()).part()
    assert 20 * np.log10(np.abs(levelled).max()) == pytest.approx(-9, abs=0.2)


def test_silence_cannot_be_levelled() -> None:
    assert Reference(silence(1), RATE).with_fix(Fix.LEVEL, ()).gain == 1


def test_an_offset_is_taken_away_and_the_level_follows() -> None:
    samples = voice(1, 0.1) + np.float32(0.4)
    levelled = Reference(samples, RATE).with_fix(Fix.LEVEL, ())
    both = levelled.with_fix(Fix.OFFSET, ())
    assert both.applied == {Fix.LEVEL, Fix.OFFSET}
    assert abs(both.part().mean()) < 1e-4
    assert 20 * np.log10(np.abs(both.part()).max()) == pytest.approx(-3, abs=0.1)
    assert both.without_fix(Fix.OFFSET).offset == 0


def test_silence_at_the_ends_is_trimmed_and_comes_back() -> None:
    samples = np.concatenate([silence(1), voice(2), silence(1.5)])
    segments = segments_by_level(samples, RATE)
    reference = Reference(samples, RATE).with_selection((1000, samples.size))
    trimmed = reference.with_fix(Fix.TRIM_SILENCE, segments)
    start, end = trimmed.chosen
    assert start / RATE == pytest.approx(0.8, abs=0.06)
    assert end / RATE == pytest.approx(3.2, abs=0.06)
    assert trimmed.applied == {Fix.TRIM_SILENCE}
    assert trimmed.without_fix(Fix.TRIM_SILENCE).selection == (1000, samples.size)
    assert trimmed.with_selection((0, 99)).applied == frozenset()
    assert speech_part(trimmed, segments) is None
    assert trimmed.with_fix(Fix.TRIM_SILENCE, segments) is trimmed


def test_the_report_is_about_the_chosen_part_as_mended(tmp_path: Path) -> None:
    samples = np.concatenate([voice(2, 0.01) + np.float32(0.02), voice(4, 0.3)])
    given = recording(samples, tmp_path)
    segments = (Segment(0, samples.size),)
    reference = Reference(given.samples, RATE).with_selection((0, 2 * RATE))
    judged = assess_reference(reference, given, segments)
    assert judged.report.seconds == 2
    kinds = {warning.kind for warning in judged.warnings}
    assert {AudioWarningKind.QUIET, AudioWarningKind.DC_OFFSET, AudioWarningKind.SHORT} <= kinds
    assert judged.possible == {Fix.LEVEL, Fix.OFFSET}
    mended = reference.with_fix(Fix.OFFSET, segments).with_fix(Fix.LEVEL, segments)
    judged = assess_reference(mended, given, segments)
    assert {warning.kind for warning in judged.warnings} == {AudioWarningKind.SHORT}
    assert judged.possible == {Fix.LEVEL, Fix.OFFSET}  # so that they can be taken back


def test_clipping_is_told_even_after_levelling(tmp_path: Path) -> None:
    samples = np.clip(voice(4, 2.0), -1, 1)
    given = recording(samples, tmp_path)
    reference = Reference(given.samples, RATE)
    before = assess_reference(reference, given, ())
    assert before.report.clipped > 100
    assert Fix.LEVEL in before.possible
    after = assess_reference(reference.with_fix(Fix.LEVEL, ()), given, ())
    assert after.report.clipped == before.report.clipped
    assert after.report.peak_dbfs < -3


def test_a_good_recording_needs_nothing(tmp_path: Path) -> None:
    given = recording(voice(8, 0.6), tmp_path)
    judged = assess_reference(Reference(given.samples, RATE), given, ((Segment(0, 8 * RATE)),))
    assert judged.possible == frozenset()
    assert judged.warnings == ()


def test_what_is_wrong_with_the_file_stays_told(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp3"
    write_wav(path, [voice(8, 0.6)], WavFormat.WAV32, RATE)
    given = read_audio(path)
    judged = assess_reference(Reference(given.samples, RATE), given, ())
    assert [warning.kind for warning in judged.warnings] == [AudioWarningKind.MISLABELLED]


# --- what is suggested ---


def sentences(*lengths: float, pause: float = 0.5, level: float = 0.3) -> Samples:
    """Stretches of voice of these seconds, with a pause around each."""
    pieces = [silence(pause)]
    for length in lengths:
        pieces += [voice(length, level), silence(pause)]
    return np.concatenate(pieces)


def suggested(samples: Samples) -> tuple[float, float]:
    found = suggest_range(samples, RATE, segments_by_level(samples, RATE))
    assert found is not None
    return found.start / RATE, found.end / RATE


def test_whole_sentences_of_6_to_15_seconds_are_suggested() -> None:
    samples = sentences(4, 5, 4, 6, 5, 7, 3)
    start, end = suggested(samples)
    assert 6 <= end - start <= 15
    around = np.abs(samples[round(start * RATE) : round((start + 0.05) * RATE)])
    assert not around.any()
    assert not np.abs(samples[round((end - 0.05) * RATE) : round(end * RATE)]).any()


def test_the_loud_part_goes_before_the_quiet_one() -> None:
    samples = np.concatenate([sentences(5, 5, level=0.02), silence(2), sentences(5, 5, level=0.4)])
    start, _ = suggested(samples)
    assert start > 12


def test_a_clipped_part_is_passed_over() -> None:
    clipped = np.clip(sentences(5, 5, level=1.6), -1, 1)
    samples = np.concatenate([clipped, silence(1), sentences(5, 5, level=0.5)])
    start, _ = suggested(samples)
    assert start > 11


def test_a_part_without_long_pauses_is_preferred() -> None:
    samples = np.concatenate(
        [sentences(3, 3, pause=3), sentences(3, 3, 3, pause=0.3), silence(0.5)]
    )
    start, end = suggested(samples)
    assert start > 12
    assert end - start == pytest.approx(9.9, abs=0.5)


def test_what_begins_in_mid_word_is_passed_over() -> None:
    samples = np.concatenate([voice(5), silence(0.5), sentences(5, 5), voice(5)])
    start, end = suggested(samples)
    assert start > 5
    assert end < samples.size / RATE - 5


@pytest.mark.parametrize("fades", [True, False])
def test_the_last_word_is_kept_if_the_recording_ends_quietly(fades: bool) -> None:
    samples = np.concatenate([sentences(4, 3.5, pause=0.3), voice(1), silence(0.04 * fades)])
    _, end = suggested(samples)
    assert (end == samples.size / RATE) is fades  # else it may be cut in two


def test_little_speech_is_suggested_as_a_whole() -> None:
    start, end = suggested(np.concatenate([silence(2), sentences(1, 1.5), silence(2)]))
    assert start == pytest.approx(2.4, abs=0.1)
    assert end == pytest.approx(5.6, abs=0.1)


def test_speech_without_a_pause_is_not_cut() -> None:
    samples = np.concatenate([silence(1), voice(20), silence(1)])
    start, end = suggested(samples)
    assert start == pytest.approx(0.9, abs=0.1)
    assert end == pytest.approx(21.1, abs=0.1)


def test_pauses_that_the_detector_passed_over_are_found() -> None:
    samples = sentences(5, 5, 5, 5, pause=0.3)
    found = suggest_range(samples, RATE, [Segment(0, samples.size)])
    assert found is not None
    assert 6 <= (found.end - found.start) / RATE <= 15
    assert np.abs(samples[found.end - 100 : found.end]).max() < 1e-3


def test_silence_has_no_suggestion() -> None:
    samples = silence(10)
    assert suggest_range(samples, RATE, segments_by_level(samples, RATE)) is None
    assert suggest_range(silence(0), RATE, ()) is None
