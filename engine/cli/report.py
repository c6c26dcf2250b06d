"""Says after a synthesis what was made and how fast, for people and for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.cli.console import Console, readable_bytes
from engine.cli.speaking import LoadedModel, Speech


@dataclass(frozen=True)
class SpeechReport:
    """The keys of `--json`; lists have an entry per take."""

    model: str
    device: str
    precision: str
    seeds: list[int]
    endings: list[str | None]  # "spoken", "limit"; null where the take was stopped
    frames: list[int]
    seconds: list[float]  # of audio
    files: list[str]  # those written; without takes that have no sound
    stopped: bool
    load_seconds: float
    time_to_first_audio: float | None  # seconds after loading; null without audio
    frames_per_second: float  # all takes together
    real_time_factor: float | None  # computing time / length of the audio of all takes
    peak_memory_bytes: int | None  # of the process; null where the system does not tell


def make_report(model: LoadedModel, speech: Speech, files: Sequence[Path]) -> SpeechReport:
    takes = speech.takes
    return SpeechReport(
        model=model.engine.description.name,
        device=model.device,
        precision=model.precision,
        seeds=[take.seed for take in takes],
        endings=[None if take.ending is None else str(take.ending) for take in takes],
        frames=[take.frames for take in takes],
        seconds=[round(take.frames * speech.frame_seconds, 3) for take in takes],
        files=[str(path) for path in files],
        stopped=speech.stopped,
        load_seconds=model.seconds,
        time_to_first_audio=speech.first_audio,
        frames_per_second=speech.frames / speech.seconds if speech.seconds else 0.0,
        real_time_factor=speech.seconds / speech.audio_seconds if speech.frames else None,
        peak_memory_bytes=peak_memory(),
    )


def as_json(report: SpeechReport) -> str:
    """The report in one line."""
    return json.dumps(asdict(report))


def tell(report: SpeechReport, console: Console) -> None:
    """Print the report in sentences."""
    for index, seed in enumerate(report.seeds):
        seconds = report.seconds[index]
        ending = {
            "spoken": "spoken to its end",
            "limit": f"stopped at the limit of {seconds:.3g} s; the text may not be finished",
            None: "stopped",
        }[report.endings[index]]
        name = f"Take {index + 1}" if len(report.seeds) > 1 else "Made"
        console.say(
            f"{name}: {seconds:.2f} s of audio, {report.frames[index]} frames, "
            f"seed {seed}, {ending}"
        )
        if not report.frames[index] and not report.stopped:
            console.say("The model ended at once: there is no sound, and no file is written.")
    if report.time_to_first_audio is not None and report.real_time_factor is not None:
        memory = report.peak_memory_bytes
        peak = "" if memory is None else f", peak memory {readable_bytes(memory)}"
        console.say(
            f"Speed: first audio after {report.time_to_first_audio:.2f} s, "
            f"{report.frames_per_second:.1f} frames/s, "
            f"real-time factor {report.real_time_factor:.2f}{peak}"
        )
    for file in report.files:
        console.say(f"Wrote {file}")


def peak_memory() -> int | None:
    """Bytes of memory that this process held at most, None where the system does not tell."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
