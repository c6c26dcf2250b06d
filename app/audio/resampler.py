"""Changes the sample rate of a stream piece by piece, for devices that refuse the take's own."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from engine.types import Samples

ZERO_CROSSINGS = 64  # of the kernel to either side, in periods of the lower rate
KAISER_BETA = 9.0  # 90 dB of stop band
ROLLOFF = 0.95  # of the lower Nyquist frequency, where the pass band ends at half amplitude


class StreamResampler:
    """Windowed-sinc interpolation whose pieces join to the same signal, however it is cut.

    With u / d the reduced ratio of output to input rate, output sample i is the dot product of the
    input around i d / u with the kernel of phase (i d) mod u (polyphase interpolation; J. O. Smith,
    "Digital Audio Resampling"). Output sample 0 is at the time of input sample 0.
    """

    def __init__(self, rate_in: int, rate_out: int) -> None:
        """Rates in Hz."""
        common = math.gcd(rate_in, rate_out)
        self._up, self._down = rate_out // common, rate_in // common
        self._half, self._kernels = _polyphase(self._up, self._down)
        self.reset()

    def reset(self) -> None:
        """Begin a new signal."""
        self._past: Samples = np.zeros(self._half - 1, np.float32)
        self._position = 0  # of the next output sample, in 1 / up input samples after past[0]

    def feed(self, samples: Samples) -> Samples:
        """The output that the next input samples [n] complete; about 64 of them are kept back."""
        if self._up == self._down:
            return samples
        signal = np.concatenate((self._past, samples))
        taps = 2 * self._half
        ends = (len(signal) - taps + 1) * self._up  # positions below it have all their taps
        if ends <= self._position:
            self._past = signal
            return np.empty(0, np.float32)
        positions = np.arange(self._position, ends, self._down, dtype=np.int64)
        starts, phases = np.divmod(positions, self._up)
        windows = sliding_window_view(signal, taps)[starts]  # [m, taps]
        output = np.einsum("ij,ij->i", windows, self._kernels[phases])
        following = int(positions[-1]) + self._down
        used = min(following // self._up, len(signal))
        self._past = signal[used:].copy()
        self._position = following - used * self._up
        return np.asarray(output, np.float32)

    def flush(self) -> Samples:
        """What is left when the signal ends: ceil(n up / down) samples will have come in all."""
        if self._up == self._down:
            return np.empty(0, np.float32)
        return self.feed(np.zeros(self._half, np.float32))


def _polyphase(up: int, down: int) -> tuple[int, NDArray[np.float32]]:
    """(half, kernels [up, 2 half]): kernel p interpolates p / up after sample half - 1."""
    scale = ROLLOFF * min(1.0, up / down)  # cutoff as a share of the input's Nyquist frequency
    half = math.ceil(ZERO_CROSSINGS / scale)
    offsets = np.arange(1 - half, half + 1)[None, :] - np.arange(up)[:, None] / up
    window = np.i0(KAISER_BETA * np.sqrt(np.maximum(1 - (offsets / half) ** 2, 0)))
    kernels = np.sinc(scale * offsets) * window
    kernels /= kernels.sum(axis=1, keepdims=True)  # no ripple on a constant
    return half, kernels.astype(np.float32)
