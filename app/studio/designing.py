"""Locks a designed take as a voice of the library, and completes voices that wait for a model."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.core.take_files import TAKE_CODES
from app.core.takes import Take
from app.core.voice_parts import VoiceParts
from app.core.voice_record import LibraryVoice, Origin, VoiceDetails, VoiceKind
from app.jobs.background import Background
from app.jobs.messages import MadeVoice
from app.studio.models import Models, ModelState, ModelStatus
from app.studio.notes import Note
from app.studio.session import SessionKeeper
from app.studio.voice_making import VoiceMaker
from app.studio.voices import Voices
from engine import ExplainedError
from engine.audio import MODEL_RATE, read_reference
from engine.types import CODEC_NAME, DEMO_WIDTH, Codes, Samples
from engine.voices import read_codes


class Designing(QObject):
    """A locked voice is there at once; what a base model makes of it follows when there is one."""

    locked = Signal(object)  # LibraryVoice
    completed = Signal(object)  # LibraryVoice that can speak now
    speak_wished = Signal(object)  # LibraryVoice, chosen by now
    problem = Signal(object)  # ExplainedError
    notice = Signal(object)  # Note

    def __init__(
        self,
        voices: Voices,
        maker: VoiceMaker,
        session: SessionKeeper,
        models: Models,
        background: Background,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._voices = voices
        self._maker = maker
        self._session = session
        self._background = background
        self._at_work: str = ""  # id of the voice that is being completed
        self._given_up: set[str] = set()  # those that could not be; until the next start
        maker.stopped.connect(self._on_stopped)
        models.changed.connect(self._on_model)
        models.found_changed.connect(self.complete_pending)
        voices.changed.connect(self.complete_pending)

    @property
    def pending(self) -> tuple[LibraryVoice, ...]:
        """Voices that cannot speak yet, but have a recording that they can be completed from.

        Those that only the small model of the demonstration voice can speak with wait for a large
        one as well, once there is one.
        """
        too_few = () if self._maker.makes_demo else (DEMO_WIDTH,)
        return tuple(
            voice
            for voice in self._voices.listing.voices
            if set(voice.files.widths).issubset(too_few)
            and voice.recording is not None
            and not voice.read_only
        )

    def lock(self, take: Take, name: str, *, with_words: bool = True) -> None:
        """Make a take a voice of the library: its sound, its words, its codes.

        Without words only its sound: those of a take that breaks off say more than is heard.
        What speaks afterwards is a base model, so the embedding is made by those that are found
        on this machine; without one the voice is kept and completed later.
        """
        sound = self._session.sound_path(take)
        codes_path = sound.with_suffix(TAKE_CODES)
        details = VoiceDetails(
            name,
            VoiceKind.DESIGNED,
            language=take.request.language,
            origin=Origin(
                prompt=take.request.instruct,
                seed=take.seed,
                model=take.model_fingerprint,
                source=take.id,
                model_name=take.model,
            ),
        )

        def store(codes: Codes | None) -> None:
            transcript = take.text if with_words else ""
            parts = VoiceParts(clip=sound, transcript=transcript, codes=codes, codec=take.codec)
            self._voices.create(details, parts, self._on_locked)

        def read() -> Codes | None:
            known = not take.codec or CODEC_NAME.fullmatch(take.codec)
            return _codes(codes_path) if with_words and known else None

        self._background.run(read, store, self.problem.emit)

    @Slot()
    def complete_pending(self) -> None:
        """Give the next voice that waits what it lacks, and then the others."""
        if self._at_work or not self._maker.can_make:
            return
        waiting = [voice for voice in self.pending if voice.id not in self._given_up]
        if waiting:
            self._complete(waiting[0])

    def _on_locked(self, voice: LibraryVoice) -> None:
        self.locked.emit(voice)
        if self._maker.can_make:

            def speak() -> None:
                self._voices.select(voice.id)
                self.speak_wished.emit(voice)

            sentence = f"{voice.name} was locked as a voice."
            self.notice.emit(Note(sentence, action_label="Speak with it", action=speak))
        else:
            self.notice.emit(
                Note(
                    f"{voice.name} was locked as a voice, but cannot speak yet.",
                    "It is completed by itself as soon as there is a Base model.",
                )
            )

    def _complete(self, voice: LibraryVoice) -> None:
        path = voice.recording
        assert path is not None, "pending voices have one"
        self._at_work = voice.id
        with_codes = bool(voice.transcript) and self._maker.codec_name not in voice.files.codecs

        def made(result: MadeVoice) -> None:
            if self._voices.listing.find(voice.id) is None:  # deleted meanwhile
                self._at_work = ""
                self.complete_pending()
                return
            self._voices.complete(voice, result, self._on_completed, self._on_failed)

        def failed(error: ExplainedError | None) -> None:
            if error is not None:
                self.problem.emit(error)
            self._on_failed(error)

        def read(samples: Samples) -> None:
            if not self._maker.can_make:
                self._at_work = ""
                return
            self._maker.make(samples, voice.name, with_codes=with_codes, done=made, failed=failed)

        self._background.run(lambda: _model_samples(path), read, failed)

    def _on_completed(self, voice: LibraryVoice) -> None:
        self._at_work = ""
        self.completed.emit(voice)
        if voice.details.kind is not VoiceKind.DESIGNED:
            again = DEMO_WIDTH in voice.files.widths and not self._maker.makes_demo
            now = "speaks with the large models now" if again else "can speak now"
            self.notice.emit(Note(f"{voice.name} {now}."))
        self.complete_pending()

    def _on_failed(self, error: ExplainedError | None) -> None:
        """Go on with the others; one that was only cancelled is tried again later."""
        failed, self._at_work = self._at_work, ""
        if error is not None:
            self._given_up.add(failed)
            self.complete_pending()

    @Slot()
    def _on_stopped(self) -> None:
        """Nobody wants to wait for it now: leave all of them until they are spoken with."""
        if self._at_work:
            self._given_up.update(voice.id for voice in self.pending)
            self.notice.emit(
                Note("What cannot speak yet is learnt when it is spoken with for the first time.")
            )

    @Slot(object)
    def _on_model(self, state: ModelState) -> None:
        if state.status is not ModelStatus.LOADING:  # which tells its progress 30 times a second
            self.complete_pending()


def _codes(path: Path) -> Codes | None:
    """The codes of a take; None if it has none. Raises VoiceFileError for damaged ones."""
    return read_codes(path) if path.is_file() else None


def _model_samples(path: Path) -> Samples:
    return read_reference(path).at(MODEL_RATE)
