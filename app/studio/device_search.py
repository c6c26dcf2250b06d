"""Knows the sound devices, and looks for new ones in a moment in which none is in use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from PySide6.QtCore import QObject, Signal

from app.audio.backend import AudioBackend, Device
from app.audio.player import Player
from app.audio.recorder import Recorder
from app.audio.survey import Survey
from app.jobs.background import Background
from engine.errors import ExplainedError


@dataclass(frozen=True)
class Devices:
    """What the sound system listed."""

    outputs: tuple[Device, ...] = ()
    inputs: tuple[Device, ...] = ()
    unavailable: str = ""  # why there is no sound at all


class _Stage(Enum):
    IDLE = auto()
    WANTED = auto()
    RUNNING = auto()


class DeviceSearch(QObject):
    """A search needs all streams closed: `go_on` closes them once nothing uses them."""

    ended = Signal()  # the devices are known anew; streams may be opened again
    problem = Signal(object)  # ExplainedError

    def __init__(
        self,
        backend: AudioBackend,
        player: Player,
        recorder: Recorder,
        survey: Survey,
        background: Background,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._backend = backend
        self._player = player
        self._recorder = recorder
        self._survey = survey
        self._background = background
        self._stage = _Stage.IDLE
        self.devices = Devices()

    @property
    def is_wanted(self) -> bool:
        """From `begin` to `ended`."""
        return self._stage is not _Stage.IDLE

    @property
    def is_running(self) -> bool:
        """While this is so no stream should be opened."""
        return self._stage is _Stage.RUNNING

    def begin(self) -> None:
        """Look for devices as soon as possible."""
        if self._stage is _Stage.IDLE:
            self._stage = _Stage.WANTED

    def go_on(self, *, in_use: bool) -> None:
        """Take the next step, if there is one; to be called regularly while `is_wanted`."""
        if self._stage is not _Stage.WANTED or in_use:
            return
        if self._player.state.device is not None or self._recorder.state.device is not None:
            self._player.release_output()
            self._recorder.release()
            return
        if not self._survey.is_free:
            self._survey.watch()
            return
        self._stage = _Stage.RUNNING
        self._background.run(self._list, self._on_listed, self._on_failed)

    def output(self, device_id: str) -> str | None:
        """The id of an output if it is there, None for the system's choice."""
        return _present(device_id, self.devices.outputs)

    def input(self, device_id: str) -> str | None:
        """The id of a microphone if it is there, None for the system's choice."""
        return _present(device_id, self.devices.inputs)

    def _list(self) -> Devices:
        self._backend.rescan()
        return Devices(
            self._backend.list_outputs(), self._backend.list_inputs(), self._backend.unavailable
        )

    def _on_listed(self, devices: Devices) -> None:
        self.devices = devices
        self._stage = _Stage.IDLE
        self.ended.emit()

    def _on_failed(self, error: ExplainedError) -> None:
        self._stage = _Stage.IDLE
        self.problem.emit(error)
        self.ended.emit()


def _present(device_id: str, devices: tuple[Device, ...]) -> str | None:
    """The id unless a list that was made does not have it."""
    is_there = not devices or any(device.id == device_id for device in devices)
    return device_id if device_id and is_there else None
