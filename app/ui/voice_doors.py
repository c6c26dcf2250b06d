"""Shows the three ways to a voice where there is none."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from app.ui.chips import FlowLayout
from app.ui.icons import icon
from app.ui.inline_note import wrapped_label
from app.ui.metrics import GAP, ROOM, TIGHT
from app.ui.shortcuts import with_key

DOOR_ICON = 24
LEAST_HEIGHT = 96


class VoiceDoors(QScrollArea):
    """Record, open, design; scrolls where the window is too low for all of them."""

    record_requested = Signal()
    open_requested = Signal()
    design_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        card = self._card = QFrame(self)
        card.setProperty("panel", True)
        self._invitation = wrapped_label(parent=card)
        flow = FlowLayout(spacing=GAP)
        reading = with_key("Read a card aloud", "record")
        opening = with_key("Or drop it here", "open")
        designing = with_key("Describe a voice", "tab-3")
        for picture, title, about, signal in (
            ("mic", "Record", reading, self.record_requested),
            ("open", "Open a recording", opening, self.open_requested),
            ("wand", "Design", designing, self.design_requested),
        ):
            door = QPushButton(icon(picture), f"{title}\n{about}", card)
            door.setIconSize(QSize(DOOR_ICON, DOOR_ICON))
            door.setProperty("kind", "tile")
            door.setAccessibleName(title)
            door.setAccessibleDescription(about)
            door.setToolTip(about)
            door.clicked.connect(signal)
            flow.addWidget(door)
        layout = QVBoxLayout(card)
        layout.setContentsMargins(ROOM - 4, ROOM - 4, ROOM - 4, ROOM - 4)
        layout.setSpacing(GAP + TIGHT)
        layout.addWidget(self._invitation)
        layout.addLayout(flow)
        self.setWidget(card)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.viewport().setAutoFillBackground(False)

    def invite(self, words: str) -> None:
        """Say what the doors are for now."""
        self._invitation.setText(words)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        card = self._card
        wanted = card.heightForWidth(max(self.width(), card.minimumSizeHint().width()))
        return QSize(card.sizeHint().width(), wanted)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, LEAST_HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.updateGeometry()  # other lines of doors need another height
