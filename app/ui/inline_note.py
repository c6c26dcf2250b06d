"""Says beside a control what is missing or worth knowing, and never by colour alone."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.ui.banner import Severity
from app.ui.colours import Colours
from app.ui.icons import icon_pixmap
from app.ui.metrics import ICON, TIGHT
from engine.plain_text import some_lines

LEAST_WIDTH = 120


class InlineNote(QWidget):
    """A picture and a sentence that wraps; takes no room while there is nothing to say."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._severity = Severity.INFO
        self._picture = QLabel(self)
        self._picture.setFixedSize(ICON, ICON)
        self._words = wrapped_label(parent=self)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TIGHT + 2)
        layout.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self._words, 1)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.hide()

    @property
    def text(self) -> str:
        return self._words.text()

    def tell(self, sentence: str, severity: Severity = Severity.INFO) -> None:
        """Say a sentence, or nothing with an empty one."""
        self._severity = severity
        sentence = some_lines(sentence)
        self._words.setText(sentence)
        self.setAccessibleName(f"{severity.word}: {sentence}" if sentence else "")
        self._dress()
        self.setVisible(bool(sentence))

    def _dress(self) -> None:
        colours = Colours.of(self.palette())
        colour = {
            Severity.INFO: colours.info,
            Severity.WARNING: colours.warning,
            Severity.ERROR: colours.danger,
        }[self._severity]
        self._picture.setPixmap(
            icon_pixmap(self._severity.icon, ICON, colour, self.devicePixelRatioF())
        )

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_words"):
            self._dress()


class WrappedLabel(QLabel):
    """Plain words over as many lines as they need, which do not widen what they lie in."""

    def minimumSizeHint(self) -> QSize:
        return QSize(LEAST_WIDTH, super().minimumSizeHint().height())


def wrapped_label(
    text: str = "", *, muted: bool = False, parent: QWidget | None = None
) -> WrappedLabel:
    """A label whose words wrap; `muted` for words of second rank."""
    label = WrappedLabel(text, parent)
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setProperty("muted", muted)
    policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
    policy.setHeightForWidth(True)
    label.setSizePolicy(policy)
    return label
