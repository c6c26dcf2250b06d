"""Photographs the studio in its states, for the documentation and for looking at it.

    xvfb-run -a .venv/bin/python -m tools.screenshots docs/pictures --theme dark
    xvfb-run -a -s "-screen 0 2600x1700x24" \
        .venv/bin/python -m tools.screenshots /tmp/large --scale 2

It runs the real window and the real engine over the small checkpoints of the tests, in a home
folder of its own, so it needs no model; what these checkpoints say is noise.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import soundfile
from PySide6.QtCore import QEventLoop, QSize, QThreadPool, QTimer
from PySide6.QtWidgets import QApplication, QDialog

from app.audio.backend import Frames
from app.audio.null import NullBackend
from app.core.paths import StudioPaths, studio_paths
from app.core.settings import Theme
from app.core.trash import Trash
from app.core.voice_parts import VoiceParts
from app.core.voice_record import Consent, VoiceDetails, VoiceKind
from app.core.voices import VoiceLibrary
from app.jobs.work import Openers
from app.main import make_application
from app.studio.models import ModelStatus
from app.studio.studio import Studio
from app.ui.blend_dialog import BlendDialog
from app.ui.live import LiveTimer
from app.ui.main_window import MainWindow
from app.ui.theme import Appearance
from engine import Family, RequestError, Sampling

DATA = Path(__file__).parents[1] / "tests" / "golden" / "data"
BASE = "qwen-talker-1.7b-base-F32.gguf"
SPEAKERS = "qwen-talker-0.6b-customvoice-F32.gguf"
DESIGN = "qwen-talker-1.7b-voicedesign-F32.gguf"
CODEC = "qwen-tokenizer-12hz-F32.gguf"
WIDTH = 80  # of the small base checkpoint
PATIENCE = 60.0  # seconds that a state may take to come about

VOICES = (
    ("The innkeeper", VoiceKind.DESIGNED, ("game", "tavern"), "english"),
    ("Ada, audiobook", VoiceKind.CLONE, ("narrator",), "english"),
    ("Großvater Willi", VoiceKind.CLONE, ("family",), "german"),
    ("Captain Ruiz", VoiceKind.DESIGNED, ("game",), "spanish"),
    ("Between Ada and Willi", VoiceKind.BLEND, (), "english"),
    ("Newsreader", VoiceKind.CLONE, ("narrator", "news"), "english"),
    ("Zoë", VoiceKind.CLONE, ("family",), "french"),
)
LINE = "The kettle was singing when the rain began. Nobody had thought of closing the shutters."


class Photographer:
    """Brings the window into a state, and saves a picture of it."""

    def __init__(self, home: Path, target: Path, theme: Theme, size: QSize) -> None:
        self._target = target
        paths = studio_paths(home)
        self._models = paths.models
        self.studio = Studio(paths, NullBackend(microphone=_speechlike), Openers())
        self.studio.preferences.update(theme=theme, takes_per_press=3)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        self._appearance = Appearance(application, theme)
        self._pool = QThreadPool()
        self._timer = LiveTimer()
        self.window = MainWindow(self.studio, self._appearance, self._timer, self._pool)
        self.window.resize(size)
        self.window.show()
        self.studio.begin()
        self.wait(lambda: self.studio.models.found is not None)
        self.rest()

    def close(self) -> None:
        """End the studio."""
        self.window.close()
        self.studio.close()
        self.window.deleteLater()
        QApplication.processEvents()

    def picture(self, name: str) -> None:
        """Save what the window shows, or the dialog in front of it."""
        self.rest()
        dialogs = [
            widget
            for widget in QApplication.topLevelWidgets()
            if isinstance(widget, QDialog) and widget.isVisible()
        ]
        shown = dialogs[-1] if dialogs else self.window
        path = self._target / f"{name}.png"
        if not shown.grab().save(str(path)):
            raise OSError(f"{path} could not be written")
        for dialog in dialogs:
            dialog.close()
        self.rest(0.1)

    def wait(self, condition: Callable[[], bool]) -> None:
        """Let the studio work until something has come about."""
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError("The studio did not come into the state to be photographed.")
            self.rest(0.02)

    def rest(self, seconds: float = 0.4) -> None:
        """Let the studio work for a while."""
        loop = QEventLoop()
        QTimer.singleShot(round(seconds * 1000), loop.quit)
        loop.exec()

    def load(self, name: str) -> None:
        """Load one of the small models."""
        self.studio.models.load_talker(self._models / name)
        state = self.studio.models
        self.wait(
            lambda: (
                state.state.status is ModelStatus.LOADED
                and state.state.pair is not None
                and state.state.pair.talker.name == name
            )
        )

    def write(self, tab: str, frames: int = 24, **values: object) -> None:
        """Fill in a tab; what is spoken there ends after so many frames."""
        session = self.studio.session
        knobs = replace(Sampling(), max_frames=frames)
        draft = replace(session.draft(tab), sampling=knobs, **values)  # type: ignore[arg-type]
        session.set_draft(tab, draft)

    def speak(self, takes: int) -> None:
        """Speak what the tab says, to the end."""
        self.window.speak(takes)
        self.wait(lambda: not self.studio.speech.live)


def photograph(home: Path, target: Path, theme: Theme, size: QSize) -> None:
    """All pictures of one theme."""
    paths = studio_paths(home)
    empty = Photographer(home / "fresh", target, theme, size)
    empty.picture("empty")
    empty.window.dialogs.show_models(Family.BASE)
    empty.picture("no-models")
    empty.close()

    fill(paths)
    camera = Photographer(home, target, theme, size)
    studio, window = camera.studio, camera.window
    window.dialogs.show_models(Family.BASE)
    camera.picture("models")
    camera.load(BASE)
    voices = sorted(studio.voices.listing.voices, key=lambda voice: voice.name)
    studio.voices.select(next(voice.id for voice in voices if voice.name.startswith("Ada")))
    camera.write("clone", text=LINE, language="english")
    window.clone.show_face("speak")
    camera.speak(2)
    studio.session.star(studio.session.takes[0].id, True)
    studio.session.set_note(studio.session.takes[1].id, "warmer")
    camera.picture("clone-speak")
    camera.write("clone", frames=2000)
    window.speak(1)
    camera.wait(lambda: studio.speech.state.made > 3.0)
    camera.picture("speaking")
    window.stop()
    camera.wait(lambda: not studio.speech.live)

    window.clone.open_recording(DATA / "clip_b.wav")
    camera.wait(lambda: studio.cloning.state.report is not None and not studio.cloning.state.busy)
    studio.cloning.set_transcript("A clip that was made for this picture.")
    studio.cloning.set_name("Aunt Mirjam")
    camera.picture("clone-new")
    window.clone.toggle_recording()
    camera.wait(lambda: studio.sound.is_recording)
    camera.rest(2.0)
    camera.picture("recording")
    window.clone.toggle_recording()
    camera.wait(lambda: not studio.sound.is_recording)

    window.tabs.setCurrentIndex(1)
    camera.picture("speakers-other-model")
    camera.load(SPEAKERS)
    window.speakers.requests_with_all()
    speaker = window.speakers.cards[0].name
    camera.write("speakers", text=LINE, speaker=speaker, instruct="quietly, as if at night")
    camera.speak(1)
    camera.picture("speakers")

    window.tabs.setCurrentIndex(2)
    camera.load(DESIGN)
    camera.write(
        "design",
        text="Come in, come in, and shut the door behind you.",
        instruct="A middle-aged man with a gravelly, low voice, speaking slowly, sounding kind.",
    )
    camera.speak(4)
    camera.picture("design")
    studio.problem.emit(
        RequestError(
            "This voice was made for the 1.7B model; the 0.6B model cannot read it.",
            "Make it again from its saved clip.",
            "voice-2048.spk, loaded width 1024",
        )
    )
    camera.picture("problem")
    window.banner.dismiss()

    window.dialogs.show_preferences()
    camera.picture("preferences")
    window.dialogs.show_help()
    camera.picture("keys")
    window.dialogs.show_about()
    camera.picture("about")
    blend = BlendDialog(voices, voices[0], voices[3], window)
    blend.open()
    camera.picture("blend")
    camera.close()


def fill(paths: StudioPaths) -> None:
    """Models, and voices as somebody might have them."""
    paths.models.mkdir(parents=True)
    for name in (BASE, SPEAKERS, DESIGN, CODEC):
        shutil.copy(DATA / name, paths.models)
    library = VoiceLibrary(paths.voices, Trash(paths.data / "trash"))
    clip, _ = soundfile.read(DATA / "clip_a.wav", dtype="float32")
    random = np.random.default_rng(3)
    for number, (name, kind, tags, language) in enumerate(VOICES):
        details = VoiceDetails(
            name,
            kind,
            language=language,
            tags=tags,
            favourite=number == 1,
            consent=Consent("It is my own voice.", "A. Example", "2026-01-01"),
        )
        embedding = random.normal(size=WIDTH).astype(np.float32)
        library.create(details, VoiceParts(trimmed=clip, transcript=LINE, embeddings=(embedding,)))
    (paths.voices / "half-copied").mkdir()
    (paths.voices / "half-copied" / "voice.json").write_text("{")


def _speechlike(start: int, count: int) -> Frames:
    """What the microphone hears: a buzz in syllables, [count, 1]."""
    seconds = (start + np.arange(count)) / 48_000
    syllable = np.clip(np.sin(2 * np.pi * 3.1 * seconds), 0, 1) ** 0.5
    phrase = (np.sin(2 * np.pi * 0.27 * seconds) > -0.5).astype(float)
    buzz = np.sin(2 * np.pi * 140 * seconds) + 0.5 * np.sin(2 * np.pi * 980 * seconds)
    hiss = np.random.default_rng(start).normal(scale=0.002, size=count)
    return np.asarray(0.25 * buzz * syllable * phrase + hiss, np.float32)[:, None]


def main() -> int:
    """Read the options and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("target", type=Path, help="folder for the pictures")
    parser.add_argument("--theme", choices=("dark", "light"), default="dark")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--size", default="1280x820", help="of the window, before scaling")
    given = parser.parse_args()
    width, height = (int(part) for part in given.size.split("x"))
    given.target.mkdir(parents=True, exist_ok=True)
    if sys.platform == "linux" and not os.environ.get("DISPLAY"):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = make_application(given.scale)
    with tempfile.TemporaryDirectory(prefix="studio-pictures-") as home:
        photograph(Path(home), given.target, Theme(given.theme), QSize(width, height))
    del application
    return 0


if __name__ == "__main__":
    sys.exit(main())
