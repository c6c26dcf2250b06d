"""Chains of convolutions run natively: close to torch, and the same bits however they are run."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from engine.gguf.layout import (
    CodecDecoderDims,
    CodecDims,
    CodecEncoderDims,
    Size,
    TransformerDims,
    Variant,
)
from engine.gguf.quantize import quantize_file
from engine.gguf.reader import GgufFile
from engine.native.build import build, find_compiler
from engine.native.context import NativeContext
from engine.native.library import Library, supported_libraries
from engine.native.waves import NativeWaves, WavePast, unfit_waves
from engine.nn.conv import CausalConv1d, CausalConvTranspose1d, SnakeBeta
from engine.nn.waves import EagerWaves, Residual, WaveConvolution, WaveLayer
from engine.qwen3tts.codec.decoder import CodecDecoder, build_codec_decoder
from engine.qwen3tts.codec.priming import PrimedStates
from engine.runtime import Runtime, choose_runtime
from engine.types import CancelToken, Family
from engine.verify.measures import stft_cosine
from tools.random_checkpoint import Choice, build_codec

CODEC = "qwen-tokenizer-12hz-F32.gguf"
CPU = torch.device("cpu")


@pytest.fixture(scope="session")
def libraries() -> list[Library]:
    """Every library that works here, the fastest first; none without a compiler."""
    built = build()
    assert built.libraries or find_compiler() is None, built.problems
    return supported_libraries()


@dataclass
class Maker:
    """Random layers whose signals keep a sane scale."""

    generator: torch.Generator

    def normal(self, *shape: int, scale: float = 1.0) -> Tensor:
        return scale * torch.randn(*shape, generator=self.generator)

    def conv(
        self, out: int, channels: int, kernel: int, dilation: int = 1, gain: float = 1.0
    ) -> CausalConv1d:
        weight = self.normal(out, channels, kernel, scale=gain * (channels * kernel) ** -0.5)
        return CausalConv1d(weight, self.normal(out, scale=0.1), dilation=dilation)

    def transposed(
        self, channels: int, out: int, kernel: int, stride: int
    ) -> CausalConvTranspose1d:
        scale = (channels * math.ceil(kernel / stride)) ** -0.5
        weight = self.normal(channels, out, kernel, scale=scale)
        return CausalConvTranspose1d(weight, self.normal(out, scale=0.1), stride=stride)

    def snake(self, channels: int) -> SnakeBeta:
        return SnakeBeta(self.normal(channels, scale=0.4), self.normal(channels, scale=0.4))


def codec_chain(
    latent: int = 40, channels: int = 104, strides: Sequence[int] = (3, 2), seed: int = 1
) -> Iterator[WaveLayer]:
    """A chain of the codec's form; its channels fill neither lanes nor panels."""
    make = Maker(torch.Generator().manual_seed(seed))
    yield WaveLayer(make.conv(channels, latent, 7))
    for stride in strides:
        half = channels // 2
        yield WaveLayer(
            make.transposed(channels, half, 2 * stride, stride),
            make.snake(channels),
            Residual.KEPT,
        )
        for dilation in (1, 3, 9):
            yield WaveLayer(make.conv(half, half, 7, dilation, gain=0.7), make.snake(half))
            yield WaveLayer(make.conv(half, half, 1, gain=0.3), make.snake(half), Residual.ADDED)
        channels = half
    yield WaveLayer(make.conv(1, channels, 7), make.snake(channels))


def signal(*shape: int, seed: int = 2) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def signal_to_noise(reference: Tensor, mine: Tensor) -> float:
    """In dB."""
    noise = (reference.double() - mine.double()).square().mean()
    return float(10 * torch.log10(reference.double().square().mean() / noise))


def whole(layers: EagerWaves | NativeWaves, x: Tensor) -> Tensor:
    return layers.step(x, layers.new_state(x.shape[0]))  # type: ignore[arg-type]


def native(library: Library, threads: int = 2) -> NativeWaves:
    return NativeWaves(codec_chain(), NativeContext(library, threads))


# --- close to torch ---

make = Maker(torch.Generator().manual_seed(3))
SINGLE_LAYERS: dict[str, tuple[WaveConvolution, int]] = {
    "pointwise": (make.conv(96, 96, 1), 96),
    "one channel": (make.conv(1, 1, 7), 1),
    "few channels": (make.conv(5, 3, 4, dilation=2), 3),
    "more than a panel": (make.conv(97, 113, 3, dilation=5), 113),
    "many panels": (make.conv(200, 290, 2), 290),
    "no bias": (CausalConv1d(make.normal(20, 30, 3, scale=0.1), None), 30),
    "kernel as long as its stride": (make.transposed(24, 40, 4, 4), 24),
    "two taps per phase": (make.transposed(100, 50, 16, 8), 100),
    "kernel that its stride does not divide": (make.transposed(7, 9, 11, 4), 7),
}


@pytest.mark.parametrize("name", SINGLE_LAYERS)
def test_a_layer_computes_what_torch_computes(libraries: list[Library], name: str) -> None:
    conv, channels = SINGLE_LAYERS[name]
    x = signal(3, channels, 37)
    right = whole(EagerWaves([WaveLayer(conv)]), x)
    for library in libraries:
        mine = whole(NativeWaves([WaveLayer(conv)], NativeContext(library, 2)), x)
        assert mine.shape == right.shape
        # Measured: 82 dB and more. 16 bits, of which the sums take some.
        assert signal_to_noise(right, mine) > 76, library.name


def test_snakes_are_those_of_torch(libraries: list[Library]) -> None:
    made = Maker(torch.Generator().manual_seed(4))
    layers = [
        WaveLayer(made.conv(33, 16, 1), made.snake(16)),
        WaveLayer(made.conv(10, 33, 1), made.snake(33)),
    ]
    x = 20 * signal(1, 16, 50)  # many turns of the sine
    right = whole(EagerWaves(layers), x)
    for library in libraries:
        mine = whole(NativeWaves(layers, NativeContext(library, 1)), x)
        assert signal_to_noise(right, mine) > 70, library.name


def test_a_chain_sounds_as_with_torch(libraries: list[Library]) -> None:
    x = signal(1, 40, 200)
    right = whole(EagerWaves(codec_chain()), x)
    for library in libraries[:1]:
        mine = whole(native(library), x)
        assert right.abs().max() > 0.1, "the test needs a sound"
        assert signal_to_noise(right, mine) > 60  # measured: 72
        assert stft_cosine(right[0, 0].numpy(), mine[0, 0].numpy()) > 0.999999


def test_a_channel_that_drowns_the_others_is_no_harm(libraries: list[Library]) -> None:
    """Snakes leave a few loud channels; what stands beside them must not be lost."""
    conv = make.conv(48, 96, 3)
    x = signal(1, 96, 40)
    x[:, 11] *= 300
    right = whole(EagerWaves([WaveLayer(conv)]), x)
    for library in libraries:
        mine = whole(NativeWaves([WaveLayer(conv)], NativeContext(library, 1)), x)
        assert signal_to_noise(right, mine) > 76, library.name


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_largest_sums_do_not_overflow(libraries: list[Library], sign: float) -> None:
    """All products alike is the worst that can happen to a sum of integers."""
    conv = CausalConv1d(torch.full((16, 192, 3), 0.7), None)
    x = torch.full((1, 192, 20), 0.3 * sign)
    right = whole(EagerWaves([WaveLayer(conv)]), x)
    for library in libraries:
        mine = whole(NativeWaves([WaveLayer(conv)], NativeContext(library, 1)), x)
        torch.testing.assert_close(mine, right, rtol=2e-4, atol=0)


def test_silence_stays_silent_and_small_signals_keep_their_scale(libraries: list[Library]) -> None:
    conv = CausalConv1d(make.normal(16, 32, 3), None)
    x = signal(1, 32, 30)
    for library in libraries:
        layers = NativeWaves([WaveLayer(conv)], NativeContext(library, 1))
        assert torch.equal(whole(layers, torch.zeros_like(x)), torch.zeros(1, 16, 30))
        small = 2.0**-33  # as a power of two it changes no integer
        assert torch.equal(whole(layers, x * small), whole(layers, x) * small)
        assert torch.equal(whole(layers, x * 1e-30), torch.zeros(1, 16, 30))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf"), 1e30])
def test_what_is_no_number_is_heard(libraries: list[Library], wrong: float) -> None:
    conv = make.conv(16, 32, 1)
    x = signal(1, 32, 9)
    x[0, 5, 4] = wrong
    for library in libraries:
        mine = whole(NativeWaves([WaveLayer(conv)], NativeContext(library, 1)), x)
        assert mine[..., 4].isnan().all()
        assert mine[..., [0, 3, 5, 8]].isfinite().all()
        damaged = make.conv(16, 32, 1)
        damaged.weight.data[3, 4, 0] = float("nan")
        mine = whole(NativeWaves([WaveLayer(damaged)], NativeContext(library, 1)), x)
        assert mine[:, 3].isnan().all()
        assert mine[:, 4, :4].isfinite().all()


# --- the same bits ---


def test_every_instruction_set_and_number_of_threads_gives_the_same_bits(
    libraries: list[Library],
) -> None:
    x = signal(2, 40, 45)
    made = [
        whole(native(library, threads), x)
        for library in libraries
        for threads in ((1, 2, 5) if library is libraries[0] else (2,))
    ]
    for each in made[1:]:
        assert torch.equal(each, made[0])


@settings(max_examples=15)
@given(widths=st.lists(st.integers(1, 40), min_size=1, max_size=6), lanes=st.integers(1, 3))
def test_streamed_is_whole_to_the_bit(
    libraries: list[Library], widths: list[int], lanes: int
) -> None:
    for library in libraries[:1]:
        layers = native(library)
        x = signal(lanes, 40, sum(widths))
        state = layers.new_state(lanes)
        pieces = [layers.step(piece, state) for piece in torch.split(x, widths, dim=2)]
        assert torch.equal(torch.cat(pieces, dim=2), whole(layers, x))


def test_a_lane_has_the_bits_it_has_alone(libraries: list[Library]) -> None:
    for library in libraries[:1]:
        layers = native(library)
        x = signal(5, 40, 11)
        alone = torch.cat([whole(layers, lane[None]) for lane in x])
        for lanes in range(1, 6):
            assert torch.equal(whole(layers, x[:lanes]), alone[:lanes])


def test_a_selected_state_goes_on_as_its_lane_would(libraries: list[Library]) -> None:
    for library in libraries[:1]:
        layers = native(library)
        x = signal(3, 40, 30)
        state = layers.new_state(3)
        layers.step(x[..., :13], state)
        chosen = state.select(torch.tensor([2, 0, 2]))
        rest = layers.step(x[..., 13:], state)
        assert torch.equal(layers.step(x[[2, 0, 2], :, 13:], chosen), rest[[2, 0, 2]])


def test_a_state_of_other_lanes_is_refused(libraries: list[Library]) -> None:
    """The native step would write beyond it."""
    for library in libraries[:1]:
        layers = native(library, 1)
        for lanes in (1, 3):
            with pytest.raises(AssertionError, match="lanes"):
                layers.step(signal(2, 40, 5), layers.new_state(lanes))
        assert layers.step(signal(0, 40, 5), layers.new_state(0)).shape == (0, 1, 30)


def test_layers_that_do_not_fit_together_are_refused(libraries: list[Library]) -> None:
    layers = [WaveLayer(make.conv(40, 16, 1)), WaveLayer(make.conv(8, 20, 1))]
    for library in libraries[:1]:
        with pytest.raises(AssertionError, match="the one before"):
            NativeWaves(layers, NativeContext(library, 1))


def test_long_signals_are_run_in_parts_with_the_same_bits(
    libraries: list[Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in libraries[:1]:
        layers = native(library)
        x = signal(2, 40, 50)
        right = whole(layers, x)
        monkeypatch.setattr("engine.native.waves.MOST_POSITIONS", 100)
        assert torch.equal(whole(layers, x), right)


def test_two_chains_share_the_threads(libraries: list[Library]) -> None:
    """What one leaves in the common buffers does not reach the other."""
    for library in libraries[:1]:
        context = NativeContext(library, 2)
        one = NativeWaves(codec_chain(seed=5), context)
        other = NativeWaves(codec_chain(30, 64, (4,), seed=6), context)
        x, y = signal(1, 40, 24), signal(2, 30, 24)
        right = whole(one, x), whole(other, y)
        states = one.new_state(1), other.new_state(2)
        made: tuple[list[Tensor], list[Tensor]] = ([], [])
        for first in range(0, 24, 6):
            made[0].append(one.step(x[..., first : first + 6], states[0]))
            made[1].append(other.step(y[..., first : first + 6], states[1]))
        assert torch.equal(torch.cat(made[0], dim=2), right[0])
        assert torch.equal(torch.cat(made[1], dim=2), right[1])


# --- within the engine ---


def load(path: Path, runtime: Runtime) -> CodecDecoder:
    with GgufFile.open(path) as file:
        return build_codec_decoder(file, runtime)


@pytest.fixture(scope="module")
def quantised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of sane scales: the reference one enlarges any rounding."""
    folder = tmp_path_factory.mktemp("codec")
    dims = CodecDims(
        encoder=CodecEncoderDims(TransformerDims(16, 32, 1, 2, 2, 8), filters=4, codebook_width=8),
        decoder=CodecDecoderDims(
            TransformerDims(64, 96, 2, 2, 2, 16), latent=64, quantizer_width=32, width=96
        ),
        codebook_size=64,
    )
    made = build_codec(folder, Choice(Size.SMALL, Family.BASE, Variant.F32, seed=11), dims)
    path = folder / "codec.gguf"
    quantize_file(made, path, Variant.Q8_0)
    return path


def codes(lanes: int, frames: int) -> Tensor:
    generator = torch.Generator().manual_seed(8)
    return torch.randint(0, 64, (lanes, frames, 16), generator=generator)


def test_only_one_layer_at_a_time_is_held_in_floats(libraries: list[Library]) -> None:
    held: list[weakref.ref[Tensor]] = []

    def watched() -> Iterator[WaveLayer]:
        for layer in codec_chain():
            gc.collect()
            assert not any(weight() is not None for weight in held)
            held.append(weakref.ref(layer.conv.weight))
            yield layer
            del layer

    for library in libraries[:1]:
        layers = NativeWaves(watched(), NativeContext(library, 1))
        assert len(held) == 1 + 2 * 7 + 1
        assert list(layers.parameters()) == []


@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_other_precisions_stay_with_torch(data: Path, precision: str) -> None:
    decoder = load(data / CODEC, choose_runtime("cpu", precision))
    assert not any(isinstance(layer, NativeWaves) for layer in decoder.modules())
    assert any(isinstance(layer, EagerWaves) for layer in decoder.modules())


def test_slow_instruction_sets_stay_with_torch(libraries: list[Library]) -> None:
    for library in libraries:
        runtime = Runtime(CPU, torch.float32, NativeContext(library, 1))
        runner = runtime.wave_runner(codec_chain())
        is_slow = library.name in ("plain", "arm-dotprod")
        assert bool(unfit_waves(library)) == is_slow
        assert isinstance(runner, EagerWaves if is_slow else NativeWaves)


def test_the_decoder_sounds_as_with_torch(
    libraries: list[Library], data: Path, quantised: Path
) -> None:
    right = load(quantised, choose_runtime("cpu", "f32"))(codes(1, 12))[0]
    decoder = load(quantised, choose_runtime("cpu", "int8"))
    mine = decoder(codes(1, 12))[0]
    runs_natively = any(isinstance(layer, NativeWaves) for layer in decoder.modules())
    assert runs_natively == any(not unfit_waves(each) for each in libraries[:1])
    # This reference codec enlarges rounding; one of the published shape: 63 dB.
    assert signal_to_noise(right, mine) > 40
    assert stft_cosine(right.numpy(), mine.numpy()) > 0.9999


def test_takes_are_decoded_together_and_dropped(libraries: list[Library], quantised: Path) -> None:
    decoder = load(quantised, choose_runtime("cpu", "int8"))
    played = codes(3, 9)
    right = decoder(played)
    state = decoder.new_state(3)
    first = decoder.step(played[:, :4], state)
    rest = decoder.step(played[[2, 0], 4:], state.select(torch.tensor([2, 0])))
    size = decoder.config.frame_samples
    assert signal_to_noise(right[:, : 4 * size], first) > 60
    assert signal_to_noise(right[[2, 0], 4 * size :], rest) > 60


def test_a_reference_primes_the_native_decoder(libraries: list[Library], quantised: Path) -> None:
    decoder = load(quantised, choose_runtime("cpu", "int8"))
    played = codes(1, 40)
    right = decoder(played)[0, 35 * decoder.config.frame_samples :]
    primed = PrimedStates(decoder)
    for _ in range(2):  # the second time from the kept state, which the first must not have moved
        state = primed.behind(played[0, :35], 2, CancelToken())
        sound = decoder.step(played[:, 35:].expand(2, -1, -1), state)
        assert signal_to_noise(right, sound[0]) > 60
        assert np.array_equal(sound[0].numpy(), sound[1].numpy())


def test_states_know_how_much_they_hold(libraries: list[Library]) -> None:
    for library in libraries[:1]:
        layers = NativeWaves([WaveLayer(make.conv(4, 100, 3, 2))], NativeContext(library, 1))
        state = layers.new_state(2)
        assert isinstance(state, WavePast)
        # 4 past positions of 112 channels in 2 bytes, and of 2 panels with a scale each.
        assert state.past.shape == (2, 4 * (112 * 2 + 2 * 4))
