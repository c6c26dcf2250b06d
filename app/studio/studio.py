"""Everything behind the window, put together: made in one place, closed in the right order."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Signal, Slot

from app.audio.backend import AudioBackend
from app.audio.player import Player
from app.audio.recorder import Recorder
from app.audio.survey import Survey
from app.core.clone_draft import FILE_NAME as CLONE_DRAFT
from app.core.paths import StudioPaths
from app.core.settings import FILE_NAME as SETTINGS
from app.core.storage import make_folder
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
from app.studio.sessions import Sessions
from app.studio.sound import Sound, SoundParts
from app.studio.speech import Speech
from app.studio.trash_bin import TrashBin
from app.studio.voice_making import VoiceMaker
from app.studio.voices import Voices
from engine import ExplainedError, Family

CLONE_TAB: Final = "clone"
TABS: Final = (CLONE_TAB, "speakers", "design")
"""The names of the tabs, which their drafts are kept under."""
TAB_FAMILIES: Final = MappingProxyType(
    dict(zip(TABS, (Family.BASE, Family.CUSTOM_VOICE, Family.VOICE_DESIGN), strict=True))
)
"""The kind of model that each tab speaks with."""
RECORDINGS: Final = "recordings"
TRASH: Final = "trash"
REST_SECONDS: Final = 10.0


class Studio(QObject):
    """The controllers that a window shows. `begin` once it is up, `close` at the end."""

    problem = Signal(object)  # ExplainedError of any of them
    notice = Signal(object)  # Note of any of them
    withdrawn = Signal(object)  # Note of any of them whose action has become impossible
    restart_wanted = Signal()  # asks for the window to be closed

    def __init__(
        self,
        paths: StudioPaths,
        backend: AudioBackend,
        openers: Openers,
        parent: QObject | None = None,
    ) -> None:
        """Open the settings and the session; raises StorageError if there can be no session."""
        super().__init__(parent)
        self.paths = paths
        self.background = Background(self)
        self.preferences = SettingsKeeper(paths.config / SETTINGS, self.background, self)
        trash = Trash(paths.data / TRASH)
        try:
            self.session = SessionKeeper(
                paths.sessions, trash, self.background, self.preferences, parent=self
            )
        except ExplainedError:
            self.background.close()
            raise
        self.sessions = Sessions(
            self.session.folder, trash, self.background, self.preferences, self
        )
        self.queue = JobQueue(openers, self)
        self.models = Models(paths, self.preferences, self.background, self.queue, self)
        # Recordings and the draft lie in the session's folder, which is this window's alone: no
        # other one takes what is being recorded for what a crash has left.
        recordings = self.session.folder / RECORDINGS
        self.sound = self._make_sound(backend, recordings)
        self._library = VoiceLibrary(paths.voices, trash)
        self.voices = Voices(self._library, self.background, self)
        self.speech = Speech(
            self.queue,
            self.models,
            self.sound,
            self.session,
            VoiceLibrary(paths.voices, trash),
            self.background,
            self,
        )
        self.maker = VoiceMaker(self.queue, self.models, self.preferences, self)
        self.cloning = self._make_cloning(recordings)
        self.designing = Designing(
            self.voices, self.maker, self.session, self.models, self.background, self
        )
        self.deleted = TrashBin(trash, self.voices, self.session, self.background, self)
        self._is_closed = False
        self._is_restart_wanted = False
        self._take_ids: frozenset[str] = frozenset()
        self._connect()

    @property
    def is_restart_wanted(self) -> bool:
        """Whether the window closes only for the studio to start again."""
        return self._is_restart_wanted

    def restart(self) -> None:
        """End everything as at the end, and start the studio anew."""
        self._is_restart_wanted = True
        self.restart_wanted.emit()

    def begin(self) -> None:
        """Tell what was found so far and look, in the background, for all the rest."""
        for sentence in self.preferences.notices:
            self.notice.emit(Note(sentence))
        self.session.begin()
        self.voices.select(self.session.draft(CLONE_TAB).voice_id)
        self.voices.refresh()
        # So that the folder which people are told to put models into is there.
        self.background.run(partial(make_folder, self.paths.models))
        self.models.look()
        self.models.load_last()
        self.sound.look_for_devices()
        self.cloning.begin()
        self.background.run(self._library.sweep)

    def close(self) -> bool:
        """Stop, save and end everything; False if something did not end in time."""
        if self._is_closed:
            return True
        self._is_closed = True
        self.queue.cancel()
        ended = [
            self.sound.close(),
            self.background.flush(),  # what was being recorded becomes a draft, which is kept
            self.cloning.close(),
            self._come_to_rest(),
            self.queue.close(),
            self.session.close(),
        ]
        self.preferences.close()
        ended.append(self.background.close())
        return all(ended)

    def _come_to_rest(self) -> bool:
        """Wait until jobs and background ask nothing more of each other; False if that takes long.

        Without an event loop: a window that is closing should hear of nothing new.
        """
        deadline = time.monotonic() + REST_SECONDS
        while time.monotonic() < deadline:
            self.queue.cancel()
            if not self.background.flush():
                return False
            if not len(self.queue):
                return True
            time.sleep(0.005)
            QCoreApplication.sendPostedEvents(self.queue, QEvent.Type.MetaCall.value)
        return False

    def _make_sound(self, backend: AudioBackend, recordings: Path) -> Sound:
        parts = SoundParts(Player(backend), Recorder(backend, recordings), Survey(backend))
        for part in (parts.player, parts.recorder, parts.survey):
            part.start()
        return Sound(backend, parts, self.background, self.preferences, self)

    def _make_cloning(self, recordings: Path) -> Cloning:
        parts = CloneParts(
            saver=CloneSaver(self.voices, self.maker, self.background, self),
            listener=Listener(self.paths.transcribers, self.background, parent=self),
            keeper=DraftKeeper(self.session.folder / CLONE_DRAFT, self.background, self),
            settings=self.preferences,
        )
        return Cloning(parts, recordings, self.background, self)

    def _connect(self) -> None:
        for part in (
            self.background,
            self.preferences,
            self.models,
            self.sound,
            self.session,
            self.sessions,
            self.voices,
            self.deleted,
            self.speech,
            self.cloning,
            self.designing,
        ):
            part.problem.connect(self.problem)
        for part in (
            self.models,
            self.session,
            self.voices,
            self.deleted,
            self.speech,
            self.cloning,
            self.designing,
        ):
            part.notice.connect(self.notice)
        for undoing in (self.session, self.voices):
            undoing.withdrawn.connect(self.withdrawn)
        self.speech.voice_learnt.connect(self._on_voice_learnt)
        self.session.changed.connect(self._on_takes_changed)
        self._on_takes_changed()

    @Slot()
    def _on_takes_changed(self) -> None:
        """Fall silent when the take that is loaded was deleted."""
        before = self._take_ids
        self._take_ids = frozenset(take.id for take in self.session.takes)
        if self.sound.playing_key in before - self._take_ids:
            self.sound.load("", None)

    @Slot(str)
    def _on_voice_learnt(self, voice_id: str) -> None:
        self.voices.refresh()
