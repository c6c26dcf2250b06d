"""What a request must satisfy before anything is computed, as typed and explained errors."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModeError, RequestError
from engine.qwen3tts.config import TalkerConfig
from engine.types import (
    Codes,
    Family,
    Layout,
    ModelDescription,
    Sampling,
    SpeechRequest,
    StackSampling,
    Voice,
)

AUTO_LANGUAGE = "auto"
LARGEST_FACTOR = 1000.0  # of temperature and penalty: far beyond, float32 has no numbers left


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


@dataclass(frozen=True)
class _Abilities:
    """What the rules ask of a model; the header of its file is enough to know it."""

    family: Family
    width: int
    codebooks: int
    codebook_size: int
    languages: Collection[str]
    speakers: Collection[str]
    ignores_instruct: bool
    x_vector_only: bool


def check_request(
    request: SpeechRequest, config: TalkerConfig, codebook_size: int
) -> CheckedRequest:
    """Apply the mode rules in their order, then the parameter checks.

    Raises ModeError where the loaded family cannot do what is asked, RequestError where a
    parameter is missing, out of range or unknown.
    """
    abilities = _Abilities(
        family=config.family,
        width=config.talker.width,
        codebooks=config.codebooks,
        codebook_size=codebook_size,
        languages=config.languages,
        speakers=config.speakers,
        ignores_instruct=config.ignores_instruct,
        x_vector_only=config.x_vector_only,
    )
    notices = _check(request, abilities)
    voice = request.voice or Voice()
    if config.x_vector_only:
        voice = Voice(voice.embedding)
    speaker = _plain_name(request.speaker)
    instruct = "" if config.ignores_instruct else (request.instruct or "").strip()
    return CheckedRequest(
        text=request.text.strip(),
        language=_language(request, config),
        speaker=config.speakers[speaker] if speaker else None,
        embedding=None if voice.embedding is None else np.array(voice.embedding, np.float32),
        codes=None if voice.codes is None else np.array(voice.codes, np.int64, order="C"),
        transcript=(voice.transcript or "").strip(),
        instruct=instruct,
        streaming_text=_streams_text(request, config),
        notices=notices,
    )


def check_described(request: SpeechRequest, description: ModelDescription) -> tuple[str, ...]:
    """`check_request` for a model that is not loaded: what will be ignored, in sentences.

    Raises the same errors. Whether the prompt fits into the context is left to the loaded model.
    """
    abilities = _Abilities(
        family=description.family,
        width=description.width,
        codebooks=description.codebooks,
        codebook_size=description.codebook_size,
        languages=description.languages,
        speakers=description.speakers,
        ignores_instruct=description.ignores_instruct,
        x_vector_only=description.x_vector_only,
    )
    return _check(request, abilities)


def check_can_learn(description: ModelDescription) -> None:
    """Raise ModeError unless the model can make a voice out of a recording."""
    if description.has_speaker_encoder:
        return
    if description.family is Family.BASE:
        raise ModeError(
            f"{description.path} has no speaker encoder, so it cannot learn a voice from a "
            "recording.",
            "Get a base model file that has one, or use the .spk file of the voice.",
        )
    raise ModeError(
        f"This {description.family} model cannot learn a voice from a recording.",
        "Load a base model.",
    )


def check_sampling(sampling: Sampling) -> None:
    """Raise RequestError for settings that no draw can follow."""
    for name, stack in (("talker", sampling.talker), ("code predictor", sampling.predictor)):
        _check_stack(name, stack)
    penalty = sampling.repetition_penalty
    if not 1 / LARGEST_FACTOR <= penalty <= LARGEST_FACTOR:
        raise RequestError(
            f"The repetition penalty {penalty} is out of range.",
            f"Choose a number from {1 / LARGEST_FACTOR:g} to {LARGEST_FACTOR:g}; 1 is none.",
        )
    if sampling.max_frames < 1 or sampling.min_frames < 0:
        raise RequestError(
            f"A length of {sampling.min_frames} to {sampling.max_frames} frames makes no sense.",
            "Allow at least one frame (80 ms).",
        )


def _check(request: SpeechRequest, abilities: _Abilities) -> tuple[str, ...]:
    """All rules, the mode rules first; returns what will be ignored."""
    if not request.text.strip():
        raise RequestError("There is no text to speak.", "Type at least one word.")
    _check_mode(request, abilities)
    check_sampling(request.sampling)
    _check_seeds(request)
    _check_voice(request.voice or Voice(), abilities)
    _check_names(request, abilities)
    if abilities.ignores_instruct and (request.instruct or "").strip():
        return ("The 0.6B custom-voice model does not follow instructions; they were ignored.",)
    if abilities.x_vector_only and request.voice is not None and request.voice.codes is not None:
        return ("This model clones the sound of a recording alone; its words were ignored.",)
    return ()


def _check_mode(request: SpeechRequest, abilities: _Abilities) -> None:
    family = abilities.family
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
            f"Choose one of: {', '.join(abilities.speakers)}.",
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


def _check_voice(voice: Voice, abilities: _Abilities) -> None:
    width, last = abilities.width, abilities.codebook_size - 1
    if voice.embedding is not None:
        if voice.embedding.ndim != 1:
            raise RequestError(
                f"The speaker embedding has the shape {list(voice.embedding.shape)}; "
                f"[{width}] is needed.",
                "Read it from an .spk file.",
            )
        if len(voice.embedding) != width:
            raise RequestError(
                f"The speaker embedding has {len(voice.embedding)} values; "
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
        if codes.ndim != 2 or codes.shape[1] != abilities.codebooks or not len(codes):
            raise RequestError(
                f"The reference codes have the shape {list(codes.shape)}; "
                f"[frames, {abilities.codebooks}] is needed.",
                "Read them from an .rvq file.",
            )
        if not np.issubdtype(codes.dtype, np.integer):
            raise RequestError(
                f"The reference codes are {codes.dtype} values, not integers.",
                "Read them from an .rvq file.",
            )
        if codes.min() < 0 or codes.max() > last:
            wrong = codes.min() if codes.min() < 0 else codes.max()
            raise RequestError(
                f"The reference codes hold the value {wrong}; "
                f"this model's codebooks end at {last}.",
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


def _check_stack(name: str, stack: StackSampling) -> None:
    if not 0 <= stack.temperature <= LARGEST_FACTOR:
        raise RequestError(
            f"The temperature {stack.temperature} of the {name} is out of range.",
            f"Choose a number from 0 (always the likeliest) to {LARGEST_FACTOR:g}.",
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


def _check_names(request: SpeechRequest, abilities: _Abilities) -> None:
    speaker, language = _plain_name(request.speaker), _plain_name(request.language)
    if speaker and speaker not in abilities.speakers:
        raise RequestError(
            f"This model does not have the speaker {request.speaker!r}.",
            f"Choose one of: {', '.join(abilities.speakers)}.",
        )
    if language != AUTO_LANGUAGE and language not in abilities.languages:
        raise RequestError(
            f"This model does not know the language {request.language!r}.",
            f"Choose one of: {', '.join((AUTO_LANGUAGE, *abilities.languages))}.",
        )


def _language(request: SpeechRequest, config: TalkerConfig) -> int | None:
    """The codec id of the language; a speaker's dialect replaces auto and Chinese.

    A model that knows one language only speaks that.
    """
    name = _plain_name(request.language)
    if name == AUTO_LANGUAGE and len(config.languages) == 1:
        (name,) = config.languages
    if name in (AUTO_LANGUAGE, "chinese"):
        name = config.dialects.get(_plain_name(request.speaker), name)
    return None if name == AUTO_LANGUAGE else config.languages[name]


def _plain_name(name: str | None) -> str:
    """A language or speaker as the tables of a model have it; empty for none."""
    return (name or "").strip().lower()


def _streams_text(request: SpeechRequest, config: TalkerConfig) -> bool:
    """Auto is what the official wrapper does: a clone streams its text, all else does not.

    A model may say that its clones do not either.
    """
    if request.layout is Layout.AUTO:
        cloned = request.voice is not None and request.voice.embedding is not None
        return cloned and not config.non_streaming
    return request.layout is Layout.STREAMING
