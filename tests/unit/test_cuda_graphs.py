"""Frames and sound from recordings: the same as without, on a CPU by tape, on a GPU by CUDA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine import (
    AudioChunk,
    Cancelled,
    CancelToken,
    Layout,
    ModelFileError,
    Sampling,
    SpeechRequest,
    StackSampling,
    Voice,
)
from engine.nn.graphs import CaptureError, CudaGraphs, try_out
from engine.qwen3tts import frame_graphs
from engine.qwen3tts.codec.pieces import CodecGraphs, EagerPieces
from engine.qwen3tts.engine import ModelParts, Qwen3TtsEngine
from engine.qwen3tts.frame_graphs import LaneMemory, slots_for
from engine.qwen3tts.lanes import FrameModel, LaneState
from engine.qwen3tts.loading import load_model
from engine.runtime import Runtime, choose_runtime
from tests.tape import TapeGraphs

CODEC = "qwen-tokenizer-12hz-F32.gguf"
BASE = "qwen-talker-1.7b-base-F32.gguf"
CUSTOM = "qwen-talker-0.6b-customvoice-F32.gguf"
CPU = torch.device("cpu")
GREEDY = StackSampling(greedy=True)
HOT = StackSampling(temperature=2.0, top_k=0)
NARROW = StackSampling(temperature=1.1, top_k=20, top_p=0.8)


@pytest.fixture(scope="module")
def parts(data: Path) -> Callable[[str], ModelParts]:
    @cache
    def load(talker: str) -> ModelParts:
        return load_model(data / talker, data / CODEC, Runtime(CPU, torch.float32))

    return load


@pytest.fixture(autouse=True)
def few_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small sizes, so that short speech outgrows them."""
    monkeypatch.setattr(frame_graphs, "FEWEST_SLOTS", 16)
    monkeypatch.setattr(frame_graphs, "ROOM_STEP", 32)


@dataclass(eq=False)
class Pair:
    """The same model with recordings and without."""

    eager: Qwen3TtsEngine
    recorded: Qwen3TtsEngine
    graphs: TapeGraphs
    tolerance: float = 2e-4  # of sound in pieces: this reference codec enlarges rounding

    def compare(self, request: SpeechRequest) -> list[NDArray[np.int64]]:
        """Let both speak, hold them to each other, and return the codes of every take."""
        right, mine = takes_of(self.eager, request), takes_of(self.recorded, request)
        assert right.keys() == mine.keys()
        for take, expected in right.items():
            codes, sound = codes_of(mine[take]), sound_of(mine[take])
            np.testing.assert_array_equal(codes, codes_of(expected))
            np.testing.assert_allclose(sound, sound_of(expected), atol=self.tolerance)
            assert mine[take][-1].ending == expected[-1].ending
        return [codes_of(mine[take]) for take in sorted(mine)]


def pair_of(parts: ModelParts, graphs: TapeGraphs | None = None) -> Pair:
    graphs = graphs or TapeGraphs()
    with_graphs = replace(parts, runtime=replace(parts.runtime, graphs=graphs))
    return Pair(Qwen3TtsEngine(parts), Qwen3TtsEngine(with_graphs), graphs)


def takes_of(engine: Qwen3TtsEngine, request: SpeechRequest) -> dict[int, list[AudioChunk]]:
    takes: dict[int, list[AudioChunk]] = {}
    for chunk in engine.speak(request):
        takes.setdefault(chunk.take, []).append(chunk)
    return takes


def codes_of(chunks: list[AudioChunk]) -> NDArray[np.int64]:
    return np.concatenate([chunk.codes for chunk in chunks])


def sound_of(chunks: list[AudioChunk]) -> NDArray[np.float32]:
    return np.concatenate([chunk.samples for chunk in chunks])


def no_memory(*_: object) -> NoReturn:
    raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 3 GiB.")


def request(
    frames: int = 10,
    talker: StackSampling = NARROW,
    predictor: StackSampling = NARROW,
    **more: object,
) -> SpeechRequest:
    sampling = Sampling(talker, predictor, max_frames=frames)
    asked = SpeechRequest("Good evening, everyone.", seeds=(7,), sampling=sampling)
    return replace(asked, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("talker", "predictor"),
    [
        (GREEDY, GREEDY),
        (StackSampling(), StackSampling()),
        (NARROW, GREEDY),
        (GREEDY, replace(NARROW, top_k=0)),
    ],
    ids=["greedy", "usual", "first", "others"],
)
def test_a_take_is_the_same(
    parts: Callable[[str], ModelParts], talker: StackSampling, predictor: StackSampling
) -> None:
    pair = pair_of(parts(BASE))
    codes = pair.compare(request(40, talker, predictor))[0]
    assert len(codes) > 20, "the test needs more frames than the fewest slots"
    # Of the codes, of one frame of sound, and of steps over few slots and over more.
    assert len(pair.graphs.tapes) >= 4
    assert pair.graphs.replays >= 3 * len(codes) - 1


def test_takes_that_end_at_different_times_are_the_same(
    parts: Callable[[str], ModelParts],
) -> None:
    pair = pair_of(parts(CUSTOM))
    seeds = tuple(range(40, 46))
    codes = pair.compare(request(30, HOT, HOT, speaker="vivian", seeds=seeds))
    lengths = {len(each) for each in codes}
    assert len(lengths) > 2, "the test needs takes of different lengths"
    made = len(pair.graphs.tapes)
    pair.compare(request(30, HOT, HOT, speaker="vivian", seeds=seeds))
    assert len(pair.graphs.tapes) == made, "everything was recorded before"


def test_the_end_waits_for_the_fewest_frames(parts: Callable[[str], ModelParts]) -> None:
    pair = pair_of(parts(CUSTOM))
    sampling = Sampling(HOT, HOT, min_frames=12, max_frames=24)
    asked = request(speaker="vivian", seeds=(40,), sampling=sampling)
    assert len(pair.compare(asked)[0]) >= 12
    made = len(pair.graphs.tapes)
    for fewest, most in ((0, 24), (12, 13)):
        limits = replace(sampling, min_frames=fewest, max_frames=most)
        pair.compare(replace(asked, sampling=limits))
    assert len(pair.graphs.tapes) == made, "limits of length ask for no recordings of their own"


@pytest.mark.parametrize("layout", [Layout.STREAMING, Layout.NON_STREAMING])
def test_a_clone_in_context_is_the_same(parts: Callable[[str], ModelParts], layout: Layout) -> None:
    """Its codec starts behind the reference; streamed text lies over the first frames only."""
    pair = pair_of(parts(BASE))
    random = np.random.default_rng(5)
    width = pair.eager.description.width
    embedding = random.standard_normal(width).astype(np.float32)
    voice = Voice(embedding, random.integers(0, 64, (9, 16)), "some words")
    text = "Good evening, everyone. And welcome."
    pair.compare(request(40, text=text, voice=voice, layout=layout, seeds=(1, 2)))


@torch.inference_mode()
def test_sound_is_that_of_single_frames(parts: Callable[[str], ModelParts]) -> None:
    """With lanes that end, in a memory that was made for more of them."""
    decoder, graphs = parts(BASE).decoder, TapeGraphs()
    codes = torch.randint(0, 64, (3, 80, 16), generator=torch.Generator().manual_seed(3))
    recordings = CodecGraphs(decoder, graphs)
    recordings.begin(decoder.new_state(4), 4).step(torch.zeros(4, 1, 16, dtype=torch.long))
    mine = recordings.begin(decoder.new_state(3), 3)
    right = EagerPieces(decoder, decoder.new_state(3))
    rows = [0, 1, 2]
    for first, end, kept in ((0, 1, [0, 1, 2]), (1, 4, [0, 2]), (4, 78, [1]), (78, 80, [0])):
        sound = mine.step(codes[rows, first:end])
        singly = [right.step(codes[rows, at : at + 1]) for at in range(first, end)]
        torch.testing.assert_close(sound, torch.cat(singly, dim=1), atol=1e-6, rtol=0)
        mine.keep(kept)
        right.keep(kept)
        rows = [rows[row] for row in kept]
    assert len(graphs.tapes) == 4, "one per number of lanes"


def test_one_recording_serves_all_requests_of_its_kind(
    parts: Callable[[str], ModelParts],
) -> None:
    pair = pair_of(parts(BASE))
    pair.compare(request(5))
    made = len(pair.graphs.tapes)
    pair.compare(request(5, seeds=(8,), text="Good evening."))
    assert len(pair.graphs.tapes) == made
    pair.compare(request(5, talker=GREEDY))
    assert len(pair.graphs.tapes) == made + 1, "another sampling, another way to draw"
    pair.compare(request(5, seeds=(1, 2)))
    assert len(pair.graphs.tapes) > made + 3, "more lanes: larger memory, all anew"


def test_more_frames_than_ever_make_the_memory_larger(
    parts: Callable[[str], ModelParts],
) -> None:
    pair = pair_of(parts(BASE))
    for frames in (3, 40, 3):
        pair.compare(request(frames))


def test_a_cancel_leaves_no_trace(parts: Callable[[str], ModelParts]) -> None:
    pair = pair_of(parts(BASE))
    token = CancelToken()
    chunks = pair.recorded.speak(request(50, seeds=(1, 2), piece_frames=(1,)), token)
    next(chunks)
    next(chunks)
    token.cancel()
    with pytest.raises(Cancelled):
        next(chunks)
    pair.compare(request())
    next(pair.recorded.speak(request(50)))  # and dropped
    pair.compare(request())


def test_no_numbers_are_told_and_forgotten(data: Path) -> None:
    """Zero times what is no number is no number: nothing of it may stay in the memory."""
    pair = pair_of(load_model(data / BASE, data / CODEC, Runtime(CPU, torch.float32)))
    pair.compare(request(3))
    weight = pair.eager._talker.get_parameter("stack.blocks.0.attention.projections.weight")
    before = weight.clone()
    weight.fill_(float("nan"))
    with pytest.raises(ModelFileError, match="no numbers"):
        list(pair.recorded.speak(request(3)))
    weight.copy_(before)
    pair.compare(request(3))


@pytest.mark.parametrize("works", [0, 1, 2, 4, 7])
def test_what_cannot_be_recorded_is_computed(
    parts: Callable[[str], ModelParts], works: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Whichever recording fails: the first, one for more slots, one for fewer lanes."""
    pair = pair_of(parts(CUSTOM), TapeGraphs(fails_after=works))
    seeds = tuple(range(40, 44))
    asked = request(20, HOT, HOT, speaker="vivian", seeds=seeds)
    pair.compare(asked)
    pair.compare(asked)
    warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert {text.partition(":")[0] for text in warnings} == {
        "Frames are computed one operation after the other",
        "Sound is decoded one operation after the other",
    }
    assert len(warnings) == 2, "each is told once"
    assert all("stream is capturing" in text for text in warnings)


def test_too_little_memory_is_no_error(
    parts: Callable[[str], ModelParts],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("engine.qwen3tts.frame_graphs.LaneMemory.of", no_memory)
    monkeypatch.setattr("engine.qwen3tts.codec.pieces.FrameMemory.of", no_memory)
    pair_of(parts(BASE)).compare(request(3))
    assert caplog.messages == [
        "Sound is decoded one operation after the other: CUDA out of memory.",
        "Frames are computed one operation after the other: CUDA out of memory.",
    ]


def test_memory_for_all_requests_together_is_not_needed_for_one(
    parts: Callable[[str], ModelParts],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    make = LaneMemory.of

    def of_few(model: FrameModel, state: LaneState, lanes: int, slots: int) -> LaneMemory:
        fits = lanes < 3 and lanes * slots < 1000
        return make(model, state, lanes, slots) if fits else no_memory()

    monkeypatch.setattr("engine.qwen3tts.frame_graphs.LaneMemory.of", of_few)
    pair = pair_of(parts(BASE))
    pair.compare(request(3, seeds=(1, 2)))
    long = request(3)
    long = replace(long, sampling=replace(long.sampling, max_frames=500))
    both = zip(pair.recorded.speak(long), pair.eager.speak(long), strict=True)
    for chunk, right in islice(both, 2):
        assert np.array_equal(chunk.codes, right.codes)
    del both, chunk
    assert not caplog.messages
    assert pair.recorded._frame_graphs is not None
    assert pair.recorded._frame_graphs._memory is not None
    too_many = request(3, seeds=(1, 2, 3))
    pair.compare(too_many)
    assert caplog.messages == [
        "Frames are computed one operation after the other: CUDA out of memory."
    ]
    pair.compare(request(3, seeds=(1, 2)))  # the next one is recorded again
    assert len(caplog.messages) == 1


def test_a_frame_that_was_replayed_is_not_made_again(
    parts: Callable[[str], ModelParts], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its codes count as spoken by then, so that others would be drawn."""
    monkeypatch.setattr("engine.qwen3tts.frame_graphs.LaneMemory.keep", no_memory)
    engine = pair_of(parts(CUSTOM)).recorded
    with pytest.raises(MemoryError):
        takes_of(engine, request(30, HOT, HOT, speaker="vivian", seeds=tuple(range(40, 46))))


def test_a_request_that_fell_back_leaves_nothing(parts: Callable[[str], ModelParts]) -> None:
    engine = pair_of(parts(BASE), TapeGraphs(fails_after=0)).recorded
    takes_of(engine, request(3))
    for graphs in (engine._frame_graphs, engine._codec_graphs):
        assert graphs is not None
        assert graphs.served is None


def test_a_probe_is_told_everything(parts: Callable[[str], ModelParts]) -> None:
    pair = pair_of(parts(BASE))
    told: list[dict[str, Tensor]] = []
    for engine in (pair.eager, pair.recorded):
        seen: dict[str, Tensor] = {}
        list(engine.speak(request(3), probe=lambda name, x, seen=seen: seen.update({name: x})))  # type: ignore[misc]
        told.append(seen)
    right, mine = told
    assert "talker-logits-step1" in right
    assert right.keys() == mine.keys()


def test_brain_floats_are_recorded_too(data: Path) -> None:
    runtime = Runtime(CPU, torch.bfloat16)
    pair_of(load_model(data / BASE, data / CODEC, runtime)).compare(request(20))


def test_steps_run_over_few_slots() -> None:
    assert [slots_for(count, 96) for count in (1, 16, 17, 33, 65, 96)] == [16, 16, 32, 64, 96, 96]


def test_requests_one_beside_the_other_are_refused(parts: Callable[[str], ModelParts]) -> None:
    pair = pair_of(parts(BASE))
    first = pair.recorded.speak(request(9, piece_frames=(1,)))
    next(first)
    next(pair.recorded.speak(request(9)))
    with pytest.raises(AssertionError, match="not closed"):
        next(first)


# On a GPU, whose kernels for other shapes round otherwise: only the codes are exact.


@pytest.fixture
def on_gpu(data: Path) -> Pair:
    runtime = choose_runtime("cuda", "f32")
    loaded = load_model(data / CUSTOM, data / CODEC, runtime)
    eager = replace(loaded, runtime=replace(runtime, graphs=None))
    return Pair(Qwen3TtsEngine(eager), Qwen3TtsEngine(loaded), TapeGraphs(), tolerance=1e-3)


@pytest.mark.gpu
def test_a_gpu_can_record() -> None:
    device = torch.device("cuda")
    assert try_out(CudaGraphs(device), device) == ""


@pytest.mark.gpu
@pytest.mark.parametrize("stack", [GREEDY, StackSampling(), NARROW, HOT])
def test_a_gpu_speaks_the_same(
    on_gpu: Pair, stack: StackSampling, caplog: pytest.LogCaptureFixture
) -> None:
    seeds = tuple(range(40, 46))
    on_gpu.compare(request(30, stack, stack, speaker="vivian", seeds=seeds))
    on_gpu.compare(request(40, stack, stack, speaker="vivian"))
    assert not caplog.messages, "nothing fell back"


@pytest.mark.gpu
def test_a_gpu_speaks_in_its_own_precision(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine = Qwen3TtsEngine(load_model(data / BASE, data / CODEC, choose_runtime("cuda")))
    for take in takes_of(engine, request(40, seeds=(1, 2))).values():
        assert np.isfinite(sound_of(take)).all()
    assert not caplog.messages, "nothing fell back"


@pytest.mark.gpu
def test_a_gpu_goes_on_where_a_recording_fails(on_gpu: Pair) -> None:
    def body() -> None:
        torch.ones(1, device="cuda").item()

    graphs = CudaGraphs(torch.device("cuda"))
    before = torch.cuda.current_stream()
    with pytest.raises(CaptureError):
        graphs.record(body)
    assert torch.cuda.current_stream() == before
    assert try_out(graphs, torch.device("cuda")) == ""
    on_gpu.compare(request(5, GREEDY, GREEDY, speaker="vivian"))
