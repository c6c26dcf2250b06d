"""Which characters of the text a frame speaks: the teacher's durations, word by word."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tools.own_voice.speech_data import FRAME, LENGTH, RATE, STRESS, Clip

SLACK = 1  # characters around the place that are right as well
MOST_JOINED = 3  # words that the phonemes run together, as in "of the"
LETTERS_PER_PHONEME = 1.2
INSIDE = (0.1, 0.9)  # where in a frame one looks


def spoken_characters(clip: Clip) -> NDArray[np.int64] | None:
    """For every frame the first and last character (inclusive) that may sound: [frames, 2].

    Inside a word, letters are taken to be equally long. None where phonemes and text do not fit
    together.
    """
    words = [found.span() for found in re.finditer(r"\S+", clip.text)]
    number = np.cumsum([symbol == " " for symbol in clip.phonemes])
    lengths = [
        sum(symbol not in STRESS + LENGTH for symbol in word) for word in clip.phonemes.split(" ")
    ]
    joined = _join(words, lengths)
    if joined is None:
        return None
    starts = np.concatenate(([0.0], clip.ends[:-1]))
    edges = (np.arange(clip.frames)[:, None] + np.array(INSIDE)) * FRAME / RATE
    places = np.zeros((clip.frames, 2), np.int64)
    for word, (begin, end) in enumerate(joined):
        inside = np.flatnonzero(number == word)
        first, last = starts[inside[0]], clip.ends[inside[-1]]
        here = number[clip.symbols_at(edges)] == word
        share = np.clip((edges - first) / max(last - first, 1e-3), 0, 0.999)
        places[here] = begin + (share * (end - begin)).astype(np.int64)[here]
    places += np.array([-SLACK, SLACK])
    return np.clip(places, 0, len(clip.text) - 1)


def _join(words: list[tuple[int, int]], lengths: list[int]) -> list[tuple[int, int]] | None:
    """The span of text of every word of phonemes, by the most likely joining of words."""
    if not 0 < len(lengths) <= len(words) <= MOST_JOINED * len(lengths):
        return None
    best = np.full((len(lengths) + 1, len(words) + 1), np.inf)
    best[0, 0] = 0
    taken = np.zeros(best.shape, int)
    for i, length in enumerate(lengths):
        for j in range(len(words)):
            for count in range(1, min(MOST_JOINED, len(words) - j) + 1):
                letters = words[j + count - 1][1] - words[j][0]
                cost = best[i, j] + (letters - LETTERS_PER_PHONEME * length) ** 2
                if cost < best[i + 1, j + count]:
                    best[i + 1, j + count] = cost
                    taken[i + 1, j + count] = count
    if not np.isfinite(best[-1, -1]):
        return None
    spans, j = [], len(words)
    for i in range(len(lengths), 0, -1):
        count = taken[i, j]
        spans.append((words[j - count][0], words[j - 1][1]))
        j -= count
    return spans[::-1]
