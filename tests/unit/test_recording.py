"""Recording by itself: what CUDA is asked to do, what the tape of the tests allows, what fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from app.commands.doctor import find_facts
from engine.nn.graphs import CaptureError, CudaGraphs, Recordings, reason_of, try_out
from engine.nn.rope import RotaryTable
from engine.runtime import Runtime, choose_runtime
from tests.tape import TapeGraphs

CPU = torch.device("cpu")


def test_angles_of_positions_on_the_device_are_those_of_the_table() -> None:
    table = RotaryTable(64, 1e6, CPU, torch.float32)
    for position in (0, 7, 3000):
        right = table.at(position, 5)
        mine = table.at(torch.tensor(position), 5)
        assert torch.equal(torch.stack(right), torch.stack(mine))


def test_recordings_used_last_are_kept() -> None:
    number = torch.zeros(1)

    def body() -> None:
        number.add_(1)

    made = Recordings(TapeGraphs(), most=2)
    for key in "ab":
        made.add(key, body)
    made.replay("a")
    made.add("c", body)
    assert [key in made for key in "abc"] == [True, False, True]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x.tolist(),
        lambda x: x.sum().item(),
        lambda x: bool(x.sum() > 0),
        lambda x: float(x[0]),
        lambda x: x.numpy(),
        lambda x: x[x > 0],
        lambda x: x.nonzero(),
        lambda x: torch.unique(x),
        lambda x: x + torch.tensor([1.0, 2.0]),
        lambda x: x.index_put_((x > 0,), torch.zeros(())),
    ],
)
@torch.inference_mode()
def test_the_tape_refuses_what_a_cuda_graph_would(wrong: Callable[[Tensor], object]) -> None:
    x = torch.ones(2)

    def body() -> None:
        wrong(x)

    with pytest.raises(CaptureError, match="not allowed"):
        TapeGraphs().record(body)


@torch.inference_mode()
def test_a_tape_repeats_what_was_done_in_the_same_memory() -> None:
    x, sums, counts = torch.zeros(3), torch.zeros(()), torch.zeros(2, dtype=torch.long)
    python = [0]

    def body() -> None:
        python[0] += 1  # frozen, as in a graph
        last = (x * 2).reshape(3, 1)[2:]
        sums.copy_(last.sum() + python[0])
        counts[1] = (x > 1).sum()

    replay = TapeGraphs().record(body)
    x.copy_(torch.tensor([1.0, 2.0, 3.0]))
    replay()
    x[2] = 5
    replay()
    assert python == [3], "two to warm up and one to record"
    assert float(sums) == 13
    assert counts.tolist() == [0, 2]


@torch.inference_mode()
def test_what_a_tape_leaves_behind_is_of_no_use() -> None:
    left: list[Tensor] = []
    x = torch.ones(2)
    replay = TapeGraphs().record(lambda: left.append(x + 1))
    replay()
    assert left[-1].isnan().all()


class FakeCuda:
    """`torch.cuda` as far as recording needs it: a stream is a name."""

    class CUDAGraph:
        replays = 0

        def pool(self) -> tuple[int, int]:
            return (0, id(self))

        def replay(self) -> None:
            self.replays += 1

    def __init__(self) -> None:
        self.stream_now = "main"
        self.log: list[str] = []
        self.pools: list[object] = []

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for name in ("CUDAGraph", "Stream", "current_stream", "device", "graph", "set_stream"):
            patch.setattr(torch.cuda, name, getattr(self, name))
        patch.setattr(torch.cuda, "stream", self.switched)

    def Stream(self) -> SimpleNamespace:
        return SimpleNamespace(name="side", wait_stream=lambda other: self.log.append("wait"))

    def current_stream(self) -> SimpleNamespace:
        now = self.stream_now
        return SimpleNamespace(name=now, wait_stream=lambda other: self.log.append("wait"))

    def set_stream(self, stream: SimpleNamespace) -> None:
        self.stream_now = stream.name

    @contextmanager
    def device(self, device: torch.device) -> Iterator[None]:
        yield

    @contextmanager
    def switched(self, stream: SimpleNamespace) -> Iterator[None]:
        before, self.stream_now = self.stream_now, stream.name
        yield
        self.stream_now = before

    @contextmanager
    def graph(
        self, graph: CUDAGraph, pool: object, stream: SimpleNamespace, capture_error_mode: str
    ) -> Iterator[None]:
        """As that of torch: it stays on its stream where a recording cannot be ended."""
        assert capture_error_mode == "thread_local"
        self.pools.append(pool)
        before, self.stream_now = self.stream_now, stream.name
        try:
            yield
        except RuntimeError:
            raise RuntimeError("CUDA error: the capture was invalidated") from None
        self.stream_now = before


def test_graphs_are_recorded_on_a_side_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, streams = FakeCuda(), []
    cuda.install(monkeypatch)
    graphs = CudaGraphs(CPU)
    replays = [graphs.record(lambda: streams.append(cuda.stream_now)) for _ in range(2)]
    assert streams == ["side"] * 6, "two to warm up and one to record, each"
    assert cuda.log == ["wait"] * 4, "before and behind each warming up"
    assert cuda.stream_now == "main"
    own, *shared = cuda.pools
    assert own is None
    assert len(set(shared)) == 1, "all share the scratch memory of the first graph"
    for replay in replays:
        replay()


def test_a_failed_recording_leaves_the_side_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, ran = FakeCuda(), [0]
    cuda.install(monkeypatch)

    def body() -> None:
        ran[0] += 1
        if ran[0] == 3:
            raise RuntimeError("CUDA error: not permitted when stream is capturing\nCompile ...")

    with pytest.raises(CaptureError, match=r"^CUDA error: .* capturing$"):
        CudaGraphs(CPU).record(body)
    assert cuda.stream_now == "main"


def test_only_cuda_devices_record(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_runtime("cpu").graphs is None
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    assert isinstance(choose_runtime("cuda:0").graphs, CudaGraphs)


def test_a_device_is_tried_out() -> None:
    assert try_out(TapeGraphs(), CPU) == ""
    assert "stream is capturing" in try_out(TapeGraphs(fails_after=0), CPU)


def test_the_doctor_says_whether_frames_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    for graphs, fact in (
        (None, "none on cpu; on a CUDA device"),
        (TapeGraphs(), "frames are replayed"),
        (TapeGraphs(fails_after=0), "cannot be used: CUDA error: operation not permitted"),
    ):
        runtime = Runtime(CPU, torch.float32, graphs=graphs)
        monkeypatch.setattr("engine.runtime.choose_runtime", lambda runtime=runtime: runtime)
        assert find_facts(None, ())["CUDA graphs"].startswith(fact)


def test_the_first_of_several_errors_says_why() -> None:
    def fail() -> None:
        try:
            raise RuntimeError("CUDA out of memory.\nTried to allocate 3 GiB.")
        finally:
            raise RuntimeError("The recording cannot be ended.")

    with pytest.raises(RuntimeError, match="cannot be ended") as caught:
        fail()
    assert reason_of(caught.value) == "CUDA out of memory"
