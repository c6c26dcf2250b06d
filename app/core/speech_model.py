"""The Silero voice activity detector in numpy: quick enough without torch, and ready at once.

Its network takes 32 ms at a time (Silero Team, "Silero VAD", version 6, MIT licence); the weights
come with the package `silero-vad`. Everything before its recurrent cell depends on one chunk only,
so it is computed for many chunks together.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from engine import CancelToken, ExplainedError
from engine.types import Samples

RATE: Final = 16_000  # Hz
CHUNK: Final = 512  # samples per probability
CONTEXT: Final = 64  # samples of the chunk before
WINDOW: Final = 256  # of the Fourier transform, which is stored as a convolution
HOP: Final = 128
BINS: Final = 129
WIDTH: Final = 128  # of the recurrent cell
BLOCK: Final = 512  # chunks at a time: 16 s

_PACKAGE: Final = "silero_vad"
_WEIGHTS: Final = Path("data", "silero_vad_16k.safetensors")
_SHAPES: Final[Mapping[str, tuple[int, ...]]] = {
    "stft_conv.weight": (2 * BINS, 1, WINDOW),
    "conv1.weight": (128, BINS, 3),
    "conv1.bias": (128,),
    "conv2.weight": (64, 128, 3),
    "conv2.bias": (64,),
    "conv3.weight": (64, 64, 3),
    "conv3.bias": (64,),
    "conv4.weight": (WIDTH, 64, 3),
    "conv4.bias": (WIDTH,),
    "lstm_cell.weight_ih": (4 * WIDTH, WIDTH),
    "lstm_cell.weight_hh": (4 * WIDTH, WIDTH),
    "lstm_cell.bias_ih": (4 * WIDTH,),
    "lstm_cell.bias_hh": (4 * WIDTH,),
    "final_conv.weight": (1, WIDTH, 1),
    "final_conv.bias": (1,),
}
_STRIDES: Final = (("conv1", 1), ("conv2", 2), ("conv3", 2), ("conv4", 1))


class SpeechModelError(ExplainedError):
    """The detector's weights are missing or not what they should be."""


@dataclass(frozen=True, eq=False)
class SpeechModel:
    """Weights by name, float32."""

    weights: Mapping[str, NDArray[np.float32]]

    def probabilities(
        self, samples: Samples, cancel: CancelToken | None = None
    ) -> NDArray[np.float32]:
        """How likely each 32 ms of samples [n] at 16 kHz hold speech: 0..1, [ceil(n / 512)].

        Raises Cancelled.
        """
        count = -(-samples.size // CHUNK)
        if not count:
            return np.empty(0, np.float32)
        padded = np.zeros(CONTEXT + count * CHUNK, np.float32)
        padded[CONTEXT : CONTEXT + samples.size] = samples
        chunks = sliding_window_view(padded, CONTEXT + CHUNK)[::CHUNK]  # [count, 576]
        hidden, cell = np.zeros((2, WIDTH), np.float32)
        speech = np.empty(count, np.float32)
        for start in range(0, count, BLOCK):
            if cancel is not None:
                cancel.check()
            gates = self._gates(chunks[start : start + BLOCK])
            for index, inputs in enumerate(gates, start):
                hidden, cell = self._step(inputs, hidden, cell)
                speech[index] = self._likelihood(hidden)
        return speech

    def _gates(self, chunks: Samples) -> NDArray[np.float32]:
        """What the chunks [k, 576] say to the four gates of the recurrent cell: [k, 512]."""
        weights = self.weights
        mirrored = np.concatenate([chunks, chunks[:, -2 : -CONTEXT - 2 : -1]], axis=1)  # [k, 640]
        frames = sliding_window_view(mirrored, WINDOW, axis=1)[:, ::HOP]  # [k, 4, 256]
        parts = frames @ weights["stft_conv.weight"][:, 0].T  # [k, 4, 258]
        sound = np.hypot(parts[..., :BINS], parts[..., BINS:])  # [k, 4, 129]
        for name, stride in _STRIDES:
            sound = _convolved(sound, weights[f"{name}.weight"], weights[f"{name}.bias"], stride)
        bias = weights["lstm_cell.bias_ih"] + weights["lstm_cell.bias_hh"]
        gates: NDArray[np.float32] = sound[:, 0] @ weights["lstm_cell.weight_ih"].T + bias
        return gates

    def _step(self, inputs: Samples, hidden: Samples, cell: Samples) -> tuple[Samples, Samples]:
        """A step of an LSTM cell (Hochreiter and Schmidhuber, 1997); gates in the order i f g o."""
        gates = inputs + self.weights["lstm_cell.weight_hh"] @ hidden  # [512]
        i, f, g, o = gates.reshape(4, WIDTH)
        cell = _sigmoid(f) * cell + _sigmoid(i) * np.tanh(g)
        return _sigmoid(o) * np.tanh(cell), cell

    def _likelihood(self, hidden: Samples) -> np.float32:
        weight, bias = self.weights["final_conv.weight"], self.weights["final_conv.bias"]
        return np.float32(_sigmoid(weight[0, :, 0] @ np.maximum(hidden, 0) + bias)[0])


def load_speech_model() -> SpeechModel:
    """The detector of the installed package `silero-vad`, which itself is not imported.

    Raises SpeechModelError.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise SpeechModelError(
            "The package silero-vad, which tells speech from noise, is not installed.",
            "Start the studio with ./studio, which installs it.",
        )
    path = Path(spec.submodule_search_locations[0]) / _WEIGHTS
    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise SpeechModelError(
            f"The speech detector's weights {path} cannot be read.",
            "Install silero-vad 6.2.1 or newer.",
            repr(error),
        ) from error
    shapes = {name: array.shape for name, array in weights.items()}
    if shapes != dict(_SHAPES):
        raise SpeechModelError(
            f"The speech detector's weights {path} are those of another network.",
            "Install silero-vad 6.2.",
            repr(shapes),
        )
    return SpeechModel(weights)


def _convolved(
    sound: NDArray[np.float32],
    weight: NDArray[np.float32],
    bias: NDArray[np.float32],
    stride: int,
) -> NDArray[np.float32]:
    """relu of a convolution of width 3 over frames [k, t, channels], a frame of zeros around."""
    padded = np.pad(sound, ((0, 0), (1, 1), (0, 0)))
    windows = sliding_window_view(padded, 3, axis=1)[:, ::stride]  # [k, t', channels, 3]
    flat = windows.reshape(*windows.shape[:2], -1)  # [k, t', channels * 3]
    convolved: NDArray[np.float32] = flat @ weight.reshape(len(weight), -1).T + bias
    return np.maximum(convolved, 0)


def _sigmoid(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return (1 / (1 + np.exp(-values))).astype(np.float32)
