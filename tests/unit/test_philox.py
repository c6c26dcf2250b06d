"""The seeded number stream against known vectors."""

from __future__ import annotations

import numpy as np
import pytest

from engine.qwen3tts.philox import frame_uniforms, uniforms


@pytest.mark.parametrize(
    ("seed", "subsequence", "expected"),
    [
        (42, 0, 0.6129598618),
        (42, 1, 0.0100588445),
        (42, 2, 0.3984136879),
        (42, 15, 0.0823899582),
        (42, 16, 0.7741796374),
        (42, 17, 0.2792207003),
        (42, 1_000_000, 0.5055703521),
        (0, 0, 0.3990464807),
        (1, 0, 0.8902591467),
        (2**40 + 7, 0, 0.2030009627),
    ],
)
def test_known_numbers(seed: int, subsequence: int, expected: float) -> None:
    number = uniforms(seed, subsequence, 1)
    assert number.dtype == np.float32
    assert number[0] == pytest.approx(expected, abs=1e-9)


def test_a_block_equals_its_parts() -> None:
    whole = uniforms(2**63 + 5, 7, 300)
    parts = np.concatenate([uniforms(2**63 + 5, 7, 100), uniforms(2**63 + 5, 107, 200)])
    np.testing.assert_array_equal(whole, parts)
    assert (whole > 0).all()
    assert (whole <= 1).all()


def test_subsequences_beyond_32_bits_are_distinct() -> None:
    assert uniforms(1, 2**32, 1)[0] != uniforms(1, 0, 1)[0]


def test_frames_take_their_own_numbers_for_every_seed() -> None:
    block = frame_uniforms((3, 9), first=5, frames=4, codebooks=16)
    assert block.shape == (4, 2, 16)
    np.testing.assert_array_equal(block[2, 1], uniforms(9, 16 * 7, 16))
