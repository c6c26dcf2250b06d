"""Voices that nothing was trained on, to be cloned, and how near their clones come to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.types import Samples
from tools.own_voice.speech_data import Clip, ShardFolder

UNHEARD = ("audio-unheard-everyday", "audio-flite-varied-everyday")
EXAMPLES = 3  # clips that a voice is cloned from
FEWEST = 2 * EXAMPLES  # clips of a voice, half of them to compare with


@dataclass(frozen=True, eq=False)
class Original:
    """A voice and two recordings of it: one to clone, one to compare the clone with."""

    name: str
    samples: Samples
    texts: Sequence[str]  # that are read in both
    other: Samples


def unheard_voices(work: Path) -> list[Original]:
    """Every voice of the folders in UNHEARD that has clips enough."""
    voices = defaultdict[str, list[Clip]](list)
    for name in UNHEARD:
        folder = ShardFolder(work / name)
        folder.update()
        for clip in folder.clips:
            voices[clip.voice].append(clip)
    return [
        Original(
            voice.replace(":", "_"),
            np.concatenate([clip.padded() for clip in clips[:EXAMPLES]]),
            [clip.text for clip in clips[:FEWEST]],
            np.concatenate([clip.padded() for clip in clips[EXAMPLES:FEWEST]]),
        )
        for voice, clips in voices.items()
        if len(clips) >= FEWEST
    ]


@dataclass(frozen=True)
class Nearness:
    """Cosines of clones with originals, whose mean is taken away, and how many chose rightly."""

    own: float
    others: float
    right: float  # share of clones that are nearest to the voice they were made of

    def __str__(self) -> str:
        return (
            f"{self.own:.2f} with their own voice, {self.others:.2f} with others, "
            f"{100 * self.right:.0f} % nearest to their own"
        )


def nearness(
    originals: Mapping[str, Samples],
    clones: Mapping[str, list[Samples]],
    embed: Callable[[Samples], NDArray[np.float32]],
) -> Nearness:
    """Compare the sounds of clones with recordings of all voices, by what `embed` hears."""
    names = list(originals)
    known = np.stack([embed(sound) for sound in originals.values()])
    middle = known.mean(0)
    known = _unit(known - middle)
    assert len(names) > 1, "one voice has no others"
    own, others, right = [], [], []
    for place, name in enumerate(names):
        for sound in clones.get(name, []):
            cosines = known @ _unit(embed(sound) - middle)
            own.append(cosines[place])
            others.append((cosines.sum() - cosines[place]) / (len(names) - 1))
            right.append(cosines.argmax() == place)
    return Nearness(float(np.mean(own)), float(np.mean(others)), float(np.mean(right)))


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return unit
