"""Watches the channels of a recording while they are mixed to mono, where trouble would hide."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from engine.audio.findings import AudioWarning, AudioWarningKind
from engine.audio.report import ClipCounter
from engine.types import Samples

SILENT_PEAK = 2 / 32768  # dither of a channel that nothing was recorded on
PHASE_LOSS_DB = 3.0  # below unrelated channels; for stereo, 6 dB below the level of a channel


class ChannelTally:
    """Power, peak and clipping per channel, gathered from block to block."""

    def __init__(self, channels: int) -> None:
        self.clipped = 0
        self._clips = ClipCounter()
        self._frames = 0
        self._sums = np.zeros(channels + 1)  # the channels, then the mono mix
        self._squares = np.zeros(channels + 1)
        self._peaks = np.zeros(channels)

    def add(self, block: NDArray[np.float32], mono: Samples) -> None:
        """Take in a block [n, channels] and its mono mix [n]."""
        self.clipped += self._clips.count(block)
        self._frames += len(block)
        self._sums[:-1] += block.sum(axis=0, dtype=np.float64)
        self._sums[-1] += mono.sum(dtype=np.float64)
        self._squares[:-1] += np.einsum("ij,ij->j", block, block, dtype=np.float64)
        self._squares[-1] += np.einsum("i,i->", mono, mono, dtype=np.float64)
        self._peaks = np.maximum(self._peaks, np.abs(block).max(axis=0, initial=0))

    def warnings(self) -> list[AudioWarning]:
        """What the mix to mono does to this recording, if anything."""
        channels = len(self._peaks)
        silent = int((self._peaks <= SILENT_PEAK).sum())
        if channels == 1 or silent == channels or not self._frames:
            return []
        found = []
        if silent:
            loss = 20 * math.log10(channels / (channels - silent))
            found.append(
                AudioWarning(
                    AudioWarningKind.SILENT_CHANNEL,
                    f"{silent} of the {channels} channels {'is' if silent == 1 else 'are'} silent: "
                    f"the mix to mono is {loss:.0f} dB quieter than the voice. Export it as mono.",
                    loss,
                )
            )
        means = self._sums / self._frames
        power = np.maximum(self._squares / self._frames - means**2, 0)  # without DC
        unrelated = float(power[:-1].sum()) / channels**2
        below = 10 * math.log10(max(unrelated, 1e-12) / max(float(power[-1]), 1e-12))
        if below > PHASE_LOSS_DB:
            loss = below + 10 * math.log10(channels)
            found.append(
                AudioWarning(
                    AudioWarningKind.OUT_OF_PHASE,
                    f"The channels cancel each other: the mix to mono is {loss:.0f} dB quieter "
                    "than they are. Invert one of them, or export only one.",
                    loss,
                )
            )
        return found
