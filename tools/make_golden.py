"""Write golden cases with the official implementation, to compare our engine with.

The official package pins old libraries and is no dependency of ours: it lives in an environment of
its own. To create it (Python 3.11):

    python3.11 -m venv oracle
    oracle/bin/pip install torch==2.13.0             # a CPU build is enough
    oracle/bin/pip install transformers==4.57.3 accelerate librosa soundfile einops safetensors
    oracle/bin/pip install --no-deps qwen-tts==0.1.1

torchaudio, sox and onnxruntime stay out: only the 25 Hz tokenizer uses them, and empty modules take
their place. Then, from the root of the repository:

    oracle/bin/python -m tools.make_golden tests/golden/data \
        --checkpoints CKPT/base CKPT/custom_voice CKPT/voice_design --audio tests/golden/data

CKPT/* are folders in the official layout (config.json, model.safetensors, speech_tokenizer/...) of
the same small models whose GGUF files lie in tests/golden/data; --audio is the folder of clip_a.wav
and clip_b.wav. Without more, the cases of our own (tools/golden/own.py) are written, an .npz and
a .json each; --only picks some by name. --again FILE.json ... runs existing cases anew from their
descriptions, which tells whether this script does what made them.

float32, eager attention, one thread, 60 frames a case. The inner generate() is called for every
family, with ids from the unpatched tokenizer: it takes an instruct for the 0.6B model and a prompt
without a reference, which the public wrapper does not.
"""

import argparse
import io
import json
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from tools.golden.cases import (
    FAMILIES,
    Case,
    CodecCase,
    GreedyCase,
    case_from_files,
)
from tools.golden.official import OfficialModel, reference_versions
from tools.golden.own import own_cases
from tools.golden.running import Arrays, Fields, run_codec, run_greedy, run_sample


def write_case(folder: Path, name: str, arrays: Arrays, fields: Fields) -> int:
    """Write name.npz and name.json; the same case gives the same bytes. Returns the .npz size."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for key, value in arrays.items():
            entry = io.BytesIO()
            np.lib.format.write_array(entry, np.asarray(value, order="C"), allow_pickle=False)
            member = zipfile.ZipInfo(f"{key}.npy")  # dated 1980: no clock in the file
            member.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(member, entry.getvalue())
    (folder / f"{name}.npz").write_bytes(archive.getvalue())
    description = {
        "case": name,
        "set": "own",
        "reference": reference_versions(),
        **fields,
        "keys": {key: [str(value.dtype), list(value.shape)] for key, value in arrays.items()},
        "bytes": archive.tell(),
    }
    text = json.dumps(description, indent=1, ensure_ascii=False)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return archive.tell()


def run_case(
    case: Case, models: dict[str, OfficialModel], audio: Path | None, *, all_layers: bool
) -> tuple[Arrays, Fields]:
    """Run the case on the checkpoint of its family (codec cases: on any)."""
    if isinstance(case, CodecCase):
        return run_codec(next(iter(models.values())), case)
    official = models[case.prompt.family]
    if isinstance(case, GreedyCase):
        return run_greedy(official, case, audio, all_layers=all_layers)
    return run_sample(official, case, audio)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="folder for the .npz and .json files")
    parser.add_argument("--checkpoints", type=Path, nargs="+", required=True, metavar="FOLDER")
    parser.add_argument("--audio", type=Path, help="folder of the reference clips")
    parser.add_argument("--only", nargs="+", metavar="CASE", help="names of cases to write")
    parser.add_argument("--again", type=Path, nargs="+", metavar="JSON", help="existing cases")
    parser.add_argument("--all-layers", action="store_true", help="every row of every block")
    options = parser.parse_args(arguments)

    torch.set_num_threads(1)
    cases = own_cases()
    if options.again:
        cases = tuple(case_from_files(path) for path in options.again)
    if options.only:
        cases = tuple(case for case in cases if case.name in options.only)
    if not cases:
        parser.error("no such case")
    models = {model.family: model for model in map(OfficialModel, options.checkpoints)}
    for case in cases:
        if not isinstance(case, CodecCase) and case.prompt.family not in models:
            parser.error(
                f"{case.name} needs a {case.prompt.family} checkpoint (one of {FAMILIES}); "
                f"given: {sorted(models)}"
            )
    options.output.mkdir(parents=True, exist_ok=True)
    for case in cases:
        arrays, fields = run_case(case, models, options.audio, all_layers=options.all_layers)
        size = write_case(options.output, case.name, arrays, fields)
        margin = fields.get("min_margin")
        print(f"{case.name:36s} {size:7d} bytes" + (f", margin {margin:.1e}" if margin else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
