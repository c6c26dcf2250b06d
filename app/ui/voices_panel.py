"""The library beside the work: find a voice, hear it, choose it, and all that is done with it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QVBoxLayout, QWidget

from app.audio.player_state import PlayerState
from app.core.voice_listing import DamagedVoice, VoiceListing
from app.core.voice_record import LibraryVoice, VoiceOrder, sorted_voices
from app.studio.sound import Sound
from app.studio.voices import Voices
from app.ui.controls import main_button, muted_label, tool_button
from app.ui.drop_hint import DropHint
from app.ui.file_choosers import FileDialogs
from app.ui.icons import icon
from app.ui.inline_note import InlineNote, wrapped_label
from app.ui.labels import BusyLabel
from app.ui.metrics import GAP, TIGHT
from app.ui.shortcuts import make_action
from app.ui.trash_dialog import Deleted
from app.ui.voice_actions import VoiceActions
from app.ui.voice_files import SystemVoicePlaces, VoicePlaces, local_paths, recordings_of
from app.ui.voice_filters import VoiceFilterBar
from app.ui.voice_list import VoiceListModel
from app.ui.voice_look import VoiceRow, row_key
from app.ui.voice_menu import RowWishes, fill_menu
from app.ui.voice_rows import shown_rows
from app.ui.voice_view import VoiceListView
from app.ui.voices_empty import EmptyLibrary

MODEL = ".gguf"


class VoicesPanel(QWidget):
    """The current row is the voice that is spoken with: `voices.selected`."""

    new_voice_requested = Signal()
    clone_requested = Signal(Path)  # a recording to begin a clone with
    record_requested = Signal()
    open_requested = Signal()  # a recording, yet to be chosen
    design_requested = Signal()
    speak_requested = Signal(object)  # LibraryVoice, chosen by now

    def __init__(
        self,
        voices: Voices,
        sound: Sound,
        deleted: Deleted,
        places: VoicePlaces | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """`deleted` is what the trash shows."""
        super().__init__(parent)
        self._voices = voices
        self._current_key = ""
        self._is_syncing = False
        self._sorted: tuple[LibraryVoice, ...] = ()
        self._sorted_from: tuple[VoiceListing, VoiceOrder] | None = None
        self.actions_of_voices = VoiceActions(
            voices, sound, places or SystemVoicePlaces(FileDialogs()), deleted, self
        )
        self._model = VoiceListModel(self)
        self._build()
        self._connect(sound)
        self.sync()

    @property
    def view(self) -> VoiceListView:
        return self._view

    @property
    def filters(self) -> VoiceFilterBar:
        return self._filters

    @property
    def note(self) -> str:
        """The sentence that stands below the list."""
        return self._note.text

    def fill_menu(self, menu: QMenu) -> None:
        """Put what can be done with the selected voices into a menu, when it is about to show."""
        wishes = RowWishes(self._speak, self._view.rename_current)
        fill_menu(menu, self._view.chosen_rows, self.actions_of_voices, wishes)

    @Slot()
    def focus_search(self) -> None:
        """Let a voice be searched for."""
        self._filters.focus_search()

    def _build(self) -> None:
        self.setAccessibleName("Voices")
        self.setAcceptDrops(True)
        self._filters = VoiceFilterBar(self)
        self._count = muted_label(parent=self)
        self._more_menu = QMenu(self)
        self._more_menu.aboutToShow.connect(self._fill_more)
        self._more = tool_button("more", "More: the selected voices, and the trash", self)
        self._more.clicked.connect(
            lambda: self._more_menu.popup(self._more.mapToGlobal(self._more.rect().bottomLeft()))
        )
        self._view = VoiceListView(self._model, self)
        self._empty = EmptyLibrary(self)
        self._nothing = wrapped_label("No voice fits.", muted=True, parent=self)
        self._show_all = QPushButton("Show all voices", self)
        self._busy = BusyLabel(self)
        self._note = InlineNote(self)
        self._new = main_button("New voice", "plus", self)
        self._new.setToolTip("Record or open a recording, and make a voice of it")
        self._import = QPushButton("Import…", self)
        self._import.setToolTip("Import voice folders, archives, or files of qwentts.cpp")
        menu = QMenu(self._import)
        menu.addAction(icon("open"), "Files…", self.actions_of_voices.import_files)
        menu.addAction(icon("folder"), "A folder…", self.actions_of_voices.import_folder)
        self._import.setMenu(menu)
        self._drop = DropHint(self)
        head = QHBoxLayout()
        head.addWidget(self._count, 1)
        head.addWidget(self._more)
        foot = QHBoxLayout()
        foot.setSpacing(TIGHT)
        foot.addWidget(self._new)
        foot.addWidget(self._import)
        foot.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(GAP, TIGHT, GAP, GAP)
        layout.setSpacing(TIGHT)
        layout.addWidget(self._filters)
        layout.addLayout(head)
        layout.addWidget(self._view, 1)
        layout.addWidget(self._empty, 1)
        layout.addWidget(self._nothing)
        layout.addWidget(self._show_all)
        layout.addWidget(self._busy)
        self._gap = layout.count()
        layout.addStretch(0)
        layout.addWidget(self._note)
        layout.addLayout(foot)

    def _connect(self, sound: Sound) -> None:
        view, actions = self._view, self.actions_of_voices
        view.current_changed.connect(self._on_current)
        view.selection_changed.connect(self._show_count)
        view.listen_requested.connect(self._on_listen)
        view.speak_requested.connect(self._speak)
        view.favourite_requested.connect(lambda voice: actions.toggle_favourite((voice,)))
        view.menu_requested.connect(self._show_menu)
        for name, act in (
            ("voice-rename", view.rename_current),
            ("voice-trash", lambda: actions.delete(view.chosen_rows)),
        ):
            make_action(name, view).triggered.connect(act)
        self._model.rename_requested.connect(self._voices.rename)
        self._filters.changed.connect(self.sync)
        self._filters.list_requested.connect(self._go_to_list)
        self._show_all.clicked.connect(self._filters.show_all)
        self._empty.record_requested.connect(self.record_requested)
        self._empty.open_requested.connect(self.open_requested)
        self._empty.design_requested.connect(self.design_requested)
        self._new.clicked.connect(self.new_voice_requested)
        actions.told.connect(self._note.tell)
        self._voices.changed.connect(self.sync)
        self._voices.selected_changed.connect(self._on_selected)
        sound.moved.connect(self._on_moved)

    # What is shown

    @Slot()
    def sync(self) -> None:
        """Show what the library has now, as far as it is wanted."""
        listing = self._voices.listing
        if self.sender() is not self._filters:
            self._filters.offer(listing)
        at = self._view.currentIndex().row()
        self._is_syncing = True
        self._model.set_rows(self._wanted(listing))
        self._is_syncing = False
        if not self._current_key and self._voices.selected is not None:
            self._current_key = self._voices.selected.id
        if self._is_there(listing):
            self._return_to_current()
        else:
            self._is_syncing = True  # Qt has gone on to a row already, and would not tell
            self._view.go_to(min(max(at, 0), self._model.rowCount() - 1))
            self._is_syncing = False
            self._on_current(self._view.current_row)
        self._show_state(listing)

    def _wanted(self, listing: VoiceListing) -> tuple[VoiceRow, ...]:
        order = self._filters.order
        if self._sorted_from is None or self._sorted_from != (listing, order):
            self._sorted = sorted_voices(listing.voices, order)
            self._sorted_from = (listing, order)
        return shown_rows(
            self._sorted, listing.damaged, self._filters.filter, self._filters.wants_damaged
        )

    def _is_there(self, listing: VoiceListing) -> bool:
        """Whether what was current is still in the library, shown or not; so if nothing was."""
        return (
            not self._current_key
            or listing.find(self._current_key) is not None
            or any(row_key(row) == self._current_key for row in listing.damaged)
        )

    def _return_to_current(self) -> None:
        at = self._model.row_of(self._current_key)
        if at != self._view.currentIndex().row():
            self._is_syncing = True
            self._view.go_to(at)
            self._is_syncing = False

    def _show_state(self, listing: VoiceListing) -> None:
        total = len(listing.voices) + len(listing.damaged)
        listed, shown = self._voices.is_listed, self._model.rowCount()
        self._view.setVisible(shown > 0)
        self._empty.setVisible(listed and not total)
        self._filters.setVisible(total > 0)
        self._nothing.setVisible(total > 0 and not shown)
        self._show_all.setVisible(total > 0 and not shown)
        self._busy.set_busy("" if listed else "Looking at the library")
        layout = self.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.setStretch(self._gap, 0 if shown or (listed and not total) else 1)
        self._show_count()

    @Slot()
    def _show_count(self) -> None:
        listing = self._voices.listing
        total, shown = len(listing.voices) + len(listing.damaged), self._model.rowCount()
        chosen = len(self._view.selectedIndexes())
        counted = len(listing.voices) if shown == total and chosen < 2 else total
        text = "1 voice" if counted == 1 else f"{counted} voices"
        if chosen > 1:
            text = f"{chosen} of {text} selected"
        elif shown != total:
            text = f"{shown} of {text}"
        elif listing.damaged:
            text = f"{text}, {len(listing.damaged)} damaged"
        self._count.setText(text if total else "")

    @Slot(object)
    def _on_selected(self, voice: LibraryVoice | None) -> None:
        """Chosen here or elsewhere: it is shown, even if a filter has to go for it."""
        if voice is None or voice.id == self._current_key:
            return
        self._current_key = voice.id
        if self._model.row_of(voice.id) < 0:
            self._filters.show_all()
        self._return_to_current()

    @Slot(object)
    def _on_current(self, row: VoiceRow | None) -> None:
        if self._is_syncing:
            return
        self._note.tell("")
        self._current_key = row_key(row) if row is not None else ""
        self._voices.select(row.id if isinstance(row, LibraryVoice) else "")

    @Slot(object)
    def _on_moved(self, _: PlayerState) -> None:
        self._model.set_playing(self.actions_of_voices.playing_id)

    # What is done

    @Slot()
    def _fill_more(self) -> None:
        self.fill_menu(self._more_menu)
        self._more_menu.addSeparator()
        self._more_menu.addAction("Show the trash…", self.actions_of_voices.show_trash)

    @Slot()
    def _go_to_list(self) -> None:
        if self._model.rowCount():
            if not self._view.currentIndex().isValid():
                self._view.go_to(0)
            self._view.setFocus()

    @Slot(object)
    def _on_listen(self, row: VoiceRow) -> None:
        if isinstance(row, LibraryVoice):
            self.actions_of_voices.listen(row)

    @Slot()
    def _speak(self) -> None:
        row = self._view.current_row
        if isinstance(row, LibraryVoice):
            self._voices.select(row.id)
            self.speak_requested.emit(row)
        elif isinstance(row, DamagedVoice):
            self.actions_of_voices.show_reason(row)

    @Slot(QPoint)
    def _show_menu(self, place: QPoint) -> None:
        if self._view.chosen_rows:
            self._more_menu.popup(place)

    # What is dropped

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        paths = local_paths(event.mimeData())
        if not paths or any(path.suffix.lower() == MODEL for path in paths):
            event.ignore()  # a model is for the window around
        else:
            self._drop.tell(
                "Drop to clone this voice" if recordings_of(paths) else "Drop to import"
            )
            event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._drop.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self._drop.hide()
        paths = local_paths(event.mimeData())
        event.acceptProposedAction()
        self.take(paths)

    def take(self, paths: tuple[Path, ...]) -> None:
        """Begin a clone with a recording, or import what is no recording."""
        recordings = recordings_of(paths)
        if recordings:
            if len(recordings) > 1:
                self._note.tell(
                    f"A voice is made from one recording: {recordings[0].name} was opened."
                )
            self.clone_requested.emit(recordings[0])
        elif paths:
            self._voices.import_paths(paths)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._drop.setGeometry(self.rect().adjusted(TIGHT, TIGHT, -TIGHT, -TIGHT))
        self._filters.fit_into(self.height())
