"""The composition root of the window: the only place where its parts are made and meet."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, QThreadPool, QTimer, Slot
from PySide6.QtWidgets import QApplication, QMessageBox

from app.audio.backend import AudioBackend
from app.audio.null import NullBackend
from app.audio.portaudio import PortAudioBackend
from app.core.paths import APPLICATION, StudioPaths, studio_paths
from app.core.settings import FILE_NAME, read_scale
from app.interruptions import Interruptions
from app.jobs.work import Openers
from app.log import end_log, start_log
from app.studio.studio import Studio
from app.ui.icons import application_icon
from app.ui.live import LiveTimer
from app.ui.main_window import MainWindow
from app.ui.shortcuts import PlainKeyGuard
from app.ui.theme import Appearance
from app.unexpected import UnexpectedErrors
from engine import ExplainedError
from engine.plain_text import one_line

RESTART: Final = 256
"""No exit code, which end at 255: the studio is to start again."""
BEGIN_AT_THE_LATEST: Final = 1000  # milliseconds after the window was shown
PICTURES_MILLISECONDS: Final = 5000

log = logging.getLogger(__name__)


def run_studio(
    home: Path | None, *, models: tuple[Path, ...] = (), null_audio: bool = False
) -> int:
    """Show the window until it is closed, and save everything; returns the exit code.

    `models` are folders to look into from now on, besides those of the settings.
    """
    paths = studio_paths(home)
    environment = dict(os.environ)  # without the size of now
    handler = start_log(paths.log)
    try:
        status = _run(paths, models, NullBackend() if null_audio else PortAudioBackend())
    finally:
        end_log(handler)
    return start_again(environment) if status == RESTART else status


def start_again(environment: Mapping[str, str]) -> int:
    """Become the same command once more, as it was called; returns its exit code at the most."""
    command = [sys.executable, *sys.orig_argv[1:]]
    if sys.platform != "win32":  # where exec would give the prompt back at once
        os.execve(sys.executable, command, environment)
    return subprocess.run(command, env=environment, check=False).returncode


def _run(paths: StudioPaths, models: tuple[Path, ...], backend: AudioBackend) -> int:
    application = make_application(read_scale(paths.config / FILE_NAME))
    guard = PlainKeyGuard(application)
    unexpected = UnexpectedErrors()
    unexpected.watch()
    try:
        status: int | None = None
        while status is None:
            status = _show_session(application, paths, models, backend, unexpected)
        return status
    finally:
        unexpected.rest()
        del guard


def _show_session(
    application: QApplication,
    paths: StudioPaths,
    models: tuple[Path, ...],
    backend: AudioBackend,
    unexpected: UnexpectedErrors,
) -> int | None:
    """Show one session until its window is closed; None if that made room for another one.

    RESTART if the studio is to start again.
    """
    try:
        studio = Studio(paths, backend, Openers())
    except ExplainedError as error:
        log.error("The studio cannot start: %s", error)
        tell_no_start(error)
        return 1
    pool = QThreadPool()
    pool.setMaxThreadCount(1)
    if models:
        known = studio.preferences.settings.model_folders
        wanted = (folder.absolute() for folder in models)
        studio.preferences.update(model_folders=tuple(dict.fromkeys((*known, *wanted))))
    appearance = Appearance(application, studio.preferences.settings.theme)
    timer = LiveTimer()
    window = MainWindow(studio, appearance, timer, pool)
    unexpected.problem.connect(window.messages.tell_problem)
    interruptions = Interruptions(window.close)
    first = FirstPaint(window, studio.begin)
    window.show()
    application.exec()
    interruptions.end()
    window.hide()
    closed = studio.close()
    pool.waitForDone(PICTURES_MILLISECONDS)
    del first
    if not closed:
        # A thread that hangs in a driver would keep the process, or bring it down while it is
        # taken apart. Everything that can be saved is saved.
        log.error("Something did not end in time; the studio ends without it")
        logging.shutdown()
        os._exit(1)
    another = studio.sessions.is_another_wanted
    status = RESTART if studio.is_restart_wanted else 0
    # All of it while the application is still there, which the interpreter may not know.
    for part in (window, timer, appearance, interruptions, studio):
        part.deleteLater()
        application.sendPostedEvents(part, QEvent.Type.DeferredDelete.value)
    return None if another else status


def tell_no_start(error: ExplainedError) -> None:
    """Say why the studio cannot start, until that is read or the program is interrupted."""
    icon, ok = QMessageBox.Icon.Critical, QMessageBox.StandardButton.Ok
    box = QMessageBox(icon, "voice studio", one_line(str(error)), ok)
    box.setTextFormat(Qt.TextFormat.PlainText)
    interruptions = Interruptions(box.reject)
    box.exec()
    interruptions.end()


def make_application(scale: float) -> QApplication:
    """The application, with everything in it `scale` times as large."""
    if scale != 1.0:
        os.environ["QT_SCALE_FACTOR"] = f"{scale:g}"
    application = QApplication(sys.argv[:1])
    application.setApplicationName(APPLICATION)
    application.setDesktopFileName(APPLICATION)
    application.setWindowIcon(application_icon())
    return application


class FirstPaint(QObject):
    """Calls once the window has been painted, so that it is seen before any work begins."""

    def __init__(self, window: MainWindow, call: Callable[[], None]) -> None:
        super().__init__(window)
        self._call: Callable[[], None] | None = call
        self._window = window
        window.installEventFilter(self)
        QTimer.singleShot(BEGIN_AT_THE_LATEST, self, self._go)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self._window.removeEventFilter(self)
            QTimer.singleShot(0, self, self._go)
        return False

    @Slot()
    def _go(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()
