"""Reads folders of golden cases: requests, and the arrays the official implementation made of them.

A case is NAME.json with what was asked and NAME.npz with the arrays. Greedy cases are compared
from the prompt to the codes, `codec_decode` cases by their sound.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from engine.errors import ExplainedError, RequestError
from engine.gguf.reader import GgufFile
from engine.qwen3tts.codec.config import read_decoder_config
from engine.qwen3tts.config import TalkerConfig
from engine.qwen3tts.rules import check_request
from engine.types import Codes, Layout, Samples, SpeechRequest, Voice
from engine.verify.capture import PREDICTOR_STEP0, Capture
from engine.verify.subject import SubjectFacts
from engine.verify.teacher import GREEDY

_DAMAGED: Final = "The golden folder is damaged; make it or download it again."

# Arrays of a greedy case and the stages they belong to; "layers" is one array for all blocks.
_STAGES: Final = (
    ("inputs_embeds", "talker-input-embed"),
    ("trailing", "trailing-text-hidden"),
    ("tts_pad_embed", "tts-pad-embed"),
    ("layers", ""),
    ("layers_last", ""),
    ("final_hidden", "talker-hidden-prefill-final"),
    ("logits0", "talker-logits-prefill"),
    ("cp_logits0", PREDICTOR_STEP0),
    ("next_embed", "next-emb-step0"),
    ("hidden1", "talker-hidden-step1"),
    ("logits1", "talker-logits-step1"),
)


@dataclass(frozen=True, eq=False)
class GoldenCase:
    """One case: what was asked, and the arrays that were made of it."""

    name: str
    facts: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def frames(self, most: int) -> int:
        """How many frames to speak for `most` wanted; a case cut short tells no more."""
        return most if self.facts.get("eos") else min(most, len(self.arrays["codes"]))

    def request(self, frames: int) -> SpeechRequest:
        """The request of a greedy case, for at most so many frames; raises RequestError."""
        facts = self.facts
        voice = None
        try:
            if facts["clone"]:
                in_context = facts["clone"]["mode"] == "icl"
                voice = Voice(
                    embedding=self.arrays["ref_spk"],
                    codes=self.arrays["ref_code"].astype(np.int64) if in_context else None,
                    transcript=facts["clone"]["ref_text"] if in_context else None,
                )
            return SpeechRequest(
                text=facts["text"],
                language=facts["language"],
                voice=voice,
                speaker=facts["speaker"],
                instruct=facts["instruct"],
                layout=Layout.NON_STREAMING if facts["non_streaming_mode"] else Layout.STREAMING,
                sampling=replace(GREEDY, max_frames=frames),
                seeds=(0,),
            )
        except (KeyError, TypeError) as error:
            raise RequestError(f"The golden case {self.name} lacks {error}.", _DAMAGED) from error

    def capture(self, frames: int) -> Capture:
        """The arrays of a greedy case as a capture of its first frames; raises RequestError."""
        stages: dict[str, NDArray[np.float32]] = {}
        for key, stage in _STAGES:
            if key not in self.arrays:
                continue
            if stage:
                stages[stage] = self.arrays[key]
            else:
                for block, hidden in enumerate(self.arrays[key]):
                    stages[f"talker-hidden-prefill-l{block}"] = hidden
        codes = self.arrays["codes"][:frames].astype(np.int64)
        return Capture(
            prompt_ids=self.arrays["input_ids"].astype(np.int64),
            arrays=stages,
            codes=codes,
            teacher_codes=codes,
        )

    def sounds(self) -> list[tuple[str, Codes, Samples]]:
        """Name, codes [T, codebooks] and whole sound [n] of the parts of a `codec_decode` case."""
        names = [key.removesuffix(".codes") for key in self.arrays if key.endswith(".codes")]
        return [
            (
                f"{self.name}.{name}",
                np.ascontiguousarray(self.arrays[f"{name}.codes"].T.astype(np.int64)),
                self.arrays[f"{name}.wav"].ravel(),
            )
            for name in names
            if f"{name}.wav" in self.arrays
        ]


@dataclass(frozen=True, eq=False)
class FoundCases:
    """What of a golden folder can be compared with a model, and why the rest cannot."""

    speech: tuple[GoldenCase, ...]
    decoding: tuple[GoldenCase, ...]
    skipped: tuple[str, ...]  # sentences


def find_cases(folder: Path, model: SubjectFacts) -> FoundCases:
    """The cases of a folder that fit the model.

    Raises RequestError if the folder cannot be read, is damaged, or holds none that fits.
    """
    speech, decoding, skipped, others = [], [], [], set()
    for path, facts in _descriptions(folder):
        kind = facts.get("kind")
        if kind == "greedy":
            case = GoldenCase(path.stem, facts, _read_arrays(path.with_suffix(".npz")))
            misfit = _misfit(case, model.config)
            if misfit:
                others.add(misfit)
                continue
            reason = _not_comparable(case, model)
            if reason:
                skipped.append(f"{case.name}: {reason}")
            else:
                speech.append(case)
        elif kind == "codec_decode" and _same_codec(folder, facts, model):
            decoding.append(GoldenCase(path.stem, facts, _read_arrays(path.with_suffix(".npz"))))
    if not speech and not decoding:
        config = model.config
        seen = "; ".join(sorted(others)) or "none at all"
        raise RequestError(
            f"{folder} has no case that fits {model.pair.talker.name}, a {config.family} model of "
            f"width {config.talker.width} with {config.talker.blocks} blocks. Cases there: {seen}.",
            "Choose the folder that was made with this model.",
        )
    return FoundCases(tuple(speech), tuple(decoding), tuple(skipped))


def _descriptions(folder: Path) -> list[tuple[Path, Mapping[str, Any]]]:
    """The descriptions of all cases, by name; other JSON files are left alone."""
    found: list[tuple[Path, Mapping[str, Any]]] = []
    try:
        paths = sorted(folder.glob("*.json"))
        if not folder.is_dir():
            raise RequestError(f"{folder} is no folder.", "Name the folder with the cases.")
        for path in paths:
            facts = json.loads(path.read_text("utf-8"))
            if isinstance(facts, dict) and "kind" in facts:
                found.append((path, facts))
    except OSError as error:
        raise RequestError(f"{error.filename} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise RequestError(f"{path} is not valid JSON: {error}.", _DAMAGED) from error
    return found


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        # A file of our own, because numpy leaves one open that turns out to be damaged.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise RequestError(f"{path} cannot be read: {error}.", _DAMAGED) from error


def _misfit(case: GoldenCase, config: TalkerConfig) -> str:
    """What model a case is of, if it is of another one."""
    arrays = case.arrays
    missing = [
        key
        for key in ("input_ids", "inputs_embeds", "logits0", "cp_logits0", "codes")
        if key not in arrays
    ]
    if missing:
        raise RequestError(f"The golden case {case.name} lacks {', '.join(missing)}.", _DAMAGED)
    layers = next((arrays[key] for key in ("layers", "layers_last") if key in arrays), None)
    theirs = (
        case.facts.get("family"),
        arrays["inputs_embeds"].shape[-1],
        arrays["logits0"].shape[-1],
        arrays["cp_logits0"].shape[-1],
        arrays["codes"].shape[-1],
        config.talker.blocks if layers is None else len(layers),
    )
    mine = (
        str(config.family),
        config.talker.width,
        config.talker.vocabulary,
        config.predictor.vocabulary,
        config.codebooks,
        config.talker.blocks,
    )
    if theirs == mine:
        return ""
    return f"{case.facts.get('gguf')} ({theirs[0]}, width {theirs[1]}, {theirs[5]} blocks)"


def _not_comparable(case: GoldenCase, model: SubjectFacts) -> str:
    """Why a case is not asked of this engine: its rules change or refuse what was asked."""
    request = case.request(1)
    try:
        checked = check_request(request, model.config, model.codec_config.codebook_size)
    except ExplainedError as error:
        return error.message
    if checked.notices:
        return checked.notices[0]
    if checked.text != request.text:
        return "Blank space around a text is dropped."
    # The template itself has two starts and one end; the user's text never adds any.
    ids, text = case.arrays["input_ids"].tolist(), model.config.text
    if (ids.count(text.im_start), ids.count(text.im_end)) != (2, 1):
        return "Typed control tokens stay ordinary text."
    return ""


def _same_codec(folder: Path, facts: Mapping[str, Any], model: SubjectFacts) -> bool:
    """Whether a decoding case is of this codec: by its dimensions if its file is there as well."""
    name = str(facts.get("gguf"))
    if not (folder / name).is_file():
        return model.pair.codec.name == name
    with GgufFile.open(folder / name) as file:
        return read_decoder_config(file) == model.codec_config
