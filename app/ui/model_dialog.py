"""Where a model is chosen: what there is, what it can do and costs, and what to do without one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.core.models import FoundCodec, FoundModels, UnusableFile, is_demo
from app.studio.models import Models, ModelState, ModelStatus
from app.studio.preferences import SettingsKeeper
from app.ui.banner import Severity
from app.ui.controls import main_button
from app.ui.file_choosers import (
    ChooseFile,
    FileDialogs,
    model_file_chooser,
    model_folder_chooser,
)
from app.ui.folder_watch import FolderWatch
from app.ui.inline_note import InlineNote, wrapped_label
from app.ui.labels import ElidedLabel
from app.ui.metrics import GAP, ROOM
from app.ui.model_rows import ModelRows, describe
from app.ui.model_words import loading_sentence
from app.ui.no_models import NoModels
from engine import Family, ModelDescription, ModelPair
from engine.cli.console import readable_bytes
from engine.plain_text import one_line

SIZE: Final = (860, 560)
STEPS: Final = 1000  # of the progress bar
SHOWN_FAULTS: Final = 3
DETAIL_LINES: Final = 4


class ModelDialog(QDialog):
    """Shows what was found, loads the chosen pair, and closes when that is done."""

    def __init__(
        self,
        models: Models,
        settings: SettingsKeeper,
        family: Family | None = None,
        choose_folder: ChooseFile | None = None,
        choose_file: ChooseFile | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """`family` is what somebody wants to do now: its best model is chosen at first."""
        super().__init__(parent)
        self.setWindowTitle("Models")
        self._models = models
        self._settings = settings
        files = FileDialogs(settings, models.folders[0])
        self._choose_folder = choose_folder or model_folder_chooser(files)
        self._choose_file = choose_file or model_file_chooser(files)
        self._family = family
        self._demo = False  # whether there is nothing but the demonstration voice
        self._waits = False  # for what was loaded from here
        self._seen: frozenset[Path] | None = None  # before the look that was asked for
        self._watch = FolderWatch(self)
        self._rows = ModelRows(self)
        self._detail = wrapped_label(muted=True, parent=self)
        self._codec = QComboBox(self)
        self._faults = InlineNote(self)
        self._problem = InlineNote(self)
        self._news = InlineNote(self)
        self._sentence = ElidedLabel(parent=self)
        self._bar = QProgressBar(self)
        self._open = QPushButton("Open file…", self)
        self._add = QPushButton("Add folder…", self)
        self._look = QPushButton("Look again", self)
        self._load = main_button("Load", "model", self)
        self._close = QPushButton("Close", self)
        self._pages = QStackedWidget(self)
        self._empty = NoModels(parent=self)
        self._build()
        self._connect()
        self._show_found()
        self._show_state(models.state)
        if family is not None:
            self.prefer(family)

    def prefer(self, family: Family) -> None:
        """Choose the best model of a family, or the one of it that is loaded."""
        self._family = family
        self._empty.ask_for(family)
        self._choose_first()

    # Building

    def _build(self) -> None:
        self._detail.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._detail.setMinimumHeight(self._detail.fontMetrics().lineSpacing() * DETAIL_LINES)
        self._detail.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._codec.setAccessibleName("Tokenizer")
        self._codec.setToolTip("The file that turns the model's codes into sound")
        self._codec.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName("Loading")
        self._open.setToolTip("Load a model file (.gguf) from anywhere")
        self._add.setToolTip("Look for models in one more folder from now on")
        self._look.setToolTip("Look into the folders again")
        self._close.setAutoDefault(False)
        self._load.setDefault(True)
        caption = QLabel("Tokenizer", self)
        caption.setBuddy(self._codec)
        codec = QHBoxLayout()
        codec.setSpacing(GAP)
        codec.addWidget(caption)
        codec.addWidget(self._codec, 1)
        page = QWidget(self)
        rows = QVBoxLayout(page)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(GAP)
        rows.addWidget(self._rows, 1)
        rows.addWidget(self._detail)
        rows.addLayout(codec)
        self._pages.addWidget(page)
        self._pages.addWidget(self._empty)
        progress = QHBoxLayout()
        progress.setSpacing(GAP)
        progress.addWidget(self._sentence, 1)
        progress.addWidget(self._bar, 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(GAP)
        for button in (self._open, self._add, self._look):
            buttons.addWidget(button)
        buttons.addStretch(1)
        ends = QDialogButtonBox(self)  # in the order of the system
        ends.addButton(self._load, QDialogButtonBox.ButtonRole.AcceptRole)
        ends.addButton(self._close, QDialogButtonBox.ButtonRole.RejectRole)
        buttons.addWidget(ends)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(ROOM, ROOM, ROOM, ROOM)
        layout.setSpacing(GAP + 2)
        layout.addWidget(self._pages, 1)
        layout.addWidget(self._faults)
        layout.addWidget(self._news)
        layout.addWidget(self._problem)
        layout.addLayout(progress)
        layout.addLayout(buttons)
        self.resize(*SIZE)

    def _connect(self) -> None:
        self._rows.chosen.connect(self._on_chosen)
        self._rows.load_requested.connect(self._on_load)
        self._load.clicked.connect(self._on_load)
        self._close.clicked.connect(self.reject)
        self._open.clicked.connect(self._on_open)
        self._add.clicked.connect(self._on_add)
        self._empty.folder_requested.connect(self._on_add)
        self._look.clicked.connect(self._on_look)
        self._watch.changed.connect(self._models.look)
        self._codec.activated.connect(self._enable)
        self._models.found_changed.connect(self._on_found)
        self._models.changed.connect(self._show_state)
        self._models.looking_changed.connect(self._show_found)
        self._models.problem.connect(self._on_problem)

    # What is shown

    @Slot()
    def _show_found(self) -> None:
        found = self._models.found
        looking = self._models.is_looking
        self._look.setEnabled(not looking)
        self._look.setText("Looking…" if looking else "Look again")
        if found is None:
            found = FoundModels(self._models.folders, (), (), ())
        self._rows.show_found(found)
        self._show_loaded()
        if self._rows.talker is None:
            self._choose_first()
        large = [talker for talker in found.talkers if not is_demo(talker)]
        self._demo = bool(found.talkers) and not large
        self._empty.show_folders(self._models.folders, looking=looking, demo=self._demo)
        appeared = bool(large) and self._pages.currentIndex() == 1
        self._pages.setCurrentIndex(0 if large else 1)
        self._add.setVisible(bool(large))  # the other page offers the same
        if appeared:
            self._rows.setFocus()
        # A file that is still being written has no right contents yet.
        unready = (file.path for file in found.unusable)
        self._watch.watch((*self._models.folders, *unready))
        self._show_faults(found)
        self._on_chosen()

    @Slot(object)
    def _on_found(self, found: FoundModels) -> None:
        self._show_found()
        seen, self._seen = self._seen, None
        if seen is not None:
            new = sorted(path.name for path in _paths(found) - seen)
            folders = " and ".join(str(folder) for folder in self._models.folders)
            news = f"New: {', '.join(new)}." if new else f"Nothing new in {folders}."
            self._news.tell(one_line(news))

    def _choose_first(self) -> None:
        pair, family = self._models.state.pair, self._family
        known = self._models.state.description
        if family is not None and (known is None or known.family is not family or is_demo(known)):
            fitting = self._models.fitting(family)
            if fitting is not None:
                self._rows.choose(fitting.path)
                return
        self._rows.choose(None if pair is None else pair.talker)

    def _show_loaded(self) -> None:
        state = self._models.state
        loaded = state.status is ModelStatus.LOADED and state.pair is not None
        self._rows.mark_loaded(state.pair.talker if loaded and state.pair is not None else None)

    def _show_codecs(self) -> None:
        """Those that fit the chosen talker."""
        talker, found = self._rows.talker, self._models.found
        codecs = () if found is None else found.codecs
        codecs = tuple(codec for codec in codecs if talker and codec.name == talker.codec_name)
        self._codec.clear()
        for codec in codecs:
            label = f"{one_line(codec.path.name)} ({readable_bytes(codec.file_bytes)})"
            self._codec.addItem(label, str(codec.path))  # Qt cannot compare paths
            self._codec.setItemData(
                self._codec.count() - 1, str(codec.path), Qt.ItemDataRole.ToolTipRole
            )
        chosen = None if talker is None else self._models.codec_for(talker.path)
        self._codec.setCurrentIndex(self._codec.findData(str(chosen)) if chosen else -1)
        self._codec.setEnabled(bool(codecs))
        if not codecs:
            self._codec.addItem("None found: qwen-tokenizer-12hz-….gguf (about 0.3 GB) is needed")
            self._codec.setCurrentIndex(0)

    def _show_faults(self, found: FoundModels) -> None:
        lines = [one_line(file.error.message) for file in found.unusable]
        more = len(lines) - SHOWN_FAULTS
        if more > 0:
            lines = [*lines[:SHOWN_FAULTS], f"and {more} more files that cannot be used"]
        self._faults.tell("\n".join(lines), Severity.WARNING)

    @Slot(object)
    def _show_state(self, state: ModelState) -> None:
        loading = state.status is ModelStatus.LOADING
        self._show_loaded()
        self._sentence.setText(loading_sentence(state) if loading else "")
        self._bar.setVisible(loading)
        self._sentence.setVisible(loading)
        self._bar.setRange(0, STEPS if state.total or not loading else 0)
        self._bar.setValue(round(STEPS * state.done / state.total) if state.total else 0)
        if loading:
            self._problem.tell("")
        elif state.problem is not None:
            self._on_problem(state.problem)
        self._enable()
        if self._waits and state.status is ModelStatus.LOADED:
            self._waits = False
            self.accept()

    @Slot()
    def _on_chosen(self) -> None:
        talker = self._rows.talker
        self._detail.setText("" if talker is None else describe(talker))
        self._show_codecs()
        self._enable()

    @Slot()
    def _enable(self) -> None:
        loading = self._models.state.status is ModelStatus.LOADING
        ready = self._rows.talker is not None and self._codec.currentData() is not None
        self._load.setEnabled(loading or ready)
        self._name_load(loading=loading)
        self._rows.setEnabled(not loading)

    def _name_load(self, *, loading: bool) -> None:
        usual = "Load the demonstration voice" if self._demo else "Load"
        self._load.setText("Cancel loading" if loading else usual)

    # What is wanted

    @Slot()
    def _on_load(self) -> None:
        if self._models.state.status is ModelStatus.LOADING:
            self._waits = False
            self._models.cancel()
            return
        talker, codec = self._rows.talker, self._codec.currentData()
        if talker is not None and codec is not None:
            self._waits = True
            self._models.load(ModelPair(talker.path, Path(codec)))

    @Slot()
    def _on_look(self) -> None:
        found = self._models.found
        self._seen = frozenset() if found is None else _paths(found)
        self._news.tell("")
        self._models.look()

    @Slot()
    def _on_open(self) -> None:
        path = self._choose_file(self)
        if path is not None:
            self._waits = True
            self._models.open_file(path)

    @Slot()
    def _on_add(self) -> None:
        folder = self._choose_folder(self)
        if folder is not None and folder not in self._models.folders:
            known = self._settings.settings.model_folders
            self._settings.update(model_folders=(*known, folder))

    @Slot(object)
    def _on_problem(self, error: Exception) -> None:
        self._waits = False
        self._problem.tell(str(error), Severity.ERROR)


def _paths(found: FoundModels) -> frozenset[Path]:
    kinds: tuple[Iterable[ModelDescription | FoundCodec | UnusableFile], ...] = (
        found.talkers,
        found.codecs,
        found.unusable,
    )
    return frozenset(file.path for files in kinds for file in files)
