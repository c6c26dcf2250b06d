"""What the player and the recorder ask of a sound system, whichever it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.errors import ExplainedError

Frames: TypeAlias = NDArray[np.float32]
"""Audio as devices exchange it, nominally within [-1, 1], shape [n, channels]."""

Exchange: TypeAlias = Callable[[Frames], None]
"""Called by the device with a block [n, channels]: to be filled if it is an output, to be copied if
it is an input. The block is valid during the call only, which must return at once."""


class SoundDeviceError(ExplainedError):
    """A loudspeaker or microphone cannot be used, or is gone."""


@dataclass(frozen=True)
class Device:
    """One output or input as the system lists it."""

    id: str  # stays the same when the list is read again
    name: str
    host_api: str
    channels: int
    default_rate: int  # Hz
    is_default: bool


class Stream(Protocol):
    """An opened device; silent until `start`, unusable after `close`."""

    @property
    def device(self) -> Device: ...

    @property
    def rate(self) -> int:
        """Frames per second, which need not be the rate that was asked for."""

    @property
    def channels(self) -> int: ...

    @property
    def latency(self) -> float:
        """Seconds between a callback and the ear, or the mouth and a callback."""

    @property
    def dropouts(self) -> int:
        """How often the device says that it got or gave its frames too late."""

    @property
    def is_alive(self) -> bool:
        """False once the device has ended a started stream by itself."""

    def start(self, exchange: Exchange) -> None:
        """Begin calling back, once in a stream's life; raises SoundDeviceError."""

    def close(self) -> None:
        """End at once and let go of the device; never raises, may be called twice."""


class AudioBackend(Protocol):
    """A sound system. All methods may be called from any thread."""

    @property
    def unavailable(self) -> str:
        """Why there is no sound at all, in a sentence; empty when the sound system works."""

    def list_outputs(self) -> tuple[Device, ...]:
        """The outputs, the default one first."""

    def list_inputs(self) -> tuple[Device, ...]:
        """The inputs, the default one first."""

    def rescan(self) -> bool:
        """Look for devices again; False when open streams forbid it."""

    def open_output(self, device_id: str | None, rate: int) -> Stream:
        """Open an output, None being the default one, at `rate` Hz or the nearest it can do.

        Raises SoundDeviceError.
        """

    def open_input(self, device_id: str | None, rate: int | None) -> Stream:
        """Open an input with one or two channels, at its own rate when `rate` is None.

        Raises SoundDeviceError.
        """


def find_device(devices: tuple[Device, ...], device_id: str | None, kind: str) -> Device:
    """The device with that id, or the default one for None; `kind` is "output" or "microphone".

    Raises SoundDeviceError when it is not there.
    """
    if not devices:
        raise SoundDeviceError(
            f"This computer has no {kind} that the studio can use.",
            "Connect one and look for devices again.",
        )
    if device_id is None:
        return next((device for device in devices if device.is_default), devices[0])
    for device in devices:
        if device.id == device_id:
            return device
    raise SoundDeviceError(
        f"The {kind} “{device_id.partition('/')[2] or device_id}” is not connected.",
        f"Connect it again, or choose another {kind}.",
        detail=f"known: {', '.join(device.id for device in devices)}",
    )
