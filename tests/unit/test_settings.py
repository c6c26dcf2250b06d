"""Settings: everything comes back, a wrong value costs only itself, foreign keys stay."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.presets import Preset, matching_preset, preset_sampling
from app.core.settings import FilePurpose, Settings, Theme, load_settings, save_settings
from app.core.storage import StorageError
from app.core.voice_record import VoiceOrder
from engine import Sampling, StackSampling

FULL = Settings(
    theme=Theme.DARK,
    scale=1.5,
    language="german",
    talker=Path("/models/talker.gguf"),
    codec=Path("/models/codec.gguf"),
    model_folders=(Path("/models"), Path("/größere modelle")),
    device="cuda:0",
    precision="bf16",
    output_device="Speakers",
    input_device="Mikrofon (USB)",
    volume=0.25,
    takes_per_press=4,
    preset=Preset.WILD,
    last_session="film.studio",
    voice_order=VoiceOrder.NEWEST,
    voice_kinds=("favourites", "clone"),
    voice_language="german",
    voice_tags=("calm",),
    window_geometry="AdnQywAD",
    tab="design",
    last_folders={FilePurpose.RECORDING: Path("/music"), FilePurpose.TAKE: Path("/größere takes")},
    window_state="AAAA",
    unknown={"later": {"key": 1}},
)


def test_settings_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "config" / "settings.json"
    assert load_settings(path).settings == Settings()
    for settings in (Settings(), FULL):
        save_settings(path, settings)
        loaded = load_settings(path)
        assert loaded.settings == settings
        assert loaded.notices == ()


def test_a_wrong_value_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    save_settings(path, FULL)
    values = json.loads(path.read_text("utf-8"))
    wrong = {"theme": "pink", "volume": 7, "takes_per_press": True, "model_folders": [""]}
    path.write_text(json.dumps(values | wrong))
    loaded = load_settings(path)
    usual = Settings()
    assert loaded.settings == replace(
        FULL,
        theme=usual.theme,
        volume=usual.volume,
        takes_per_press=usual.takes_per_press,
        model_folders=(),
    )
    assert len(loaded.notices) == 4
    assert all(str(path) in notice for notice in loaded.notices)


def test_a_damaged_file_is_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"\0" * 64)
    loaded = load_settings(path)
    assert loaded.settings == Settings()
    assert not loaded.read_only
    assert "kept as settings.json.damaged-1" in loaded.notices[0]
    assert (tmp_path / "settings.json.damaged-1").read_bytes() == b"\0" * 64
    save_settings(path, FULL)
    assert load_settings(path).settings == FULL


def test_newer_settings_are_used_but_not_written(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"schema": 99, "theme": "light"}')
    loaded = load_settings(path)
    assert loaded.settings.theme is Theme.LIGHT
    assert loaded.read_only
    assert "newer version" in loaded.notices[0]


def test_a_folder_in_the_way_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.mkdir()
    loaded = load_settings(path)
    assert loaded.settings == Settings()
    assert loaded.read_only
    with pytest.raises(StorageError, match="cannot be written"):
        save_settings(path, FULL)


@given(
    st.dictionaries(
        st.sampled_from(["theme", "scale", "talker", "model_folders", "volume", "preset", "x"]),
        st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()),
    )
)
def test_no_values_stop_the_start(tmp_path_factory: pytest.TempPathFactory, values: Any) -> None:
    path = tmp_path_factory.mktemp("settings") / "settings.json"
    path.write_text(json.dumps({"schema": 1, **values}))
    settings = load_settings(path).settings
    assert 1.0 <= settings.scale <= 2.5
    assert 0 <= settings.volume <= 1


def test_presets_are_told_apart() -> None:
    default = Sampling(repetition_penalty=1.1, max_frames=99)
    for preset in Preset:
        sampling = preset_sampling(preset, default)
        assert matching_preset(sampling, default) is preset
        assert (sampling.repetition_penalty, sampling.max_frames) == (1.1, 99)
    assert preset_sampling(Preset.NATURAL, default) == default
    steady, natural, wild = (preset_sampling(preset, default).talker for preset in Preset)
    assert steady.temperature < natural.temperature < wild.temperature
    turned = replace(default, talker=StackSampling(temperature=0.5))
    assert matching_preset(turned, default) is None
