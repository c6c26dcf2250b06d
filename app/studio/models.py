"""Which model files are there, which pair is loaded, and how it comes to be."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Signal, Slot

from app.core.models import FoundModels, best_codec, choose_pair, is_demo, look_into, voice_makers
from app.core.paths import StudioPaths
from app.core.settings import Settings
from app.jobs.background import Background
from app.jobs.messages import Ended, Failed, Finished, LoadedModel, Loading, Progress
from app.jobs.queue import JobQueue
from app.jobs.work import LoadModel, UnloadModel
from app.studio.notes import Note
from app.studio.preferences import SettingsKeeper
from engine import (
    ExplainedError,
    Family,
    ModelDescription,
    ModelFileError,
    ModelPair,
    codec_name,
    describe_file,
    describe_model,
)
from engine.types import DEMO_WIDTH

FAMILIES: Final = (Family.CUSTOM_VOICE, Family.BASE, Family.VOICE_DESIGN)
"""What is loaded when nothing was chosen yet, the most useful first."""


class ModelStatus(StrEnum):
    """Whether there is a model to speak with."""

    NONE = "none"
    LOADING = "loading"
    LOADED = "loaded"


@dataclass(frozen=True)
class ModelState:
    """The model that is loaded or being loaded, or the one that could not be."""

    status: ModelStatus = ModelStatus.NONE
    pair: ModelPair | None = None
    description: ModelDescription | None = None  # known before loading begins
    loaded: LoadedModel | None = None
    done: int = 0  # bytes read
    total: int = 0  # bytes to read; 0 until it is known
    problem: ExplainedError | None = None  # why `pair` could not be loaded


@dataclass(frozen=True)
class _Choice:
    """A pair to load, and what is known about it."""

    pair: ModelPair
    description: ModelDescription


class Models(QObject):
    """Finds models in the background and loads them through the queue."""

    changed = Signal(object)  # ModelState
    found_changed = Signal(object)  # FoundModels
    looking_changed = Signal(bool)
    problem = Signal(object)  # ExplainedError
    notice = Signal(object)  # Note

    def __init__(
        self,
        paths: StudioPaths,
        settings: SettingsKeeper,
        background: Background,
        queue: JobQueue,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._home, self._demo = paths.models, paths.demo
        self._settings = settings
        self._background = background
        self._queue = queue
        self._state = ModelState()
        self._found: FoundModels | None = None
        self._looks = 0  # the last look that was begun; older ones are of no interest
        self._is_looking = False
        self._wishes = 0  # the last wish for a model; what is found out for older ones is dropped
        self._job: int | None = None  # that loads the model of the state
        self._asked = ("", "")  # device and precision of the last load
        self._kept_codec: Path | None = None  # for the next talker
        self._lonely_talker: Path | None = None  # that found no tokenizer so far
        self._waiting: list[Callable[[FoundModels], None]] = []  # for the first look
        self._looked_in = self.folders
        settings.changed.connect(self._on_settings)
        queue.progressed.connect(self._on_progress)
        queue.ended.connect(self._on_ended)

    @property
    def state(self) -> ModelState:
        return self._state

    @property
    def found(self) -> FoundModels | None:
        """What the last look has found; None before the first."""
        return self._found

    @property
    def is_looking(self) -> bool:
        return self._is_looking

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where models are looked for, the studio's own folder first."""
        return tuple(dict.fromkeys((self._home, *self._settings.settings.model_folders)))

    @property
    def base_talkers(self) -> tuple[ModelDescription, ...]:
        """A base talker for every width, ascending: the one that is loaded, or the largest.

        The demonstration voice's only where there is no large one.
        """
        loaded, looked = self._state.loaded, self._found
        known = [] if loaded is None else [loaded.description]
        found = () if looked is None else looked.talkers
        if looked is not None:  # one without a tokenizer only where there is nothing else
            ready = [talker for talker in found if best_codec(looked.codecs, talker) is not None]
            found = tuple(ready) if voice_makers(ready) else found
        known += sorted(found, key=lambda talker: (-talker.file_bytes, talker.path.name))
        return voice_makers(known)

    def fitting(self, family: Family, widths: Collection[int] = ()) -> ModelDescription | None:
        """The best talker of a family on this computer, one of these widths if there is one.

        The demonstration voice's comes last, unless no other has the width.
        """
        only_demo = set(widths) == {DEMO_WIDTH}
        found = () if self._found is None else self._found.talkers
        return min(
            (talker for talker in found if talker.family is family),
            key=lambda talker: (
                is_demo(talker) is not only_demo,
                talker.width not in widths,
                -talker.width,
                -talker.file_bytes,
                talker.path.name,
            ),
            default=None,
        )

    def codec_for(self, talker: Path) -> Path | None:
        """The tokenizer that would be used with a talker, of those that were found."""
        pair = self._state.pair
        if pair is not None and pair.talker == talker and self._state.status is ModelStatus.LOADED:
            return pair.codec
        description = self._description_of(talker)
        if self._found is None or description is None:
            return None
        return best_codec(self._found.codecs, description)

    def look(self) -> None:
        """Look into the folders again, in the background."""
        self._looks += 1
        number, folders = self._looks, self.folders
        self._looked_in = folders
        if not self._is_looking:
            self._is_looking = True
            self.looking_changed.emit(True)
        self._background.run(
            lambda: look_into(folders, self._demo), lambda looked: self._on_looked(number, *looked)
        )

    def load(self, pair: ModelPair) -> None:
        """Load a pair of files. Whatever the engine does is stopped, its model is released."""
        description = self._description_of(pair.talker)
        if description is None:
            self._wish(lambda: _Choice(pair, describe_model(pair.talker)))
        else:
            self._wishes += 1
            self._submit(_Choice(pair, description))

    def load_talker(self, talker: Path) -> None:
        """Load a talker with the tokenizer that is kept for it, or that fits best."""
        self._load_talker(talker, self._description_of(talker))

    def open_file(self, path: Path) -> None:
        """Load a talker; pair a tokenizer with the talker at hand, or keep it for the next."""
        self._background.run(
            lambda: (describe_file(path), codec_name(path)),
            lambda told: self._on_described(path, *told),
            self.problem.emit,
        )

    def load_last(self) -> None:
        """Load what was loaded last, else the best pair that is there, else nothing."""
        settings = self._settings.settings
        self._when_found(
            lambda found: self._wish(lambda: _choice_at_start(settings, found)),
        )

    def cancel(self) -> None:
        """Stop loading; there is no model then."""
        self._wishes += 1
        if self._job is not None:
            self._queue.cancel(self._job)

    def unload(self) -> None:
        """Stop whatever the engine does and release the model."""
        self._wishes += 1
        self._job = None
        self._queue.cancel()
        self._queue.submit(UnloadModel())
        self._set_state(ModelState())

    def _load_talker(self, talker: Path, description: ModelDescription | None) -> None:
        self._lonely_talker = talker
        kept = self._kept_codec

        def choose(found: FoundModels) -> _Choice:
            known = description or describe_model(talker)
            fits = kept is not None and codec_name(kept) == known.codec_name
            pair = choose_pair(found, FAMILIES, str(talker), kept if fits else None)
            return _Choice(pair, known)

        self._when_found(lambda found: self._wish(lambda: choose(found)))

    def _description_of(self, talker: Path) -> ModelDescription | None:
        """What is known of a talker without opening it."""
        found = () if self._found is None else self._found.talkers
        return next((known for known in found if known.path == talker), None)

    def _when_found(self, then: Callable[[FoundModels], None]) -> None:
        """Call with what is there, after looking if that was not done yet; newer wishes win."""
        self._wishes += 1
        number = self._wishes

        def call(found: FoundModels) -> None:
            if number == self._wishes:
                then(found)

        if self._found is not None:
            call(self._found)
        else:
            self._waiting.append(call)
            if not self._is_looking:
                self.look()

    def _wish(self, choose: Callable[[], _Choice | None]) -> None:
        """Load what `choose` finds in the background, unless there is a newer wish by then.

        Until then the model before keeps its place, and it stays if there is none to load.
        """
        self._wishes += 1
        number = self._wishes

        def load(choice: _Choice | None) -> None:
            if number == self._wishes and choice is not None:
                self._submit(choice)

        def tell(error: ExplainedError) -> None:
            if number == self._wishes:
                self.problem.emit(error)

        self._background.run(choose, load, tell)

    def _submit(self, choice: _Choice) -> None:
        settings = self._settings.settings
        self._job = None  # the endings of older jobs say nothing about this model
        self._lonely_talker = None
        if choice.pair.codec == self._kept_codec:
            self._kept_codec = None
        self._queue.cancel()
        self._asked = (settings.device, settings.precision)
        self._job = self._queue.submit(LoadModel(choice.pair, *self._asked))
        self._set_state(ModelState(ModelStatus.LOADING, choice.pair, choice.description))

    def _set_state(self, state: ModelState) -> None:
        if state != self._state:
            self._state = state
            self.changed.emit(state)

    def _on_looked(
        self, number: int, found: FoundModels, problems: tuple[ModelFileError, ...]
    ) -> None:
        if number != self._looks:
            return
        for problem in problems:
            self.problem.emit(problem)
        self._found = found
        self._is_looking = False
        self.found_changed.emit(found)
        self.looking_changed.emit(False)
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            call(found)

    def _on_described(
        self, path: Path, description: ModelDescription | None, name: str | None
    ) -> None:
        """Load a talker, or a tokenizer called `name` with the talker that wants it."""
        if description is not None:
            self._load_talker(path, description)
            return
        known, pair = self._state.description, self._state.pair
        fits = pair is not None and known is not None and known.codec_name == name
        talker = self._lonely_talker or (pair.talker if pair is not None and fits else None)
        if talker is not None:
            self.load(ModelPair(talker, path))
        else:
            self._kept_codec = path
            self.notice.emit(
                Note(
                    f"{path.name} will be used with the next model that is opened.",
                    "Open a talker (qwen-talker-*.gguf) to go with it.",
                )
            )

    @Slot(object)
    def _on_settings(self, settings: Settings) -> None:
        if self.folders != self._looked_in and (self._found is not None or self._is_looking):
            self.look()
        pair = self._state.pair
        asked = (settings.device, settings.precision)
        if pair is not None and self._state.loaded is not None and asked != self._asked:
            self._asked = asked
            self.notice.emit(
                Note(
                    "The new device and precision are used from the next load on.",
                    action_label="Load the model again",
                    action=lambda: self.load(pair),
                )
            )

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        if isinstance(progress, Loading) and progress.job == self._job:
            self._set_state(replace(self._state, done=progress.done, total=progress.total))

    @Slot(object)
    def _on_ended(self, ended: Ended) -> None:
        if self._job is None or ended.job != self._job:
            return
        self._job = None
        state = replace(self._state, status=ModelStatus.NONE, done=0, total=0)
        if isinstance(ended, Finished):
            assert isinstance(ended.result, LoadedModel), "what a load job gives"
            loaded = ended.result
            self._set_state(
                replace(
                    self._state,
                    status=ModelStatus.LOADED,
                    description=loaded.description,
                    loaded=loaded,
                )
            )
            self._remember()
        elif isinstance(ended, Failed):
            self._set_state(replace(state, problem=ended.error))
            self.problem.emit(ended.error)
        else:
            # A load that was stopped while it waited has not released the model before it.
            self._queue.submit(UnloadModel())
            self._set_state(ModelState())

    def _remember(self) -> None:
        """For the next start, which finds the demonstration voice by itself."""
        pair = self._state.pair
        known = self._state.description
        if pair is not None and known is not None and not is_demo(known):
            self._settings.update(talker=pair.talker.absolute(), codec=pair.codec.absolute())


def _choice_at_start(settings: Settings, found: FoundModels) -> _Choice | None:
    """The pair of the last time if its talker is still there, else the best one, else None."""
    talker, codec = settings.talker, settings.codec
    if talker is not None and talker.is_file():
        if codec is not None and codec.is_file():
            return _Choice(ModelPair(talker, codec), describe_model(talker))
        return _Choice(choose_pair(found, FAMILIES, str(talker)), describe_model(talker))
    if not found.talkers or not found.codecs:
        return None
    pair = choose_pair(found, FAMILIES)
    return _Choice(pair, describe_model(pair.talker))
