"""Makes a voice of the library from a clip: what models need, then all its files at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from PySide6.QtCore import QObject, Signal, Slot

from app.core.storage import timestamp
from app.core.voice_parts import VoiceParts
from app.core.voice_record import (
    Consent,
    LibraryVoice,
    Likeness,
    Origin,
    VoiceDetails,
    VoiceKind,
)
from app.jobs.background import Background
from app.jobs.messages import MadeVoice
from app.studio.clone_clip import Clip
from app.studio.clone_state import CloneState
from app.studio.voice_making import VoiceMaker
from app.studio.voices import Voices
from engine import ExplainedError
from engine.audio import to_24k
from engine.types import Samples


@dataclass(frozen=True, eq=False)
class _Errand:
    """One voice that is being saved, and who waits for it."""

    clip: Clip
    state: CloneState
    saved: Callable[[LibraryVoice], None]
    failed: Callable[[], None]


class CloneSaver(QObject):
    """One voice at a time. A voice that cannot be learnt yet is kept without embedding."""

    SAVING: Final = "Saving the voice"
    """The last stage, which cannot be stopped."""

    stage = Signal(str)  # what is being done
    interrupted = Signal(object)  # Clip whose voice is not saved, as the engine was told to stop
    problem = Signal(object)  # ExplainedError, not those of the library

    def __init__(
        self,
        voices: Voices,
        maker: VoiceMaker,
        background: Background,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._voices = voices
        self._maker = maker
        self._background = background
        self._errand: _Errand | None = None
        self._job: int | None = None
        self._is_storing = False
        maker.stopped.connect(self._on_stopped)

    @property
    def is_storing(self) -> bool:
        """Whether a voice is being written into the library: it will be there, and is told."""
        return self._is_storing

    def save(
        self,
        clip: Clip,
        state: CloneState,
        saved: Callable[[LibraryVoice], None],
        failed: Callable[[], None],
    ) -> None:
        """Make the voice that a state describes; a problem is told before `failed` is called."""
        assert not self._is_storing, "one voice at a time"
        self.cancel()
        errand = self._errand = _Errand(clip, state, saved, failed)

        def prepare() -> tuple[Samples, Samples]:
            result = clip.reference.result()
            return result, to_24k(result, clip.reference.rate)

        self.stage.emit("Preparing the clip")
        self._background.run(
            prepare, partial(self._on_prepared, errand), partial(self._on_failed, errand)
        )

    def cancel(self) -> None:
        """Stop, and call nothing; what is being written into the library already goes on."""
        if self._is_storing:
            return
        self._errand = None
        if self._job is not None:
            job, self._job = self._job, None
            self._maker.cancel(job)

    def _on_prepared(self, errand: _Errand, samples: tuple[Samples, Samples]) -> None:
        if errand is not self._errand:
            return
        result, for_model = samples
        parts = VoiceParts(
            clip=errand.clip.path,
            trimmed=result,
            trimmed_rate=errand.clip.reference.rate,
            transcript=errand.state.transcript,
        )
        if not self._maker.can_make:
            self._store(errand, parts)
            return
        self.stage.emit("Learning the voice")
        self._job = self._maker.make(
            for_model,
            errand.state.name.strip(),
            with_codes=errand.state.likeness is Likeness.BEST,
            done=partial(self._on_made, errand, parts),
            failed=partial(self._on_failed, errand),
        )

    def _on_made(self, errand: _Errand, parts: VoiceParts, made: MadeVoice) -> None:
        if errand is self._errand:
            self._job = None
            self._store(
                errand,
                replace(parts, embeddings=made.embeddings, codes=made.codes, codec=made.codec),
            )

    def _store(self, errand: _Errand, parts: VoiceParts) -> None:
        state, path = errand.state, errand.clip.path
        details = VoiceDetails(
            state.name.strip(),
            VoiceKind.CLONE,
            language=state.language,
            consent=Consent(state.consent_text, state.consent_name.strip(), timestamp()),
            origin=Origin(source=path.name),
        )
        self._is_storing = True
        self.stage.emit(self.SAVING)
        self._voices.create(
            details,
            parts,
            partial(self._on_stored, errand),
            partial(self._on_failed, errand, told=True),
        )

    def _on_stored(self, errand: _Errand, voice: LibraryVoice) -> None:
        self._errand, self._is_storing = None, False
        errand.saved(voice)

    def _on_failed(
        self, errand: _Errand, error: ExplainedError | None, *, told: bool = False
    ) -> None:
        """`error` is None if the engine was told to stop, `told` if the library has told it."""
        if errand is not self._errand:
            return
        self._errand = self._job = None
        self._is_storing = False
        if error is not None and not told:
            self.problem.emit(error)
        errand.failed()
        if error is None:
            self.interrupted.emit(errand.clip)

    @Slot()
    def _on_stopped(self) -> None:
        """Somebody wants no more of what is being learnt, and knows it."""
        if self._errand is not None and self._job is not None:
            errand, self._errand, self._job = self._errand, None, None
            errand.failed()
