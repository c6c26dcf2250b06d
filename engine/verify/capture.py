"""What one model makes of a request at every stage, as plain arrays that outlive it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.errors import RequestError
from engine.qwen3tts.codec.priming import PrimedStates
from engine.qwen3tts.engine import ModelParts
from engine.qwen3tts.generation import FrameLoop
from engine.qwen3tts.prompt import Prompt, PromptBuilder, PromptParts, plan_prompt
from engine.qwen3tts.rules import check_request
from engine.types import CancelToken, Codes, Samples, SpeechRequest
from engine.verify.teacher import ForcedLogits, likeliest, teacher_forced

PREDICTOR_STEP0 = "predictor-logits-step0"


@dataclass(frozen=True, eq=False)
class Capture:
    """The arrays of one model for one request; a golden case has only some of them."""

    prompt_ids: NDArray[np.int64]  # [n]
    arrays: Mapping[str, NDArray[np.float32]]  # by stage, in the order of the computation
    codes: Codes  # [T, codebooks], generated greedily
    teacher_codes: Codes | None = None  # [F, codebooks], those that were given
    forced_codes: Codes | None = None  # [F, codebooks], the likeliest where those were given
    sound: Samples | None = None  # of `codes`
    teacher_sound: Samples | None = None  # of `teacher_codes`
    speaker_embedding: NDArray[np.float32] | None = None  # of the clip, [width]
    reference_codes: Codes | None = None  # of the clip, [T, codebooks]


@dataclass(eq=False)
class _Stages:
    """Keeps what the engine tells of its stages, copied into main memory."""

    arrays: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    predictor: list[NDArray[np.float32]] = field(default_factory=list)

    def probe(self, name: str, tensor: Tensor) -> None:
        if name.startswith(f"{PREDICTOR_STEP0}-c"):
            self.predictor.append(plain(tensor))
            self.arrays[PREDICTOR_STEP0] = np.stack(self.predictor)  # [codebooks so far, K]
        elif tensor.is_floating_point():
            self.arrays[name] = plain(tensor)


def plain(tensor: Tensor) -> NDArray[np.float32]:
    """The values of a tensor as a float32 array of its own."""
    values: NDArray[np.float32] = tensor.detach().float().cpu().numpy().copy()
    return values


def plan(model: ModelParts, request: SpeechRequest) -> PromptParts:
    """The prompt of a request in ids; raises ModeError and RequestError as speaking would."""
    checked = check_request(request, model.config, model.decoder.config.codebook_size)
    parts = plan_prompt(checked, model.config, model.templates)
    frames, room = request.sampling.max_frames, model.config.context
    if parts.rows + frames > room:
        raise RequestError(
            f"The request needs {parts.rows} positions for its prompt and {frames} for the "
            f"speech; the model has {room}.",
            "Shorten the text or the reference, or compare fewer frames.",
        )
    return parts


@torch.inference_mode()
def capture(
    model: ModelParts,
    request: SpeechRequest,
    teacher_codes: Codes | None = None,
    clip: Samples | None = None,
    cancel: CancelToken | None = None,
) -> Capture:
    """Run a greedy request through every stage; without `teacher_codes` its own codes are given.

    `clip` [n] is a recording at 24 kHz. Raises ModeError, RequestError, and Cancelled.
    """
    cancel = cancel or CancelToken()
    parts = plan(model, request)
    prompt = PromptBuilder(model.talker, model.predictor, model.config).build(parts)
    stages = _Stages()
    for name, tensor in (
        ("talker-input-embed", prompt.embeds[0]),
        ("trailing-text-hidden", prompt.trailing),
        ("tts-pad-embed", prompt.pad),
    ):
        stages.probe(name, tensor)
    codes = generate(model, prompt, request, cancel, stages)
    given = codes if teacher_codes is None else teacher_codes
    forced = force(model, prompt, given, cancel)
    stages.arrays["teacher-forced-talker-logits"] = plain(forced.talker)
    stages.arrays["teacher-forced-predictor-logits"] = plain(forced.predictor)
    sound = decode(model, parts, codes, cancel)
    embedding, reference = listen(model, clip, cancel)
    return Capture(
        prompt_ids=np.array(parts.utterance_ids, np.int64),
        arrays=stages.arrays,
        codes=codes,
        teacher_codes=given,
        forced_codes=likeliest(forced, model.config).cpu().numpy(),
        sound=sound,
        teacher_sound=sound if given is codes else decode(model, parts, given, cancel),
        speaker_embedding=embedding,
        reference_codes=reference,
    )


def generate(
    model: ModelParts,
    prompt: Prompt,
    request: SpeechRequest,
    cancel: CancelToken,
    stages: _Stages | None = None,
) -> Codes:
    """The codes [T, codebooks] of the request's first seed."""
    loop = FrameLoop(model.talker, model.predictor, model.config, request.sampling)
    probe = None if stages is None else stages.probe
    frames = [
        frame.codes[0].cpu().numpy()
        for frame in loop.frames(prompt, request.seeds[:1], cancel, probe)
        if frame.takes
    ]
    return np.array(frames, np.int64).reshape(-1, model.config.codebooks)


def force(model: ModelParts, prompt: Prompt, codes: Codes, cancel: CancelToken) -> ForcedLogits:
    """`teacher_forced` for codes in main memory."""
    given = torch.from_numpy(codes).to(prompt.embeds.device)
    return teacher_forced(model.talker, model.predictor, prompt, given, cancel)


def decode(model: ModelParts, parts: PromptParts, codes: Codes, cancel: CancelToken) -> Samples:
    """The sound [n] of codes in one piece, behind the reference of a clone."""
    decoder = model.decoder
    if parts.reference_codes is None:
        state = decoder.new_state(1)
    else:
        state = PrimedStates(decoder).behind(parts.reference_codes, 1, cancel)
    sound = decoder.step(torch.from_numpy(codes)[None].to(decoder.device), state)
    return plain(sound[0])


@torch.inference_mode()
def decode_alone(model: ModelParts, codes: Codes) -> Samples:
    """The sound [n] of codes that nothing comes before."""
    return plain(model.decoder(torch.from_numpy(codes)[None].to(model.decoder.device))[0])


def listen(
    model: ModelParts, clip: Samples | None, cancel: CancelToken
) -> tuple[NDArray[np.float32] | None, Codes | None]:
    """The x-vector, where the model can make one, and the codes of a recording."""
    if clip is None:
        return None, None
    codes = model.encoders.codes(clip, cancel=cancel)
    if not model.description.has_speaker_encoder:
        return None, codes
    return model.encoders.embedding(clip, cancel), codes
