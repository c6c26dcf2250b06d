"""Residual vector quantisation, encoding side: the nearest entry of every codebook."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from engine.gguf.weights import Weights
from engine.nn.conv import CausalConv1d
from engine.qwen3tts.codec.encoder_config import EncoderConfig
from engine.runtime import Runtime

FRAMES_AT_ONCE = 512  # bounds the memory of the distances


class ResidualQuantizer(nn.Module):
    """One projection and a chain of codebooks, each for what the one before left over."""

    def __init__(
        self, weights: Weights, prefix: str, books: int, config: EncoderConfig, runtime: Runtime
    ) -> None:
        super().__init__()
        width = weights.shape(f"{prefix}.0.codebook")[-1]
        shape = (config.codebook_size, width)
        self.projection = CausalConv1d(
            runtime.tensor(weights.take(f"{prefix}.input_proj.weight", (width, config.width, 1))),
            None,
        )
        tables = [
            runtime.tensor(weights.take(f"{prefix}.{book}.codebook", shape))
            for book in range(books)
        ]
        self.codebooks = nn.Parameter(torch.stack(tables), requires_grad=False)

    def forward(self, latent: Tensor) -> Tensor:  # [B, width, T] -> [B, T, books]
        rest = self.projection(latent).transpose(1, 2)  # [B, T, codebook width]
        codes = []
        for table in self.codebooks:
            # Euclidean distances in float32; of equal ones argmin takes the first.
            nearest = torch.cdist(rest, table).argmin(dim=-1)
            rest = rest - table[nearest]
            codes.append(nearest)
        return torch.stack(codes, dim=-1)


class SplitQuantizer(nn.Module):
    """A semantic codebook, and acoustic ones that quantise the same latent on their own."""

    def __init__(
        self, weights: Weights, prefix: str, config: EncoderConfig, runtime: Runtime
    ) -> None:
        super().__init__()
        acoustic = config.codebooks - 1
        self.semantic = ResidualQuantizer(weights, f"{prefix}.vq_semantic", 1, config, runtime)
        self.acoustic = ResidualQuantizer(
            weights, f"{prefix}.vq_acoustic", acoustic, config, runtime
        )

    def forward(self, latent: Tensor) -> Tensor:  # [B, width, T] -> [B, T, codebooks]
        parts = [
            torch.cat((self.semantic(frames), self.acoustic(frames)), dim=-1)
            for frames in torch.split(latent, FRAMES_AT_ONCE, dim=-1)
        ]
        return torch.cat(parts, dim=1)
