"""Icons that take the colour of the text around them, at any size and in either theme."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QIcon,
    QIconEngine,
    QImage,
    QPainter,
    QPalette,
    QPixmap,
)
from PySide6.QtSvg import QSvgRenderer

from app.core.resources import resource

APPLICATION_SIZES = (16, 20, 24, 32, 48, 64, 128, 256, 512)


def icon(name: str, role: QPalette.ColorRole = QPalette.ColorRole.ButtonText) -> QIcon:
    """The icon `resources/icons/<name>.svg` in the palette's colour `role`, which it follows."""
    return QIcon(_TintedEngine(name, role))


def paint_icon(painter: QPainter, name: str, rect: QRectF, colour: str) -> None:
    """Draw an icon in one colour."""
    renderer(name, colour).render(painter, rect)


def icon_pixmap(name: str, size: int, colour: str, ratio: float) -> QPixmap:
    """An icon in one colour, `size` device independent pixels wide."""
    pixels = max(1, round(size * ratio))
    image = QImage(pixels, pixels, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    renderer(name, colour).render(painter)
    painter.end()
    pixmap = QPixmap.fromImage(image)
    pixmap.setDevicePixelRatio(ratio)
    return pixmap


def application_icon() -> QIcon:
    """The studio's own icon."""
    made = QIcon()
    for size in APPLICATION_SIZES:
        made.addPixmap(icon_pixmap("voice-studio", size, "#000000", 1.0))
    return made


@cache
def renderer(name: str, colour: str) -> QSvgRenderer:
    """Draws an icon whose `currentColor` is the given one."""
    drawing = resource("icons", f"{name}.svg").replace(b"currentColor", colour.encode())
    made = QSvgRenderer(QByteArray(drawing))
    assert made.isValid(), f"{name}.svg is a drawing"
    return made


class _TintedEngine(QIconEngine):
    """Looks the colour up when it paints, so that icons change with the theme by themselves."""

    def __init__(self, name: str, role: QPalette.ColorRole) -> None:
        super().__init__()
        self._name = name
        self._role = role

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        paint_icon(painter, self._name, QRectF(rect), self._colour(mode))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        image = QImage(size, QImage.Format.Format_ARGB32_Premultiplied)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        self.paint(painter, QRect(QPoint(0, 0), size), mode, state)
        painter.end()
        return QPixmap.fromImage(image)

    def clone(self) -> QIconEngine:
        return _TintedEngine(self._name, self._role)

    def _colour(self, mode: QIcon.Mode) -> str:
        disabled = mode == QIcon.Mode.Disabled
        group = QPalette.ColorGroup.Disabled if disabled else QPalette.ColorGroup.Active
        colour: QColor = QGuiApplication.palette().color(group, self._role)
        return colour.name()
