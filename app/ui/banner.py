"""Tells what went wrong or is worth knowing: one sentence, what to do, one button."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QColor,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.colours import Colours, Rgb
from app.ui.icons import icon, icon_pixmap
from app.ui.metrics import GAP, ICON, RADIUS, TIGHT, scaled_font
from engine.errors import ExplainedError
from engine.plain_text import one_line, some_lines

DETAIL_LINES = 8
INFO_MILLISECONDS = 10_000
"""A note that only informs goes by itself after this time, unless somebody is at it."""
SETTLING_MILLISECONDS = 500
"""A click within this time was meant for what was there before the notice."""


class Severity(Enum):
    """How bad it is; the name is said and the picture drawn, the colour only helps."""

    INFO = ("Note", "info")
    WARNING = ("Warning", "warning")
    ERROR = ("Problem", "error")

    @property
    def word(self) -> str:
        return self.value[0]

    @property
    def icon(self) -> str:
        return self.value[1]


@dataclass(frozen=True)
class NoticeAction:
    """What the button of a notice does; the notice is closed by it."""

    label: str
    run: Callable[[], None]


@dataclass(frozen=True)
class Notice:
    """Something to tell."""

    severity: Severity
    sentence: str
    hint: str = ""
    detail: str = ""
    action: NoticeAction | None = None

    @classmethod
    def of(cls, error: ExplainedError, action: NoticeAction | None = None) -> Notice:
        """What an error says."""
        return cls(Severity.ERROR, error.message, error.hint, error.detail, action)


class Banner(QFrame):
    """Shows one notice after the other, problems before the rest; hidden when there is none."""

    closed = Signal(object)  # Notice

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[Notice] = deque()
        self._notice: Notice | None = None
        self._picture = QLabel(self)
        self._sentence = QLabel(self)
        self._hint = QLabel(self)
        self._count = QLabel(self)
        self._action = QPushButton(self)
        self._unfold = QToolButton(self)
        self._close = QToolButton(self)
        self._detail = QPlainTextEdit(self)
        self._copy = QPushButton("Copy details", self)
        self._going = QTimer(self)
        self._going.setSingleShot(True)
        self._going.setInterval(INFO_MILLISECONDS)
        self._going.timeout.connect(self._on_going)
        self._settling = QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.setInterval(SETTLING_MILLISECONDS)
        self._settling.timeout.connect(self._on_settled)
        self._build()
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.hide()

    @property
    def notice(self) -> Notice | None:
        """What is shown."""
        return self._notice

    @property
    def waiting(self) -> int:
        """How many notices follow."""
        return len(self._waiting)

    def tell(self, notice: Notice) -> None:
        """Show a notice, or queue it; one that is shown or queued already is not told again."""
        if notice == self._notice or notice in self._waiting:
            return
        if self._notice is None:
            self._show(notice)
            return
        if notice.severity is Severity.ERROR and self._notice.severity is not Severity.ERROR:
            self._waiting.appendleft(self._notice)
            self._show(notice)
            return
        self._waiting.append(notice)
        self._show_count()

    @Slot()
    def dismiss(self) -> bool:
        """Close the notice and show the next one; False if there was none."""
        notice, self._notice = self._notice, None
        self._going.stop()
        if notice is None:
            return False
        if self._waiting:
            self._show(self._waiting.popleft())
        else:
            self.hide()
        self.closed.emit(notice)
        return True

    def withdraw(self, notice: Notice) -> None:
        """Take a notice back whose reason is gone."""
        if notice == self._notice:
            self.dismiss()
        elif notice in self._waiting:
            self._waiting.remove(notice)
            self._show_count()

    def _build(self) -> None:
        self._sentence.setWordWrap(True)
        self._hint.setWordWrap(True)
        for label in (self._sentence, self._hint):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._picture.setFixedWidth(ICON + 4)
        self._action.clicked.connect(self._on_action)
        self._unfold.setText("Details")
        self._unfold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._unfold.setCheckable(True)
        self._unfold.setProperty("kind", "quiet")
        self._unfold.toggled.connect(self._on_unfold)
        self._close.setIcon(icon("cross"))
        self._close.setProperty("kind", "quiet")
        self._close.setToolTip("Close (Esc)")
        self._close.setAccessibleName("Close this message")
        self._close.clicked.connect(self.dismiss)
        self._detail.setReadOnly(True)
        self._detail.setAccessibleName("Details")
        self._detail.setTabChangesFocus(True)
        self._detail.setFixedHeight(self._detail.fontMetrics().lineSpacing() * DETAIL_LINES)
        self._copy.clicked.connect(self._on_copy)

        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._sentence)
        words.addWidget(self._hint)
        row = QHBoxLayout()
        row.setSpacing(GAP)
        row.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addLayout(words, 1)
        for widget in (self._count, self._unfold, self._action, self._close):
            row.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
        self._folded = QWidget(self)
        below = QVBoxLayout(self._folded)
        below.setContentsMargins(ICON + 4 + GAP, 0, 0, TIGHT)
        below.addWidget(self._detail)
        below.addWidget(self._copy, 0, Qt.AlignmentFlag.AlignLeft)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(GAP + TIGHT, GAP, GAP, GAP)
        layout.setSpacing(GAP)
        layout.addLayout(row)
        layout.addWidget(self._folded)

    def _show(self, notice: Notice) -> None:
        self._notice = notice
        sentence, hint = one_line(notice.sentence), one_line(notice.hint)
        self._sentence.setText(sentence)
        self._sentence.setFont(scaled_font(self, 1.0, bold=bool(notice.hint)))
        self._hint.setText(hint)
        self._hint.setVisible(bool(notice.hint))
        self._action.setVisible(notice.action is not None)
        if notice.action is not None:
            self._action.setText(notice.action.label)
        self._detail.setPlainText(some_lines(notice.detail))
        self._unfold.setVisible(bool(notice.detail))
        self._unfold.setChecked(False)
        self._on_unfold(unfolded=False)
        self._show_count()
        self._dress()
        said = f"{notice.severity.word}: {sentence} {hint}".rstrip()
        self.setAccessibleName(said)
        self._picture.setAccessibleName(notice.severity.word)
        self._take_clicks(False)
        self._settling.start()
        self.show()
        if notice.severity is Severity.INFO:
            self._going.start()
        else:
            self._going.stop()
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))

    def _show_count(self) -> None:
        number = len(self._waiting)
        self._count.setText(f"{number} more" if number else "")
        self._count.setVisible(number > 0)

    def _dress(self) -> None:
        if self._notice is None:
            return
        colours = Colours.of(self.palette())
        colour, _ = _colours(self._notice.severity, colours)
        name = self._notice.severity.icon
        self._picture.setPixmap(icon_pixmap(name, ICON + 2, colour, self.devicePixelRatioF()))
        self.update()

    def _take_clicks(self, takes: bool) -> None:
        for button in (self._action, self._unfold, self._close):
            button.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, not takes)

    @Slot()
    def _on_settled(self) -> None:
        self._take_clicks(True)

    @Slot()
    def _on_going(self) -> None:
        focused = QApplication.focusWidget()
        if self.underMouse() or (focused is not None and self.isAncestorOf(focused)):
            self._going.start()
        else:
            self.dismiss()

    @Slot()
    def _on_action(self) -> None:
        notice = self._notice
        self.dismiss()
        if notice is not None and notice.action is not None:
            notice.action.run()

    @Slot(bool)
    def _on_unfold(self, unfolded: bool) -> None:
        self._folded.setVisible(unfolded)
        self._unfold.setIcon(icon("chevron-down" if unfolded else "chevron-right"))

    @Slot()
    def _on_copy(self) -> None:
        if self._notice is not None:
            notice = self._notice
            lines = (notice.sentence, notice.hint, notice.detail)
            QGuiApplication.clipboard().setText("\n".join(line for line in lines if line))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.dismiss():
            return
        super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()  # it is not meant for what lies below

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._notice is None:
            return
        edge, ground = _colours(self._notice.severity, Colours.of(self.palette()))
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(edge), 1))
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(
            self.rect().toRectF().adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS
        )
        painter.end()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_notice"):
            self._dress()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())


def _colours(severity: Severity, colours: Colours) -> tuple[Rgb, Rgb]:
    """The colour of border and picture, and that of the ground."""
    return {
        Severity.INFO: (colours.info, colours.info_surface),
        Severity.WARNING: (colours.warning, colours.warning_surface),
        Severity.ERROR: (colours.danger, colours.danger_surface),
    }[severity]
