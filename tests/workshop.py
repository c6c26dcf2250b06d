"""The controllers that make voices, put together without a window, for tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from app.core.paths import StudioPaths, studio_paths
from app.core.transcription import Recogniser, open_recogniser
from app.core.trash import Trash
from app.core.voices import VoiceLibrary
from app.jobs.background import Background
from app.jobs.queue import JobQueue
from app.jobs.work import Openers
from app.studio.clone_saving import CloneSaver
from app.studio.cloning import CloneParts, Cloning
from app.studio.designing import Designing
from app.studio.draft_keeping import DraftKeeper
from app.studio.listening import Listener
from app.studio.models import Models
from app.studio.notes import Note
from app.studio.preferences import SettingsKeeper
from app.studio.session import SessionKeeper
from app.studio.voice_making import VoiceMaker
from app.studio.voices import Voices
from engine import ExplainedError
from engine.audio import read_audio, resample
from engine.types import Samples
from engine.wav import WavFormat, write_wav
from tests.fakes import fake_opener

__all__ = ["Heard", "Workshop", "put_speech"]


@dataclass
class Heard:
    """What controllers have told."""

    problems: list[ExplainedError] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def listen(self, controller: Any) -> None:
        controller.problem.connect(self.problems.append)
        controller.notice.connect(self.notes.append)

    @property
    def sentences(self) -> list[str]:
        return [note.sentence for note in self.notes]

    def press(self, label: str) -> None:
        """Press the button of the last note that has it."""
        action = next(note.action for note in reversed(self.notes) if note.action_label == label)
        assert action is not None
        action()


class Workshop:
    """Everything but sound and speech. Close it at the end of a test."""

    def __init__(
        self,
        home: Path,
        openers: Openers | None = None,
        load_recogniser: Callable[[Path], Recogniser] = open_recogniser,
    ) -> None:
        self.paths: StudioPaths = studio_paths(home)
        self.heard = Heard()
        self._is_closed = False
        self.background = Background()
        self.settings = SettingsKeeper(self.paths.config / "settings.json", self.background)
        self.queue = JobQueue(openers or fake_opener().openers)
        self.models = Models(self.paths, self.settings, self.background, self.queue)
        trash = Trash(self.paths.data / "trash")
        self.library = VoiceLibrary(self.paths.voices, trash)
        self.session = SessionKeeper(self.paths.sessions, trash, self.background, self.settings)
        self.voices = Voices(self.library, self.background)
        self.maker = VoiceMaker(self.queue, self.models, self.settings)
        self.recordings = self.session.folder / "recordings"
        self.saver = CloneSaver(self.voices, self.maker, self.background)
        self.listener = Listener(self.paths.transcribers, self.background, load_recogniser)
        self.keeper = DraftKeeper(self.session.folder / "clone-draft.json", self.background)
        parts = CloneParts(self.saver, self.listener, self.keeper, self.settings)
        self.cloning = Cloning(parts, self.recordings, self.background)
        self.designing = Designing(
            self.voices, self.maker, self.session, self.models, self.background
        )
        for controller in (self.voices, self.cloning, self.designing, self.models):
            self.heard.listen(controller)
        self.background.problem.connect(self.heard.problems.append)

    def flush(self) -> None:
        """Let everything in the background happen, and what follows from it."""
        assert self.background.flush()
        assert self.listener.flush()
        assert self.background.flush()

    def close(self) -> None:
        """End all threads, once; asserts that they do."""
        if self._is_closed:
            return
        self._is_closed = True
        ended = [self.cloning.close(), self.queue.close(), self.background.flush()]
        self.session.close()
        self.settings.close()
        assert all([*ended, self.background.close()])


def put_speech(
    path: Path, data: Path, *, rate: int = 48_000, seconds: float = 0.0, pause: float = 0.6
) -> Samples:
    """Write speech at `rate` Hz with a pause around it; repeated until it has `seconds`."""
    speech = resample(read_audio(data / "clip_b.wav").samples, 24_000, rate)
    gap = np.zeros(round(pause * rate), np.float32)
    pieces = [gap, speech, gap]
    while sum(piece.size for piece in pieces) < seconds * rate:
        pieces += [speech, gap]
    samples = np.concatenate(pieces)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_wav(path, [samples], WavFormat.WAV32, rate)
    return samples
