"""What a golden case is, and how to read one back from its description."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FAMILIES = ("base", "custom_voice", "voice_design")
GGUF_OF_FAMILY = {
    "base": "qwen-talker-1.7b-base-F32.gguf",
    "custom_voice": "qwen-talker-0.6b-customvoice-F32.gguf",
    "voice_design": "qwen-talker-1.7b-voicedesign-F32.gguf",
}
GGUF_OF_CODEC = "qwen-tokenizer-12hz-F32.gguf"


@dataclass(frozen=True)
class Clone:
    """A reference clip; `samples` cuts [start, stop) out of it, at the clip's own rate."""

    mode: str  # "icl" or "x_vector"
    audio: str
    ref_text: str | None = None
    samples: tuple[int, int] | None = None


@dataclass(frozen=True)
class Prompt:
    """What is spoken, by whom, and in which text layout."""

    family: str
    text: str
    language: str
    non_streaming_mode: bool
    speaker: str | None = None
    instruct: str | None = None
    clone: Clone | None = None


@dataclass(frozen=True)
class GreedyCase:
    """A case without sampling, run with repetition penalty 1.0 and 1.05."""

    name: str
    prompt: Prompt
    note: str | None = None


@dataclass(frozen=True)
class Settings:
    """How one of the two stacks picks its codes; top_k 0 and top_p 1 are off."""

    do_sample: bool = True
    temperature: float = 0.9
    top_k: int = 50
    top_p: float = 1.0


@dataclass(frozen=True)
class SampleCase:
    """A sampled case: every configuration of the talker with every seed.

    `subtalker` None means that the code predictor follows the talker's configuration.
    """

    name: str
    prompt: Prompt
    configs: tuple[tuple[str, Settings], ...]
    repetition_penalty: float
    seeds: tuple[int, ...]
    subtalker: Settings | None = None
    note: str | None = None


@dataclass(frozen=True)
class Codes:
    """Codes [16, T] to decode; a long one keeps parts, `middle` being frames [start, stop)."""

    label: str
    codes: NDArray[np.int16]
    whole: bool
    middle: tuple[int, int] | None = None
    stages: bool = False


@dataclass(frozen=True)
class CodecCase:
    """Codes decoded in one pass."""

    name: str
    signals: tuple[Codes, ...]
    note: str | None = None


Case = GreedyCase | SampleCase | CodecCase


def case_from_files(description: Path) -> Case:
    """The case that an existing .json describes, for running it again.

    Codec codes come from the .npz beside it. Raises ValueError for a kind this script does not run.
    """
    fields: dict[str, Any] = json.loads(description.read_text(encoding="utf-8"))
    kind, name, note = fields["kind"], fields["case"], fields.get("note")
    if kind == "greedy":
        return GreedyCase(name, _prompt(fields), note)
    if kind == "sample":
        common = Settings(fields["do_sample"], fields["temperature"])
        subtalker = fields["subtalker"]
        return SampleCase(
            name,
            _prompt(fields),
            tuple((label, replace(common, **c)) for label, c in fields["configs"].items()),
            fields["repetition_penalty"],
            tuple(fields["seeds"]),
            Settings(**subtalker) if isinstance(subtalker, dict) else None,
            note,
        )
    if kind == "codec_decode":
        with np.load(description.with_suffix(".npz")) as arrays:
            signals = tuple(
                _codes(key.removesuffix(".codes"), arrays[key], set(arrays.files), fields["info"])
                for key in arrays.files
                if key.endswith(".codes")
            )
        return CodecCase(name, signals, note)
    message = f"{description.name}: cases of kind {kind!r} are not made by this script"
    raise ValueError(message)


def _prompt(fields: dict[str, Any]) -> Prompt:
    clone = fields["clone"]
    if clone is not None and clone.get("samples"):
        clone = clone | {"samples": tuple(clone["samples"])}
    return Prompt(
        fields["family"],
        fields["text"],
        fields["language"],
        fields["non_streaming_mode"],
        fields["speaker"],
        fields["instruct"],
        Clone(**clone) if clone else None,
    )


def _codes(
    label: str, codes: NDArray[np.int16], keys: set[str], info: dict[str, dict[str, Any]]
) -> Codes:
    middle = info[label].get("mid")
    return Codes(
        label,
        codes,
        whole=f"{label}.wav" in keys,
        middle=tuple(middle) if middle else None,
        stages=f"{label}.quantized_first8" in keys,
    )
