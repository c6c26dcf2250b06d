"""Words the notes that take a change of the library back, and knows how long they can."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.core.trash import TrashItem
from app.core.voice_listing import DamagedVoice, VoiceListing
from app.core.voice_record import LibraryVoice
from app.studio.notes import Note, WayBack, undoable

Undo = Callable[[], None]


class VoiceWayBack(WayBack):
    """Only the last change can be taken back; `check` when the library has changed."""

    def __init__(
        self, listing: Callable[[], VoiceListing], withdraw: Callable[[Note], None]
    ) -> None:
        """`listing` is the library as it is now."""
        super().__init__(withdraw)
        self._listing = listing
        self._discarded: set[str] = set()  # ids of trash items that are gone for good

    def deleted(
        self,
        voices: Sequence[LibraryVoice | DamagedVoice],
        items: Sequence[TrashItem],
        restore: Undo,
    ) -> Note:
        """Of voices that became items of the trash, as long as all of them are there."""
        moved = items[0].label if len(items) == 1 else f"{len(items)} voices"
        verb = "was" if len(items) == 1 else "were"
        keys = {item.id for item in items}

        def is_open() -> bool:
            back = any(self._is_there(voice) for voice in voices)
            return not back and self._discarded.isdisjoint(keys)

        note = undoable(f"{moved} {verb} moved to the trash.", restore)
        return self.offer(note, is_open)

    def renamed(self, before: LibraryVoice, after: LibraryVoice, undo: Undo) -> Note:
        """Of a new name, as long as the voice has it."""

        def is_open() -> bool:
            now = self._listing().find(after.id)
            return now is not None and now.name == after.name

        return self.offer(undoable(f"{before.name} is called {after.name} now.", undo), is_open)

    def blended(
        self, blend: LibraryVoice, first: LibraryVoice, second: LibraryVoice, undo: Undo
    ) -> Note:
        """Of a blend, as long as it is there."""
        note = undoable(f"{blend.name} was blended from {first.name} and {second.name}.", undo)
        return self.offer(note, lambda: self._is_there(blend))

    def forget(self, items: Sequence[TrashItem]) -> None:
        """These have left the trash for good: nothing brings them back."""
        self._discarded |= {item.id for item in items}
        self.check()

    def _is_there(self, voice: LibraryVoice | DamagedVoice) -> bool:
        listing = self._listing()
        if isinstance(voice, LibraryVoice):
            return listing.find(voice.id) is not None
        return any(damaged.folder == voice.folder for damaged in listing.damaged)
