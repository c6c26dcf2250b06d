"""Opens the dialogs of the window, each one once at a time."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QDialog, QWidget

from app.core.settings import Settings
from app.core.storage import timestamp
from app.core.takes import Take
from app.studio.studio import Studio
from app.ui.about_dialog import AboutDialog, find_parts, find_version
from app.ui.dialogs import open_dialog
from app.ui.file_choosers import FileDialogs, model_folder_chooser
from app.ui.help_dialog import HelpDialog
from app.ui.lock_dialog import LockDialog
from app.ui.model_dialog import ModelDialog
from app.ui.preferences_dialog import Choices, Preferences, PreferencesDialog
from app.ui.session_dialogs import NameDialog, SessionsDialog
from engine import Family

DEVICES: Final = (
    ("auto", "Automatic"),
    ("cpu", "Processor (CPU)"),
    ("cuda", "NVIDIA or AMD graphics card (CUDA, ROCm)"),
    ("mps", "Apple graphics (Metal)"),
)
PRECISIONS: Final = (
    ("auto", "Automatic"),
    ("f32", "32 bit (exact)"),
    ("bf16", "16 bit (faster on graphics cards)"),
    ("int8", "8 bit (fastest on processors)"),
)


class WindowDialogs(QObject):
    """Most stand beside the window, which goes on; a second wish brings one to the front."""

    def __init__(self, studio: Studio, window: QWidget) -> None:
        super().__init__(window)
        self._studio = studio
        self._window = window
        self._open: dict[type[QDialog], QDialog] = {}
        studio.sound.devices_changed.connect(self._on_devices)
        studio.preferences.changed.connect(self._on_settings)

    def show_models(self, family: Family) -> None:
        """Let a model be chosen; `family` is what the shown tab speaks with."""
        if self._raise(ModelDialog):
            dialog = self._open[ModelDialog]
            assert isinstance(dialog, ModelDialog), "it is kept under its kind"
            dialog.prefer(family)
        else:
            studio = self._studio
            self._show(ModelDialog(studio.models, studio.preferences, family, parent=self._window))

    @Slot()
    def show_help(self) -> None:
        if not self._raise(HelpDialog):
            self._show(HelpDialog(self._window))

    @Slot()
    def show_about(self) -> None:
        if not self._raise(AboutDialog):
            self._show(AboutDialog(find_version(), find_parts(), self._window))

    @Slot()
    def show_preferences(self) -> None:
        if self._raise(PreferencesDialog):
            return
        studio, sound = self._studio, self._studio.sound
        dialog = PreferencesDialog(
            Preferences.of(studio.preferences.settings),
            Choices(sound.outputs, sound.inputs, DEVICES, PRECISIONS, studio.paths.models),
            model_folder_chooser(FileDialogs(studio.preferences, studio.paths.models)),
            self._window,
        )
        dialog.restart_requested.connect(studio.restart)
        dialog.changed.connect(self._on_preferences)
        dialog.refresh_requested.connect(sound.look_for_devices)
        self._show(dialog)

    @Slot()
    def show_sessions(self) -> None:
        if not self._raise(SessionsDialog):
            dialog = SessionsDialog(self._studio.sessions, self._window)
            dialog.chosen.connect(self._studio.sessions.open)
            self._show(dialog)

    @Slot()
    def ask_for_session(self) -> None:
        """Ask for the name of a new session, and go on in it."""
        name = f"Session {timestamp()[:10]}"
        dialog = NameDialog("New session", name, "Begin", self._window)
        dialog.accepted.connect(lambda: self._studio.sessions.create(dialog.name))
        open_dialog(dialog)

    @Slot()
    def ask_to_rename(self) -> None:
        """Ask for another name of the open session."""
        session = self._studio.session
        dialog = NameDialog("Rename the session", session.session.name, "Rename", self._window)
        dialog.accepted.connect(lambda: session.rename(dialog.name))
        open_dialog(dialog)

    def ask_to_lock(self, take: Take) -> None:
        """Ask for a name and make the voice of a designed take one of the library."""
        dialog = LockDialog(
            take, has_base_model=bool(self._studio.models.base_talkers), parent=self._window
        )

        def lock() -> None:
            self._studio.designing.lock(take, dialog.name, with_words=dialog.with_words)

        dialog.accepted.connect(lock)
        open_dialog(dialog)

    @Slot(object)
    def _on_preferences(self, preferences: Preferences) -> None:
        keeper, sound = self._studio.preferences, self._studio.sound
        before = keeper.settings
        wanted = preferences.within(before)
        if wanted.output_device != before.output_device:
            sound.set_output(preferences.output)
        if wanted.input_device != before.input_device:
            sound.set_input(preferences.microphone)
        keeper.update(
            theme=wanted.theme,
            scale=wanted.scale,
            model_folders=wanted.model_folders,
            device=wanted.device,
            precision=wanted.precision,
        )

    @Slot(object)
    def _on_settings(self, settings: Settings) -> None:
        """What is changed elsewhere meanwhile must not be changed back by the next choice."""
        dialog = self._open.get(PreferencesDialog)
        if isinstance(dialog, PreferencesDialog):
            dialog.follow(Preferences.of(settings))

    @Slot()
    def _on_devices(self) -> None:
        dialog, sound = self._open.get(PreferencesDialog), self._studio.sound
        if isinstance(dialog, PreferencesDialog):
            dialog.set_devices(sound.outputs, sound.inputs)

    def _raise(self, kind: type[QDialog]) -> bool:
        """Bring an open dialog to the front; False if there is none."""
        dialog = self._open.get(kind)
        if dialog is None:
            return False
        dialog.raise_()
        dialog.activateWindow()
        return True

    def _show(self, dialog: QDialog) -> None:
        kind = type(dialog)
        self._open[kind] = dialog
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.finished.connect(lambda _: self._open.pop(kind, None))
        dialog.show()
