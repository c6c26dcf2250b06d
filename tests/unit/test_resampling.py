"""The resampler against its formula evaluated naively, and how clean the formula itself is."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.audio.resampling import resample, to_24k
from engine.types import Samples


def naive(samples: Samples, rate_in: int, rate_out: int) -> NDArray[np.float64]:
    """The windowed-sinc sum written out, one product at a time, in float64."""
    common = math.gcd(rate_in, rate_out)
    o, n = rate_in // common, rate_out // common
    base = min(o, n) * 0.99
    width = math.ceil(6 * o / base)
    output = np.zeros(math.ceil(rate_out * len(samples) / rate_in))
    for i in range(len(output)):
        period, phase = divmod(i, n)
        for k in range(2 * width + o):
            place = period * o + k - width
            t = (-phase / n + (k - width) / o) * base
            if 0 <= place < len(samples) and -6 < t < 6:
                sinc = math.sin(math.pi * t) / (math.pi * t) if t else 1.0
                window = math.cos(math.pi * t / 12) ** 2
                output[i] += float(samples[place]) * sinc * window * base / o
    return output


def sine(frequency: float, rate: int, count: int) -> Samples:
    samples: Samples = np.sin(2 * np.pi * frequency / rate * np.arange(count)).astype(np.float32)
    return samples


def noise(count: int) -> Samples:
    return np.random.default_rng(7).uniform(-1, 1, count).astype(np.float32)


@pytest.mark.parametrize(
    ("rate_in", "rate_out", "count"),
    [
        (48_000, 24_000, 301),
        (44_100, 24_000, 700),
        (22_050, 24_000, 330),
        (16_000, 24_000, 200),
        (8_000, 24_000, 100),
        (11_025, 24_000, 160),
        (22_255, 24_000, 90),
        (96_000, 24_000, 500),
        (192_000, 24_000, 700),
        (7_350, 24_000, 120),
        (44_099, 24_000, 60),
        (192_000, 7_350, 600),
        (24_000, 44_100, 90),
        (24_000, 48_000, 50),
        (3, 2, 1),
        (2, 3, 1),
        (48_000, 24_000, 1),
    ],
)
def test_every_sample_follows_the_formula(rate_in: int, rate_out: int, count: int) -> None:
    samples = noise(count)
    ours = resample(samples, rate_in, rate_out)
    wanted = naive(samples, rate_in, rate_out)
    assert ours.dtype == np.float32
    assert ours.shape == wanted.shape
    # Kernels and sums are float32: some 2 million-ths for sums of 30 numbers below 1.
    np.testing.assert_allclose(ours, wanted, rtol=0, atol=1e-6)


def test_phases_of_later_groups_follow_the_formula() -> None:
    """24,000 phases of which only the first 64 would be reached by a very short clip."""
    samples = noise(1500)
    ours = resample(samples, 44_099, 24_000)
    np.testing.assert_allclose(ours, naive_at(samples, 44_099, 24_000), rtol=0, atol=1e-6)


def naive_at(samples: Samples, rate_in: int, rate_out: int) -> NDArray[np.float64]:
    """The same sum as in `naive` for rates without a common factor, over the samples it needs."""
    base = min(rate_in, rate_out) * 0.99
    times = np.arange(math.ceil(rate_out * len(samples) / rate_in)) / rate_out
    t = (np.arange(len(samples)) / rate_in - times[:, None]) * base  # [output, input]
    kernel = np.where(abs(t) < 6, np.sinc(t) * np.cos(np.pi * t / 12) ** 2 * base / rate_in, 0)
    return np.asarray(kernel @ samples.astype(np.float64))


def test_periods_in_several_blocks_are_the_same_as_in_one() -> None:
    """Time-invariance: a shift by whole periods shifts the output and changes nothing."""
    samples = noise(2_400_000)
    whole = resample(samples, 44_100, 24_000)
    start = 147 * 10_000
    part = resample(samples[start:], 44_100, 24_000)
    np.testing.assert_allclose(
        part[100:], whole[80 * 10_000 + 100 : 80 * 10_000 + len(part)], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("count", [0, 1, 2, 146, 147, 148, 1000, 1001])
def test_length_is_rounded_up(count: int) -> None:
    assert len(to_24k(np.zeros(count, np.float32), 44_100)) == math.ceil(count * 80 / 147)
    assert len(resample(np.zeros(count, np.float32), 24_000, 44_100)) == math.ceil(count * 147 / 80)


def test_same_rate_is_a_copy() -> None:
    samples = noise(100)
    same = to_24k(samples, 24_000)
    assert np.array_equal(same, samples)
    assert not np.shares_memory(same, samples)


@pytest.mark.parametrize("rate", [44_099, 399_989, 48_000])
def test_memory_stays_in_proportion_to_the_signal(rate: int) -> None:
    """A table of all kernels of 44099 -> 24000 would take 4 GB."""
    samples = noise(rate * 5)
    tracemalloc.start()
    to_24k(samples, rate)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * samples.nbytes + (48 << 20)


@pytest.mark.parametrize("rates", [(48_000, 24_000), (44_100, 24_000), (16_000, 24_000)])
@pytest.mark.parametrize(
    ("fraction", "gain_db"), [(0.02, 0.004), (0.25, 0.001), (0.5, -0.017), (0.75, -0.134)]
)
def test_passband_is_flat(rates: tuple[int, int], fraction: float, gain_db: float) -> None:
    """Gains below 3/4 of the lower Nyquist frequency; those of soxr HQ are within 0.001 dB of 0."""
    rate_in, rate_out = rates
    frequency = fraction * min(rates) / 2
    output = resample(sine(frequency, rate_in, rate_in // 2), rate_in, rate_out).astype(float)
    ideal = sine(frequency, rate_out, rate_out // 2).astype(float)
    inner = slice(400, -400)
    gain = output[inner] @ ideal[inner] / (ideal[inner] @ ideal[inner])
    assert 20 * math.log10(gain) == pytest.approx(gain_db, abs=0.003)


@pytest.mark.parametrize("rate", [44_100, 48_000, 96_000])
@pytest.mark.parametrize(
    ("fraction", "at_most_db"), [(1.1, -13.5), (1.2, -27), (1.3, -44), (1.5, -54), (1.8, -66)]
)
def test_aliases_are_suppressed(rate: int, fraction: float, at_most_db: float) -> None:
    """Tones above 12 kHz; soxr HQ keeps all of them below -138 dB, which needs a longer filter."""
    output = to_24k(sine(fraction * 12_000, rate, rate // 2), rate)[400:-400]
    assert 10 * math.log10(2 * np.mean(output.astype(float) ** 2)) < at_most_db
