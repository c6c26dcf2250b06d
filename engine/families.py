"""The only list of model families: which architecture is described and opened by what."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelFileError
from engine.gguf.reader import GgufFile
from engine.types import (
    AudioChunk,
    CancelToken,
    Codes,
    LengthRule,
    ModelDescription,
    Probe,
    Progress,
    Samples,
    Sampling,
    SpeechRequest,
    Voice,
)

_TALKER = "qwen3-tts"
_CODEC = "qwen3-tts-tokenizer"


class Engine(Protocol):
    """What every family offers once it is loaded."""

    description: ModelDescription
    device: str  # where it runs, as torch names it: "cpu", "cuda:0", "mps"
    precision: str  # "f32", "bf16" or "int8"
    default_sampling: Sampling
    sample_rate: int  # Hz
    frame_samples: int  # samples per frame
    codebook_size: int

    def check(self, request: SpeechRequest) -> tuple[str, ...]: ...

    def speak(
        self,
        request: SpeechRequest,
        cancel: CancelToken | None = None,
        probe: Probe | None = None,
    ) -> Iterator[AudioChunk]: ...

    def extract_voice(
        self,
        samples: Samples,
        rule: LengthRule = LengthRule.OFFICIAL,
        cancel: CancelToken | None = None,
        probe: Probe | None = None,
    ) -> Voice: ...


class Codec(Protocol):
    """An audio tokenizer on its own."""

    sample_rate: int
    frame_samples: int
    codebook_size: int

    def encode(
        self, samples: Samples, rule: LengthRule, cancel: CancelToken | None = None
    ) -> Codes: ...

    def decode(self, codes: Codes, cancel: CancelToken | None = None) -> Iterator[Samples]: ...


class SpeakerEncoder(Protocol):
    """The part of a base talker that knows voices, on its own."""

    def embedding(
        self, samples: Samples, cancel: CancelToken | None = None, probe: Probe | None = None
    ) -> NDArray[np.float32]: ...


@dataclass(frozen=True)
class ModelPair:
    """A talker file and the tokenizer file that gives it a voice."""

    talker: Path
    codec: Path


def describe_file(path: Path) -> ModelDescription | None:
    """Describe a model file without loading it: None for an audio tokenizer.

    Raises ModelFileError if it is neither a talker nor a tokenizer.
    """
    with GgufFile.open(path) as file:
        architecture = file.string("general.architecture")
        if architecture == _TALKER:
            from engine.qwen3tts.describe import describe_talker

            return describe_talker(file)
    if architecture == _CODEC:
        return None
    raise _unknown(path, architecture)


def describe_model(path: Path) -> ModelDescription:
    """Describe a talker file without loading it; raises ModelFileError."""
    description = describe_file(path)
    if description is None:
        raise ModelFileError(
            f"{path} is an audio tokenizer, no talker.", "Choose a qwen-talker-*.gguf file."
        )
    return description


def codec_name(path: Path) -> str | None:
    """What talkers call a tokenizer file (`ModelDescription.codec_name`); None for other files.

    Raises ModelFileError if it is no model file.
    """
    from engine.qwen3tts.codec.metadata import read_codec_name

    with GgufFile.open(path) as file:
        if file.string("general.architecture") != _CODEC:
            return None
        return read_codec_name(file)


def files_of_model(path: Path) -> tuple[Path, ...]:
    """A model file, and the one beside it that it takes tensors from, if there is one.

    Only the file itself where it cannot be read.
    """
    try:
        with GgufFile.open(path) as file:
            return file.paths
    except ModelFileError:
        return (path,)


def check_request(request: SpeechRequest, description: ModelDescription) -> tuple[str, ...]:
    """What of a request a model that is not loaded would ignore, in sentences.

    Raises ModeError and RequestError as its engine's `check` would, except for a prompt that does
    not fit into the context.
    """
    from engine.qwen3tts.rules import check_described

    return check_described(request, description)


def check_can_learn(description: ModelDescription) -> None:
    """Raise ModeError unless the model can make a voice out of a recording."""
    from engine.qwen3tts import rules

    rules.check_can_learn(description)


def open_engine(
    pair: ModelPair,
    *,
    device: str = "auto",
    precision: str = "auto",
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> Engine:
    """Load a model pair; imports torch, so call it on the thread that will speak.

    Raises ModelFileError, DeviceError, MemoryError, and Cancelled once `cancel` was set.
    """
    with GgufFile.open(pair.talker) as file:
        architecture = file.string("general.architecture")
        stored = {info.type for info in file.tensors.values()}
    if architecture in (_TALKER, _CODEC):
        # Read when torch is first imported. Its idle threads would spin for milliseconds after
        # every operation, in the way of the native step's threads and of the window. GNU's spin
        # for some 50 us: waking them for every small operation takes longer than the operation.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        os.environ.setdefault("GOMP_SPINCOUNT", "5000")
        from engine.qwen3tts.engine import Qwen3TtsEngine
        from engine.qwen3tts.loading import load_model
        from engine.runtime import choose_runtime, memory_errors

        runtime = choose_runtime(device, precision, stored)
        with memory_errors():
            model = load_model(pair.talker, pair.codec, runtime, progress, cancel)
        return Qwen3TtsEngine(model)
    raise _unknown(pair.talker, architecture)


def open_codec(path: Path, *, device: str = "auto") -> Codec:
    """Open an audio tokenizer; imports torch. Raises ModelFileError and DeviceError."""
    from engine.qwen3tts.tokenizer import AudioTokenizer
    from engine.runtime import choose_runtime

    return AudioTokenizer(path, choose_runtime(device, "f32"))


def open_speaker_encoder(talker: Path, *, device: str = "auto") -> SpeakerEncoder:
    """The speaker encoder of a base talker; imports torch.

    Raises ModelFileError, ModeError if the file has none, and DeviceError.
    """
    description = describe_model(talker)
    check_can_learn(description)
    from engine.qwen3tts.encoders import VoiceEncoders
    from engine.runtime import choose_runtime

    return VoiceEncoders(talker, talker, description.width, choose_runtime(device, "f32"))


def _unknown(path: Path, architecture: str) -> ModelFileError:
    return ModelFileError(
        f"{path} holds a model of the unknown architecture {architecture!r}.",
        "Choose a Qwen3-TTS talker (qwen-talker-*.gguf).",
    )
