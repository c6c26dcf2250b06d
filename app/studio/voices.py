"""The library of voices as the window sees it: listed, chosen, changed, with a way back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from PySide6.QtCore import QObject, Signal

from app.audio.take_buffer import TakeBuffer
from app.core.names import unique_name
from app.core.trash import TrashItem
from app.core.voice_cache import VoiceCache
from app.core.voice_colours import give_colours
from app.core.voice_export import export_bare, export_folder, export_zip
from app.core.voice_import import ImportReport, import_voices
from app.core.voice_listing import DamagedVoice, VoiceListing
from app.core.voice_parts import VoiceParts
from app.core.voice_record import LibraryVoice, VoiceDetails
from app.core.voices import VoiceLibrary
from app.jobs.background import Background
from app.jobs.messages import MadeVoice
from app.studio.notes import Note
from app.studio.voice_outcomes import each_of, exported_note, joint_problem, named, was
from app.studio.voice_samples import VoiceSamples
from app.studio.voice_way_back import VoiceWayBack
from engine import ExplainedError

T = TypeVar("T")
OneVoice = TypeVar("OneVoice", LibraryVoice, LibraryVoice | DamagedVoice)

Then: TypeAlias = Callable[[LibraryVoice], None]
Failed: TypeAlias = Callable[[ExplainedError], None]


class Voices(QObject):
    """The library. What changes it runs in the background, in the order in which it was asked."""

    changed = Signal()  # `listing`
    selected_changed = Signal(object)  # LibraryVoice | None
    problem = Signal(object)  # ExplainedError
    notice = Signal(object)  # Note
    withdrawn = Signal(object)  # Note whose action has become impossible

    def __init__(
        self, library: VoiceLibrary, background: Background, parent: QObject | None = None
    ) -> None:
        """The listing is empty until the first `refresh`."""
        super().__init__(parent)
        self._library = library
        self._background = background
        self._read = VoiceCache()  # this and the next are used in the background only
        self._latest = VoiceListing()
        self._listing = VoiceListing()
        self._is_listed = False
        self._leaving: set[Path] = set()  # folders that are being moved to the trash
        self._selected_id = ""
        self._selected: LibraryVoice | None = None
        self._samples = VoiceSamples(background, self.problem.emit)
        self._way_back = VoiceWayBack(lambda: self._listing, self.withdrawn.emit)

    @property
    def listing(self) -> VoiceListing:
        return self._listing

    @property
    def is_listed(self) -> bool:
        """False until the library was looked at for the first time."""
        return self._is_listed

    @property
    def folder(self) -> Path:
        """Where the voices lie."""
        return self._library.folder

    @property
    def selected(self) -> LibraryVoice | None:
        """The chosen voice as it is now, None if there is none or it is gone."""
        return self._selected

    def refresh(self) -> None:
        """Look at the library again; reads only the voices that have changed."""
        self._background.run(self._list, self._show)

    def select(self, voice_id: str) -> None:
        """Choose a voice, "" for none; one that is not listed yet is chosen once it is."""
        self._selected_id = voice_id
        self._update_selected()

    def create(
        self,
        details: VoiceDetails,
        parts: VoiceParts,
        then: Then | None = None,
        failed: Failed | None = None,
    ) -> None:
        """Add a voice, choose it, and hand it to `then`; `failed` comes after the problem."""
        self._add(lambda: self._library.create(details, parts), then, failed)

    def rename(self, voice: LibraryVoice, name: str) -> None:
        """Give a voice another name; the notice gives it back its old one."""
        rename = self._renaming(voice, name)

        def done(renamed: LibraryVoice) -> None:
            if renamed.name != voice.name:
                undo = partial(self._change, self._renaming(renamed, voice.name))
                self.notice.emit(self._way_back.renamed(voice, renamed, undo))

        self._change(rename, done)

    def save(self, voice: LibraryVoice, details: VoiceDetails) -> None:
        """Change its tags, favourite, note, language, colour: what differs from `voice`."""
        wanted = {field.name: getattr(details, field.name) for field in fields(details)}
        changes = {
            name: value for name, value in wanted.items() if value != getattr(voice.details, name)
        }

        def work() -> LibraryVoice:
            now = self._now(voice)
            return self._library.save(now, replace(now.details, **changes))

        self._change(work)

    def set_favourite(self, voice: LibraryVoice, on: bool) -> None:
        self.save(voice, replace(voice.details, favourite=on))

    def set_tags(self, voice: LibraryVoice, tags: Iterable[str]) -> None:
        self.save(voice, replace(voice.details, tags=tuple(tags)))

    def duplicate(self, voice: LibraryVoice) -> None:
        """Add a copy of a voice under a name of its own, and choose it."""
        name = self.free_name(f"{voice.name} copy")
        self._add(lambda: self._library.duplicate(self._now(voice), name))

    def blend(self, first: LibraryVoice, second: LibraryVoice, amount: float, name: str) -> None:
        """Add a voice that is `amount` (0..1) of the way between two, and choose it.

        The notice moves it to the trash again.
        """

        def done(blend: LibraryVoice) -> None:
            undo = partial(self.delete, blend)
            self.notice.emit(self._way_back.blended(blend, first, second, undo))

        def work() -> LibraryVoice:
            return self._library.blend(self._now(first), self._now(second), amount, name)

        self._add(work, done)

    def free_name(self, wanted: str) -> str:
        """`wanted`, or with a number behind it where a voice has that name."""
        return unique_name(wanted, [voice.name for voice in self._listing.voices])

    def delete(self, *voices: LibraryVoice | DamagedVoice) -> None:
        """Move voices to the trash; the notice takes them back. Those on their way are left out."""
        leaving = [voice for voice in voices if voice.folder not in self._leaving]
        if not leaving:
            return
        folders = {voice.folder for voice in leaving}
        self._leaving |= folders

        def work() -> tuple[list[TrashItem], list[ExplainedError]]:
            return each_of(leaving, lambda voice: self._library.delete(self._now(voice)))

        def done(result: tuple[list[TrashItem], list[ExplainedError]]) -> None:
            items, errors = result
            self._leaving -= folders
            if items:
                undo = partial(self.restore, *items)
                self.notice.emit(self._way_back.deleted(leaving, items, undo))
            self._tell(errors, len(leaving), "deleted")

        def failed(_: ExplainedError) -> None:
            self._leaving -= folders

        self._run(work, done, failed)

    def forget(self, *items: TrashItem) -> None:
        """These have left the trash for good: nothing brings them back."""
        self._way_back.forget(items)

    def restore(self, *items: TrashItem) -> None:
        """Take voices back from the trash; the last one is chosen."""

        def work() -> tuple[list[LibraryVoice], list[ExplainedError]]:
            return each_of(items, self._library.restore)

        def done(result: tuple[list[LibraryVoice], list[ExplainedError]]) -> None:
            voices, errors = result
            if voices:
                self.select(voices[-1].id)
                self.notice.emit(Note(f"{named(voices)} came back from the trash."))
            self._tell(errors, len(items), "restored")

        self._run(work, done)

    def import_paths(self, paths: Sequence[Path]) -> None:
        """Import voice folders, archives and bare voice files; the first one is chosen."""
        chosen = tuple(paths)

        def done(report: ImportReport) -> None:
            if report.voices:
                self.select(report.voices[0].id)
                self.notice.emit(
                    Note(
                        f"{named(report.voices)} {was(report.voices)} imported.",
                        " ".join(report.notices),
                    )
                )
            self._tell(report.problems, len(report.voices) + len(report.problems), "imported")

        def work() -> ImportReport:
            report = import_voices(self._library, chosen)
            return replace(report, voices=self._coloured(report.voices))

        self._run(work, done)

    def export_folder(self, voices: Sequence[LibraryVoice], target: Path) -> None:
        """Copy voices into `target`, a folder each."""
        self._export(voices, target, lambda voice: export_folder(voice, target))

    def export_bare(self, voices: Sequence[LibraryVoice], target: Path) -> None:
        """Write the `.spk`, `.rvq` and `.txt` files of voices into `target`."""
        self._export(voices, target, lambda voice: export_bare(voice, target))

    def export_zip(self, voices: Sequence[LibraryVoice], target: Path) -> None:
        """Write voices into the archive `target`."""
        chosen = tuple(voices)

        def done(_: None) -> None:
            self.notice.emit(exported_note(chosen, target, target.parent))

        def work() -> None:
            export_zip([self._now(voice) for voice in chosen], target)

        self._background.run(work, done, self.problem.emit)

    def complete(
        self,
        voice: LibraryVoice,
        made: MadeVoice,
        then: Then | None = None,
        failed: Failed | None = None,
    ) -> None:
        """Add what a recording was turned into: embeddings, and codes if there are any."""

        def work() -> LibraryVoice:
            completed = self._library.complete(self._now(voice), codes=made.codes, codec=made.codec)
            for embedding in made.embeddings:
                completed = self._library.complete(completed, embedding)
            return completed

        self._change(work, then, failed)

    def repair(self, damaged: DamagedVoice) -> None:
        """Give a damaged folder a new description; what is still there becomes a voice again."""
        name = self.free_name(damaged.name.rpartition("-")[0] or damaged.name)

        def done(voice: LibraryVoice) -> None:
            self.select(voice.id)
            self.notice.emit(
                Note(
                    f"{voice.name} was repaired.",
                    "Its old description is kept beside the new one; look at name and language.",
                )
            )

        self._run(lambda: self._library.repair(damaged, name), done)

    def sample(self, voice: LibraryVoice) -> TakeBuffer | None:
        """Its recording at the models' rate, filled in the background; None if it has none.

        A recording that cannot be read leaves the buffer empty, and is told as a problem.
        """
        return self._samples.get(voice)

    def _renaming(self, voice: LibraryVoice, name: str) -> Callable[[], LibraryVoice]:
        return lambda: self._library.rename(self._now(voice), name)

    def _coloured(self, voices: Sequence[LibraryVoice]) -> tuple[LibraryVoice, ...]:
        """New voices, each in a colour of its own; in the background."""
        return give_colours(self._library, self._latest.voices, voices)

    def _list(self) -> VoiceListing:
        self._latest = self._library.list(self._read)
        return self._latest

    def _now(self, voice: OneVoice) -> OneVoice:
        """A voice as the work before has left it: it may have another name and folder by now."""
        found = self._latest.find(voice.id) if isinstance(voice, LibraryVoice) else None
        return voice if found is None else found

    def _show(self, listing: VoiceListing) -> None:
        if listing != self._listing or not self._is_listed:
            self._listing = listing
            self._is_listed = True
            self.changed.emit()
        self._update_selected()
        self._way_back.check()

    def _update_selected(self) -> None:
        voice = self._listing.find(self._selected_id)
        if voice != self._selected:
            self._selected = voice
            self.selected_changed.emit(voice)

    def _run(
        self, work: Callable[[], T], done: Callable[[T], None], failed: Failed | None = None
    ) -> None:
        """Do something to the library, show it as it is then, and go on with `done`."""

        def both() -> tuple[T, VoiceListing]:
            return work(), self._list()

        def shown(result: tuple[T, VoiceListing]) -> None:
            self._show(result[1])
            done(result[0])

        def broken(error: ExplainedError) -> None:
            self.problem.emit(error)
            self.refresh()  # it may have come half of the way
            if failed is not None:
                failed(error)

        self._background.run(both, shown, broken)

    def _change(
        self,
        work: Callable[[], LibraryVoice],
        then: Then | None = None,
        failed: Failed | None = None,
    ) -> None:
        def done(voice: LibraryVoice) -> None:
            self._samples.forget(voice)
            if then is not None:
                then(voice)

        self._run(work, done, failed)

    def _add(
        self,
        work: Callable[[], LibraryVoice],
        then: Then | None = None,
        failed: Failed | None = None,
    ) -> None:
        def done(voice: LibraryVoice) -> None:
            self.select(voice.id)
            if then is not None:
                then(voice)

        self._run(lambda: self._coloured((work(),))[0], done, failed)

    def _export(
        self, voices: Sequence[LibraryVoice], target: Path, act: Callable[[LibraryVoice], object]
    ) -> None:
        chosen = tuple(voices)

        def export(voice: LibraryVoice) -> LibraryVoice:
            act(self._now(voice))
            return voice

        def done(result: tuple[list[LibraryVoice], list[ExplainedError]]) -> None:
            exported, errors = result
            if exported:
                self.notice.emit(exported_note(exported, target, target))
            self._tell(errors, len(chosen), "exported")

        self._background.run(lambda: each_of(chosen, export), done, self.problem.emit)

    def _tell(self, errors: Sequence[ExplainedError], total: int, act: str) -> None:
        if errors:
            self.problem.emit(joint_problem(errors, total, act))
