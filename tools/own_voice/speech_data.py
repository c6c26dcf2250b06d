"""Reads the teacher's shards: clips with their text, voice and phonemes in time."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RATE = 24_000
FRAME = 1920  # samples
LABELS = 4  # phoneme labels per frame
MOST_SHARDS = 200  # of a folder in memory: some nine hours of speech
STRESS = "ˈˌ"  # belong to the phoneme behind them
LENGTH = "\u02d0"  # and this to the one before

# The symbols that the teacher's phonemes are made of; others count as silence.
SYMBOLS = " ,.?!aæɐɑɒbcdðeəɚɛɜfɡhiɪᵻjklmnŋoɔpɹɾsʃtʊuvθʌwxyzʒɝʔʲ̩̃Oeaoʌɫæɪ"  # noqa: RUF001
ALPHABET = {symbol: number for number, symbol in enumerate(dict.fromkeys(SYMBOLS), 1)}
PHONEMES = len(ALPHABET) + 1


@dataclass(frozen=True, eq=False)
class Clip:
    """A sentence as a voice read it."""

    samples: NDArray[np.int16]
    text: str
    voice: str
    phonemes: str
    ends: NDArray[np.float32]  # where each symbol of `phonemes` ends, in seconds

    @property
    def frames(self) -> int:
        return -(-len(self.samples) // FRAME)

    def padded(self) -> NDArray[np.float32]:
        """The samples in [-1, 1], filled up to whole frames."""
        filled = np.zeros(self.frames * FRAME, np.float32)
        filled[: len(self.samples)] = self.samples / 32768
        return filled

    def labels(self) -> NDArray[np.int64]:
        """The phoneme in the middle of every quarter of a frame: [frames * LABELS]."""
        times = (np.arange(self.frames * LABELS) + 0.5) * FRAME / LABELS / RATE
        return self.symbol_numbers()[self.symbols_at(times)]

    def symbols_at(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """Which symbol of `phonemes` sounds at each time."""
        place = np.searchsorted(self.ends, times)
        return np.minimum(place, len(self.ends) - 1)

    def symbol_numbers(self) -> NDArray[np.int64]:
        """Numbers of the symbols; marks get that of the phoneme they belong to."""
        numbers = [ALPHABET.get(symbol, 0) for symbol in self.phonemes]
        for at in reversed(range(len(numbers) - 1)):
            if self.phonemes[at] in STRESS:
                numbers[at] = numbers[at + 1]
        for at in range(1, len(numbers)):
            if self.phonemes[at] == LENGTH:
                numbers[at] = numbers[at - 1]
        return np.array(numbers)


def read_shard(file: Path) -> list[Clip]:
    """All clips of a shard."""
    with np.load(file) as shard:
        cuts = np.cumsum(shard["lengths"])[:-1]
        phonemes = [str(symbols) for symbols in shard["phonemes"]]
        ends = np.split(shard["ends"], np.cumsum([len(symbols) for symbols in phonemes])[:-1])
        return [
            Clip(samples, str(text), str(voice), symbols, end)
            for samples, text, voice, symbols, end in zip(
                np.split(shard["samples"], cuts),
                shard["text"],
                shard["voice"],
                phonemes,
                ends,
                strict=True,
            )
        ]


def shards_of(folder: Path) -> list[Path]:
    """The finished shards of a folder."""
    return sorted(file for file in folder.glob("*.npz") if "partial" not in file.name)


class ShardFolder:
    """The shards of a folder, which may still be growing; `most` of them at random."""

    def __init__(self, folder: Path, most: int = MOST_SHARDS) -> None:
        self._folder, self._most = folder, most
        self._read: set[Path] = set()
        self.clips: list[Clip] = []

    def update(self) -> bool:
        """Read what is new, if there is room; whether there was anything."""
        new = [file for file in shards_of(self._folder) if file not in self._read]
        random.Random(0).shuffle(new)
        new = new[: self._most - len(self._read)]
        for file in new:
            self.clips += read_shard(file)
            self._read.add(file)
        return bool(new)

    @property
    def hours(self) -> float:
        return sum(len(clip.samples) for clip in self.clips) / RATE / 3600
