"""The real sound system: PortAudio through `sounddevice`, which is looked for only when needed."""

from __future__ import annotations

import importlib
import logging
import threading
from collections import Counter
from types import ModuleType
from typing import Any

from app.audio.backend import Device, Exchange, Frames, SoundDeviceError, find_device

LATENCY = 0.15  # seconds buffered by the device: a busy computer lets a callback wait for 40 ms
BLOCK_SECONDS = 0.04  # fewer wake-ups than most devices would ask for
USUAL_RATES = (48_000, 44_100)
ALSA = "ALSA"  # where PortAudio takes 44100 Hz for the rate of all that can convert
WASAPI = "Windows WASAPI"  # lists every device once and by its full name, unlike its neighbours

log = logging.getLogger(__name__)


class PortAudioStream:
    """An open PortAudio stream whose callback copies and nothing else."""

    def __init__(self, owner: PortAudioBackend, device: Device) -> None:
        self.device = device
        self.dropouts = 0
        self._owner = owner
        self._raw: Any = None
        self._exchange: Exchange | None = None
        self._closed = False

    @property
    def rate(self) -> int:
        return round(float(self._raw.samplerate))

    @property
    def channels(self) -> int:
        return int(self._raw.channels)

    @property
    def latency(self) -> float:
        return float(self._raw.latency)

    @property
    def is_alive(self) -> bool:
        return self._closed or self._exchange is None or self._owner.is_active(self._raw)

    def attach(self, raw: Any) -> None:
        """Become the face of a PortAudio stream that calls `output` or `input` back."""
        self._raw = raw

    def start(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._owner.start_stream(self._raw, self.device)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._owner.close_stream(self._raw)

    def output(self, out: Frames, frames: int, time: object, status: Any) -> None:
        """PortAudio's callback of an output."""
        assert self._exchange is not None, "not called before start"
        self._exchange(out)
        if status.output_underflow:
            self.dropouts += 1

    def input(self, block: Frames, frames: int, time: object, status: Any) -> None:
        """PortAudio's callback of an input."""
        assert self._exchange is not None, "not called before start"
        self._exchange(block)
        if status.input_overflow:
            self.dropouts += 1


class PortAudioBackend:
    """PortAudio's devices; without the library or any device it says so instead of raising."""

    def __init__(self, latency: float = LATENCY) -> None:
        """`latency` in seconds is what the devices are asked to buffer."""
        self._latency = latency
        self._lock = threading.RLock()  # PortAudio's own functions must not run side by side
        self._open = 0
        self._is_loaded = False  # loading initialises PortAudio, which takes its time
        self._library: ModuleType | None = None
        self._reason = ""

    @property
    def unavailable(self) -> str:
        if not (self.list_outputs() or self.list_inputs()) and self._library is not None:
            return "PortAudio finds neither a loudspeaker nor a microphone on this computer."
        return self._reason

    def list_outputs(self) -> tuple[Device, ...]:
        return self._devices("output")

    def list_inputs(self) -> tuple[Device, ...]:
        return self._devices("input")

    def rescan(self) -> bool:
        """Initialise PortAudio again, the only way to make it see what was plugged in since.

        It would pull open streams from under their users, so they forbid it.
        """
        with self._lock:
            if self._open:
                return False
            if self._library is None:
                self._is_loaded = False
                self._load()
                return self._library is not None
            try:
                self._library._terminate()
                self._library._initialize()
            except self._library.PortAudioError as error:
                log.warning("PortAudio could not be initialised again: %s", error)
                self._library, self._reason = None, f"PortAudio does not start: {error}."
                return False
            return True

    def open_output(self, device_id: str | None, rate: int) -> PortAudioStream:
        with self._lock:
            device = find_device(self.list_outputs(), device_id, "output")
            stream = PortAudioStream(self, device)
            stream.attach(self._raw_stream("output", device, rate, stream.output))
            return stream

    def open_input(self, device_id: str | None, rate: int | None) -> PortAudioStream:
        with self._lock:
            device = find_device(self.list_inputs(), device_id, "microphone")
            stream = PortAudioStream(self, device)
            wanted = rate or device.default_rate
            stream.attach(self._raw_stream("input", device, wanted, stream.input))
            return stream

    def start_stream(self, raw: Any, device: Device) -> None:
        """Start what `_raw_stream` opened; raises SoundDeviceError. For the streams only."""
        with self._lock:
            assert self._library is not None, "an open stream keeps the library"
            try:
                raw.start()
            except self._library.PortAudioError as error:
                raise _refused(device, error) from error

    def is_active(self, raw: Any) -> bool:
        """Whether a started stream still calls back. For the streams only."""
        assert self._library is not None, "an open stream keeps the library"
        try:
            return bool(raw.active)
        except self._library.PortAudioError:
            return False

    def close_stream(self, raw: Any) -> None:
        """End what `_raw_stream` opened, whatever state it is in. For the streams only."""
        with self._lock:
            raw.abort(ignore_errors=True)
            raw.close(ignore_errors=True)
            self._open -= 1

    def _load(self) -> None:
        """Look for PortAudio, once; with the lock."""
        if not self._is_loaded:
            self._library, self._reason = _load()
            self._is_loaded = True

    def _raw_stream(self, direction: str, device: Device, rate: int, callback: Any) -> Any:
        """A stream at `rate` Hz or, when that is refused, at a rate that is not."""
        assert self._library is not None, "a device was found"
        kind = {"output": self._library.OutputStream, "input": self._library.InputStream}
        refusals = []
        for attempt in dict.fromkeys((rate, device.default_rate, *USUAL_RATES)):
            try:
                raw = kind[direction](
                    samplerate=attempt,
                    blocksize=round(BLOCK_SECONDS * attempt),
                    device=_index(self._library, device, direction),
                    channels=min(2, device.channels),
                    dtype="float32",
                    latency=self._latency,
                    extra_settings=self._settings(device),
                    callback=callback,
                )
            except self._library.PortAudioError as error:
                log.info("%s refuses %d Hz: %s", device.id, attempt, error)
                refusals.append(error)
            else:
                self._open += 1
                return raw
        raise _refused(device, refusals[0]) from refusals[0]

    def _settings(self, device: Device) -> Any:
        if device.host_api == WASAPI and self._library is not None:
            return self._library.WasapiSettings(auto_convert=True)
        return None

    def _devices(self, direction: str) -> tuple[Device, ...]:
        with self._lock:
            self._load()
            if self._library is None:
                return ()
            found = [device for _, device in _listed(self._library, direction)]
            return tuple(sorted(found, key=lambda device: not device.is_default))


def _load() -> tuple[ModuleType | None, str]:
    """The `sounddevice` module, or the reason why it cannot be had."""
    try:
        return importlib.import_module("sounddevice"), ""
    except ImportError as error:
        return None, f"The Python package sounddevice is not installed ({error})."
    except OSError:
        return None, (
            "The PortAudio library is not installed "
            "(on Debian and Ubuntu: sudo apt install libportaudio2)."
        )
    except Exception as error:
        # The import initialises PortAudio; when that fails, its error class cannot be imported.
        if type(error).__name__ != "PortAudioError":
            raise
        return None, f"PortAudio does not start: {error}."


def _listed(library: ModuleType, direction: str) -> list[tuple[int, Device]]:
    """(PortAudio's index, device) of every output or input, in PortAudio's order."""
    apis = library.query_hostapis()
    entries = [
        (index, entry, apis[entry["hostapi"]]["name"])
        for index, entry in enumerate(library.query_devices())
        if entry[f"max_{direction}_channels"] > 0
    ]
    if any(api == WASAPI for _, _, api in entries):
        entries = [entry for entry in entries if entry[2] == WASAPI]
    default = _default_index(library, direction, [index for index, _, _ in entries])
    names: Counter[str] = Counter()
    devices = []
    for index, entry, api in entries:
        name = " ".join(str(entry["name"]).split())
        names[f"{api}/{name}"] += 1
        count = names[f"{api}/{name}"]
        device = Device(
            id=f"{api}/{name}" if count == 1 else f"{api}/{name}#{count}",
            name=name if count == 1 else f"{name} ({count})",
            host_api=api,
            channels=int(entry[f"max_{direction}_channels"]),
            default_rate=USUAL_RATES[0] if api == ALSA else round(entry["default_samplerate"]),
            is_default=index == default,
        )
        devices.append((index, device))
    return devices


def _default_index(library: ModuleType, direction: str, usable: list[int]) -> int:
    """PortAudio's index of the default device, the first usable one if it has none among them."""
    for api in library.query_hostapis():
        index = int(api[f"default_{direction}_device"])
        if index in usable:
            return index
    return usable[0] if usable else -1


def _index(library: ModuleType, device: Device, direction: str) -> int:
    return next(index for index, other in _listed(library, direction) if other.id == device.id)


def _refused(device: Device, error: Exception) -> SoundDeviceError:
    return SoundDeviceError(
        f"“{device.name}” cannot be opened: {error.args[0] if error.args else error}.",
        "Close other programs that may hold it, or choose another device.",
        detail=str(error),
    )
