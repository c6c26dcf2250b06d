"""Counter-based random numbers, so that a seed replays whatever else runs beside it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_BUMPS = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


def uniforms(seed: int, first: int, count: int) -> NDArray[np.float32]:
    """Numbers in (0, 1] of the subsequences first .. first + count - 1 of a 64-bit seed.

    Philox4x32-10 (Salmon et al. 2011) with the seed as key and (0, 0, subsequence) as counter; the
    first output word x gives (float32(x) + 0.5) * 2^-32 in float32 arithmetic. Shape [count].
    """
    subsequences = np.arange(first, first + count, dtype=np.uint64)
    x = np.zeros(count, np.uint64)
    y = np.zeros(count, np.uint64)
    z = subsequences & _LOW
    w = subsequences >> _SHIFT
    keys = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        left = _MULTIPLIERS[0] * x
        right = _MULTIPLIERS[1] * z
        x, y, z, w = (
            (right >> _SHIFT) ^ y ^ np.uint64(keys[0]),
            right & _LOW,
            (left >> _SHIFT) ^ w ^ np.uint64(keys[1]),
            left & _LOW,
        )
        keys = [(key + bump) & 0xFFFFFFFF for key, bump in zip(keys, _BUMPS, strict=True)]
    scaled: NDArray[np.float32] = (x.astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-32)
    return scaled


def frame_uniforms(
    seeds: tuple[int, ...], first: int, frames: int, codebooks: int
) -> NDArray[np.float32]:
    """One number per code of frames first .. first + frames - 1: [frames, seeds, codebooks].

    Code k of frame f uses subsequence codebooks * f + k of its own seed.
    """
    rows = [
        uniforms(seed, first * codebooks, frames * codebooks).reshape(frames, codebooks)
        for seed in seeds
    ]
    return np.stack(rows, axis=1)
