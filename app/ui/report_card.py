"""Shows what was found about a recording, with a button beside each line that can be mended."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QSizePolicy, QWidget

from app.core.reference import Fix
from app.studio.clone_state import CloneState
from app.ui.colours import Colours
from app.ui.icons import icon, icon_pixmap
from app.ui.inline_note import wrapped_label
from app.ui.metrics import GAP, ICON, TARGET, TIGHT, scaled_font
from app.ui.report_rows import Aspect, ReportRow, Verdict, report_rows

NARROW = 85  # characters of width below which the sentences go on lines of their own

_LABELS = {
    Fix.LEVEL: "Set level",
    Fix.OFFSET: "Centre it",
    Fix.TRIM_SILENCE: "Trim ends",
}
_TIPS = {
    Fix.LEVEL: "Bring the level to where the model expects it",
    Fix.OFFSET: "Move the wave to the middle (remove the DC offset)",
    Fix.TRIM_SILENCE: "Cut the silence at both ends, leaving a breath of it",
}


class ReportCard(QWidget):
    """Length, level, clipping, noise, speech and channels of the chosen range."""

    fix_requested = Signal(object)  # Fix
    revert_requested = Signal(object)  # Fix

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Report on the recording")
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GAP)
        self._grid.setVerticalSpacing(TIGHT)
        self._grid.setColumnStretch(3, 1)
        self._is_narrow = False
        self._lines = {aspect: _Line(self) for aspect in Aspect}
        for row, line in enumerate(self._lines.values()):
            line.place(self._grid, row, narrow=False)
            line.fix_requested.connect(self.fix_requested)
            line.revert_requested.connect(self.revert_requested)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.hide()

    def show_state(self, state: CloneState) -> None:
        """Show what is known; hidden while nothing is."""
        if state.report is None:
            self.hide()
            return
        for row in report_rows(state.report, state.warnings, state.rate):
            self._lines[row.aspect].show_row(row, state)
        self.show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.width() < self.fontMetrics().averageCharWidth() * NARROW
        if narrow != self._is_narrow:
            self._is_narrow = narrow
            for row, line in enumerate(self._lines.values()):
                line.place(self._grid, row, narrow=narrow)


class _Line(QWidget):
    """Holds the widgets of one row of the grid; it is itself the cell of the button."""

    fix_requested = Signal(object)
    revert_requested = Signal(object)

    def __init__(self, card: ReportCard) -> None:
        super().__init__(card)
        self._verdict = Verdict.GOOD
        self._fix: Fix | None = None
        self._reverts = False
        self._picture = QLabel(card)
        self._picture.setFixedSize(ICON, ICON)
        self._word = QLabel(card)
        self._name = QLabel(card)
        self._name.setFont(scaled_font(card, 1.0, bold=True))
        self._sentence = wrapped_label(parent=card)
        self._button = QPushButton(self)
        self._button.setMinimumHeight(TARGET)
        self._button.clicked.connect(self._on_clicked)
        self._button.hide()
        inner = QGridLayout(self)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.addWidget(self._button)

    def place(self, grid: QGridLayout, row: int, *, narrow: bool) -> None:
        """Take row `row` of the card: one line of the grid, or the sentence below the rest."""
        middle = Qt.AlignmentFlag.AlignVCenter
        for column, widget in enumerate((self._picture, self._word, self._name)):
            grid.addWidget(widget, 2 * row, column, middle)
        if narrow:
            grid.addWidget(self._sentence, 2 * row + 1, 1, 1, 4)
        else:
            grid.addWidget(self._sentence, 2 * row, 3)
        grid.addWidget(self, 2 * row, 4, middle | Qt.AlignmentFlag.AlignRight)

    def show_row(self, row: ReportRow, state: CloneState) -> None:
        """Show a line, with the button that mends it or takes that back."""
        self._verdict = row.verdict
        self._word.setText(row.verdict.word)
        self._name.setText(row.aspect.label)
        self._sentence.setText(row.sentence)
        said = f"{row.aspect.label}: {row.verdict.word}. {row.sentence}"
        self._sentence.setAccessibleName(said)
        possible = [fix for fix in row.aspect.fixes if fix in state.fixes - state.applied]
        applied = [fix for fix in row.aspect.fixes if fix in state.applied]
        self._reverts = not possible and bool(applied)
        self._fix = next(iter([*possible, *applied]), None)
        if self._fix is not None:
            label = _LABELS[self._fix]
            self._button.setText("Undo" if self._reverts else label)
            self._button.setIcon(icon("undo" if self._reverts else "wand"))
            tip = f"Take back: {label}" if self._reverts else _TIPS[self._fix]
            self._button.setToolTip(tip)
            self._button.setAccessibleName(f"{row.aspect.label}: {tip}")
        self._button.setVisible(self._fix is not None)
        self._button.setEnabled(not state.busy)
        self._dress()

    @Slot()
    def _on_clicked(self) -> None:
        (self.revert_requested if self._reverts else self.fix_requested).emit(self._fix)

    def _dress(self) -> None:
        colours = Colours.of(self.palette())
        colour = {
            Verdict.GOOD: colours.good,
            Verdict.FAIR: colours.info,
            Verdict.LOOK: colours.warning,
            Verdict.BAD: colours.danger,
        }[self._verdict]
        self._picture.setPixmap(
            icon_pixmap(self._verdict.icon, ICON, colour, self.devicePixelRatioF())
        )
        palette = self._word.palette()
        palette.setColor(self._word.foregroundRole(), colour)
        self._word.setPalette(palette)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_sentence"):
            self._dress()
