"""Layers of the codec and the talker as plain trainable modules.

The engine's own layers are made for running: their weights are fixed and their state is written
in place. These compute the same over whole signals; a module's attributes are named as the file
names its tensors, so that a `state_dict` is ready to be written. `tests/own_voice` holds the two
to each other.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.gguf.layout import TransformerDims

CODEC_EPS = 1e-5
TALKER_EPS = 1e-6
DILATIONS = (1, 3, 9)


class CausalConv(nn.Conv1d):
    """T inputs give ceil(T / stride) outputs that see the past and their own stride."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        *,
        stride: int = 1,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        repeats_edge: bool = False,
    ) -> None:
        super().__init__(
            inputs, outputs, kernel, stride=stride, dilation=dilation, groups=groups, bias=bias
        )
        self._span = (kernel - 1) * dilation + 1 - stride
        self._mode = "replicate" if repeats_edge else "constant"

    def forward(self, x: Tensor) -> Tensor:  # [B, in, T] -> [B, out, ceil(T / stride)]
        missing = -x.shape[-1] % self.stride[0]
        return super().forward(F.pad(x, (self._span, missing), mode=self._mode))


class CausalConvTranspose(nn.ConvTranspose1d):
    """T inputs give T * stride outputs; what only later inputs could complete is dropped."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        super().__init__(inputs, outputs, kernel, stride=stride)
        self._cut = kernel - stride

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        y = super().forward(x, output_size)
        return y[..., : y.shape[-1] - self._cut] if self._cut else y


class RmsNorm(nn.Module):
    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self._eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self._eps)


def rotary(positions: Tensor, width: int, base: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines [T, width] in the rotate-half form."""
    inverse = base ** -(torch.arange(0, width, 2, dtype=torch.float32) / width)
    half = positions.float()[:, None] * inverse
    angles = torch.cat((half, half), dim=-1)
    return angles.cos(), angles.sin()


def turned(x: Tensor, angles: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = angles[0].to(x.dtype), angles[1].to(x.dtype)
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


def past_mask(length: int, window: int | None) -> Tensor:
    """[T, T], true where a position may look: at itself and `window - 1` before it."""
    distance = torch.arange(length)[:, None] - torch.arange(length)
    seen = distance >= 0
    return seen if window is None else seen & (distance < window)


class CodecBlock(nn.Module):
    """A block of the codec: RMSNorm and SwiGLU, or LayerNorm and GELU; scaled residuals."""

    def __init__(self, dims: TransformerDims, *, gated: bool, scale: float = 0.1) -> None:
        super().__init__()
        width, inner = dims.width, dims.heads * dims.head_width
        self._heads, self._gated = (dims.heads, dims.head_width), gated
        self.attn_norm: nn.Module = _codec_norm(width, gated)
        self.ffn_norm: nn.Module = _codec_norm(width, gated)
        self.attn_q = nn.Linear(width, inner, bias=False)
        self.attn_k = nn.Linear(width, inner, bias=False)
        self.attn_v = nn.Linear(width, inner, bias=False)
        self.attn_output = nn.Linear(inner, width, bias=False)
        self.attn_scale = nn.Parameter(torch.full((width,), scale))
        self.ffn_up = nn.Linear(width, dims.feed_forward, bias=False)
        if gated:
            self.ffn_gate = nn.Linear(width, dims.feed_forward, bias=False)
        self.ffn_down = nn.Linear(dims.feed_forward, width, bias=False)
        self.ffn_scale = nn.Parameter(torch.full((width,), scale))

    def forward(self, x: Tensor, angles: tuple[Tensor, Tensor], seen: Tensor) -> Tensor:
        batch, length, _ = x.shape
        y = self.attn_norm(x)
        q, k, v = (
            layer(y).view(batch, length, *self._heads).transpose(1, 2)
            for layer in (self.attn_q, self.attn_k, self.attn_v)
        )
        mixed = F.scaled_dot_product_attention(turned(q, angles), turned(k, angles), v, seen)
        mixed = mixed.transpose(1, 2).reshape(batch, length, -1)
        x = x + self.attn_scale * self.attn_output(mixed)
        y = self.ffn_norm(x)
        inner = F.silu(self.ffn_gate(y)) * self.ffn_up(y) if self._gated else F.gelu(self.ffn_up(y))
        scaled: Tensor = x + self.ffn_scale * self.ffn_down(inner)
        return scaled


def _codec_norm(width: int, gated: bool) -> nn.Module:
    return RmsNorm(width, CODEC_EPS) if gated else nn.LayerNorm(width, CODEC_EPS)


class Snake(nn.Module):
    """x + sin^2(x exp(alpha)) / (exp(beta) + 1e-9)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(channels))
        self.beta = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        frequency = self.alpha.exp().to(x.dtype)[:, None]
        strength = (1 / (self.beta.exp() + 1e-9)).to(x.dtype)[:, None]
        return snake(x, frequency, strength)


def snake(x: Tensor, frequency: Tensor, strength: Tensor) -> Tensor:
    mixed: Tensor = _Snake.apply(x, frequency, strength)  # type: ignore[no-untyped-call]
    return mixed


class _Snake(torch.autograd.Function):
    """Keeps only its input for the way back, not every step of it."""

    @staticmethod
    def forward(ctx, x, frequency, strength):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(x, frequency, strength)
        return torch.addcmul(x, strength, torch.sin(x * frequency).square_())

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        x, frequency, strength = ctx.saved_tensors
        turn = x * frequency
        slope = gradient * torch.sin(2 * turn)  # d sin^2(t) = sin(2 t) dt
        to_strength = (gradient * torch.sin(turn).square_()).sum((0, 2))[:, None]
        to_frequency = (slope * x).sum((0, 2))[:, None] * strength
        return torch.addcmul(gradient, slope, frequency * strength), to_frequency, to_strength


class ResidualUnit(nn.Module):
    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.act1, self.act2 = Snake(channels), Snake(channels)
        self.conv1 = CausalConv(channels, channels, 7, dilation=dilation)
        self.conv2 = CausalConv(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        mixed: Tensor = x + self.conv2(self.act2(self.conv1(self.act1(x))))
        return mixed


class ConvNext(nn.Module):
    """Upsampling by `ratio`, then a ConvNeXt block."""

    def __init__(self, width: int, ratio: int) -> None:
        super().__init__()
        self.conv = CausalConvTranspose(width, width, ratio, ratio)
        self.dwconv = CausalConv(width, width, 7, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.pwconv1 = nn.Linear(width, 4 * width)
        self.pwconv2 = nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        y = self.norm(self.dwconv(x).transpose(1, 2))
        y = self.gamma * self.pwconv2(F.gelu(self.pwconv1(y)))
        mixed: Tensor = x + y.transpose(1, 2)
        return mixed


class TalkerBlock(nn.Module):
    """A block of the talker or the code predictor (Qwen3)."""

    def __init__(self, dims: TransformerDims, depth: int) -> None:
        super().__init__()
        width, spread = dims.width, 0.03
        self._dims = dims
        self.attn_norm = RmsNorm(width, TALKER_EPS)
        self.attn_q = nn.Linear(width, dims.heads * dims.head_width, bias=False)
        self.attn_k = nn.Linear(width, dims.key_value_heads * dims.head_width, bias=False)
        self.attn_v = nn.Linear(width, dims.key_value_heads * dims.head_width, bias=False)
        self.attn_output = nn.Linear(dims.heads * dims.head_width, width, bias=False)
        self.attn_q_norm = RmsNorm(dims.head_width, TALKER_EPS)
        self.attn_k_norm = RmsNorm(dims.head_width, TALKER_EPS)
        self.ffn_norm = RmsNorm(width, TALKER_EPS)
        self.ffn_gate = nn.Linear(width, dims.feed_forward, bias=False)
        self.ffn_up = nn.Linear(width, dims.feed_forward, bias=False)
        self.ffn_down = nn.Linear(dims.feed_forward, width, bias=False)
        for layer in self.children():
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=spread)
        for layer in (self.attn_output, self.ffn_down):
            nn.init.normal_(layer.weight, std=spread / math.sqrt(2 * depth))

    def forward(
        self, x: Tensor, angles: tuple[Tensor, Tensor], hidden: Tensor, watched: int = 0
    ) -> tuple[Tensor, Tensor | None]:
        """x [B, T, width], `hidden` [T, T] true where nothing is seen -> the same, and the first
        `watched` heads' attention weights [B, watched, T, T]."""
        batch, length, _ = x.shape
        dims, y = self._dims, self.attn_norm(x)
        q = self.attn_q(y).view(batch, length, dims.heads, dims.head_width)
        k = self.attn_k(y).view(batch, length, dims.key_value_heads, dims.head_width)
        v = self.attn_v(y).view(batch, length, dims.key_value_heads, dims.head_width)
        q = turned(self.attn_q_norm(q).transpose(1, 2), angles)
        k = turned(self.attn_k_norm(k).transpose(1, 2), angles)
        groups = dims.heads // dims.key_value_heads
        k, v = k.repeat_interleave(groups, 1), v.transpose(1, 2).repeat_interleave(groups, 1)
        scores = (q * dims.head_width**-0.5) @ k.transpose(-1, -2)
        weights = F.softmax(scores.float().masked_fill(hidden, -1e9), dim=-1)
        mixed = (weights.to(v.dtype) @ v).transpose(1, 2).reshape(batch, length, -1)
        x = x + self.attn_output(mixed)
        y = self.ffn_norm(x)
        x = x + self.ffn_down(F.silu(self.ffn_gate(y)) * self.ffn_up(y))
        return x, weights[:, :watched] if watched else None
