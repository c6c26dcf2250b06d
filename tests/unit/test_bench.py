"""The benchmark measures real runs in processes of their own, and peers beside them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from engine.cli import bench
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
    own, others = json.loads(figures.read_text()).values()
    assert own[0]["audio_seconds"] == pytest.approx(5 * 0.08)
    assert own[0]["precision"] == "f32"
    assert set(own[0]["stage_seconds_per_frame"]) == {"talker", "predictor", "codec"}
    assert 0 < own[0]["first_audio_seconds"] <= own[0]["seconds"]
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
