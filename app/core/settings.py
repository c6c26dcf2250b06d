"""What the studio remembers from one start to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from app.core.fields import Fields
from app.core.presets import Preset
from app.core.storage import (
    DamagedFileError,
    Document,
    DocumentKind,
    StorageError,
    make_folder,
    read_document,
    set_aside,
    write_document,
)
from app.core.voice_record import VoiceOrder

KIND: Final = DocumentKind("settings file")
FILE_NAME: Final = "settings.json"
MOST_TAKES: Final = 8
SCALES: Final = (1.0, 2.5)


class Theme(StrEnum):
    """The colours of the window."""

    SYSTEM = "system"
    DARK = "dark"
    LIGHT = "light"


class FilePurpose(StrEnum):
    """What files are chosen for; each purpose has a folder of its own that is remembered."""

    RECORDING = "recording"
    TEXT = "text"
    MODEL = "model"
    IMPORT = "import"  # voices
    EXPORT = "export"
    TAKE = "take"


@dataclass(frozen=True)
class Settings:
    """Everything remembered; every field has a default that works on a fresh machine."""

    theme: Theme = Theme.SYSTEM
    scale: float = 1.0  # of everything in the window
    language: str = "auto"  # spoken
    talker: Path | None = None  # the pair that was loaded last
    codec: Path | None = None
    model_folders: tuple[Path, ...] = ()  # beside the studio's own
    device: str = "auto"  # that computes
    precision: str = "auto"
    output_device: str = ""  # empty for the system's choice
    input_device: str = ""
    volume: float = 1.0  # 0..1
    takes_per_press: int = 1
    preset: Preset = Preset.NATURAL
    last_session: str = ""  # name of its folder
    voice_order: VoiceOrder = VoiceOrder.NAME  # how the list of voices is sorted
    voice_kinds: tuple[str, ...] = ()  # what it is filtered by, all three
    voice_language: str = ""
    voice_tags: tuple[str, ...] = ()
    tab: str = ""  # that was shown last, by the name of its draft
    last_folders: Mapping[FilePurpose, Path] = field(default_factory=dict)  # of file dialogs
    window_geometry: str = ""  # both opaque to all but the window
    window_state: str = ""
    unknown: Mapping[str, Any] = field(default_factory=dict)  # keys of another version, kept


@dataclass(frozen=True)
class LoadedSettings:
    """The settings, and sentences for the person if something about the file was not right."""

    settings: Settings
    notices: tuple[str, ...] = ()
    read_only: bool = False


def load_settings(path: Path) -> LoadedSettings:
    """Read the settings; whatever cannot be used has its default and a notice. Never raises.

    A damaged file is kept under another name. One of a newer version is used as far as it
    makes sense, but must not be written.
    """
    if not path.exists():
        return LoadedSettings(Settings())
    try:
        document = read_document(path, KIND)
    except DamagedFileError as error:
        return LoadedSettings(Settings(), (_kept_aside(path, error),))
    except StorageError as error:
        return LoadedSettings(Settings(), (str(error),), read_only=True)
    return _from_document(document, path)


def read_scale(path: Path) -> float:
    """The size of everything in the window, which must be known before all else. Never raises."""
    try:
        values = read_document(path, KIND).values
    except StorageError:  # what is wrong is told by `load_settings`
        return Settings().scale
    return Fields(values, str(path), lenient=True).number("scale", Settings().scale, *SCALES)


def save_settings(path: Path, settings: Settings) -> None:
    """Write the settings, in a folder that is made if need be; raises StorageError."""
    make_folder(path.parent)
    write_document(path, KIND, _plain(settings))


def _kept_aside(path: Path, error: DamagedFileError) -> str:
    try:
        kept = set_aside(path)
    except StorageError as failure:
        return f"{error.message} {failure}"
    return f"{error.message} The studio starts with its defaults; the file is kept as {kept.name}."


def _from_document(document: Document, path: Path) -> LoadedSettings:
    fields = Fields(document.values, str(path), lenient=True)
    usual = Settings()
    settings = Settings(
        theme=fields.choice("theme", Theme, usual.theme),
        scale=fields.number("scale", usual.scale, *SCALES),
        language=fields.text("language", usual.language),
        talker=fields.optional_path("talker"),
        codec=fields.optional_path("codec"),
        model_folders=fields.paths("model_folders"),
        device=fields.text("device", usual.device),
        precision=fields.text("precision", usual.precision),
        output_device=fields.text("output_device", usual.output_device),
        input_device=fields.text("input_device", usual.input_device),
        volume=fields.number("volume", usual.volume, 0.0, 1.0),
        takes_per_press=fields.integer("takes_per_press", usual.takes_per_press, 1, MOST_TAKES),
        preset=fields.choice("preset", Preset, usual.preset),
        last_session=fields.text("last_session", usual.last_session),
        voice_order=fields.choice("voice_order", VoiceOrder, usual.voice_order),
        voice_kinds=fields.texts("voice_kinds"),
        voice_language=fields.text("voice_language", usual.voice_language),
        voice_tags=fields.texts("voice_tags"),
        tab=fields.text("tab", usual.tab),
        last_folders=_folders(fields.child("last_folders")),
        window_geometry=fields.text("window_geometry", usual.window_geometry),
        window_state=fields.text("window_state", usual.window_state),
        unknown=fields.rest,  # the last argument: all others have taken theirs by then
    )
    notices = ((document.message,) if document.message else ()) + tuple(fields.complaints)
    return LoadedSettings(settings, notices, document.read_only)


def _folders(fields: Fields | None) -> dict[FilePurpose, Path]:
    if fields is None:
        return {}
    named = ((purpose, fields.optional_path(purpose)) for purpose in FilePurpose)
    return {purpose: folder for purpose, folder in named if folder is not None}


def _plain(settings: Settings) -> dict[str, Any]:
    return {
        **settings.unknown,
        "theme": settings.theme,
        "scale": settings.scale,
        "language": settings.language,
        "talker": None if settings.talker is None else str(settings.talker),
        "codec": None if settings.codec is None else str(settings.codec),
        "model_folders": [str(folder) for folder in settings.model_folders],
        "device": settings.device,
        "precision": settings.precision,
        "output_device": settings.output_device,
        "input_device": settings.input_device,
        "volume": settings.volume,
        "takes_per_press": settings.takes_per_press,
        "preset": settings.preset,
        "last_session": settings.last_session,
        "voice_order": settings.voice_order,
        "voice_kinds": list(settings.voice_kinds),
        "voice_language": settings.voice_language,
        "voice_tags": list(settings.voice_tags),
        "tab": settings.tab,
        "last_folders": {
            str(purpose): str(folder) for purpose, folder in settings.last_folders.items()
        },
        "window_geometry": settings.window_geometry,
        "window_state": settings.window_state,
    }
