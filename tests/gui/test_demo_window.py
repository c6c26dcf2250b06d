"""The first start: the window opens with a voice that speaks, and says what it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QThreadPool
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from app.audio.null import NullBackend
from app.core.paths import studio_paths
from app.core.takes import Take, TakeEnding
from app.core.voice_parts import VoiceParts
from app.core.voice_record import LibraryVoice, Likeness, VoiceDetails, VoiceKind
from app.jobs.work import Openers
from app.studio.models import ModelStatus
from app.studio.speech import SpeechPhase
from app.studio.studio import Studio
from app.ui.clone_tab import NEW
from app.ui.family_gate import DEMO_SENTENCES, WITH_DEMO, FamilyGate
from app.ui.live import LiveTimer
from app.ui.main_window import CLONE, SPEAKERS, MainWindow
from app.ui.model_dialog import ModelDialog
from app.ui.no_models import NoModels
from app.ui.speakers_tab import TAB
from app.ui.theme import Appearance
from engine import Family, ModelPair
from engine.types import DEMO_WIDTH


@pytest.fixture
def studio(qapp: QApplication, studio_home: Path, demo_voice: ModelPair) -> Iterator[Studio]:
    made = Studio(studio_paths(studio_home), NullBackend(), Openers())
    made.preferences.update(device="cpu")
    yield made
    assert made.close()
    made.deleteLater()


@pytest.fixture
def window(
    studio: Studio, theme: Appearance, timer: LiveTimer, pool: QThreadPool, qtbot: QtBot
) -> Iterator[MainWindow]:
    window = MainWindow(studio, theme, timer, pool)
    qtbot.addWidget(window)
    window.show()
    studio.models.load_last()
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED, timeout=60_000)
    yield window
    studio.sound.stop()


def test_the_first_line_is_spoken_before_anything_is_chosen(
    window: MainWindow, studio: Studio, qtbot: QtBot
) -> None:
    assert window.tabs.currentIndex() == SPEAKERS
    gate = window.speakers.findChild(FamilyGate)
    assert gate is not None
    assert gate.isVisible()
    assert gate.text == DEMO_SENTENCES[Family.CUSTOM_VOICE]
    draft = studio.session.draft(TAB)
    studio.session.set_draft(
        TAB, replace(draft, text="Please turn down the music a little.", seed=1)
    )
    window.speak(1)
    qtbot.waitUntil(lambda: len(studio.session.takes) == 1, timeout=60_000)
    qtbot.waitUntil(lambda: studio.speech.state.phase is SpeechPhase.IDLE, timeout=60_000)
    (take,) = studio.session.takes
    assert (take.request.speaker, take.ending) == ("clara", TakeEnding.SPOKEN)
    assert take.frames > 12  # a second


def test_the_next_start_prefers_a_large_model(
    window: MainWindow, studio: Studio, data: Path, qtbot: QtBot
) -> None:
    assert studio.preferences.settings.talker is None
    folder = studio.paths.models
    folder.mkdir(parents=True)
    for name in ("qwen-talker-1.7b-base-F32.gguf", "qwen-tokenizer-12hz-F32.gguf"):
        (folder / name).write_bytes((data / name).read_bytes())
    with qtbot.waitSignal(studio.models.found_changed):
        studio.models.look()
    studio.models.load_last()
    qtbot.waitUntil(
        lambda: (pair := studio.models.state.pair) is not None and pair.talker.parent == folder
    )


def test_the_way_to_the_large_models_is_told(
    window: MainWindow, studio: Studio, demo_voice: ModelPair, qtbot: QtBot
) -> None:
    dialog = ModelDialog(studio.models, studio.preferences, parent=window)
    qtbot.addWidget(dialog)
    dialog.show()
    page = dialog.findChild(NoModels)
    assert page is not None
    assert page.isVisible()
    assert "There is no large model yet" in [each.text() for each in page.findChildren(QLabel)]
    button = next(
        one for one in dialog.findChildren(QPushButton) if one.text().startswith("Load the demo")
    )
    studio.models.unload()
    button.click()
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED, timeout=60_000)
    assert studio.models.state.pair == demo_voice


def test_a_recording_is_cloned_without_a_download(
    window: MainWindow, studio: Studio, demo_voice: ModelPair, qtbot: QtBot
) -> None:
    words = "The baby is sleeping, so please speak softly."
    clip = Path(__file__).parents[1] / "voices" / "man.flac"
    made: list[LibraryVoice] = []
    parts = VoiceParts(clip=clip, transcript=words)
    studio.voices.create(VoiceDetails("George", VoiceKind.CLONE), parts, made.append)
    qtbot.waitUntil(lambda: bool(made))
    qtbot.waitUntil(lambda: not studio.designing.pending, timeout=60_000)  # learnt by itself
    voice = studio.voices.listing.find(made[0].id)
    assert voice is not None
    assert (voice.files.widths, voice.files.codecs) == ((DEMO_WIDTH,), ("demonstration",))
    studio.voices.select(voice.id)
    window.tabs.setCurrentIndex(CLONE)
    gate = window.clone.findChild(FamilyGate)
    assert gate is not None
    assert gate.text == WITH_DEMO

    def spoken() -> Take:
        count = len(studio.session.takes)
        window.speak(1)
        qtbot.waitUntil(lambda: len(studio.session.takes) > count, timeout=60_000)
        qtbot.waitUntil(lambda: studio.speech.state.phase is SpeechPhase.IDLE, timeout=60_000)
        return studio.session.takes[0]  # the latest

    draft = studio.session.draft("clone")
    studio.session.set_draft("clone", replace(draft, text="Please turn down the music.", seed=1))
    for likeness in (Likeness.BEST, Likeness.STEADY):
        draft = studio.session.draft("clone")
        studio.session.set_draft("clone", replace(draft, likeness=likeness))
        take = spoken()  # the first one loads the model for it
        assert (take.codec, take.ending) == ("demonstration", TakeEnding.SPOKEN)
        assert take.frames > 12  # a second
        assert take.request.likeness is Likeness.STEADY  # it knows no other
    pair = studio.models.state.pair
    assert pair is not None
    assert pair.talker == demo_voice.talker.with_name("demo-talker-clone-Q8_0.gguf")
    assert gate.text == DEMO_SENTENCES[Family.BASE]


def test_an_official_tokenizer_waits_for_its_talker(
    window: MainWindow, studio: Studio, demo_voice: ModelPair, data: Path, qtbot: QtBot
) -> None:
    with qtbot.waitSignal(studio.models.notice) as told:
        studio.models.open_file(data / "qwen-tokenizer-12hz-F32.gguf")
    assert "with the next model" in told.args[0].sentence
    assert studio.models.state.status is ModelStatus.LOADED
    assert studio.models.state.pair == demo_voice


def test_somebody_who_records_is_left_alone(
    studio: Studio, theme: Appearance, timer: LiveTimer, pool: QThreadPool, qtbot: QtBot
) -> None:
    window = MainWindow(studio, theme, timer, pool)
    qtbot.addWidget(window)
    window.show()
    window.clone.show_face(NEW)
    studio.models.load_last()
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED, timeout=60_000)
    assert window.tabs.currentIndex() == CLONE
    studio.sound.stop()
