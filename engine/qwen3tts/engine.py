"""A loaded model pair that speaks: checks a request, runs the frames, decodes them as they come."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.errors import RequestError
from engine.nn.state import Stack
from engine.qwen3tts.codec.decoder import CodecDecoder
from engine.qwen3tts.config import TalkerConfig
from engine.qwen3tts.generation import FrameLoop
from engine.qwen3tts.predictor import CodePredictor
from engine.qwen3tts.prompt import PromptBuilder, PromptParts, Templates
from engine.qwen3tts.rules import CheckedRequest, check_request
from engine.qwen3tts.speech import TakeStream
from engine.qwen3tts.talker import Talker
from engine.types import (
    AudioChunk,
    CancelToken,
    ModelDescription,
    Probe,
    Sampling,
    SpeechRequest,
)

PRIMED_STATES = 8  # decoder states kept behind reference codes
PRIMING_FRAMES = 32  # reference frames decoded at once while priming

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class ModelParts:
    """What `loading` builds out of the two files."""

    description: ModelDescription
    config: TalkerConfig
    sampling: Sampling  # the defaults that the talker file gives
    templates: Templates
    talker: Talker
    predictor: CodePredictor
    decoder: CodecDecoder


class Qwen3TtsEngine:
    """Speaks with one talker file and one tokenizer file.

    Not thread-safe, and one request at a time: a generator that is not run to its end must be
    closed before the next request.
    """

    def __init__(self, parts: ModelParts) -> None:
        self._config = parts.config
        self._templates = parts.templates
        self._talker = parts.talker
        self._predictor = parts.predictor
        self._decoder = parts.decoder
        self._builder = PromptBuilder(parts.talker, parts.predictor, parts.config)
        self._device = next(parts.decoder.parameters()).device
        self._primed: OrderedDict[bytes, Stack] = OrderedDict()
        self.description = parts.description
        self.default_sampling = parts.sampling
        self.sample_rate = parts.decoder.config.sample_rate
        self.frame_samples = parts.decoder.config.frame_samples
        self.codebook_size = parts.decoder.config.codebook_size

    def check(self, request: SpeechRequest) -> tuple[str, ...]:
        """What of the request will be ignored, in sentences.

        Raises ModeError or RequestError as `speak` would, before anything is computed.
        """
        checked = check_request(request, self._config, self.codebook_size)
        self._parts(checked, request.sampling)
        return checked.notices

    def speak(
        self,
        request: SpeechRequest,
        cancel: CancelToken | None = None,
        probe: Probe | None = None,
    ) -> Iterator[AudioChunk]:
        """Speak a request; nothing is computed before the first chunk is asked for.

        Chunks of different takes alternate; those of one take follow each other without a gap.
        Raises ModeError and RequestError at once, and Cancelled from the iterator within one frame
        after `cancel` was set.
        """
        checked = check_request(request, self._config, self.codebook_size)
        parts = self._parts(checked, request.sampling)
        for notice in checked.notices:
            _log.warning("%s", notice)
        return self._run(request, parts, cancel or CancelToken(), probe)

    @property
    def max_context(self) -> int:
        """Positions (prompt rows and frames) that one request may take."""
        return self._config.context

    def _parts(self, checked: CheckedRequest, sampling: Sampling) -> PromptParts:
        """The prompt in ids; raises RequestError if it does not fit into the model's context."""
        codec, templates = self._config.codec, self._templates
        tags: tuple[int, ...]
        if checked.language is None:
            tags = (codec.nothink, codec.think_bos, codec.think_eos)
        else:
            tags = (codec.think, codec.think_bos, checked.language, codec.think_eos)
        speaker: int | Tensor | None = checked.speaker
        if checked.embedding is not None:
            speaker = torch.from_numpy(checked.embedding)
        codes = checked.codes
        parts = PromptParts(
            utterance_ids=templates.utterance(checked.text),
            tag_ids=tags,
            instruct_ids=templates.instruct(checked.instruct) if checked.instruct else (),
            speaker=speaker,
            reference_ids=templates.reference(checked.transcript) if codes is not None else (),
            reference_codes=None if codes is None else torch.from_numpy(codes),
            streaming_text=checked.streaming_text,
        )
        rows, room = parts.rows, self._config.context
        if rows + sampling.max_frames > room:
            raise RequestError(
                f"The request needs {rows} positions for its prompt and up to "
                f"{sampling.max_frames} for the speech; the model has {room}.",
                "Shorten the text or the reference, or allow fewer frames.",
            )
        return parts

    def _run(
        self, request: SpeechRequest, parts: PromptParts, cancel: CancelToken, probe: Probe | None
    ) -> Iterator[AudioChunk]:
        prompt = self._builder.build(parts)
        if probe is not None:
            probe("prompt-ids", torch.tensor(parts.utterance_ids))
            probe("talker-input-embed", prompt.embeds[0])
            probe("trailing-text-hidden", prompt.trailing)
            probe("tts-pad-embed", prompt.pad)
        loop = FrameLoop(self._talker, self._predictor, self._config, request.sampling)
        takes = len(request.seeds)
        state = self._decoder_state(parts.reference_codes, takes, cancel)
        stream = TakeStream(self._decoder, state, takes, request.piece_frames)
        yield from stream.chunks(loop.frames(prompt, request.seeds, cancel, probe))

    def _decoder_state(self, codes: Tensor | None, takes: int, cancel: CancelToken) -> Stack:
        """A decoder state per take, as it is after the reference was played."""
        if codes is None:
            return self._decoder.new_state(takes)
        key = codes.numpy().tobytes()
        primed = self._primed.pop(key, None)
        if primed is None:
            primed = self._decoder.new_state(1)
            for piece in torch.split(codes, PRIMING_FRAMES):
                cancel.check()
                self._decoder.step(piece[None].to(self._device), primed)
        self._primed[key] = primed
        if len(self._primed) > PRIMED_STATES:
            self._primed.popitem(last=False)
        return primed.select(torch.zeros(takes, dtype=torch.long, device=self._device))
