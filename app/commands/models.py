"""The command `voice-studio models`: what is installed, and what is wrong with the rest."""

from __future__ import annotations

import json
from pathlib import Path

from app.commands.say import model_folders
from app.core.models import (
    EXAMPLES,
    FoundModels,
    about_demo,
    best_codec,
    find_models,
    is_demo,
    misplaced,
    where_to_get,
)
from app.core.paths import studio_paths
from engine.cli.console import readable_bytes
from engine.cli.running import DONE
from engine.plain_text import one_line


def list_models(home: Path | None, extra: tuple[Path, ...], *, as_json: bool) -> int:
    """Print what is found and return the exit code; raises ExplainedError."""
    paths = studio_paths(home)
    found = find_models(model_folders(paths, extra), paths.demo)
    if as_json:
        print(json.dumps(_values(found)))
        return DONE
    rows = [
        (
            talker.name,
            str(talker.family),
            talker.size,
            talker.precision,
            readable_bytes(talker.file_bytes),
            f"{len(talker.speakers)} speakers" if talker.speakers else "",
            str(talker.path),
        )
        for talker in found.talkers
    ]
    rows += [
        ("", "tokenizer", "", "", readable_bytes(codec.file_bytes), "", str(codec.path))
        for codec in found.codecs
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        print(one_line("  ".join(cells).rstrip()))
    for file in found.unusable:
        print(one_line(f"unusable: {file.error}"))
    folders = " or ".join(str(folder) for folder in found.folders)
    large = [talker for talker in found.talkers if not is_demo(talker)]
    if any(best_codec(found.codecs, talker) is not None for talker in large):
        print(one_line(f"Models belong in {folders}."))
    elif found.talkers and not large:
        print(one_line(about_demo(found.folders)))
    else:
        missing = "tokenizer" if large else "talker"
        elsewhere = misplaced(found.folders)
        print(
            one_line(
                f"There is no {missing} in {folders}. {elsewhere}Speaking needs {EXAMPLES}. "
                f"{where_to_get(found.folders)}"
            )
        )
    return DONE


def _values(found: FoundModels) -> dict[str, object]:
    return {
        "folders": [str(folder) for folder in found.folders],
        "talkers": [
            {
                "path": str(talker.path),
                "name": talker.name,
                "family": str(talker.family),
                "size": talker.size,
                "precision": talker.precision,
                "bytes": talker.file_bytes,
                "speakers": list(talker.speakers),
                "languages": list(talker.languages),
            }
            for talker in found.talkers
        ],
        "tokenizers": [
            {"path": str(codec.path), "bytes": codec.file_bytes} for codec in found.codecs
        ],
        "unusable": [
            {"path": str(file.path), "reason": str(file.error)} for file in found.unusable
        ],
    }
