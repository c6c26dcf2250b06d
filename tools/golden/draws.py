"""The seeded draws of a golden case, written apart from the engine: neither copies the other.

Philox4x32-10 is from Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). One value
is drawn per code: the talker's first code of frame f takes subsequence 16 f, the code predictor's
code g (1..15) takes 16 f + g; greedy choices leave theirs unused.
"""

import numpy as np
from numpy.typing import NDArray

WORD = 0xFFFFFFFF
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10


def philox_word(seed: int, subsequence: int) -> int:
    """First output word of Philox4x32-10 for the counter (0, 0, subsequence low, high)."""
    key_low, key_high = seed & WORD, (seed >> 32) & WORD
    x, y, z, w = 0, 0, subsequence & WORD, (subsequence >> 32) & WORD
    for _ in range(ROUNDS):
        first, second = MULTIPLIERS[0] * x, MULTIPLIERS[1] * z
        x, y, z, w = (
            (second >> 32) ^ y ^ key_low,
            second & WORD,
            (first >> 32) ^ w ^ key_high,
            first & WORD,
        )
        key_low, key_high = (key_low + KEY_STEPS[0]) & WORD, (key_high + KEY_STEPS[1]) & WORD
    return x


def uniform(seed: int, subsequence: int) -> np.float32:
    """The word as a float32 in (0, 1]: (word + 0.5) * 2^-32, each step rounded to float32."""
    word = np.float32(philox_word(seed, subsequence))
    return np.float32((word + np.float32(0.5)) * np.float32(2.0**-32))


def draw_in_id_order(probabilities: NDArray[np.float32], u: np.float32) -> tuple[int, float]:
    """Talker's draw: the first id whose running sum reaches u * total.

    Returns the id and the distance of u from the nearest running sum but the last, over all ids:
    before the first candidate that is 0, after the last one 1.
    """
    sums = np.cumsum(probabilities, dtype=np.float32)
    chosen = int(np.searchsorted(sums, np.float32(u * sums[-1]), side="left"))
    return chosen, _distance(sums[:-1] / sums[-1], u)


def draw_by_probability(probabilities: NDArray[np.float32], u: np.float32) -> tuple[int, float]:
    """Code predictor's draw: in descending probability the first running sum above u.

    Equal probabilities keep the order of their ids. Returns the id and the distance of u from the
    nearest running sum between two candidates (1.0 where there is one candidate only).
    """
    order = np.argsort(-probabilities, kind="stable")
    order = order[probabilities[order] > 0]
    sums = np.cumsum(probabilities[order], dtype=np.float32)
    position = int(np.searchsorted(sums, u, side="right"))
    return int(order[min(position, len(order) - 1)]), _distance(sums[:-1], u)


def _distance(boundaries: NDArray[np.float32], u: np.float32) -> float:
    return float(np.abs(boundaries - u).min()) if boundaries.size else 1.0
