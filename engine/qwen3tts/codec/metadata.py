"""Reads the keys of a tokenizer file and refuses values that cannot be right."""

from __future__ import annotations

from engine.errors import ModelFileError
from engine.gguf.reader import GgufFile
from engine.types import CODEC_NAME

ARCHITECTURE = "qwen3-tts-tokenizer"
_NAME = "studio.codec_name"
LARGEST_FACTOR = 64  # of a rate change between two stages
MOST_FACTORS = 16
SHOWN_CHARACTERS = 40  # of a value in a message


def read_codec_name(file: GgufFile) -> str:
    """What a talker and the tokenizer whose codes it speaks both say, "" in official ones.

    Raises ModelFileError for what is no name.
    """
    name = file.string(_NAME, default="")
    if name and not CODEC_NAME.fullmatch(name):
        raise ModelFileError(
            f"{file.path} gives {name!r:.80} for {_NAME}, which is no name of a tokenizer.",
            "Small letters, digits and underscores make one: convert the model again.",
        )
    return name


class TokenizerMetadata:
    """The metadata of an audio tokenizer; every method raises ModelFileError naming the key."""

    def __init__(self, file: GgufFile) -> None:
        architecture = file.string("general.architecture")
        if architecture != ARCHITECTURE:
            raise ModelFileError(
                f"{file.path} is not an audio tokenizer: "
                f"its general.architecture is {architecture!r}.",
                f"Choose a file whose architecture is {ARCHITECTURE!r} (qwen-tokenizer-*.gguf).",
            )
        self._file = file

    def positive(self, name: str) -> int:
        value = self._file.integer(f"{ARCHITECTURE}.{name}")
        if not 0 < value < 2**31:
            raise self.wrong(name, value)
        return value

    def number(self, name: str) -> float:
        """A number above zero."""
        value = self._file.number(f"{ARCHITECTURE}.{name}")
        if value <= 0:
            raise self.wrong(name, value)
        return value

    def even(self, name: str) -> int:
        """The width of a head, whose halves RoPE turns against each other."""
        value = self.positive(name)
        if value % 2:
            raise self.wrong(name, value)
        return value

    def factors(self, name: str) -> tuple[int, ...]:
        values = tuple(self._file.integers(f"{ARCHITECTURE}.{name}"))
        few = 0 < len(values) <= MOST_FACTORS
        if not few or not all(0 < value <= LARGEST_FACTOR for value in values):
            raise self.wrong(name, values)
        return values

    def expect(self, name: str, right: int) -> None:
        """Refuse a file whose value differs from what everything else in it requires."""
        value = self.positive(name)
        if value != right:
            raise self.wrong(name, value)

    def wrong(self, name: str, value: object) -> ModelFileError:
        """The error for a value that cannot be right."""
        shown = str(value)
        if len(shown) > SHOWN_CHARACTERS:
            shown = shown[:SHOWN_CHARACTERS] + "..."
        return ModelFileError(
            f"{self._file.path} gives {shown} for {ARCHITECTURE}.{name}, which cannot be right.",
            "The file is damaged or of an unknown version; download it again.",
        )
