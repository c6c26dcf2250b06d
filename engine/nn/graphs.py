"""Recording work on fixed memory, to be repeated with one launch.

A frame is some three thousand small kernels. Python and the driver take longer to launch them one
after the other than a GPU takes to compute them; a CUDA graph launches all of them at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import torch

SAFE_TORCH = (2, 13)  # older ones keep their scratch memory locked when a recording fails
WARM_UPS = 2  # before a recording: libraries choose their kernels and set aside their memory

Replay: TypeAlias = Callable[[], None]
"""Repeats what was recorded, on the values that its memory holds by then."""


class CaptureError(Exception):
    """Work could not be recorded; the text says why."""


class Graphs(Protocol):
    """A way to record work."""

    def record(self, body: Callable[[], None]) -> Replay:
        """Record what `body` does with tensors.

        It is called several times before anything is replayed. What it does depends on shapes
        alone: it never looks at values. What outlasts it lies in tensors made before, whose
        memory stays the same; the recording keeps `body` alive, and with it all that it reaches.
        Raises CaptureError.
        """
        ...


class CudaGraphs:
    """Records CUDA graphs.

    All of them share their scratch memory: none runs beside another, and none leaves anything
    there that is still needed when the next one runs.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._first: torch.cuda.CUDAGraph | None = None

    def record(self, body: Callable[[], None]) -> Replay:
        with torch.cuda.device(self._device):
            stream = torch.cuda.current_stream()
            try:
                self._warm_up(body, stream)
                return _CudaRecording(self._capture(body), body)
            except RuntimeError as error:  # of CUDA, of its memory, of an operation
                raise CaptureError(reason_of(error)) from error
            finally:
                # torch stays on the stream of a recording that could not be ended.
                torch.cuda.set_stream(stream)

    def _warm_up(self, body: Callable[[], None], stream: torch.cuda.Stream) -> None:
        self._side.wait_stream(stream)
        with torch.cuda.stream(self._side):
            for _ in range(WARM_UPS):
                body()
        stream.wait_stream(self._side)

    def _capture(self, body: Callable[[], None]) -> torch.cuda.CUDAGraph:
        if self._first is None:
            # The allocator has no further use for scratch memory that all graphs have left: one
            # graph that is never replayed stays there.
            number = torch.zeros(1, device=self._device)
            self._first = self._graph_of(number.zero_, None)
        return self._graph_of(body, self._first.pool())

    def _graph_of(self, body: Callable[[], object], pool: Any) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        # What other threads do with CUDA must not break the recording.
        with torch.cuda.graph(
            graph, pool=pool, stream=self._side, capture_error_mode="thread_local"
        ):
            body()
        return graph

    @cached_property
    def _side(self) -> torch.cuda.Stream:
        """Recordings are made on a stream of their own, as CUDA asks for."""
        return torch.cuda.Stream()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, eq=False)
class _CudaRecording:
    """The graph knows addresses only; the body knows whose they are."""

    graph: torch.cuda.CUDAGraph
    body: Callable[[], None]

    def __call__(self) -> None:
        self.graph.replay()


class Recordings:
    """The recordings used last, by what they are of."""

    def __init__(self, graphs: Graphs, most: int) -> None:
        self._graphs = graphs
        self._most = most
        self._replays: OrderedDict[Hashable, Replay] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._replays

    def add(self, key: Hashable, body: Callable[[], None]) -> None:
        """Record, and forget the recording that was not used for longest if there are too many.

        Raises CaptureError.
        """
        self._replays[key] = self._graphs.record(body)
        if len(self._replays) > self._most:
            self._replays.popitem(last=False)

    def replay(self, key: Hashable) -> None:
        self._replays.move_to_end(key)
        self._replays[key]()

    def clear(self) -> None:
        self._replays.clear()


def survives_failed_recordings() -> bool:
    """Whether this torch's memory can be used after a recording that failed (pytorch #180395)."""
    major, minor = torch.__version__.split(".")[:2]
    return (int(major), int(minor)) >= SAFE_TORCH


def reason_of(error: Exception) -> str:
    """The first line of what the first of several errors says, to be put into a sentence.

    A recording in which something fails cannot be ended either, and that is what is raised.
    """
    while isinstance(error.__context__, RuntimeError):
        error = error.__context__
    return str(error).partition("\n")[0].rstrip(".")


def try_out(graphs: Graphs, device: torch.device) -> str:
    """Why recordings do not work on this device, or nothing."""
    try:
        number = torch.zeros(1, device=device)
        replay = graphs.record(lambda: _add_one(number))
        number.zero_()
        replay()
        return "" if float(number) == 1 else "a recording was not repeated"
    except (CaptureError, RuntimeError) as error:
        return reason_of(error)


def _add_one(number: torch.Tensor) -> None:
    number.add_(1)
