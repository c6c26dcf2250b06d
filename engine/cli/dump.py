"""Writes the named intermediate tensors of a synthesis as .npy files, for comparing engines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.cli.speaking import Speech
from engine.errors import ExplainedError
from engine.files import replacing
from engine.types import SpeechRequest

if TYPE_CHECKING:
    from torch import Tensor


class Dump:
    """A folder of arrays `NAME.npy`; `probe` is what the engine calls, the rest comes after."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def probe(self, name: str, tensor: Tensor) -> None:
        """Write a tensor as float32 or as the integers it holds."""
        plain = tensor.float() if tensor.is_floating_point() else tensor
        self._write(name, plain.cpu().numpy())

    def request(self, request: SpeechRequest) -> None:
        """Write what a cloned voice consists of: spk-emb [width], ref-codes [16, T]."""
        voice = request.voice
        if voice is not None and voice.embedding is not None:
            self._write("spk-emb", voice.embedding)
        if voice is not None and voice.codes is not None:
            self._write("ref-codes", voice.codes.T)

    def speech(self, speech: Speech) -> None:
        """Write the first take: codes-full [T, 16] and output-audio [n]; nothing if it is empty."""
        take = speech.takes[0]
        if take.frames:
            self._write("codes-full", np.concatenate(take.codes))
            self._write("output-audio", np.concatenate(take.samples))

    def _write(self, name: str, array: NDArray[Any]) -> None:
        path = self._folder / f"{name}.npy"
        try:
            with replacing(path) as file:
                np.save(file, np.ascontiguousarray(array), allow_pickle=False)
        except OSError as error:
            raise ExplainedError(
                f"{path} cannot be written: {error.strerror}.", "Choose another folder to dump to."
            ) from error
