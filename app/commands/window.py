"""The command without a word: opens the window, or says in a sentence why none can open here."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from engine.cli.parser import as_typed
from engine.errors import ExplainedError

DRAWING: Final = ("PySide6.QtGui", "PySide6.QtWidgets", "PySide6.QtSvg")
QT_LIBRARIES: Final = (
    "lib/libQt6DBus.so.6",
    "lib/libQt6Gui.so.6",
    "lib/libQt6XcbQpa.so.6",
    "plugins/platforms/libqxcb.so",
)
"""What Qt draws with on X11; it ends the process when one of these cannot be loaded."""


def instead() -> str:
    """What does the same job without a window."""
    return as_typed('Without a window: voice-studio say "Hello" -o hello.wav')


class NoWindowError(ExplainedError):
    """No window can be opened here."""


def open_window(home: Path | None, models: tuple[Path, ...], *, null_audio: bool) -> int:
    """Run the studio in its window and return its exit code; raises NoWindowError."""
    check_display(os.environ, sys.platform)
    for module in DRAWING:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise _unusable_qt(error) from error
    if sys.platform == "linux" and _draws_on_x11(os.environ):
        check_x11(_qt_folder())
    from app.main import run_studio

    return run_studio(home, models=models, null_audio=null_audio)


def check_display(environment: Mapping[str, str], platform: str) -> None:
    """Raise NoWindowError on a system of which Qt would need a display that is not there."""
    named = ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    if platform == "linux" and not any(environment.get(name) for name in named):
        raise NoWindowError(
            "There is no display here: neither DISPLAY nor WAYLAND_DISPLAY is set.",
            f"Start the studio on a desktop, or with ssh -X. {instead()}",
        )


def check_x11(qt: Path) -> None:
    """Raise NoWindowError where Qt, installed in folder `qt`, cannot draw on X11.

    Qt itself would abort the process.
    """
    missing = missing_libraries(qt / name for name in QT_LIBRARIES)
    if missing:
        raise _missing(missing)
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    refused = xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    if refused:
        raise NoWindowError(
            f"The display {os.environ.get('DISPLAY', '')} cannot be opened.",
            f"Check DISPLAY, and that you may use that screen. {instead()}",
        )


def missing_libraries(files: Iterable[Path]) -> tuple[str, ...]:
    """The libraries by soname that these need and the loader does not find, sorted."""
    sonames = {
        name.decode()
        for file in files
        if file.is_file()
        for name in re.findall(rb"\0(lib[\w+-]+(?:\.\d+)*\.so\.\d+)(?=\0)", file.read_bytes())
    }
    others = (name for name in sonames if not name.startswith("libQt6"))  # Qt finds its own
    return tuple(sorted(name for name in others if not _is_found(name)))


def debian_package(soname: str) -> str:
    """The package of a shared library, as section 8.1 of Debian's policy names it."""
    name, _, version = soname.partition(".so.")
    if name == "libglib-2.0":  # older than the rule
        return "libglib2.0-0"
    joint = "-" if name[-1:].isdigit() else ""
    return f"{name}{joint}{version}".lower()


def _is_found(soname: str) -> bool:
    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True


def _draws_on_x11(environment: Mapping[str, str]) -> bool:
    chosen = environment.get("QT_QPA_PLATFORM", "")
    return chosen == "xcb" or not (chosen or environment.get("WAYLAND_DISPLAY"))


def _qt_folder() -> Path:
    found = importlib.util.find_spec("PySide6")
    return Path((found and found.origin) or "").parent / "Qt"


def _unusable_qt(error: ImportError) -> NoWindowError:
    named = re.match(r"(lib[\w+.-]+\.so\.\d+):", str(error))
    if named is None:
        return NoWindowError(
            f"The window's toolkit cannot be used: {error}.",
            f'Install it again with: pip install "PySide6-Essentials<6.12". {instead()}',
        )
    others = missing_libraries(_qt_folder() / name for name in QT_LIBRARIES)
    return _missing(tuple(sorted({named.group(1), *others})))


def _missing(sonames: tuple[str, ...]) -> NoWindowError:
    sentence = f"The window needs libraries that are missing here: {', '.join(sonames)}."
    if not shutil.which("apt-get"):
        return NoWindowError(sentence, f"Install them with your system's packages. {instead()}")
    packages = " ".join(debian_package(name) for name in sonames)
    return NoWindowError(sentence, f"{instead()}. To install them: sudo apt-get install {packages}")
