"""Without a native library torch computes from weights that stay small, as faithfully as it can."""

from __future__ import annotations

import gc
import json
import platform
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from app.__main__ import main as studio_main
from engine import Cancelled, CancelToken, Sampling, StackSampling
from engine.gguf.header import TensorType
from engine.gguf.layout import Variant
from engine.gguf.quantize import quantize_file, stored_bytes
from engine.gguf.reader import GgufFile
from engine.gguf.weights import StoredTensor, Weights
from engine.gguf.writer import NewTensor, write_gguf
from engine.native.library import SWITCH
from engine.nn import halves
from engine.nn.halves import (
    HalfWeights,
    PackedHalfLinear,
    PlainHalfLinear,
    find_halves,
    find_lossless,
    packed_fault,
    plain_fault,
)
from engine.nn.linear import DenseLinear
from engine.qwen3tts.engine import ModelParts, Qwen3TtsEngine
from engine.qwen3tts.loading import load_model
from engine.qwen3tts.prompt import PromptBuilder
from engine.runtime import Runtime, choose_runtime
from engine.verify.capture import plan
from engine.verify.teacher import ForcedLogits, likeliest, teacher_forced
from tests.random_talkers import asked, random_talker, spoken, talker_dims
from tests.terminal import Terminal

TALKER = "qwen-talker-1.7b-base-F32.gguf"
CODEC = "qwen-tokenizer-12hz-F32.gguf"
CPU = torch.device("cpu")
COLUMNS = 256
FRAMES = 30  # judged per model

WAYS = {"packed": HalfWeights(), "plain": HalfWeights(packed=False)}
LAYERS = {"packed": PackedHalfLinear, "plain": PlainHalfLinear}

needs_packed = pytest.mark.skipif(bool(packed_fault()), reason=packed_fault())
each_way = pytest.mark.parametrize("way", [pytest.param("packed", marks=needs_packed), "plain"])

Load = Callable[[str, str], ModelParts]
Store = Callable[..., tuple[StoredTensor, ...]]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, data: Path) -> dict[str, Path]:
    """Random talkers, plain and with channels that are up to 1024 times larger than others."""
    folder = tmp_path_factory.mktemp("talkers")
    made = {}
    for name in ("plain", "outliers"):
        source = random_talker(
            folder / name, data / TALKER, talker_dims(), outliers=name == "outliers"
        )
        for variant in (Variant.Q8_0, Variant.Q4_K_M, Variant.BF16):
            path = folder / name / f"{variant.name}.gguf"
            quantize_file(source, path, variant)
            made[f"{name} {variant.name}"] = path
    return made


@pytest.fixture(scope="module")
def load(files: dict[str, Path], data: Path) -> Load:
    """A model by its file, expanded to float32 ("f32") or in halves."""

    @cache
    def loaded(file: str, way: str) -> ModelParts:
        runtime = Runtime(CPU, torch.float32, halves=WAYS.get(way))
        return load_model(files[file], data / CODEC, runtime)

    return loaded


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Writes matrices into a file and gives them back as they are stored."""
    opened: list[GgufFile] = []

    def stored(*matrices: tuple[TensorType, Tensor]) -> tuple[StoredTensor, ...]:
        path = tmp_path / f"{len(opened)}.gguf"
        tensors = []
        for number, (kind, values) in enumerate(matrices):
            content = bytes(stored_bytes(values, kind, "a matrix"))
            tensors.append(
                NewTensor(
                    f"m{number}",
                    kind,
                    tuple(values.shape),
                    lambda content=content: iter([memoryview(content)]),  # type: ignore[misc]
                )
            )
        write_gguf(path, [], tensors)
        opened.append(GgufFile.open(path))
        weights = Weights(opened[-1])
        return tuple(
            weights.take(f"m{number}", tuple(values.shape))
            for number, (_, values) in enumerate(matrices)
        )

    yield stored
    for file in opened:
        file.close()


def random(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def activations() -> Tensor:
    """Three rows with two channels far larger than the others."""
    x = random(3, 1, COLUMNS, seed=2)
    x[:, :, 7] *= 1000
    x[:, :, 100] *= 200
    return x


def expanded(parts: tuple[StoredTensor, ...]) -> Tensor:
    return torch.cat([part.to_torch(torch.float32, CPU) for part in parts]).double()


def least_cosine(one: Tensor, other: Tensor) -> float:
    cosine = torch.nn.functional.cosine_similarity(one.double(), other.double(), dim=-1)
    return float(cosine.min())


def forced(model: ModelParts) -> ForcedLogits:
    with torch.inference_mode():
        builder = PromptBuilder(model.talker, model.predictor, model.config)
        prompt = builder.build(plan(model, asked(FRAMES)))
        codes = torch.randint(0, 64, (FRAMES, 16), generator=torch.Generator().manual_seed(3))
        return teacher_forced(model.talker, model.predictor, prompt, codes)


# --- what torch can do here ---


def test_halves_are_packed_where_torch_has_fbgemm() -> None:
    assert (not packed_fault()) == ("fbgemm" in torch.backends.quantized.supported_engines)


def test_a_torch_without_the_kernels_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halves, "_kernels", SimpleNamespace)
    assert "has no attribute" in packed_fault.__wrapped__()


def test_kernels_that_give_wrong_products_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = SimpleNamespace(
        linear_prepack_fp16=lambda weight, bias: weight,
        linear_dynamic_fp16=SimpleNamespace(default=lambda x, weight: x @ weight.T),
    )
    monkeypatch.setattr(halves, "_kernels", lambda: wrong)  # it forgets the bias
    assert packed_fault.__wrapped__() == "a known product came out wrong"


@pytest.mark.parametrize(
    ("machine", "fault"),
    [("arm64", ""), ("aarch64", ""), ("AMD64", "this processor does not multiply halves")],
)
def test_plain_halves_are_for_processors_that_multiply_them(
    monkeypatch: pytest.MonkeyPatch, machine: str, fault: str
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert plain_fault.__wrapped__() == fault


def test_plain_halves_are_not_for_weights_whose_sums_overflow(store: Store) -> None:
    parts = store((TensorType.F32, torch.full((4, 32), 4000.0)))
    layer, reason = HalfWeights(packed=False).linear(parts, None)
    assert layer is None
    assert "sums beyond half precision" in reason
    assert HalfWeights(packed=False).linear(store((TensorType.F32, torch.ones(4, 32))), None)[0]


@pytest.mark.parametrize("fault", ["too slow", ""])
def test_without_packed_halves_torch_falls_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    monkeypatch.setenv(SWITCH, "0")
    monkeypatch.setattr(halves, "packed_fault", lambda: "no kernel here")
    monkeypatch.setattr(halves, "plain_fault", lambda: fault)
    found = find_halves()
    assert "no kernel here" in found.reason
    assert fault in found.reason
    runtime = choose_runtime("cpu", "auto", {TensorType.Q8_0})
    assert found.reason in caplog.text
    assert SWITCH in caplog.text
    if fault:
        assert runtime == Runtime(CPU, torch.float32)
        assert "in float32" in caplog.text
    else:
        assert runtime.halves == HalfWeights(packed=False)
        assert runtime.precision == "int8"
    assert find_lossless() is None
    assert choose_runtime("cpu", "auto", {TensorType.BF16}) == Runtime(CPU, torch.float32)


@needs_packed
def test_precisions_without_a_native_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "0")
    for precision, stored in (("auto", {TensorType.Q4_K}), ("int8", {TensorType.F32})):
        runtime = choose_runtime("cpu", precision, stored)
        assert (runtime.halves, runtime.precision) == (HalfWeights(), "int8")
        assert runtime.full_precision() == choose_runtime("cpu", "f32")
        assert runtime.without_rounding() == replace(choose_runtime("cpu", "f32"), rounds=False)
    for precision in ("auto", "f32"):
        runtime = choose_runtime("cpu", precision, {TensorType.F32, TensorType.BF16})
        assert (runtime.halves, runtime.precision) == (HalfWeights(lossless=True), "f32")
        assert choose_runtime("cpu", precision, {TensorType.F32}).halves is None
    assert choose_runtime("cpu", "bf16", {TensorType.BF16}).halves is None
    assert choose_runtime("cpu", "f32", {TensorType.Q8_0}).halves is None


# --- single products ---


@each_way
@pytest.mark.parametrize(
    "kinds",
    [
        (TensorType.Q8_0,),
        (TensorType.Q4_K, TensorType.Q4_K, TensorType.Q6_K),
        (TensorType.BF16, TensorType.F32),
    ],
)
def test_products_are_those_of_the_stored_values(
    store: Store, way: str, kinds: tuple[TensorType, ...]
) -> None:
    heights = (128, 80, 48)
    parts = store(
        *((kind, random(rows, COLUMNS)) for kind, rows in zip(kinds, heights, strict=False))
    )
    weight = expanded(parts)
    bias = random(len(weight), seed=3)
    layer, _ = WAYS[way].linear(parts, bias)
    assert isinstance(layer, LAYERS[way])
    x = activations()
    made = layer(x)
    assert made.dtype is torch.float32
    assert least_cosine(made, x.double() @ weight.T + bias) > 0.999999
    for lane in range(3):
        assert torch.equal(layer(x[lane : lane + 1]), made[lane : lane + 1])
    assert least_cosine(layer(x.transpose(0, 1)), made.transpose(0, 1)) > 0.999999
    silent = layer(torch.zeros(1, 1, COLUMNS))
    assert torch.equal(silent[0, 0], bias)


@each_way
@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e6])
def test_numbers_beyond_halves_stay_in_float32(store: Store, way: str, number: float) -> None:
    values = random(16, 32)
    values[3, 4] = number
    parts = store((TensorType.F32, values))
    layer, reason = WAYS[way].linear(parts, None)
    assert layer is None
    assert "beyond half precision" in reason
    dense = Runtime(CPU, torch.float32, halves=WAYS[way]).linear(parts)
    assert isinstance(dense, DenseLinear)
    torch.testing.assert_close(dense.weight.data, values, equal_nan=True)


@each_way
@pytest.mark.parametrize("positions", [1, 4])
def test_activations_that_are_no_numbers_stay_none(store: Store, way: str, positions: int) -> None:
    layer, _ = WAYS[way].linear(store((TensorType.Q8_0, random(16, 32))), None)
    assert layer is not None
    x = random(2, positions, 32)
    x[1, -1, 5] = float("nan")
    made = layer(x)
    assert made[1, -1].isnan().all()
    assert made[0].isfinite().all()


@needs_packed
def test_lossless_halves_take_only_what_they_keep(store: Store) -> None:
    lossless = HalfWeights(lossless=True)
    values = random(16, 32)
    values[0] *= 1e-6  # in the range where halves have fewer bits than bfloat16
    for kind in (TensorType.BF16, TensorType.F16):
        parts = store((kind, values))
        layer, _ = lossless.linear(parts, None)
        assert layer is not None
        columns = layer(torch.eye(32)[:, None])[:, 0].T  # each product picks a column
        torch.testing.assert_close(columns.double(), expanded(parts), rtol=0, atol=2.0**-25)
    for kind in (TensorType.F32, TensorType.Q8_0):
        layer, reason = lossless.linear(store((kind, values)), None)
        assert layer is None
        assert reason == f"m0 is {kind.name}"


# --- whole models ---


@each_way
@pytest.mark.parametrize("variant", ["Q8_0", "Q4_K_M"])
@pytest.mark.parametrize("name", ["plain", "outliers"])
def test_logits_are_those_of_float32(load: Load, way: str, name: str, variant: str) -> None:
    right, mine = load(f"{name} {variant}", "f32"), load(f"{name} {variant}", way)
    theirs, ours = forced(right), forced(mine)
    assert least_cosine(ours.talker, theirs.talker) >= 0.9999
    assert least_cosine(ours.predictor, theirs.predictor) >= 0.9999
    same = likeliest(theirs, right.config) == likeliest(ours, mine.config)
    assert same.float().mean() >= 0.99


@needs_packed
def test_a_bf16_file_runs_from_its_own_bits(
    load: Load, files: dict[str, Path], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, "0")
    runtime = choose_runtime("cpu", "auto", {TensorType.F32, TensorType.BF16})
    mine = load_model(files["outliers BF16"], data / CODEC, runtime)
    assert isinstance(mine.predictor.heads[0], PackedHalfLinear)
    theirs, ours = forced(load("outliers BF16", "f32")), forced(mine)
    torch.testing.assert_close(ours.talker, theirs.talker, rtol=0, atol=1e-4)
    torch.testing.assert_close(ours.predictor, theirs.predictor, rtol=0, atol=1e-4)


@each_way
def test_takes_of_a_batch_are_what_they_are_alone(load: Load, way: str) -> None:
    model = load("outliers Q4_K_M", way)
    hot = StackSampling(temperature=2.0, top_k=0)
    request = asked(8, seeds=tuple(range(5)), sampling=Sampling(hot, hot, max_frames=8))
    batch = spoken(model, request)
    for take, seed in enumerate(request.seeds):
        alone = spoken(model, replace(request, seeds=(seed,)))[0]
        assert np.array_equal(batch[take], alone)


@each_way
def test_a_cancel_stops_within_a_frame(load: Load, way: str) -> None:
    token = CancelToken()
    chunks = Qwen3TtsEngine(load("plain Q8_0", way)).speak(asked(50, piece_frames=(1,)), token)
    next(chunks)
    token.cancel()
    with pytest.raises(Cancelled):
        next(chunks)


@each_way
def test_frames_leave_nothing_in_memory(load: Load, way: str) -> None:
    chunks = Qwen3TtsEngine(load("plain Q8_0", way)).speak(asked(30, piece_frames=(1,)))

    def held() -> tuple[int, int]:
        gc.collect()
        # By type: `isinstance` wakes lazy objects of torch, which warn.
        tensors = [each for each in gc.get_objects() if type(each) in (Tensor, nn.Parameter)]
        return len(tensors), sum(each.nbytes for each in tensors)

    held_by = {}
    for number, _ in enumerate(chunks):
        if number in (5, 25):
            held_by[number] = held()
    assert held_by[25] == held_by[5]


@pytest.mark.parametrize("fault", ["", "None here"])
def test_the_doctor_tells_how_torch_computes(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setenv(SWITCH, "0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(halves, "packed_fault", lambda: fault)
    monkeypatch.setattr(halves, "plain_fault", lambda: fault)
    facts = json.loads(Terminal(monkeypatch).run(studio_main, ["doctor", "--json"]).text)
    assert facts["torch products"] == find_halves().reason
    weights = "32-bit floats" if fault else "half-precision weights"
    assert facts["quantised models"] == f"run from {weights}, by torch"
