"""Changes the sample rate exactly as torchaudio does, so that references give the same codes.

A voice's codes depend on the last bits of its reference: another resampler, even a better one,
changes some of them. The filter is short: flat to 0.14 dB up to 3/4 of the band and weak against
aliases close above it. What is delivered to listeners deserves a longer one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from engine.types import Samples

MODEL_RATE = 24_000
ZERO_CROSSINGS = 6  # lowpass_filter_width
ROLLOFF = 0.99
GROUP_PHASES = 64  # output samples that one matrix product makes from one stretch of input
BLOCK_VALUES = 1 << 21  # of input copied at a time: 8 MiB


def to_24k(samples: Samples, rate: int) -> Samples:
    """Samples [n] at `rate` Hz brought to the 24 kHz of the models."""
    return resample(samples, rate, MODEL_RATE)


def resample(samples: Samples, rate_in: int, rate_out: int) -> Samples:
    """Samples [n] brought from one rate (Hz) to another, shape [ceil(n rate_out / rate_in)].

    Windowed-sinc interpolation as in `torchaudio.functional.resample` with its defaults
    (sinc_interp_hann, lowpass_filter_width 6, rolloff 0.99). With o / n the reduced ratio of the
    rates, output sample i = p n + j (phase j < n) is a dot product of the input around p o with
    kernel j. The same rate gives a copy.

    torchaudio keeps a table of n kernels, each o + 2 width long, nearly all zeros. Here 64
    neighbouring phases at a time share the stretch of input that any of them needs, so that odd
    ratios such as 24000 / 44099 cost little memory; several periods are joined where a period is
    shorter than that.
    """
    assert samples.ndim == 1, "mono"
    assert rate_in > 0, "a rate is positive"
    assert rate_out > 0, "a rate is positive"
    if rate_in == rate_out or not samples.size:
        return samples.astype(np.float32)
    common = math.gcd(rate_in, rate_out)
    o, n = rate_in // common, rate_out // common
    width = kernel_width(o, n)
    joined = max(1, GROUP_PHASES // n)
    step, phases = o * joined, n * joined  # input and output samples of the joined periods
    total = -(-n * samples.size // o)
    periods = -(-total // phases)
    output = np.empty((periods, phases), np.float32)
    padded = np.zeros(width + (periods + 1) * step + width + o, np.float32)
    padded[width : width + samples.size] = samples
    for first in range(0, min(phases, total), GROUP_PHASES):
        last = min(first + GROUP_PHASES, phases)
        start, kernels = group_kernels(o, n, first, last)  # [span, last - first]
        span = kernels.shape[0]
        rows = max(1, BLOCK_VALUES // span)
        stretches = as_strided(
            padded[start:], (periods, span), (step * 4, 4), writeable=False
        )  # [periods, span]
        for row in range(0, periods, rows):
            # A copy, because overlapping rows are beyond what BLAS takes.
            block = np.ascontiguousarray(stretches[row : row + rows])
            output[row : row + rows, first:last] = block @ kernels
    return output.ravel()[:total].copy()


def kernel_width(o: int, n: int) -> int:
    """Input samples that a kernel reaches to either side of its centre."""
    return math.ceil(ZERO_CROSSINGS * o / (min(o, n) * ROLLOFF))


def group_kernels(o: int, n: int, first: int, last: int) -> tuple[int, NDArray[np.float32]]:
    """The kernels of phases first..last-1 over the padded input from a common start.

    Returns (start, kernels [span, last - first]). Phases of n and more are those of later periods,
    o input samples further on. Computed in float64, as

        t = clamp((-j/n + (k - width)/o) base, -6, 6),   base = 0.99 min(o, n)
        kernel[j][k] = sinc(pi t) cos(pi t / 12)^2 base / o
    """
    width = kernel_width(o, n)
    base = min(o, n) * ROLLOFF
    start = first * o // n
    span = (last - 1) * o // n + 2 * width + 2 - start
    period, phase = np.divmod(np.arange(first, last), n)
    k = np.arange(start, start + span)[:, None] - period * o  # [span, phases]
    t = np.clip((-phase / n + (k - width) / o) * base, -ZERO_CROSSINGS, ZERO_CROSSINGS)
    window = np.cos(t * (math.pi / ZERO_CROSSINGS / 2)) ** 2
    return start, (np.sinc(t) * window * (base / o)).astype(np.float32)
