"""A loaded model pair that speaks: checks a request, runs the frames, decodes them as they come."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.errors import RequestError
from engine.qwen3tts.codec.decoder import CodecDecoder
from engine.qwen3tts.codec.pieces import CodecGraphs, EagerPieces, Pieces
from engine.qwen3tts.codec.priming import PrimedStates
from engine.qwen3tts.config import TalkerConfig
from engine.qwen3tts.encoders import VoiceEncoders
from engine.qwen3tts.frame_graphs import FrameGraphs
from engine.qwen3tts.generation import FrameLoop
from engine.qwen3tts.lanes import FrameModel
from engine.qwen3tts.predictor import CodePredictor
from engine.qwen3tts.prompt import PromptBuilder, PromptParts, Templates, plan_prompt
from engine.qwen3tts.rules import CheckedRequest, check_can_learn, check_request
from engine.qwen3tts.speech import TakeStream
from engine.qwen3tts.stage_clock import StageClock
from engine.qwen3tts.talker import Talker
from engine.runtime import Runtime, memory_errors
from engine.types import (
    AudioChunk,
    CancelToken,
    LengthRule,
    ModelDescription,
    Probe,
    Samples,
    Sampling,
    SpeechRequest,
    Voice,
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class ModelParts:
    """What `loading` builds out of the two files."""

    description: ModelDescription
    runtime: Runtime  # of talker and predictor; the codec is always in float32
    config: TalkerConfig
    sampling: Sampling  # the defaults that the talker file gives
    templates: Templates
    talker: Talker
    predictor: CodePredictor
    decoder: CodecDecoder
    encoders: VoiceEncoders


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
        self._encoders = parts.encoders
        self._primed = PrimedStates(parts.decoder)
        self._frame_graphs: FrameGraphs | None = None
        self._codec_graphs: CodecGraphs | None = None
        if parts.runtime.graphs is not None:
            model = FrameModel(parts.talker, parts.predictor, parts.config)
            self._frame_graphs = FrameGraphs(model, parts.runtime.graphs)
            self._codec_graphs = CodecGraphs(parts.decoder, parts.runtime.graphs)
        self.description = parts.description
        self.device = str(parts.runtime.device)
        self.precision = parts.runtime.precision
        self.default_sampling = parts.sampling
        self.sample_rate = parts.decoder.config.sample_rate
        self.frame_samples = parts.decoder.config.frame_samples
        self.codebook_size = parts.decoder.config.codebook_size

    def check(self, request: SpeechRequest) -> tuple[str, ...]:
        """What of the request will be ignored, in sentences.

        Raises ModeError or RequestError as `speak` would, before anything is computed.
        """
        checked = check_request(request, self._config, self.codebook_size)
        self._plan(checked, request.sampling)
        return checked.notices

    def speak(
        self,
        request: SpeechRequest,
        cancel: CancelToken | None = None,
        probe: Probe | None = None,
    ) -> Iterator[AudioChunk]:
        """Speak a request; nothing is computed before the first chunk is asked for.

        Chunks of different takes alternate; those of one take follow each other without a gap.
        Raises ModeError and RequestError at once. Within one frame after `cancel` was set, the
        iterator gives the frames that were made until then, and raises Cancelled. It also raises
        MemoryError, and ModelFileError where the model's numbers overflow.
        """
        checked = check_request(request, self._config, self.codebook_size)
        parts = self._plan(checked, request.sampling)
        for notice in checked.notices:
            _log.warning("%s", notice)
        return self._run(request, parts, cancel or CancelToken(), probe)

    def extract_voice(
        self,
        samples: Samples,
        rule: LengthRule = LengthRule.OFFICIAL,
        cancel: CancelToken | None = None,
        probe: Probe | None = None,
    ) -> Voice:
        """The x-vector and the codes of a recording, mono at 24 kHz: [n] samples.

        The x-vector is of the whole recording, whatever `rule` makes of its last frame. Add the
        transcript to clone in context, or drop the codes to take the voice alone. The first call
        loads the encoders. Raises ModeError if the model has no speaker encoder, AudioFileError
        if the recording is too short or holds no numbers, ModelFileError if an encoder cannot be
        read, MemoryError, and Cancelled.
        """
        check_can_learn(self.description)
        codes = self._encoders.codes(samples, rule, cancel, probe)
        return Voice(self._encoders.embedding(samples, cancel, probe), codes)

    def clock_stages(self) -> StageClock:
        """A clock that counts, from now on, the time of prefill, talker, predictor and codec."""

        def talker_stage(rows: Tensor, *_: object) -> str:  # [B, T, width]
            return "prefill" if rows.shape[1] > 1 else "talker"

        clock = StageClock(torch.device(self.device))
        clock.watch(talker_stage, self._talker)
        clock.watch("talker", self._talker, "logits")
        clock.watch("predictor", self._predictor, "frame")
        clock.watch("codec", self._decoder, "step")
        if self._frame_graphs is not None:
            clock.watch("talker", self._frame_graphs, "step")
            clock.watch("predictor", self._frame_graphs, "draw")
        if self._codec_graphs is not None:
            clock.watch("codec", self._codec_graphs, "decode")
        return clock

    def _plan(self, checked: CheckedRequest, sampling: Sampling) -> PromptParts:
        """The prompt in ids; raises RequestError if it does not fit into the model's context."""
        parts = plan_prompt(checked, self._config, self._templates)
        rows, room = parts.rows, self._config.context
        if rows + sampling.max_frames > room:
            hint = "Shorten the text, or allow fewer frames."
            if parts.reference_codes is not None:
                hint = (
                    "Shorten the text or the reference, allow fewer frames, or speak with the "
                    "voice only, without the words of its reference."
                )
            raise RequestError(
                f"The request needs {rows} positions for its prompt and up to "
                f"{sampling.max_frames} for the speech; the model has {room}.",
                hint,
            )
        return parts

    def _run(
        self, request: SpeechRequest, parts: PromptParts, cancel: CancelToken, probe: Probe | None
    ) -> Iterator[AudioChunk]:
        with memory_errors():
            prompt = self._builder.build(parts)
            if probe is not None:
                probe("prompt-ids", torch.tensor(parts.utterance_ids))
                probe("talker-input-embed", prompt.embeds[0])
                probe("trailing-text-hidden", prompt.trailing)
                probe("tts-pad-embed", prompt.pad)
            loop = FrameLoop(
                self._talker, self._predictor, self._config, request.sampling, self._frame_graphs
            )
            takes = len(request.seeds)
            if parts.reference_codes is None:
                state = self._decoder.new_state(takes)
            else:
                state = self._primed.behind(parts.reference_codes, takes, cancel)
            if self._codec_graphs is None:
                pieces: Pieces = EagerPieces(self._decoder, state)
            else:
                pieces = self._codec_graphs.begin(state, takes)
            stream = TakeStream(pieces, takes, request.piece_frames)
            yield from stream.chunks(loop.frames(prompt, request.seeds, cancel, probe))
