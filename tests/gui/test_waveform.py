"""The waveform: what it draws, how it is moved about in, and what it tells its owner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QPointF, Qt, QThreadPool
from PySide6.QtGui import QColor, QImage, QKeyEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QScrollBar, QWidget
from pytestqt.qtbot import QtBot

from app.audio.peaks import Peaks
from app.audio.take_buffer import TakeBuffer
from app.core.settings import Theme
from app.ui.colours import DARK, LIGHT
from app.ui.live import LiveTimer
from app.ui.spectrogram import Section, Spectrograms, compute, mel, top_frequency
from app.ui.theme import Appearance
from app.ui.time_axis import Range, Viewport, clock, ticks
from app.ui.wave_drawing import clipped_columns, envelope_image, heat_image
from app.ui.wave_layer import RULER
from app.ui.wave_overlay import RangeLook
from app.ui.waveform import WaveformView
from engine.types import Samples

RATE = 24_000
WIDTH, HEIGHT = 500, 160
SECONDS = 10
PER_PIXEL = SECONDS * RATE // WIDTH
Key = Qt.Key
LEFT = Qt.MouseButton.LeftButton
NO_MODIFIER = Qt.KeyboardModifier.NoModifier
MakeView = Callable[..., WaveformView]


def tone(seconds: float, frequency: float = 1000.0, amplitude: float = 0.5) -> Samples:
    time = np.arange(round(seconds * RATE)) / RATE
    return (amplitude * np.sin(2 * np.pi * frequency * time)).astype(np.float32)


@pytest.fixture
def make_view(qtbot: QtBot, theme: Appearance, timer: LiveTimer, pool: QThreadPool) -> MakeView:
    def make(source: TakeBuffer | None = None, *, compact: bool = False) -> WaveformView:
        view = WaveformView(timer, None if compact else pool, compact=compact)
        qtbot.addWidget(view)
        view.resize(WIDTH, HEIGHT)
        view.show()
        view.set_source(TakeBuffer.of(tone(SECONDS), RATE) if source is None else source)
        return view

    return make


class _Keys(QWidget):
    """A parent that notes the keys which reach it."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[int] = []

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self.keys.append(event.key())


def column(image: QImage, x: int) -> list[str]:
    return [image.pixelColor(x, y).name() for y in range(image.height())]


def turn(view: WaveformView, x: float, notches: int, *, shift: bool = False) -> QWheelEvent:
    """Turn the wheel over a place; positive is away from the hand."""
    event = QWheelEvent(
        QPointF(x, 80),
        QPointF(x, 80),
        QPoint(0, 0),
        QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ShiftModifier if shift else NO_MODIFIER,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view, event)
    return event


def drag(view: WaveformView, start: int, end: int) -> None:
    QTest.mousePress(view, LEFT, NO_MODIFIER, QPoint(start, 80))
    QTest.mouseMove(view, QPoint((start + end) // 2, 80))
    QTest.mouseMove(view, QPoint(end, 80))
    QTest.mouseRelease(view, LEFT, NO_MODIFIER, QPoint(end, 80))


# Time


@pytest.mark.parametrize(
    ("seconds", "decimals", "text"),
    [
        (0, 1, "0:00.0"),
        (7.04, 1, "0:07.0"),
        (59.96, 1, "1:00.0"),
        (3723.5, 0, "1:02:04"),
        (0.0305, 3, "0:00.030"),
        (-1, 0, "0:00"),
    ],
)
def test_clock(seconds: float, decimals: int, text: str) -> None:
    assert clock(seconds, decimals) == text


@given(
    seconds=st.floats(0.01, 40_000),
    share=st.floats(0, 1),
    zooms=st.lists(st.tuples(st.floats(0.05, 20), st.floats(0, 1)), max_size=8),
)
def test_ruler_labels_have_room_and_name_their_place(
    seconds: float, share: float, zooms: list[tuple[float, float]]
) -> None:
    length = seconds * RATE
    view = Viewport(0, 1, 1000).fitted(length)
    for factor, at in zooms:
        view = view.zoomed(factor, view.start + at * view.span, length)
        assert 0 <= view.start <= view.end <= max(length, view.span) + 1e-6
    labelled = [tick for tick in ticks(view, RATE, 84) if tick.label]
    gaps = np.diff([tick.x for tick in labelled])
    if view.span / RATE * 84 / 1000 <= 3600:
        assert (gaps >= 84 - 1e-6).all()
    texts = [tick.label for tick in labelled]
    if view.span / RATE >= 0.02:  # labels go down to milliseconds
        assert len(set(texts)) >= len(texts) - 1  # what lies before zero is written as zero


@given(
    span=st.floats(100, 1e9),
    factor=st.floats(0.1, 10),
    share=st.floats(0, 1),
)
def test_zooming_keeps_the_place_under_the_pointer(
    span: float, factor: float, share: float
) -> None:
    length = 1e12  # no end is near
    view = Viewport(4e11, 4e11 + span, 800)
    at = view.sample(share * 800)
    zoomed = view.zoomed(factor, at, length)
    assert zoomed.x(at) == pytest.approx(share * 800, abs=0.5)


# Drawing


def test_the_envelope_reaches_as_far_as_the_samples() -> None:
    low = np.array([-1, -0.5, 0, np.nan], np.float32)
    high = np.array([1, -0.5, 0, np.nan], np.float32)
    image = envelope_image(low, high, 100, 2.0, "#ff0000")
    opacity = [[image.pixelColor(x, y).alpha() for y in range(100)] for x in range(4)]
    sums = [sum(column) / 255 for column in opacity]
    assert sums[0] == pytest.approx(94, abs=0.1)  # 94 % of the height
    # Joined with the neighbours: from -0.5 up to where the first column ends, which it covers.
    assert sums[1] == pytest.approx(2, abs=0.1)
    assert sums[2] == pytest.approx(0.5 * 47, abs=1.1)
    assert sums[3] == 0
    assert opacity[0][50] == 255
    assert opacity[0][2] == 0
    assert opacity[0][3] == 255
    middle = np.average(np.arange(100) + 0.5, weights=opacity[1])
    assert middle == pytest.approx(50 + 0.5 * 47, abs=0.1)


@given(
    values=st.lists(
        st.tuples(st.floats(-2, 2, width=32), st.floats(-2, 2, width=32)), min_size=1, max_size=20
    ),
    height=st.integers(1, 60),
)
def test_any_peaks_can_be_drawn(values: list[tuple[float, float]], height: int) -> None:
    low = np.array([min(pair) for pair in values], np.float32)
    high = np.array([max(pair) for pair in values], np.float32)
    image = envelope_image(low, high, height, 1.25, "#ff0000")
    assert (image.width(), image.height()) == (len(values), height)
    for x in range(len(values)):
        assert any(image.pixelColor(x, y).alpha() for y in range(height))


def test_columns_at_full_scale_are_found() -> None:
    low = np.array([-0.5, -1, np.nan, -0.5, -0.999], np.float32)
    high = np.array([0.5, 0.5, np.nan, 1, 0.999], np.float32)
    assert clipped_columns(low, high).tolist() == [1, 3]


def test_heat_runs_through_the_colours_of_the_theme(qapp: QApplication) -> None:
    image = heat_image(np.array([[0, 255]], np.uint8), DARK.heat)
    assert [image.pixelColor(x, 0).name() for x in (0, 1)] == [DARK.heat[0], DARK.heat[-1]]


def test_a_burst_is_drawn_where_it_is(make_view: MakeView) -> None:
    samples = np.zeros(SECONDS * RATE, np.float32)
    samples[4 * RATE : 6 * RATE] = tone(2, amplitude=0.9)
    view = make_view(TakeBuffer.of(samples, RATE))
    image = view.grab().toImage()
    heights = [column(image, x).count(DARK.wave) for x in (100, 250, 400)]
    assert heights[0] <= 2
    assert heights[1] > 100
    assert heights[2] <= 2


def test_a_theme_change_draws_again(make_view: MakeView, theme: Appearance, qtbot: QtBot) -> None:
    view = make_view()
    assert column(view.grab().toImage(), 250).count(DARK.wave) > 50
    theme.choose(Theme.LIGHT)
    qtbot.waitUntil(lambda: column(view.grab().toImage(), 250).count(LIGHT.wave) > 50)
    assert DARK.wave not in column(view.grab().toImage(), 250)


def test_clipping_is_marked_at_the_top(make_view: MakeView) -> None:
    samples = tone(SECONDS)
    samples[5 * RATE : 5 * RATE + 5] = 1.0
    image = make_view(TakeBuffer.of(samples, RATE)).grab().toImage()
    assert image.pixelColor(250, RULER + 1).name() == DARK.danger
    assert image.pixelColor(100, RULER + 1).name() != DARK.danger


def test_trimming_dims_what_is_left_out(make_view: MakeView) -> None:
    view = make_view()
    view.set_range(Range(3 * RATE, 7 * RATE))
    view.set_range_look(RangeLook.TRIM)
    image = view.grab().toImage()
    assert DARK.wave in column(image, 250)
    assert DARK.wave not in column(image, 50)


def test_single_samples_are_joined_and_dotted(make_view: MakeView) -> None:
    samples = np.zeros(RATE, np.float32)
    samples[12_000] = 0.9
    view = make_view(TakeBuffer.of(samples, RATE))
    view.show_range(Range(11_990, 12_010))
    bar = view.findChild(QScrollBar)
    assert bar is not None
    image = view.grab().toImage()
    around = range(round(view.view.x(12_000)) - 1, round(view.view.x(12_000)) + 2)
    top = min(column(image, x).index(DARK.wave) for x in around)
    area = view.height() - RULER - bar.height()
    assert top == pytest.approx(RULER + area / 2 * (1 - 0.94 * 0.9), abs=4)
    assert 0 < column(image, round(view.view.x(11_996))).count(DARK.wave) < 8


def test_the_placeholder_stands_where_nothing_is(make_view: MakeView) -> None:
    view = make_view(TakeBuffer(RATE))
    blank = view.grab().toImage()
    view.set_placeholder("Record or drop a voice")
    assert view.grab().toImage() != blank
    view.set_source(None)
    assert "Record" in view.accessibleDescription()


def test_a_growing_take_says_how_long_it_has_become(make_view: MakeView, qtbot: QtBot) -> None:
    take = TakeBuffer(RATE)
    view = make_view(take, compact=True)
    take.append(tone(1.2))
    qtbot.waitUntil(lambda: view.accessibleDescription() == "0:01.2 long")
    take.append(tone(0.3))
    take.finish()
    qtbot.waitUntil(lambda: view.accessibleDescription() == "0:01.5 long")


def test_a_shape_glides_when_it_is_scrolled(make_view: MakeView) -> None:
    noise = np.random.default_rng(0).uniform(-0.8, 0.8, SECONDS * RATE).astype(np.float32)
    view = make_view(TakeBuffer.of(noise, RATE))
    view.zoom(4, 5 * RATE)
    before = view.grab().toImage()
    per_pixel = view.view.span / WIDTH
    view.scroll_by(20 / WIDTH)
    after = view.grab().toImage()
    assert view.view.span / WIDTH == pytest.approx(per_pixel)
    rows = range(RULER + 2, HEIGHT - 16)
    # Grid lines apart, what was at x is now at x - 20.
    same = [
        all(before.pixelColor(x, y) == after.pixelColor(x - 20, y) for y in rows)
        for x in range(30, 480)
    ]
    assert sum(same) > 0.95 * len(same)


# Seeking and choosing


def test_a_click_seeks(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view()
    with qtbot.waitSignal(view.seek_requested) as asked:
        QTest.mouseClick(view, LEFT, NO_MODIFIER, QPoint(100, 80))
    assert asked.args == [100 * PER_PIXEL]
    assert view.position == 100 * PER_PIXEL
    assert view.range is None
    assert "0:02.00" in view.accessibleDescription()


def test_a_drag_chooses_a_range(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view()
    with (
        qtbot.assertNotEmitted(view.seek_requested),
        qtbot.waitSignals([view.range_changed, view.range_changed, view.range_committed]),
    ):
        drag(view, 300, 100)
    assert view.range == Range(100 * PER_PIXEL, 300 * PER_PIXEL)
    assert "range from 0:02.00 to 0:06.00" in view.accessibleDescription()


@pytest.mark.parametrize(
    ("start", "end", "chosen"),
    [(100, 150, (150, 300)), (300, 420, (100, 420)), (100, 400, (300, 400))],
)
def test_handles_move_their_edge(
    make_view: MakeView, qtbot: QtBot, start: int, end: int, chosen: tuple[int, int]
) -> None:
    view = make_view()
    view.set_range(Range(100 * PER_PIXEL, 300 * PER_PIXEL))
    drag(view, start + 3, end)
    assert view.range == Range(chosen[0] * PER_PIXEL, chosen[1] * PER_PIXEL)


def test_shift_and_click_moves_the_nearer_edge(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view()
    view.set_range(Range(100 * PER_PIXEL, 300 * PER_PIXEL))
    shift = Qt.KeyboardModifier.ShiftModifier
    with qtbot.waitSignal(view.range_committed):
        QTest.mouseClick(view, LEFT, shift, QPoint(350, 80))
    assert view.range == Range(100 * PER_PIXEL, 350 * PER_PIXEL)


def test_a_double_click_clears_a_loop_but_not_a_trim(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view()
    chosen = Range(100 * PER_PIXEL, 300 * PER_PIXEL)
    for look, left in ((RangeLook.TRIM, chosen), (RangeLook.LOOP, None)):
        view.set_range(chosen)
        view.set_range_look(look)
        QTest.mouseDClick(view, LEFT, NO_MODIFIER, QPoint(200, 80))
        assert view.range == left


def test_a_drag_ends_at_the_audio(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view()
    drag(view, 400, 900)
    assert view.range == Range(400 * PER_PIXEL, SECONDS * RATE)


def test_the_owner_sets_without_an_echo(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view()
    with (
        qtbot.assertNotEmitted(view.range_changed),
        qtbot.assertNotEmitted(view.range_committed),
        qtbot.assertNotEmitted(view.seek_requested),
    ):
        view.set_range(Range(0, RATE))
        view.set_position(RATE)
        view.set_range(Range(5, 5))
    assert view.range is None


def test_the_keyboard_seeks(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view()
    view.set_position(5 * RATE)
    step = SECONDS * RATE // 50
    control = Qt.KeyboardModifier.ControlModifier
    for key, modifiers, position in (
        (Key.Key_Right, NO_MODIFIER, 5 * RATE + step),
        (Key.Key_Left, NO_MODIFIER, 5 * RATE),
        (Key.Key_Right, control, 5 * RATE + RATE // 100),
        (Key.Key_End, NO_MODIFIER, SECONDS * RATE),
        (Key.Key_Right, NO_MODIFIER, SECONDS * RATE),
        (Key.Key_Home, NO_MODIFIER, 0),
        (Key.Key_Left, NO_MODIFIER, 0),
    ):
        with qtbot.waitSignal(view.seek_requested) as asked:
            QTest.keyClick(view, key, modifiers)
        assert asked.args == [position]


def test_the_keyboard_chooses(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view()
    for position, key, chosen in (
        (2 * RATE, Key.Key_BracketLeft, Range(2 * RATE, SECONDS * RATE)),
        (6 * RATE, Key.Key_BracketRight, Range(2 * RATE, 6 * RATE)),
        (6 * RATE, Key.Key_Backslash, None),
    ):
        view.set_position(position)
        with qtbot.waitSignal(view.range_committed) as committed:
            QTest.keyClick(view, key)
        assert committed.args == [chosen]
        assert view.range == chosen
    view.set_position(5 * RATE)
    shift = Qt.KeyboardModifier.ShiftModifier
    step = SECONDS * RATE // 50
    for _ in range(3):
        QTest.keyClick(view, Key.Key_Right, shift)
    assert view.range == Range(5 * RATE, 5 * RATE + 3 * step)
    QTest.keyClick(view, Key.Key_Left, shift)
    assert view.range == Range(5 * RATE, 5 * RATE + 2 * step)


def test_other_keys_are_left_to_the_window(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view()
    parent = _Keys()
    qtbot.addWidget(parent)
    view.setParent(parent)
    for key in (Key.Key_Space, Key.Key_Escape, Key.Key_L, Key.Key_Left):
        QTest.keyClick(view, key)
    assert parent.keys == [Key.Key_Space, Key.Key_Escape, Key.Key_L]


# Zoom and scroll


def test_the_wheel_zooms_at_the_pointer(make_view: MakeView) -> None:
    view = make_view()
    bar = view.findChild(QScrollBar)
    assert bar is not None
    assert bar.isHidden()
    under = view.view.sample(375)
    turn(view, 375, 4)
    assert view.view.span < SECONDS * RATE / 2
    assert view.view.x(under) == pytest.approx(375)
    assert not bar.isHidden()
    turn(view, 10, -9)
    assert (view.view.start, view.view.end) == (0, SECONDS * RATE)
    assert bar.isHidden()


def test_shift_and_wheel_scrolls(make_view: MakeView) -> None:
    view = make_view()
    view.zoom(4, 5 * RATE)
    start = view.view.start
    turn(view, 200, -1, shift=True)
    assert view.view.start == pytest.approx(start + 0.15 * view.view.span)
    turn(view, 200, 100, shift=True)
    assert view.view.start == 0


def test_keys_zoom_around_the_playhead(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view()
    view.set_position(2 * RATE)
    QTest.keyClick(view, Key.Key_Plus)
    QTest.keyClick(view, Key.Key_Plus, Qt.KeyboardModifier.ControlModifier)
    assert view.view.span == pytest.approx(SECONDS * RATE / 1.25**2)
    assert view.view.x(2 * RATE) == pytest.approx(100)
    QTest.keyClick(view, Key.Key_PageDown)
    assert view.view.end == pytest.approx(SECONDS * RATE)
    QTest.keyClick(view, Key.Key_Minus)
    QTest.keyClick(view, Key.Key_0)
    assert view.view.span == SECONDS * RATE


def test_the_scroll_bar_moves_the_view(make_view: MakeView) -> None:
    view = make_view()
    view.zoom(10, 0)
    bar = view.findChild(QScrollBar)
    assert bar is not None
    bar.setValue(bar.maximum())
    assert view.view.end == pytest.approx(SECONDS * RATE, abs=1)


def test_the_page_turns_when_the_playhead_leaves(make_view: MakeView) -> None:
    view = make_view()
    view.zoom(5, 0)
    view.set_position(int(1.99 * RATE))
    assert view.view.start == 0
    view.set_position(int(2.01 * RATE))
    assert view.view.start == int(2.01 * RATE)
    view.scroll_by(2)
    away = view.view.start
    view.set_position(int(2.05 * RATE))
    assert view.view.start == away


def test_a_range_can_be_brought_into_view(make_view: MakeView) -> None:
    view = make_view()
    view.show_range(Range(4 * RATE, 5 * RATE))
    assert view.view.start == pytest.approx(3.9 * RATE)
    assert view.view.end == pytest.approx(5.1 * RATE)


def test_a_strip_lets_the_list_scroll(make_view: MakeView, qtbot: QtBot) -> None:
    view = make_view(compact=True)
    assert not turn(view, 100, 3).isAccepted()
    assert view.view.span == SECONDS * RATE
    drag(view, 100, 300)
    assert view.range is None
    with qtbot.waitSignal(view.seek_requested):
        QTest.mouseClick(view, LEFT, NO_MODIFIER, QPoint(100, 10))
    assert view.focusPolicy() == Qt.FocusPolicy.NoFocus


@dataclass
class Silence:
    """Half a day of it, which no test could hold in memory."""

    rate: int = 48_000
    length: int = 12 * 3600 * 48_000
    is_finished: bool = True

    def read(self, start: int, count: int) -> NDArray[np.float32]:
        return np.zeros(max(0, min(count, self.length - start)), np.float32)

    def peaks(self, start: int, end: int, columns: int) -> Peaks:
        nothing = np.zeros(columns, np.float32)
        return Peaks(nothing, nothing)


def test_half_a_day_is_handled_to_the_sample(
    qtbot: QtBot, theme: Appearance, timer: LiveTimer, pool: QThreadPool
) -> None:
    view = WaveformView(timer, pool)
    qtbot.addWidget(view)
    view.resize(WIDTH, HEIGHT)
    source = Silence()
    view.set_source(source)
    view.set_range(Range(10, source.length - 10))
    view.set_suggestion(Range(1000, source.length // 2))
    view.set_position(source.length - 1)
    last = source.length - 1
    while view.view.span > 40:
        view.zoom(4, last)
        view.grab()
        view.set_position(0)
        view.set_position(last)
    assert view.view.end == source.length
    QTest.mouseClick(view, LEFT, NO_MODIFIER, QPoint(WIDTH - 1, 80))
    assert view.position is not None
    assert abs(view.position - source.length) <= 2


# Growth


def test_audio_is_seen_while_it_is_made(
    make_view: MakeView, timer: LiveTimer, qtbot: QtBot
) -> None:
    take = TakeBuffer(RATE)
    view = make_view(take)
    assert timer.is_running
    take.append(tone(1))
    qtbot.waitUntil(lambda: view.view.span == RATE)
    view.set_expected(4 * RATE)
    assert view.view.span == 4 * RATE
    take.append(tone(1))
    qtbot.waitUntil(lambda: DARK.wave in column(view.grab().toImage(), 240))
    assert DARK.wave not in column(view.grab().toImage(), 300)
    take.append(tone(3))
    take.finish()
    qtbot.waitUntil(lambda: view.view.span == 5 * RATE)
    qtbot.waitUntil(lambda: not timer.is_running)


def test_growth_leaves_a_zoomed_view_alone(make_view: MakeView, qtbot: QtBot) -> None:
    take = TakeBuffer(RATE)
    take.append(tone(4))
    view = make_view(take)
    view.zoom(4, RATE)
    before = view.view
    take.append(tone(4))
    view.refresh()
    assert view.view == before
    view.fit()
    assert view.view.span == 8 * RATE


def test_the_timer_rests_when_its_views_are_gone(
    make_view: MakeView, timer: LiveTimer, qtbot: QtBot
) -> None:
    view = make_view(TakeBuffer(RATE))
    assert timer.is_running
    view.deleteLater()
    qtbot.waitUntil(lambda: not timer.is_running)


# Spectrogram


def test_a_tone_lies_at_its_frequency() -> None:
    frequency = 21 * RATE / 256  # the middle of a bin
    source = TakeBuffer.of(tone(1, frequency, 0.05), RATE)
    picture = compute(source, Section(0, RATE, RATE, 50, 120), lambda: False)
    assert picture is not None
    assert picture.shape == (120, 50)
    expected = 119 * (1 - float(mel(frequency) / mel(top_frequency(RATE))))
    assert np.abs(picture[:, 10:40].argmax(axis=0) - expected).max() <= 1


def test_loudness_is_told_apart() -> None:
    def loudest(amplitude: float) -> int:
        source = TakeBuffer.of(tone(1, amplitude=amplitude), RATE)
        picture = compute(source, Section(0, RATE, RATE, 20, 64), lambda: False)
        assert picture is not None
        return int(picture[:, 10].max())

    assert loudest(0.1) - loudest(0.01) == pytest.approx(20 / 75 * 255, abs=2)
    assert loudest(0.0) == 0


def test_an_unwanted_spectrogram_is_given_up() -> None:
    source = TakeBuffer.of(tone(1), RATE)
    assert compute(source, Section(0, RATE, RATE, 50, 20), lambda: True) is None


def test_spectrograms_are_kept(pool: QThreadPool, qtbot: QtBot) -> None:
    kept = Spectrograms(pool)
    kept.set_source(TakeBuffer.of(tone(1), RATE))
    section = Section(0, RATE, RATE, 50, 20)
    assert kept.find(section) is None
    assert kept.is_working
    qtbot.waitUntil(kept.collect)
    picture = kept.find(section)
    assert picture is not None
    assert kept.find(section) is picture
    assert not kept.is_working
    kept.set_source(None)
    assert kept.latest() is None
    assert kept.find(section) is None
    assert not kept.is_working


def test_the_view_changes_to_the_spectrogram_and_back(
    make_view: MakeView, timer: LiveTimer, qtbot: QtBot
) -> None:
    view = make_view()
    inside = view.rect().adjusted(3, 3, -3, -3)  # the border tells about the focus
    wave = view.grab(inside).toImage()
    view.show_spectrogram(True)
    assert view.accessibleName() == "Spectrogram"
    loud = QColor(DARK.heat[-1])

    def shows_tone() -> bool:
        image = view.grab().toImage()
        y = HEIGHT - (HEIGHT - RULER) * float(mel(1000.0) / mel(top_frequency(RATE)))
        around = [image.pixelColor(250, round(y) + offset) for offset in (-1, 0, 1)]
        return any(abs(colour.red() - loud.red()) < 30 for colour in around)

    qtbot.waitUntil(shows_tone)
    qtbot.waitUntil(lambda: not timer.is_running)
    view.show_spectrogram(False)
    assert view.grab(inside).toImage() == wave


def test_a_strip_has_no_spectrogram(make_view: MakeView) -> None:
    view = make_view(compact=True)
    view.show_spectrogram(True)
    assert not view.shows_spectrogram
