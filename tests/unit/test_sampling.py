"""The sampling chain on small hand-made logits, where every step can be checked by eye."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from engine.nn.heads import Heads
from engine.qwen3tts.config import (
    RESERVED_CODES,
    CodecIds,
    StackConfig,
    TalkerConfig,
    TextIds,
)
from engine.qwen3tts.sampling import TalkerSampler, draw_acoustic
from engine.types import Family, Sampling, StackSampling

SPOKEN = 8
EOS = SPOKEN + 2
STACK = StackConfig(4, 4, 1, Heads(1, 1, 2), SPOKEN + RESERVED_CODES, 1e4, 1e-6)
CONFIG = TalkerConfig(
    family=Family.BASE,
    size="0b6",
    talker=STACK,
    predictor=replace(STACK, vocabulary=SPOKEN),
    codebooks=16,
    codec_name="",
    non_streaming=False,
    x_vector_only=False,
    text_vocabulary=10,
    text_width=4,
    context=100,
    codec=CodecIds(SPOKEN, SPOKEN + 1, EOS, 0, 0, 0, 0),
    text=TextIds(0, 0, 0, 0, 0),
    languages={},
    speakers={},
    dialects={},
)
PLAIN = StackSampling(temperature=1.0, top_k=0, top_p=1.0)
GREEDY = StackSampling(greedy=True)


def logits(**scores: float) -> Tensor:
    """A row that is -20 but for what is named: c3=1.0, eos=2.0, pad=..."""
    row = torch.full((1, STACK.vocabulary), -20.0)
    for name, score in scores.items():
        place = {"eos": EOS, "pad": SPOKEN}.get(name)
        row[0, int(name[1:]) if place is None else place] = score
    return row


def sampler(talker: StackSampling = GREEDY, **settings: float) -> TalkerSampler:
    chosen = Sampling(talker=talker, **{"repetition_penalty": 1.0, "min_frames": 0} | settings)  # type: ignore[arg-type]
    return TalkerSampler(chosen, 1, CONFIG, torch.device("cpu"))


def draw(made: TalkerSampler, row: Tensor, number: float = 0.5, frame: int = 9) -> int:
    return int(made.draw(row, torch.tensor([number]), frame))


def test_greedy_takes_the_likeliest_spoken_code() -> None:
    assert draw(sampler(), logits(c3=1.0, c5=2.0, pad=9.0)) == 5


def test_only_the_end_code_of_the_reserved_ones_can_be_drawn() -> None:
    assert draw(sampler(), logits(c3=1.0, eos=2.0)) == EOS


def test_the_end_waits_for_the_minimum_length() -> None:
    made = sampler(min_frames=2)
    assert draw(made, logits(c3=1.0, eos=2.0), frame=0) == 3
    assert draw(made, logits(c3=1.0, eos=2.0), frame=1) == 3
    assert draw(made, logits(c3=1.0, eos=2.0), frame=2) == EOS


@pytest.mark.parametrize(("first", "second"), [(1.0, 0.6), (-1.0, -1.5)])
def test_repetition_penalty_divides_above_zero_and_multiplies_below(
    first: float, second: float
) -> None:
    made = sampler(repetition_penalty=2.0)
    assert draw(made, logits(c3=first, c5=second)) == 3
    assert draw(made, logits(c3=first, c5=second)) == 5
    assert draw(made, logits(c3=first, c5=second)) == 3  # once used, each counts once


def test_a_code_is_drawn_in_id_order() -> None:
    row = logits(c2=0.0, c4=0.0, c6=0.0, c7=0.0)
    made = [draw(sampler(PLAIN), row, number) for number in (0.1, 0.3, 0.6, 0.9, 1.0)]
    assert made == [2, 4, 6, 7, 7]


def test_top_k_keeps_ties_at_its_threshold() -> None:
    row = logits(c1=2.0, c4=1.0, c6=1.0, c7=0.0)
    stack = replace(PLAIN, top_k=2)
    drawn = {draw(sampler(stack), row, number) for number in torch.linspace(0.01, 1, 60).tolist()}
    assert drawn == {1, 4, 6}


def test_top_p_keeps_the_likeliest_even_when_it_is_enough_alone() -> None:
    row = logits(c1=5.0, c4=1.0, c6=1.0)
    drawn = {draw(sampler(replace(PLAIN, top_p=0.5)), row, number) for number in (0.01, 0.5, 1.0)}
    assert drawn == {1}


def test_temperature_zero_is_greedy() -> None:
    cold = replace(PLAIN, temperature=0.0)
    assert draw(sampler(cold), logits(c3=1.0, c5=2.0), 0.01) == 5
    assert int(draw_acoustic(torch.tensor([[0.0, 3.0, 2.0]]), torch.tensor([1.0]), cold)) == 1


@pytest.mark.parametrize("temperature", [1e-300, 1e-40, 1e-9])
def test_a_temperature_too_low_for_float32_is_greedy(temperature: float) -> None:
    cold = replace(PLAIN, temperature=temperature)
    assert draw(sampler(cold), logits(c3=30.0, c5=31.0), 0.9) == 5
    assert int(draw_acoustic(torch.tensor([[40.0, 43.0, 42.0]]), torch.tensor([0.9]), cold)) == 1


@pytest.mark.parametrize("temperature", [1e-5, 1e-3, 1000.0])
def test_the_ends_of_the_range_of_temperatures_draw_codes(temperature: float) -> None:
    stack = replace(PLAIN, temperature=temperature)
    drawn = draw(sampler(stack, repetition_penalty=1000.0), logits(c3=300.0, c5=310.0), 0.9)
    assert drawn == EOS or drawn < SPOKEN


def test_logits_that_are_no_numbers_give_some_code_of_the_table() -> None:
    broken = torch.full((1, 4), float("nan"))
    assert 0 <= int(draw_acoustic(broken, torch.tensor([0.5]), PLAIN)) < 4


def test_acoustic_codes_are_drawn_in_order_of_falling_probability() -> None:
    row = torch.tensor([[0.0, 2.0, 1.0, 2.0]])  # 1 and 3 tie: the lower id first
    probabilities = row.softmax(-1)[0]
    first = float(probabilities[1])

    def drawn(number: float) -> int:
        return int(draw_acoustic(row, torch.tensor([number]), PLAIN))

    assert drawn(first * 0.99) == 1
    assert drawn(first * 1.01) == 3
    assert drawn(2 * first + 0.01) == 2
    assert drawn(1.0) == 0  # the sums may never exceed 1: the last one is drawn


def test_acoustic_draw_never_leaves_what_is_kept() -> None:
    row = torch.tensor([[0.0, 2.0, 1.0, 1.5]])
    assert int(draw_acoustic(row, torch.tensor([1.0]), replace(PLAIN, top_k=2))) == 3


def test_lanes_draw_and_remember_for_themselves() -> None:
    chosen = Sampling(talker=GREEDY, repetition_penalty=3.0, min_frames=0)
    made = TalkerSampler(chosen, 2, CONFIG, torch.device("cpu"))
    rows = torch.cat((logits(c1=2.0, c2=1.0), logits(c1=1.0, c2=2.0)))
    numbers = torch.tensor([0.5, 0.5])
    assert made.draw(rows, numbers, 0).tolist() == [1, 2]
    assert made.draw(rows, numbers, 1).tolist() == [2, 1]
    made.select(torch.tensor([1]))
    assert made.draw(rows[:1], numbers[:1], 2).tolist() == [1]
