"""The speech engine: model files in, audio out. Importing it does not import torch."""

from engine.errors import (
    AudioFileError,
    Cancelled,
    DeviceError,
    ExplainedError,
    ModeError,
    ModelFileError,
    RequestError,
    VoiceFileError,
)
from engine.families import Engine, ModelPair, describe_model, is_codec, open_engine
from engine.types import (
    AudioChunk,
    CancelToken,
    Ending,
    Family,
    Layout,
    ModelDescription,
    Sampling,
    SpeechRequest,
    StackSampling,
    Voice,
    random_seed,
)

__all__ = [
    "AudioChunk",
    "AudioFileError",
    "CancelToken",
    "Cancelled",
    "DeviceError",
    "Ending",
    "Engine",
    "ExplainedError",
    "Family",
    "Layout",
    "ModeError",
    "ModelDescription",
    "ModelFileError",
    "ModelPair",
    "RequestError",
    "Sampling",
    "SpeechRequest",
    "StackSampling",
    "Voice",
    "VoiceFileError",
    "describe_model",
    "is_codec",
    "open_engine",
    "random_seed",
]
