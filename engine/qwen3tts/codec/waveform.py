"""The convolutional front of the codec encoder (SEANet): samples to positions of a transformer."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from engine.gguf.weights import Weights
from engine.nn.conv import CausalConv1d
from engine.nn.pipeline import Pipeline, StreamingLayer
from engine.nn.state import History, Stack
from engine.nn.strided import StridedCausalConv1d
from engine.qwen3tts.codec.encoder_config import EncoderConfig
from engine.runtime import Runtime
from engine.types import Probe


class EluConv(nn.Module):
    """A convolution behind an ELU (Clevert et al. 2015)."""

    def __init__(self, conv: CausalConv1d | StridedCausalConv1d) -> None:
        super().__init__()
        self.conv = conv

    def new_state(self, batch: int) -> History:
        return self.conv.new_state(batch)

    def step(self, x: Tensor, state: History) -> Tensor:
        return self.conv.step(F.elu(x), state)


class EluResidual(nn.Module):
    """A convolution to fewer channels and a pointwise one back, around a residual."""

    def __init__(
        self, weights: Weights, prefix: str, channels: int, kernel: int, runtime: Runtime
    ) -> None:
        super().__init__()
        inner = weights.shape(f"{prefix}.1.weight")[0]
        self.narrow = _conv(weights, f"{prefix}.1", (inner, channels, kernel), runtime)
        self.pointwise = _conv(weights, f"{prefix}.3", (channels, inner, 1), runtime)

    def new_state(self, batch: int) -> History:
        return self.narrow.new_state(batch)

    def step(self, x: Tensor, state: History) -> Tensor:  # [B, channels, T] -> the same
        y = self.narrow.step(F.elu(x), state)
        mixed: Tensor = x + self.pointwise(F.elu(y))
        return mixed


class WaveformEncoder(nn.Module):
    """Weights `tok_enc.conv.*` and `tok_enc.res.*`: [B, 1, n] -> [B, width, ceil(n / stride)].

    The stride is that of a transformer position; every piece but the last is a multiple of it.
    """

    def __init__(
        self, weights: Weights, prefix: str, config: EncoderConfig, runtime: Runtime
    ) -> None:
        super().__init__()
        channels = config.channels
        stages: dict[str, StreamingLayer] = {
            "seanet-init": _conv(weights, f"{prefix}.conv.0", (channels, 1, config.kernel), runtime)
        }
        # The official numbering counts the activations as well.
        place = 1
        for index, stride in enumerate(config.strides):
            stages[f"seanet-resnet{index}"] = EluResidual(
                weights, f"{prefix}.res.{place}.blk", channels, config.residual_kernel, runtime
            )
            shape = (2 * channels, channels, 2 * stride)
            down = _strided(weights, f"{prefix}.conv.{place + 2}", shape, stride, runtime)
            stages[f"seanet-stage{index}"] = EluConv(down)
            channels *= 2
            place += 3
        shape = (config.width, channels, config.last_kernel)
        last = _conv(weights, f"{prefix}.conv.{place + 1}", shape, runtime)
        stages["seanet-out"] = EluConv(last)
        self.stages = Pipeline(list(stages.values()))
        self._names = tuple(stages)

    def new_state(self, batch: int) -> Stack:
        return self.stages.new_state(batch)

    def step(self, x: Tensor, state: Stack, probe: Probe | None = None) -> Tensor:
        """`probe` is told the output of every stage for the first lane, [T, channels]."""
        for name, stage, part in zip(self._names, self.stages, state.parts, strict=True):
            x = stage.step(x, part)
            if probe is not None:
                probe(name, x[0].T)
        return x


def _conv(
    weights: Weights, name: str, shape: tuple[int, int, int], runtime: Runtime
) -> CausalConv1d:
    return CausalConv1d(
        runtime.tensor(weights.take(f"{name}.weight", shape)),
        runtime.tensor(weights.take(f"{name}.bias", shape[:1])),
    )


def _strided(
    weights: Weights, name: str, shape: tuple[int, int, int], stride: int, runtime: Runtime
) -> StridedCausalConv1d:
    return StridedCausalConv1d(
        runtime.tensor(weights.take(f"{name}.weight", shape)),
        runtime.tensor(weights.take(f"{name}.bias", shape[:1])),
        stride=stride,
    )
