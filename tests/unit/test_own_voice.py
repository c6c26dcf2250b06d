"""The trainable twins of the engine's layers, and the files they are written to."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from engine.cli.speaking import describe_pair
from engine.errors import ModelFileError
from engine.families import ModelPair, codec_name, open_codec, open_engine, open_speaker_encoder
from engine.gguf.layout import Variant, codec_tensors, talker_tensors
from engine.types import Family, LengthRule, Sampling, SpeechRequest, StackSampling, Voice
from tools.own_voice.alignment import spoken_characters
from tools.own_voice.codec import SmallCodec
from tools.own_voice.dims import BOOKS, CODEC, EMBEDDING_WIDTH, FIRST_BOOKS, SPOKEN_BOOKS, TALKER
from tools.own_voice.export import (
    CODEC_NAME,
    codec_values,
    small_codec_metadata,
    small_talker_metadata,
    speaker_encoder_values,
    talker_file,
    talker_file_tensors,
    talker_values,
    write_file,
)
from tools.own_voice.judge_words import edits, words_of
from tools.own_voice.patterns import sentence_from_patterns
from tools.own_voice.prompts import ENGLISH, NO_CODE, spoken_prompt
from tools.own_voice.speech_data import FRAME, LABELS, RATE, Clip
from tools.own_voice.train_codes import CodeLearner, Crops
from tools.own_voice.train_details import DetailLearner
from tools.own_voice.train_speaker_encoder import VoiceLearner, log_mel
from tools.own_voice.train_talker import Sentence, TalkerLearner, make_batch
from tools.own_voice.training import LAST_RATE, Run, cosine, linear

TEXT = "Hello, classy world!"
FEW_BOOKS = dataclasses.replace(CODEC, codebooks=FIRST_BOOKS + 1)
FEW_GROUPS = dataclasses.replace(TALKER, code_groups=FEW_BOOKS.codebooks)


def shaken(module: nn.Module) -> nn.Module:
    """With every weight moved, so that none keeps a value that hides a mistake."""
    draw = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(0.03 * torch.randn(weight.shape, generator=draw))
    return module


@pytest.fixture(scope="module")
def codec() -> SmallCodec:
    torch.manual_seed(0)
    codec = SmallCodec(FEW_BOOKS, books=FIRST_BOOKS).eval()
    shaken(codec)
    for quantizer in (codec.semantic, codec.acoustic):
        with torch.no_grad():
            rows = quantizer.input_proj(codec.tok_enc(torch.randn(1, 12 * FRAME) * 0.1))
        quantizer.mean.copy_(rows.mean((0, 2)))
        quantizer.spread.copy_((rows - rows.mean(2, keepdim=True)).std())
        for book in quantizer.chain:
            book.codebook.normal_()
    return codec


@pytest.fixture(scope="module")
def learner() -> TalkerLearner:
    torch.manual_seed(1)
    learner = TalkerLearner(FEW_GROUPS).eval()
    shaken(learner)
    return learner


@pytest.fixture(scope="module")
def pair(
    codec: SmallCodec, learner: TalkerLearner, tmp_path_factory: pytest.TempPathFactory
) -> ModelPair:
    folder = tmp_path_factory.mktemp("own-voice")
    talker = folder / talker_file(Family.CUSTOM_VOICE, Variant.F32)
    pair = ModelPair(talker, folder / "tokenizer.gguf")
    write_file(
        pair.codec,
        small_codec_metadata(FEW_BOOKS, Variant.F32),
        codec_tensors(FEW_BOOKS),
        codec_values(codec, FEW_BOOKS, FIRST_BOOKS),
        Variant.F32,
    )
    write_file(
        pair.talker,
        small_talker_metadata(FEW_GROUPS, Variant.F32, Family.CUSTOM_VOICE, pair.talker),
        talker_tensors(FEW_GROUPS),
        talker_values(learner, FIRST_BOOKS),
        Variant.F32,
    )
    return pair


@pytest.fixture(scope="module")
def voices() -> VoiceLearner:
    torch.manual_seed(2)
    voices = VoiceLearner().eval()
    shaken(voices)
    return voices


@pytest.fixture(scope="module")
def cloning_pair(learner: TalkerLearner, voices: VoiceLearner, pair: ModelPair) -> ModelPair:
    """The same weights as a base talker, which lie in the other file."""
    talker = pair.talker.with_name(talker_file(Family.BASE, Variant.F32))
    metadata = small_talker_metadata(FEW_GROUPS, Variant.F32, Family.BASE, pair.talker)
    tensors = talker_file_tensors(FEW_GROUPS, Family.BASE)
    write_file(talker, metadata, tensors, speaker_encoder_values(learner, voices), Variant.F32)
    assert talker.stat().st_size < pair.talker.stat().st_size / 4
    return ModelPair(talker, pair.codec)


def test_a_talker_refuses_other_codes_than_its_own(
    codec: SmallCodec, pair: ModelPair, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign.gguf"
    metadata = [item for item in small_codec_metadata(FEW_BOOKS, Variant.F32) if item != CODEC_NAME]
    values = codec_values(codec, FEW_BOOKS, FIRST_BOOKS)
    write_file(foreign, metadata, codec_tensors(FEW_BOOKS), values, Variant.F32)
    assert (codec_name(foreign), codec_name(pair.codec)) == ("", CODEC_NAME[1])
    assert codec_name(pair.talker) is None
    with pytest.raises(ModelFileError, match="codes of another tokenizer"):
        open_engine(ModelPair(pair.talker, foreign), device="cpu")
    with pytest.raises(ModelFileError, match="not the tokenizer whose codes"):
        describe_pair(ModelPair(pair.talker, foreign))
    assert describe_pair(pair).codec_name == CODEC_NAME[1]


def test_the_engine_decodes_as_the_trainable_codec_does(codec: SmallCodec, pair: ModelPair) -> None:
    codes = torch.randint(CODEC.codebook_size, (1, 20, FIRST_BOOKS))
    with torch.no_grad():
        wanted = codec.decode(codes)[0].numpy()
    padded = np.zeros((20, FEW_BOOKS.codebooks), np.int64)
    padded[:, :FIRST_BOOKS] = codes[0].numpy()
    made = np.concatenate(list(open_codec(pair.codec).decode(padded)))
    assert np.abs(wanted).max() > 0.01
    np.testing.assert_allclose(made, wanted, atol=2e-5)


def test_the_engine_encodes_as_the_trainable_codec_does(codec: SmallCodec, pair: ModelPair) -> None:
    samples = torch.randn(1, 12 * FRAME) * 0.1
    with torch.no_grad():
        wanted = codec.codes(codec.tok_enc(samples))[0].numpy()
    codes = open_codec(pair.codec).encode(samples[0].numpy(), LengthRule.OFFICIAL)
    assert codes.shape == (12, FEW_BOOKS.codebooks)
    np.testing.assert_array_equal(codes[:, :FIRST_BOOKS], wanted)
    assert not codes[:, FIRST_BOOKS:].any()
    assert len(np.unique(codes[:, 0])) > 3


def test_details_leave_the_spoken_codes_alone() -> None:
    torch.manual_seed(3)
    teacher = CodeLearner().eval()
    for quantizer in (teacher.codec.semantic, teacher.codec.acoustic):
        for book in quantizer.chain:
            book.codebook.normal_()
    noise = np.random.default_rng(3).integers(-9000, 9000, 3 * RATE).astype(np.int16)
    clip = Clip(noise, "a", "slt", "a", np.array([3], np.float32))
    learner = DetailLearner(teacher).eval()
    learner.start(Crops([[clip]], seed=1))
    codec, spoken = learner.codec, learner.codec.acoustic.chain[0]
    samples = torch.randn(2, 24 * FRAME) * 0.1
    with torch.no_grad():
        latent = learner.latent(samples)
        (_, rows), plain = learner.rows(latent), codec.acoustic.rows(latent)
        whole = SmallCodec().eval()
        whole.load_state_dict(learner.whole_codec())
        torch.testing.assert_close(whole.acoustic.rows(latent), rows)
    assert (rows - plain).abs().mean() > 0.01
    assert ((rows - plain) @ learner.kept).abs().max() < 1e-5
    flat, flat_plain = rows.flatten(0, 1), plain.flatten(0, 1)
    assert torch.equal(spoken.nearest(flat), spoken.nearest(flat_plain))

    for book in codec.acoustic.chain[SPOKEN_BOOKS - 1 :]:
        book.codebook.normal_()
    before, later = spoken.codebook.clone(), codec.acoustic.chain[5]
    entries = later.codebook.clone()
    slopes = []
    for used in (SPOKEN_BOOKS, BOOKS):
        losses = learner.losses(samples, torch.tensor([used] * 2), quantized=True, learning=True)
        (slope,) = torch.autograd.grad(losses["mel"], learner.details.weight)
        slopes.append(float(slope.abs().max()))
    assert slopes[0] == 0 < slopes[1]  # what is not heard is not learnt from
    assert torch.equal(spoken.codebook, before)
    assert not torch.equal(later.codebook, entries)
    assert not later.codebook[0].any()  # the code of talkers adds nothing


def test_the_engine_reads_the_prompt_and_thinks_as_the_trainable_talker_does(
    learner: TalkerLearner, pair: ModelPair
) -> None:
    told: dict[str, Tensor] = {}
    engine = open_engine(pair, precision="f32")
    greedy = Sampling(
        talker=StackSampling(greedy=True),
        predictor=StackSampling(greedy=True),
        repetition_penalty=1.0,
        max_frames=1,
    )
    request = SpeechRequest(TEXT, language="english", speaker="clara", sampling=greedy, seeds=(1,))
    chunks = list(engine.speak(request, probe=lambda name, value: told.update({name: value})))
    prompt = spoken_prompt(TEXT, "slt")
    with torch.no_grad():
        codec = torch.tensor(prompt.codec)
        talker = learner.speaker.talker
        rows = talker.text(torch.tensor(prompt.text))
        rows = rows + talker.codec_embd(codec.clamp(min=0)) * (codec != NO_CODE)[:, None]
        hidden, _ = talker.run(rows[None])
        logits = talker.codec_head(hidden[0, -1])
        codes = torch.from_numpy(np.concatenate([chunk.codes for chunk in chunks]))
        first = talker.codec_embd(codes[:, 0])
        later = learner.speaker.code_pred.logits(hidden[:, -1], first, codes, FEW_BOOKS.codebooks)
    torch.testing.assert_close(told["talker-hidden-prefill-final"], hidden[0], atol=2e-5, rtol=0)
    torch.testing.assert_close(told["talker-logits-prefill"], logits, atol=1e-4, rtol=0)
    assert torch.equal(later[0, : FIRST_BOOKS - 1].argmax(-1), codes[0, 1:FIRST_BOOKS])
    assert codes[0, 1:FIRST_BOOKS].any()
    assert not codes[0, FIRST_BOOKS:].any()


def test_the_engine_hears_voices_as_the_trainable_encoder_does(
    learner: TalkerLearner, voices: VoiceLearner, cloning_pair: ModelPair
) -> None:
    samples = (0.1 * torch.randn(RATE, generator=torch.Generator().manual_seed(3))).numpy()
    with torch.no_grad():
        wanted = learner.x_vector(voices(log_mel(samples)[None]))[0].numpy()
    found = open_speaker_encoder(cloning_pair.talker, device="cpu").embedding(samples)
    assert np.abs(wanted).max() > 0.01
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_the_engine_reads_the_prompt_of_a_clone_as_the_trainable_talker_does(
    learner: TalkerLearner, cloning_pair: ModelPair
) -> None:
    draw = torch.Generator().manual_seed(4)
    codes = torch.randint(CODEC.codebook_size, (2, FIRST_BOOKS), generator=draw)
    embedding, labels = torch.randn(EMBEDDING_WIDTH, generator=draw), torch.zeros(2, LABELS).long()
    spoken = Sentence(TEXT, "slt", codes, labels, None, embedding)
    voice = Voice(embedding=learner.x_vector(embedding).detach().numpy())
    told: dict[str, Tensor] = {}
    engine = open_engine(cloning_pair, device="cpu", precision="f32")
    request = SpeechRequest(
        TEXT, language="english", voice=voice, sampling=Sampling(max_frames=1), seeds=(1,)
    )
    list(engine.speak(request, probe=lambda name, value: told.update({name: value})))

    batch = make_batch([spoken], FIRST_BOOKS, random.Random(2))  # one that tells the language
    assert ENGLISH in batch.codec[0]
    with torch.no_grad():
        hidden, _ = learner.think(batch)
    found = told["talker-hidden-prefill-final"]
    assert batch.text.shape[1] == len(found) + 2
    torch.testing.assert_close(found, hidden[0, :-2], atol=2e-5, rtol=0)


def test_a_prompt_knows_which_token_every_character_is() -> None:
    prompt = spoken_prompt("class", "af_heart")
    assert prompt.tokens_of == [0, 1, 2, 2, 2]  # c, l, ass
    assert prompt.rows == len(prompt.codec) == prompt.body + 3 + 2


def test_frames_are_given_to_letters_by_the_teachers_times() -> None:
    phonemes = "ðə kæt"
    ends = np.array([0.1, 0.2, 0.2, 0.3, 0.5, 0.6], np.float32)
    samples = np.zeros(int(0.6 * RATE), np.int16)
    clip = Clip(samples, "The cat.", "af_heart", phonemes, ends)
    places = spoken_characters(clip)
    assert places is not None
    assert places.shape == (8, 2)
    assert places[0].tolist() == [0, 2]  # around "T"
    assert places[-1].tolist() == [6, 7]
    assert (np.diff(places[:, 0]) >= 0).all()


def test_words_that_are_run_together_stay_together() -> None:
    phonemes = "ɒnðə mæt"  # "on the", as one
    ends = np.linspace(0.05, 0.8, len(phonemes), dtype=np.float32)
    clip = Clip(np.zeros(int(0.8 * RATE), np.int16), "On the mat.", "af_heart", phonemes, ends)
    places = spoken_characters(clip)
    assert places is not None
    assert places[0, 0] == 0
    assert places[-1, 1] == len(clip.text) - 1


def test_a_stage_goes_on_from_what_it_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("tools.own_voice.training.time.process_time", lambda: clock[0])

    def start(minutes: float) -> tuple[nn.Parameter, Run]:
        weight = nn.Parameter(torch.ones(2))
        optimizer = torch.optim.AdamW([weight], lr=0.1)
        return weight, Run(tmp_path / "stage.pt", minutes, optimizer, warm_up=2, fall=linear)

    weight, run = start(1)
    rates = []
    for _ in run:
        run.learn(weight.square().sum())
        rates.append(run._optimizer.param_groups[0]["lr"])
        clock[0] += 20
    assert run.kept is None
    assert rates == pytest.approx([0.05, 0.1 * linear(1 / 3), 0.1 * linear(2 / 3)])
    run.save(weight=weight.data)

    clock[0] = 1000.0  # another process, later
    again, run = start(2)
    assert run.kept is not None
    again.data = run.kept["weight"]
    assert torch.equal(again, weight)
    steps = []
    for step in run:
        steps.append(step)
        run.learn(again.square().sum())
        clock[0] += 40
    assert steps == [3, 4]
    assert (again.abs() < weight.abs()).all()
    assert [linear(1), cosine(0), cosine(1)] == pytest.approx([LAST_RATE, 1, LAST_RATE])


def test_patterned_sentences_have_no_open_slots() -> None:
    draw = random.Random(1)
    for _ in range(500):
        text = sentence_from_patterns(draw)
        assert "{" not in text
        assert text[0].isupper()
        assert text[-1] in ".?!"


def test_wrong_words_are_counted() -> None:
    assert words_of("Don't stop - it's well-made!") == ["dont", "stop", "its", "well", "made"]
    assert edits(["we", "had", "dinner"], ["we", "had", "a", "dinner"]) == 1
    assert edits(["we", "had", "dinner"], []) == 3


def test_nothing_committed_is_too_large() -> None:
    """The small files stay small: the codebooks nobody speaks must not cost what they hold."""
    files = list((Path(__file__).parents[2] / "resources").rglob("*.gguf"))
    assert files
    assert sum(file.stat().st_size for file in files) <= 40_000_000
