"""The audio tokenizer on its own: recordings to codes and codes to sound, without a talker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from engine.errors import RequestError
from engine.gguf.reader import GgufFile
from engine.qwen3tts.codec.config import read_decoder_config
from engine.qwen3tts.codec.decoder import CodecDecoder, build_codec_decoder
from engine.qwen3tts.encoders import VoiceEncoders
from engine.runtime import Runtime, memory_errors
from engine.types import CancelToken, Codes, LengthRule, Samples

PIECE_FRAMES = 25  # frames decoded at once: two seconds


class AudioTokenizer:
    """One tokenizer file; each half of it is loaded when it is first used."""

    def __init__(self, path: Path, runtime: Runtime) -> None:
        with GgufFile.open(path) as file:
            self._config = read_decoder_config(file)
        self._path = path
        self._runtime = runtime
        self._encoders = VoiceEncoders(path, path, 0, runtime)
        self._decoder: CodecDecoder | None = None
        self.sample_rate = self._config.sample_rate
        self.frame_samples = self._config.frame_samples
        self.codebook_size = self._config.codebook_size

    def encode(
        self, samples: Samples, rule: LengthRule, cancel: CancelToken | None = None
    ) -> Codes:
        """The codes [T, codebooks] of a recording at 24 kHz [n]; see `VoiceEncoders.codes`."""
        return self._encoders.codes(samples, rule, cancel)

    def decode(self, codes: Codes, cancel: CancelToken | None = None) -> Iterator[Samples]:
        """The sound of codes [T, codebooks], a piece at a time.

        Raises RequestError if the codes are not of this tokenizer; while it runs, ModelFileError,
        MemoryError and Cancelled.
        """
        if codes.ndim != 2 or codes.shape[1] != self._config.codebooks:
            raise RequestError(
                f"Codes of the shape {list(codes.shape)} cannot be decoded.",
                f"Give [frames, {self._config.codebooks}].",
            )
        if codes.size and not 0 <= codes.min() <= codes.max() < self.codebook_size:
            raise RequestError(
                f"The codes go from {codes.min()} to {codes.max()}; this tokenizer knows "
                f"0 to {self.codebook_size - 1}.",
                "Choose the tokenizer that the codes were made with.",
            )
        return self._decode(torch.from_numpy(codes), cancel or CancelToken())

    def _decode(self, codes: torch.Tensor, cancel: CancelToken) -> Iterator[Samples]:
        with memory_errors():
            if self._decoder is None:
                with GgufFile.open(self._path) as file:
                    self._decoder = build_codec_decoder(file, self._runtime, cancel=cancel)
            state = self._decoder.new_state()
            for piece in torch.split(codes, PIECE_FRAMES):
                cancel.check()
                sound: Samples = (
                    self._decoder.step(piece[None].to(self._decoder.device), state)[0].cpu().numpy()
                )
                yield sound
