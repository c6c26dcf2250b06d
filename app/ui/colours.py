"""The colours of the two themes, named for what they are used for."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QColor, QPalette

Rgb = str
"""A colour as `#rrggbb`."""


@dataclass(frozen=True)
class Colours:
    """One theme. Texts reach a contrast of 4.5:1 on every surface they are written on."""

    is_dark: bool
    window: Rgb  # behind everything
    surface: Rgb  # panels and cards
    raised: Rgb  # buttons, menus, chips
    hover: Rgb
    field: Rgb  # what is typed or drawn into
    line: Rgb  # separators
    edge: Rgb  # the border of a control, 3:1 on the surfaces
    text: Rgb
    muted: Rgb  # secondary text
    disabled: Rgb
    accent: Rgb  # the main action, focus, playhead
    accent_hover: Rgb
    on_accent: Rgb  # text on the accent
    link: Rgb
    selected: Rgb  # a chosen row or range
    danger: Rgb
    warning: Rgb
    good: Rgb
    info: Rgb
    danger_surface: Rgb
    warning_surface: Rgb
    info_surface: Rgb
    wave: Rgb
    suggestion: Rgb  # the suggested range on a waveform
    heat: tuple[Rgb, ...]  # a spectrogram from silent to loud

    @classmethod
    def of(cls, palette: QPalette) -> Colours:
        """The theme that a palette was made from, told by its window colour."""
        return DARK if palette.color(QPalette.ColorRole.Window).lightness() < 128 else LIGHT

    def palette(self) -> QPalette:
        """The same colours for Qt's own drawing."""
        made = QPalette()
        role = QPalette.ColorRole
        for which, rgb in (
            (role.Window, self.window),
            (role.WindowText, self.text),
            (role.Base, self.field),
            (role.AlternateBase, self.surface),
            (role.Text, self.text),
            (role.PlaceholderText, self.muted),
            (role.Button, self.raised),
            (role.ButtonText, self.text),
            (role.BrightText, self.on_accent),
            (role.ToolTipBase, self.raised),
            (role.ToolTipText, self.text),
            (role.Highlight, self.selected),
            (role.HighlightedText, self.text),
            (role.Accent, self.accent),
            (role.Link, self.link),
            (role.LinkVisited, self.link),
            (role.Light, self.hover),
            (role.Midlight, self.raised),
            (role.Mid, self.line),
            (role.Dark, self.edge),
            (role.Shadow, self.window),
        ):
            made.setColor(which, QColor(rgb))
        for which in (
            role.WindowText,
            role.Text,
            role.ButtonText,
            role.BrightText,
            role.HighlightedText,
        ):
            made.setColor(QPalette.ColorGroup.Disabled, which, QColor(self.disabled))
        made.setColor(QPalette.ColorGroup.Disabled, role.Accent, QColor(self.disabled))
        return made


DARK = Colours(
    is_dark=True,
    window="#17191d",
    surface="#1e2126",
    raised="#2a2e35",
    hover="#343943",
    field="#121417",
    line="#2e333b",
    edge="#6b7482",
    text="#e4e7eb",
    muted="#a3abb8",
    disabled="#6a7280",
    accent="#4cc2b1",
    accent_hover="#67d3c4",
    on_accent="#08211d",
    link="#6fd3c5",
    selected="#23484a",
    danger="#ff8078",
    warning="#f0b429",
    good="#6cc98a",
    info="#79b4f2",
    danger_surface="#3a2022",
    warning_surface="#352b18",
    info_surface="#1d2b3b",
    wave="#6fb7c9",
    suggestion="#c9a6f5",
    heat=("#121417", "#2b1e54", "#7a2a78", "#cf4a5f", "#f5a04c", "#fdf3c0"),
)

LIGHT = Colours(
    is_dark=False,
    window="#eef0f3",
    surface="#f8f9fa",
    raised="#ffffff",
    hover="#e6e9ee",
    field="#ffffff",
    line="#d5d9e0",
    edge="#7f8896",
    text="#1c2127",
    muted="#545d6a",
    disabled="#98a0ac",
    accent="#0b7a6d",
    accent_hover="#096459",
    on_accent="#ffffff",
    link="#0a6f63",
    selected="#c6e7e3",
    danger="#b3261e",
    warning="#845400",
    good="#1d6f3c",
    info="#1b5aa3",
    danger_surface="#fbe4e2",
    warning_surface="#fbf0d6",
    info_surface="#e2edf9",
    wave="#2f7f93",
    suggestion="#7a47b8",
    heat=("#ffffff", "#d8dcf2", "#a99bd8", "#b0508f", "#a82a3c", "#3d0f14"),
)


def contrast(first: Rgb, second: Rgb) -> float:
    """The contrast ratio of two colours, 1 to 21, as WCAG 2.2 defines it."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def blend(below: Rgb, above: Rgb, share: float) -> Rgb:
    """The colour between two, `share` being how much of `above` is in it."""
    low, high = QColor(below), QColor(above)
    return QColor.fromRgbF(
        low.redF() + share * (high.redF() - low.redF()),
        low.greenF() + share * (high.greenF() - low.greenF()),
        low.blueF() + share * (high.blueF() - low.blueF()),
    ).name()


def translucent(rgb: Rgb, opacity: float) -> QColor:
    """A colour that lets what is below shine through."""
    colour = QColor(rgb)
    colour.setAlphaF(opacity)
    return colour


def _luminance(rgb: Rgb) -> float:
    colour = QColor(rgb)
    linear = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in (colour.redF(), colour.greenF(), colour.blueF())
    )
    red, green, blue = linear
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
