"""A sound server of the tests' own, whose only output can be recorded from."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.audio.portaudio import PortAudioBackend

collect_ignore_glob = [] if sys.platform == "linux" else ["test_*.py"]

PATIENCE = 30.0  # seconds for what takes a tenth of one on a computer with nothing else to do
OUTPUT_LATENCY = 0.4  # seconds buffered by the server: a busy computer does not tear the sound
INPUT_LATENCY = 0.1  # the server keeps what is late, and lets its sink move in such steps
INSTALL = "sudo apt-get install pulseaudio libasound2-plugins libportaudio2"
ALSA_CONFIG = """
pcm.!default { type pulse }
ctl.!default { type pulse }
pcm.pulse { type pulse }
ctl.pulse { type pulse }
"""


class PulseServer:
    """A PulseAudio daemon with a null sink; the source of its clients is that sink's monitor."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.variables = {
            "XDG_RUNTIME_DIR": str(folder),
            "PULSE_SERVER": f"unix:{folder}/pulse/native",
            "PULSE_COOKIE": str(folder / "cookie"),
            "ALSA_CONFIG_PATH": str(folder / "alsa.conf"),
        }
        (folder / "alsa.conf").write_text(ALSA_CONFIG)

    def start(self) -> None:
        """Run it until clients can connect."""
        own = {"XDG_RUNTIME_DIR": str(self._folder), "HOME": str(self._folder)}
        with (self._folder / "pulseaudio.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    "pulseaudio",
                    "-n",
                    "--daemonize=no",
                    "--use-pid-file=no",
                    "--exit-idle-time=-1",
                    "--resample-method=speex-float-10",
                    "-L",
                    "module-native-protocol-unix",
                    "-L",
                    "module-null-sink sink_name=studio rate=48000 format=float32le",
                ],
                env={**os.environ, **own},
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert time.monotonic() < deadline, self._log()
            assert self._process.poll() is None, self._log()
            time.sleep(0.02)

    def unload_sink(self) -> None:
        """Take the sink and its monitor away."""
        subprocess.run(
            ["pactl", "unload-module", "module-null-sink"],
            env={**os.environ, **self.variables},
            check=True,
        )

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self._folder / "pulse" / "native")) == 0

    def _log(self) -> str:
        return (self._folder / "pulseaudio.log").read_text(errors="replace")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PulseServer]:
    """A running server that PortAudio will find as its only device."""
    if not (shutil.which("pulseaudio") and shutil.which("pactl")):
        pytest.fail(f"These tests need a sound server: {INSTALL}")
    # Not pytest's folder: the path of a socket must be short.
    folder = Path(tempfile.mkdtemp(prefix="studio-"))
    server = PulseServer(folder)
    for name, value in server.variables.items():
        monkeypatch.setenv(name, value)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder)


@pytest.fixture
def backend(server: PulseServer) -> PortAudioBackend:
    """PortAudio for outputs, initialised while the server runs."""
    backend = PortAudioBackend(OUTPUT_LATENCY)
    assert backend.rescan(), f"{backend.unavailable} {INSTALL}"  # it may be from an earlier test
    assert backend.unavailable == "", INSTALL
    return backend


@pytest.fixture
def ears(backend: PortAudioBackend) -> PortAudioBackend:
    """The same for inputs."""
    return PortAudioBackend(INPUT_LATENCY)
