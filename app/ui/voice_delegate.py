"""Draws the rows of the voice list, and knows where their buttons are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QHelpEvent, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QWidget,
)

from app.core.voice_listing import DamagedVoice
from app.core.voice_record import LibraryVoice
from app.ui.colours import Colours
from app.ui.icons import paint_icon
from app.ui.metrics import CAPTION, CONTROL, GAP, ICON, RADIUS, TARGET, TIGHT
from app.ui.shortcuts import with_key
from app.ui.voice_list import PLAYING_ROLE, voice_row
from app.ui.voice_look import (
    KIND_ICONS,
    VoiceRow,
    ink_on,
    runs_leftwards,
    second_line,
    shown_name,
    voice_colour,
)

LONGEST_NAME: Final = 200  # characters, as the library keeps them
MARK: Final = 3  # width of the bar beside a selected row
FAINT: Final = 0.35  # opacity of the border of a dot

Index = QModelIndex | QPersistentModelIndex


class Zone(Enum):
    """The parts of a row."""

    LISTEN = auto()
    WORDS = auto()
    MORE = auto()
    STAR = auto()


TIPS: Final = {
    Zone.LISTEN: with_key("Listen to its recording", "voice-listen"),
    Zone.MORE: "More to do with this voice",
    Zone.STAR: "Favourite",
}


@dataclass(frozen=True)
class RowPlaces:
    """Where the parts of a row are."""

    dot: QRect
    name: QRect
    caption: QRect
    more: QRect
    star: QRect

    @classmethod
    def of(cls, row: QRect, font: QFont, *, has_more: bool, has_star: bool) -> RowPlaces:
        """In a row of this place; the words leave room for the buttons that are shown."""
        name, caption = QFontMetrics(font).height(), QFontMetrics(caption_font(font)).height()
        side = min(max(name + caption, TARGET), CONTROL + TIGHT)
        dot = QRect(row.left() + GAP, row.center().y() - side // 2 + 1, side, side)
        target = max(TARGET, name)
        star = QRect(
            row.right() - TIGHT - target, row.center().y() - target // 2 + 1, target, target
        )
        more = star.translated(-target, 0)
        left = dot.right() + 1 + GAP
        end = more.left() if has_more else star.left() if has_star else row.right() - TIGHT
        width = end - left - TIGHT
        top = row.center().y() - (name + caption) // 2
        words = QRect(left, top, max(width, 0), name)
        return cls(dot, words, QRect(left, top + name, words.width(), caption), more, star)

    def zone(self, point: QPoint) -> Zone:
        """What is at a point of the row."""
        for place, zone in (
            (self.star, Zone.STAR),
            (self.more, Zone.MORE),
            (self.dot, Zone.LISTEN),
        ):
            if place.contains(point):
                return zone
        return Zone.WORDS


class VoiceDelegate(QStyledItemDelegate):
    """Two lines per voice, with what can be pressed where the mouse is or the row is current."""

    def __init__(self, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._view = view
        self._hover = Zone.WORDS

    def set_hover(self, zone: Zone) -> None:
        """The part that the mouse is over, in the row that it is over."""
        self._hover = zone

    def places(self, index: Index) -> RowPlaces:
        """Where the parts of a row are now."""
        return RowPlaces.of(
            self._view.visualRect(index), self._view.font(), has_more=True, has_star=True
        )

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        font = self._view.font()
        lines = QFontMetrics(font).height() + QFontMetrics(caption_font(font)).height()
        return QSize(0, max(lines, TARGET) + 2 * (TIGHT + 2))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = voice_row(index)
        if row is None:
            return
        self.initStyleOption(option, index)
        state, rect = option.state, option.rect
        selected = bool(state & QStyle.StateFlag.State_Selected)
        hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        current = self._view.currentIndex() == index
        colours = Colours.of(self._view.palette())
        has_more = hovered or current
        has_star = has_more or (isinstance(row, LibraryVoice) and row.details.favourite)
        places = RowPlaces.of(rect, self._view.font(), has_more=has_more, has_star=has_star)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_ground(painter, rect, colours, state)
        shows_play = hovered and isinstance(row, LibraryVoice) and row.recording is not None
        picture = "pause" if index.data(PLAYING_ROLE) else "play" if shows_play else ""
        _paint_dot(painter, places.dot, row, colours, picture)
        _paint_words(painter, places, row, self._view.font(), colours, is_selected=selected)
        if hovered or current:
            self._paint_button(painter, places.more, "more", colours, Zone.MORE, hovered)
        if isinstance(row, LibraryVoice):
            if row.details.favourite:
                self._paint_button(painter, places.star, "star-filled", colours, Zone.STAR, hovered)
            elif hovered or current:
                self._paint_button(painter, places.star, "star", colours, Zone.STAR, hovered)
        painter.restore()

    def _paint_ground(
        self, painter: QPainter, rect: QRect, colours: Colours, state: QStyle.StateFlag
    ) -> None:
        selected = bool(state & QStyle.StateFlag.State_Selected)
        hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        inner = rect.toRectF().adjusted(1.5, 0.5, -1.5, -0.5)
        painter.setPen(Qt.PenStyle.NoPen)
        if selected or hovered:
            painter.setBrush(QColor(colours.selected if selected else colours.hover))
            painter.drawRoundedRect(inner, RADIUS, RADIUS)
        if selected:  # not by colour alone
            painter.setBrush(QColor(colours.accent))
            bar = QRect(rect.left() + 4, rect.top() + GAP, MARK, rect.height() - 2 * GAP)
            painter.drawRoundedRect(bar, MARK / 2, MARK / 2)
        if state & QStyle.StateFlag.State_HasFocus and self._view.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(colours.accent), 1))
            painter.drawRoundedRect(inner, RADIUS, RADIUS)

    def _paint_button(
        self,
        painter: QPainter,
        place: QRect,
        name: str,
        colours: Colours,
        zone: Zone,
        hovered: bool,
    ) -> None:
        if hovered and self._hover is zone:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours.line))
            painter.drawRoundedRect(place, RADIUS, RADIUS)
        colour = colours.warning if name == "star-filled" else colours.text
        paint_icon(painter, name, _centred(place, ICON).toRectF(), colour)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = _NameEditor(parent)
        editor.setMaxLength(LONGEST_NAME)
        editor.setAccessibleName("Name of the voice")
        return editor

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> None:
        rect = self._view.visualRect(index)
        left = self.places(index).name.left() - GAP
        height = min(CONTROL, rect.height())
        editor.setGeometry(
            left, rect.center().y() - height // 2 + 1, rect.right() - left - TIGHT, height
        )

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: Index,
    ) -> bool:
        row = voice_row(index)
        zone = self.places(index).zone(event.pos())
        if row is None or zone not in TIPS or event.type() != QEvent.Type.ToolTip:
            return super().helpEvent(event, view, option, index)
        if zone is Zone.LISTEN and not (isinstance(row, LibraryVoice) and row.recording):
            return super().helpEvent(event, view, option, index)
        QToolTip.showText(event.globalPos(), TIPS[zone], view)
        return True


class _NameEditor(QLineEdit):
    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event)
        event.accept()  # a field lets Return pass on to the list, which would speak


def caption_font(font: QFont) -> QFont:
    """The font of the second line."""
    made = QFont(font)
    made.setPointSizeF(max(font.pointSizeF() * CAPTION, 1.0))
    return made


def _paint_dot(
    painter: QPainter, place: QRect, row: VoiceRow, colours: Colours, picture: str
) -> None:
    inner = _centred(place, round(place.width() * 0.56)).toRectF()
    if isinstance(row, DamagedVoice):
        painter.setPen(QPen(QColor(colours.danger), 1.5))
        painter.setBrush(QColor(colours.danger_surface))
        painter.drawEllipse(place.toRectF().adjusted(1, 1, -1, -1))
        paint_icon(painter, "warning", inner, colours.danger)
        return
    colour = voice_colour(row.details)
    border = QColor(colours.text)
    border.setAlphaF(FAINT)
    painter.setPen(QPen(border, 1))
    painter.setBrush(colour)
    painter.drawEllipse(place.toRectF().adjusted(0.5, 0.5, -0.5, -0.5))
    paint_icon(painter, picture or KIND_ICONS[row.details.kind], inner, ink_on(colour.name()))


def _paint_words(
    painter: QPainter,
    places: RowPlaces,
    row: VoiceRow,
    font: QFont,
    colours: Colours,
    *,
    is_selected: bool,
) -> None:
    damaged = isinstance(row, DamagedVoice) and not is_selected
    second = colours.danger if damaged else colours.text if is_selected else colours.muted
    for place, text, used, colour in (
        (places.name, shown_name(row), font, colours.text),
        (places.caption, second_line(row, with_tags=True), caption_font(font), second),
    ):
        painter.setFont(used)
        painter.setPen(QColor(colour))
        shown = QFontMetrics(used).elidedText(text, Qt.TextElideMode.ElideRight, place.width())
        flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        # The direction puts the ellipsis where the text ends; all of it stays beside the dot.
        painter.setLayoutDirection(
            Qt.LayoutDirection.RightToLeft
            if runs_leftwards(text)
            else Qt.LayoutDirection.LeftToRight
        )
        painter.drawText(
            place, flags | Qt.AlignmentFlag.AlignAbsolute | Qt.TextFlag.TextSingleLine, shown
        )


def _centred(place: QRect, side: int) -> QRect:
    made = QRect(0, 0, side, side)
    made.moveCenter(place.center())
    return made
