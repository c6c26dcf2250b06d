"""The engine as its callers see it: takes, seeds, pieces, cancelling, limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from engine import (
    AudioChunk,
    Cancelled,
    CancelToken,
    Ending,
    Engine,
    ModeError,
    ModelFileError,
    ModelPair,
    RequestError,
    Sampling,
    SpeechRequest,
    StackSampling,
    Voice,
    open_engine,
    open_speaker_encoder,
)
from engine.qwen3tts.engine import Qwen3TtsEngine

CODEC = "qwen-tokenizer-12hz-F32.gguf"
BASE = "qwen-talker-1.7b-base-F32.gguf"
CUSTOM = "qwen-talker-0.6b-customvoice-F32.gguf"
SAMPLE = 1920


@pytest.fixture(scope="module")
def base(data: Path) -> Engine:
    return open_engine(ModelPair(data / BASE, data / CODEC), device="cpu", precision="f32")


@pytest.fixture(scope="module")
def custom(data: Path) -> Engine:
    return open_engine(ModelPair(data / CUSTOM, data / CODEC), device="cpu", precision="f32")


def request(frames: int = 12, **changes: object) -> SpeechRequest:
    asked = SpeechRequest(
        "Good evening, everyone.", seeds=(7,), sampling=Sampling(max_frames=frames)
    )
    return replace(asked, **changes)  # type: ignore[arg-type]


def collect(chunks: Iterator[AudioChunk]) -> dict[int, list[AudioChunk]]:
    takes: dict[int, list[AudioChunk]] = {}
    for chunk in chunks:
        takes.setdefault(chunk.take, []).append(chunk)
    return takes


def codes_of(chunks: list[AudioChunk]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.concatenate([chunk.codes for chunk in chunks])


def sound_of(chunks: list[AudioChunk]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.concatenate([chunk.samples for chunk in chunks])


def test_chunks_follow_the_asked_pieces_without_a_gap(base: Engine) -> None:
    chunks = collect(base.speak(request(12, piece_frames=(1, 2, 4))))[0]
    assert [len(chunk.codes) for chunk in chunks] == [1, 2, 4, 4, 1]
    assert [chunk.ending for chunk in chunks] == [None] * 4 + [Ending.LIMIT]
    position = 0
    for chunk in chunks:
        assert chunk.start == position
        assert chunk.samples.dtype == np.float32
        assert len(chunk.samples) == SAMPLE * len(chunk.codes)
        position += len(chunk.samples)
    assert np.abs(sound_of(chunks)).max() <= 1


def test_pieces_do_not_change_the_take(base: Engine) -> None:
    streamed = collect(base.speak(request(12)))[0]
    buffered = collect(base.speak(request(12, piece_frames=(100,))))[0]
    assert len(buffered) == 1
    np.testing.assert_array_equal(codes_of(streamed), codes_of(buffered))
    np.testing.assert_allclose(sound_of(streamed), sound_of(buffered), atol=2e-4)


def test_every_take_of_a_batch_is_what_it_is_alone(custom: Engine) -> None:
    # Raised temperature and a low end threshold: some of the takes end by themselves, early.
    hot = StackSampling(temperature=2.0, top_k=0)
    seeds = tuple(range(40, 46))
    asked = request(30, speaker="vivian", seeds=seeds, sampling=Sampling(hot, hot, max_frames=30))
    batch = collect(custom.speak(asked))
    lengths = set()
    for take, seed in enumerate(seeds):
        alone = collect(custom.speak(replace(asked, seeds=(seed,))))[0]
        np.testing.assert_array_equal(codes_of(batch[take]), codes_of(alone))
        np.testing.assert_allclose(sound_of(batch[take]), sound_of(alone), atol=2e-4)
        assert batch[take][-1].ending == alone[-1].ending
        lengths.add(len(codes_of(alone)))
    assert len(lengths) > 1, "the test needs takes of different lengths"


def test_a_seed_replays_after_other_requests_and_a_cancel(base: Engine) -> None:
    first = codes_of(collect(base.speak(request()))[0])
    base_voice = Voice(np.ones(base.description.width, np.float32))
    collect(base.speak(request(3, voice=base_voice, seeds=(1, 2))))
    token = CancelToken()
    stopped = base.speak(request(50), token)
    next(stopped)
    token.cancel()
    with pytest.raises(Cancelled):
        collect(stopped)
    np.testing.assert_array_equal(codes_of(collect(base.speak(request()))[0]), first)
    other = codes_of(collect(base.speak(request(seeds=(8,))))[0])
    assert not np.array_equal(other, first)


def test_a_cancel_stops_before_the_next_frame(base: Engine) -> None:
    token = CancelToken()
    chunks = base.speak(request(50, piece_frames=(1,)), token)
    next(chunks)
    next(chunks)
    token.cancel()
    with pytest.raises(Cancelled):
        next(chunks)


def test_a_cancel_stops_within_the_prefill(base: Engine) -> None:
    token = CancelToken()
    seen: list[str] = []

    def probe(name: str, _: Tensor) -> None:
        seen.append(name)
        if name == "talker-hidden-prefill-l0":
            token.cancel()

    with pytest.raises(Cancelled):
        next(base.speak(request(), token, probe))
    assert "talker-hidden-prefill-l1" not in seen


def test_the_end_may_come_with_an_empty_chunk(custom: Engine) -> None:
    greedy = StackSampling(greedy=True)
    asked = SpeechRequest(
        "Because before carried green?",
        language="english",
        speaker="ono_anna",
        seeds=(1,),
        sampling=Sampling(greedy, greedy, repetition_penalty=1.0),
        piece_frames=(1,),
    )
    chunks = collect(custom.speak(asked))[0]
    assert len(codes_of(chunks)) == 32  # as the golden case cv_natural_eos
    assert chunks[-1].ending is Ending.SPOKEN
    assert len(chunks[-1].samples) == 0
    assert chunks[-1].start == sum(len(chunk.samples) for chunk in chunks)


def test_nothing_is_computed_for_a_prompt_that_does_not_fit(base: Engine) -> None:
    with pytest.raises(RequestError, match=r"positions.*the model has 4096"):
        base.speak(request(4096))
    with pytest.raises(RequestError, match="positions"):
        base.speak(request(10, text="word " * 5000))
    room = 4096 - (3 + 4 + len("Good evening, everyone.") + 2)
    base.check(request(room - 10))  # a close fit is allowed


def test_reference_states_are_remembered_for_a_few_voices(base: Engine) -> None:
    assert isinstance(base, Qwen3TtsEngine)
    width = base.description.width
    random = np.random.default_rng(5)
    voices = [
        Voice(np.zeros(width, np.float32), random.integers(0, 64, (5, 16)), "some words")
        for _ in range(10)
    ]
    first = [sound_of(collect(base.speak(request(2, voice=voice)))[0]) for voice in voices]
    assert len(base._primed) == 8
    again = sound_of(collect(base.speak(request(2, voice=voices[-1])))[0])
    np.testing.assert_array_equal(again, first[-1])
    evicted = sound_of(collect(base.speak(request(2, voice=voices[0])))[0])
    np.testing.assert_array_equal(evicted, first[0])


def test_instructions_the_small_model_ignores_are_told(
    custom: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    asked = request(2, speaker="Vivian", instruct="Very happy.")
    assert "ignored" in custom.check(asked)[0]
    told = codes_of(collect(custom.speak(asked))[0])
    assert "ignored" in caplog.text
    plain = codes_of(collect(custom.speak(replace(asked, instruct=None)))[0])
    np.testing.assert_array_equal(told, plain)


def test_bfloat16_speaks_too(data: Path) -> None:
    engine = open_engine(ModelPair(data / BASE, data / CODEC), device="cpu", precision="bf16")
    assert (engine.device, engine.precision) == ("cpu", "bf16")
    chunks = collect(engine.speak(request(4)))[0]
    assert np.isfinite(sound_of(chunks)).all()
    assert np.abs(sound_of(chunks)).max() > 0


def test_loading_tells_its_progress_and_can_be_cancelled(data: Path) -> None:
    pair = ModelPair(data / BASE, data / CODEC)
    told: list[tuple[int, int]] = []
    open_engine(pair, device="cpu", progress=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1]
    assert len({total for _, total in told}) == 1

    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        open_engine(pair, device="cpu", cancel=token)


@pytest.mark.parametrize(
    ("talker", "codec", "message"),
    [
        (CODEC, BASE, "is not a talker"),
        (BASE, BASE, "is not an audio tokenizer"),
        (CODEC, CODEC, "is not a talker"),
    ],
)
def test_swapped_files_are_explained(data: Path, talker: str, codec: str, message: str) -> None:
    with pytest.raises(ModelFileError, match=message) as caught:
        open_engine(ModelPair(data / talker, data / codec), device="cpu")
    assert "Choose a file" in caught.value.hint


def test_the_ends_of_what_may_be_asked_make_codes(base: Engine) -> None:
    cold, hot = StackSampling(temperature=1e-300), StackSampling(temperature=1000.0, top_k=0)
    for stack, penalty in ((cold, 1e-3), (hot, 1000.0)):
        asked = request(sampling=Sampling(stack, stack, penalty, max_frames=3))
        codes = codes_of(collect(base.speak(asked))[0])
        assert 0 <= codes.min() <= codes.max() < base.codebook_size


def test_a_model_whose_numbers_overflow_is_explained(data: Path) -> None:
    engine = open_engine(ModelPair(data / BASE, data / CODEC), device="cpu", precision="f32")
    assert isinstance(engine, Qwen3TtsEngine)
    for greedy, wrong in ((True, "nan"), (False, "nan"), (False, "inf")):
        engine._talker.stack.norm.weight.data[0] = float(wrong)
        stack = StackSampling(greedy=greedy)
        with pytest.raises(ModelFileError, match="no numbers") as caught:
            collect(engine.speak(request(sampling=Sampling(stack, stack, max_frames=3))))
        assert "f32" in caught.value.hint


def test_a_talker_without_speaker_encoder_is_told_before_it_is_used(data: Path) -> None:
    with pytest.raises(ModeError, match="cannot learn a voice"):
        open_speaker_encoder(data / CUSTOM, device="cpu")


def test_long_prompts_attend_as_short_ones_do() -> None:
    from engine.nn import attention

    made = torch.Generator().manual_seed(2)
    seen, asked = 2 * attention.QUERY_ROWS + 40, 2 * attention.QUERY_ROWS + 7
    queries = torch.randn(2, 4, asked, 8, generator=made, dtype=torch.float64)
    keys = torch.randn(2, 2, seen, 8, generator=made, dtype=torch.float64)
    values = torch.randn(2, 2, seen, 8, generator=made, dtype=torch.float64)
    mixed = attention.causal_attention(queries, keys, values)
    visible = torch.arange(seen) <= torch.arange(seen - asked, seen)[:, None]
    right = torch.nn.functional.scaled_dot_product_attention(
        queries, keys.repeat_interleave(2, 1), values.repeat_interleave(2, 1), attn_mask=visible
    )
    torch.testing.assert_close(
        mixed, right.transpose(1, 2).reshape(2, asked, -1), atol=1e-5, rtol=0
    )


def test_lanes_are_bitwise_equal_whatever_the_batch() -> None:
    from engine.nn.attention import causal_attention
    from engine.nn.linear import DenseLinear

    made = torch.Generator().manual_seed(1)
    rows = torch.randn(5, 2, 96, generator=made)
    layer = DenseLinear(torch.randn(200, 96, generator=made))
    whole = layer(rows)
    keys = torch.randn(5, 2, 33, 32, generator=made)
    queries = torch.randn(5, 4, 1, 32, generator=made)
    mixed = causal_attention(queries, keys, keys)
    for lane in range(5):
        one = slice(lane, lane + 1)
        assert torch.equal(whole[one], layer(rows[one]))
        alone = causal_attention(queries[one], keys[one], keys[one])
        assert torch.equal(mixed[one], alone)
