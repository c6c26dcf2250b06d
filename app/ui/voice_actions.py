"""What can be done with voices of the library, and the dialogs that ask how."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.audio.player_state import PlayerStatus
from app.core.voice_listing import DamagedVoice
from app.core.voice_record import LibraryVoice
from app.studio.sound import Sound
from app.studio.voices import Voices
from app.ui.blend_dialog import BlendDialog
from app.ui.damaged_dialog import DamagedDialog
from app.ui.dialogs import open_dialog
from app.ui.trash_dialog import Deleted, TrashDialog
from app.ui.voice_details_dialog import VoiceDetailsDialog
from app.ui.voice_files import ExportKind, VoicePlaces
from app.ui.voice_look import VoiceRow
from app.ui.voice_tags_dialog import TagsDialog

SAMPLE = "voice:"


class VoiceActions(QObject):
    """Works on rows of the list. Dialogs belong to `window` and do not block."""

    told = Signal(str)  # a sentence for beside the list

    def __init__(
        self,
        voices: Voices,
        sound: Sound,
        places: VoicePlaces,
        deleted: Deleted,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._voices = voices
        self._sound = sound
        self._places = places
        self._deleted = deleted
        self._window = window

    @property
    def playing_id(self) -> str:
        """The id of the voice whose recording is heard, empty for none."""
        key = self._sound.playing_key
        return key.removeprefix(SAMPLE) if key.startswith(SAMPLE) and self._sounds() else ""

    def listen(self, voice: LibraryVoice) -> None:
        """Play the recording of a voice, or pause it, or go on."""
        key = f"{SAMPLE}{voice.id}"
        status = self._sound.state.status
        if self._sound.playing_key == key and (self._sounds() or status is PlayerStatus.PAUSED):
            self._sound.toggle()
            return
        buffer = self._voices.sample(voice)
        if buffer is None:
            self.told.emit(f"{voice.name} has no recording to listen to. Speak a line with it.")
        else:
            self._sound.play(key, buffer)

    def toggle_favourite(self, voices: Sequence[LibraryVoice]) -> None:
        """Make all of them favourites, or none if all are."""
        on = not all(voice.details.favourite for voice in voices)
        for voice in voices:
            if voice.details.favourite is not on:
                self._voices.set_favourite(voice, on)

    def edit(self, voices: Sequence[LibraryVoice]) -> None:
        """Open the details of one voice, or the tags of several."""
        in_use = self._voices.listing.tags
        if len(voices) == 1:
            voice = voices[0]
            details = VoiceDetailsDialog(voice, in_use, self._window)
            details.accepted.connect(lambda: self._save(voice, details))
            open_dialog(details)
        elif voices:
            tags = TagsDialog(voices, in_use, self._window)
            tags.accepted.connect(lambda: self._tag(tags))
            open_dialog(tags)

    def duplicate(self, voice: LibraryVoice) -> None:
        self._voices.duplicate(voice)

    def blend(self, first: LibraryVoice | None, second: LibraryVoice | None = None) -> None:
        """Ask for a blend, beginning with these."""
        dialog = BlendDialog(self._voices.listing.voices, first, second, self._window)
        dialog.listen_requested.connect(self.listen)
        dialog.accepted.connect(lambda: self._blend(dialog))
        open_dialog(dialog)

    def export(self, voices: Sequence[LibraryVoice], kind: ExportKind) -> None:
        """Ask where to, and export."""
        if not voices:
            return
        name = voices[0].name if len(voices) == 1 else f"{len(voices)} voices"
        target = self._places.target(self._window, kind, name)
        if target is None:
            return
        act = {
            ExportKind.FOLDER: self._voices.export_folder,
            ExportKind.ZIP: self._voices.export_zip,
            ExportKind.BARE: self._voices.export_bare,
        }[kind]
        act(voices, target)

    def delete(self, rows: Sequence[VoiceRow]) -> None:
        """Move voices to the trash; what is heard of them ends."""
        movable = [row for row in rows if self.can_delete(row)]
        for row in movable:
            if isinstance(row, LibraryVoice) and self._sound.playing_key == f"{SAMPLE}{row.id}":
                self._sound.load("", None)
        if movable:
            self._voices.delete(*movable)

    def can_delete(self, row: VoiceRow) -> bool:
        """Not where the library itself could not be read: that is all of it."""
        return row.folder != self._voices.folder

    def show_reason(self, damaged: DamagedVoice) -> None:
        """Say why a folder is no voice, and offer to repair it."""
        dialog = DamagedDialog(damaged, self._window, can_repair=self.can_delete(damaged))
        dialog.accepted.connect(lambda: self._voices.repair(damaged))
        open_dialog(dialog)

    def import_files(self) -> None:
        if paths := self._places.files_to_import(self._window):
            self._voices.import_paths(paths)

    def import_folder(self) -> None:
        if (folder := self._places.folder_to_import(self._window)) is not None:
            self._voices.import_paths([folder])

    def show_trash(self) -> None:
        open_dialog(TrashDialog(self._deleted, parent=self._window))

    def _sounds(self) -> bool:
        return self._sound.state.status in (PlayerStatus.PLAYING, PlayerStatus.WAITING)

    def _save(self, voice: LibraryVoice, dialog: VoiceDetailsDialog) -> None:
        if dialog.details != voice.details:
            self._voices.save(voice, dialog.details)

    def _tag(self, dialog: TagsDialog) -> None:
        for voice, tags in dialog.changes:
            self._voices.set_tags(voice, tags)

    def _blend(self, dialog: BlendDialog) -> None:
        if dialog.first is not None and dialog.second is not None:
            self._voices.blend(dialog.first, dialog.second, dialog.amount, dialog.name)
