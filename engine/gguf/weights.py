"""Hands out the tensors of a file once each, by name and shape, and notices what nobody wanted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Final, TypeAlias

import torch
from torch import Tensor

from engine.errors import ModelFileError
from engine.gguf.blocks import BLOCKS
from engine.gguf.header import TensorInfo, TensorType, quoted
from engine.gguf.reader import GgufFile
from engine.types import CancelToken, Progress

Shape: TypeAlias = tuple[int, ...]

PIECE_BYTES: Final = 2 << 20
"""Stored bytes read at a time: the pace of progress and cancelling."""

UNPACKED_VALUES: Final = 1 << 16
"""Values unpacked at a time. The intermediate ones stay in the cache; larger ones that come and go
between tensors that stay would tear holes of hundreds of megabytes into the memory."""

_LISTED_NAMES: Final = 10
_OTHER_KIND: Final = "It was made for another program or another version: download it again."

_PLAIN: Final[Mapping[TensorType, torch.dtype]] = MappingProxyType(
    {
        TensorType.F32: torch.float32,
        TensorType.F16: torch.float16,
        TensorType.BF16: torch.bfloat16,
    }
)
"""Types whose stored bytes are those of a tensor in memory."""


class _Source:
    """Reads a file piece by piece, tells the progress and stops when cancelled."""

    def __init__(
        self, file: GgufFile, progress: Progress | None, cancel: CancelToken | None
    ) -> None:
        self.file = file
        self.total = sum(info.nbytes for info in file.tensors.values())
        self._done = 0
        self._progress = progress
        self._cancel = cancel
        self._staging = torch.empty(0, dtype=torch.uint8)

    def staging(self, size: int) -> Tensor:
        """Memory for stored bytes, uint8 [size]: the same one every time."""
        if size > self._staging.numel():
            self._staging = torch.empty(max(size, PIECE_BYTES), dtype=torch.uint8)
        return self._staging[:size]

    def read(self, info: TensorInfo, start: int, target: Tensor) -> None:
        """Fill `target`, uint8 [n] in main memory, from byte `start` of the tensor."""
        memory = target.numpy().data
        for first in range(0, len(memory), PIECE_BYTES):
            if self._cancel is not None:
                self._cancel.check()
            piece = memory[first : first + PIECE_BYTES]
            self.file.read(info, start + first, piece)
            # A tensor may be read twice; the total counts it once.
            self._done = min(self._done + len(piece), self.total)
            if self._progress is not None:
                self._progress(self._done, self.total)


@dataclass(frozen=True, eq=False)
class StoredTensor:
    """A tensor that was asked for by name and shape; its values are still in the file.

    The file must stay open until they are read. Reading raises `ModelFileError` when the file
    has changed, and `Cancelled`.
    """

    name: str
    type: TensorType
    shape: Shape  # as asked for
    _info: TensorInfo
    _source: _Source

    def to_torch(self, dtype: torch.dtype, device: torch.device) -> Tensor:
        """The values, of `shape`, dequantised where needed.

        Besides the result, only one piece of the stored bytes and of its float32 values is in
        memory at a time. Quantised pieces are unpacked on `device`.
        """
        elements = math.prod(self.shape)
        values = torch.empty(elements, dtype=dtype, device=device)
        if _PLAIN.get(self.type) == dtype and values.device.type == "cpu":
            self._source.read(self._info, 0, values.view(torch.uint8))
            return values.reshape(self.shape)

        block = BLOCKS[self.type]
        blocks_per_piece = PIECE_BYTES // block.block_bytes
        piece_elements = blocks_per_piece * block.block_size
        unpacked_bytes = UNPACKED_VALUES // block.block_size * block.block_bytes
        staging = self._source.staging(min(blocks_per_piece * block.block_bytes, self._info.nbytes))
        start = 0
        for part in torch.split(values, piece_elements):
            stored = staging[: part.numel() // block.block_size * block.block_bytes]
            self._source.read(self._info, start, stored)
            packed = torch.split(stored.to(values.device), unpacked_bytes)
            for values_here, bytes_here in zip(
                torch.split(part, UNPACKED_VALUES), packed, strict=True
            ):
                values_here.copy_(block.dequantize(bytes_here.unsqueeze(0)).squeeze(0))
            start += stored.numel()
        return values.reshape(self.shape)

    def pieces(self, unit: int) -> Iterator[Tensor]:
        """The stored bytes in order, uint8 [n] in main memory, in pieces of whole units of bytes.

        The last one may end within a unit. The next piece takes the memory of the one before.
        """
        size = max(1, PIECE_BYTES // unit) * unit
        staging = self._source.staging(min(size, self._info.nbytes))
        for start in range(0, self._info.nbytes, size):
            piece = staging[: self._info.nbytes - start]
            self._source.read(self._info, start, piece)
            yield piece

    def raw(self) -> Tensor:
        """The bytes as they are stored, uint8 [rows, row_bytes] in main memory.

        A row is the innermost dimension in the file; for a tensor stored without its dimensions
        of size 1, that may be another one than the last of `shape`.
        """
        rows = math.prod(self._info.shape[:-1])
        stored = torch.empty(self._info.nbytes, dtype=torch.uint8)
        self._source.read(self._info, 0, stored)
        return stored.reshape(rows, -1)


class Weights:
    """The tensors of one open file, each to be taken once or skipped on purpose.

    `progress` is told (bytes read, bytes to read), where skipped tensors are not to be read;
    `cancel` is looked at once per piece.
    """

    def __init__(
        self,
        file: GgufFile,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> None:
        self._file = file
        self._source = _Source(file, progress, cancel)
        self._left = dict(file.tensors)

    def __contains__(self, name: str) -> bool:
        return name in self._file.tensors

    def shape(self, name: str) -> Shape:
        """The stored shape, outermost dimension first; `ModelFileError` if there is none."""
        return self._info(name).shape

    def take(self, name: str, shape: tuple[int | None, ...]) -> StoredTensor:
        """The tensor `name` of `shape`, where None stands for any size.

        GGUF drops dimensions of size 1, so the stored shape may have fewer or more of them; the
        result has the shape that was asked for. Raises `ModelFileError` when the tensor is missing
        or has another shape.
        """
        info = self._info(name)
        assert name in self._left, f"{name} was taken or skipped before"
        resolved = _resolve(info.shape, shape)
        if resolved is None:
            wanted = "[" + ", ".join("any" if size is None else str(size) for size in shape) + "]"
            where = self._file.holder(name)
            message = f"{where}: tensor {quoted(name)} has shape {list(info.shape)}"
            raise ModelFileError(f"{message}, not {wanted}.", _OTHER_KIND)
        del self._left[name]
        return StoredTensor(name, info.type, resolved, info, self._source)

    def skip(self, prefix: str) -> None:
        """Leave out, on purpose, all tensors not yet taken whose names begin with `prefix`."""
        for name in [name for name in self._left if name.startswith(prefix)]:
            self._source.total -= self._left.pop(name).nbytes

    def finish(self) -> None:
        """Raise `ModelFileError`, listing them, if tensors were neither taken nor skipped."""
        if not self._left:
            return
        names = [quoted(name) for name in self._left]
        listed = ", ".join(names[:_LISTED_NAMES])
        if len(names) > _LISTED_NAMES:
            listed += f" and {len(names) - _LISTED_NAMES} more"
        message = f"{self._file.path} holds tensors that do not belong in this model: {listed}."
        raise ModelFileError(message, _OTHER_KIND, detail="\n".join(names))

    def _info(self, name: str) -> TensorInfo:
        info = self._file.tensors.get(name)
        if info is None:
            message = f"{self._file.path} has no tensor {quoted(name)}."
            raise ModelFileError(message, _OTHER_KIND)
        return info


def _resolve(stored: Shape, wanted: tuple[int | None, ...]) -> Shape | None:
    """`wanted` with its sizes filled in from `stored`, or None if they do not fit together.

    Equal numbers of dimensions are matched one by one, otherwise dimensions of size 1 count for
    nothing; an unknown size may turn out to be 1, the outermost first.
    """

    def fits(sizes: Shape) -> bool:
        return all(want in (None, size) for want, size in zip(wanted, sizes, strict=True))

    if len(stored) == len(wanted) and fits(stored):
        return stored
    sizes = [size for size in stored if size != 1]
    unknown = [axis for axis, want in enumerate(wanted) if want is None]
    surplus = sum(want != 1 for want in wanted) - len(sizes)
    if surplus < 0:
        return None
    for ones in combinations(unknown, surplus):
        remaining = iter(sizes)
        candidate = tuple(
            1 if want == 1 or axis in ones else next(remaining) for axis, want in enumerate(wanted)
        )
        if fits(candidate):
            return candidate
    return None
