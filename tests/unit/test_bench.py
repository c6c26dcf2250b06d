"""The benchmark measures real runs in processes of their own, and peers beside them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.cli import bench
from engine.cli.bench_table import Way
from engine.native.library import SWITCH, find_library
from tests.fakes import BASE, CODEC, DATA

PAIR = ["--model", str(DATA / BASE), "--codec", str(DATA / CODEC)]
PEER = """
import json, sys
wish = json.loads(sys.argv[1])
print("words of a library")
print(json.dumps({
    "precision": "as stored", "load_seconds": 1.0, "first_audio_seconds": 0.5,
    "seconds": 0.16 * wish["frames"], "audio_seconds": 0.08 * wish["frames"],
    "peak_memory_bytes": None, "stage_seconds_per_frame": {},
}))
"""


def test_a_pair_and_a_peer_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    peer = tmp_path / "peer.py"
    peer.write_text(PEER)
    figures = tmp_path / "figures.json"
    options = ["--frames", "5", "--threads", "1", "--takes", "2", "--rounds", "1", "--quiet"]
    command = f"other={sys.executable} {peer}"
    assert bench.main([*PAIR, *options, "--peer", command, "--json", str(figures)]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[1].startswith("auto, 1 thread, 5 frames, 2 takes")
    assert table[2].startswith("other, 1 thread, 5 frames")
    assert "160.0" in table[2]
    assert not table[3:]  # other takes: nothing to compare with
    own, others = json.loads(figures.read_text()).values()
    assert own[0]["audio_seconds"] == pytest.approx(5 * 0.08)
    assert own[0]["precision"] == "f32"
    assert set(own[0]["stage_seconds_per_frame"]) == {"talker", "predictor", "codec"}
    assert 0 < own[0]["prefill_seconds"] < own[0]["first_audio_seconds"] <= own[0]["seconds"]
    assert own[0]["growth"] == []  # not a second long
    assert others[0]["seconds"] == pytest.approx(0.8)


def test_a_peer_that_fails_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    peer = tmp_path / "peer.py"
    peer.write_text("raise SystemExit('no such model')")
    options = ["--frames", "4", "--threads", "1", "--rounds", "1", "--quiet"]
    command = f"other={sys.executable} {peer}"
    assert bench.main([*PAIR, *options, "--peer", command]) == 1
    assert "no such model" in capsys.readouterr().err


def test_a_peer_needs_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main([*PAIR, "--peer", "other"]) == 1
    assert "names no command" in capsys.readouterr().err


def test_the_growth_of_one_long_utterance_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peer = tmp_path / "peer.py"
    peer.write_text(PEER)
    options = ["--growth", "--frames", "64", "--threads", "1", "--rounds", "1", "--quiet"]
    assert bench.main([*PAIR, *options, "--peer", f"other={sys.executable} {peer}"]) == 0
    figures, ratios, growth = capsys.readouterr().out.split("\n\n")
    assert len(figures.splitlines()) == 3
    assert ratios.startswith("other, 1 thread, 64 frames  ")
    assert ratios.endswith(" x the time of auto")
    name, head, *marks, verdict = growth.splitlines()
    assert name == "auto, 1 thread, 64 frames"
    assert head.split() == ["ms/frame", "talker", "predictor", "codec"]
    assert [mark.split()[:2] for mark in marks] == [["1", "s"], ["5", "s"]]
    assert verdict.split()[0] == "growth"


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[Way]:
    """The ways that a benchmark asks for, in order; none of them is run."""
    asked: list[Way] = []

    def note(way: Way) -> dict[str, Any]:
        asked.append(way)
        return {
            "precision": "f32",
            "load_seconds": 1.0,
            "first_audio_seconds": 0.5,
            "seconds": 0.04 * way.wish["frames"],
            "audio_seconds": 0.08 * way.wish["frames"],
            "peak_memory_bytes": 1_000_000,
            "stage_seconds_per_frame": {},
        }

    monkeypatch.setattr(bench, "_run", note)
    return asked


def test_paths_and_threads_may_be_listed_with_commas(ways: list[Way]) -> None:
    options = ["--paths", "int8,int8-torch", "f32", "--threads", "1,2", "--rounds", "1", "--quiet"]
    assert bench.main([*PAIR, *options]) == 0
    assert [way.name for way in ways] == [
        f"{path}, {threads}, 63 frames"
        for path in ("int8", "int8-torch", "f32")
        for threads in ("1 thread", "2 threads")
    ]
    assert [way.wish["precision"] for way in ways[::2]] == ["int8", "int8", "f32"]
    assert [way.environment for way in ways[::2]] == [{}, {SWITCH: "0"}, {}]


def test_peers_take_turns_with_every_round(ways: list[Way]) -> None:
    options = ["--threads", "2", "--rounds", "2", "--quiet", "--frames", "9,18"]
    assert bench.main([*PAIR, *options, "--peer", "a=x", "--peer", "b=y z"]) == 0
    assert [(way.path, way.wish["frames"]) for way in ways] == 2 * [
        (path, frames) for path in ("auto", "a", "b") for frames in (9, 18)
    ]
    assert ways[4].command == ("y", "z")


def test_a_minute_is_spoken_to_see_growth(ways: list[Way]) -> None:
    assert bench.main([*PAIR, "--growth", "--threads", "1", "--rounds", "1", "--quiet"]) == 0
    assert [way.wish["frames"] for way in ways] == [750]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--paths", "int8,int9"], "'int9' is none of auto, int8, int8-torch"),
        (["--threads", "1,,2"], "'' is not a whole number"),
        (["--threads", "0"], "0 is out of range"),
        (["--growth", "--frames", "62"], "63 frames or more"),
    ],
)
def test_wrong_options_are_told(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.main([*PAIR, *options]) == 1
    assert words in capsys.readouterr().err


def test_the_native_step_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "0")
    found = find_library()
    assert found.library is None
    assert SWITCH in found.reason
