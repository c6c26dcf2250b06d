"""Joins the tokenizer files of a checkpoint folder to the lists that a GGUF file stores."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from engine.errors import ModelFileError
from engine.gguf.convert.settings import Settings
from engine.gguf.reader import Value

NORMAL: Final = 1
ADDED: Final = 4
UNUSED: Final = 5

END_OF_TEXT: Final = 151643
"""The id of `<|endoftext|>` in the Qwen vocabulary: what every published file says."""

_VERSION_LINE: Final = "#version"
_MOST_TOKENS: Final = 1 << 20
_HINT: Final = "Download the folder again, or check it against the official one."


def vocabulary_metadata(folder: Path) -> list[tuple[str, Value]]:
    """The `tokenizer.*` keys, from vocab.json, tokenizer_config.json and merges.txt.

    All merges are kept; the published files lack those that begin with "#". Raises
    `ModelFileError` where a file is missing or damaged.
    """
    tokens: dict[int, str] = {}
    types: dict[int, int] = {}
    vocabulary = Settings.read(folder / "vocab.json")
    for token in vocabulary.values:
        index = vocabulary.integer(token)
        _place(tokens, index, token, vocabulary.path)
        types[index] = NORMAL
    config = Settings.read(folder / "tokenizer_config.json")
    added = config.section("added_tokens_decoder")
    for key in added.values:
        if not (key.isascii() and key.isdecimal()):
            raise ModelFileError(f"{config.path} has an added token of id {key!r}.", _HINT)
        index = int(key)
        content = added.section(key).string("content")
        if tokens.get(index) != content:
            _place(tokens, index, content, config.path)
        types[index] = ADDED
    count = max(tokens, default=-1) + 1
    if not 0 < count <= _MOST_TOKENS:
        raise ModelFileError(f"{vocabulary.path} has ids up to {count - 1}.", _HINT)
    return [
        ("tokenizer.ggml.model", "gpt2"),
        ("tokenizer.ggml.tokens", tuple(tokens.get(i, f"<|unused-{i}|>") for i in range(count))),
        ("tokenizer.ggml.token_type", tuple(types.get(i, UNUSED) for i in range(count))),
        ("tokenizer.ggml.merges", _merges(folder / "merges.txt")),
        ("tokenizer.ggml.eos_token_id", END_OF_TEXT),
    ]


def _place(tokens: dict[int, str], index: int, token: str, path: Path) -> None:
    if index in tokens:
        message = f"{path} gives {tokens[index]!r} and {token!r} the same id {index}."
        raise ModelFileError(message, _HINT)
    tokens[index] = token


def _merges(path: Path) -> tuple[str, ...]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        hint = "Choose a folder of an official checkpoint."
        raise ModelFileError(f"{path.parent} has no {path.name}.", hint) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{path} cannot be read: {error}.", _HINT) from error
    if lines[0].startswith(_VERSION_LINE):
        del lines[0]
    merges = tuple(line.rstrip("\r") for line in lines if line.strip())
    for merge in merges:
        if len(merge.split(" ")) != 2:
            message = f"{path} has the line {merge!r}, which is not two pieces."
            raise ModelFileError(message, _HINT)
    return merges
