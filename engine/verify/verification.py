"""One verification from its question to its verdict: reference first, then the model itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from engine.qwen3tts.config import TalkerConfig
from engine.qwen3tts.engine import ModelParts
from engine.qwen3tts.rules import check_request
from engine.runtime import choose_runtime
from engine.types import CancelToken, Family, Progress, Samples, SpeechRequest, Voice
from engine.verify.capture import Capture, capture, decode_alone
from engine.verify.comparing import Judge, Stage, compare, compare_sounds
from engine.verify.golden import FoundCases, find_cases
from engine.verify.sanity import Finding, Severity, check_speech
from engine.verify.selfcheck import SelfChecks
from engine.verify.subject import Subject, SubjectFacts, check_comparable, examine, with_loaded
from engine.verify.teacher import GREEDY
from engine.verify.thresholds import Thresholds

DEFAULT_TEXT: Final = "Good evening, everyone. The last train leaves at half past seven."
DEFAULT_DESCRIPTION: Final = "A calm, low male voice, speaking clearly."
DEFAULT_FRAMES: Final = 24  # 2 s: enough for every layer, position and codebook to take part


@dataclass(frozen=True, eq=False)
class SpokenText:
    """What the models are asked to say; None takes what suits the family."""

    text: str = DEFAULT_TEXT
    language: str = "auto"
    voice: Voice | None = None
    speaker: str | None = None
    instruct: str | None = None
    frames: int = DEFAULT_FRAMES
    seed: int = 0  # of the self-checks; all else is greedy

    def request(self, config: TalkerConfig) -> SpeechRequest:
        """A greedy request for the loaded family."""
        speaker, instruct = self.speaker, self.instruct
        if config.family is Family.CUSTOM_VOICE and speaker is None:
            speaker = next(iter(config.speakers), None)
        if config.family is Family.VOICE_DESIGN and instruct is None:
            instruct = DEFAULT_DESCRIPTION
        return SpeechRequest(
            text=self.text,
            language=self.language,
            voice=self.voice,
            speaker=speaker,
            instruct=instruct,
            sampling=replace(GREEDY, max_frames=self.frames),
            seeds=(self.seed,),
        )


@dataclass(frozen=True, eq=False)
class Question:
    """What is to be verified, and against what."""

    subject: Subject
    against: Subject | None = None
    golden: Path | None = None
    spoken: SpokenText = field(default_factory=SpokenText)
    clip: Samples | None = None  # [n] at 24 kHz, for the encoders
    thresholds: Thresholds = field(default_factory=Thresholds)


@dataclass(frozen=True, eq=False)
class Verdict:
    """What came out."""

    subject: SubjectFacts
    reference: SubjectFacts | None
    request: SpeechRequest
    compared: tuple[Stage, ...]
    golden: tuple[Stage, ...]  # of every case
    self_checks: tuple[Stage, ...]
    findings: tuple[Finding, ...]  # about the sound of the subject's greedy speech
    notes: tuple[str, ...]

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (*self.compared, *self.golden, *self.self_checks)

    @property
    def first_failure(self) -> Stage | None:
        """The earliest stage that misses a limit: what follows it may only inherit its error."""
        return next((stage for stage in self.stages if not stage.passed), None)

    @property
    def passed(self) -> bool:
        unusable = any(finding.severity is Severity.ERROR for finding in self.findings)
        return self.first_failure is None and not unusable


@dataclass(frozen=True)
class Listeners:
    """Who is told how far the work is, and who may stop it."""

    say: Callable[[str], None]
    progress: Progress | None = None
    cancel: CancelToken = field(default_factory=CancelToken)


def default_reference(subject: Subject) -> Subject | None:
    """The same files in float32 on the CPU; None if that is what the subject is.

    Raises ModelFileError and DeviceError.
    """
    if examine(subject).runtime == choose_runtime("cpu", "f32"):
        return None
    return Subject(subject.pair, device="cpu", precision="f32")


def verify(question: Question, listeners: Listeners) -> Verdict:
    """Answer a question; at no time is more than one model in memory.

    Raises ModelFileError, DeviceError, ModeError, RequestError and AudioFileError before or while
    the models run, and Cancelled.
    """
    facts = examine(question.subject)
    reference = None if question.against is None else examine(question.against)
    if reference is not None:
        check_comparable(facts, reference)
    request = question.spoken.request(facts.config)
    checked = check_request(request, facts.config, facts.codec_config.codebook_size)
    cases = None if question.golden is None else find_cases(question.golden, facts)
    run = _Run(question, request, listeners)

    theirs = None
    if reference is not None:
        listeners.say(f"Reference: {reference.describe()}")
        theirs = with_loaded(reference, run.capture_reference, listeners.progress, listeners.cancel)
    listeners.say(f"Model: {facts.describe()}")
    made = with_loaded(
        facts,
        lambda model: run.examine_model(model, facts, theirs, cases),
        listeners.progress,
        listeners.cancel,
    )
    mine = made.capture
    assert mine.sound is not None, "a model always decodes what it speaks"
    rate = facts.codec_config.sample_rate
    compared = []
    if theirs is not None and reference is not None:
        judge = Judge(
            question.thresholds,
            max(facts.talker_grade, reference.talker_grade),
            max(facts.codec_grade, reference.codec_grade),
        )
        compared = compare(theirs, mine, judge, rate)
    cut = len(mine.codes) >= question.spoken.frames
    return Verdict(
        subject=facts,
        reference=reference,
        request=request,
        compared=tuple(compared),
        golden=tuple(made.golden),
        self_checks=tuple(made.self_checks),
        findings=tuple(check_speech(mine.sound, checked.text, rate, cut=cut)),
        notes=(*checked.notices, *_notes(question, cases)),
    )


@dataclass(frozen=True, eq=False)
class _Made:
    """What the model itself gave, as long as it was in memory."""

    capture: Capture
    golden: list[Stage]
    self_checks: list[Stage]


@dataclass(frozen=True, eq=False)
class _Run:
    """The parts of a verification that need a loaded model."""

    question: Question
    request: SpeechRequest
    listeners: Listeners

    def capture_reference(self, model: ModelParts) -> Capture:
        return self._capture(model, None)

    def examine_model(
        self,
        model: ModelParts,
        facts: SubjectFacts,
        reference: Capture | None,
        cases: FoundCases | None,
    ) -> _Made:
        made = self._capture(model, reference)
        golden = [] if cases is None else self._golden(model, facts, cases)
        self.listeners.say("Checking the model against itself")
        checks = SelfChecks(model, self.question.thresholds, facts.run_grade, self.listeners.cancel)
        return _Made(made, golden, checks.run(self.request, made))

    def _capture(self, model: ModelParts, reference: Capture | None) -> Capture:
        self.listeners.say(f"Speaking up to {self.question.spoken.frames} frames")
        return capture(
            model,
            self.request,
            None if reference is None else reference.teacher_codes,
            self.question.clip,
            self.listeners.cancel,
        )

    def _golden(self, model: ModelParts, facts: SubjectFacts, cases: FoundCases) -> list[Stage]:
        """All stages of all cases; the goldens were computed in float32."""
        judge = Judge(self.question.thresholds, facts.talker_grade, facts.codec_grade)
        rate = facts.codec_config.sample_rate
        cancel = self.listeners.cancel
        stages: list[Stage] = []
        for number, case in enumerate(cases.speech, 1):
            self.listeners.say(f"Golden case {number} of {len(cases.speech)}: {case.name}")
            frames = case.frames(self.question.spoken.frames)
            theirs = case.capture(frames)
            mine = capture(model, case.request(frames), theirs.teacher_codes, cancel=cancel)
            stages += compare(theirs, mine, judge, rate, case.name)
        for case in cases.decoding:
            for name, codes, sound in case.sounds():
                mine_sound = decode_alone(model, codes)
                compared = compare_sounds(sound, mine_sound, judge, rate)
                stages += [replace(stage, case=name) for stage in compared]
        return stages


def _notes(question: Question, cases: FoundCases | None) -> list[str]:
    if cases is not None:
        return [f"Golden case left out: {reason}" for reason in cases.skipped]
    if question.against is None:
        return ["The model runs in float32 on the CPU, which is what it would be compared with."]
    return []
