"""Models are found without waiting for them, one is loaded at a time, and failures leave none."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.core.models import FoundCodec, FoundModels
from app.core.paths import StudioPaths, studio_paths
from app.core.settings import load_settings
from app.jobs.background import Background
from app.jobs.messages import Ended, Stopped
from app.jobs.queue import JobQueue
from app.jobs.work import Speak
from app.studio.models import Models, ModelState, ModelStatus
from app.studio.notes import Note
from app.studio.preferences import SettingsKeeper
from engine import DEMO_SIZE, ExplainedError, Family, ModelFileError, ModelPair, SpeechRequest
from engine.gguf.writer import copied_metadata, pack_metadata, write_gguf
from engine.types import DEMO_CODEC, DEMO_WIDTH
from tests.fakes import (
    CODEC,
    CUSTOM_VOICE,
    DATA,
    FakeModels,
    FakeOpener,
    FakeSink,
    Pace,
    Waits,
    fake_models,
    fake_opener,
)

NONE, LOADING, LOADED = ModelStatus.NONE, ModelStatus.LOADING, ModelStatus.LOADED


@dataclass
class Rig:
    """The controller with all it needs, and all it has said."""

    paths: StudioPaths
    opener: FakeOpener
    background: Background
    settings: SettingsKeeper
    queue: JobQueue
    models: Models
    states: list[ModelState] = field(default_factory=list)
    problems: list[ExplainedError] = field(default_factory=list)
    notices: list[Note] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)

    def listen(self) -> Rig:
        self.models.changed.connect(self.states.append)
        self.models.problem.connect(self.problems.append)
        self.models.notice.connect(self.notices.append)
        self.queue.ended.connect(self.ended.append)
        return self

    @property
    def statuses(self) -> list[ModelStatus]:
        """Without the steps of progress."""
        found: list[ModelStatus] = []
        for state in self.states:
            if not found or found[-1] != state.status:
                found.append(state.status)
        return found


@pytest.fixture
def rig(qtbot: QtBot, studio_home: Path) -> Iterator[Rig]:
    paths = studio_paths()
    opener, background = fake_opener(), Background()
    settings = SettingsKeeper(paths.config / "settings.json", background)
    queue = JobQueue(opener.openers)
    models = Models(paths, settings, background, queue)
    yield Rig(paths, opener, background, settings, queue, models).listen()
    assert queue.close()
    settings.close()
    assert background.close()


@pytest.fixture
def shelf(rig: Rig) -> FakeModels:
    return fake_models(rig.paths.models)


def loaded(rig: Rig, qtbot: QtBot) -> ModelState:
    qtbot.waitUntil(lambda: rig.models.state.status is LOADED)
    return rig.models.state


def settle(rig: Rig, qtbot: QtBot) -> None:
    """Let everything come to its end."""
    qtbot.waitUntil(lambda: not rig.background.is_busy and len(rig.queue) == 0)


def test_models_are_found_in_the_background(rig: Rig, shelf: FakeModels, qtbot: QtBot) -> None:
    looking: list[bool] = []
    found: list[FoundModels] = []
    rig.models.looking_changed.connect(looking.append)
    rig.models.found_changed.connect(found.append)
    assert rig.models.found is None
    rig.models.look()
    rig.models.look()  # at once again: only the last one counts
    assert rig.models.is_looking
    settle(rig, qtbot)
    assert looking == [True, False]
    assert found == [rig.models.found]
    assert {talker.family for talker in found[0].talkers} == set(Family)
    assert [talker.path for talker in rig.models.base_talkers] == [shelf.base.talker]
    assert rig.models.codec_for(shelf.custom_voice.talker) == shelf.codec
    assert rig.models.state == ModelState()


def test_the_demonstration_is_offered_last(rig: Rig, shelf: FakeModels, qtbot: QtBot) -> None:
    rig.models.look()
    settle(rig, qtbot)
    found = rig.models.found
    assert found is not None
    (large,) = rig.models.base_talkers
    demo = replace(large, path=Path("/demo.gguf"), size=DEMO_SIZE, width=DEMO_WIDTH)
    rig.models._found = replace(found, talkers=(demo, *found.talkers))
    assert rig.models.base_talkers == (large,)
    for widths in ((), (DEMO_WIDTH, 9999), (large.width, DEMO_WIDTH)):
        assert rig.models.fitting(Family.BASE, widths) == large
    assert rig.models.fitting(Family.BASE, (DEMO_WIDTH,)) == demo
    # a large one that has no tokenizer yet leaves the word to the demonstration voice
    own = FoundCodec(Path("/own.gguf"), 9, DEMO_CODEC)
    demo = replace(demo, codec_name=DEMO_CODEC)
    rig.models._found = replace(found, talkers=(large, demo), codecs=(own,))
    assert rig.models.base_talkers == (demo,)


def test_a_tokenizer_that_failed_with_a_talker_is_not_used_with_it(
    rig: Rig, shelf: FakeModels, qtbot: QtBot, tmp_path: Path
) -> None:
    rig.models.look()
    settle(rig, qtbot)
    wrong = ModelPair(shelf.base.talker, tmp_path / "wrong.gguf")
    rig.opener.error = ModelFileError("They do not belong together.")
    rig.models.load(wrong)
    qtbot.waitUntil(lambda: bool(rig.problems))
    settle(rig, qtbot)
    assert rig.models.state.pair == wrong
    assert rig.models.codec_for(shelf.base.talker) == shelf.codec


def test_a_tokenizer_waits_for_a_talker_that_speaks_its_codes(
    rig: Rig, shelf: FakeModels, qtbot: QtBot, tmp_path: Path
) -> None:
    other = tmp_path / "other.gguf"
    entries = dict(copied_metadata(DATA / CODEC)) | dict(
        pack_metadata([("studio.codec_name", "other")])
    )
    write_gguf(other, list(entries.items()), [])
    with qtbot.waitSignal(rig.models.notice):
        rig.models.open_file(other)
    rig.models.load_talker(shelf.base.talker)
    state = loaded(rig, qtbot)
    assert state.pair == shelf.base  # with the tokenizer whose codes it speaks
    assert not rig.problems


def test_other_folders_are_looked_into_when_they_are_added(
    rig: Rig, qtbot: QtBot, tmp_path: Path
) -> None:
    rig.models.look()
    settle(rig, qtbot)
    assert rig.models.found == FoundModels((rig.paths.models,), (), (), ())
    extra = fake_models(tmp_path / "extra").folder
    rig.settings.update(model_folders=(extra,))
    assert rig.models.folders == (rig.paths.models, extra)
    settle(rig, qtbot)
    assert rig.models.found is not None
    assert len(rig.models.found.talkers) == 3


def test_a_model_is_loaded_and_remembered(rig: Rig, shelf: FakeModels, qtbot: QtBot) -> None:
    rig.models.load(shelf.custom_voice)
    state = loaded(rig, qtbot)
    assert rig.statuses == [LOADING, LOADED]
    first = rig.states[0]
    assert first.description is not None  # known before a byte is read
    assert first.description.family is Family.CUSTOM_VOICE
    reading = [state for state in rig.states if state.total]
    total = sum(path.stat().st_size for path in (shelf.custom_voice.talker, shelf.codec))
    assert (reading[-1].done, reading[-1].total) == (total, total)
    assert state.pair == shelf.custom_voice
    assert state.loaded is not None
    assert state.description == state.loaded.description
    assert (state.loaded.device, state.loaded.precision) == ("cpu", "f32")
    settings = rig.settings.settings
    assert (settings.talker, settings.codec) == (shelf.custom_voice.talker, shelf.codec)
    rig.settings.close()
    assert rig.background.flush()
    assert load_settings(rig.paths.config / "settings.json").settings == settings
    assert not rig.problems


def test_a_second_model_replaces_the_first(rig: Rig, shelf: FakeModels, qtbot: QtBot) -> None:
    for pair in (shelf.base, shelf.custom_voice, shelf.voice_design):
        rig.models.load(pair)
        qtbot.waitUntil(lambda: rig.models.state.status is LOADING)
        assert rig.models.state.pair == pair
        loaded(rig, qtbot)
    assert rig.opener.alive_before == [0, 0, 0]  # never two in memory
    rig.models.unload()
    assert rig.models.state == ModelState()
    settle(rig, qtbot)
    assert all(engine() is None for engine in rig.opener.engines)
    assert not rig.problems


def test_loading_another_stops_the_first(rig: Rig, shelf: FakeModels, qtbot: QtBot) -> None:
    gate = rig.opener.gate = threading.Event()  # set for the second only
    rig.models.load(shelf.base)
    qtbot.waitUntil(lambda: rig.models.state.total > 0)
    rig.models.load(shelf.custom_voice)
    qtbot.waitUntil(lambda: rig.models.state.pair == shelf.custom_voice)
    qtbot.waitUntil(lambda: len(rig.ended) == 1)
    assert isinstance(rig.ended[0], Stopped)
    gate.set()
    assert loaded(rig, qtbot).pair == shelf.custom_voice
    assert rig.statuses == [LOADING, LOADED]  # no word of the one that nobody wants any more
    assert len(rig.opener.engines) == 1
    assert not rig.problems


def test_impatient_choosing_ends_with_the_last(rig: Rig, shelf: FakeModels, qtbot: QtBot) -> None:
    rig.models.look()
    settle(rig, qtbot)
    for turn in range(10):
        rig.models.load(shelf.pairs[turn % 3])
        if turn % 2:
            rig.models.cancel()
    rig.models.load_talker(shelf.voice_design.talker)
    rig.models.load_talker(shelf.base.talker)
    assert loaded(rig, qtbot).pair == shelf.base
    settle(rig, qtbot)
    assert rig.models.state.pair == shelf.base
    assert not any(rig.opener.alive_before)
    assert len({ended.job for ended in rig.ended}) == len(rig.ended)
    assert not rig.problems


def test_loading_stops_what_is_being_spoken(rig: Rig, shelf: FakeModels, qtbot: QtBot) -> None:
    rig.opener.pace = Pace(frames=2000, frame_seconds=0.001)
    rig.models.load(shelf.custom_voice)
    loaded(rig, qtbot)
    sink = FakeSink()
    request = SpeechRequest("Hello.", speaker="ryan", seeds=(1,))
    speaking = rig.queue.submit(Speak(lambda engine, token: request, [sink]))
    qtbot.waitUntil(lambda: sink.samples > 0)
    rig.models.load(shelf.base)
    qtbot.waitUntil(lambda: rig.models.state.pair == shelf.base)
    loaded(rig, qtbot)
    assert [type(ended) for ended in rig.ended if ended.job == speaking] == [Stopped]
    assert sink.endings == [(None, None)]


def test_cancelling_leaves_no_model(rig: Rig, shelf: FakeModels, qtbot: QtBot) -> None:
    rig.opener.gate = threading.Event()  # never set
    rig.models.load(shelf.base)
    qtbot.waitUntil(lambda: rig.models.state.total > 0)
    rig.models.cancel()
    qtbot.waitUntil(lambda: rig.models.state.status is NONE)
    assert rig.models.state == ModelState()
    rig.models.load_talker(shelf.base.talker)
    rig.models.cancel()  # while the files are still being looked at
    settle(rig, qtbot)
    assert rig.models.state == ModelState()
    assert len(rig.opener.opened) == 1
    assert rig.settings.settings.talker is None
    assert not rig.problems


def test_a_load_that_is_cancelled_before_it_begins_releases_the_model_before_it(
    rig: Rig, shelf: FakeModels, qtbot: QtBot
) -> None:
    rig.models.load(shelf.custom_voice)
    loaded(rig, qtbot)
    gate = threading.Event()
    waits = Waits(gate)
    rig.queue.submit(waits)
    qtbot.waitUntil(waits.has_begun.is_set)  # before that a new load would take it out again
    rig.models.load(shelf.base)
    qtbot.waitUntil(lambda: len(rig.queue) == 2)
    rig.models.cancel()
    assert rig.models.state == ModelState()
    gate.set()
    settle(rig, qtbot)
    (engine,) = rig.opener.engines
    assert engine() is None


def test_a_failed_load_says_what_failed(rig: Rig, shelf: FakeModels, qtbot: QtBot) -> None:
    rig.models.load(shelf.base)
    loaded(rig, qtbot)
    rig.opener.error = MemoryError()
    rig.models.load(shelf.voice_design)
    qtbot.waitUntil(lambda: bool(rig.problems))
    settle(rig, qtbot)
    state = rig.models.state
    assert state.status is NONE
    assert (state.pair, state.loaded) == (shelf.voice_design, None)
    assert state.description is not None
    assert state.description.family is Family.VOICE_DESIGN
    assert rig.problems == [state.problem]
    assert "not enough memory" in rig.problems[0].message
    assert rig.settings.settings.talker == shelf.base.talker  # the last that could be loaded
    assert all(engine() is None for engine in rig.opener.engines)
    rig.opener.error = None
    rig.models.load(shelf.voice_design)
    assert loaded(rig, qtbot).problem is None


def test_a_damaged_file_leaves_the_model_before(rig: Rig, shelf: FakeModels, qtbot: QtBot) -> None:
    rig.models.load(shelf.base)
    before = loaded(rig, qtbot)
    cut = rig.paths.models / "cut.gguf"
    cut.write_bytes(shelf.base.talker.read_bytes()[:9000])
    for number, act in enumerate((rig.models.open_file, rig.models.load_talker), 1):
        act(cut)
        settle(rig, qtbot)
        assert len(rig.problems) == number
        assert "cut.gguf" in rig.problems[-1].message
    rig.models.load(ModelPair(cut, shelf.codec))
    settle(rig, qtbot)
    assert len(rig.problems) == 3
    assert rig.models.state == before


def test_a_tokenizer_waits_for_a_talker(rig: Rig, qtbot: QtBot, tmp_path: Path) -> None:
    talker, codec = tmp_path / "a" / CUSTOM_VOICE, tmp_path / "b" / CODEC
    for path in (talker, codec):
        path.parent.mkdir()
        shutil.copyfile(DATA / path.name, path)
    rig.models.open_file(codec)
    settle(rig, qtbot)
    assert CODEC in rig.notices[0].sentence
    assert rig.models.state == ModelState()
    rig.models.open_file(talker)
    assert loaded(rig, qtbot).pair == ModelPair(talker, codec)
    other = tmp_path / "other.gguf"
    shutil.copyfile(codec, other)
    rig.models.open_file(other)  # with the talker at hand
    qtbot.waitUntil(lambda: rig.models.state.pair == ModelPair(talker, other))
    loaded(rig, qtbot)
    assert rig.models.codec_for(talker) == other
    assert not rig.problems


def test_a_talker_waits_for_a_tokenizer(rig: Rig, qtbot: QtBot, tmp_path: Path) -> None:
    talker, codec = tmp_path / "a" / CUSTOM_VOICE, tmp_path / "b" / CODEC
    for path in (talker, codec):
        path.parent.mkdir()
        shutil.copyfile(DATA / path.name, path)
    rig.models.open_file(talker)
    qtbot.waitUntil(lambda: bool(rig.problems))
    assert "no tokenizer" in rig.problems[0].message
    rig.models.open_file(codec)
    assert loaded(rig, qtbot).pair == ModelPair(talker, codec)


def test_the_last_model_comes_back(rig: Rig, shelf: FakeModels, qtbot: QtBot) -> None:
    rig.settings.update(talker=shelf.voice_design.talker, codec=shelf.codec)
    rig.models.load_last()
    assert loaded(rig, qtbot).pair == shelf.voice_design
    assert rig.models.found is not None  # it has looked for itself
    rig.settings.update(codec=rig.paths.models / "gone.gguf")
    rig.models.load_last()
    assert loaded(rig, qtbot).pair == shelf.voice_design
    shelf.voice_design.talker.unlink()
    rig.models.look()
    settle(rig, qtbot)
    rig.models.load_last()
    qtbot.waitUntil(lambda: rig.models.state.pair == shelf.custom_voice)
    assert loaded(rig, qtbot).pair == shelf.custom_voice


def test_closing_while_a_model_is_being_chosen(rig: Rig, shelf: FakeModels, qtbot: QtBot) -> None:
    rig.models.load_last()
    assert rig.queue.close()
    settle(rig, qtbot)
    qtbot.waitUntil(lambda: rig.models.state == ModelState() and bool(rig.states))
    assert not rig.problems


def test_a_fresh_machine_is_told_nothing(rig: Rig, qtbot: QtBot) -> None:
    rig.models.load_last()
    settle(rig, qtbot)
    assert rig.models.state == ModelState()
    assert rig.models.found is not None
    assert not rig.problems


def test_another_device_is_offered(rig: Rig, shelf: FakeModels, qtbot: QtBot) -> None:
    rig.settings.update(device="mps")  # nothing to say while there is no model
    rig.models.load(shelf.base)
    loaded(rig, qtbot)
    assert not rig.notices
    rig.settings.update(device="cpu")
    rig.settings.update(volume=0.5)
    assert [note.action_label for note in rig.notices] == ["Load the model again"]
    action = rig.notices[0].action
    assert action is not None
    action()
    qtbot.waitUntil(lambda: len(rig.opener.engines) == 2)
    state = loaded(rig, qtbot)
    assert state.loaded is not None
    assert state.loaded.device == "cpu"
