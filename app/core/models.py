"""Finds model files by what they hold, and chooses among them."""

from __future__ import annotations

import itertools
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine import (
    DEMO_SIZE,
    Family,
    ModelDescription,
    ModelFileError,
    ModelPair,
    codec_name,
    describe_file,
    describe_model,
)
from engine.cli.parser import command_name

SUFFIX = ".gguf"
EXAMPLES = (
    "qwen-talker-0.6b-customvoice-Q8_0.gguf (about 1 GB; 1.7b: about 2 GB) and "
    "qwen-tokenizer-12hz-Q8_0.gguf (about 0.3 GB)"
)
REPOSITORY = "Serveurperso/Qwen3-TTS-GGUF"
ADDRESS = f"https://huggingface.co/{REPOSITORY}"
TALKER_NAME = "qwen-talker-0.6b-customvoice-Q8_0.gguf"
CODEC_NAME = "qwen-tokenizer-12hz-Q8_0.gguf"


def download_line(folder: Path, talker: str = TALKER_NAME) -> str:
    """What to type so that a talker and the tokenizer come into a folder."""
    words = ["hf", "download", REPOSITORY, talker, CODEC_NAME, "--local-dir", str(folder)]
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def where_to_get(folders: Sequence[Path]) -> str:
    """A sentence on how model files come into the first of these folders."""
    line = f", or with hf (package huggingface_hub): {download_line(folders[0])}" if folders else ""
    return f"They are at {ADDRESS}; fetch them with a browser{line}"


@dataclass(frozen=True)
class FoundCodec:
    """An audio tokenizer."""

    path: Path
    file_bytes: int
    name: str = ""  # as in the descriptions of its talkers


@dataclass(frozen=True)
class UnusableFile:
    """A file that looks like a model by name only, and why it is none."""

    path: Path
    error: ModelFileError


@dataclass(frozen=True)
class FoundModels:
    """What lies in some folders, in the order of folders and names."""

    folders: tuple[Path, ...]
    talkers: tuple[ModelDescription, ...]
    codecs: tuple[FoundCodec, ...]
    unusable: tuple[UnusableFile, ...]


def find_models(folders: Iterable[Path], demo: Path | None = None) -> FoundModels:
    """Look at every *.gguf file directly in the folders; those that are missing are empty.

    Files in `demo` come last, and their folder is not told. Only the heads of the files are read.
    Raises ModelFileError if a folder may not be listed.
    """
    folders = tuple(dict.fromkeys(folder.absolute() for folder in folders))
    talkers: list[ModelDescription] = []
    codecs: list[FoundCodec] = []
    unusable: list[UnusableFile] = []
    searched = folders if demo is None else dict.fromkeys((*folders, demo))
    for path in (path for folder in searched for path in _model_files(folder)):
        try:
            description = describe_file(path)
            if description is not None:
                talkers.append(description)
            else:
                name = codec_name(path)
                assert name is not None, "what is no talker and opens is a tokenizer"
                codecs.append(FoundCodec(path, path.stat().st_size, name))
        except ModelFileError as error:
            unusable.append(UnusableFile(path, error))
    return FoundModels(folders, tuple(talkers), tuple(codecs), tuple(unusable))


def look_into(
    folders: Iterable[Path], demo: Path
) -> tuple[FoundModels, tuple[ModelFileError, ...]]:
    """As `find_models`, but a folder that may not be listed hides none of the others."""
    folders = tuple(folders)
    looks: list[FoundModels] = []
    problems: list[ModelFileError] = []
    for folder in dict.fromkeys(folder.absolute() for folder in (*folders, demo)):
        try:
            looks.append(find_models([folder]))
        except ModelFileError as error:
            problems.append(error)
    found = FoundModels(
        tuple(dict.fromkeys(folder.absolute() for folder in folders)),
        tuple(itertools.chain.from_iterable(look.talkers for look in looks)),
        tuple(itertools.chain.from_iterable(look.codecs for look in looks)),
        tuple(itertools.chain.from_iterable(look.unusable for look in looks)),
    )
    return found, tuple(problems)


def is_demo(talker: ModelDescription) -> bool:
    """Whether it is the small voice that comes with the studio, and no large model."""
    return talker.size == DEMO_SIZE


def loads_unasked(talker: ModelDescription, loaded: ModelDescription | None) -> bool:
    """Whether a talker is loaded as soon as it is needed: small, and in no large one's place."""
    return is_demo(talker) and (loaded is None or is_demo(loaded))


ABOUT_DEMO = "This is the demonstration voice: small, English only. "


def about_demo(folders: Sequence[Path]) -> str:
    """What the demonstration voice is, and how to get more than it.

    Raises ModelFileError if a folder may not be listed.
    """
    return (
        f"{ABOUT_DEMO}{misplaced(folders)}The large models belong in {folders[0]}, for example "
        f"{EXAMPLES}. {where_to_get(folders)}"
    )


def voice_makers(talkers: Iterable[ModelDescription]) -> tuple[ModelDescription, ...]:
    """The first base talker of every width that can learn a voice, by ascending width.

    The demonstration voice's only where there is no large one.
    """
    by_width: dict[int, ModelDescription] = {}
    for talker in talkers:
        if talker.family is Family.BASE and talker.has_speaker_encoder:
            by_width.setdefault(talker.width, talker)
    makers = [by_width[width] for width in sorted(by_width)]
    return tuple(maker for maker in makers if not is_demo(maker)) or tuple(makers)


def choose_pair(
    found: FoundModels,
    families: Sequence[Family],
    model: str | None = None,
    codec: Path | None = None,
) -> ModelPair:
    """Choose a talker and its tokenizer; the same files always lead to the same choice.

    `model` is a path, or the name of a found talker or a part of it. Without it, the first of
    `families` that is there is taken, of that the largest model (parameters, then bytes, so
    that the least quantised wins), then the first by name; the demonstration voice comes last. Of
    the tokenizers that fit, one in the talker's folder goes first, then the largest. Raises
    ModelFileError if there is none to choose.
    """
    talker = _choose_talker(found, families) if model is None else _named_talker(found, model)
    return ModelPair(talker, codec or _choose_codec(found, talker))


def best_codec(codecs: Iterable[FoundCodec], talker: ModelDescription) -> Path | None:
    """The tokenizer that fits a talker: one in its folder goes first, then the largest."""
    home = talker.path.absolute().parent

    def order(codec: FoundCodec) -> tuple[bool, int, str]:
        return codec.path.parent != home, -codec.file_bytes, codec.path.name

    fitting = (codec for codec in codecs if codec.name == talker.codec_name)
    best = min(fitting, key=order, default=None)
    return None if best is None else best.path


def misplaced(folders: Iterable[Path]) -> str:
    """A sentence on model files that lie near the studio's own folder, HOME/data/models.

    Empty without any, else with a blank behind it. Raises ModelFileError if a folder may not be
    listed.
    """
    for folder in folders:
        if folder.parts[-2:] != ("data", "models"):
            continue
        home = folder.parents[1]
        for near in (home, home / "models", folder.parent):
            if _model_files(near):
                return f"Those in {near} are not looked at: move them to {folder}. "
    return ""


def _model_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise ModelFileError(
            f"{folder} cannot be read: {error.strerror}.", "Give yourself permission to read it."
        ) from error
    return [
        path for path in entries if path.suffix.lower() == SUFFIX and not path.name.startswith(".")
    ]


def _choose_talker(found: FoundModels, families: Sequence[Family]) -> Path:
    def order(talker: ModelDescription) -> tuple[bool, int, int, int, str]:
        place = families.index(talker.family)
        return is_demo(talker), place, -talker.width, -talker.file_bytes, talker.path.name

    usable = [talker for talker in found.talkers if talker.family in families]
    ready = [talker for talker in usable if best_codec(found.codecs, talker) is not None]
    if usable:
        return min(ready or usable, key=order).path
    if all(is_demo(talker) for talker in found.talkers):
        raise ModelFileError(
            f"There is no talker in {_names(found.folders)}{_unusable(found)}.",
            f"{misplaced(found.folders)}Put a talker and its tokenizer there, for example "
            f"{EXAMPLES}. {where_to_get(found.folders)}",
        )
    wanted = " or ".join(families)
    raise ModelFileError(
        f"None of the models in {_names(found.folders)} is a {wanted} model{_unusable(found)}.",
        "Add one, or leave out the options that need it.",
    )


def _named_talker(found: FoundModels, name: str) -> Path:
    path = Path(name)
    if path.is_file():
        return path
    if len(path.parts) > 1:
        raise ModelFileError(f"{path} does not exist.", "Check the path, or name a found model.")
    wanted = name.lower()
    exact = [
        talker.path
        for talker in found.talkers
        if wanted in (talker.name.lower(), talker.path.name.lower(), talker.path.stem.lower())
    ]
    partial = [
        talker.path
        for talker in found.talkers
        if wanted in talker.name.lower() or wanted in talker.path.name.lower()
    ]
    matches = exact or partial
    if len(matches) == 1:
        return matches[0]
    choices = matches or [talker.path for talker in found.talkers]
    known = ", ".join(path.name for path in choices) or "none"
    if matches:
        alike = sum(path.name == choices[0].name for path in choices) > 1
        raise ModelFileError(
            f"The name {name!r} fits several models: {known}.",
            f"Give more of it, for example {choices[0] if alike else choices[0].name}.",
        )
    raise ModelFileError(
        f"There is no model {name!r} in {_names(found.folders)}.", f"There are: {known}."
    )


def _choose_codec(found: FoundModels, talker: Path) -> Path:
    home = talker.absolute().parent
    codecs = found.codecs
    if home not in found.folders:  # a talker that was named by its path
        codecs = (*codecs, *find_models([home]).codecs)
    known = next((known for known in found.talkers if known.path == talker), None)
    best = best_codec(codecs, known or describe_model(talker))
    if best is None:
        raise ModelFileError(
            f"There is no tokenizer in {_names(found.folders)}{_unusable(found)}.",
            f"{misplaced(found.folders)}Put one there, for example qwen-tokenizer-12hz-Q8_0.gguf "
            f"(about 0.3 GB). {where_to_get(found.folders)}",
        )
    return best


def _names(folders: Sequence[Path]) -> str:
    return " or ".join(str(folder) for folder in folders)


def _unusable(found: FoundModels) -> str:
    if not found.unusable:
        return ""
    return f" ({len(found.unusable)} unusable: see {command_name()} models)"
