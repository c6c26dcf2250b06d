"""What the studio is, which version, and under which licences its parts are used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.ui.controls import muted_label
from app.ui.icons import application_icon
from app.ui.metrics import GAP, ROOM, TITLE, scaled_font

PACKAGE = "voice-studio"
PARTS = (
    "PySide6-Essentials",
    "torch",
    "numpy",
    "gguf",
    "safetensors",
    "soundfile",
    "sounddevice",
    "silero-vad",
    "regex",
    "platformdirs",
)
LICENCE_LENGTH = 60
SIZE = (640, 560)
QT_NOTE = (
    "Qt and PySide6 are used under the GNU Lesser General Public License, version 3. They are "
    "installed as packages of their own, which you may replace by versions you have changed."
)


@dataclass(frozen=True)
class Part:
    """A package that the studio is built on."""

    name: str
    version: str
    licence: str


def find_version(package: str = PACKAGE) -> str:
    """The installed version of a package; empty when it runs without being installed."""
    try:
        return distribution(package).version
    except PackageNotFoundError:
        return ""


def find_parts(names: Iterable[str] = PARTS) -> tuple[Part, ...]:
    """The installed ones of these packages."""
    found = []
    for name in names:
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        found.append(Part(package.metadata["Name"], package.version, _licence(package)))
    return tuple(found)


class AboutDialog(QDialog):
    """Name, version and licences."""

    def __init__(
        self, version: str, parts: tuple[Part, ...], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("About voice studio")
        picture = QLabel(self)
        picture.setPixmap(application_icon().pixmap(64, 64))
        name = QLabel("voice studio", self)
        name.setFont(scaled_font(name, TITLE * 1.2, bold=True))
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(name)
        words.addWidget(muted_label(f"Version {version}" if version else "Not installed", self))
        head = QHBoxLayout()
        head.setSpacing(ROOM)
        head.addWidget(picture)
        head.addLayout(words, 1)
        note = QLabel(
            "A studio for cloned, designed and directed voices, on its own Qwen3-TTS engine. "
            "It works without a network and sends nothing anywhere.",
            self,
        )
        qt_note = muted_label(QT_NOTE, self)
        for label in (note, qt_note):
            label.setWordWrap(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM, ROOM, ROOM, ROOM)
        layout.setSpacing(GAP + 4)
        layout.addLayout(head)
        layout.addWidget(note)
        layout.addWidget(_table(parts), 1)
        layout.addWidget(qt_note)
        layout.addWidget(buttons)
        self.resize(*SIZE)


def _table(parts: tuple[Part, ...]) -> QTableWidget:
    table = QTableWidget(len(parts), 3)
    table.setHorizontalHeaderLabels(["Built on", "Version", "Licence"])
    table.setAccessibleName("Parts and their licences")
    table.verticalHeader().hide()
    table.setShowGrid(False)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setTabKeyNavigation(False)
    header = table.horizontalHeader()
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    header.setHighlightSections(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    header.setStretchLastSection(True)
    for row, part in enumerate(parts):
        for column, text in enumerate((part.name, part.version, part.licence)):
            item = QTableWidgetItem(text)
            item.setToolTip(text)
            table.setItem(row, column, item)
    return table


def _licence(package: Distribution) -> str:
    """From the field made for it, else from the free text or the classifiers."""
    metadata = package.metadata
    field = next((key for key in ("License-Expression", "License") if key in metadata), None)
    expression = metadata[field] if field is not None else ""
    lines = expression.strip().splitlines()
    if len(lines) == 1 and len(lines[0]) <= LICENCE_LENGTH:
        return lines[0]
    classifiers = metadata.get_all("Classifier") or []
    named = [line.rpartition("::")[2].strip() for line in classifiers if "License ::" in line]
    if named:
        return ", ".join(named)
    return lines[0] if lines else "see the package"
