"""The small talker and its code predictor, trainable, under the tensor names of a talker file."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.gguf.layout import TalkerDims, TransformerDims
from tools.own_voice.dims import TALKER
from tools.own_voice.modules import TALKER_EPS, RmsNorm, TalkerBlock, past_mask, rotary

ROPE_BASE = 1e6


class Stack(nn.Module):
    """Blocks and the last norm."""

    def __init__(self, dims: TransformerDims) -> None:
        super().__init__()
        self.blk = nn.ModuleList(TalkerBlock(dims, dims.blocks) for _ in range(dims.blocks))
        self.output_norm = RmsNorm(dims.width, TALKER_EPS)
        self._head_width = dims.head_width

    def run(self, x: Tensor, watched: dict[int, int] | None = None) -> tuple[Tensor, list[Tensor]]:
        """[B, T, width] -> the same, and the attention of the first heads of `watched` blocks."""
        length = x.shape[1]
        angles = rotary(torch.arange(length), self._head_width, ROPE_BASE)
        hidden, seen = ~past_mask(length, None), []
        for number, block in enumerate(self.blk):
            x, weights = block(x, angles, hidden, (watched or {}).get(number, 0))
            if weights is not None:
                seen.append(weights)
        return self.output_norm(x), seen


class TextProjection(nn.Module):
    def __init__(self, dims: TalkerDims) -> None:
        super().__init__()
        self.fc1 = nn.Linear(dims.text_width, dims.text_width)
        self.fc2 = nn.Linear(dims.text_width, dims.talker.width)

    def forward(self, x: Tensor) -> Tensor:
        projected: Tensor = self.fc2(F.silu(self.fc1(x)))
        return projected


class SmallTalker(Stack):
    """`talker.*`: rows of text and codes -> logits of the first codebook."""

    def __init__(self, dims: TalkerDims) -> None:
        super().__init__(dims.talker)
        width = dims.talker.width
        self.text_embd = nn.Embedding(dims.text_vocabulary, dims.text_width)
        self.text_proj = TextProjection(dims)
        self.codec_embd = nn.Embedding(dims.codec_vocabulary, width)
        self.codec_head = nn.Linear(width, dims.codec_vocabulary, bias=False)
        nn.init.normal_(self.text_embd.weight, std=0.5)
        nn.init.normal_(self.codec_embd.weight, std=0.05)
        nn.init.normal_(self.codec_head.weight, std=0.03)

    def text(self, ids: Tensor) -> Tensor:  # [...] -> [..., width]
        rows: Tensor = self.text_proj(self.text_embd(ids))
        return rows


class SmallPredictor(Stack):
    """`code_pred.*`: the talker's hidden state and first code -> the other codes."""

    def __init__(self, dims: TalkerDims) -> None:
        super().__init__(dims.predictor)
        groups, width = dims.code_groups - 1, dims.predictor.width
        self.codec_embd = nn.ModuleList(
            nn.Embedding(dims.codebook_size, dims.talker.width) for _ in range(groups)
        )
        self.lm_head = nn.ModuleList(
            nn.Linear(width, dims.codebook_size, bias=False) for _ in range(groups)
        )
        for weight in self.codec_embd.parameters():
            nn.init.normal_(weight, std=0.05)
        for weight in self.lm_head.parameters():
            nn.init.normal_(weight, std=0.03)
        assert not dims.projects_to_predictor

    def logits(self, hidden: Tensor, first: Tensor, codes: Tensor, books: int) -> Tensor:
        """Of codebooks 1 .. books - 1, given the right ones before: [N, books - 1, size].

        `hidden` [N, width], `first` [N, width] the embedded first codes, `codes` [N, 16].
        """
        rows = [hidden, first]
        rows += [self.codec_embd[book - 1](codes[:, book]) for book in range(1, books - 1)]
        x, _ = self.run(torch.stack(rows, dim=1))
        return torch.stack([self.lm_head[book - 1](x[:, book]) for book in range(1, books)], dim=1)


class SmallSpeaker(nn.Module):
    """Talker and predictor together: the state of a talker file."""

    def __init__(self, dims: TalkerDims = TALKER) -> None:
        super().__init__()
        self.talker = SmallTalker(dims)
        self.code_pred = SmallPredictor(dims)

    def frames(self, codes: Tensor) -> Tensor:
        """What whole frames [..., books] look like to the talker: [..., width]."""
        row = self.talker.codec_embd(codes[..., 0])
        for book in range(1, codes.shape[-1]):
            row = row + self.code_pred.codec_embd[book - 1](codes[..., book])
        total: Tensor = row
        return total
