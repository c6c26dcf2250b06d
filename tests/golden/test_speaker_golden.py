"""X-vectors and the stages before them against the official speaker encoder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest
import soundfile
import torch
from torch import Tensor

from engine.errors import AudioFileError, ModelFileError
from engine.gguf.reader import GgufFile
from engine.qwen3tts.mel import LogMel
from engine.qwen3tts.speaker import (
    SAMPLE_RATE,
    SpeakerEncoder,
    build_speaker_encoder,
    check_sample_rate,
)
from engine.runtime import Runtime
from tests.golden.conftest import Golden

TALKER = "qwen-talker-1.7b-base-F32.gguf"
WIDTH = 80
TOLERANCE = 1e-4  # what two right float32 orders of evaluation keep
LEAST_COSINE = 0.999999
CLIPS = ("clip_a", "clip_b")
SHORT = (1280, 1920, 5000)
STAGES = {
    "block0": "spk-frontend",
    "block1": "spk-block1",
    "block2": "spk-block2",
    "block3": "spk-block3",
    "mfa": "spk-mfa",
}


def build(data: Path, width: int) -> SpeakerEncoder:
    with GgufFile.open(data / TALKER) as file:
        return build_speaker_encoder(file, width, Runtime(torch.device("cpu"), torch.float32))


@pytest.fixture(scope="module")
def encoder(data: Path) -> SpeakerEncoder:
    return build(data, WIDTH)


@pytest.fixture(scope="module")
def mels(data: Path) -> dict[str, Tensor]:
    mel = LogMel(SAMPLE_RATE)
    clips = {name: soundfile.read(data / f"{name}.wav", dtype="float32")[0] for name in CLIPS}
    starts = {f"len{n}": clips["clip_a"][24_000 : 24_000 + n] for n in SHORT}
    return {name: mel(samples) for name, samples in {**clips, **starts}.items()}


@pytest.fixture
def case(golden: Callable[[str], Golden]) -> Golden:
    return golden("speaker")


@pytest.mark.parametrize("name", [*CLIPS, *(f"len{n}" for n in SHORT)])
def test_x_vectors(
    encoder: SpeakerEncoder, mels: dict[str, Tensor], case: Golden, name: str
) -> None:
    vector = encoder(mels[name])
    assert vector.dtype == torch.float32
    case.assert_close(f"{name}.xvector", vector, TOLERANCE)
    official = case.arrays[f"{name}.xvector"].astype(np.float64)
    mine = vector.numpy().astype(np.float64)
    assert mine @ official / np.linalg.norm(mine) / np.linalg.norm(official) >= LEAST_COSINE


@pytest.mark.parametrize("name", CLIPS)
def test_stages(encoder: SpeakerEncoder, mels: dict[str, Tensor], case: Golden, name: str) -> None:
    told: dict[str, Tensor] = {}
    vector = encoder(mels[name], told.__setitem__)
    for stage, mine in STAGES.items():
        assert len(told[mine]) == case.facts["info"][name]["mel_frames"]
        case.assert_close(f"{name}.{stage}_time_mean", told[mine].mean(dim=0), TOLERANCE)
    case.assert_close(f"{name}.asp", told["spk-asp"][0], TOLERANCE)
    assert torch.equal(told["spk-emb"], vector)


def test_too_few_frames_are_refused(encoder: SpeakerEncoder, mels: dict[str, Tensor]) -> None:
    """Four frames cannot be mirrored for the widest block; the official code fails there too."""
    assert encoder.least_frames == 5
    with pytest.raises(AudioFileError, match=r"4 mel frames.*needs 5"):
        encoder(mels["len1280"][:4])


def test_the_vector_must_fit_the_talker(data: Path) -> None:
    with pytest.raises(ModelFileError, match=r"spk_enc\.fc\.weight"):
        build(data, WIDTH + 1)


def test_a_talker_without_speaker_encoder_is_refused(data: Path) -> None:
    with (
        GgufFile.open(data / "qwen-talker-0.6b-customvoice-F32.gguf") as file,
        pytest.raises(ModelFileError, match="spk_enc"),
    ):
        build_speaker_encoder(file, WIDTH, Runtime(torch.device("cpu"), torch.float32))


def test_another_sample_rate_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "talker.gguf"
    writer = gguf.GGUFWriter(path, "qwen3-tts")
    writer.add_uint32("qwen3-tts.spk_enc.sample_rate", 16_000)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with GgufFile.open(path) as file, pytest.raises(ModelFileError, match="16000"):
        check_sample_rate(file)
