"""Choosing a model: what is there is described, a pair is loaded, and nothing there is taught."""

from __future__ import annotations

import shlex
import shutil
import threading
from pathlib import Path
from typing import Protocol

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QDialog, QLabel, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from app.studio.models import ModelStatus
from app.studio.studio import Studio
from app.ui.inline_note import InlineNote
from app.ui.model_dialog import ModelDialog
from app.ui.model_rows import ModelRows
from app.ui.no_models import NoModels
from app.ui.theme import Appearance
from engine import Family, ModelFileError
from tests.fakes import CODEC, FakeModels, FakeOpener, fake_models

LEFT = Qt.MouseButton.LeftButton
Chosen = list[Path | None]


class MakeDialog(Protocol):
    """Shows the dialog, for what somebody is about to do."""

    def __call__(self, family: Family | None = None) -> ModelDialog: ...


@pytest.fixture
def chosen() -> Chosen:
    """What the next file dialogs answer."""
    return []


@pytest.fixture
def make(qtbot: QtBot, theme: Appearance, studio: Studio, chosen: Chosen) -> MakeDialog:
    def made(family: Family | None = None) -> ModelDialog:
        dialog = ModelDialog(
            studio.models,
            studio.preferences,
            family,
            lambda _: chosen.pop(0),
            lambda _: chosen.pop(0),
        )
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return made


def look(qtbot: QtBot, studio: Studio) -> None:
    with qtbot.waitSignal(studio.models.found_changed):
        studio.models.look()
    qtbot.waitUntil(lambda: not studio.models.is_looking)


def press(dialog: ModelDialog, text: str) -> None:
    button = next(each for each in dialog.findChildren(QPushButton) if each.text() == text)
    assert button.isEnabled(), text
    QTest.mouseClick(button, LEFT)


def words(dialog: ModelDialog) -> str:
    labels = [label.text() for label in dialog.findChildren(QLabel) if label.isVisibleTo(dialog)]
    return "\n".join(labels)


def rows(dialog: ModelDialog) -> ModelRows:
    return dialog.findChildren(ModelRows)[0]


def cells(dialog: ModelDialog) -> list[list[str]]:
    table = rows(dialog)
    items = [table.topLevelItem(row) for row in range(table.topLevelItemCount())]
    return [[item.text(column) for column in range(5)] for item in items if item is not None]


def test_an_empty_computer_is_told_what_to_get_and_where_to_put_it(
    qtbot: QtBot, make: MakeDialog, studio: Studio
) -> None:
    look(qtbot, studio)
    dialog = make()
    text = words(dialog)
    assert "There is no model yet" in text
    assert str(studio.paths.models) in text
    for part in ("qwen-talker-0.6b-base", "qwen-tokenizer-12hz", "about 0.3 GB", "recorder"):
        assert part in text
    load = next(each for each in dialog.findChildren(QPushButton) if each.text() == "Load")
    assert not load.isEnabled()
    copy = next(
        each
        for each in dialog.findChildren(QToolButton)
        if each.accessibleName() == "Copy the folder's name"
    )
    QTest.mouseClick(copy, LEFT)
    assert QApplication.clipboard().text() == str(studio.paths.models)
    assert "huggingface.co/Serveurperso/Qwen3-TTS-GGUF" in text
    copy = next(
        each
        for each in dialog.findChildren(QToolButton)
        if each.accessibleName() == "Copy the line"
    )
    dialog.prefer(Family.VOICE_DESIGN)
    QTest.mouseClick(copy, LEFT)
    line = QApplication.clipboard().text()
    assert line.startswith("hf download Serveurperso/Qwen3-TTS-GGUF qwen-talker-1.7b-voicedesign")
    assert line.endswith(f"--local-dir {shlex.quote(str(studio.paths.models))}")
    offers = [each.text() for each in dialog.findChildren(QPushButton) if each.isVisible()]
    assert sum("folder" in offer.lower() for offer in offers) == 1


def test_the_models_folder_is_opened_or_named(qtbot: QtBot, theme: Appearance) -> None:
    opened: list[Path] = []
    answers = [True, False]

    def show(folder: Path) -> bool:
        opened.append(folder)
        return answers.pop(0)

    page = NoModels(show)
    qtbot.addWidget(page)
    page.show()
    page.show_folders([Path("/home/me/models")], looking=False)
    button = next(
        each
        for each in page.findChildren(QToolButton)
        if each.accessibleName() == "Open the folder"
    )
    note = page.findChildren(InlineNote)[0]
    QTest.mouseClick(button, LEFT)
    assert not note.text
    QTest.mouseClick(button, LEFT)
    assert "No file manager" in note.text
    assert opened == [Path("/home/me/models")] * 2


def test_return_loads_and_does_nothing_else(
    qtbot: QtBot, make: MakeDialog, studio: Studio, opener: FakeOpener, chosen: Chosen
) -> None:
    look(qtbot, studio)
    dialog = make()
    fake_models(studio.paths.models)
    press(dialog, "Look again")
    qtbot.waitUntil(lambda: len(cells(dialog)) == 3)
    assert "New: qwen-talker-" in words(dialog)
    rows(dialog).setFocus()
    QTest.keyClick(rows(dialog), Qt.Key.Key_Return)  # a file dialog would find `chosen` empty
    qtbot.waitUntil(lambda: not dialog.isVisible())
    assert len(opener.opened) == 1
    assert studio.models.state.status is ModelStatus.LOADED


def test_looking_again_says_when_nothing_is_new(
    qtbot: QtBot, make: MakeDialog, studio: Studio, model_files: FakeModels
) -> None:
    look(qtbot, studio)
    dialog = make()
    press(dialog, "Look again")
    qtbot.waitUntil(lambda: f"Nothing new in {studio.paths.models}." in words(dialog))


def test_what_is_put_into_the_folder_is_seen_by_itself(
    qtbot: QtBot, make: MakeDialog, studio: Studio
) -> None:
    studio.paths.models.mkdir(parents=True)
    look(qtbot, studio)
    dialog = make()
    fake_models(studio.paths.models)
    qtbot.waitUntil(lambda: len(cells(dialog)) == 3)
    assert "Nothing new" not in words(dialog)


def test_a_file_that_was_unfinished_is_looked_at_again(
    qtbot: QtBot, make: MakeDialog, studio: Studio, model_files: FakeModels
) -> None:
    talker = model_files.base.talker
    whole = talker.read_bytes()
    talker.write_bytes(whole[:100])
    look(qtbot, studio)
    dialog = make()
    assert len(cells(dialog)) == 2
    talker.write_bytes(whole)
    qtbot.waitUntil(lambda: len(cells(dialog)) == 3)


def test_the_model_that_is_needed_is_chosen_and_the_loaded_one_marked(
    qtbot: QtBot, make: MakeDialog, studio: Studio, model_files: FakeModels
) -> None:
    look(qtbot, studio)
    studio.models.load(model_files.custom_voice)
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)
    dialog = make(Family.BASE)
    talker = rows(dialog).talker
    assert talker is not None
    assert talker.path == model_files.base.talker
    marked = [row[1] for row in cells(dialog) if row[0].endswith("(loaded)")]
    assert marked == ["0.6B CustomVoice"]
    dialog.prefer(Family.CUSTOM_VOICE)
    talker = rows(dialog).talker
    assert talker is not None
    assert talker.path == model_files.custom_voice.talker


def test_a_folder_that_is_there_already_is_looked_into(
    qtbot: QtBot,
    make: MakeDialog,
    studio: Studio,
    chosen: Chosen,
    tmp_path: Path,
) -> None:
    look(qtbot, studio)
    dialog = make()
    folder = tmp_path / "elsewhere"
    fake_models(folder)
    chosen += [None, folder]
    press(dialog, "Choose a folder I already have…")
    assert not studio.preferences.settings.model_folders
    press(dialog, "Choose a folder I already have…")
    assert studio.preferences.settings.model_folders == (folder,)
    qtbot.waitUntil(lambda: len(cells(dialog)) == 3)


def test_models_are_described_before_they_are_loaded(
    qtbot: QtBot, make: MakeDialog, studio: Studio, model_files: FakeModels
) -> None:
    (model_files.folder / "broken.gguf").write_bytes(b"no model")
    look(qtbot, studio)
    dialog = make()
    by_size = {row[1]: row for row in cells(dialog)}
    assert set(by_size) == {"0.6B CustomVoice", "1.7B Base", "1.7B VoiceDesign"}
    base = by_size["1.7B Base"]
    assert (base[2], base[3]) == ("F32", f"{model_files.base.talker.stat().st_size / 1e6:.1f} MB")
    rows(dialog).choose(model_files.custom_voice.talker)
    text = words(dialog)
    assert "Languages: Chinese, English" in text
    assert "Serena" in text
    assert "(Sichuan dialect)" in text
    assert str(model_files.custom_voice.talker) in text
    assert "broken.gguf is not a GGUF file" in text
    assert studio.models.state.status is ModelStatus.NONE


def test_the_chosen_pair_is_loaded_and_the_dialog_closes(
    qtbot: QtBot,
    make: MakeDialog,
    studio: Studio,
    model_files: FakeModels,
    opener: FakeOpener,
) -> None:
    second = model_files.folder / "another-tokenizer.gguf"
    shutil.copyfile(model_files.codec, second)
    look(qtbot, studio)
    dialog = make()
    rows(dialog).choose(model_files.voice_design.talker)
    codecs = dialog.findChildren(QComboBox)[0]
    assert codecs.count() == 2
    codecs.setCurrentIndex(codecs.findData(str(second)))
    press(dialog, "Load")
    qtbot.waitUntil(lambda: not dialog.isVisible())
    assert dialog.result() == QDialog.DialogCode.Accepted
    assert [(pair.talker, pair.codec) for pair in opener.opened] == [
        (model_files.voice_design.talker, second)
    ]


def test_loading_shows_bytes_and_can_be_cancelled(
    qtbot: QtBot,
    make: MakeDialog,
    studio: Studio,
    model_files: FakeModels,
    opener: FakeOpener,
) -> None:
    opener.gate = threading.Event()
    look(qtbot, studio)
    dialog = make()
    press(dialog, "Load")
    qtbot.waitUntil(lambda: " of " in words(dialog) and "GB" in words(dialog))
    press(dialog, "Cancel loading")
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.NONE)
    assert dialog.isVisible()
    assert "Loading" not in words(dialog)


def test_a_model_that_cannot_be_loaded_says_why(
    qtbot: QtBot,
    make: MakeDialog,
    studio: Studio,
    model_files: FakeModels,
    opener: FakeOpener,
) -> None:
    opener.error = ModelFileError("The tensor blk.0 is missing.", "Get the file again.")
    look(qtbot, studio)
    dialog = make()
    press(dialog, "Load")
    qtbot.waitUntil(lambda: "The tensor blk.0 is missing. Get the file again." in words(dialog))
    assert dialog.isVisible()
    opener.error = None
    press(dialog, "Load")
    qtbot.waitUntil(lambda: not dialog.isVisible())


def test_any_file_may_be_opened(
    qtbot: QtBot,
    make: MakeDialog,
    studio: Studio,
    chosen: Chosen,
    tmp_path: Path,
    opener: FakeOpener,
) -> None:
    files = fake_models(tmp_path / "downloads")
    look(qtbot, studio)
    dialog = make()
    chosen.append(files.base.talker)
    press(dialog, "Open file…")
    qtbot.waitUntil(lambda: studio.models.state.status is ModelStatus.LOADED)
    qtbot.waitUntil(lambda: not dialog.isVisible())
    assert opener.opened[-1] == files.base


def test_a_talker_without_a_tokenizer_cannot_be_loaded(
    qtbot: QtBot, make: MakeDialog, studio: Studio, model_files: FakeModels
) -> None:
    (model_files.folder / CODEC).unlink()
    look(qtbot, studio)
    dialog = make()
    load = next(each for each in dialog.findChildren(QPushButton) if each.text() == "Load")
    assert not load.isEnabled()
    assert "qwen-tokenizer-12hz" in dialog.findChildren(QComboBox)[0].currentText()
