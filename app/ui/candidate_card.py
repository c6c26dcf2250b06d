"""One candidate of a designed voice: listen to it, and lock it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.audio.take_buffer import TakeBuffer
from app.core.takes import Take
from app.ui.controls import muted_label, tool_button
from app.ui.icons import icon
from app.ui.labels import ElidedLabel
from app.ui.live import LiveTimer
from app.ui.metrics import CAPTION, GAP, TIGHT, scaled_font
from app.ui.take_strip import BADGES, SPEAKING, WAITING
from app.ui.time_axis import clock
from app.ui.waveform import WaveformView

LEAST_WIDTH = 224
WAVE_HEIGHT = 40


class CandidateCard(QFrame):
    """A take of a design with its seed."""

    play_requested = Signal(str)  # id of the take; or to pause, when it is heard
    seek_requested = Signal(str, int)  # id, sample to play from
    lock_requested = Signal(str)
    seed_requested = Signal(str)  # keep this seed for the next try

    def __init__(
        self,
        number: int,
        take: Take,
        buffer: TakeBuffer,
        timer: LiveTimer,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._take = take
        self._number = number
        self._is_playing = False
        self._is_live = True
        self.setProperty("panel", True)
        self.setMinimumWidth(LEAST_WIDTH)
        self.setAccessibleName(f"Candidate {number}, seed {take.seed}")
        heading = QLabel(f"Candidate {number}", self)
        heading.setFont(scaled_font(heading, 1.0, bold=True))
        self._state = muted_label(parent=self)
        self._state.setFont(scaled_font(self._state, CAPTION))
        self._wave = WaveformView(timer, compact=True, parent=self)
        self._wave.setMinimumHeight(WAVE_HEIGHT)
        self._wave.set_source(buffer)
        self._wave.seek_requested.connect(self._on_seek)
        self._play = tool_button("play", f"Play candidate {number}", self)
        self._play.clicked.connect(self._on_play)
        self._seed = tool_button("pin", "", self)
        self._seed.setAccessibleName(f"Pin the seed {take.seed}")
        self._seed.setToolTip(
            f"Pin the seed {take.seed}, so that the next try draws the same voice"
        )
        self._seed.clicked.connect(lambda: self.seed_requested.emit(take.id))
        seed = ElidedLabel(str(take.seed), parent=self)
        seed.setProperty("muted", True)
        seed.setAccessibleName(f"Seed {take.seed}")
        seed.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._lock = QPushButton(icon("lock"), "Lock…", self)
        self._lock.setAccessibleName(f"Lock candidate {number} as a voice")
        self._lock.setToolTip("Keep this voice in the library, to speak any text with it")
        self._lock.clicked.connect(lambda: self.lock_requested.emit(take.id))
        self._locked = ElidedLabel(parent=self)
        self._locked.setFont(scaled_font(self._locked, CAPTION, bold=True))
        self._locked.hide()
        head = QHBoxLayout()
        head.addWidget(heading)
        head.addStretch(1)
        head.addWidget(self._state)
        middle = QHBoxLayout()
        middle.setSpacing(TIGHT)
        middle.addWidget(self._play, 0, Qt.AlignmentFlag.AlignVCenter)
        middle.addWidget(self._wave, 1)
        foot = QHBoxLayout()
        foot.setSpacing(TIGHT)
        foot.addWidget(self._seed)
        foot.addWidget(seed, 1)
        foot.addWidget(self._lock)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(GAP, GAP, GAP, GAP)
        layout.setSpacing(TIGHT)
        layout.addLayout(head)
        layout.addLayout(middle)
        layout.addLayout(foot)
        layout.addWidget(self._locked)
        self.show_progress(buffer.seconds)

    @property
    def take(self) -> Take:
        return self._take

    @property
    def can_be_locked(self) -> bool:
        return self._lock.isEnabled()

    def set_expected(self, seconds: float) -> None:
        """Leave room in the waveform for so many seconds."""
        self._wave.set_expected(int(seconds * self._take.sample_rate))

    def show_progress(self, seconds: float, *, waits: bool = False) -> None:
        """Say how far the candidate is, or that it waits for its turn."""
        self._lock.setEnabled(not self._is_live)
        word, sentence = BADGES.get(self._take.ending, ("", ""))
        if self._is_live:
            word, sentence = WAITING if waits else SPEAKING, ""
        shown = (word,) if self._is_live and waits else (word, clock(seconds))
        self._state.setText(" · ".join(filter(None, shown)))
        self._state.setToolTip(" ".join(filter(None, (sentence, self._take.remark))))

    def show_take(self, take: Take) -> None:
        """Show the whole take."""
        self._take, self._is_live = take, False
        self._wave.set_expected(0)
        self.show_progress(take.seconds)

    def show_locked(self, names: Sequence[str]) -> None:
        """Say which voices of the library it was locked as."""
        self._locked.setText(f"Locked as {' and '.join(names)}" if names else "")
        self._locked.setVisible(bool(names))
        self.setAccessibleDescription(self._locked.text())

    def show_playing(self, is_playing: bool, position: int | None) -> None:
        """Show whether this candidate is heard, and where."""
        if is_playing != self._is_playing:
            self._is_playing = is_playing
            self._play.setIcon(icon("pause" if is_playing else "play"))
            text = f"{'Pause' if is_playing else 'Play'} candidate {self._number}"
            self._play.setToolTip(text)
            self._play.setAccessibleName(text)
        self._wave.set_position(position)

    @Slot()
    def _on_play(self) -> None:
        self.play_requested.emit(self._take.id)

    @Slot(object)
    def _on_seek(self, sample: int) -> None:
        self.seek_requested.emit(self._take.id, sample)
