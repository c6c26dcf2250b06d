"""Chains of convolutions in one native call, over weights and signals in 16-bit integers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from ctypes import Array
from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.native.context import NativeContext
from engine.native.library import Library
from engine.native.structures import Convolution
from engine.nn.conv import CausalConvTranspose1d, SnakeBeta
from engine.nn.waves import WaveConvolution, WaveLayer

LANES = 16  # channels that the native step computes at once; others are filled up with zeros

MOST_POSITIONS = 1 << 15  # of all lanes at the end of a chain: longer pieces only need more memory


@dataclass
class WavePast:
    """What the layers of a chain remember of each lane, in the layout of `source/waves.h`."""

    past: Tensor  # uint8 [B, bytes]

    def select(self, rows: Tensor) -> WavePast:
        return WavePast(self.past.index_select(0, rows))


def unfit_waves(library: Library) -> str:
    """Why convolutions are better not run natively, or nothing."""
    if library.calls.step_fast_waves():
        return ""
    return f"{library.name} has no fast products of 16 bits"


class NativeWaves(nn.Module):
    """Runs a chain in 16-bit integers: [B, channels, T] -> [B, channels, T * all strides].

    The layers are packed as they come, so that only one at a time is held in floats.
    """

    def __init__(self, layers: Iterable[WaveLayer], context: NativeContext) -> None:
        super().__init__()
        self._context = context
        self._first_snake: nn.Module = nn.Identity()
        self._kept: list[Tensor] = []  # what the structures point to
        structures: list[Convolution] = []
        for layer in layers:
            if layer.snake is not None and structures:
                frequency, strength = _snake(layer.snake, structures[-1].outputs)
                structures[-1].frequency = self._keep(frequency)
                structures[-1].strength = self._keep(strength)
            elif layer.snake is not None:
                self._first_snake = layer.snake
            structures.append(self._pack(layer.conv))
            structures[-1].residual = layer.residual
            self.channels = _outputs(layer.conv)
            del layer  # its floats go before those of the next come
        for one, following in pairwise(structures):
            assert one.outputs == following.inputs, "a layer reads what the one before it makes"
        self._layers: Array[Convolution] = (Convolution * len(structures))(*structures)
        self._stride = math.prod(layer.phases for layer in structures)
        self._bytes: int = context.calls.step_wave_past(self._layers, len(structures))

    def new_state(self, batch: int) -> WavePast:
        return WavePast(torch.zeros(batch, self._bytes, dtype=torch.uint8))

    def step(self, x: Tensor, state: WavePast) -> Tensor:
        lanes = x.shape[0]
        rows = _filled(self._first_snake(x).float().transpose(1, 2), 2)  # [B, T, inputs]
        assert rows.shape[2] == self._layers[0].inputs, rows.shape
        assert state.past.shape == (lanes, self._bytes), "a state of as many lanes"
        length = max(1, MOST_POSITIONS // max(1, lanes * self._stride))
        made = [self._run(piece.contiguous(), state) for piece in torch.split(rows, length, dim=1)]
        whole = made[0] if len(made) == 1 else torch.cat(made, dim=1)
        return whole[..., : self.channels].transpose(1, 2)

    def _run(self, rows: Tensor, state: WavePast) -> Tensor:
        lanes, length, _ = rows.shape
        made = torch.empty(lanes, length * self._stride, self._layers[-1].outputs)
        self._context.calls.step_waves(
            self._context.handle,
            self._layers,
            len(self._layers),
            rows.data_ptr(),
            lanes,
            length,
            state.past.data_ptr(),
            made.data_ptr(),
        )
        return made

    def _pack(self, conv: WaveConvolution) -> Convolution:
        rows = _filled(_filled(_rows(conv), 1), 2).contiguous()
        phases, outputs, inputs, taps = rows.shape
        weights = torch.zeros(rows.numel(), dtype=torch.int16)
        scales = torch.empty(phases * outputs)
        self._context.calls.step_pack_convolution(
            self._context.handle,
            rows.data_ptr(),
            phases * outputs,
            inputs,
            taps,
            weights.data_ptr(),
            scales.data_ptr(),
        )
        bias = torch.zeros(outputs)
        if conv.bias is not None:
            bias[: len(conv.bias)] = conv.bias
        return Convolution(
            weights=self._keep(weights),
            scales=self._keep(scales),
            bias=self._keep(bias),
            inputs=inputs,
            outputs=outputs,
            taps=taps,
            dilation=1 if isinstance(conv, CausalConvTranspose1d) else conv.dilation,
            phases=phases,
        )

    def _keep(self, tensor: Tensor) -> int:
        """The address of a tensor that lives as long as this."""
        self._kept.append(tensor)
        return tensor.data_ptr()


def _outputs(conv: WaveConvolution) -> int:
    return conv.weight.shape[1 if isinstance(conv, CausalConvTranspose1d) else 0]


def _rows(conv: WaveConvolution) -> Tensor:
    """The weights as products of every phase: [phase, out, in, tap], the latest tap last.

    A transposed convolution gives stride positions per input, each from every stride-th weight.
    """
    weight = conv.weight.detach()
    if not isinstance(conv, CausalConvTranspose1d):
        assert conv.groups == 1, "one group is what a chain has"
        return weight[None]
    inputs, outputs, kernel = weight.shape
    taps = conv.span + 1
    whole = F.pad(weight, (0, taps * conv.stride - kernel))
    return whole.view(inputs, outputs, taps, conv.stride).permute(3, 1, 0, 2).flip(3)


def _snake(snake: SnakeBeta, outputs: int) -> tuple[Tensor, Tensor]:
    """Frequency in half turns and strength, per channel."""
    frequency = torch.exp(snake.alpha.detach().double()) / math.pi
    strength = 1.0 / (torch.exp(snake.beta.detach().double()) + 1e-9)
    padding = (0, outputs - len(frequency))
    return F.pad(frequency.float(), padding), F.pad(strength.float(), padding)


def _filled(x: Tensor, dim: int) -> Tensor:
    """x with zeros behind, so that whole lanes fit into a dimension."""
    missing = -x.shape[dim] % LANES
    return F.pad(x, (*(0, 0) * (x.ndim - 1 - dim), 0, missing)) if missing else x
