"""Where somebody speaks in a recording, found by level and by the trained detector."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from app.core.speech_detection import Segment, segments_by_level, segments_by_model
from app.core.speech_model import RATE, SpeechModel, SpeechModelError, load_speech_model
from engine import Cancelled, CancelToken
from engine.audio import read_audio, resample
from engine.types import Samples


@pytest.fixture(scope="module")
def model() -> SpeechModel:
    return load_speech_model()


@pytest.fixture(scope="module")
def speech(data: Path) -> Samples:
    """Speech at 16 kHz, seven seconds."""
    return read_audio(data / "clip_b.wav").at(RATE)


def silence(seconds: float, rate: int = RATE) -> Samples:
    return np.zeros(round(seconds * rate), np.float32)


def tone(seconds: float, rate: int = RATE, level: float = 0.3) -> Samples:
    count = round(seconds * rate)
    wave: Samples = np.sin(2 * np.pi * 220 / rate * np.arange(count)).astype(np.float32)
    return wave * np.float32(level)


def test_the_network_computes_what_the_published_one_does(speech: Samples) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript, which the package still uses, is on its way
        import torch

        threads = torch.get_num_threads()
        from silero_vad import load_silero_vad

        published = load_silero_vad()
        torch.set_num_threads(threads)  # the package sets it when it is imported
    state = {name: tensor.numpy() for name, tensor in published.state_dict().items()}
    names = {
        "stft_conv.weight": "_model.stft.forward_basis_buffer",
        **{
            f"conv{index + 1}.{kind}": f"_model.encoder.{index}.reparam_conv.{kind}"
            for index in range(4)
            for kind in ("weight", "bias")
        },
        **{
            f"lstm_cell.{kind}": f"_model.decoder.rnn.{kind}"
            for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        },
        "final_conv.weight": "_model.decoder.decoder.2.weight",
        "final_conv.bias": "_model.decoder.decoder.2.bias",
    }
    mine = SpeechModel({name: state[theirs] for name, theirs in names.items()})
    sound = np.concatenate([silence(0.5), speech[:48_000], speech[:20_001] * 0.02])
    expected = []
    for start in range(0, sound.size, 512):
        chunk = np.zeros(512, np.float32)
        chunk[: sound[start : start + 512].size] = sound[start : start + 512]
        expected.append(published(torch.from_numpy(chunk), RATE).item())
    found = mine.probabilities(sound)
    assert found.shape == (len(expected),)
    assert max(expected) > 0.9
    np.testing.assert_allclose(found, expected, atol=1e-4)  # float32 sums in another order


def test_the_detector_tells_a_voice_from_a_tone_and_from_noise(
    model: SpeechModel, speech: Samples
) -> None:
    noise = np.random.default_rng(1).normal(0, 0.1, 3 * RATE).astype(np.float32)
    assert segments_by_model(model, noise, RATE) == ()
    assert segments_by_model(model, silence(2), RATE) == ()
    sound = np.concatenate([noise, speech, noise])
    segments = segments_by_model(model, sound, RATE)
    assert abs(segments[0].start / RATE - 3) < 0.3
    assert abs(segments[-1].end / RATE - (3 + speech.size / RATE)) < 0.3
    assert sum(each.length for each in segments) > 0.8 * speech.size


def test_segments_are_in_samples_of_the_recording(model: SpeechModel, speech: Samples) -> None:
    sound = resample(np.concatenate([silence(1), speech, silence(1)]), RATE, 48_000)
    (first, *_, last) = segments_by_model(model, sound, 48_000)
    assert abs(first.start / 48_000 - 1) < 0.2
    assert last.end <= sound.size
    assert last.end / 48_000 > 7


def test_a_detection_can_be_stopped(model: SpeechModel, speech: Samples) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        segments_by_model(model, speech, RATE, token)


def test_an_empty_recording_has_no_speech(model: SpeechModel) -> None:
    assert segments_by_level(silence(0), RATE) == ()
    assert segments_by_model(model, silence(0), RATE) == ()


@pytest.mark.parametrize("rate", [8000, 44_100, 48_000])
def test_loud_stretches_are_found_by_level(rate: int) -> None:
    sound = np.concatenate(
        [silence(0.5, rate), tone(1, rate), silence(0.6, rate), tone(2, rate), silence(0.4, rate)]
    )
    first, second = segments_by_level(sound, rate)
    assert first.start / rate == pytest.approx(0.46, abs=0.03)
    assert first.end / rate == pytest.approx(1.54, abs=0.03)
    assert second.start / rate == pytest.approx(2.06, abs=0.03)
    assert second.end / rate == pytest.approx(4.14, abs=0.03)


def test_short_pauses_are_within_a_word_and_clicks_are_no_speech() -> None:
    sound = np.concatenate([tone(1), silence(0.15), tone(1), silence(1), tone(0.04), silence(1)])
    (only,) = segments_by_level(sound, RATE)
    assert only.start == 0
    assert only.end / RATE == pytest.approx(2.19, abs=0.03)


def test_an_offset_is_not_taken_for_sound() -> None:
    sound = np.concatenate([silence(1), tone(1), silence(1)]) + np.float32(0.2)
    (only,) = segments_by_level(sound, RATE)
    assert only == Segment(only.start, only.end)
    assert only.length / RATE == pytest.approx(1.08, abs=0.04)


def test_missing_and_foreign_weights_are_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Spec:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(SpeechModelError, match="not installed"):
        load_speech_model()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: Spec)
    with pytest.raises(SpeechModelError, match="cannot be read"):
        load_speech_model()
    (tmp_path / "data").mkdir()
    weights = tmp_path / "data" / "silero_vad_16k.safetensors"
    weights.write_bytes(b"\x00" * 64)
    with pytest.raises(SpeechModelError, match="cannot be read"):
        load_speech_model()
    from safetensors.numpy import save_file

    save_file({"conv1.weight": np.zeros((2, 2), np.float32)}, weights)
    with pytest.raises(SpeechModelError, match="another network"):
        load_speech_model()
