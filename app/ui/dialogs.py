"""Opens dialogs beside the work, and gives them the height that their words need."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLayout, QWidget

from app.ui.controls import main_button


class FittedDialog(QDialog):
    """So wide, and as high as its words are then; people may enlarge it."""

    def __init__(self, width: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._width = width
        self.setMinimumWidth(width)

    def showEvent(self, event: QShowEvent) -> None:
        # Only now do the widgets know their style, and with it their size.
        if not event.spontaneous() and (layout := self.layout()) is not None:
            # Qt would keep the height that the words need in the narrowest dialog.
            layout.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
            layout.invalidate()
            self.setMinimumHeight(0)
            self.resize(self._width, layout.totalHeightForWidth(self._width))
        super().showEvent(event)

    def event(self, event: QEvent) -> bool:
        if event.type() != QEvent.Type.LayoutRequest:
            return super().event(event)
        done = super().event(event)
        if self.isVisible() and (layout := self.layout()) is not None:
            self.setMinimumHeight(layout.totalHeightForWidth(self.width()))  # a note came up
        return done


class SaveButtons(QDialogButtonBox):
    """A word for yes, which accepts the dialog, and Cancel."""

    def __init__(self, dialog: QDialog, yes: str = "Save", icon_name: str = "check") -> None:
        super().__init__(QDialogButtonBox.StandardButton.Cancel, dialog)
        self.save = main_button(yes, icon_name, self)
        self.save.setDefault(True)
        self.addButton(self.save, QDialogButtonBox.ButtonRole.AcceptRole)
        self.accepted.connect(dialog.accept)
        self.rejected.connect(dialog.reject)


def open_dialog(dialog: QDialog) -> None:
    """Show a dialog over its window and go on; it is gone once it was closed."""
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
