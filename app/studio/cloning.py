"""Makes a voice from a recording: opened, trimmed, mended, written down, agreed to, saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QObject, Signal, Slot

from app.audio.journal import recover_recordings
from app.audio.recorder_state import Recording as Recorded
from app.audio.take_buffer import TakeBuffer
from app.core.clone_draft import CloneDraft
from app.core.reference import Fix, Reference, ReferenceReport
from app.core.text_files import read_text_file
from app.core.transcription import likeness_warning
from app.core.transcripts import Transcript
from app.core.voice_record import ANY_LANGUAGE, LibraryVoice, Likeness
from app.jobs.background import Background
from app.studio.clone_clip import Clip, DetectedSpeech, OpenedClip
from app.studio.clone_judging import ClipJudge
from app.studio.clone_notes import (
    GAPS_NOTE,
    heard_note,
    interrupted_note,
    left_note,
    left_over_note,
    recovered_note,
    saved_note,
)
from app.studio.clone_opening import ClipOpener, Wish, draft_wish, file_wish, recording_wish
from app.studio.clone_saving import CloneSaver
from app.studio.clone_state import CloneState, followed
from app.studio.draft_keeping import DraftKeeper
from app.studio.listening import Listener
from app.studio.notes import Note
from app.studio.preferences import SettingsKeeper
from engine import ExplainedError

__all__ = ["CloneParts", "CloneState", "Cloning", "Fix"]

INSTANT_SECONDS: Final = 30.0  # of sound, which take 10 ms to prepare


@dataclass(frozen=True, eq=False)
class CloneParts:
    """Those who work for a draft."""

    saver: CloneSaver
    listener: Listener
    keeper: DraftKeeper
    settings: SettingsKeeper


class Cloning(QObject):
    """The draft of a new voice. The recording itself is never changed."""

    changed = Signal(object)  # CloneState
    saved = Signal(object)  # LibraryVoice
    problem = Signal(object)  # ExplainedError
    notice = Signal(object)  # Note

    def __init__(
        self,
        parts: CloneParts,
        recordings: Path,
        background: Background,
        parent: QObject | None = None,
    ) -> None:
        """An empty draft; `recordings` is the folder that the recorder writes into."""
        super().__init__(parent)
        self._parts = parts
        self._recordings = recordings
        self._background = background
        self._clip: Clip | None = None
        self._opener = ClipOpener(background, self._on_opened, self._on_unopened)
        self._judge = ClipJudge(background, self._show)
        self._heard = ""  # by the recogniser, in the chosen part
        self._state = followed(self._fresh(), None, parts.listener.transcription, "")
        parts.listener.changed.connect(self._on_listener)
        parts.keeper.problem.connect(self.problem)
        parts.saver.problem.connect(self.problem)
        parts.saver.stage.connect(self._on_stage)
        parts.saver.interrupted.connect(self._on_interrupted)

    @property
    def state(self) -> CloneState:
        return self._state

    def excerpt(self) -> TakeBuffer | None:
        """What the voice would be made from now, with fades and silence, to be listened to.

        A long one is filled in the background.
        """
        if self._clip is None:
            return None
        reference = self._clip.reference
        if reference.selection is None and not reference.tail_seconds:
            return self._state.buffer  # nothing is cut, so nothing is faded: no copy is needed
        if reference.seconds <= INSTANT_SECONDS:
            return TakeBuffer.of(reference.result(), reference.rate)
        buffer = TakeBuffer(reference.rate)

        def work() -> None:
            try:
                buffer.append(reference.result())
            finally:
                buffer.finish()

        self._background.run(work, None, self.problem.emit)
        return buffer

    def begin(self) -> None:
        """Look for what a crash has left, and for a recogniser; before anything is recorded."""
        folder = self._recordings
        self._background.run(lambda: recover_recordings(folder), self._on_recovered)
        self._parts.keeper.find(self._on_left_over)
        self._parts.listener.look()

    def close(self) -> bool:
        """Stop, and keep the draft for the next time; before the background is closed."""
        self._parts.keeper.close()
        return self._parts.listener.close()

    # --- the source ---

    def open(self, path: Path) -> None:
        """Start a draft from a sound file; the one before stays until this one is read."""
        self._open(file_wish(path))

    def adopt(self, recording: Recorded) -> None:
        """Start a draft from what the recorder has made; what ended it was told by `Sound`."""
        if recording.path is None:
            return
        if recording.gaps:
            self.notice.emit(GAPS_NOTE)
        self._open(recording_wish(recording.path))

    def discard(self) -> None:
        """Leave the draft; the notice brings it back, and its recording stays where it is.

        A draft that is becoming a voice just now goes by itself.
        """
        if self._parts.saver.is_storing:
            return
        self.cancel_busy()
        if self._clip is not None:
            self._offer_back("discarded")
        self._reset()

    # --- what is chosen and mended ---

    def set_range(self, start: int, end: int) -> None:
        """Choose samples start..end - 1 of the buffer."""
        self._choose((start, end))

    def clear_range(self) -> None:
        """Choose all of it."""
        self._choose(None)

    def use_suggestion(self) -> None:
        """Choose the part that was suggested."""
        if self._state.suggestion is not None:
            self._choose(self._state.suggestion)

    def apply(self, fix: Fix) -> None:
        """Mend something in the chosen part."""
        if self._clip is not None and fix in self._state.fixes:
            self._mend(self._clip, partial(self._clip.with_fix, fix))

    def revert(self, fix: Fix) -> None:
        """Take a fix back."""
        if self._clip is not None and fix in self._state.applied:
            self._mend(self._clip, partial(self._clip.without_fix, fix))

    def set_ends(self, fade_seconds: float, tail_seconds: float) -> None:
        """How long the sound rises and falls where it was cut, and the silence behind it."""
        self._update(fade_seconds=fade_seconds, tail_seconds=tail_seconds)
        if self._clip is not None:
            self._set_reference(
                replace(self._clip.reference, fade_seconds=fade_seconds, tail_seconds=tail_seconds)
            )

    # --- what is said about it ---

    def set_transcript(self, text: str) -> None:
        self._update(transcript=text)

    def read_transcript(self, path: Path) -> None:
        """Take the words from a text file."""

        def done(transcript: Transcript) -> None:
            self.set_transcript(transcript.text)
            if transcript.notice:
                self.notice.emit(Note(transcript.notice))

        self._background.run(lambda: read_text_file(path), done, self.problem.emit)

    def transcribe(self) -> None:
        """Write down what is said in the chosen part, in place of the words that are there."""
        clip, state = self._clip, self._state
        if clip is None or state.busy or not state.can_transcribe:
            return

        def failed(error: ExplainedError) -> None:
            self._update(busy="")
            self.problem.emit(error)

        self._update(busy="Writing down what is said")
        self._parts.listener.listen(clip.reference, state.language, self._on_heard, failed)

    def set_likeness(self, likeness: Likeness) -> None:
        self._update(likeness=likeness)

    def set_name(self, name: str) -> None:
        self._update(name=name)

    def set_language(self, language: str) -> None:
        self._update(language=language)

    def set_consent(self, given: bool, name: str) -> None:
        """Say that the voice may be used, and who says so."""
        self._update(consent_given=given, consent_name=name)

    # --- the voice ---

    def cancel_busy(self) -> None:
        """Stop whatever is being done; the draft stays.

        What is being written into the library cannot be stopped any more.
        """
        self._opener.cancel()
        self._parts.listener.cancel()
        self._parts.saver.cancel()
        self._on_idle()

    def save(self) -> None:
        """Make the voice and add it to the library; the draft ends when it is there."""
        clip, state = self._clip, self._state
        if clip is None or not state.can_save:
            return
        self._parts.saver.save(clip, state, partial(self._on_saved, clip), self._on_idle)

    def _on_saved(self, clip: Clip, voice: LibraryVoice) -> None:
        if self._is_draft(clip):
            self._reset()
        self._on_idle()
        self.notice.emit(saved_note(voice))
        self.saved.emit(voice)

    @Slot(object)
    def _on_interrupted(self, clip: Clip) -> None:
        self.notice.emit(interrupted_note(partial(self._save_again, clip)))

    def _save_again(self, clip: Clip) -> None:
        if self._is_draft(clip):
            self.save()

    def _is_draft(self, clip: Clip) -> bool:
        """Whether it is still this recording that a voice is being made from."""
        return self._clip is not None and self._clip.recording is clip.recording

    @Slot(str)
    def _on_stage(self, stage: str) -> None:
        self._update(busy=stage, can_stop=not self._parts.saver.is_storing)

    def _on_idle(self) -> None:
        """Something has ended: show what is still being done."""
        saver = self._parts.saver
        busy = self._opener.sentence or (saver.SAVING if saver.is_storing else "")
        self._update(busy=busy, can_stop=not saver.is_storing)

    # --- opening ---

    def _open(self, wish: Wish) -> None:
        self.cancel_busy()
        self._opener.open(wish)
        self._update(busy=self._opener.sentence)

    def _on_unopened(self, error: ExplainedError) -> None:
        self._on_idle()
        self.problem.emit(error)

    def _on_opened(self, wish: Wish, opened: OpenedClip) -> None:
        if self._clip is not None:
            self._offer_back("replaced")
        clip = self._clip = opened.clip
        self._judge.settle(clip)
        self._heard = ""
        self._state = replace(
            self._fresh(),
            source=wish.source,
            path=wish.path,
            buffer=opened.buffer,
            rate=clip.reference.rate,
            seconds=opened.buffer.seconds,
            suggestion=opened.suggestion,
            transcript=opened.words,
            likeness=self._state.likeness,
            name=wish.name,
            language=self._state.language,
            fade_seconds=clip.reference.fade_seconds,
            tail_seconds=clip.reference.tail_seconds,
        )
        if wish.draft is not None:
            self._state = replace(
                self._state,
                transcript=wish.draft.transcript,
                likeness=wish.draft.likeness,
                language=wish.draft.language,
            )
        elif opened.words:
            self.notice.emit(Note(f"The words were read from the text file beside {wish.source}."))
        self._show(opened.judgement)
        self._parts.listener.detect(clip, partial(self._on_detected, clip))

    def _on_detected(self, clip: Clip, found: DetectedSpeech) -> None:
        current = self._clip
        if current is None or current.recording is not clip.recording:
            return
        self._clip = replace(current, segments=found.segments)
        self._update(suggestion=found.suggestion)
        self._judge.judge(self._clip)

    # --- changes of the chosen part ---

    def _choose(self, selection: tuple[int, int] | None) -> None:
        if self._clip is None:
            return
        reference = self._clip.reference.with_selection(selection)
        if reference.selection != self._clip.reference.selection:
            self._heard = ""
        self._set_reference(reference)

    def _set_reference(self, reference: Reference) -> None:
        assert self._clip is not None, "asked before"
        self._clip = self._clip.with_reference(reference)
        self._update()
        self._judge.judge(self._clip)

    def _mend(self, clip: Clip, change: Callable[[], Clip]) -> None:
        """Change the sound itself, in the background: a long one takes a moment."""

        def work() -> tuple[Clip, TakeBuffer | None]:
            mended = change()
            return mended, None if mended.sounds_like(clip) else mended.buffer()

        def done(result: tuple[Clip, TakeBuffer | None]) -> None:
            mended, buffer = result
            current = self._clip
            if current is None or current.reference is not clip.reference:
                return  # it was changed otherwise meanwhile
            if buffer is not None:
                self._update(buffer=buffer)
            self._set_reference(mended.reference)

        self._background.run(work, done)

    def _show(self, judgement: ReferenceReport) -> None:
        self._update(report=judgement.report, warnings=judgement.warnings, fixes=judgement.possible)

    # --- words ---

    def _on_heard(self, text: str) -> None:
        typed = self._state.transcript.strip()
        differs = likeness_warning(typed, text)
        self._heard = text
        self._update(transcript=text, busy="")
        if typed and typed != text:
            self.notice.emit(heard_note(differs, lambda: self.set_transcript(typed)))

    @Slot()
    def _on_listener(self) -> None:
        self._update()

    # --- the state ---

    def _fresh(self) -> CloneState:
        return CloneState(language=self._parts.settings.settings.language or ANY_LANGUAGE)

    def _update(self, **changes: Any) -> None:
        """Change the state and what follows from it; tell of it if it is another one then."""
        state = followed(
            replace(self._state, **changes),
            None if self._clip is None else self._clip.reference,
            self._parts.listener.transcription,
            self._heard,
        )
        if state != self._state:
            self._state = state
            self._parts.keeper.put(self._draft())
            self.changed.emit(state)

    def _reset(self) -> None:
        self._clip = None
        self._judge.settle(None)
        self._heard = ""
        self._state = self._fresh()
        self._update()
        self._parts.keeper.put(None)
        self.changed.emit(self._state)

    # --- leaving and coming back ---

    def _draft(self) -> CloneDraft | None:
        if self._clip is None:
            return None
        state = self._state
        return replace(
            self._clip.draft(),
            source=state.source,
            transcript=state.transcript,
            name=state.name,
            language=state.language,
            likeness=state.likeness,
        )

    def _offer_back(self, verb: str) -> None:
        clip, state, heard = self._clip, self._state, self._heard

        def bring_back() -> None:
            self.cancel_busy()
            self._clip, self._heard = clip, heard
            self._state = replace(state, busy="")
            self._on_idle()
            self.changed.emit(self._state)
            if clip is not None:
                self._judge.judge(clip)

        self.notice.emit(left_note(state.source, verb, bring_back))

    def _on_left_over(self, draft: CloneDraft | None) -> None:
        if draft is None or self._clip is not None:
            return
        wish = draft_wish(draft)
        self.notice.emit(left_over_note(wish.source, partial(self._open, wish)))

    def _on_recovered(self, found: tuple[list[Path], list[ExplainedError]]) -> None:
        recovered, problems = found
        for path in recovered:
            wish = recording_wish(path)
            self.notice.emit(recovered_note(wish.source, partial(self._open, wish)))
        for problem in problems:
            self.problem.emit(problem)
