"""Judge exported checkpoints: do people understand them, and do they do what they are told?

    python -m tools.own_voice.evaluate MODELS OUT --clips WORK_DIR

Lets every talker in MODELS read the everyday sentences, sends the teacher's everyday clips
through encoder and decoder, clones voices that nothing was trained on, and listens to all of it
with Whisper tiny. Writes the sound, what was understood and `report.md` into OUT.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from engine.families import Engine, ModelPair, open_codec, open_engine
from engine.types import Ending, Family, LengthRule, Samples, SpeechRequest, Voice
from tools.own_voice.clones import Original, nearness, unheard_voices
from tools.own_voice.judge import Heard, Recogniser, word_error_rate
from tools.own_voice.listening import likeness, median_pitch, timbre
from tools.own_voice.speech_data import Clip, ShardFolder

EVERYDAY = Path(__file__).parent / "data/everyday.txt"
CLIP_FOLDERS = ("audio-flite-everyday", "audio-everyday")
CODEC_CLIPS = 125  # of a folder at least, if there are so many
CLONED = "cloned"
LONGEST = 150  # frames: nothing of the list takes that long
INSTRUCTIONS = tuple(
    f"A {who}, {pitch}, {pace}"
    for who in ("woman", "man")
    for pitch in ("low", "high")
    for pace in ("speaking slowly", "speaking fast")
)


@dataclass(frozen=True, eq=False)
class Reading:
    """Sentences read in one manner."""

    manner: str
    heard: list[Heard]
    ended: int
    seconds: float  # of speech
    took: float
    sounds: list[NDArray[np.float32]]

    @property
    def pitch(self) -> float:
        return float(np.median([median_pitch(sound) for sound in self.sounds]))

    @property
    def letters_per_second(self) -> float:
        return sum(len(one.wanted) for one in self.heard) / self.seconds

    def row(self) -> str:
        return (
            f"| {self.manner} | {len(self.heard)} | {100 * word_error_rate(self.heard):.1f} % "
            f"| {self.ended} | {self.pitch:.0f} Hz | {self.letters_per_second:.1f} "
            f"| {self.took / self.seconds:.2f} |"
        )


class Listener:
    """Keeps what it hears as files."""

    def __init__(self, out: Path) -> None:
        self._out, self._recogniser = out, Recogniser()
        self._lines: list[str] = []

    def listen(self, name: str, wanted: str, samples: NDArray[np.float32], rate: int) -> Heard:
        file = self._out / f"{name}.wav"
        file.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(file, samples, rate)
        heard = self._recogniser.listen(str(file), wanted)
        self._lines.append(f"{heard.errors} | {name} | {wanted} | {heard.heard}")
        (self._out / "transcripts.txt").write_text("\n".join(self._lines) + "\n")
        return heard


@dataclass(frozen=True)
class Task:
    """Some of the everyday sentences, to be read as `request` says."""

    manner: str
    request: SpeechRequest
    texts: Sequence[str]


def read_aloud(
    engine: Engine, tasks: Sequence[Task], listener: Listener, seed: int
) -> Iterator[Reading]:
    """The sentences of EVERYDAY in several manners."""
    sampling = dataclasses.replace(engine.default_sampling, max_frames=LONGEST)
    list(engine.speak(dataclasses.replace(tasks[0].request, text="Hello.", seeds=(seed,))))
    for task in tasks:
        manner, request = task.manner, task.request
        texts = task.texts
        sounds, ended, took = [], 0, 0.0
        for text in texts:
            started = time.perf_counter()
            wanted = dataclasses.replace(request, text=text, sampling=sampling, seeds=(seed,))
            chunks = list(engine.speak(wanted))
            took += time.perf_counter() - started
            ended += chunks[-1].ending is Ending.SPOKEN
            sounds.append(np.concatenate([chunk.samples for chunk in chunks]))
        heard = [
            listener.listen(f"{manner}/{number:03d}", text, sound, engine.sample_rate)
            for number, (text, sound) in enumerate(zip(texts, sounds, strict=True))
        ]
        seconds = sum(map(len, sounds)) / engine.sample_rate
        yield Reading(manner, heard, ended, seconds, took, sounds)


def tasks_for(engine: Engine, sentences: int, originals: Sequence[Original]) -> list[Task]:
    """A manner each, and most sentences for the first speaker."""
    description, everyday = engine.description, EVERYDAY.read_text().splitlines()
    fewer = max(2, sentences // 5)
    if description.family is Family.BASE:
        tasks = []
        for original in originals:
            unread = [text for text in everyday if text not in original.texts]
            voice = Voice(engine.extract_voice(original.samples).embedding)
            request = SpeechRequest("", voice=voice)
            tasks.append(Task(f"{CLONED}/{original.name}", request, unread[:fewer]))
        return tasks
    if description.family is Family.CUSTOM_VOICE:
        counts = [sentences, *[fewer] * (len(description.speakers) - 1)]
        return [
            Task(name, SpeechRequest("", speaker=name), everyday[:count])
            for name, count in zip(description.speakers, counts, strict=True)
        ]
    texts = everyday[:fewer]
    return [Task(words, SpeechRequest("", instruct=words), texts) for words in INSTRUCTIONS]


def through_codec(codec_file: Path, clips: list[Clip], listener: Listener) -> list[Heard]:
    """What is understood of clips that were encoded and decoded again."""
    codec = open_codec(codec_file)
    heard = []
    for number, clip in enumerate(clips):
        codes = codec.encode(clip.padded(), LengthRule.OFFICIAL)
        name = f"codec/{clip.voice}-{number:03d}"
        samples = np.concatenate(list(codec.decode(codes)))
        heard.append(listener.listen(name, clip.text, samples, codec.sample_rate))
    return heard


def wrong(heard: list[Heard]) -> str:
    return f"{100 * word_error_rate(heard):.1f} % of the words wrong, {len(heard)} clips"


def told_nearness(
    engine: Engine, originals: Sequence[Original], readings: Sequence[Reading], out: Path
) -> list[str]:
    """How near the clones are to their voices, by the model's own ears; keeps the originals."""
    known = {original.name: original.other for original in originals}
    for name, sound in known.items():
        file = out / "originals" / f"{name}.wav"
        file.parent.mkdir(exist_ok=True)
        soundfile.write(file, sound, engine.sample_rate)

    def embed(sound: Samples) -> NDArray[np.float32]:
        vector = engine.extract_voice(sound).embedding
        assert vector is not None
        return vector

    made = {
        name: reading.sounds
        for name in known
        for reading in readings
        if reading.manner == f"{CLONED}/{name}"
    }
    pitches = [f"{name} {median_pitch(sound):.0f} Hz" for name, sound in known.items()]
    return [
        f"- clones, by the speaker encoder: {nearness(known, made, embed)}",
        f"- pitch of the originals: {', '.join(pitches)}",
    ]


def likenesses(readings: list[Reading]) -> tuple[float, float]:
    """Mean cosine of timbres between sentences of one manner, and of two manners."""
    timbres = [[timbre(sound) for sound in reading.sounds[:10]] for reading in readings]
    same = [likeness(*pair) for group in timbres for pair in itertools.combinations(group, 2)]
    others = [
        likeness(one, other)
        for group, rest in itertools.combinations(timbres, 2)
        for one, other in itertools.product(group, rest)
    ]
    return float(np.mean(same)), float(np.mean(others)) if others else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--clips", type=Path, help="the work folder with the teacher's clips")
    parser.add_argument("--sentences", type=int, default=100, help="of the first speaker")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    listener = Listener(given.out)
    codec = next(given.models.glob("*tokenizer*.gguf"))
    originals = unheard_voices(given.clips) if given.clips is not None else []
    files = sorted(given.models.glob("*.gguf"))
    lines = [f"- {file.name}: {file.stat().st_size / 1e6:.1f} MB" for file in files]
    for talker in sorted(given.models.glob("*talker*.gguf")):
        engine = open_engine(ModelPair(talker, codec))
        tasks = tasks_for(engine, given.sentences, originals)
        if not tasks:
            continue
        lines += ["", f"{talker.name}, Whisper tiny, seed {given.seed}:", ""]
        lines += ["| manner | sentences | words wrong | ended | pitch | letters/s | RTF |"]
        lines += ["|---|---|---|---|---|---|---|"]
        readings = []
        for reading in read_aloud(engine, tasks, listener, given.seed):
            readings.append(reading)
            lines.append(reading.row())
            print(reading.row(), flush=True)
        if engine.description.family is Family.BASE:
            lines += ["", *told_nearness(engine, originals, readings, given.out)]
        same, others = likenesses(readings)
        lines += ["", f"Likeness of timbre: {same:.3f} within a manner, {others:.3f} between two."]
    if given.clips is not None:
        lines += ["", "Through encoder and decoder:", ""]
        through: list[Heard] = []
        for name in CLIP_FOLDERS:
            folder = ShardFolder(given.clips / name)
            folder.update()
            if not folder.clips:
                continue
            by_voice = sorted(folder.clips, key=lambda clip: clip.voice)
            clips = by_voice[:: max(1, len(by_voice) // CODEC_CLIPS)]
            heard = through_codec(codec, clips, listener)
            voices = len({clip.voice for clip in clips})
            lines.append(f"- {name}: {wrong(heard)}, {voices} voices")
            print(lines[-1], flush=True)
            through += heard
        if through:
            lines.append(f"- together: {wrong(through)}")
    (given.out / "report.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
