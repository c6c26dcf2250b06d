"""The rows of the voice list as Qt's views want them: an adapter over plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

from app.core.voice_listing import DamagedVoice
from app.core.voice_record import LibraryVoice
from app.ui.voice_look import VoiceRow, row_key, shown_name, spoken_description, tooltip

ROW_ROLE: Final = Qt.ItemDataRole.UserRole
PLAYING_ROLE: Final = Qt.ItemDataRole.UserRole + 1

Index = QModelIndex | QPersistentModelIndex
_TOP: Final = QModelIndex()


class VoiceListModel(QAbstractListModel):
    """Voices and damaged folders. Renaming is a wish: the row changes when the library has."""

    rename_requested = Signal(object, str)  # LibraryVoice, its new name

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[VoiceRow, ...] = ()
        self._keys: list[str] = []
        self._playing = ""

    @property
    def rows(self) -> tuple[VoiceRow, ...]:
        return self._rows

    def row_of(self, key: str) -> int:
        """Where a voice is, by its id; -1 if it is not shown."""
        return self._keys.index(key) if key in self._keys else -1

    def set_rows(self, rows: Sequence[VoiceRow]) -> None:
        """Show these; rows that stay keep their selection unless they have moved."""
        keys = [row_key(row) for row in rows]
        start = _common(self._keys, keys)
        end = _common(self._keys[start:][::-1], keys[start:][::-1])
        removed, added = len(self._keys) - end, len(keys) - end
        if removed > start:
            self.beginRemoveRows(_TOP, start, removed - 1)
            self._rows = self._rows[:start] + self._rows[removed:]
            del self._keys[start:removed]
            self.endRemoveRows()
        if added > start:
            self.beginInsertRows(_TOP, start, added - 1)
            self._rows = self._rows[:start] + tuple(rows[start:added]) + self._rows[start:]
            self._keys[start:start] = keys[start:added]
            self.endInsertRows()
        before, self._rows = self._rows, tuple(rows)
        for at, (old, new) in enumerate(zip(before, self._rows, strict=True)):
            if old is not new:
                self.dataChanged.emit(self.index(at), self.index(at))

    def set_playing(self, key: str) -> None:
        """Say which voice is heard, "" for none."""
        if key == self._playing:
            return
        before, self._playing = self._playing, key
        for changed in (before, key):
            if (at := self.row_of(changed)) >= 0:
                self.dataChanged.emit(self.index(at), self.index(at))

    def rowCount(self, parent: Index = _TOP) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        is_playing = self._keys[index.row()] == self._playing
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return shown_name(row)
            case Qt.ItemDataRole.EditRole:
                return row.name
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(row)
            case Qt.ItemDataRole.AccessibleTextRole:
                return spoken_description(row, is_playing=is_playing)
            case Qt.ItemDataRole.AccessibleDescriptionRole:
                return row.error.hint if isinstance(row, DamagedVoice) else row.details.note
        if role == ROW_ROLE:
            return row
        return is_playing if role == PLAYING_ROLE else None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        row = self._rows[index.row()] if index.isValid() else None
        name = " ".join(str(value).split())
        if role != Qt.ItemDataRole.EditRole or not isinstance(row, LibraryVoice) or not name:
            return False
        if name != row.name:
            self.rename_requested.emit(row, name)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        if index.isValid():
            flags |= Qt.ItemFlag.ItemNeverHasChildren
            row = self._rows[index.row()]
            if isinstance(row, LibraryVoice) and not row.read_only:
                flags |= Qt.ItemFlag.ItemIsEditable
        return flags


def voice_row(index: Index) -> VoiceRow | None:
    """What a row of this model shows."""
    row = index.data(ROW_ROLE)
    return row if isinstance(row, LibraryVoice | DamagedVoice) else None


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """How many entries two lists have in common from their beginning."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count
