"""The native step computes what torch computes, on every instruction set and number of threads.

Where no library could be built, the same requests run on torch alone: the tests of whole models
then show that, and those of single calls that nothing pretends to be there.
"""

from __future__ import annotations

import ctypes
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from torch import Tensor

from app.__main__ import main as studio_main
from engine import (
    Cancelled,
    CancelToken,
    DeviceError,
    ModelFileError,
    Sampling,
    StackSampling,
)
from engine.gguf.blocks import BLOCKS
from engine.gguf.header import TensorType
from engine.gguf.layout import TransformerDims, Variant
from engine.gguf.quantize import quantize_file
from engine.gguf.reader import GgufFile
from engine.native import build as building
from engine.native.build import build, find_compiler, library_path, variants
from engine.native.context import NativeContext
from engine.native.library import FoundLibrary, Library, find_library, supported_libraries
from engine.native.packed import GROUP_ROWS, READ_TYPES, PackedLinear, PackedMatrix
from engine.native.stack import NativeStack
from engine.native.structures import Q4, Q8, Drawing
from engine.native.waves import unfit_waves
from engine.nn.halves import find_halves
from engine.qwen3tts.codec.decoder import build_codec_decoder
from engine.qwen3tts.engine import ModelParts, Qwen3TtsEngine
from engine.qwen3tts.loading import load_model
from engine.qwen3tts.predictor import FrameDraw
from engine.qwen3tts.prompt import PromptBuilder
from engine.qwen3tts.sampling import draw_acoustic
from engine.runtime import Runtime, choose_runtime, usable_threads
from engine.verify.capture import plan
from engine.verify.teacher import ForcedLogits, likeliest, step_by_step, teacher_forced
from tests.random_talkers import asked, random_talker, spoken, talker_dims
from tests.terminal import Terminal

TALKER = "qwen-talker-1.7b-base-F32.gguf"
CODEC = "qwen-tokenizer-12hz-F32.gguf"
CPU = torch.device("cpu")
STORED = {Q8: gguf.GGMLQuantizationType.Q8_0, Q4: gguf.GGMLQuantizationType.Q4_K}
FRAMES = 30  # judged per model

Load = Callable[[str, str], ModelParts]


@pytest.fixture(scope="session")
def libraries() -> list[Library]:
    """Every library that works here, the fastest first; none without a compiler."""
    built = build()
    assert built.libraries or find_compiler() is None, built.problems
    return supported_libraries()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, data: Path) -> dict[str, Path]:
    """Random talkers of whole blocks: plain, with outliers, wider than their predictor."""
    folder = tmp_path_factory.mktemp("wide")
    even = talker_dims()
    wide = replace(even, talker=TransformerDims(512, 768, 2, 4, 2, 64))
    made = {}
    for name, dims in (("even", even), ("outliers", even), ("projected", wide)):
        made[f"{name} F32"] = random_talker(
            folder / name, data / TALKER, dims, outliers=name == "outliers"
        )
        for variant in (Variant.Q8_0, Variant.Q4_K_M):
            path = folder / name / f"{variant.name}.gguf"
            quantize_file(made[f"{name} F32"], path, variant)
            made[f"{name} {variant.name}"] = path
    return made


@pytest.fixture(scope="module")
def load(libraries: list[Library], files: dict[str, Path], data: Path) -> Load:
    @cache
    def loaded(file: str, precision: str) -> ModelParts:
        path = files[file]
        return load_model(path, data / CODEC, choose_runtime("cpu", precision, types(path)))

    return loaded


def types(path: Path) -> set[TensorType]:
    with GgufFile.open(path) as file:
        return {info.type for info in file.tensors.values()}


def load_with(library: Library, path: Path, data: Path, threads: int = 2) -> ModelParts:
    runtime = Runtime(CPU, torch.float32, NativeContext(library, threads))
    return load_model(path, data / CODEC, runtime)


def forced(model: ModelParts, judge: Callable[..., ForcedLogits] = teacher_forced) -> ForcedLogits:
    with torch.inference_mode():
        builder = PromptBuilder(model.talker, model.predictor, model.config)
        speaker = next(iter(model.config.speakers), None)
        prompt = builder.build(plan(model, asked(FRAMES, speaker=speaker)))
        generator = torch.Generator().manual_seed(3)
        codes = torch.randint(0, 64, (FRAMES, 16), generator=generator)
        return judge(model.talker, model.predictor, prompt, codes)


def least_cosine(one: Tensor, other: Tensor) -> float:
    cosine = torch.nn.functional.cosine_similarity(one.double(), other.double(), dim=-1)
    return float(cosine.min())


def packed(library: Library, kind: int, rows: int, columns: int) -> tuple[PackedMatrix, Tensor]:
    """A random matrix in its packed form, and its stored bytes [rows, row bytes]."""
    random = np.random.default_rng(rows + columns)
    values = random.standard_normal((rows, columns), dtype=np.float32)
    if kind == Q8:
        stored = torch.from_numpy(gguf.quants.quantize(values, STORED[kind]))
    else:  # any bytes are a Q4_K matrix, but for halves that are no numbers
        stored = torch.from_numpy(random.integers(0, 256, (rows, columns // 256 * 144), np.uint8))
        halves = torch.from_numpy(values[:, : columns // 128]).half().view(torch.uint8)
        stored.view(rows, -1, 144)[:, :, :4] = halves.reshape(rows, -1, 4)
    context = NativeContext(library, 2)
    data = torch.empty(library.calls.step_packed_bytes(kind, rows, columns), dtype=torch.uint8)
    status = library.calls.step_pack(
        context.handle, kind, STORED[kind], stored.data_ptr(), rows, columns, data.data_ptr()
    )
    assert status == 0
    return PackedMatrix(data, rows, columns, kind), stored


# --- finding and building ---


def test_there_is_a_library_where_there_is_a_compiler(libraries: list[Library]) -> None:
    found = find_library()
    if find_compiler() is None and not libraries:
        assert found.library is None
        assert "not built" in found.reason
        assert "python -m engine.native.build" in found.reason
    else:
        assert found.library is not None
        assert found.library.name == libraries[0].name
        assert found.library.name in found.reason
        assert libraries[-1].name == "plain"


def test_a_build_without_compiler_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "no-compiler"))
    made = build(tmp_path)
    assert made.libraries == ()
    assert "no C++ compiler" in made.problems[0]
    assert list(tmp_path.iterdir()) == []


def test_a_compiler_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "find_compiler", lambda: "false")
    made = build(tmp_path)
    assert made.libraries == ()
    assert len(made.problems) == len(variants())
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_library_is_told(tmp_path: Path) -> None:
    library_path("plain", tmp_path).write_text("not a library")
    found = find_library(tmp_path)
    assert found.library is None
    assert "cannot be opened" in found.reason


def test_without_a_library_quantised_files_run_on_torch(
    files: dict[str, Path],
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("engine.runtime.find_library", lambda: FoundLibrary(None, "None here."))
    path = files["even Q8_0"]
    for precision in ("auto", "int8"):
        caplog.clear()
        runtime = choose_runtime("cpu", precision, types(path))
        assert runtime.native is None
        assert "None here." in caplog.text
    model = load_model(path, data / CODEC, runtime)
    assert spoken(model, asked(2))[0].shape == (2, 16)


def test_precisions_are_chosen_by_what_is_stored(libraries: list[Library]) -> None:
    packs = "int8" if libraries or find_halves().weights else "f32"
    assert choose_runtime("cpu", "auto", {TensorType.F32, TensorType.Q4_K}).precision == packs
    assert choose_runtime("cpu", "auto", {TensorType.F32, TensorType.BF16}).precision == "f32"
    assert choose_runtime("cpu", "int8").precision == packs
    assert choose_runtime("cpu", "bf16", {TensorType.Q8_0}).precision == "bf16"
    assert choose_runtime("cpu", "int8").full_precision() == choose_runtime("cpu", "f32")


def test_int8_needs_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(DeviceError, match="int8 runs on a CPU only"):
        choose_runtime("cuda:0", "int8")


def test_threads_follow_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert usable_threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(5)), raising=False)
    assert usable_threads() == 5
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert usable_threads() == 8


# --- single calls ---


@pytest.mark.parametrize("kind", [Q8, Q4])
@pytest.mark.parametrize("rows", [16, 32, 37])
def test_packing_keeps_every_value(libraries: list[Library], kind: int, rows: int) -> None:
    for library in libraries:
        matrix, stored = packed(library, kind, rows, 512)
        values = torch.empty(rows, 512)
        library.calls.step_unpack(kind, matrix.data.data_ptr(), rows, 512, values.data_ptr())
        right = BLOCKS[TensorType(STORED[kind])].dequantize(stored)
        assert torch.equal(values, right), library.name


@pytest.mark.parametrize("kind", sorted(READ_TYPES))
def test_stored_rows_are_read_as_torch_reads_them(
    libraries: list[Library], kind: TensorType
) -> None:
    random = np.random.default_rng(1)
    values = random.standard_normal((3, 512), dtype=np.float32)
    reference = gguf.GGMLQuantizationType(kind)
    if kind in (TensorType.Q4_K, TensorType.Q6_K):
        raw = random.integers(0, 60, (3, 512 // 256 * kind.block_bytes), np.uint8)
    else:
        raw = np.ascontiguousarray(gguf.quants.quantize(values, reference)).view(np.uint8)
    stored = torch.from_numpy(raw).reshape(3, -1)
    right = BLOCKS[kind].dequantize(stored)
    for library in libraries:
        mine = torch.empty(3, 512)
        calls = library.calls
        assert calls.step_dequantize(kind, stored.data_ptr(), 3 * 512, mine.data_ptr()) == 0
        assert torch.equal(mine, right), library.name
        assert calls.step_dequantize(TensorType.Q5_1, stored.data_ptr(), 32, mine.data_ptr()) == -1


def test_float_weights_are_rounded_to_eight_bits(libraries: list[Library]) -> None:
    values = torch.randn(20, 64, generator=torch.Generator().manual_seed(4))
    right = gguf.quants.dequantize(gguf.quants.quantize(values.numpy(), STORED[Q8]), STORED[Q8])
    for library in libraries:
        context = NativeContext(library, 1)
        data = torch.empty(library.calls.step_packed_bytes(Q8, 20, 64), dtype=torch.uint8)
        arguments = (context.handle, Q8, TensorType.F32, values.data_ptr(), 20, 64)
        assert library.calls.step_pack(*arguments, data.data_ptr()) == 0
        mine = torch.empty(20, 64)
        library.calls.step_unpack(Q8, data.data_ptr(), 20, 64, mine.data_ptr())
        # A tie may fall to either side: at most one step of a block.
        np.testing.assert_allclose(mine.numpy(), right, atol=float(values.abs().max()) / 127)
        assert least_cosine(mine, values) > 0.9999


def test_what_does_not_fit_is_refused(libraries: list[Library]) -> None:
    for library in libraries:
        calls = library.calls
        assert calls.step_packed_bytes(Q8, 16, 48) == -1
        assert calls.step_packed_bytes(Q4, 16, 96) == -1
        context = NativeContext(library, 1)
        data = torch.zeros(GROUP_ROWS * 1024, dtype=torch.uint8)
        for kind, stored in ((Q4, TensorType.Q8_0), (Q8, TensorType.Q5_1)):
            address = data.data_ptr()
            assert calls.step_pack(context.handle, kind, stored, address, 1, 256, address) == -1


@pytest.mark.parametrize("kind", [Q8, Q4])
def test_products_are_those_of_torch_and_alike_on_every_instruction_set(
    libraries: list[Library], kind: int
) -> None:
    made = torch.Generator().manual_seed(6)
    x = torch.randn(21, 512, generator=made)
    x[3, 100] = 1000.0
    x[4] = 0.0
    x[5] *= 1e-38
    bias = torch.randn(50, generator=made)
    results = []
    for library in libraries:
        matrix, stored = packed(library, kind, 50, 512)
        weights = BLOCKS[TensorType(STORED[kind])].dequantize(stored).double()
        layer = PackedLinear((matrix,), bias, NativeContext(library, 2))
        mine = layer(x)
        right = x.double() @ weights.T + bias
        assert least_cosine(mine[:3], right[:3]) > 0.9999999
        assert least_cosine(mine[3:4], right[3:4]) > 0.999999  # beside an outlier
        assert torch.equal(mine[4], bias)
        for columns in range(1, 10):
            assert torch.equal(layer(x[:columns]), mine[:columns]), (library.name, columns)
        results.append(mine)
    assert all(torch.equal(results[0], each) for each in results)


def test_several_matrices_are_stacked(libraries: list[Library]) -> None:
    for library in libraries:
        context = NativeContext(library, 2)
        parts = [packed(library, kind, rows, 256)[0] for kind, rows in ((Q8, 20), (Q4, 33))]
        x = torch.randn(2, 3, 256, generator=torch.Generator().manual_seed(8))
        whole = PackedLinear(tuple(parts), None, context)(x)
        alone = [PackedLinear((part,), None, context)(x) for part in parts]
        assert torch.equal(whole, torch.cat(alone, dim=-1))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_stays_none(libraries: list[Library], wrong: float) -> None:
    for library in libraries:
        matrix, _ = packed(library, Q8, 16, 64)
        x = torch.ones(2, 64)
        x[0, 40] = wrong
        mine = PackedLinear((matrix,), None, NativeContext(library, 1))(x)
        assert mine[0].isnan().all()
        assert mine[1].isfinite().all()


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_many_passes_end_with_any_number_of_threads(libraries: list[Library], threads: int) -> None:
    for library in libraries[:1]:
        matrix, _ = packed(library, Q8, 100, 64)
        contexts = [NativeContext(library, threads) for _ in range(2)]
        layers = [PackedLinear((matrix,), None, context) for context in contexts]
        x = torch.randn(12, 64, generator=torch.Generator().manual_seed(9))
        right = layers[0](x)
        for turn in range(1000):
            assert torch.equal(layers[turn % 2](x), right)


DRAWS = (
    StackSampling(),
    StackSampling(temperature=1.3, top_k=0),
    StackSampling(temperature=0.7, top_k=7, top_p=0.8),
    StackSampling(top_k=1),
    StackSampling(top_k=10_000, top_p=0.5),
    StackSampling(top_p=0.0),
    StackSampling(greedy=True),
)


@pytest.mark.parametrize("how", DRAWS)
def test_codes_are_drawn_as_torch_draws_them(libraries: list[Library], how: StackSampling) -> None:
    made = torch.Generator().manual_seed(10)
    logits = 3 * torch.randn(200, 300, generator=made)
    logits[:, 20] = logits[:, 40]  # ties
    uniforms = torch.rand(200, generator=made)
    uniforms[0] = 1.0
    right = draw_acoustic(logits, uniforms, how)
    drawing = Drawing(how.greedy, how.top_k, how.temperature, how.top_p)
    for library in libraries:
        mine = [
            library.calls.step_draw(row.data_ptr(), 300, ctypes.byref(drawing), float(uniform))
            for row, uniform in zip(logits, uniforms, strict=True)
        ]
        assert mine == right.tolist(), library.name


# --- whole models ---

every_file = pytest.mark.parametrize(
    "file",
    [
        f"{name} {variant}"
        for name in ("even", "outliers", "projected")
        for variant in ("Q8_0", "Q4_K_M")
    ],
)


@every_file
def test_logits_are_those_of_torch_on_the_same_weights(load: Load, file: str) -> None:
    right, mine = load(file, "f32"), load(file, "auto")
    theirs, ours = forced(right), forced(mine)
    # Measured: 0.9999999 without outliers, 0.99999 with them.
    assert least_cosine(ours.talker, theirs.talker) >= 0.9999
    assert least_cosine(ours.predictor, theirs.predictor) >= 0.9999
    same = likeliest(theirs, right.config) == likeliest(ours, mine.config)
    assert same.float().mean() >= 0.99


@every_file
def test_stepping_gives_the_logits_of_one_pass(load: Load, file: str) -> None:
    model = load(file, "int8")
    at_once, stepped = forced(model), forced(model, step_by_step)
    if isinstance(model.talker.stack.runner, NativeStack):
        assert torch.equal(at_once.talker, stepped.talker)
        assert torch.equal(at_once.predictor, stepped.predictor)
    else:
        torch.testing.assert_close(at_once.talker, stepped.talker, atol=1e-4, rtol=0)


def test_float_files_are_rounded_when_told(load: Load) -> None:
    right, rounded = forced(load("even F32", "auto")), forced(load("even F32", "int8"))
    assert load("even F32", "auto").runtime.precision == "f32"
    assert least_cosine(right.talker, rounded.talker) > 0.999
    assert least_cosine(right.predictor, rounded.predictor) > 0.999


def test_every_instruction_set_speaks_the_same_codes(
    libraries: list[Library], files: dict[str, Path], data: Path
) -> None:
    for file in ("outliers Q8_0", "even Q4_K_M"):
        made = [
            (forced(model), spoken(model, asked(4))[0])
            for library in libraries
            for model in [load_with(library, files[file], data)]
        ]
        for logits, codes in made[1:]:
            assert torch.equal(logits.talker, made[0][0].talker)
            assert torch.equal(logits.predictor, made[0][0].predictor)
            assert np.array_equal(codes, made[0][1])


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_changes_nothing(
    libraries: list[Library], files: dict[str, Path], data: Path, load: Load, threads: int
) -> None:
    right = spoken(load("even Q8_0", "int8"), asked(4))[0]
    for library in libraries[:1]:
        model = load_with(library, files["even Q8_0"], data, threads)
        assert np.array_equal(spoken(model, asked(4))[0], right)


@pytest.mark.parametrize("file", ["even Q8_0", "outliers Q4_K_M"])
def test_a_lane_has_the_bits_it_has_alone(load: Load, file: str) -> None:
    model = load(file, "auto")
    generator = torch.Generator().manual_seed(11)
    start = torch.randn(8, 5, 256, generator=generator)
    following = torch.randn(8, 1, 256, generator=generator)
    codes = torch.randint(0, 64, (8,), generator=generator)
    uniforms = torch.rand(8, 16, generator=generator)

    @torch.inference_mode()
    def run(lanes: slice) -> list[Tensor]:
        count = len(start[lanes])
        cache = model.talker.stack.new_cache(count, 6)
        first = model.talker(start[lanes], cache)
        hidden = model.talker(following[lanes], cache)[:, -1]
        frame = model.predictor.frame(
            (hidden, model.talker.codec(codes[lanes])),
            codes[lanes],
            FrameDraw(uniforms[lanes], StackSampling()),
            model.predictor.new_cache(count),
        )
        return [first, model.talker.logits(hidden), frame.codes, frame.embedding]

    alone = [run(slice(lane, lane + 1)) for lane in range(8)]
    for count in range(1, 9):
        for index, batch in enumerate(run(slice(0, count))):
            together = torch.cat([each[index] for each in alone[:count]])
            assert torch.equal(batch, together), (count, index)


def test_takes_of_a_batch_and_replays_are_what_they_were(load: Load) -> None:
    model = load("even Q8_0", "auto")
    hot = StackSampling(temperature=2.0, top_k=0)
    request = asked(12, seeds=tuple(range(5)), sampling=Sampling(hot, hot, max_frames=12))
    batch = spoken(model, request)
    for take, seed in enumerate(request.seeds):
        alone = spoken(model, replace(request, seeds=(seed,)))[0]
        assert np.array_equal(batch[take], alone)
    token = CancelToken()
    stopped = Qwen3TtsEngine(model).speak(asked(50, piece_frames=(1,)), token)
    next(stopped)
    token.cancel()
    with pytest.raises(Cancelled):
        next(stopped)
    assert np.array_equal(spoken(model, replace(request, seeds=(3,)))[0], batch[3])


@pytest.mark.parametrize(("file", "width"), [("even Q4_K_M", 256), ("projected Q8_0", 512)])
def test_frames_are_those_of_one_codebook_after_the_other(
    load: Load, file: str, width: int
) -> None:
    model = load(file, "auto")
    generator = torch.Generator().manual_seed(12)
    start = (torch.randn(3, width, generator=generator), torch.randn(3, width, generator=generator))
    first = torch.tensor([1, 2, 3])
    draw = FrameDraw(torch.rand(3, 16, generator=generator), StackSampling())
    with torch.inference_mode():
        whole = model.predictor.frame(start, first, draw, model.predictor.new_cache(3))
        steps = model.predictor(start, first, draw, model.predictor.new_cache(3))
    assert torch.equal(whole.codes, steps.codes)
    torch.testing.assert_close(whole.embedding, steps.embedding)


def test_probes_see_every_block(load: Load) -> None:
    seen: dict[str, dict[str, Tensor]] = {"f32": {}, "int8": {}}
    for precision, told in seen.items():
        engine = Qwen3TtsEngine(load("even Q8_0", precision))
        list(engine.speak(asked(2), probe=told.__setitem__))
    assert seen["f32"].keys() == seen["int8"].keys()
    assert {"talker-hidden-prefill-l0", "talker-hidden-prefill-l1"} <= seen["int8"].keys()
    for name in (
        "talker-hidden-prefill-l0",
        "talker-hidden-prefill-final",
        "talker-logits-prefill",
    ):
        assert least_cosine(seen["int8"][name], seen["f32"][name]) > 0.99999, name


def test_a_cancel_stops_within_the_prefill(load: Load) -> None:
    token = CancelToken()
    seen: list[str] = []

    def probe(name: str, _: Tensor) -> None:
        seen.append(name)
        if name == "talker-hidden-prefill-l0":
            token.cancel()

    with pytest.raises(Cancelled):
        next(Qwen3TtsEngine(load("even Q8_0", "auto")).speak(asked(), token, probe))
    assert "talker-hidden-prefill-l1" not in seen


def test_weights_that_are_no_numbers_are_explained(
    load: Load, files: dict[str, Path], data: Path
) -> None:
    path = files["even Q8_0"]
    for name in ("talker", "predictor"):
        model = load_model(path, data / CODEC, choose_runtime("cpu", "int8"))
        if name == "predictor" and model.runtime.native is None:
            break  # its numbers are not looked at codebook by codebook
        getattr(model, name).stack.norm.weight.data[0] = float("nan")
        with pytest.raises(ModelFileError, match="no numbers"):
            spoken(model, asked(3))


def test_a_block_scale_that_is_no_number_is_explained(
    libraries: list[Library], files: dict[str, Path], data: Path, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.gguf"
    with GgufFile.open(files["even Q8_0"]) as file:
        offset = file.tensors["talker.blk.1.ffn_down.weight"].offset
    content = bytearray(files["even Q8_0"].read_bytes())
    content[offset : offset + 2] = b"\x00\x7e"
    path.write_bytes(content)
    model = load_model(path, data / CODEC, choose_runtime("cpu", "auto", types(path)))
    with pytest.raises(ModelFileError, match="no numbers"):
        spoken(model, asked(3))


def test_layers_that_do_not_fit_stay_with_torch(
    libraries: list[Library], data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with GgufFile.open(data / TALKER) as file:
        columns = {info.shape[-1] for info in file.tensors.values() if len(info.shape) == 2}
    right = load_model(data / TALKER, data / CODEC, choose_runtime("cpu", "f32"))
    with caplog.at_level(logging.INFO, "engine.runtime"):
        model = load_model(data / TALKER, data / CODEC, choose_runtime("cpu", "int8"))
    one, other = forced(right), forced(model)
    assert least_cosine(one.talker, other.talker) > 0.998  # the weights are rounded to 8 bits
    assert least_cosine(one.predictor, other.predictor) > 0.998
    if libraries:
        assert any(count % 32 for count in columns)
        assert any(count % 32 == 0 for count in columns)
        assert "no multiple of 32" in caplog.text
        assert "talker runs one layer after the other" in caplog.text
        assert "one codebook after the other" in caplog.text
        assert isinstance(model.predictor.stack.runner, NativeStack)


def test_the_decoder_loses_nothing_by_packing_matrices(
    libraries: list[Library], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.runtime.unfit_waves", lambda library: "they are not looked at here")
    path = tmp_path / "codec.gguf"
    quantize_file(data / CODEC, path, Variant.Q8_0)
    sounds = []
    for precision in ("f32", "int8"):
        with GgufFile.open(path) as file:
            decoder = build_codec_decoder(file, choose_runtime("cpu", precision))
        sounds.append(decoder(torch.arange(16 * 12).reshape(1, 12, 16) % 64)[0])
    right, mine = sounds
    noise = float((right - mine).square().mean() / right.square().mean())
    # This reference codec enlarges rounding: 52 dB. One of the published shape: 78 dB.
    assert noise < 1e-4
    packed_layers = [each for each in decoder.modules() if isinstance(each, PackedLinear)]
    assert bool(packed_layers) == bool(libraries)


def test_the_doctor_says_what_runs_and_why(
    libraries: list[Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal(monkeypatch)
    answer = terminal.run(studio_main, ["doctor", "--json"])
    assert answer.status == 0
    facts = json.loads(answer.text)
    assert facts["native step"] == find_library().reason
    assert facts["torch"] == torch.__version__
    assert ("natively" in facts["quantised models"]) == (
        bool(libraries) and facts["device"] == "cpu"
    )
    assert ("natively" in facts["sound"]) == (
        facts["device"] == "cpu" and any(not unfit_waves(one) for one in libraries[:1])
    )
    monkeypatch.setattr(
        "engine.native.library.find_library", lambda: FoundLibrary(None, "None here.")
    )
    told = terminal.run(studio_main, ["doctor"]).text
    assert "None here." in told
    assert "by torch" in told
