"""The models under comparison: which files, where and how they run, one in memory at a time."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch

from engine.errors import ModelFileError
from engine.families import ModelPair
from engine.gguf.reader import GgufFile
from engine.qwen3tts.codec.config import DecoderConfig, read_decoder_config
from engine.qwen3tts.config import TalkerConfig, read_talker_config
from engine.qwen3tts.engine import ModelParts
from engine.qwen3tts.loading import load_model
from engine.runtime import Runtime, choose_runtime
from engine.types import CancelToken, Progress
from engine.verify.thresholds import Grade, stored_grade

T = TypeVar("T")


@dataclass(frozen=True)
class Subject:
    """A model pair, and where and how it is to run."""

    pair: ModelPair
    device: str = "auto"
    precision: str = "auto"


@dataclass(frozen=True)
class SubjectFacts:
    """What can be said about a subject before it is loaded."""

    pair: ModelPair
    runtime: Runtime
    config: TalkerConfig
    codec_config: DecoderConfig
    talker_stored: Grade
    codec_stored: Grade
    has_speaker_encoder: bool

    @property
    def precision(self) -> str:
        return self.runtime.precision

    @property
    def run_grade(self) -> Grade:
        """The grade of the arithmetic of talker and predictor; the codec always has float32."""
        # Native products round activations to 16 bits in blocks: closer to float32 than the limits.
        return Grade.F32 if self.runtime.dtype == torch.float32 else Grade.BF16

    @property
    def talker_grade(self) -> Grade:
        packed = Grade.Q8_0 if self.runtime.native is not None else Grade.F32
        return max(self.talker_stored, self.run_grade, packed)

    @property
    def codec_grade(self) -> Grade:
        return self.codec_stored

    def describe(self) -> str:
        """The subject in one line."""
        return (
            f"{self.pair.talker.name} ({self.talker_stored.name}) and {self.pair.codec.name} "
            f"({self.codec_stored.name}) on {self.runtime.device} in {self.precision}"
        )


def examine(subject: Subject) -> SubjectFacts:
    """Read the heads of both files; raises ModelFileError and DeviceError."""
    with GgufFile.open(subject.pair.talker) as talker, GgufFile.open(subject.pair.codec) as codec:
        stored = {info.type for info in talker.tensors.values()}
        return SubjectFacts(
            pair=subject.pair,
            runtime=choose_runtime(subject.device, subject.precision, stored),
            config=read_talker_config(talker),
            codec_config=read_decoder_config(codec),
            talker_stored=stored_grade(talker, ("talker.", "code_pred.")),
            codec_stored=stored_grade(codec, ("tok_dec.",)),
            has_speaker_encoder="spk_enc.conv0.weight" in talker.tensors,
        )


def check_comparable(one: SubjectFacts, other: SubjectFacts) -> None:
    """Raise ModelFileError unless the two are the same model but for how it is stored and run."""
    for mine, theirs, path, other_path in (
        (one.config, other.config, one.pair.talker, other.pair.talker),
        (one.codec_config, other.codec_config, one.pair.codec, other.pair.codec),
    ):
        if mine != theirs:
            different = [name for name, value in vars(mine).items() if value != vars(theirs)[name]]
            raise ModelFileError(
                f"{path} and {other_path} are not the same model: they differ in "
                f"{', '.join(different)}.",
                "Compare variants of one model, such as its F32 and its Q8_0 file.",
            )


def with_loaded(
    facts: SubjectFacts,
    action: Callable[[ModelParts], T],
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> T:
    """Load a subject, do `action` with it, and give its memory back before returning.

    `action` must not keep the model or its tensors. Raises ModelFileError, Cancelled, and what
    `action` raises.
    """
    try:
        pair = facts.pair
        return action(load_model(pair.talker, pair.codec, facts.runtime, progress, cancel))
    finally:
        gc.collect()
        if facts.runtime.device.type == "cuda":
            torch.cuda.empty_cache()
