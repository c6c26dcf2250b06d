"""All keys of the studio in one table: actions are made from it, and F1 shows it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QWidget,
)


class Context(StrEnum):
    """Where a key works."""

    EVERYWHERE = "Everywhere"
    TEXT = "In the text"
    WAVEFORM = "In a waveform"
    TAKES = "On a take"
    VOICES = "On a voice"


@dataclass(frozen=True)
class Shortcut:
    """Keys, and what they do. A widget that has keys of its own handles them itself."""

    name: str
    keys: tuple[str, ...]  # as QKeySequence reads them
    what: str
    context: Context = Context.EVERYWHERE
    is_action: bool = True


SHORTCUTS = (
    Shortcut("play", ("Space",), "Play or pause"),
    Shortcut("speak", ("Ctrl+Return", "Ctrl+Enter"), "Speak the text"),
    Shortcut("takes", ("Ctrl+Shift+Return", "Ctrl+Shift+Enter"), "Speak several takes"),
    Shortcut("cancel", ("Esc",), "Stop, or close a message"),
    Shortcut("record", ("R",), "Start or end a recording"),
    Shortcut("loop", ("L",), "Repeat the chosen range, or all of it"),
    Shortcut("tab-1", ("Ctrl+1",), "Clone a voice"),
    Shortcut("tab-2", ("Ctrl+2",), "Speakers of the model"),
    Shortcut("tab-3", ("Ctrl+3",), "Design a voice"),
    Shortcut("find", ("Ctrl+F",), "Find a voice"),
    Shortcut("open", ("Ctrl+O",), "Open a recording"),
    Shortcut("take-save", ("Ctrl+S",), "Save the take as WAV"),
    Shortcut("models", ("Ctrl+M",), "Choose a model"),
    Shortcut("undo", ("Ctrl+Z",), "Undo"),
    Shortcut("redo", ("Ctrl+Y", "Ctrl+Shift+Z"), "Redo"),
    # Not Ctrl+Alt: with the arrows it changes the workspace on many desktops.
    Shortcut(
        "panel-edge",
        ("Alt+Shift+Left", "Alt+Shift+Right", "Alt+Shift+Up", "Alt+Shift+Down"),
        "Move the edge of the panel that has the focus",
        is_action=False,
    ),
    Shortcut("theme", ("Ctrl+Shift+L",), "Dark or light colours"),
    Shortcut("larger", ("Ctrl++", "Ctrl+="), "Everything larger"),
    Shortcut("smaller", ("Ctrl+-",), "Everything smaller"),
    Shortcut("preferences", ("Ctrl+,",), "Preferences"),
    Shortcut("help", ("F1",), "Show the keys"),
    Shortcut("quit", ("Ctrl+Q",), "Quit"),
    Shortcut("text-speak", ("Ctrl+Return",), "Speak the text", Context.TEXT, is_action=False),
    Shortcut("text-leave", ("Tab",), "Go on to the next control", Context.TEXT, is_action=False),
    Shortcut("wave-step", ("Left", "Right"), "Move the playhead", Context.WAVEFORM, False),
    Shortcut(
        "wave-fine",
        ("Ctrl+Left", "Ctrl+Right"),
        "Move the playhead a little",
        Context.WAVEFORM,
        False,
    ),
    Shortcut(
        "wave-extend",
        ("Shift+Left", "Shift+Right"),
        "Grow or shrink the range",
        Context.WAVEFORM,
        False,
    ),
    Shortcut(
        "wave-ends", ("Home", "End"), "Go to the beginning or the end", Context.WAVEFORM, False
    ),
    Shortcut("wave-edges", ("[", "]"), "Begin or end the range here", Context.WAVEFORM, False),
    Shortcut("wave-clear", ("\\",), "Clear the range", Context.WAVEFORM, False),
    Shortcut("wave-zoom", ("+", "-"), "Zoom in or out", Context.WAVEFORM, False),
    Shortcut("wave-fit", ("0",), "Show all of it", Context.WAVEFORM, False),
    Shortcut("wave-page", ("PgUp", "PgDown"), "Scroll by a screen", Context.WAVEFORM, False),
    Shortcut("take-move", ("Up", "Down"), "Go to another take", Context.TAKES, False),
    Shortcut("take-view", ("Return",), "Show it large, or small again", Context.TAKES, False),
    Shortcut("take-star", ("S",), "Star or unstar", Context.TAKES),
    Shortcut("take-trash", ("Del",), "Move to the trash", Context.TAKES),
    Shortcut("voice-speak", ("Return",), "Speak with it", Context.VOICES, False),
    Shortcut("voice-listen", ("Space",), "Listen to its sample", Context.VOICES, False),
    Shortcut("voice-rename", ("F2",), "Rename", Context.VOICES),
    Shortcut("voice-trash", ("Del",), "Move to the trash", Context.VOICES),
)
REPEATED = ("undo", "redo")
"""What is done again and again while its key is held down."""


def shortcut(name: str) -> Shortcut:
    """The row of a name."""
    return next(row for row in SHORTCUTS if row.name == name)


def make_action(name: str, owner: QWidget) -> QAction:
    """The action of a row, added to the widget where its keys work: a window, or a panel."""
    row = shortcut(name)
    assert row.is_action, f"{name} is handled by its widget"
    action = QAction(row.what, owner)
    action.setObjectName(name)
    action.setShortcuts([QKeySequence(key) for key in row.keys])
    action.setAutoRepeat(name in REPEATED)  # a key held down queues one job, deletes one voice
    everywhere = row.context is Context.EVERYWHERE
    action.setShortcutContext(
        Qt.ShortcutContext.WindowShortcut
        if everywhere
        else Qt.ShortcutContext.WidgetWithChildrenShortcut
    )
    owner.addAction(action)
    return action


def key_text(key: str) -> str:
    """A key as this system writes it."""
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)


def with_key(text: str, name: str) -> str:
    """A tooltip that ends with the key: "Play or pause (Space)"."""
    return f"{text} ({key_text(shortcut(name).keys[0])})"


class PlainKeyGuard(QObject):
    """Lets Space press the button that has the focus, and letters find entries in lists.

    Shortcuts come first in Qt, so that a window where Space plays could press no button by
    keyboard. Text fields need no help: they claim their letters themselves.
    """

    def __init__(self, application: QApplication, parent: QObject | None = None) -> None:
        super().__init__(parent)
        application.focusChanged.connect(self._on_focus)

    @Slot(QWidget, QWidget)
    def _on_focus(self, old: QWidget | None, new: QWidget | None) -> None:
        # Only the widget with the focus is watched: a filter on everything would cost time.
        if old is not None:
            old.removeEventFilter(self)
        if new is not None:
            new.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            plain = not event.modifiers() & ~Qt.KeyboardModifier.ShiftModifier
            if plain and _claims(watched, event):
                event.accept()
        return False


def _claims(widget: QObject, event: QKeyEvent) -> bool:
    is_space = event.key() == Qt.Key.Key_Space
    if isinstance(widget, QAbstractButton):
        return is_space
    if isinstance(widget, QComboBox | QAbstractItemView):
        return is_space or event.text().isalnum()
    return False
