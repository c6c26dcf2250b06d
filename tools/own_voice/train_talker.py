"""The talker and the code predictor: from text and a speaker to codes.

    python -m tools.own_voice.train_talker WORK_DIR --minutes 90

The first SPOKEN_BOOKS codebooks are learnt, the rest are zero in every frame. Two aids: the first
heads of two blocks are told which letters a frame speaks, and phonemes are to be read off the
hidden states. Some clips are cloned: the voice is told by the speaker embedding of another
clip. Clips are encoded once with `codes.pt` into
`coded-*/`, and with `speaker_encoder.pt` into `embeddings-*/`. Writes `talker.pt` every 250
steps, with a running mean of the weights, and goes on from it.
"""

from __future__ import annotations

import os
import random
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.gguf.layout import TalkerDims
from tools.own_voice.alignment import spoken_characters
from tools.own_voice.dims import EMBEDDING_WIDTH, SPOKEN_BOOKS, TALKER
from tools.own_voice.prompts import CODEC, NO_CODE, TEXT_PAD, SpokenPrompt, spoken_prompt
from tools.own_voice.speech_data import FRAME, LABELS, PHONEMES, Clip, read_shard, shards_of
from tools.own_voice.speech_data import RATE as RATE_OF_SOUND
from tools.own_voice.talker import SmallSpeaker
from tools.own_voice.teacher_voices import SPEAKER_IDS, Manner, describe
from tools.own_voice.train_codes import CodeLearner, encode, fingerprint, load_codes
from tools.own_voice.train_speaker_encoder import VoiceLearner, load_speaker_encoder
from tools.own_voice.training import Run, linear, read_arguments

LANES = 24
WATCHED = {1: 2, 2: 2}  # block: heads that are told where to look
RATE = 8e-4
HISTORY_DROPPED = 0.25  # frames that the talker does not see while it learns
PREDICTED_FRAMES = 400  # per step, for the code predictor
WITHOUT_LANGUAGE = 0.2
EVERY = 250
ENCODED_TOGETHER = 16  # clips
ROUND = 6000  # sentences between two looks for new shards
FIRST_SHARDS, NEW_SHARDS = 24, 12  # encoded at the first look, and at every later one
SHARES = (
    ("audio-flite", "slt-[0-9]*", 0.24),
    ("audio-flite", "slt-deep-*", 0.09),
    ("audio-flite", "rms-[0-9]*", 0.09),
    ("audio-flite", "rms-bright-*", 0.08),
    ("audio-flite", "awb-*", 0.08),
    ("audio-flite-varied", "*", 0.12),
    ("audio-flite-greetings", "*", 0.07),
)
"""Folder, pattern of the shards' names, and share of the batches."""

CLONED = (
    ("audio-flite-varied", "*", 0.17),
    ("audio-flite", "*-???[0-4]0", 0.07),
    ("audio", "*", 0.06),
)
"""The same of those that are told by an x-vector."""

MEAN_OVER = 150  # steps, of the running mean of the weights


@dataclass(frozen=True, eq=False)
class Sentence:
    """A clip in codes."""

    text: str
    voice: str
    codes: Tensor  # [T, FIRST_BOOKS]
    labels: Tensor  # [T, LABELS]
    places: Tensor | None  # [T, 2], first and last byte that a frame may speak
    embedding: Tensor | None = None  # [EMBEDDING_WIDTH], of the voice, if it is cloned


def encode_all(learner: CodeLearner, clips: list[Clip]) -> list[Tensor]:
    """The codes [T, FIRST_BOOKS] of every clip; what fills up a batch comes after the sound."""
    order = sorted(range(len(clips)), key=lambda at: clips[at].frames)
    codes: dict[int, Tensor] = {}
    for first in range(0, len(order), ENCODED_TOGETHER):
        part = order[first : first + ENCODED_TOGETHER]
        samples = torch.zeros(len(part), max(clips[at].frames for at in part) * FRAME)
        for lane, at in enumerate(part):
            padded = clips[at].padded()
            samples[lane, : len(padded)] = torch.from_numpy(padded)
        for at, found in zip(part, encode(learner, samples), strict=True):
            codes[at] = found[: clips[at].frames].clone()
    return [codes[at] for at in range(len(clips))]


def coded_file(work: Path, folder: str, shard: Path, learner: CodeLearner) -> Path:
    """Where the codes of a shard are kept."""
    return work / f"coded-{fingerprint(learner.codec):.3f}" / folder / f"{shard.stem}.pt"


def read_coded(work: Path, folder: str, file: Path, learner: CodeLearner) -> list[Sentence]:
    """The sentences of a shard, encoded now or before."""
    kept = coded_file(work, folder, file, learner)
    if not kept.exists():
        kept.parent.mkdir(exist_ok=True, parents=True)
        rows = []
        clips = read_shard(file)
        for clip, codes in zip(clips, encode_all(learner, clips), strict=True):
            places = spoken_characters(clip)
            rows.append(
                (
                    clip.text,
                    clip.voice,
                    codes.to(torch.int16),
                    torch.from_numpy(clip.labels()).view(-1, LABELS).to(torch.uint8),
                    None if places is None else torch.from_numpy(places).to(torch.int16),
                )
            )
        partial = kept.with_suffix(f".partial{os.getpid()}")  # others may be at it as well
        torch.save(rows, partial)
        os.replace(partial, kept)
    return [
        Sentence(text, voice, codes.long(), labels.long(), None if at is None else at.long())
        for text, voice, codes, labels, at in torch.load(kept)
    ]


def shuffled_shards(folder: Path, pattern: str) -> list[Path]:
    """The shards whose names fit, so that drills are not all at the end."""
    files = [file for file in shards_of(folder) if file.match(f"{pattern}.npz")]
    random.Random(0).shuffle(files)
    return files


class CodedFolder:
    """The sentences of those shards of a folder, which may still be growing, that fit `pattern`."""

    def __init__(self, work: Path, folder: str, learner: CodeLearner, pattern: str = "*") -> None:
        self._work, self._folder, self._learner = work, folder, learner
        self._pattern = pattern
        self._read: set[Path] = set()
        self.sentences: list[Sentence] = []

    def update(self, most: int = 1000) -> None:
        """Read what is new: all that is encoded, and as many others as are told."""
        files = shuffled_shards(self._work / self._folder, self._pattern)
        new = [file for file in files if file not in self._read]
        coded = [
            file
            for file in new
            if coded_file(self._work, self._folder, file, self._learner).exists()
        ]
        others = [file for file in new if file not in coded]
        for file in coded + others[:most]:
            self.sentences += self._sentences(file)
            self._read.add(file)

    def _sentences(self, shard: Path) -> list[Sentence]:
        return read_coded(self._work, self._folder, shard, self._learner)

    def presented(self, sentences: list[Sentence], draw: random.Random) -> list[Sentence]:
        """Some of the sentences, as they are learnt."""
        return sentences

    @property
    def hours(self) -> float:
        return (
            sum(len(sentence.codes) for sentence in self.sentences) * FRAME / RATE_OF_SOUND / 3600
        )


def read_embeddings(work: Path, folder: str, file: Path, voices: VoiceLearner) -> Tensor:
    """Speaker embeddings [clips, EMBEDDING_WIDTH] of a shard's clips, computed now or before."""
    known = float(voices.bottleneck.weight.detach().double().sum())
    kept = work / f"embeddings-{known:.3f}" / folder / f"{file.stem}.pt"
    if not kept.exists():
        kept.parent.mkdir(exist_ok=True, parents=True)
        partial = kept.with_suffix(f".partial{os.getpid()}")
        torch.save(torch.stack([voices.of_clip(clip) for clip in read_shard(file)]), partial)
        os.replace(partial, kept)
    embeddings: Tensor = torch.load(kept)
    return embeddings


class ClonedFolder(CodedFolder):
    """Sentences whose voice is told by another clip of it."""

    def __init__(
        self, work: Path, folder: str, learner: CodeLearner, pattern: str, voices: VoiceLearner
    ) -> None:
        super().__init__(work, folder, learner, pattern)
        self._voices = voices
        self._by_voice = defaultdict[str, list[Sentence]](list)

    def _sentences(self, shard: Path) -> list[Sentence]:
        embeddings = read_embeddings(self._work, self._folder, shard, self._voices)
        plain = super()._sentences(shard)
        sentences = [
            replace(one, embedding=row) for one, row in zip(plain, embeddings, strict=True)
        ]
        for sentence in sentences:
            self._by_voice[sentence.voice].append(sentence)
        return sentences

    def presented(self, sentences: list[Sentence], draw: random.Random) -> list[Sentence]:
        return [self._cloned(sentence, draw) for sentence in sentences]

    def _cloned(self, sentence: Sentence, draw: random.Random) -> Sentence:
        other = draw.choice(self._by_voice[sentence.voice])
        return replace(sentence, embedding=other.embedding)


@dataclass(frozen=True, eq=False)
class Batch:
    """Sentences side by side; rows are filled up at the end."""

    text: Tensor  # [B, M]
    codec: Tensor  # [B, M], NO_CODE adds nothing
    frames: Tensor  # [B, M, books]
    is_frame: Tensor  # [B, M]
    embeddings: Tensor  # [B, EMBEDDING_WIDTH], zero without a clone
    is_cloned: Tensor  # [B, M], the row of the x-vector
    lane: Tensor  # [N] of every frame, and the row that predicts it
    row: Tensor  # [N]
    codes: Tensor  # [N, books]
    labels: Tensor  # [N, LABELS]
    looked_at: Tensor  # [N, M] rows that a frame may look at
    aligned: Tensor  # [N]
    ends: Tensor  # [B], the row that predicts the end


def prompt_of(sentence: Sentence, draw: random.Random) -> SpokenPrompt:
    """For a clone, with the speaker's name, or with a description where it has none."""
    language = draw.random() > WITHOUT_LANGUAGE
    if sentence.embedding is not None:
        return spoken_prompt(sentence.text, None, told_language=language, cloned=True)
    named = sentence.voice in SPEAKER_IDS
    return spoken_prompt(
        sentence.text,
        sentence.voice if named else None,
        "" if named else describe(Manner.parse(sentence.voice), draw),
        told_language=language,
    )


def make_batch(sentences: list[Sentence], books: int, draw: random.Random) -> Batch:
    prompts = [prompt_of(sentence, draw) for sentence in sentences]
    longest = max(p.rows + len(s.codes) for p, s in zip(prompts, sentences, strict=True))
    size = (len(sentences), longest)
    text, codec = torch.full(size, TEXT_PAD), torch.full(size, NO_CODE)
    frames, is_frame = torch.zeros(*size, books, dtype=torch.long), torch.zeros(size)
    embeddings, is_cloned = torch.zeros(len(sentences), EMBEDDING_WIDTH), torch.zeros(size)
    lane, row, looked_at, aligned = [], [], [], []
    for number, (prompt, sentence) in enumerate(zip(prompts, sentences, strict=True)):
        rows, count = prompt.rows, len(sentence.codes)
        text[number, :rows] = torch.tensor(prompt.text)
        codec[number, :rows] = torch.tensor(prompt.codec)
        frames[number, rows : rows + count] = sentence.codes[:, :books]
        is_frame[number, rows : rows + count] = 1
        if sentence.embedding is not None:
            embeddings[number], is_cloned[number, prompt.speaker] = sentence.embedding, 1
        lane.append(torch.full((count,), number))
        row.append(torch.arange(rows - 1, rows - 1 + count))
        looked_at.append(_looked_at(prompt, sentence, longest))
        aligned.append(torch.full((count,), sentence.places is not None))
    return Batch(
        text,
        codec,
        frames,
        is_frame,
        embeddings,
        is_cloned,
        torch.cat(lane),
        torch.cat(row),
        torch.cat([sentence.codes[:, :books] for sentence in sentences]),
        torch.cat([sentence.labels for sentence in sentences]),
        torch.cat(looked_at),
        torch.cat(aligned),
        torch.tensor([p.rows - 1 + len(s.codes) for p, s in zip(prompts, sentences, strict=True)]),
    )


def _looked_at(prompt: SpokenPrompt, sentence: Sentence, longest: int) -> Tensor:
    if sentence.places is None:
        return torch.zeros(len(sentence.codes), longest, dtype=torch.bool)
    tokens = torch.tensor(prompt.tokens_of)[sentence.places] + prompt.body
    rows = torch.arange(longest)
    return (rows >= tokens[:, :1]) & (rows <= tokens[:, 1:])


class TalkerLearner(nn.Module):
    """The speaker and the aids of its training."""

    def __init__(self, dims: TalkerDims = TALKER) -> None:
        super().__init__()
        self.speaker = SmallSpeaker(dims)
        self.phonemes = nn.Linear(dims.talker.width, LABELS * PHONEMES)
        self.x_vector = nn.Linear(EMBEDDING_WIDTH, dims.talker.width)
        nn.init.normal_(self.x_vector.weight, std=0.02)

    def think(self, batch: Batch) -> tuple[Tensor, list[Tensor]]:
        """Hidden states [B, M, width], and the attention of the heads that are watched."""
        talker, heard = self.speaker.talker, batch.is_frame
        if self.training:
            heard = heard * (torch.rand(heard.shape) >= HISTORY_DROPPED)
        x = talker.text(batch.text)
        x = x + talker.codec_embd(batch.codec.clamp(min=0)) * (batch.codec >= 0)[..., None]
        x = x + self.speaker.frames(batch.frames) * heard[..., None]
        x = x + self.x_vector(batch.embeddings)[:, None] * batch.is_cloned[..., None]
        return talker.run(x, WATCHED)

    def losses(self, batch: Batch, books: int) -> dict[str, Tensor]:
        talker, predictor = self.speaker.talker, self.speaker.code_pred
        with torch.autocast("cpu", torch.bfloat16):
            hidden, weights = self.think(batch)
            spoken = hidden[batch.lane, batch.row]
            ends = hidden[torch.arange(len(batch.ends)), batch.ends]
            logits = talker.codec_head(torch.cat((spoken, ends))).float()
            wanted = torch.cat((batch.codes[:, 0], torch.full_like(batch.ends, CODEC["eos"])))
            labels = self.phonemes(spoken).float().view(-1, PHONEMES)
            some = torch.randperm(len(spoken))[:PREDICTED_FRAMES]
            first = talker.codec_embd(batch.codes[some, 0])
            later = predictor.logits(spoken[some], first, batch.codes[some], books).float()
        seen = torch.stack([part[batch.lane, :, batch.row] for part in weights], 1).flatten(1, 2)
        mass = (seen * batch.looked_at[:, None]).sum(-1)[batch.aligned]
        return {
            "first": F.cross_entropy(logits, wanted),
            "later": F.cross_entropy(later.flatten(0, 1), batch.codes[some, 1:].flatten()),
            "attention": -(mass + 1e-4).log().mean(),
            "phonemes": F.cross_entropy(labels, batch.labels.flatten()),
        }


def load_talker(work: Path) -> TalkerLearner:
    """The talker as it was saved, with the running mean of its weights."""
    state = torch.load(work / "talker.pt")
    learner = TalkerLearner()
    learner.load_state_dict(state["learner"])
    for weight, mean in zip(learner.parameters(), state["mean"], strict=True):
        weight.data = mean
    return learner.eval()


class Batches:
    """Sentences of like length together, in random order, from several folders by their shares."""

    def __init__(self, folders: list[tuple[CodedFolder, float]], books: int, seed: int) -> None:
        self._folders, self._books, self._draw = folders, books, random.Random(seed)
        self._waiting: list[list[Sentence]] = []

    def next(self) -> Batch:
        if not self._waiting:
            mixed: list[Sentence] = []
            for folder, share in self._folders:
                folder.update(most=NEW_SHARDS if folder.sentences else FIRST_SHARDS)
                if folder.sentences:
                    chosen = self._draw.choices(folder.sentences, k=int(share * ROUND))
                    mixed += folder.presented(chosen, self._draw)
            self._draw.shuffle(mixed)
            for first in range(0, len(mixed), LANES * 16):
                part = mixed[first : first + LANES * 16]
                part.sort(key=lambda sentence: len(sentence.text) + len(sentence.codes))
                self._waiting += [part[at : at + LANES] for at in range(0, len(part), LANES)]
            self._draw.shuffle(self._waiting)
        return make_batch(self._waiting.pop(), self._books, self._draw)


def held_out(folder: CodedFolder, books: int) -> list[Batch]:
    """Two batches of sentences that nothing is trained on."""
    draw = random.Random(3)
    folder.update()
    chosen = draw.sample(folder.sentences, min(2 * LANES, len(folder.sentences)))
    sentences = folder.presented(chosen, draw)
    parts = [sentences[:LANES], sentences[LANES:]]
    return [make_batch(part, books, draw) for part in parts]


def main() -> None:
    given = read_arguments(__doc__, seed=2).parse_args()
    codes, voices = load_codes(given.work), load_speaker_encoder(given.work)
    train, tests = list[tuple[CodedFolder, float]](), {}
    for folder, pattern, share in SHARES:
        train.append((CodedFolder(given.work, folder, codes, pattern), share))
        if (given.work / f"{folder}-everyday").exists():
            name = pattern.partition("-[")[0].strip("-*") or "described"
            held = CodedFolder(given.work, f"{folder}-everyday", codes, pattern)
            tests[name] = held_out(held, SPOKEN_BOOKS)
    for folder, pattern, share in CLONED:
        cloned = ClonedFolder(given.work, folder, codes, pattern, voices)
        train.append((cloned, share))
        held = ClonedFolder(given.work, f"{folder}-everyday", codes, "*", voices)
        tests[f"cloned, {folder}"] = held_out(held, SPOKEN_BOOKS)
    learner = TalkerLearner()
    mean = [weight.detach().clone() for weight in learner.parameters()]
    optimizer = torch.optim.AdamW(
        learner.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.03, fused=True
    )
    run = Run(given.work / "talker.pt", given.minutes, optimizer, warm_up=100, fall=linear)
    if run.kept is not None:
        learner.load_state_dict(run.kept["learner"])
        mean = run.kept["mean"]
    batches = Batches(train, SPOKEN_BOOKS, seed=time.time_ns())
    sums: dict[str, float] = {}
    for _ in run:
        losses = learner.losses(batches.next(), SPOKEN_BOOKS)
        loss = losses["first"] + 0.8 * losses["later"]
        run.learn(loss + 0.5 * losses["attention"] + 0.4 * losses["phonemes"])
        share = max(1 / MEAN_OVER, 1 / run.step)
        torch._foreach_lerp_(mean, [weight.detach() for weight in learner.parameters()], share)
        for name, value in losses.items():
            sums[name] = sums.get(name, 0) + value.item() / EVERY
        if run.step % EVERY == 0:
            words = " ".join(f"{name} {value:.3f}" for name, value in sums.items())
            hours = " + ".join(f"{folder.hours:.1f}" for folder, _ in train)
            print(f"step {run.step} ({run.seconds:.0f} s, {hours} h): {words}", flush=True)
            evaluate(learner, mean, tests, SPOKEN_BOOKS)
            sums.clear()
            run.save(learner=learner.state_dict(), mean=mean)


@torch.no_grad()
def evaluate(
    learner: TalkerLearner, mean: list[Tensor], tests: dict[str, list[Batch]], books: int
) -> None:
    """Print the losses of unheard sentences with the running mean of the weights."""
    kept = [weight.data for weight in learner.parameters()]
    for weight, average in zip(learner.parameters(), mean, strict=True):
        weight.data = average
    learner.eval()
    torch.manual_seed(4)
    for voice, batches in tests.items():
        found = [learner.losses(batch, books) for batch in batches]
        means = {name: float(np.mean([float(loss[name]) for loss in found])) for name in found[0]}
        words = " ".join(f"{name} {value:.3f}" for name, value in means.items())
        print(f"  unheard, {voice}: {words}", flush=True)
    learner.train()
    for weight, value in zip(learner.parameters(), kept, strict=True):
        weight.data = value


if __name__ == "__main__":
    main()
