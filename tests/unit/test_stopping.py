"""Commands that are stopped, or cannot tell what they do: nothing made is lost, nothing is left."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.cli.console import Console
from engine.cli.running import DONE, FAILED, STOPPED, interruptible, run_command
from engine.errors import Cancelled, ExplainedError
from engine.families import ModelPair, open_engine
from engine.plain_text import one_line
from engine.types import CancelToken, Sampling, SpeechRequest

BASE = "qwen-talker-1.7b-base-F32.gguf"
CODEC = "qwen-tokenizer-12hz-F32.gguf"
STOPPING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def ended(action: Callable[[], int]) -> tuple[int, str]:
    """Exit code and messages of a command that does `action`."""
    screen = io.StringIO()
    return run_command(action, Console(stream=screen)), screen.getvalue()


# --- what was made is kept ---


@pytest.mark.parametrize("takes", [1, 2])
def test_a_cancel_gives_the_frames_that_were_made(data: Path, takes: int) -> None:
    engine = open_engine(ModelPair(data / BASE, data / CODEC), device="cpu")
    request = SpeechRequest(
        "Good evening.",
        seeds=tuple(range(7, 7 + takes)),
        sampling=Sampling(max_frames=12),
        piece_frames=(4, 100),
    )
    whole = [
        np.concatenate([chunk.codes for chunk in engine.speak(request) if chunk.take == take])
        for take in range(takes)
    ]
    token = CancelToken()
    looked = []

    class Counting(CancelToken):
        def check(self) -> None:
            looked.append(True)
            if token.is_set and len(looked) > most:
                raise Cancelled

    chunks = engine.speak(request, Counting())
    kept = [next(chunks) for _ in range(takes)]
    token.cancel()
    most = len(looked) + 3  # frames more, which no piece holds yet
    with pytest.raises(Cancelled):
        kept += chunks
    for take in range(takes):
        own = [chunk for chunk in kept if chunk.take == take]
        codes = np.concatenate([chunk.codes for chunk in own])
        assert 4 < len(codes) < 12
        np.testing.assert_array_equal(codes, whole[take][: len(codes)])
        assert sum(len(chunk.samples) for chunk in own) == len(codes) * engine.frame_samples
        assert own[-1].start == 4 * engine.frame_samples
        assert own[-1].ending is None


# --- signals ---


@pytest.mark.parametrize("number", STOPPING)
def test_signals_end_work_between_two_steps(number: signal.Signals) -> None:
    before = signal.getsignal(number)

    def work() -> int:
        with interruptible() as cancel:
            signal.raise_signal(number)
            assert cancel.is_set
        return DONE

    assert ended(work) == (DONE, "")
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", STOPPING)
def test_a_second_signal_breaks_off(number: signal.Signals) -> None:
    def work() -> int:
        with interruptible():
            signal.raise_signal(number)
            signal.raise_signal(number)
        raise AssertionError("went on")

    assert ended(work) == (STOPPED, "stopped\n")


def test_ignored_signals_stay_ignored() -> None:
    def work() -> int:
        with interruptible() as cancel:
            signal.raise_signal(signal.SIGHUP)
            assert not cancel.is_set
        return DONE

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert ended(work) == (DONE, "")
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_commands_with_signals_of_their_own_keep_them() -> None:
    before = signal.getsignal(signal.SIGTERM)

    def work() -> int:
        assert signal.getsignal(signal.SIGTERM) is before
        return DONE

    assert run_command(work, Console(), own_signals=True) == DONE


def test_a_terminated_command_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    script = """
import sys, time
from pathlib import Path
from engine.cli.console import Console
from engine.cli.running import run_command
from engine.files import replacing

def work():
    with replacing(Path("made")) as file:
        file.write(b"half")
        print("begun", flush=True)
        time.sleep(60)

sys.exit(run_command(work, Console()))
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
        process.terminate()
        _, told = process.communicate(timeout=30)
    assert (process.returncode, told) == (STOPPED, b"stopped\n")
    assert list(tmp_path.iterdir()) == []


# --- messages ---


class Full(io.StringIO):
    """A stderr on a full disk, or one that nobody reads any more."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_messages_that_cannot_be_written_stop_no_work() -> None:
    console = Console(stream=Full())

    def work() -> int:
        console.say("Loading")
        console.progress("half")
        console.say("Done")
        return DONE

    assert run_command(work, console) == DONE


def test_streams_that_were_closed_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(sys, "stdout", None)
    console = Console()
    console.say("Loading")
    assert run_command(lambda: DONE, console) == DONE


def test_control_characters_of_names_are_spelled_out() -> None:
    assert one_line("a\nb\x1b[2Jc\u2028d é😀\u3000") == r"a\nb\x1b[2Jc\u2028d é😀" + "\u3000"
    assert one_line("gnp\u202eexe\udcff אב\u200d") == r"gnp\u202eexe\udcff אב" + "\u200d"

    def fail() -> int:
        raise ExplainedError("a\nb.wav does not exist.")

    assert ended(fail) == (FAILED, "error: a\\nb.wav does not exist.\n")


# --- what the system refuses ---


def test_errors_of_the_system_are_told_in_one_line(tmp_path: Path) -> None:
    status, told = ended(lambda: len((tmp_path / ("x" * 300)).read_bytes()))
    assert status == FAILED
    assert told.startswith("error: ")
    assert "xxx cannot be used: File name too long. Check its name" in told


def test_errors_of_standard_output_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class FullDisk(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(28, "No space left on device")

    output = io.TextIOWrapper(FullDisk(), "utf-8")

    def work() -> int:
        output.write("report")
        return DONE

    monkeypatch.setattr(sys, "stdout", output)
    status, told = ended(work)
    monkeypatch.undo()
    assert status == FAILED
    assert told.startswith("error: Standard output cannot be written: No space left on device.")


@pytest.mark.parametrize(
    "message",
    [
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes.",
        "CUDA out of memory. Tried to allocate 2.00 GiB.",
    ],
)
def test_memory_that_torch_does_not_get_is_explained(message: str) -> None:
    def fail() -> int:
        raise RuntimeError(message)

    status, told = ended(fail)
    assert status == FAILED
    assert told.startswith("error: There is not enough memory.")


def test_mistakes_of_the_program_are_not_hidden() -> None:
    def fail() -> int:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        ended(fail)
