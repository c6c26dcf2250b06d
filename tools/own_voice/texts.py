"""Write the sentences that the teacher voices read.

    python -m tools.own_voice.texts WORK_DIR

writes `train.txt` (one sentence a line, shuffled) and `unseen.txt`. Sentences come from the
examples of WordNet (Debian's `wordnet-base`, kept when all their words are common), from patterns
with slots, and from drills: common words in random order, so that all of them are heard. None of
the hand-written sentences of `data/everyday.txt`, which the evaluation reads, is among them. Equal
seeds give equal files.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
from collections.abc import Iterator
from pathlib import Path

from wordfreq import top_n_list, zipf_frequency  # type: ignore[import-not-found]

from tools.own_voice.patterns import sentence_from_patterns

WORDNET = Path("/usr/share/wordnet")
EVERYDAY = Path(__file__).parent / "data/everyday.txt"
SEED = 7
UNSEEN = 300  # WordNet sentences held back
FROM_PATTERNS = 16_000
WORDS = range(3, 15)
MOST_CHARACTERS = 90
COMMON = 3.3  # Zipf frequency: about the 12 000 commonest words
DRILLED = 12_000  # commonest words
DRILLS = 14_000
GREETINGS = 2560  # many of them alike: what people try first
DRILL_WORDS = range(3, 7)
GLUE = (
    "the the the a a of and to in with for is was my your our his her their it at on from that "
    "this by or not are were be will would can could has had have he she they we you I"
)

_QUOTED = re.compile(r'"([^"]+)"')
_PLAIN = re.compile(r"[A-Za-z,' ?!]+")


def wordnet_sentences(folder: Path) -> Iterator[str]:
    """Example sentences of WordNet that read well aloud, each once."""
    seen = set()
    for file in sorted(folder.glob("data.*")):
        for line in file.read_text(encoding="latin-1").splitlines():
            if line.startswith("  "):  # the licence
                continue
            for quoted in _QUOTED.findall(line.partition("|")[2]):
                sentence = tidy(quoted)
                if sentence and sentence.lower() not in seen:
                    seen.add(sentence.lower())
                    yield sentence


def tidy(quoted: str) -> str | None:
    """The example as a sentence with a capital and a stop; None if it is no good."""
    text = re.sub(r"\s+", " ", quoted.strip().replace("`", "'").rstrip(".;, "))
    words = text.split()
    if not _PLAIN.fullmatch(text) or "''" in text or len(text) > MOST_CHARACTERS:
        return None
    if len(words) not in WORDS or re.search(r"\b[A-Z]{2,}\b", text):
        return None
    if any(zipf_frequency(word.strip(",?!'"), "en") < COMMON for word in words):
        return None
    text = text[0].upper() + text[1:]
    return text if text[-1] in "?!" else text + "."


def drills(draw: random.Random) -> Iterator[str]:
    """Sentences without a meaning, in which every common word is heard as often as any other."""
    words = [word for word in top_n_list("en", DRILLED) if re.fullmatch(r"[a-z]{2,}", word)]
    glue, waiting = GLUE.split(), list[str]()
    while True:
        chosen: list[str] = []
        for _ in range(draw.choice(DRILL_WORDS)):
            if not waiting:
                waiting = draw.sample(words, len(words))
            chosen += [draw.choice(glue)] * (draw.random() < 0.6) + [waiting.pop()]
        text = " ".join(chosen)
        yield text[0].upper() + text[1:] + draw.choice("....?")


def main() -> None:
    """Write the files into the folder given."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path)
    work: Path = parser.parse_args().work
    draw = random.Random(SEED)
    examples = list(wordnet_sentences(WORDNET))
    draw.shuffle(examples)
    unseen, train = examples[:UNSEEN], examples[UNSEEN:]
    patterned: dict[str, None] = {}
    while len(patterned) < FROM_PATTERNS:
        patterned[sentence_from_patterns(draw)] = None
    everyday = {line.lower() for line in EVERYDAY.read_text().splitlines()}
    train = [text for text in [*train, *patterned] if text.lower() not in everyday]
    draw.shuffle(train)
    train += itertools.islice(drills(draw), DRILLS)
    work.mkdir(parents=True, exist_ok=True)
    (work / "train.txt").write_text("\n".join(train) + "\n")
    (work / "unseen.txt").write_text("\n".join(unseen) + "\n")
    greetings = [sentence_from_patterns(draw, "greetings.txt") for _ in range(GREETINGS)]
    (work / "greetings.txt").write_text("\n".join(greetings) + "\n")
    print(
        f"{len(train)} sentences, {len(examples) - UNSEEN} of WordNet, {DRILLS} drills; "
        f"{len(unseen)} held back"
    )


if __name__ == "__main__":
    main()
