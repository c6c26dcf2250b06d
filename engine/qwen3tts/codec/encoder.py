"""From sound to codes, a few seconds at a time: long recordings fit into little memory.

Every operation sees only the past, so the pieces give what the whole would but for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from engine.errors import AudioFileError
from engine.gguf.reader import GgufFile
from engine.gguf.weights import Weights
from engine.nn.attention import KeyValueCache
from engine.nn.state import Stack
from engine.nn.strided import EdgeHistory, RepeatedEdges, StridedCausalConv1d
from engine.qwen3tts.codec.encoder_config import DOWNSAMPLING, EncoderConfig, read_encoder_config
from engine.qwen3tts.codec.encoder_transformer import EncoderTransformer
from engine.qwen3tts.codec.quantizer import SplitQuantizer
from engine.qwen3tts.codec.waveform import WaveformEncoder
from engine.runtime import Runtime
from engine.types import CancelToken, LengthRule, Probe, Progress

PIECE_FRAMES = 50  # frames encoded at once (4 s in the published files)
# Not read: the other half, and the way back from codes, of which that half has its own.
NOT_NEEDED = ("tok_dec.", "tok_enc.vq_semantic.output_proj.", "tok_enc.vq_acoustic.output_proj.")


@dataclass
class EncoderState:
    """What the encoder remembers between pieces; the attention remembers everything."""

    waveform: Stack
    attention: KeyValueCache
    downsampling: EdgeHistory

    def select(self, rows: Tensor) -> EncoderState:
        return EncoderState(
            self.waveform.select(rows),
            self.attention.select(rows),
            self.downsampling.select(rows),
        )


class CodecEncoder(nn.Module):
    """Weights `tok_enc.*` of a tokenizer file: samples [B, n] -> codes [B, T, codebooks]."""

    def __init__(self, weights: Weights, config: EncoderConfig, runtime: Runtime) -> None:
        super().__init__()
        self.config = config
        self.waveform = WaveformEncoder(weights, "tok_enc", config, runtime)
        self.transformer = EncoderTransformer(weights, "tok_enc", config, runtime)
        shape = (config.width, config.width, 2 * DOWNSAMPLING)
        stored = weights.take("tok_enc.downsample.weight", shape)
        self.downsample = RepeatedEdges(
            StridedCausalConv1d(runtime.tensor(stored), None, stride=DOWNSAMPLING)
        )
        self.quantizer = SplitQuantizer(weights, "tok_enc", config, runtime)
        self._runtime = runtime

    def new_state(self, samples: int, batch: int = 1) -> EncoderState:
        """The state before the first sample, with room for `samples` of them."""
        positions = -(-samples // self.config.position_samples)
        return EncoderState(
            self.waveform.new_state(batch),
            self.transformer.new_state(batch, positions),
            self.downsample.new_state(batch),
        )

    @torch.inference_mode()
    def step(self, samples: Tensor, state: EncoderState, probe: Probe | None = None) -> Tensor:
        """Encode the next samples [B, n] -> codes [B, ceil(n / frame_samples), codebooks].

        Every piece but the last is whole frames long. `probe` is told what the stages make of the
        first lane, as [T, channels].
        """
        x = self.waveform.step(samples[:, None], state.waveform, probe)
        x = self.transformer.step(x, state.attention)
        latent = self.downsample.step(x, state.downsampling)
        if probe is not None:
            probe("enc-transformer-out", x[0].T)
            probe("codec-pre-fsq", latent[0].T)
        codes: Tensor = self.quantizer(latent)
        return codes

    def encode(
        self,
        samples: Tensor,
        rule: LengthRule = LengthRule.OFFICIAL,
        cancel: CancelToken | None = None,
        probe: Probe | None = None,
    ) -> Tensor:
        """Encode a recording [n] at the config's sample rate -> int64 codes [T, codebooks].

        T is n / frame_samples, rounded as `rule` says. With a `probe` the recording is encoded in
        one piece, so that it is told every stage once and whole. Raises AudioFileError if the
        recording is too short for one frame, and Cancelled.
        """
        samples = samples[: self.usable_samples(len(samples), rule)]
        state = self.new_state(len(samples))
        piece = PIECE_FRAMES * self.config.frame_samples if probe is None else len(samples)
        codes = []
        for part in torch.split(samples, piece):
            if cancel is not None:
                cancel.check()
            part = part.to(self._runtime.device, self._runtime.dtype)
            codes.append(self.step(part[None], state, probe)[0])
        return torch.cat(codes)

    def usable_samples(self, count: int, rule: LengthRule) -> int:
        """How many of `count` samples are encoded; AudioFileError if they are too few."""
        frame = self.config.frame_samples
        least, usable = (frame, count // frame * frame)
        if rule is LengthRule.OFFICIAL:
            least, usable = 1, count
        if count < least:
            raise AudioFileError(
                f"The recording is too short: it has {count} samples, "
                f"and the codec needs {least} at least.",
                "Choose a recording of a few seconds.",
            )
        return usable


def build_codec_encoder(
    file: GgufFile,
    runtime: Runtime,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> CodecEncoder:
    """The encoding half of a tokenizer file, in float32: it decides between close codes.

    Raises ModelFileError, and Cancelled.
    """
    config = read_encoder_config(file)
    weights = Weights(file, progress, cancel)
    for prefix in NOT_NEEDED:
        weights.skip(prefix)
    encoder = CodecEncoder(weights, config, runtime.full_precision())
    weights.finish()
    return encoder
