"""The window: puts the parts together and lets keys, menus and drops do what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from PySide6.QtCore import QEvent, QRect, QSize, QThreadPool, Slot
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QMainWindow, QTabWidget, QVBoxLayout, QWidget

from app.core.settings import Settings, Theme
from app.core.takes import Take, TakeRequest
from app.core.voice_record import LibraryVoice
from app.studio.models import ModelState, ModelStatus
from app.studio.studio import TAB_FAMILIES, TABS, Studio
from app.ui.banner import Banner
from app.ui.clone_tab import NEW, SPEAK, CloneTab
from app.ui.design_tab import DesignTab
from app.ui.file_choosers import FileDialogs
from app.ui.live import LiveTimer
from app.ui.look_keys import LookKeys
from app.ui.metrics import GAP, TIGHT
from app.ui.notice_place import NoticePlace
from app.ui.settings_panel import SettingsPanel
from app.ui.speakers_tab import SpeakersTab
from app.ui.status_strip import StatusStrip
from app.ui.tab_page import TabPage
from app.ui.take_viewer import TakeViewer
from app.ui.takes_panel import TakesPanel, take_targets
from app.ui.theme import Appearance
from app.ui.transport_bar import TransportBar
from app.ui.voice_files import SystemVoicePlaces
from app.ui.voice_filter_memory import VoiceFilterMemory
from app.ui.voices_panel import VoicesPanel
from app.ui.window_actions import WindowActions
from app.ui.window_dialogs import WindowDialogs
from app.ui.window_drops import dropped
from app.ui.window_messages import Remedies, WindowMessages
from app.ui.window_panels import WindowPanels, decoded, encoded, shown_together
from engine.plain_text import one_line

TITLE: Final = "voice studio"
USUAL_SIZE: Final = QSize(1280, 820)
USUAL_FRAME: Final = QSize(8, 40)  # what the desktop puts around a window, until that is known

CLONE, SPEAKERS, DESIGN = range(len(TABS))

Tab: TypeAlias = CloneTab | SpeakersTab | DesignTab


class MainWindow(QMainWindow):
    """Everything that is seen of the studio."""

    def __init__(
        self,
        studio: Studio,
        appearance: Appearance,
        timer: LiveTimer,
        pool: QThreadPool,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._studio = studio
        self._appearance = appearance
        self._was_active = False
        self._may_change_tab = False  # by itself, until somebody does
        self.banner = Banner(self)
        self.keys = WindowActions(self)
        self.dialogs = WindowDialogs(studio, self)
        remedies = Remedies(self._on_models, self.dialogs.show_preferences)
        self.messages = WindowMessages(studio, self.banner, remedies, self)
        self.look = LookKeys(studio, appearance, self.messages.tell_note, self)
        self.clone = CloneTab(studio, timer, pool)
        self.speakers = SpeakersTab(studio)
        self.design = DesignTab(studio, timer, pool)
        files = FileDialogs(studio.preferences)
        places = SystemVoicePlaces(files)
        self.voices = VoicesPanel(studio.voices, studio.sound, studio.deleted, places)
        VoiceFilterMemory(self.voices.filters, studio.preferences)
        targets = take_targets(files)
        self.takes = TakesPanel(studio.session, studio.speech, studio.sound, timer, targets)
        self.settings = SettingsPanel(studio, TABS[0])
        self.viewer = TakeViewer(studio.session, studio.speech, studio.sound, timer, pool)
        self.transport = TransportBar(studio, self.viewer.chosen_part)
        self.status = StatusStrip(studio)
        self.tabs = QTabWidget()
        shown_takes = shown_together(self.viewer, self.takes)
        self.panels = WindowPanels(self.tabs, self.voices, self.settings, shown_takes)
        self._build()
        self._connect_keys()
        self._connect_parts()
        self._restore(studio.preferences.settings)
        self._show_session()
        self._on_settings(studio.preferences.settings)
        self.current_tab.focus_text()

    @property
    def current_tab(self) -> Tab:
        """The tab that is shown."""
        return (self.clone, self.speakers, self.design)[self.tabs.currentIndex()]

    def speak(self, takes: int) -> None:
        """Speak what the shown tab asks for, as its settings say."""
        tab = self.current_tab
        request = tab.request()
        if request is not None:
            seeds = self.settings.next_seeds(takes)
            self._studio.speech.speak(self._complete(request), seeds, tab.voice_label())

    @Slot()
    def speak_with_all(self) -> None:
        """Speak the line of the Speakers tab with every speaker, all with the same seed."""
        requests = self.speakers.requests_with_all()
        if requests:
            seeds = self.settings.next_seeds(1)
            for number, (request, label) in enumerate(requests):
                self._studio.speech.speak(self._complete(request), seeds, label, play=not number)

    @Slot()
    def stop(self) -> None:
        """What Esc does: stop the work, else close the message."""
        sound, cloning = self._studio.sound, self._studio.cloning
        if self.status.cancel():
            return
        if sound.counting:
            sound.stop_recording()
        elif cloning.state.busy:
            cloning.cancel_busy()
        else:
            self.banner.dismiss()

    # Building

    def _build(self) -> None:
        for tab in (self.clone, self.speakers, self.design):
            self.tabs.addTab(TabPage(tab), tab.title)
        self.tabs.setAccessibleName("What to do")
        content = QWidget(self)
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(TIGHT)
        column.addWidget(self.panels, 1)
        bar = QVBoxLayout()
        bar.setContentsMargins(GAP, 0, GAP, 0)
        bar.addWidget(self.transport)
        column.addLayout(bar)
        column.addWidget(self.status)
        self.setCentralWidget(content)
        NoticePlace(self.banner, content, self.panels.takes)
        self.setAcceptDrops(True)
        self.keys.fill_menu_bar(self.panels.toggles)
        self.keys.voice_menu.aboutToShow.connect(self._fill_voice_menu)

    def _connect_keys(self) -> None:
        dialogs, session = self.dialogs, self._studio.session
        self.keys.connect(
            play=self.transport.toggle,
            loop=self.transport.toggle_loop,
            speak=self._on_speak_key,
            takes=self._on_takes_key,
            cancel=self.stop,
            record=self._on_record,
            open=self._on_open,
            find=self._on_find,
            tab_1=lambda: self._show_tab(CLONE),
            tab_2=lambda: self._show_tab(SPEAKERS),
            tab_3=lambda: self._show_tab(DESIGN),
            new_session=dialogs.ask_for_session,
            open_session=dialogs.show_sessions,
            rename_session=dialogs.ask_to_rename,
            models=self._on_models,
            preferences=dialogs.show_preferences,
            help=dialogs.show_help,
            about=dialogs.show_about,
            log=lambda: self.messages.show_folder(self._studio.paths.log),
            take_save=self.takes.save_current,
            save_starred=self.takes.save_starred,
            trash=self.voices.actions_of_voices.show_trash,
            theme=self.look.change_theme,
            larger=self.look.larger,
            smaller=self.look.smaller,
            undo=session.undo,
            redo=session.redo,
            large_take=self.takes.view_current,
            new_panels=self.panels.arrange_anew,
            quit=self.close,
        )
        self.keys.themes.triggered.connect(self._on_theme)

    def _connect_parts(self) -> None:
        studio = self._studio
        self.clone.box.speak_requested.connect(self.speak)
        self.clone.test_requested.connect(self._on_test)
        self.speakers.speak_requested.connect(self.speak)
        self.speakers.all_requested.connect(self.speak_with_all)
        self.design.speak_requested.connect(self.speak)
        for tab in (self.clone, self.speakers, self.design):
            tab.models_requested.connect(self._on_models)
        self.design.lock_requested.connect(self._on_lock)
        self.takes.lock_requested.connect(self._on_lock)
        self.takes.text_requested.connect(self._on_text)
        self.takes.current_changed.connect(self._show_savable)
        self.takes.view_requested.connect(self.viewer.open_take)
        self.takes.current_changed.connect(self.viewer.follow)
        self.viewer.opened.connect(self.panels.make_room)
        self.viewer.closed.connect(self.panels.give_room_back)
        self.viewer.closed.connect(self.takes.focus_current)
        self.voices.new_voice_requested.connect(self._on_new_voice)
        self.voices.record_requested.connect(self._on_recorder)
        self.voices.open_requested.connect(self._on_open)
        self.voices.clone_requested.connect(self._on_clone)
        self.voices.design_requested.connect(self._on_design)
        self.voices.speak_requested.connect(self._on_speak_with)
        self.status.models_requested.connect(self._on_models)
        self.tabs.currentChanged.connect(self._on_tab)
        studio.session.changed.connect(self._show_session)
        studio.designing.speak_wished.connect(self._on_speak_with)
        studio.sessions.wanted.connect(self.close)
        studio.restart_wanted.connect(self.close)
        studio.preferences.changed.connect(self._on_settings)

    def _restore(self, settings: Settings) -> None:
        screen = QGuiApplication.primaryScreen()
        room = screen.availableSize() - USUAL_FRAME if screen is not None else USUAL_SIZE
        self.resize(USUAL_SIZE.boundedTo(room))
        if settings.window_geometry:
            self.restoreGeometry(decoded(settings.window_geometry))
        if settings.window_state:
            self.panels.restore(settings.window_state)
        if settings.tab in TABS:
            self.tabs.setCurrentIndex(TABS.index(settings.tab))
        else:  # the first start: show what the model that is found can do
            self._may_change_tab = True
            self._studio.models.changed.connect(self._show_tab_of_model)

    # What is shown

    @Slot()
    def _show_session(self) -> None:
        session = self._studio.session
        self.setWindowTitle(f"{one_line(session.session.name)} \N{EN DASH} {TITLE}")
        self.keys.show_history(session.undo_label, session.redo_label)
        self._show_savable()

    @Slot()
    def _show_savable(self) -> None:
        starred = any(take.star for take in self._studio.session.takes)
        self.keys.show_savable(current=self.takes.current is not None, starred=starred)

    @Slot(object)
    def _on_settings(self, settings: Settings) -> None:
        if settings.theme != self._appearance.choice:
            self._appearance.choose(settings.theme)
        self.keys.show_theme(settings.theme)

    @Slot(int)
    def _on_tab(self, _index: int) -> None:
        self._may_change_tab = False
        self.settings.show_tab(self.current_tab.tab)

    @Slot(object)
    def _show_tab_of_model(self, state: ModelState) -> None:
        if state.status is not ModelStatus.LOADED or state.description is None:
            return
        self._studio.models.changed.disconnect(self._show_tab_of_model)
        if self._may_change_tab and self.clone.face == SPEAK and not self.clone.box.text:
            families = [TAB_FAMILIES[tab] for tab in TABS]
            self._show_tab(families.index(state.description.family))

    def _show_tab(self, index: int) -> None:
        self.tabs.setCurrentIndex(index)
        self.current_tab.focus_text()

    # What is wanted

    def _complete(self, request: TakeRequest) -> TakeRequest:
        return replace(request, sampling=self.settings.sampling, layout=self.settings.layout_choice)

    @Slot()
    def _on_models(self) -> None:
        self.dialogs.show_models(TAB_FAMILIES[self.current_tab.tab])

    @Slot()
    def _on_speak_key(self) -> None:
        self.current_tab.box.press_speak()

    @Slot()
    def _on_takes_key(self) -> None:
        self.current_tab.box.press_several()

    @Slot()
    def _on_test(self) -> None:
        self.tabs.setCurrentIndex(CLONE)
        self.speak(1)

    @Slot()
    def _on_record(self) -> None:
        self.tabs.setCurrentIndex(CLONE)
        self.clone.toggle_recording()

    @Slot()
    def _on_recorder(self) -> None:
        self.tabs.setCurrentIndex(CLONE)
        self.clone.show_recorder()

    @Slot()
    def _on_new_voice(self) -> None:
        self.tabs.setCurrentIndex(CLONE)
        self.clone.show_face(NEW)

    @Slot()
    def _on_open(self) -> None:
        self.tabs.setCurrentIndex(CLONE)
        self.clone.choose_recording()

    @Slot(Path)
    def _on_clone(self, recording: Path) -> None:
        self.tabs.setCurrentIndex(CLONE)
        self.clone.open_recording(recording)

    @Slot()
    def _on_design(self) -> None:
        self._show_tab(DESIGN)

    @Slot(object)
    def _on_speak_with(self, _: LibraryVoice) -> None:
        self.clone.show_face(SPEAK)
        self._show_tab(CLONE)

    @Slot(object)
    def _on_text(self, take: Take) -> None:
        """Put the words of a take into the tab that is shown."""
        tab, session = self.current_tab, self._studio.session
        if tab is self.clone:
            self.clone.show_face(SPEAK)
        tab.box.store()  # what was typed a moment ago would else come back
        session.set_draft(tab.tab, replace(session.draft(tab.tab), text=take.text))
        tab.box.focus_text()

    @Slot()
    def _fill_voice_menu(self) -> None:
        self.keys.voice_menu.clear()
        self.voices.fill_menu(self.keys.voice_menu)

    @Slot()
    def _on_find(self) -> None:
        self.panels.show_voices()
        self.voices.focus_search()

    @Slot(object)
    def _on_lock(self, take: Take) -> None:
        self.dialogs.ask_to_lock(take)

    @Slot(object)
    def _on_theme(self, choice: QAction) -> None:
        self._studio.preferences.update(theme=Theme(choice.data()))

    def _keep_on_screen(self) -> None:
        """Let no edge lie beyond the screen, the frame of the desktop included."""
        if self.isMaximized() or self.isFullScreen():
            return
        room, frame = self.screen().availableGeometry(), self.frameGeometry()
        fitting = QRect(frame.topLeft(), frame.size().boundedTo(room.size()))
        fitting.moveTo(
            min(max(fitting.x(), room.x()), room.right() + 1 - fitting.width()),
            min(max(fitting.y(), room.y()), room.bottom() + 1 - fitting.height()),
        )
        if fitting != frame:
            self.resize(fitting.size() - (frame.size() - self.size()))
            self.move(fitting.topLeft())

    # Events

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and not self._was_active:
            # The frame is known only by now.
            self._was_active = True
            self._keep_on_screen()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        drop = dropped(event.mimeData())
        event.acceptProposedAction()
        for path in drop.models:
            self._studio.models.open_file(path)
        if drop.voices:
            self._studio.voices.import_paths(drop.voices)
        if drop.recordings:
            self._on_clone(drop.recordings[0])

    def closeEvent(self, event: QCloseEvent) -> None:
        for tab in (self.clone, self.speakers, self.design):
            tab.box.store()
        self._studio.preferences.update(
            window_geometry=encoded(self.saveGeometry()),
            window_state=self.panels.state,
            tab=self.current_tab.tab,
        )
        super().closeEvent(event)
