"""The menu of what can be done with the selected voices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from app.core.voice_listing import DamagedVoice
from app.core.voice_record import LibraryVoice
from app.ui.icons import icon
from app.ui.shortcuts import key_text, shortcut
from app.ui.voice_actions import VoiceActions
from app.ui.voice_files import ExportKind
from app.ui.voice_look import VoiceRow

NEWER = "Written by a newer version of the studio: not changed."


@dataclass(frozen=True)
class RowWishes:
    """What only the list itself can do with its current row."""

    speak: Callable[[], None]
    rename: Callable[[], None]


def fill_menu(
    menu: QMenu, rows: Sequence[VoiceRow], actions: VoiceActions, wishes: RowWishes
) -> None:
    """Put what these rows offer into a menu; one sentence if they are none."""
    menu.clear()
    menu.setToolTipsVisible(True)
    voices = tuple(row for row in rows if isinstance(row, LibraryVoice))
    damaged = tuple(row for row in rows if isinstance(row, DamagedVoice))
    if not rows:
        menu.addAction("Choose a voice first").setEnabled(False)
        return
    if len(rows) == 1 and voices:
        _fill_one(menu, voices[0], actions, wishes)
    elif voices:
        _fill_several(menu, voices, actions)
    elif len(damaged) == 1:
        _fill_damaged(menu, damaged[0], actions)
    menu.addSeparator()
    text = "Move to the trash" if len(rows) == 1 else f"Move {len(rows)} to the trash"
    trash = _add(menu, "trash", text, lambda: actions.delete(rows), "voice-trash")
    trash.setEnabled(any(actions.can_delete(row) for row in rows))


def _fill_one(menu: QMenu, voice: LibraryVoice, actions: VoiceActions, wishes: RowWishes) -> None:
    one = (voice,)
    speak = _add(menu, "speak", "Speak with it", wishes.speak, "voice-speak")
    listen = _add(menu, "play", "Listen", lambda: actions.listen(voice), "voice-listen")
    if voice.recording is None:
        listen.setEnabled(False)
        listen.setToolTip("It has no recording.")
    menu.setDefaultAction(speak)
    menu.addSeparator()
    rename = _add(menu, "edit", "Rename", wishes.rename, "voice-rename")
    starred = voice.details.favourite
    star = _add(
        menu,
        "star-filled" if starred else "star",
        "No longer a favourite" if starred else "Make it a favourite",
        lambda: actions.toggle_favourite(one),
    )
    for action in (rename, star):
        if voice.read_only:
            action.setEnabled(False)
            action.setToolTip(NEWER)
    _add(menu, "tag", "Tags and note…", lambda: actions.edit(one))
    menu.addSeparator()
    _add(menu, "copy", "Duplicate", lambda: actions.duplicate(voice))
    blend = _add(menu, "blend", "Blend with…", lambda: actions.blend(voice))
    if not voice.files.widths:
        blend.setEnabled(False)
        blend.setToolTip("It has no voice data yet.")
    _add_exports(menu, one, actions)


def _fill_several(menu: QMenu, voices: tuple[LibraryVoice, ...], actions: VoiceActions) -> None:
    all_starred = all(voice.details.favourite for voice in voices)
    _add(
        menu,
        "star-filled" if all_starred else "star",
        "No longer favourites" if all_starred else "Make them favourites",
        lambda: actions.toggle_favourite(voices),
    )
    _add(menu, "tag", "Tags…", lambda: actions.edit(voices))
    if len(voices) == 2:
        _add(menu, "blend", "Blend the two…", lambda: actions.blend(*voices))
    _add_exports(menu, voices, actions)


def _fill_damaged(menu: QMenu, damaged: DamagedVoice, actions: VoiceActions) -> None:
    _add(menu, "info", "Show the reason…", lambda: actions.show_reason(damaged))
    if actions.can_delete(damaged):
        _add(menu, "check", "Repair…", lambda: actions.show_reason(damaged))


def _add_exports(menu: QMenu, voices: Sequence[LibraryVoice], actions: VoiceActions) -> None:
    exports = menu.addMenu(icon("save"), "Export")
    exports.setToolTipsVisible(True)
    for kind in ExportKind:
        action = exports.addAction(kind.label, partial(actions.export, voices, kind))
        action.setToolTip(kind.tip)
        if kind is ExportKind.BARE and not any(voice.files.widths for voice in voices):
            action.setEnabled(False)
            action.setToolTip("It has no voice data yet.")


def _add(menu: QMenu, picture: str, text: str, act: Callable[[], None], key: str = "") -> QAction:
    """The key is only shown: it belongs to the list, where it works."""
    shown = f"{text}\t{key_text(shortcut(key).keys[0])}" if key else text
    return menu.addAction(icon(picture), shown, act)
