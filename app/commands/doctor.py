"""The command `voice-studio doctor`: how speech is computed on this computer, and why so."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from app.commands.say import model_folders
from app.core.models import FoundModels, find_models, is_demo
from app.core.paths import studio_paths
from engine.cli.running import DONE
from engine.plain_text import one_line

if TYPE_CHECKING:
    from engine.native.library import Library
    from engine.runtime import Runtime


def examine(home: Path | None, extra: tuple[Path, ...], *, as_json: bool) -> int:
    """Print what is found and return the exit code; imports torch. Raises ExplainedError."""
    facts = find_facts(home, extra)
    if as_json:
        print(json.dumps(facts))
        return DONE
    width = max(map(len, facts))
    for name, fact in facts.items():
        print(one_line(f"{name:{width}}  {fact}"))
    return DONE


def find_facts(home: Path | None, extra: tuple[Path, ...]) -> dict[str, str]:
    """What decides how speech is computed, each in a few words; raises ExplainedError."""
    from engine.native.library import find_library
    from engine.nn.halves import find_halves
    from engine.runtime import choose_runtime, usable_threads

    found = find_library()
    runtime = choose_runtime()
    native = runtime.device.type == "cpu" and found.library is not None
    paths = studio_paths(home)
    models = find_models(model_folders(paths, extra), paths.demo)
    float_name = "16-bit" if runtime.precision == "bf16" else "32-bit"
    by_torch = find_halves()
    if native:
        weights = "packed weights, natively"
    elif runtime.device.type == "cpu" and by_torch.weights is not None:
        weights = f"{by_torch.weights.name}, by torch"
    else:
        weights = f"{float_name} floats, by torch"
    return {
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "torch": version("torch"),
        "device": str(runtime.device),
        "threads": f"{usable_threads()} of {os.cpu_count()} cores",
        "native step": found.reason,
        "CUDA graphs": _graphs_fact(runtime),
        "torch products": by_torch.reason + (" Not used: the native step is." if native else ""),
        "quantised models": f"run from {weights}",
        "other models": f"run in {runtime.precision}, by torch",
        "sound": _sound_fact(found.library if native else None),
        "model folders": ", ".join(str(folder) for folder in models.folders),
        "installed": _installed_fact(models),
    }


def _sound_fact(library: Library | None) -> str:
    """How the codec's convolutions run for quantised models."""
    from engine.native.waves import unfit_waves

    reason = "" if library is None else unfit_waves(library)
    if library is None or reason:
        return f"convolutions by torch, in 32-bit floats{f': {reason}' if reason else ''}"
    return "convolutions of quantised models in 16-bit integers, natively"


def _installed_fact(models: FoundModels) -> str:
    """How many model files there are beside those that come with the studio."""
    large = [talker for talker in models.talkers if not is_demo(talker)]
    codecs = [codec for codec in models.codecs if not codec.name]
    demo = len(large) < len(models.talkers)
    return (
        f"talkers: {len(large)}, tokenizers: {len(codecs)}"
        f"{', and the demonstration voice' if demo else ''}"
    )


def _graphs_fact(runtime: Runtime) -> str:
    """Whether frames are replayed from recordings, and why not."""
    from engine.nn.graphs import try_out

    if runtime.graphs is None:
        return f"none on {runtime.device}; on a CUDA device frames are replayed from them"
    reason = try_out(runtime.graphs, runtime.device)
    if reason:
        return f"cannot be used: {reason}; frames are computed one operation after the other"
    return "frames are replayed from them"
