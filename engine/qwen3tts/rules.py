"""What a request must satisfy before anything is computed, as typed and explained errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModeError, RequestError
from engine.qwen3tts.config import TalkerConfig
from engine.types import Codes, Family, Layout, Sampling, SpeechRequest, StackSampling, Voice

AUTO_LANGUAGE = "auto"


@dataclass(frozen=True)
class CheckedRequest:
    """A request whose names are resolved to ids."""

    text: str
    language: int | None  # codec id, or None for auto
    speaker: int | None
    embedding: NDArray[np.float32] | None  # [width]
    codes: Codes | None  # [T, codebooks]; with embedding and transcript
    transcript: str
    instruct: str
    streaming_text: bool
    notices: tuple[str, ...]  # what is ignored, worded for the user


def check_request(
    request: SpeechRequest, config: TalkerConfig, codebook_size: int
) -> CheckedRequest:
    """Apply the mode rules in their order, then the parameter checks.

    Raises ModeError where the loaded family cannot do what is asked, RequestError where a
    parameter is missing, out of range or unknown.
    """
    text = request.text.strip()
    if not text:
        raise RequestError("There is no text to speak.", "Type at least one word.")
    _check_mode(request, config)
    _check_sampling(request.sampling)
    _check_seeds(request)
    voice = request.voice or Voice()
    _check_voice(voice, config, codebook_size)
    speaker = _speaker(request, config)
    instruct = (request.instruct or "").strip()
    notices: tuple[str, ...] = ()
    if instruct and config.ignores_instruct:
        notices = ("The 0.6B custom-voice model does not follow instructions; they were ignored.",)
        instruct = ""
    return CheckedRequest(
        text=text,
        language=_language(request, config),
        speaker=None if speaker is None else config.speakers[speaker],
        embedding=voice.embedding,
        codes=voice.codes,
        transcript=(voice.transcript or "").strip(),
        instruct=instruct,
        streaming_text=_streams_text(request, config),
        notices=notices,
    )


def _check_mode(request: SpeechRequest, config: TalkerConfig) -> None:
    family = config.family
    if request.speaker is not None and family is not Family.CUSTOM_VOICE:
        raise ModeError(
            f"A speaker can only be chosen with a custom_voice model; this one is {family}.",
            "Leave the speaker out, or load a custom_voice model.",
        )
    if request.instruct is not None and family is Family.BASE:
        raise ModeError(
            "A base model does not take instructions.",
            "Leave them out, or load a custom_voice or voice_design model.",
        )
    if family is Family.CUSTOM_VOICE and request.speaker is None:
        raise ModeError(
            "A custom_voice model needs a speaker.",
            f"Choose one of: {', '.join(config.speakers)}.",
        )
    if family is Family.VOICE_DESIGN and not (request.instruct or "").strip():
        raise ModeError(
            "A voice_design model needs a description of the voice.",
            'Give one as the instruction, for example "a calm, low male voice".',
        )
    if request.voice is None:
        return
    voice = request.voice
    if family is not Family.BASE and (voice.embedding is not None or voice.codes is not None):
        raise ModeError(
            f"A cloned voice can only be used with a base model; this one is {family}.",
            "Load a base model, or leave the voice out.",
        )
    if voice.transcript is not None and voice.codes is None:
        raise RequestError(
            "A transcript was given without the codes of the recording it belongs to.",
            "Give the .rvq file as well, or leave the transcript out.",
        )
    if voice.codes is not None and (
        voice.embedding is None or not (voice.transcript or "").strip()
    ):
        missing = "speaker embedding (.spk)" if voice.embedding is None else "transcript"
        raise RequestError(
            f"Reference codes were given without their {missing}.",
            f"Give the {missing} too, or leave the codes out to clone the voice alone.",
        )


def _check_voice(voice: Voice, config: TalkerConfig, codebook_size: int) -> None:
    width = config.talker.width
    if voice.embedding is not None:
        if voice.embedding.shape != (width,):
            raise RequestError(
                f"The speaker embedding has {voice.embedding.size} values; "
                f"this model needs {width}.",
                "It was made with a model of another size: make it again with this one.",
            )
        if not np.isfinite(voice.embedding).all():
            raise RequestError(
                "The speaker embedding holds values that are not numbers.",
                "The .spk file is damaged; make it again.",
            )
    if voice.codes is not None:
        codes = voice.codes
        if codes.ndim != 2 or codes.shape[1] != config.codebooks or not len(codes):
            raise RequestError(
                f"The reference codes have the shape {list(codes.shape)}; "
                f"[frames, {config.codebooks}] is needed.",
                "Read them from an .rvq file.",
            )
        if codes.min() < 0 or codes.max() >= codebook_size:
            raise RequestError(
                f"The reference codes hold the value {codes.max()}; "
                f"this model's codebooks end at {codebook_size - 1}.",
                "The .rvq file is damaged or belongs to another kind of model.",
            )


def _check_seeds(request: SpeechRequest) -> None:
    if not request.seeds:
        raise RequestError("There is no seed.", "Give one seed per take.")
    for seed in request.seeds:
        if not 0 <= seed < 2**64:
            raise RequestError(
                f"The seed {seed} is out of range.", "Choose a number from 0 to 2^64 - 1."
            )
    if not request.piece_frames or min(request.piece_frames) < 1:
        raise RequestError("A piece of audio needs at least one frame.", "Choose 1 or more.")


def _check_sampling(sampling: Sampling) -> None:
    for name, stack in (("talker", sampling.talker), ("code predictor", sampling.predictor)):
        _check_stack(name, stack)
    penalty = sampling.repetition_penalty
    if not (math.isfinite(penalty) and penalty > 0):
        raise RequestError(
            f"The repetition penalty {penalty} is out of range.", "Choose a number above 0."
        )
    if sampling.max_frames < 1 or sampling.min_frames < 0:
        raise RequestError(
            f"A length of {sampling.min_frames} to {sampling.max_frames} frames makes no sense.",
            "Allow at least one frame (80 ms).",
        )


def _check_stack(name: str, stack: StackSampling) -> None:
    if not (math.isfinite(stack.temperature) and stack.temperature >= 0):
        raise RequestError(
            f"The temperature {stack.temperature} of the {name} is out of range.",
            "Choose 0 (always the likeliest) or more.",
        )
    if stack.top_k < 0:
        raise RequestError(
            f"The top-k {stack.top_k} of the {name} is out of range.", "Choose 0 (off) or more."
        )
    if not 0 < stack.top_p <= 1:
        raise RequestError(
            f"The top-p {stack.top_p} of the {name} is out of range.",
            "Choose a number above 0, up to 1 (off).",
        )


def _language(request: SpeechRequest, config: TalkerConfig) -> int | None:
    """The codec id of the language; a speaker's dialect replaces auto and Chinese."""
    name = request.language.strip().lower()
    if name not in config.languages and name != AUTO_LANGUAGE:
        raise RequestError(
            f"This model does not know the language {request.language!r}.",
            f"Choose one of: {', '.join((AUTO_LANGUAGE, *config.languages))}.",
        )
    speaker = _speaker(request, config)
    if speaker is not None and speaker in config.dialects and name in (AUTO_LANGUAGE, "chinese"):
        name = config.dialects[speaker]
    return None if name == AUTO_LANGUAGE else config.languages[name]


def _speaker(request: SpeechRequest, config: TalkerConfig) -> str | None:
    name = (request.speaker or "").strip().lower()
    if name and name not in config.speakers:
        raise RequestError(
            f"This model does not have the speaker {request.speaker!r}.",
            f"Choose one of: {', '.join(config.speakers)}.",
        )
    return name or None


def _streams_text(request: SpeechRequest, config: TalkerConfig) -> bool:
    """Auto is what the official wrapper does: a clone streams its text, all else does not."""
    if request.layout is Layout.AUTO:
        return request.voice is not None and request.voice.embedding is not None
    return request.layout is Layout.STREAMING
