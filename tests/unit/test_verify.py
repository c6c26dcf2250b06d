"""The parts of `verify`: figures, limits, teacher forcing, a verdict about two models, the command.

The pairs are the tiny reference checkpoints, which are far from trained: what is tested is that
equal things pass and different ones are told, not how good a quantisation is.
"""

from __future__ import annotations

import gc
import json
import re
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from engine.cli.verify import main
from engine.errors import ModelFileError, RequestError
from engine.families import ModelPair
from engine.qwen3tts.engine import ModelParts
from engine.qwen3tts.generation import FrameLoop
from engine.qwen3tts.loading import load_model
from engine.qwen3tts.prompt import Prompt, PromptBuilder
from engine.runtime import Runtime
from engine.types import CancelToken, Layout, Voice
from engine.verify import subject as subjects
from engine.verify.capture import plan
from engine.verify.comparing import Stage, worst_of
from engine.verify.measures import (
    Measure,
    closeness,
    exact_share,
    first_mismatch,
    segmental_snr,
    stft_cosine,
)
from engine.verify.report import as_json, as_table
from engine.verify.subject import Subject, check_comparable, examine
from engine.verify.teacher import ForcedLogits, likeliest, step_by_step, teacher_forced
from engine.verify.thresholds import (
    LIMITS,
    Grade,
    Thresholds,
    group_of,
    parse_threshold,
    threshold_names,
)
from engine.verify.verification import (
    Listeners,
    Question,
    SpokenText,
    Verdict,
    default_reference,
    verify,
)
from engine.voices import write_codes, write_embedding
from tests.terminal import Terminal

CODEC = "qwen-tokenizer-12hz-F32.gguf"
BASE = "qwen-talker-1.7b-base-F32.gguf"
CUSTOM = "qwen-talker-0.6b-customvoice-F32.gguf"
DESIGN = "qwen-talker-1.7b-voicedesign-F32.gguf"
FRAMES = 6
RATE = 24_000


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(monkeypatch)


def ask(data: Path, talker: str = BASE, **changes: Any) -> Verdict:
    """Verify a tiny pair on the CPU against itself in float32."""
    pair = ModelPair(data / talker, data / CODEC)
    usual = Question(
        Subject(pair, "cpu", "f32"),
        Subject(pair, "cpu", "f32"),
        spoken=SpokenText("Good evening.", frames=FRAMES),
    )
    return verify(replace(usual, **changes), Listeners(lambda _: None))


def tone(frequency: float, phase: float = 0.0, seconds: float = 1.0) -> np.ndarray[Any, Any]:
    time = np.arange(int(seconds * RATE)) / RATE
    return (0.5 * np.sin(2 * np.pi * frequency * time + phase)).astype(np.float32)


# Figures


def test_closeness_is_measured_in_float64() -> None:
    a = np.array([[3, 4]], np.float32)
    found = closeness(a, np.array([[4, 3]], np.float32))
    assert found == {Measure.COSINE: 0.96, Measure.MAX_ABS: 1.0, Measure.MEAN_ABS: 1.0}
    assert closeness(a, a + np.float32(1e-4))[Measure.COSINE] < 1


@pytest.mark.parametrize(("other", "expected"), [([0, 0], 1.0), ([0, 1], 0.0)])
def test_the_cosine_of_zeros(other: list[float], expected: float) -> None:
    assert closeness(np.zeros(2), np.array(other))[Measure.COSINE] == expected


def test_a_value_that_is_no_number_fails_every_limit() -> None:
    figures = closeness(np.ones(2), np.array([1, np.nan]))
    limits = {Measure.COSINE: 0.0, Measure.MAX_ABS: 1e9}
    assert Stage("x", figures, limits).broken == (Measure.COSINE, Measure.MAX_ABS)


@pytest.mark.parametrize(
    ("mine", "share", "row"),
    [
        ([[1, 2], [3, 4]], 1.0, None),
        ([[1, 2], [3, 5]], 0.75, 1),
        ([[1, 2]], 0.5, 1),
        ([[1, 2], [3, 4], [5, 6]], 4 / 6, 2),
        ([[0, 0], [0, 0]], 0.0, 0),
    ],
)
def test_integers(mine: list[list[int]], share: float, row: int | None) -> None:
    codes = np.array([[1, 2], [3, 4]])
    assert exact_share(codes, np.array(mine)) == share
    assert first_mismatch(codes, np.array(mine)) == row


def test_segmental_snr_of_known_noise() -> None:
    sound = tone(300)
    noise = np.random.default_rng(1).normal(0, 0.5 / np.sqrt(2) / 10, len(sound))
    assert segmental_snr(sound, sound + noise.astype(np.float32), RATE) == pytest.approx(
        20, abs=0.3
    )


def test_segmental_snr_stays_in_its_range_and_skips_silence() -> None:
    sound = tone(300)
    assert segmental_snr(sound, sound, RATE) == 35
    assert segmental_snr(sound, -100 * sound, RATE) == -10
    quiet = np.zeros(RATE, np.float32)
    padded = np.concatenate((sound, quiet))
    hissing = np.concatenate((sound, quiet + np.float32(0.1)))
    assert segmental_snr(padded, hissing, RATE) == 35
    assert segmental_snr(quiet, quiet, RATE) == 35
    assert segmental_snr(quiet, sound, RATE) == -10


def test_the_stft_is_deaf_to_phase_but_not_to_pitch() -> None:
    sound, shifted = tone(300), tone(300, phase=np.pi / 2)
    assert abs(closeness(sound, shifted)[Measure.COSINE]) < 1e-3
    assert stft_cosine(sound, shifted) > 0.9999
    assert stft_cosine(sound, tone(900)) < 0.1
    assert stft_cosine(sound, sound[:1000]) == pytest.approx(1), "only the common length counts"


# Limits


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: f"{limit.stage}.{limit.measure}")
def test_coarser_grades_are_never_held_to_more(limit: Any) -> None:
    assert limit.reason
    assert f"{limit.stage}.{limit.measure}" in threshold_names()
    if limit.stage.startswith("self-"):
        return  # these look at the grade of the arithmetic, of which there are two
    values = [value for value in limit.by_grade if value is not None]
    assert values, "a row without limits"
    assert limit.by_grade[: len(values)] == tuple(values), "a coarser grade has a limit again"
    assert values == sorted(values, reverse=not limit.measure.is_distance)


def test_the_user_can_set_and_lift_limits() -> None:
    stage = "talker-hidden-prefill-l3"
    usual = Thresholds().of(stage, Grade.F32)
    assert usual == Thresholds().of("talker-hidden-prefill", Grade.F32) != {}
    own = Thresholds(
        dict(
            parse_threshold(text)
            for text in (
                "talker-hidden-prefill.cosine=off",
                "talker-hidden-prefill-l3.max-abs=0.5",
                "greedy-codes.exact=0.25",
            )
        )
    )
    assert own.of(stage, Grade.F32) == {Measure.MAX_ABS: 0.5}
    assert own.of("talker-hidden-prefill-l2", Grade.F32) == {}
    assert own.of("greedy-codes", Grade.Q4_K_M) == {Measure.EXACT: 0.25}
    assert group_of("talker-hidden-prefill-final") == "talker-hidden-prefill-final"


@pytest.mark.parametrize(
    "text",
    ["", "cosine=1", "nothing.cosine=1", "greedy-codes.cosine=1", "greedy-codes.exact=much"]
    + [f"greedy-codes.exact={value}" for value in ("", "nan", "inf")],
)
def test_thresholds_that_do_not_exist(text: str) -> None:
    with pytest.raises(RequestError, match="threshold"):
        parse_threshold(text)


def test_the_worst_case_is_shown() -> None:
    def stage(case: str, cosine: float) -> Stage:
        return Stage("x", {Measure.COSINE: cosine}, {Measure.COSINE: 0.9}, case=case)

    (worst,) = worst_of([stage("a", 1.0), stage("b", 0.8), stage("c", 0.95)])
    assert (worst.measures[Measure.COSINE], worst.note) == (0.8, "worst of 3: b")
    (equal,) = worst_of([stage("a", 1.0), stage("b", 1.0)])
    assert (equal.passed, equal.note) == (True, "2 cases")
    (broken,) = worst_of([stage("a", 0.5), stage("b", float("nan"))])
    assert broken.case == "b"


# Teacher forcing


def load(data: Path, talker: str) -> ModelParts:
    return load_model(data / talker, data / CODEC, Runtime(torch.device("cpu"), torch.float32))


def prompted(model: ModelParts, spoken: SpokenText) -> tuple[Prompt, torch.Tensor]:
    """A prompt, and the codes that the frame loop makes of it greedily."""
    request = replace(spoken.request(model.config), layout=Layout.STREAMING)
    prompt = PromptBuilder(model.talker, model.predictor, model.config).build(plan(model, request))
    loop = FrameLoop(model.talker, model.predictor, model.config, request.sampling)
    frames = list(loop.frames(prompt, (0,), CancelToken()))
    return prompt, torch.cat([frame.codes for frame in frames if frame.takes])


@pytest.mark.parametrize("talker", [BASE, CUSTOM, DESIGN])
def test_one_pass_equals_the_frame_loop(data: Path, talker: str) -> None:
    """Rounding of logits of about 10 is 1e-6; sums in another order make some of it 1e-5."""
    model = load(data, talker)
    prompt, codes = prompted(model, SpokenText("Good evening, everyone.", frames=20))
    assert len(codes) == 20
    forced = teacher_forced(model.talker, model.predictor, prompt, codes)
    stepped = step_by_step(model.talker, model.predictor, prompt, codes)
    assert forced.talker.shape == (20, model.config.talker.vocabulary)
    assert forced.predictor.shape == (20, 15, model.config.predictor.vocabulary)
    torch.testing.assert_close(forced.talker, stepped.talker, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(forced.predictor, stepped.predictor, rtol=1e-5, atol=1e-5)
    assert torch.equal(likeliest(forced, model.config), codes)


def test_frames_are_judged_by_what_came_before_only(data: Path) -> None:
    model = load(data, BASE)
    prompt, codes = prompted(model, SpokenText("Good evening.", frames=8))
    changed = codes.clone()
    changed[5, 9] = (changed[5, 9] + 1) % model.config.predictor.vocabulary
    whole, other = (
        teacher_forced(model.talker, model.predictor, prompt, given) for given in (codes, changed)
    )
    torch.testing.assert_close(other.talker[:6], whole.talker[:6])
    torch.testing.assert_close(other.predictor[5, :9], whole.predictor[5, :9])
    assert not torch.allclose(other.predictor[5, 9:], whole.predictor[5, 9:])
    assert not torch.allclose(other.talker[6:], whole.talker[6:])
    single = teacher_forced(model.talker, model.predictor, prompt, codes[:1])
    torch.testing.assert_close(single.talker[0], whole.talker[0])


def test_reserved_codes_and_an_early_end_are_never_likeliest(data: Path) -> None:
    config = examine(Subject(ModelPair(data / BASE, data / CODEC), "cpu", "f32")).config
    logits = torch.zeros(4, config.talker.vocabulary)
    logits[:, 7] = 1
    logits[:, config.codec.bos] = 9
    logits[:, config.codec.eos] = 5
    others = torch.zeros(4, config.codebooks - 1, config.predictor.vocabulary)
    others[:, :, 3] = 1
    codes = likeliest(ForcedLogits(logits, others), config)
    assert codes[:, 0].tolist() == [7, 7, config.codec.eos, config.codec.eos]
    assert (codes[:, 1:] == 3).all()


# Verdicts


@pytest.mark.parametrize("talker", [BASE, CUSTOM, DESIGN])
def test_a_model_is_faithful_to_itself(data: Path, talker: str) -> None:
    verdict = ask(data, talker)
    assert verdict.passed, as_table(verdict)
    by_name = {stage.name: stage for stage in verdict.stages}
    assert len(by_name) == len(verdict.stages)
    for name in ("greedy-codes", "teacher-forced-codes", "self-batch-codes", "prompt-ids"):
        assert by_name[name].measures == {Measure.EXACT: 1}
    assert by_name["teacher-forced-predictor-logits"].measures[Measure.MAX_ABS] == 0
    blocks = verdict.subject.config.talker.blocks
    assert f"talker-hidden-prefill-l{blocks - 1}" in by_name
    assert all(stage.limits for stage in verdict.stages), "in float32 every stage has a limit"


def test_bfloat16_is_near_but_not_equal(data: Path) -> None:
    pair = ModelPair(data / CUSTOM, data / CODEC)
    question = Subject(pair, "cpu", "bf16")
    verdict = ask(data, CUSTOM, subject=question, against=default_reference(question))
    assert verdict.passed, as_table(verdict)
    assert verdict.subject.talker_grade is Grade.BF16
    by_name = {stage.name: stage for stage in verdict.compared}
    logits = by_name["teacher-forced-talker-logits"]
    assert 0.999 < logits.measures[Measure.COSINE] < 0.9999999
    assert by_name["sound-same-codes"].measures[Measure.MAX_ABS] == 0, "the codec stays in float32"


def test_clones_and_clips_take_part(data: Path) -> None:
    generator = np.random.default_rng(5)
    voice = Voice(
        generator.normal(size=80).astype(np.float32),
        generator.integers(0, 64, (7, 16)),
        "The old lighthouse.",
    )
    clip = generator.normal(0, 0.1, 12_000).astype(np.float32)
    spoken = SpokenText("Good evening.", voice=voice, frames=3)
    verdict = ask(data, spoken=spoken, clip=clip)
    assert verdict.passed, as_table(verdict)
    names = [stage.name for stage in verdict.compared]
    assert names[-2:] == ["speaker-embedding", "reference-codes"]


def test_only_one_model_is_in_memory(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[weakref.ref[Any]] = []

    def watched(*arguments: Any) -> ModelParts:
        gc.collect()
        assert all(model() is None for model in loaded)
        model = load_model(*arguments)
        loaded.append(weakref.ref(model.talker))
        return model

    monkeypatch.setattr(subjects, "load_model", watched)
    assert ask(data).passed
    assert len(loaded) == 2


def test_different_models_are_not_compared(data: Path) -> None:
    one, other = (
        examine(Subject(ModelPair(data / talker, data / CODEC), "cpu", "f32"))
        for talker in (BASE, CUSTOM)
    )
    check_comparable(one, one)
    with pytest.raises(ModelFileError, match=r"not the same model.*family"):
        check_comparable(one, other)


def test_a_model_that_is_its_own_reference(data: Path) -> None:
    pair = ModelPair(data / BASE, data / CODEC)
    assert default_reference(Subject(pair, "cpu", "f32")) is None
    assert default_reference(Subject(pair, "cpu", "bf16")) == Subject(pair, "cpu", "f32")
    verdict = ask(data, against=None)
    assert verdict.passed
    assert not verdict.compared
    assert "float32 on the CPU" in verdict.notes[0]
    count = len(verdict.self_checks)
    conclusion = as_table(verdict).splitlines()[-1]
    assert conclusion.startswith(f"Consistent with itself ({count} stages). Not compared with ")
    assert "--against-model F32.gguf" in conclusion


def test_figures_without_a_limit_are_not_counted_as_kept(data: Path) -> None:
    lifted = Thresholds({("greedy-codes", Measure.EXACT): None})
    verdict = ask(data, thresholds=lifted)
    limits = sum(len(stage.limits) for stage in verdict.stages)
    *table, conclusion = as_table(verdict).splitlines()
    assert conclusion == f"Passed: {limits} limits kept; 1 stage is shown only."
    assert next(row for row in table if row.startswith("greedy-codes")).endswith("(no limit)")
    snr = next(row for row in table if row.startswith("sound-same-codes"))
    assert ">=35" in snr.split(), "equal sound has no figure, only the most that counts"


def test_the_limits_stand_in_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "commands.md").read_text("utf-8")
    for limit in LIMITS:
        figures = ("-" if figure is None else f"{figure:g}" for figure in limit.by_grade)
        row = f"| `{limit.stage}.{limit.measure}` | {' | '.join(figures)} |"
        assert row in text, row


def test_the_json_has_the_same_keys_for_every_stage(data: Path) -> None:
    values = json.loads(as_json(ask(data)))
    assert list(values) == [
        "passed",
        "first_failure",
        "model",
        "reference",
        "request",
        "self_checks",
        "stages",
        "golden",
        "findings",
        "notes",
    ]
    keys = ["stage", "case", "cosine", "max_abs", "mean_abs", "exact", "snr", "limits"]
    for stage in values["stages"] + values["self_checks"]:
        assert list(stage) == [*keys, "passed", "note"]
    assert values["model"]["talker_stored"] == "F32"


# The command


def arguments(data: Path, talker: str = BASE) -> list[object]:
    files = ["--model", data / talker, "--codec", data / CODEC]
    return [*files, "--device", "cpu", "--frames", 3, "--text", "Good evening.", "--quiet"]


def test_a_table_for_people(data: Path, terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    answer = terminal.run(main, [*arguments(data), "--precision", "bf16", "--json", path])
    assert answer.status == 0, answer.text
    lines = answer.text.splitlines()
    header, *rows = lines[4 : 4 + 10]
    assert header.startswith("stage ")
    cosines = [found for row in rows if (found := re.search(r"[01]\.\d{7}", row))]
    assert len(cosines) > 5
    assert {found.end() for found in cosines} == {header.index("cosine") + len("cosine")}
    assert lines[-1].startswith("Passed: ")
    assert json.loads(path.read_text("utf-8"))["passed"] is True
    assert not answer.told


def test_a_missed_limit_is_the_exit_status(data: Path, terminal: Terminal) -> None:
    limit = "teacher-forced-talker-logits.max-abs=1e-9"
    answer = terminal.run(
        main, [*arguments(data), "--precision", "bf16", "--threshold", limit, "--json", "-"]
    )
    assert answer.status == 1
    values = json.loads(answer.text)
    assert (values["passed"], values["first_failure"]) == (False, "teacher-forced-talker-logits")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--threshold", "nothing.cosine=1"], "no threshold 'nothing.cosine'"),
        (["--frames", "0"], "out of range"),
        (["--against-model", "missing.gguf"], "missing.gguf"),
        (["--device", "tpu"], "tpu"),
        (["--golden", "no-such-folder"], "no-such-folder is no folder"),
        (["--speaker", "vivian"], "custom_voice"),
        (["--voice", "nobody"], "nobody.spk"),
        (["--voice", ""], ". is a folder"),
        (["--voice", "/"], "/ is a folder"),
        (["--text", " "], "no text"),
        (["--json", "no-such-folder/report.json"], "no-such-folder"),
    ],
)
def test_what_cannot_be_told(data: Path, terminal: Terminal, more: list[str], told: str) -> None:
    answer = terminal.run(main, [*arguments(data), *more])
    assert answer.status == 2
    assert answer.told.startswith("error: ")
    assert told in answer.told
    assert answer.output == b""


def test_the_report_replaces_no_input(data: Path, terminal: Terminal, tmp_path: Path) -> None:
    clip = tmp_path / "clip.wav"
    clip.write_bytes((data / "clip_a.wav").read_bytes())
    before = clip.read_bytes()
    answer = terminal.run(main, [*arguments(data), "--clip", str(clip), "--json", str(clip)])
    assert answer.status == 2
    assert "clip.wav is read by this command" in answer.told
    assert clip.read_bytes() == before


@pytest.mark.parametrize("name", ["voice.spk", "voice.rvq", "voice"])
def test_voices_by_their_name(data: Path, terminal: Terminal, tmp_path: Path, name: str) -> None:
    generator = np.random.default_rng(3)
    write_embedding(tmp_path / "voice.spk", generator.normal(size=80).astype(np.float32))
    write_codes(tmp_path / "voice.rvq", generator.integers(0, 64, (5, 16)))
    (tmp_path / "voice.txt").write_text("The old lighthouse.", "utf-8")
    given = ["--precision", "bf16", "--voice", tmp_path / name, "--json", "-"]
    answer = terminal.run(main, [*arguments(data), *given])
    values = json.loads(answer.text)
    assert values["request"]["cloned"] is True
    embeds = next(one for one in values["stages"] if one["stage"] == "trailing-text-hidden")
    assert embeds["passed"]
    assert answer.status == 0
