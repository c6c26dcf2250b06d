"""Reads tensors from the safetensors files of a checkpoint folder, some rows at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from engine.errors import ModelFileError
from engine.gguf.convert.settings import Settings
from engine.gguf.header import quoted

_SINGLE: Final = "model.safetensors"
_INDEX: Final = "model.safetensors.index.json"
_FLOATS: Final = ("F32", "BF16", "F16")
_AGAIN: Final = "Download the folder again."


class CheckpointTensors:
    """The tensors of `model.safetensors`, or of the files that its index lists.

    Use it as a context manager. Everything raises `ModelFileError` where files are missing or
    damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stack = ExitStack()
        self._file_of: dict[str, Path] = {}
        self._open: dict[Path, Any] = {}
        try:
            for path in _files(folder):
                opened = self._open[path] = self._stack.enter_context(_opened(path))
                self._file_of |= dict.fromkeys(opened.keys(), path)
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def __contains__(self, name: str) -> bool:
        return name in self._file_of

    def names(self) -> list[str]:
        return sorted(self._file_of)

    def check(self, name: str, shape: tuple[int, ...]) -> None:
        """Raise `ModelFileError` unless there is a tensor of floats with that name and shape."""
        if name not in self:
            hint = "Choose a folder of an official checkpoint."
            raise ModelFileError(f"{self.folder} has no tensor {quoted(name)}.", hint)
        where = self.where(name)
        stored = self._slice(name)
        if tuple(stored.get_shape()) != shape:
            message = f"{where} has shape {stored.get_shape()}, but config.json means {list(shape)}"
            raise ModelFileError(f"{message}.", "Its files do not belong together: " + _AGAIN)
        if stored.get_dtype() not in _FLOATS:
            message = f"{where} has the type {stored.get_dtype()}, not one of {', '.join(_FLOATS)}"
            raise ModelFileError(f"{message}.", "Choose the unquantised checkpoint.")

    def where(self, name: str) -> str:
        """File and tensor, for a message."""
        return f"{self._file_of[name]}: tensor {quoted(name)}"

    def pieces(self, name: str, values: int) -> Iterator[Tensor]:
        """The tensor as float32, flat, about `values` of them at a time, whole rows."""
        stored = self._slice(name)
        shape = stored.get_shape()
        rows = max(1, values // math.prod(shape[1:]))
        for first in range(0, shape[0], rows):
            try:
                yield stored[first : first + rows].to(torch.float32).reshape(-1)
            except SafetensorError as error:
                raise ModelFileError(f"{self.where(name)}: {error}.", _AGAIN) from error

    def whole(self, name: str) -> Tensor:
        """The tensor as float32."""
        shape = self._slice(name).get_shape()
        return next(self.pieces(name, math.prod(shape))).reshape(shape)

    def _slice(self, name: str) -> Any:  # safetensors types what it gives as Any
        return self._open[self._file_of[name]].get_slice(name)


def _files(folder: Path) -> list[Path]:
    if (folder / _INDEX).exists():
        index = Settings.read(folder / _INDEX)
        named = index.section("weight_map").values.values()
        names = sorted({str(name) for name in named})
        for name in names:
            if Path(name).name != name:  # would lead out of the folder
                raise ModelFileError(f"{folder / _INDEX} names the file {quoted(name)}.", _AGAIN)
            if not (folder / name).is_file():
                raise ModelFileError(f"{folder} has no {name}, which its index lists.", _AGAIN)
        return [folder / name for name in names]
    if (folder / _SINGLE).is_file():
        return [folder / _SINGLE]
    pickles = sorted(folder.glob("pytorch_model*.bin"))
    if pickles:
        raise ModelFileError(
            f"{folder} holds its weights in {pickles[0].name} only, a format that can run programs "
            "when it is opened, so it is not read.",
            "Get the checkpoint as model.safetensors.",
        )
    raise ModelFileError(f"{folder} has no {_SINGLE}.", "Choose a folder of a checkpoint.")


def _opened(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            start = file.read(16)
        if start.startswith(b"version https://"):
            message = f"{path} is a Git LFS pointer, not the weights themselves."
            raise ModelFileError(message, "Fetch the real file with `git lfs pull`.")
        return safe_open(path, framework="pt")
    except (OSError, SafetensorError) as error:
        raise ModelFileError(f"{path} cannot be read: {error}.", _AGAIN) from error
