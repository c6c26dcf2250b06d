"""The small speaker encoder, trainable, under the tensor names of a Base talker file.

`tests/unit/test_own_voice.py` holds it to `engine.qwen3tts.speaker`.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.gguf.layout import SPEAKER_BLOCKS, SpeakerEncoderDims
from engine.qwen3tts.speaker import BLOCK_DILATIONS, VARIANCE_FLOOR


class SameConv(nn.Conv1d):
    """Keeps the length: the signal is mirrored at both ends."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 1, *, dilation: int = 1) -> None:
        super().__init__(inputs, outputs, kernel, dilation=dilation)
        reach = (kernel - 1) * dilation
        self._edges = (reach // 2, reach - reach // 2)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(F.pad(x, self._edges, mode="reflect") if any(self._edges) else x)


class SqueezeExcitation(nn.Module):
    def __init__(self, channels: int, inner: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = SameConv(channels, inner), SameConv(inner, channels)

    def forward(self, x: Tensor) -> Tensor:
        scale: Tensor = torch.sigmoid(self.conv2(F.relu(self.conv1(x.mean(2, keepdim=True)))))
        return x * scale


class SpeakerBlock(nn.Module):
    def __init__(self, dims: SpeakerEncoderDims, dilation: int) -> None:
        super().__init__()
        channels, group = dims.channels, dims.channels // dims.scale
        self.tdnn1, self.tdnn2 = SameConv(channels, channels), SameConv(channels, channels)
        self.res2net = nn.ModuleList(
            SameConv(group, group, 3, dilation=dilation) for _ in range(dims.scale - 1)
        )
        self.se = SqueezeExcitation(channels, dims.squeeze)

    def forward(self, x: Tensor) -> Tensor:
        first, *groups = F.relu(self.tdnn1(x)).chunk(len(self.res2net) + 1, dim=1)
        done = [first]
        for index, (conv, group) in enumerate(zip(self.res2net, groups, strict=True)):
            done.append(F.relu(conv(group + done[-1] if index else group)))
        mixed: Tensor = x + self.se(F.relu(self.tdnn2(torch.cat(done, dim=1))))
        return mixed


class AttentivePooling(nn.Module):
    def __init__(self, channels: int, inner: int) -> None:
        super().__init__()
        self.tdnn, self.conv = SameConv(3 * channels, inner), SameConv(inner, channels)

    def forward(self, x: Tensor) -> Tensor:  # [B, channels, T] -> [B, 2 * channels]
        even = statistics(x, torch.full_like(x[:1, :1], 1 / x.shape[2]))
        around = torch.cat((x, even[:, :, None].expand(-1, -1, x.shape[2])), dim=1)
        attention = self.conv(torch.tanh(F.relu(self.tdnn(around))))
        return statistics(x, torch.softmax(attention, dim=2))


def statistics(x: Tensor, shares: Tensor) -> Tensor:
    """Weighted mean and deviation over time of [B, C, T]: [B, 2 C]."""
    mean = (shares * x).sum(2)
    variance = ((x - mean[:, :, None]).square() * shares).sum(2)
    return torch.cat((mean, variance.clamp(min=VARIANCE_FLOOR).sqrt()), dim=1)


class SmallSpeakerEncoder(nn.Module):
    """`spk_enc.*` up to its last layer: log-mel [B, bands, T] -> pooled [B, 6 * channels]."""

    def __init__(self, dims: SpeakerEncoderDims) -> None:
        super().__init__()
        joined = SPEAKER_BLOCKS * dims.channels
        self.conv0 = SameConv(dims.mels, dims.channels, 5)
        blocks = {
            str(number): SpeakerBlock(dims, dilation)
            for number, dilation in enumerate(BLOCK_DILATIONS, 1)
        }
        self.blk = nn.ModuleDict(blocks)
        self.mfa = SameConv(joined, joined)
        self.asp = AttentivePooling(joined, dims.attention)

    def forward(self, mel: Tensor) -> Tensor:
        x, outputs = F.relu(self.conv0(mel)), []
        for block in self.blk.values():
            x = block(x)
            outputs.append(x)
        pooled: Tensor = self.asp(F.relu(self.mfa(torch.cat(outputs, dim=1))))
        return pooled
