"""Memory for packed weights in large pages, where the system has them.

A pass reads every weight once, and with pages of 4 KiB the processor looks up an address for every
64 cache lines. Linux gives pages of 2 MiB to memory that asks for them.
"""

from __future__ import annotations

import ctypes
import sys

import torch
from torch import Tensor

LARGE_PAGE = 2 << 20
CHUNK = 64 << 20  # set aside at once; what is not written takes no room
ALIGNMENT = 64  # of every piece: a cache line

_MADV_HUGEPAGE = 14


class WeightMemory:
    """Hands out pieces of large chunks, one behind the other; they live as long as a piece."""

    def __init__(self) -> None:
        self._chunk = torch.empty(0, dtype=torch.uint8)
        self._used = 0

    def take(self, count: int) -> Tensor:
        """An uninitialised piece, uint8 [count]."""
        if self._used + count > len(self._chunk):
            self._chunk = _large_pages(max(CHUNK, -(-count // LARGE_PAGE) * LARGE_PAGE))
            self._used = 0
        piece = self._chunk[self._used : self._used + count]
        self._used += -(-count // ALIGNMENT) * ALIGNMENT
        return piece


def _large_pages(count: int) -> Tensor:
    """uint8 [count] from the start of a large page on, if the system has any."""
    whole = torch.empty(count + LARGE_PAGE, dtype=torch.uint8)
    first = -whole.data_ptr() % LARGE_PAGE
    chunk = whole[first : first + count]
    if sys.platform == "linux":
        advise = ctypes.CDLL(None).madvise
        advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        # A wish: without large pages the memory serves as well, but for the speed.
        advise(chunk.data_ptr(), count, _MADV_HUGEPAGE)
    return chunk
