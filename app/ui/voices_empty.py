"""What the list of voices says while there is nothing to list: three doors to a first voice."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.ui.icons import icon
from app.ui.inline_note import wrapped_label
from app.ui.metrics import CONTROL, GAP, HEADING, ROOM, TIGHT, scaled_font


class EmptyLibrary(QScrollArea):
    """Record, open, design: how a first voice comes about."""

    record_requested = Signal()
    open_requested = Signal()
    design_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        content = QWidget(self)
        title = QLabel("No voices yet", content)
        title.setFont(scaled_font(title, HEADING, bold=True))
        column = QVBoxLayout(content)
        column.setContentsMargins(TIGHT, GAP, TIGHT, GAP)
        column.setSpacing(TIGHT)
        column.addWidget(title)
        column.addWidget(
            wrapped_label("Make the first one in one of three ways.", muted=True, parent=content)
        )
        for picture, text, words, signal in (
            (
                "mic",
                "Record a voice",
                "Read a card aloud for ten seconds. The recording is the voice.",
                self.record_requested,
            ),
            (
                "open",
                "Open a recording…",
                "6 to 15 seconds of one person. Or drop the file here.",
                self.open_requested,
            ),
            (
                "wand",
                "Design a voice",
                "Describe a voice in words and keep the one you like.",
                self.design_requested,
            ),
        ):
            column.addSpacing(GAP)
            column.addWidget(self._door(picture, text, words, signal, content))
            column.addWidget(wrapped_label(words, muted=True, parent=content))
        column.addSpacing(ROOM)
        column.addWidget(
            wrapped_label(
                "Voices from another studio, or .spk and .rvq files of qwentts.cpp, come in with "
                "Import below.",
                muted=True,
                parent=content,
            )
        )
        column.addStretch(1)
        self.setWidget(content)
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName("No voices yet")

    def _door(
        self, picture: str, text: str, words: str, signal: object, parent: QWidget
    ) -> QPushButton:
        button = QPushButton(icon(picture), text, parent)
        button.setMinimumHeight(CONTROL + TIGHT)
        button.setToolTip(words)
        button.setAccessibleDescription(words)
        button.clicked.connect(signal)
        return button
