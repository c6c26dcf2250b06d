"""The small codec: sound to codes and back, trainable.

`SmallCodec` carries the tensor names of a tokenizer file. While it learns, codes come from an
encoder that reads mel spectra (`MelEncoder`, quick to train); the file's own waveform encoder
(`tok_enc`) is taught afterwards to give the same latents.
"""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.gguf.layout import CodecDims
from tools.own_voice.dims import BOOKS, CODEC, WINDOW
from tools.own_voice.modules import (
    CODEC_EPS,
    DILATIONS,
    CausalConv,
    CausalConvTranspose,
    CodecBlock,
    ConvNext,
    ResidualUnit,
    RmsNorm,
    Snake,
    past_mask,
    rotary,
)

ROPE_BASE = 10_000.0


def numbered(parts: dict[int, nn.Module]) -> nn.ModuleDict:
    """Modules under the numbers that the file gives them."""
    return nn.ModuleDict({str(number): part for number, part in parts.items()})


class Codebook(nn.Module):
    """Entries and the running counts from which they are averaged (van den Oord et al. 2017)."""

    codebook: Tensor
    counts: Tensor
    sums: Tensor

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.register_buffer("codebook", torch.zeros(size, width))
        self.register_buffer("counts", torch.ones(size))
        self.register_buffer("sums", torch.zeros(size, width))

    def nearest(self, rows: Tensor) -> Tensor:  # [n, width] -> [n]
        distances = self.codebook.square().sum(-1) - 2 * rows @ self.codebook.T
        nearest: Tensor = distances.argmin(-1)
        return nearest

    @torch.no_grad()
    def start(self, rows: Tensor, rounds: int = 10) -> None:
        """k-means on rows [n, width]."""
        size = len(self.codebook)
        self.codebook.copy_(rows[torch.randperm(len(rows))[:size]])
        for _ in range(rounds):
            nearest = self.nearest(rows)
            counts = torch.bincount(nearest, minlength=size).float()
            sums = torch.zeros_like(self.codebook).index_add_(0, nearest, rows)
            used = counts > 0
            self.codebook[used] = sums[used] / counts[used, None]
            self.codebook[~used] = rows[torch.randint(len(rows), (int((~used).sum()),))]
        self.counts.copy_(counts / counts.sum() * size * 0.3 + 0.01)
        self.sums.copy_(self.codebook * self.counts[:, None])

    @torch.no_grad()
    def learn(self, rows: Tensor, nearest: Tensor, decay: float = 0.97) -> None:
        size = len(self.codebook)
        counts = torch.bincount(nearest, minlength=size).float()
        sums = torch.zeros_like(self.codebook).index_add_(0, nearest, rows)
        self.counts.mul_(decay).add_(counts, alpha=1 - decay)
        self.sums.mul_(decay).add_(sums, alpha=1 - decay)
        self.codebook.copy_(self.sums / self.counts.clamp(min=1e-4)[:, None])
        usual = len(rows) / size
        dead = self.counts < 0.03 * usual
        if count := int(dead.sum()):
            self.codebook[dead] = rows[torch.randint(len(rows), (count,))]
            self.counts[dead] = 0.3 * usual
            self.sums[dead] = self.codebook[dead] * self.counts[dead, None]


class Quantizer(nn.Module):
    """A projection to normalised rows, and a chain of codebooks over them."""

    mean: Tensor
    spread: Tensor

    def __init__(self, inputs: int, outputs: int, width: int, books: int, size: int) -> None:
        super().__init__()
        self.input_proj = nn.Conv1d(inputs, width, 1, bias=False)
        self.output_proj = nn.Conv1d(width, outputs, 1, bias=False)
        self.books = nn.ModuleList(Codebook(size, width) for _ in range(books))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("spread", torch.ones(()))

    @property
    def chain(self) -> list[Codebook]:
        return [book for book in self.books if isinstance(book, Codebook)]

    def rows(self, latent: Tensor) -> Tensor:
        """[B, inputs, T] -> normalised [B, T, width]; learns the normalisation while training."""
        rows = self.input_proj(latent).transpose(1, 2).float()
        mean, spread = self.mean, self.spread
        if self.training:
            mean = rows.mean((0, 1))
            spread = (rows - mean).square().mean().sqrt() + 1e-5
            with torch.no_grad():
                self.mean.lerp_(mean, 0.05)
                self.spread.lerp_(spread, 0.05)
        normalised: Tensor = (rows - mean) / spread
        return normalised

    def codes(self, rows: Tensor) -> Tensor:  # [B, T, width] -> [B, T, books]
        rest, chosen = rows.reshape(-1, rows.shape[-1]), []
        for book in self.chain:
            nearest = book.nearest(rest)
            rest = rest - book.codebook[nearest]
            chosen.append(nearest.view(rows.shape[:2]))
        return torch.stack(chosen, dim=-1)

    def entries(self, codes: Tensor, used: Tensor | None = None) -> Tensor:
        """Sum of entries [B, T, width]; `used` [B] tells how many books count in each lane."""
        total = torch.zeros(*codes.shape[:2], self.chain[0].codebook.shape[1])
        for index, book in enumerate(self.chain):
            entry = book.codebook[codes[..., index]]
            total = total + (entry if used is None else entry * (used > index)[:, None, None])
        return total

    def learn(self, rows: Tensor, codes: Tensor) -> None:
        rest = rows.detach().reshape(-1, rows.shape[-1])
        for index, book in enumerate(self.chain):
            nearest = codes[..., index].reshape(-1)
            entry = book.codebook[nearest]
            book.learn(rest, nearest)
            rest = rest - entry

    def latent(self, entries: Tensor) -> Tensor:  # [B, T, width] -> [B, outputs, T]
        projected: Tensor = self.output_proj(entries.transpose(1, 2))
        return projected


class WaveformEncoder(nn.Module):
    """`tok_enc.*` up to the quantiser: samples [B, n] -> latents [B, width, frames]."""

    def __init__(self, dims: CodecDims) -> None:
        super().__init__()
        encoder, inner = dims.encoder, dims.encoder.transformer
        channels, place = encoder.filters, 0
        convs: dict[int, nn.Module] = {0: CausalConv(1, channels, encoder.kernel)}
        residuals: dict[int, nn.Module] = {}
        for ratio in reversed(encoder.ratios):
            narrow = CausalConv(channels, channels // 2, encoder.residual_kernel)
            back = CausalConv(channels // 2, channels, 1)
            residuals[place + 1] = nn.ModuleDict({"blk": numbered({1: narrow, 3: back})})
            place += 3
            convs[place] = CausalConv(channels, 2 * channels, 2 * ratio, stride=ratio)
            channels *= 2
        convs[place + 2] = CausalConv(channels, inner.width, encoder.last_kernel)
        self.conv, self.res = numbered(convs), numbered(residuals)
        self.blk = nn.ModuleList(CodecBlock(inner, gated=False) for _ in range(inner.blocks))
        self.downsample = CausalConv(
            inner.width, inner.width, 4, stride=2, bias=False, repeats_edge=True
        )
        self._head_width = inner.head_width

    def features(self, samples: Tensor) -> Tensor:
        """What the convolutions find, before the blocks: [B, n] -> [B, 2 * frames, width]."""
        convs = list(self.conv.values())
        x = convs[0](samples[:, None])
        for conv, residual in zip(convs[1:-1], self.res.values(), strict=True):
            narrow, back = cast(nn.ModuleDict, cast(nn.ModuleDict, residual)["blk"]).values()
            x = x + back(F.elu(narrow(F.elu(x))))
            x = conv(F.elu(x))
        found: Tensor = convs[-1](F.elu(x)).transpose(1, 2)
        return found

    def mixed(self, x: Tensor) -> Tensor:
        """Features [B, 2 * frames, width] -> latents [B, width, frames]."""
        length = x.shape[1]
        angles = rotary(torch.arange(length), self._head_width, ROPE_BASE)
        for block in self.blk:
            x = block(x, angles, past_mask(length, None))
        latent: Tensor = self.downsample(x.transpose(1, 2))
        return latent

    def forward(self, samples: Tensor) -> Tensor:
        return self.mixed(self.features(samples))


class PreTransformer(nn.Module):
    def __init__(self, dims: CodecDims) -> None:
        super().__init__()
        decoder, inner = dims.decoder, dims.decoder.transformer
        self.input_proj = nn.Linear(decoder.latent, inner.width)
        self.output_proj = nn.Linear(inner.width, decoder.latent)
        self.norm = RmsNorm(inner.width, CODEC_EPS)
        self.blk = nn.ModuleList(CodecBlock(inner, gated=True) for _ in range(inner.blocks))
        self._head_width = inner.head_width

    def forward(self, x: Tensor) -> Tensor:  # [B, latent, T] -> the same
        y = self.input_proj(x.transpose(1, 2))
        length = y.shape[1]
        angles = rotary(torch.arange(length), self._head_width, ROPE_BASE)
        for block in self.blk:
            y = block(y, angles, past_mask(length, WINDOW))
        mixed: Tensor = self.output_proj(self.norm(y)).transpose(1, 2)
        return mixed


class UpsamplingStage(nn.Module):
    def __init__(self, channels: int, rate: int) -> None:
        super().__init__()
        self.snake = Snake(channels)
        self.conv_t = CausalConvTranspose(channels, channels // 2, 2 * rate, rate)
        self.res = nn.ModuleList(ResidualUnit(channels // 2, dilation) for dilation in DILATIONS)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv_t(self.snake(x))
        for unit in self.res:
            x = unit(x)
        return x


class Decoder(nn.Module):
    """`tok_dec.*` behind the codebooks: code rows -> latents at 50 Hz -> sound."""

    def __init__(self, dims: CodecDims) -> None:
        super().__init__()
        decoder = dims.decoder
        self.pre_conv = CausalConv(decoder.quantizer_width, decoder.latent, 3)
        self.pre_tfm = PreTransformer(dims)
        self.upsample = nn.ModuleList(ConvNext(decoder.latent, ratio) for ratio in decoder.ratios)
        channels = decoder.width
        stages: dict[int, nn.Module] = {
            0: nn.ModuleDict({"conv": CausalConv(decoder.latent, channels, 7)})
        }
        for number, rate in enumerate(decoder.rates, 1):
            stages[number] = UpsamplingStage(channels, rate)
            channels //= 2
        last = len(decoder.rates) + 1
        stages[last] = nn.ModuleDict({"snake": Snake(channels)})
        stages[last + 1] = nn.ModuleDict({"conv": CausalConv(channels, 1, 7)})
        self.dec = numbered(stages)

    def front(self, x: Tensor) -> Tensor:
        """[B, quantizer width, T] -> [B, latent, 4 T]."""
        x = self.pre_tfm(self.pre_conv(x))
        for stage in self.upsample:
            x = stage(x)
        return x

    def waveform(self, latent: Tensor) -> Tensor:
        """[B, latent, 4 T] -> [B, 1920 T], not clamped."""
        first, *middle, snake, head = self.dec.values()
        x = cast(nn.ModuleDict, first)["conv"](latent)
        for stage in middle:
            x = stage(x)
        x = cast(nn.ModuleDict, snake)["snake"](x)
        sound: Tensor = cast(nn.ModuleDict, head)["conv"](x)
        return sound[:, 0]


class SmallCodec(nn.Module):
    """Everything that a tokenizer file holds; `semantic` is its first quantiser."""

    def __init__(self, dims: CodecDims = CODEC, books: int = BOOKS) -> None:
        super().__init__()
        width, book = dims.encoder.transformer.width, dims.encoder.codebook_width
        outputs = dims.decoder.quantizer_width
        self.tok_enc = WaveformEncoder(dims)
        self.tok_dec = Decoder(dims)
        self.semantic = Quantizer(width, outputs, book, 1, dims.codebook_size)
        self.acoustic = Quantizer(width, outputs, book, books - 1, dims.codebook_size)

    def codes(self, latent: Tensor) -> Tensor:
        """Encoder latents [B, width, T] -> codes [B, T, books]."""
        parts = [part.codes(part.rows(latent)) for part in (self.semantic, self.acoustic)]
        return torch.cat(parts, dim=-1)

    def rows(self, codes: Tensor, books: int = BOOKS) -> Tensor:
        """Codes [B, T, n] -> what the decoder reads, from the first `books` of them."""
        row = self.semantic.latent(self.semantic.entries(codes[..., :1]))
        used = torch.full((len(codes),), books - 1)
        return row + self.acoustic.latent(self.acoustic.entries(codes[..., 1:], used))

    def decode(self, codes: Tensor, books: int = BOOKS) -> Tensor:
        """Codes [B, T, n] -> sound [B, 1920 T]."""
        front = self.tok_dec.front(self.rows(codes, books))
        return self.tok_dec.waveform(front).clamp(-1, 1)
