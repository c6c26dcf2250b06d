"""The list of voices: its keys, and what is pressed within its rows."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QItemSelectionModel, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from app.core.voice_record import LibraryVoice
from app.ui.voice_delegate import VoiceDelegate, Zone
from app.ui.voice_list import Index, VoiceListModel, voice_row
from app.ui.voice_look import VoiceRow


class VoiceListView(QListView):
    """Shows the rows of a `VoiceListModel`. What is wished for is a signal."""

    current_changed = Signal(object)  # VoiceRow | None
    selection_changed = Signal()
    listen_requested = Signal(object)  # VoiceRow
    speak_requested = Signal(object)
    favourite_requested = Signal(object)  # LibraryVoice
    menu_requested = Signal(QPoint)  # global

    def __init__(self, model: VoiceListModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._delegate = VoiceDelegate(self)
        self._model = model
        self.setModel(model)
        self.setItemDelegate(self._delegate)
        self.setAccessibleName("Voices")
        self.setUniformItemSizes(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)  # F2 is an action
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setMouseTracking(True)

    @property
    def model_rows(self) -> tuple[VoiceRow, ...]:
        """All rows from top to bottom."""
        return self._model.rows

    @property
    def current_row(self) -> VoiceRow | None:
        """The row that the keys work on."""
        return voice_row(self.currentIndex())

    @property
    def chosen_rows(self) -> tuple[VoiceRow, ...]:
        """All selected rows from top to bottom, else the current one."""
        indexes = sorted(self.selectedIndexes(), key=lambda index: index.row())
        rows = [voice_row(index) for index in indexes] or [self.current_row]
        return tuple(row for row in rows if row is not None)

    def go_to(self, at: int) -> None:
        """Make one row the current and the only selected one; none with -1."""
        if at < 0:
            self.clearSelection()
            self.setCurrentIndex(QModelIndex())
            return
        index = self.model().index(at, 0)
        # Not by the view's own method, which would look at the keys that are held down.
        flag = QItemSelectionModel.SelectionFlag.ClearAndSelect
        self.selectionModel().setCurrentIndex(index, flag)
        self.scrollTo(index)

    def rename_current(self) -> None:
        """Let the name of the current voice be typed in its place."""
        index = self.currentIndex()
        if index.flags() & Qt.ItemFlag.ItemIsEditable:
            self.scrollTo(index)
            self.edit(index)

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        self.viewport().update()  # both show other buttons now
        self.current_changed.emit(voice_row(current))

    def selectionChanged(self, selected: object, deselected: object) -> None:
        super().selectionChanged(selected, deselected)  # type: ignore[arg-type]
        self.selection_changed.emit()

    def event(self, event: QEvent) -> bool:
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Space
            and not event.modifiers()
        ):
            event.accept()  # it plays the sample here, not the take
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row, key = self.current_row, event.key()
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if row is not None and plain and key == Qt.Key.Key_Space:
            if not event.isAutoRepeat():
                self.listen_requested.emit(row)
        elif row is not None and plain and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.speak_requested.emit(row)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        zone = self._zone(event)
        row = voice_row(index)
        if row is None and event.button() == Qt.MouseButton.LeftButton:
            self.go_to(self.currentIndex().row())  # what is chosen stays, and is all that is
        elif event.button() != Qt.MouseButton.LeftButton or row is None or zone is Zone.WORDS:
            super().mousePressEvent(event)
            self._keep_current_selected()
        elif zone is Zone.STAR:
            self.favourite_requested.emit(row)
        elif zone is Zone.LISTEN:
            self.listen_requested.emit(row)
        else:
            if index not in self.selectedIndexes():
                self.setCurrentIndex(index)
            place = self._delegate.places(index).more
            self.menu_requested.emit(self.viewport().mapToGlobal(place.bottomLeft()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._zone(event) is Zone.WORDS:
            super().mouseReleaseEvent(event)
            self._keep_current_selected()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        row = voice_row(self.indexAt(event.position().toPoint()))
        if event.button() != Qt.MouseButton.LeftButton:
            super().mouseDoubleClickEvent(event)
        elif self._zone(event) is not Zone.WORDS:
            self.mousePressEvent(event)  # two quick presses of a button are two
        elif row is not None:
            self.speak_requested.emit(row)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        zone = self._zone(event) if not event.buttons() else Zone.WORDS
        self._delegate.set_hover(zone)
        self.viewport().setCursor(
            Qt.CursorShape.ArrowCursor if zone is Zone.WORDS else Qt.CursorShape.PointingHandCursor
        )
        self.viewport().update()
        super().mouseMoveEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            self.menu_requested.emit(event.globalPos())
            return
        place = self.visualRect(self.currentIndex()).intersected(self.viewport().rect())
        self.menu_requested.emit(self.viewport().mapToGlobal(place.center()))

    def _keep_current_selected(self) -> None:
        """The current row is what is chosen: taking it out of the selection goes on to another."""
        selection, current = self.selectionModel(), self.currentIndex()
        if not current.isValid() or selection.isSelected(current):
            return
        others = self.selectedIndexes()
        flags = QItemSelectionModel.SelectionFlag
        if others:
            selection.setCurrentIndex(others[0], flags.NoUpdate)
        else:
            selection.select(current, flags.Select)

    def _zone(self, event: QMouseEvent) -> Zone:
        """What of a row the mouse is at; only what can be pressed there."""
        point = event.position().toPoint()
        index = self.indexAt(point)
        row = voice_row(index)
        if row is None:
            return Zone.WORDS
        zone = self._delegate.places(index).zone(point)
        if isinstance(row, LibraryVoice):
            silent = zone is Zone.LISTEN and row.recording is None
            return Zone.WORDS if silent else zone
        return zone if zone is Zone.MORE else Zone.WORDS
