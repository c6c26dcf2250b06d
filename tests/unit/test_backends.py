"""Sound systems that are missing, empty or stubborn: explained, and never in the way."""

from __future__ import annotations

import importlib
import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from app.audio.backend import Frames, SoundDeviceError
from app.audio.null import NullBackend
from app.audio.portaudio import PortAudioBackend


class PortAudioError(Exception):
    """Named like the one that a failing import of sounddevice raises."""


class FakeStream:
    """What sounddevice gives for a stream."""

    def __init__(self, rates: tuple[int, ...], **asked: Any) -> None:
        if asked["samplerate"] not in rates:
            raise PortAudioError("Invalid sample rate", -9997)
        self.asked = asked
        self.samplerate = float(asked["samplerate"])
        self.channels = asked["channels"]
        self.latency = 0.1
        self.active = False
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls.append("start")
        self.active = True

    def abort(self, ignore_errors: bool) -> None:
        self.calls.append("abort")

    def close(self, ignore_errors: bool) -> None:
        self.calls.append("close")


class FakeStatus:
    """Callback flags that tell of trouble."""

    output_underflow = True
    input_overflow = True


class FakeLibrary(ModuleType):
    """A sounddevice with the devices of the test's choice."""

    PortAudioError = PortAudioError

    def __init__(self, apis: list[str], devices: list[tuple[str, int, int, int]]) -> None:
        """Devices are (name, index of their API, inputs, outputs); the last ones are default."""
        super().__init__("sounddevice")
        self.apis = apis
        self.devices = devices
        self.rates: tuple[int, ...] = (44_100,)
        self.initialised = 1
        self.streams: list[FakeStream] = []

    def query_hostapis(self) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "default_input_device": self._last(index, 2),
                "default_output_device": self._last(index, 3),
            }
            for index, name in enumerate(self.apis)
        ]

    def query_devices(self) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "hostapi": api,
                "max_input_channels": inputs,
                "max_output_channels": outputs,
                "default_samplerate": 44_100.0,
            }
            for name, api, inputs, outputs in self.devices
        ]

    def WasapiSettings(self, auto_convert: bool) -> str:
        return f"auto_convert={auto_convert}"

    def OutputStream(self, **asked: Any) -> FakeStream:
        self.streams.append(FakeStream(self.rates, **asked))
        return self.streams[-1]

    InputStream = OutputStream

    def _terminate(self) -> None:
        self.initialised -= 1

    def _initialize(self) -> None:
        self.initialised += 1

    def _last(self, api: int, direction: int) -> int:
        found = [
            i for i, device in enumerate(self.devices) if device[1] == api and device[direction]
        ]
        return found[-1] if found else -1


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> FakeLibrary:
    library = FakeLibrary(["Core"], [("Mic", 0, 1, 0), ("Line  in", 0, 8, 0), ("Out", 0, 0, 2)])
    monkeypatch.setitem(sys.modules, "sounddevice", library)
    return library


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError("PortAudio library not found"), "sudo apt install libportaudio2"),
        (ModuleNotFoundError("No module named 'sounddevice'"), "sounddevice is not installed"),
        (PortAudioError("Host error"), "does not start: Host error."),
    ],
)
def test_a_missing_library_is_a_reason(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def refuse(name: str) -> ModuleType:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(importlib, "import_module", refuse)
        backend = PortAudioBackend()
        assert reason in backend.unavailable
        assert backend.list_outputs() == backend.list_inputs() == ()
        assert not backend.rescan()
        with pytest.raises(SoundDeviceError, match="no output"):
            backend.open_output(None, 24_000)
        with pytest.raises(SoundDeviceError, match="no microphone"):
            backend.open_input(None, None)
    patched = FakeLibrary(["Core"], [("Out", 0, 0, 2)])
    monkeypatch.setitem(sys.modules, "sounddevice", patched)  # installed meanwhile
    assert backend.rescan()
    assert backend.unavailable == ""


def test_other_failures_of_an_import_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> ModuleType:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(importlib, "import_module", fail)
        backend = PortAudioBackend()  # does not look yet: the window should be up first
        with pytest.raises(ZeroDivisionError):
            backend.list_outputs()


def test_no_devices_are_a_reason(library: FakeLibrary) -> None:
    library.devices = []
    assert "neither a loudspeaker nor a microphone" in PortAudioBackend().unavailable


def test_devices_have_names_that_last(library: FakeLibrary) -> None:
    library.devices.insert(0, ("Mic", 0, 2, 0))
    inputs = PortAudioBackend().list_inputs()
    assert [device.id for device in inputs] == ["Core/Line in", "Core/Mic", "Core/Mic#2"]
    assert [device.is_default for device in inputs] == [True, False, False]
    assert inputs[2].name == "Mic (2)"


def test_windows_devices_are_listed_once(library: FakeLibrary) -> None:
    library.apis = ["MME", "Windows WASAPI"]
    library.devices = [("Speakers (Real", 0, 0, 2), ("Speakers (Realtek Audio)", 1, 0, 2)]
    backend = PortAudioBackend()
    [device] = backend.list_outputs()
    assert device.name == "Speakers (Realtek Audio)"
    assert device.is_default
    backend.open_output(None, 44_100)
    assert library.streams[0].asked["extra_settings"] == "auto_convert=True"
    assert library.streams[0].asked["device"] == 1


def test_a_refused_rate_gives_way_to_the_own_one(library: FakeLibrary) -> None:
    stream = PortAudioBackend(latency=0.2).open_output(None, 24_000)
    assert stream.rate == 44_100
    asked = library.streams[0].asked
    assert (asked["channels"], asked["device"], asked["latency"]) == (2, 2, 0.2)
    assert asked["blocksize"] == round(0.04 * 44_100)


def test_a_device_that_refuses_all_is_explained(library: FakeLibrary) -> None:
    library.rates = ()
    backend = PortAudioBackend()
    with pytest.raises(SoundDeviceError, match="“Line in” cannot be opened: Invalid sample rate"):
        backend.open_input(None, None)
    assert backend.rescan()


def test_rescanning_waits_for_streams_to_close(library: FakeLibrary) -> None:
    backend = PortAudioBackend()
    stream = backend.open_input("Core/Mic", None)
    assert not backend.rescan()
    stream.close()
    stream.close()
    assert library.streams[0].calls == ["abort", "close"]
    assert backend.rescan()
    assert library.initialised == 1


def test_callbacks_are_passed_on_and_dropouts_counted(library: FakeLibrary) -> None:
    backend = PortAudioBackend()
    got: list[float] = []
    stream = backend.open_input("Core/Mic", None)
    stream.start(lambda block: got.extend(block[:, 0].tolist()))
    assert stream.is_alive
    library.streams[0].asked["callback"](np.ones((3, 1), np.float32), 3, None, FakeStatus())
    assert got == [1, 1, 1]
    assert stream.dropouts == 1
    library.streams[0].active = False
    assert not stream.is_alive

    output = backend.open_output(None, 44_100)
    assert output.is_alive  # not started yet
    output.start(lambda block: block.fill(0.5))
    block: Frames = np.zeros((2, 2), np.float32)
    library.streams[1].asked["callback"](block, 2, None, FakeStatus())
    assert block.min() == 0.5
    assert output.dropouts == 1


def test_the_null_backend_has_a_microphone_only_if_given_one() -> None:
    with pytest.raises(SoundDeviceError, match="no microphone"):
        NullBackend().open_input(None, None)

    def signal(start: int, count: int) -> Frames:
        return np.arange(start, start + count, dtype=np.float32)[:, None]

    got: list[Frames] = []
    stream = NullBackend(microphone=signal).open_input(None, None)
    stream.start(lambda block: got.append(block.copy()))
    while len(got) < 5:  # bounded by the test run's own limit
        assert stream.is_alive
    stream.close()
    joined = np.concatenate(got)[:, 0]
    assert np.array_equal(joined, np.arange(len(joined)))


def test_importing_the_sound_layer_loads_neither_torch_nor_toolkits() -> None:
    code = (
        "import sys; import app.audio.player, app.audio.recorder, app.audio.portaudio, "
        "app.audio.null; print(*sorted(sys.modules))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "app.audio.player" in loaded
    assert not {"torch", "PySide6", "pyqtgraph", "sounddevice"} & set(loaded)
