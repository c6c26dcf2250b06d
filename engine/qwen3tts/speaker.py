"""The speaker encoder (ECAPA-TDNN, Desplanques et al. 2020): a voice as one vector."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.errors import AudioFileError, ModelFileError
from engine.gguf.reader import GgufFile
from engine.gguf.weights import Weights
from engine.qwen3tts.mel import BANDS
from engine.runtime import Runtime
from engine.types import CancelToken, Probe, Progress

SAMPLE_RATE = 24_000
BLOCK_DILATIONS = (2, 3, 4)
VARIANCE_FLOOR = 1e-12
_RATE_KEY = "qwen3-tts.spk_enc.sample_rate"
NOT_NEEDED = ("talker.", "code_pred.")


class SameConv1d(nn.Module):
    """A convolution that keeps the length: the signal is mirrored at both ends."""

    def __init__(
        self,
        weights: Weights,
        name: str,
        shape: tuple[int, int, int | None],
        runtime: Runtime,
        *,
        dilation: int = 1,
    ) -> None:
        super().__init__()
        weight = runtime.tensor(weights.take(f"{name}.weight", shape))
        bias = runtime.tensor(weights.take(f"{name}.bias", shape[:1]))
        self.weight = nn.Parameter(weight, requires_grad=False)  # [out, in, k]
        self.bias = nn.Parameter(bias, requires_grad=False)
        self.dilation = dilation
        reach = (weight.shape[2] - 1) * dilation
        self.padding = (reach // 2, reach - reach // 2)

    def forward(self, x: Tensor) -> Tensor:  # [B, in, T] -> [B, out, T], T > padding
        if self.padding != (0, 0):
            x = F.pad(x, self.padding, mode="reflect")
        return F.conv1d(x, self.weight, self.bias, dilation=self.dilation)


class Res2Net(nn.Module):
    """Groups of channels, each convolved with the result of the one before (Gao et al. 2019)."""

    def __init__(self, convs: Iterable[SameConv1d]) -> None:
        super().__init__()
        self.convs = nn.ModuleList(convs)

    def forward(self, x: Tensor) -> Tensor:  # [B, channels, T] -> the same
        first, *groups = x.chunk(len(self.convs) + 1, dim=1)
        done = [first]  # as it is, and not added to the second group
        for index, (conv, group) in enumerate(zip(self.convs, groups, strict=True)):
            done.append(F.relu(conv(group + done[-1] if index else group)))
        return torch.cat(done, dim=1)


class SqueezeExcitation(nn.Module):
    """Scales every channel by what the means over time say of it (Hu et al. 2018)."""

    def __init__(self, weights: Weights, prefix: str, channels: int, runtime: Runtime) -> None:
        super().__init__()
        inner = weights.shape(f"{prefix}.conv1.weight")[0]
        self.squeeze = SameConv1d(weights, f"{prefix}.conv1", (inner, channels, 1), runtime)
        self.excite = SameConv1d(weights, f"{prefix}.conv2", (channels, inner, 1), runtime)

    def forward(self, x: Tensor) -> Tensor:  # [B, channels, T] -> the same
        inner = F.relu(self.squeeze(x.mean(dim=2, keepdim=True)))
        return x * torch.sigmoid(self.excite(inner))


class SpeakerBlock(nn.Module):
    """Pointwise, Res2Net, pointwise and squeeze-excitation, around a residual."""

    def __init__(
        self, weights: Weights, prefix: str, channels: int, dilation: int, runtime: Runtime
    ) -> None:
        super().__init__()
        count = 0
        while f"{prefix}.res2net.{count}.weight" in weights:
            count += 1
        group = weights.shape(f"{prefix}.res2net.0.weight")[0]
        inner = group * (count + 1)
        self.inward = SameConv1d(weights, f"{prefix}.tdnn1", (inner, channels, 1), runtime)
        self.groups = Res2Net(
            SameConv1d(
                weights,
                f"{prefix}.res2net.{index}",
                (group, group, None),
                runtime,
                dilation=dilation,
            )
            for index in range(count)
        )
        self.outward = SameConv1d(weights, f"{prefix}.tdnn2", (channels, inner, 1), runtime)
        self.excitation = SqueezeExcitation(weights, f"{prefix}.se", channels, runtime)

    def forward(self, x: Tensor) -> Tensor:  # [B, channels, T] -> the same
        y = self.groups(F.relu(self.inward(x)))
        mixed: Tensor = x + self.excitation(F.relu(self.outward(y)))
        return mixed


class AttentivePooling(nn.Module):
    """Means and deviations over time, weighted per channel by attention (Okabe et al. 2018)."""

    def __init__(self, weights: Weights, prefix: str, channels: int, runtime: Runtime) -> None:
        super().__init__()
        inner = weights.shape(f"{prefix}.tdnn.weight")[0]
        self.context = SameConv1d(weights, f"{prefix}.tdnn", (inner, 3 * channels, 1), runtime)
        self.attention = SameConv1d(weights, f"{prefix}.conv", (channels, inner, 1), runtime)

    def forward(self, x: Tensor) -> Tensor:  # [B, channels, T] -> [B, 2 * channels]
        frames = x.shape[2]
        even = _statistics(x, torch.full((1, 1, 1), 1 / frames, device=x.device))
        # The context of a frame is the frame, the means and the deviations. The latter two are
        # the same for every frame, so their share of the product is computed once.
        weight = self.context.weight
        share = F.conv1d(even[:, :, None], weight[:, x.shape[1] :], self.context.bias)
        context = F.relu(F.conv1d(x, weight[:, : x.shape[1]]) + share)
        attention = torch.softmax(self.attention(torch.tanh(context)), dim=2)
        return _statistics(x, attention)


class SpeakerEncoder(nn.Module):
    """Weights `spk_enc.*` of a Base talker file: log-mel [frames, bands] -> x-vector [width].

    `width` is that of the talker. The dimensions in between are those of the tensors.
    """

    def __init__(self, weights: Weights, width: int, runtime: Runtime) -> None:
        super().__init__()
        channels = weights.shape("spk_enc.conv0.weight")[0]
        self.front = SameConv1d(weights, "spk_enc.conv0", (channels, BANDS, None), runtime)
        self.blocks = nn.ModuleList(
            SpeakerBlock(weights, f"spk_enc.blk.{index}", channels, dilation, runtime)
            for index, dilation in enumerate(BLOCK_DILATIONS, 1)
        )
        joined = channels * len(BLOCK_DILATIONS)
        mixed = weights.shape("spk_enc.mfa.weight")[0]
        self.mixture = SameConv1d(weights, "spk_enc.mfa", (mixed, joined, 1), runtime)
        self.pooling = AttentivePooling(weights, "spk_enc.asp", mixed, runtime)
        self.head = SameConv1d(weights, "spk_enc.fc", (width, 2 * mixed, 1), runtime)
        self._runtime = runtime
        # A mirror image has no more frames than lie behind the one at the edge.
        paddings = [max(m.padding) for m in self.modules() if isinstance(m, SameConv1d)]
        self.least_frames = max(paddings) + 1

    @torch.inference_mode()
    def forward(self, mel: Tensor, probe: Probe | None = None) -> Tensor:
        """The x-vector [width], float32 and not normalised, of a log-mel [frames, bands].

        Raises AudioFileError if there are fewer than `least_frames`.
        """
        if len(mel) < self.least_frames:
            raise AudioFileError(
                f"The recording is too short: it makes {len(mel)} mel frames, "
                f"and the speaker encoder needs {self.least_frames} at least.",
                "Choose a recording of a few seconds.",
            )
        mel = mel.to(self._runtime.device, self._runtime.dtype)
        pooled = self.pooling(self._frames(mel, probe))[:, :, None]
        _tell(probe, "spk-asp", pooled)
        vector: Tensor = self.head(pooled)[0, :, 0].float()
        if probe is not None:
            probe("spk-emb", vector)
        return vector

    def _frames(self, mel: Tensor, probe: Probe | None) -> Tensor:
        """What the blocks make of every frame: [frames, bands] -> [1, joint channels, frames]."""
        x = self.front(mel.T[None]).relu_()  # [1, channels, frames]
        _tell(probe, "spk-frontend", x)
        outputs = []
        for index, block in enumerate(self.blocks, 1):
            x = block(x)
            _tell(probe, f"spk-block{index}", x)
            outputs.append(x)
        mixed: Tensor = self.mixture(torch.cat(outputs, dim=1)).relu_()
        _tell(probe, "spk-mfa", mixed)
        return mixed


def build_speaker_encoder(
    file: GgufFile,
    width: int,
    runtime: Runtime,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
) -> SpeakerEncoder:
    """The speaker encoder of a talker file, in float32; `width` is the talker's.

    Raises ModelFileError, also for a file without one, and Cancelled.
    """
    check_sample_rate(file)
    weights = Weights(file, progress, cancel)
    for prefix in NOT_NEEDED:
        weights.skip(prefix)
    encoder = SpeakerEncoder(weights, width, runtime.full_precision())
    weights.finish()
    return encoder


def check_sample_rate(file: GgufFile) -> None:
    """Raise ModelFileError unless the speaker encoder expects the rate it will be given."""
    rate = file.integer(_RATE_KEY)
    if rate != SAMPLE_RATE:
        raise ModelFileError(
            f"{file.path} gives {rate} for {_RATE_KEY}; only {SAMPLE_RATE} Hz is supported.",
            "The file is damaged or of an unknown version; download it again.",
        )


def _statistics(x: Tensor, shares: Tensor) -> Tensor:
    """Mean and deviation over time of x [B, C, T] under shares that add up to 1 -> [B, 2 C]."""
    mean = (shares * x).sum(dim=2)
    variance = (x - mean[:, :, None]).square_().mul_(shares).sum(dim=2)
    return torch.cat((mean, variance.clamp(min=VARIANCE_FLOOR).sqrt()), dim=1)


def _tell(probe: Probe | None, name: str, x: Tensor) -> None:
    """Tell the probe x [1, channels, frames] as [frames, channels]."""
    if probe is not None:
        probe(name, x[0].T)
