"""The two encoders of recordings, read from their files when the first recording comes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from engine.errors import AudioFileError, ModelFileError
from engine.gguf.reader import GgufFile
from engine.qwen3tts.codec.encoder import CodecEncoder, build_codec_encoder
from engine.qwen3tts.codec.metadata import read_codec_name
from engine.qwen3tts.mel import LogMel
from engine.qwen3tts.speaker import SAMPLE_RATE, SpeakerEncoder, build_speaker_encoder
from engine.runtime import Runtime, memory_errors
from engine.types import CancelToken, Codes, LengthRule, Probe, Samples


class VoiceEncoders:
    """What a recording says: whose voice it is, and the codes of its sound.

    `codec_name` is what the tokenizer must be called, if that is known. Both raise ModelFileError
    when the encoder cannot be read or another tokenizer has taken its place, AudioFileError when
    the recording is too short or holds values that are not numbers, MemoryError, and Cancelled.
    """

    def __init__(
        self, talker: Path, codec: Path, width: int, runtime: Runtime, codec_name: str | None = None
    ) -> None:
        self._talker = talker
        self._codec = codec
        self._codec_name = codec_name
        self._width = width
        self._runtime = runtime
        self._speaker_encoder: SpeakerEncoder | None = None
        self._codec_encoder: CodecEncoder | None = None

    @memory_errors()
    def embedding(
        self, samples: Samples, cancel: CancelToken | None = None, probe: Probe | None = None
    ) -> NDArray[np.float32]:
        """The x-vector [width] of a recording at 24 kHz [n]."""
        _check_numbers(samples)
        if self._speaker_encoder is None:
            with GgufFile.open(self._talker) as file:
                self._speaker_encoder = build_speaker_encoder(
                    file, self._width, self._runtime, cancel=cancel
                )
        mel = LogMel(SAMPLE_RATE, self._runtime.device)(samples)
        vector: NDArray[np.float32] = self._speaker_encoder(mel, probe).cpu().numpy()
        return vector

    @memory_errors()
    def codes(
        self,
        samples: Samples,
        rule: LengthRule = LengthRule.OFFICIAL,
        cancel: CancelToken | None = None,
        probe: Probe | None = None,
    ) -> Codes:
        """The codes [T, codebooks] of a recording at 24 kHz [n]."""
        _check_numbers(samples)
        if self._codec_encoder is None:
            with GgufFile.open(self._codec) as file:
                if self._codec_name not in (None, read_codec_name(file)):
                    raise ModelFileError(
                        f"{self._codec} is another tokenizer than when the model was loaded.",
                        "Load the model again.",
                    )
                self._codec_encoder = build_codec_encoder(file, self._runtime, cancel=cancel)
        wave = torch.tensor(samples, dtype=torch.float32)
        codes: Codes = self._codec_encoder.encode(wave, rule, cancel, probe).cpu().numpy()
        return codes


def _check_numbers(samples: Samples) -> None:
    if not np.isfinite(samples).all():
        raise AudioFileError(
            "The recording holds values that are not numbers.", "Read it with read_audio."
        )
