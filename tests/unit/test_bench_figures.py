"""What the benchmark makes of its measurements: stages, growth and tables."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from engine.cli.bench_growth import GrowthPoint, Piece, grown, growth
from engine.cli.bench_table import Measured, Way, figures_table, growth_table, ratios_table
from engine.qwen3tts.stage_clock import StageClock

FRAME_SECONDS = 0.08


def minute(slower: float = 0.0) -> list[Piece]:
    """A minute in pieces of 8 frames; a frame takes `slower` seconds more at its end."""
    lengths = [1, 2, 4, *[8] * 92, 7]
    pieces = []
    frames = 0
    for length in lengths:
        frames += length
        talker = 0.01 + slower * frames / 750
        stages = {"talker": length * talker, "codec": 0.03 * length}
        pieces.append(Piece(length, length * (talker + 0.04), stages))
    return pieces


def test_equal_costs_do_not_grow() -> None:
    points = growth(minute(), FRAME_SECONDS)
    assert [point.second for point in points] == [1, 5, 15, 30, 60]
    for point in points:
        assert point.seconds_per_frame == pytest.approx(0.05)
        assert point.stage_seconds_per_frame == pytest.approx({"codec": 0.03, "talker": 0.01})
    assert grown([point.seconds_per_frame for point in points]) == pytest.approx(0)


def test_a_cost_that_grows_is_seen_where_it_is_spent() -> None:
    points = growth(minute(slower=0.025), FRAME_SECONDS)
    assert grown([point.seconds_per_frame for point in points]) == pytest.approx(0.48, abs=0.02)
    assert grown([point.stage_seconds_per_frame["codec"] for point in points]) == pytest.approx(0)


def test_one_piece_that_was_held_up_counts_nothing() -> None:
    pieces = minute()
    for index in (4, 94):  # in the first and in the last window
        pieces[index] = Piece(8, 3.0, pieces[index].stages)
    assert growth(pieces, FRAME_SECONDS) == growth(minute(), FRAME_SECONDS)


def test_short_pieces_and_the_prefill_count_nothing() -> None:
    dear = [Piece(piece.frames, 9.0, {"prefill": 5.0}) for piece in minute()[:3]]
    last = Piece(7, 9.0, {"codec": 9.0})
    assert growth([*dear, *minute()[3:-1], last], FRAME_SECONDS) == growth(minute(), FRAME_SECONDS)
    even = [Piece(8, 5.0, {"prefill": 4.0}), *minute()[3:15]]
    assert growth(even, FRAME_SECONDS)[0].stage_seconds_per_frame.keys() == {"talker", "codec"}


def test_marks_that_are_not_reached_are_left_out() -> None:
    assert [point.second for point in growth(minute()[:12], FRAME_SECONDS)] == [1, 5]
    assert growth(minute()[:3], FRAME_SECONDS) == []
    assert growth([], FRAME_SECONDS) == []


def way(path: str, threads: int = 1) -> Way:
    return Way(path, ("program",), {"threads": threads, "frames": 63, "takes": 1})


def run(seconds: float, memory: int | None = None, **others: Any) -> dict[str, Any]:
    """The figures of a run that made a second of sound in so many seconds."""
    return {
        "precision": "f32",
        "load_seconds": 2.0,
        "prefill_seconds": 0.125,
        "first_audio_seconds": 0.25,
        "seconds": seconds,
        "audio_seconds": 1.0,
        "peak_memory_bytes": memory,
        "stage_seconds_per_frame": {"talker": 0.011, "codec": 0.033},
        **others,
    }


def test_the_table_shows_medians_and_leaves_unknown_cells_empty() -> None:
    measured = [
        Measured(way("auto", 2), [run(0.5, 10**9), run(0.75, 2 * 10**9), run(4.0, 3 * 10**9)]),
        Measured(way("peer"), [run(2.0, prefill_seconds=None)] * 3),
    ]
    head, own, peer = figures_table(measured).splitlines()
    names = "runs as load s prefill s first s RTF ms/frame talker predictor codec peak"
    assert head.split() == names.split()
    assert own.split("  ", 1)[0] == "auto, 2 threads, 63 frames"
    cells = ["f32", "2.00", "0.125", "0.25", "0.75", "60.0", "11.0", "33.0", "2.00", "GB"]
    assert own.split()[5:] == cells
    assert peer.split()[5:] == ["f32", "2.00", "0.25", "2.00", "160.0", "11.0", "33.0"]
    assert len(own) == len(head)  # columns stay below their heads
    assert own.index("33.0") + 4 == head.index("codec") + 5


def test_ratios_are_of_the_same_round_and_task() -> None:
    measured = [
        Measured(way("auto"), [run(0.5, 100), run(5.0, 100), run(1.0, 100)]),
        Measured(way("auto", 2), [run(0.25)] * 3),
        Measured(way("peer"), [run(1.0, 250), run(10.0, 250), run(3.0, 250)]),
        Measured(way("peer", 2), [run(0.75)] * 3),
    ]
    assert ratios_table(measured).splitlines() == [
        "peer, 1 thread, 63 frames   2.00 x the time, 2.50 x the memory of auto",
        "peer, 2 threads, 63 frames  3.00 x the time of auto",
    ]


def test_a_peer_without_sound_is_infinitely_slow() -> None:
    silent = run(1.0, audio_seconds=0.0)
    measured = [Measured(way("auto"), [run(0.5)]), Measured(way("peer"), [silent])]
    assert figures_table(measured).splitlines()[2].split()[-4:] == ["inf", "inf", "11.0", "33.0"]
    assert "inf x the time" in ratios_table(measured)


def points(*costs: float) -> list[dict[str, Any]]:
    return [
        {"second": second, "seconds_per_frame": cost, "stage_seconds_per_frame": {"codec": 0.02}}
        for second, cost in zip((1, 60), costs, strict=True)
    ]


@pytest.mark.parametrize(("last", "verdict"), [(0.05, "within"), (0.051, "over")])
def test_growth_is_judged_by_everything_that_a_frame_takes(last: float, verdict: str) -> None:
    runs = [run(1.0, growth=points(0.04, last)), run(1.0, growth=points(0.04, last))]
    name, head, first, second, judged = growth_table(
        [Measured(way("auto"), runs), Measured(way("peer"), [run(1.0), run(1.0)])]
    ).splitlines()
    assert name == "auto, 1 thread, 63 frames"
    assert head.split() == ["ms/frame", "codec"]
    assert first.split() == ["1", "s", "40.0", "20.0"]
    assert second.split() == ["60", "s", f"{1000 * last:.1f}", "20.0"]
    assert judged.split()[2:] == ["+0%", verdict, "the", "25%", "allowed"]


def test_points_are_what_the_growth_table_reads() -> None:
    """Figures come out of another process as JSON, with these keys."""
    fields = GrowthPoint(1, 0.05, {}).__dataclass_fields__
    assert list(fields) == list(points(0.04, 0.04)[0])


class Doubling(nn.Module):
    def forward(self, rows: Tensor) -> Tensor:
        return 2 * rows

    def twice(self, rows: Tensor) -> Tensor:
        return self.forward(self.forward(rows))

    def fail(self) -> None:
        raise ValueError("no")


def test_a_clock_tells_stages_by_their_calls() -> None:
    module = Doubling()
    clock = StageClock(torch.device("cpu"))
    clock.watch(lambda rows: "many" if len(rows) > 1 else "one", module)
    clock.watch("failing", module, "fail")
    assert module(torch.ones(1)).tolist() == [2.0]
    assert clock.seconds.keys() == {"one"}
    module(torch.ones(3))
    with pytest.raises(ValueError, match="no"):
        module.fail()
    assert clock.seconds.keys() == {"one", "many", "failing"}
    assert min(clock.seconds.values()) > 0
    clock.reset()
    assert not clock.seconds


def test_a_call_within_a_call_counts_once() -> None:
    module = Doubling()
    clock = StageClock(torch.device("cpu"))
    clock.watch("inner", module)
    clock.watch("outer", module, "twice")
    assert module.twice(torch.ones(1)).tolist() == [4.0]
    assert clock.seconds.keys() == {"outer"}
    module(torch.ones(1))
    assert clock.seconds.keys() == {"outer", "inner"}
